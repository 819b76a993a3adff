//! A buffer that is smaller than what is computed for it.

use super::element_accesses::IndexedWrite;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Severity, units};
use crate::values::Int;

pub(super) static RULE: Rule = Rule {
    id: "undersized-output",
    summary: "an output buffer is too small for the computed result",
    group: Group::Kernels,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("undersized-output"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, write) in script.observed::<IndexedWrite>() {
        let Some(made) = write.buffer().map(|buffer| script.rehearsal.heap.get(buffer).site) else {
            continue;
        };
        let Some((reach, size)) = write.reaches.iter().find(|(reach, size)| is_beyond(reach, size)) else {
            continue;
        };
        let is_left_out = write.conditional && !drops_the_rest(write, size);
        if is_left_out || !seen.insert(at.place) {
            continue;
        }
        let message = message(reach.known().zip(size.known()), write.conditional);
        let mut finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(made, "the buffer is created here with this size");
        if let Some(counted) = write.loops.first() {
            finding = finding.because(counted.place, "the loop runs past its end");
        }
        let why = if write.conditional {
            "the bounds check prevents an error, but the rest of the result is dropped"
        } else {
            "this raises an index error"
        };
        out.push(finding.note(why).help("make the buffer as large as the result"), at);
    }
}

/// What is wrong, of one past the last index and the size of the dimension, where both are known.
fn message(sizes: Option<(i64, i64)>, conditional: bool) -> String {
    match (sizes, conditional) {
        (Some((reach, size)), true) => {
            format!("only {} of {} elements are ever written", units::count(size), units::count(reach))
        }
        (None, true) => "the last elements are never written".to_owned(),
        (Some((reach, size)), false) => format!(
            "index {} is out of bounds for dimension of size {}",
            units::count(reach - 1),
            units::count(size)
        ),
        (None, false) => "the last index is out of bounds".to_owned(),
    }
}

fn is_beyond(reach: &Int, size: &Int) -> bool {
    reach.sub(size).known().is_some_and(|excess| excess > 0)
}

/// A computation whose results are written as long as the buffer has room: the rest is never computed.
fn drops_the_rest(write: &IndexedWrite, size: &Int) -> bool {
    let kept_under_its_size = write.bounds.iter().any(|bound| bound.sub(size) == Int::Known(0));
    let computed = write.formula.as_ref().is_some_and(|formula| !formula.operands().is_empty());
    kept_under_its_size && computed && write.single
}
