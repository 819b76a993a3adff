//! Tapes that are asked for gradients more often than they can tell, or of what they did not record.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::syntax::{ExprKind, StmtKind};
use crate::values::{FlowState, ObjId, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "misused-tape",
    summary: "a `GradientTape` computes gradients twice, or of a loss that it did not record",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("misused-tape"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(differentiated), ..Checker::SILENT };

/// Tapes that have surely told their gradients, by the pass in which they were made, and where.
#[derive(Clone, Default)]
struct Spent(Rc<Vec<(ObjId, u32, Place)>>);

impl FlowState for Spent {
    fn join(&self, other: &Spent) -> Spent {
        Spent(Rc::new(self.0.iter().filter(|tape| other.0.contains(tape)).copied().collect()))
    }
}

/// A tape is asked again.
struct AskedAgain {
    tape: Place,
    first: Place,
}

/// A tape is asked for the gradients of what was computed somewhere.
struct Asked {
    tape: Place,
    computed: Place,
}

fn differentiated(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Differentiate {
        return;
    }
    let (call, place) = (declared.call, declared.call.place);
    let Some(tape) = call.get("self").as_obj() else { return };
    let object = cx.heap.get(tape);
    let (made, epoch) = (object.site, object.epoch);
    let once = matches!(object.attr(Ustr::from("persistent")), Some(Value::Bool(Some(false))));
    if let Some(computed) = call.get("target").as_tensor().and_then(|target| target.made) {
        cx.observe(place, Asked { tape: made, computed }, Confidence::High);
    }
    if !once {
        return;
    }
    let spent = cx.heap.state::<Spent>().cloned().unwrap_or_default();
    match spent.0.iter().find(|(known, pass, _)| (*known, *pass) == (tape, epoch)) {
        Some((_, _, first)) if *first != place => {
            cx.observe(place, AskedAgain { tape: made, first: *first }, Confidence::High);
        }
        Some(_) => {}
        None => cx.heap.update(|spent: &mut Spent| Rc::make_mut(&mut spent.0).push((tape, epoch, place))),
    }
}

fn check(script: &Script, out: &mut Findings) {
    asked_again(script, out);
    not_recorded(script, out);
}

fn asked_again(script: &Script, out: &mut Findings) {
    for (at, asked) in script.observed_once::<AskedAgain>() {
        if script.is_tried(at.place) {
            continue;
        }
        let fix = script.with_argument(asked.tape, "persistent", "True");
        let finding = script
            .finding(RULE.id, RULE.severity, at, "raises an error: this tape already computed its gradients")
            .because(asked.first, "its gradients are computed here")
            .because(asked.tape, "the tape is created here, without `persistent=True`")
            .note("TensorFlow raises `A non-persistent GradientTape can only be used to compute one set of gradients`")
            .help("pass `persistent=True` to the tape and delete it afterwards, or use one tape per loss")
            .fix(fix.map(|edits| Fix::safe("pass `persistent=True`", edits)));
        out.push(finding, at);
    }
}

/// What is computed behind the block of a tape is not on it, whatever it is computed of.
fn not_recorded(script: &Script, out: &mut Findings) {
    for (at, asked) in script.observed_once::<Asked>() {
        if script.is_tried(at.place) || !is_behind_block(script, asked) {
            continue;
        }
        let message = "the tape did not record this loss: its gradients are `None`";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(asked.computed, "it is computed here, after the block of the tape has ended")
            .because(asked.tape, "the tape records what runs in its block")
            .note("Keras raises `No gradients provided for any variable` when such gradients are applied")
            .help("compute the loss inside of the `with` block");
        out.push(finding, at);
    }
}

/// Whether something is computed below the block of a tape, in the same function, and no block enters the tape again.
fn is_behind_block(script: &Script, asked: &Asked) -> bool {
    let draft = script.draft(asked.tape.file);
    let tree = &script.project.module(asked.tape.file).tree;
    let blocks = || {
        tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::With { items, .. } => Some((stmt.span, items)),
            _ => None,
        })
    };
    let own =
        blocks().find(|(_, items)| items.iter().any(|item| draft.expr(item.context).span == asked.tape.span));
    let is_again = || {
        let name = |context| matches!(draft.expr(context).kind, ExprKind::Name(_));
        blocks().any(|(_, items)| items.iter().any(|item| name(item.context)))
    };
    own.is_some_and(|(block, _)| {
        asked.computed.file == asked.tape.file
            && asked.computed.span.start >= block.end
            && draft.function_around(asked.computed.span) == draft.function_around(block)
            && !is_again()
    })
}
