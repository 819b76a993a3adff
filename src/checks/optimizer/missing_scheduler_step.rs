//! A learning rate schedule that is created and never steps.

use crate::apis::Role;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, FileId, Place, Severity};
use crate::syntax::{ArgKind, ExprId, ExprKind, StmtKind, Tree};
use crate::trace::{At, Effect, visits};
use crate::values::{ClassRef, ObjId, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-scheduler-step",
    summary: "a learning rate schedule is created, and nothing calls its `step()`",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-scheduler-step"),
    check,
};

/// What is asked of a schedule without making it step.
const LOOKS: [&str; 7] =
    ["base_lrs", "get_last_lr", "get_lr", "last_epoch", "load_state_dict", "optimizer", "state_dict"];

/// Bases of a class that call nothing by themselves.
const PLAIN_BASES: [&str; 2] = ["Module", "object"];

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    let heap = &script.rehearsal.heap;
    for schedule in (0..heap.len() as u32).map(ObjId).filter(|object| is_schedule(script, *object)) {
        let made = heap.get(schedule).site;
        let optimizer = heap.attr(schedule, Ustr::from("optimizer")).and_then(Value::as_obj);
        let step = optimizer.and_then(|optimizer| step_of(script, optimizer));
        let (Some(step), Some(name)) = (step, kept_as(script, made)) else { continue };
        if !seen.insert(made) || is_used(script, made.file, &name) {
            continue;
        }
        let at = At::of_text(made, Confidence::High);
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &at,
                format!("the learning rate stays constant: nothing calls `{}.step()`", name.written),
            )
            .because(step, "the optimizer steps here with the learning rate of the first step")
            .help(
                "call it after the optimizer's steps: once per epoch, or per batch, as its length is meant",
            );
        out.push(finding, &at);
    }
}

/// Of a framework, and made by this file.
fn is_schedule(script: &Script, object: ObjId) -> bool {
    let here = script.rehearsal.heap.get(object);
    let ClassRef::Api(class) = here.class else { return false };
    here.site.file == script.file && script.apis.role(class) == Some(Role::Scheduler)
}

/// Where an optimizer steps in a loop.
fn step_of(script: &Script, optimizer: ObjId) -> Option<Place> {
    let steps = |effect: &Effect| matches!(effect, Effect::Step { optimizer: stepping, .. } if *stepping == optimizer);
    script.rehearsal.entries.iter().find_map(|entry| {
        let all = visits(&entry.nodes, steps);
        all.iter().find(|visit| !visit.loops.is_empty()).map(|visit| visit.event.place)
    })
}

/// The variable or attribute that keeps a schedule.
struct Kept {
    written: Rc<str>,
    name: Ustr,
    is_attribute: bool,
}

/// Under which name an assignment keeps what is made somewhere, if it is all that does.
fn kept_as(script: &Script, made: Place) -> Option<Kept> {
    let tree = &script.project.module(made.file).tree;
    let target = tree.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Assign { targets, value } if tree.expr(*value).span == made.span => match targets[..] {
            [target] => Some(target),
            _ => None,
        },
        _ => None,
    })?;
    let written = Rc::from(script.draft(made.file).text(tree.expr(target).span));
    match tree.expr(target).kind {
        ExprKind::Name(name) => Some(Kept { written, name, is_attribute: false }),
        ExprKind::Attribute { name, base, .. } => {
            let is_self = matches!(tree.expr(base).kind, ExprKind::Name(base) if base == "self");
            let is_own = is_self && is_of_plain_class(tree, made);
            is_own.then_some(Kept { written, name, is_attribute: true })
        }
        _ => None,
    }
}

/// Whether the class around a place inherits from nothing that could step a schedule.
fn is_of_plain_class(tree: &Tree, made: Place) -> bool {
    let method = tree.functions.iter().rfind(|function| function.span.contains(made.span));
    let Some(class) = method.and_then(|method| method.class) else { return false };
    tree.class(class).bases.iter().all(|base| {
        let (ExprKind::Name(name) | ExprKind::Attribute { name, .. }) = tree.expr(base.value).kind else {
            return false;
        };
        base.kind == ArgKind::Positional && PLAIN_BASES.contains(&name.as_str())
    })
}

/// Whether anything is done with a name but to ask it, to save it or to load it: whoever gets it may let it step.
fn is_used(script: &Script, file: FileId, kept: &Kept) -> bool {
    let files: &[FileId] = if kept.is_attribute { &script.rehearsal.read } else { &[file] };
    files.iter().any(|file| uses(&script.project.module(*file).tree, kept))
}

fn uses(tree: &Tree, kept: &Kept) -> bool {
    let is_it = |id: ExprId| match tree.expr(id).kind {
        ExprKind::Name(name) => !kept.is_attribute && name == kept.name,
        ExprKind::Attribute { name, .. } => kept.is_attribute && name == kept.name,
        _ => false,
    };
    let mut harmless: FxHashSet<ExprId> = FxHashSet::default();
    for stmt in &tree.stmts {
        // Its own assignment, and other arms that may keep another schedule under the same name.
        tree.each_target(&stmt.kind, &mut |target| _ = harmless.insert(target));
    }
    for expr in &tree.exprs {
        if let ExprKind::Attribute { base, name, .. } = &expr.kind
            && LOOKS.contains(&name.as_str())
        {
            harmless.insert(*base);
        }
    }
    let all = (0..tree.exprs.len() as u32).map(ExprId);
    all.filter(|id| is_it(*id)).any(|id| !harmless.contains(&id))
}
