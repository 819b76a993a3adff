//! What a wrapper hides: `DataParallel(model).encode`, where only the model within has the method.

use super::missing_attribute::{RAISES, RULE, is_written};
use super::tried::is_tried;
use crate::apis::Role;
use crate::apis::index::{self, Answer};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, HiddenAttribute, Interp};
use crate::report::{Confidence, Place, Span};
use crate::syntax::{ExprId, ExprKind, Tree};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_hidden_attribute: Some(read), ..Checker::SILENT };

/// Calls that give a module an attribute by its name, or ask for one.
const BY_NAME: [&str; 6] =
    ["add_module", "getattr", "hasattr", "register_buffer", "register_module", "register_parameter"];

/// A read of what only the module in the wrapper has.
struct Hidden {
    wrapper: Ustr,
    name: Ustr,
    wrapped: Option<Place>,
}

fn read(cx: &mut Interp<'_>, hidden: &HiddenAttribute) {
    let &HiddenAttribute { object, wrapper, sure, name, place } = hidden;
    if name.starts_with('_') || cx.is_provided_for() || !is_written(cx, place, name) {
        return;
    }
    // Methods of the module within run with the module itself.
    if cx.running().any(|frame| frame.receiver == Some(object)) {
        return;
    }
    // Most of what is read of a wrapper any module has: the files are searched only for the rest.
    if !is_of_the_inside(cx, hidden) {
        return;
    }
    // A branch may ask whether the model is wrapped, and who writes `.module` knows that it may be.
    let is_plain = cx.undecided_arms() == 0 && !is_chosen(cx.tree(place.file), place);
    let looks_after = |tree: &Tree| asks_for_wrapper(tree, wrapper) || unwraps(tree, name, !sure);
    let confidence = match sure && is_plain {
        true => Confidence::High,
        false if cx.read_files().any(|file| looks_after(cx.tree(file))) => return,
        false if sure || is_plain => Confidence::Medium,
        false => return,
    };
    if !is_tried(cx, place, "AttributeError") && !cx.read_files().any(|file| gives(cx.tree(file), name)) {
        let wrapped = sure.then(|| cx.heap.get(object).site);
        cx.observe(place, Hidden { wrapper, name, wrapped }, confidence);
    }
}

/// `model.module.encode(x) if parallel else model.encode(x)`, `(model.module if parallel else model).encode(x)`
fn is_chosen(tree: &Tree, place: Place) -> bool {
    let chooses = |kind: &ExprKind| matches!(kind, ExprKind::Conditional { .. } | ExprKind::Bool { .. });
    let is_around = |span: Span| span.contains(place.span) || place.span.contains(span);
    tree.exprs.iter().any(|expr| chooses(&expr.kind) && is_around(expr.span))
}

/// `isinstance(model, DataParallel)`, `hasattr(model, "module")`
fn asks_for_wrapper(tree: &Tree, wrapper: Ustr) -> bool {
    let class = wrapper.rsplit('.').next().unwrap_or(&wrapper);
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => {
            let ExprKind::Name(called) = tree.expr(*callee).kind else { return false };
            let is_class = |id: &ExprId| match tree.expr(*id).kind {
                ExprKind::Name(name) | ExprKind::Attribute { name, .. } => name == class,
                _ => false,
            };
            args.get(1).is_some_and(|asked| match &tree.expr(asked.value).kind {
                ExprKind::Str(text) => BY_NAME.contains(&called.as_str()) && **text == *"module",
                ExprKind::Tuple(classes) => called == "isinstance" && classes.iter().any(is_class),
                _ => called == "isinstance" && is_class(&asked.value),
            })
        }
        _ => false,
    })
}

/// Whether a file reads a name of the module within, or takes out that module at all.
fn unwraps(tree: &Tree, name: Ustr, at_all: bool) -> bool {
    let is_module =
        |id: ExprId| matches!(tree.expr(id).kind, ExprKind::Attribute { name, .. } if name == "module");
    let mut inner: FxHashSet<ExprId> = FxHashSet::default();
    let mut reads_it = false;
    for expr in &tree.exprs {
        if let ExprKind::Attribute { base, name: read, .. } = expr.kind
            && is_module(base)
        {
            inner.insert(base);
            reads_it |= read == name;
        }
    }
    reads_it
        || at_all && (0..tree.exprs.len() as u32).map(ExprId).any(|id| is_module(id) && !inner.contains(&id))
}

/// Whether the module within has a name that neither the wrapper has nor any other module.
fn is_of_the_inside(cx: &mut Interp<'_>, hidden: &HiddenAttribute) -> bool {
    let &HiddenAttribute { object, wrapper, name, .. } = hidden;
    let is_own = |class: Ustr| {
        let is_argument =
            || cx.apis.get(class).is_some_and(|api| api.params.iter().any(|param| param.name == name));
        cx.apis.method(class, name).is_some()
            || is_argument()
            || matches!(index::ask(&format!("{class}.{name}")), Answer::Known(_))
    };
    let is_of_modules = cx.apis.class_of(Role::Module).is_some_and(is_own);
    !is_own(wrapper) && !is_of_modules && cx.find_attr(object, name).is_some()
}

/// Whether a file gives something from outside of it an attribute of this name.
fn gives(tree: &Tree, name: Ustr) -> bool {
    let says = |id: ExprId| matches!(&tree.expr(id).kind, ExprKind::Str(text) if **text == *name.as_str());
    let by_name = tree.exprs.iter().any(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return false };
        let (ExprKind::Name(called) | ExprKind::Attribute { name: called, .. }) = tree.expr(*callee).kind
        else {
            return false;
        };
        BY_NAME.contains(&called.as_str()) && args.iter().any(|arg| says(arg.value))
    });
    let mut is_written = false;
    let mut see = |target: ExprId| {
        if let ExprKind::Attribute { base, name: known, .. } = tree.expr(target).kind {
            let is_self = matches!(tree.expr(base).kind, ExprKind::Name(base) if base == "self");
            is_written |= known == name && !is_self;
        }
    };
    tree.stmts.iter().for_each(|stmt| tree.each_target(&stmt.kind, &mut see));
    by_name || is_written
}

pub(super) fn hidden_attributes(script: &Script, out: &mut Findings) {
    for (at, Hidden { wrapper, name, wrapped }) in script.observed_once::<Hidden>() {
        if at.confidence < Confidence::Medium {
            continue;
        }
        let wrapper = wrapper.rsplit('.').next().unwrap_or(wrapper);
        let message = format!("`{wrapper}` has no attribute `{name}`: the module inside has it");
        let finding = script.finding(RULE.id, RULE.severity, at, message);
        let finding = match wrapped {
            Some(wrapped) => finding.because(*wrapped, "it is wrapped here"),
            None => finding.note("the model is wrapped on some paths"),
        };
        out.push(finding.note(RAISES).help(format!("write `.module.{name}`")), at);
    }
}
