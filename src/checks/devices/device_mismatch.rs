//! Operands of one operation on two devices.

use super::meetings::Meeting;
use super::stranded::innermost;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Place, Severity};
use crate::syntax::{ExprKind, Function};
use crate::trace::At;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "device-mismatch",
    summary: "an operation mixes tensors on different devices",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("device-mismatch"),
    check,
};

/// Older releases brought an index to where the numbers are that it chooses from.
const NO_INDEX_ELSEWHERE: (u64, u64) = (1, 13);

/// Older releases brought lengths to the CPU themselves.
const NO_LENGTHS_ELSEWHERE: (u64, u64) = (1, 7);

/// Older releases drew the order of samples without a generator of their own.
const NO_GENERATOR_ELSEWHERE: (u64, u64) = (1, 9);

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    let mut left = Vec::new();
    let raises = |meeting: &Meeting| {
        (!meeting.by_index || script.pins.allow_since("torch", NO_INDEX_ELSEWHERE))
            && (!meeting.by_reader || script.pins.allow_since("torch", NO_LENGTHS_ELSEWHERE))
            && (!meeting.by_generator || script.pins.allow_since("torch", NO_GENERATOR_ELSEWHERE))
    };
    let counts = |(_, meeting): &(&At, &Meeting)| !meeting.excused.get() && raises(meeting);
    for (at, meeting) in script.observed::<Meeting>().filter(counts) {
        // What stays behind fails at its first use; the uses after it on the same way say nothing new.
        let behind = meeting.behind();
        let again = behind.made.is_some_and(|made| {
            left.iter().any(|(known, loops, calls)| {
                *known == made && Rc::eq(loops, &at.loops) && Rc::eq(calls, &at.calls)
            })
        });
        if again && !seen.contains(&at.place) {
            continue;
        }
        left.extend(behind.made.map(|made| (made, at.loops.clone(), at.calls.clone())));
        if seen.insert(at.place) {
            report(script, at, meeting, out);
        }
    }
}

fn report(script: &Script, at: &At, meeting: &Meeting, out: &mut Findings) {
    let (one, other) = (&meeting.one, &meeting.other);
    let (here, there) = (one.device.describe(), other.device.describe());
    let is = if meeting.by_reader { "reads it" } else { "is" };
    let message = format!("{} is on {here}, but {} {is} on {there}", one.what, other.what);
    let mut finding = script.finding(RULE.id, RULE.severity, at, message);
    for side in [one, other] {
        if let Some(made) = side.made {
            finding = finding.because(made, format!("on {}", side.device.describe()));
        }
    }
    // What was not moved was handed over by the caller: that is where it can be.
    let handed_over = !within_function(script, at.place, meeting.behind().made);
    if let Some((site, name)) = at.calls.last()
        && handed_over
        && !finding.places().any(|known| known == *site)
    {
        finding = finding.because(*site, format!("`{name}` is called here"));
    }
    // A module stayed where its input is not.
    let help = match meeting.in_forward && !one.device.is_gpu() {
        true if meeting.brought_back => "move the model back before it is used again: `model.to(device)`",
        true => "move the model too: call `model.to(device)` before creating the optimizer",
        false if meeting.by_generator => "pass `generator=torch.Generator(device=\"cuda\")` to the loader",
        false if meeting.by_reader => "bring it to the CPU in the call: `lengths.cpu()`",
        false => "move both to the same device",
    };
    out.push(
        finding.note(format!("{} raises an error such as `{}`", meeting.operation, meeting.error)).help(help),
        at,
    );
}

/// Whether something was made in the function in which it is used.
fn within_function(script: &Script, used: Place, made: Option<Place>) -> bool {
    let around = innermost(&script.project.module(used.file).tree, used);
    let Some((function, made)) = around.zip(made) else { return false };
    made.file == used.file && function.span.contains(made.span) && !is_of_parameter(script, function, made)
}

/// Whether a value is a parameter, or what its methods give.
fn is_of_parameter(script: &Script, function: &Function, made: Place) -> bool {
    let module = script.project.module(made.file);
    let mut at = module.expr_at(made.span);
    while let Some(id) = at {
        at = match module.tree.expr(id).kind {
            ExprKind::Call { callee: inner, .. }
            | ExprKind::Attribute { base: inner, .. }
            | ExprKind::Subscript { base: inner, .. } => Some(inner),
            ExprKind::Name(name) => return function.params.iter().any(|param| param.name == name),
            _ => None,
        };
    }
    function.params.iter().any(|param| param.span == made.span)
}
