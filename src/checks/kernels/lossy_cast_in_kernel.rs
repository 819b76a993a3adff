//! Numbers that are cut to integers on their way into a result.

use super::element_accesses::IndexedWrite;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::Severity;
use crate::values::formula::Function;
use crate::values::{DType, Formula};

pub(super) static RULE: Rule = Rule {
    id: "lossy-cast-in-kernel",
    summary: "float results are truncated when written to an integer buffer",
    group: Group::Kernels,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("lossy-cast-in-kernel"),
    check,
};

/// What is scaled by this much, or by more, before it is cut was meant to be counted.
const QUANTISED: f64 = 16.0;

/// What cuts fractions off.
enum Truncation {
    /// The value is cast before it is written.
    Cast,
    /// The buffer holds integers.
    Buffer(DType),
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, write) in script.observed::<IndexedWrite>() {
        let Some(truncation) = truncation_of(write) else { continue };
        if !seen.insert(at.place) {
            continue;
        }
        let (message, help) = match truncation {
            Truncation::Buffer(dtype) => (
                format!("float values are truncated when written to this {} buffer", dtype.name()),
                "create the buffer with the dtype of the values written to it",
            ),
            Truncation::Cast => (
                "each value is truncated to an integer before it is written to a float buffer".to_owned(),
                "remove the cast; if integers are intended, use `round`",
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(buffer) = write.buffer() {
            finding = finding.because(script.rehearsal.heap.get(buffer).site, "the buffer is created here");
        }
        let note = "no error is raised: results are off by up to one, and gradients through them are zero";
        out.push(finding.note(note).help(help), at);
    }
}

/// What cuts floats to integers that a loop computes.
fn truncation_of(write: &IndexedWrite) -> Option<Truncation> {
    let formula = write.formula.as_ref().filter(|_| write.single && !write.loops.is_empty())?;
    let into = write.target.dtype?;
    let is_cast = formula.is(Function::Truncate) && formula.operands().iter().all(is_arithmetic);
    let of_floats = write.dtype.is_some_and(DType::is_float);
    if !into.is_float() && into != DType::Bool && of_floats && is_arithmetic(formula) {
        return Some(Truncation::Buffer(into));
    }
    (is_cast && into.is_float()).then_some(Truncation::Cast)
}

/// Sums, products and the like, on a scale on which a fraction matters.
fn is_arithmetic(formula: &Formula) -> bool {
    fn is_plain(formula: &Formula) -> bool {
        !formula.is(Function::Other)
            && !formula.is(Function::Truncate)
            && formula.operands().iter().all(is_plain)
    }
    let coarse = formula.constants().iter().any(|number| *number >= QUANTISED);
    !formula.operands().is_empty() && is_plain(formula) && !coarse
}
