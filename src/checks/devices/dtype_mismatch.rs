//! Numbers of one dtype for weights of another.

use super::dtypes::{INDEX, Mistyped, Narrowed};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Diagnostic, Fix, Severity};
use crate::trace::At;
use crate::values::DType;

pub(super) static RULE: Rule = Rule {
    id: "dtype-mismatch",
    summary: "the input dtype does not match the layer's weight dtype",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("dtype-mismatch"),
    check,
};

/// Since this release `/` of integer tensors gives floats.
const TRUE_DIVISION: (&str, (u64, u64)) = ("torch", (1, 5));

fn check(script: &Script, out: &mut Findings) {
    // JAX promotes operands of two dtypes.
    let promotes = |at: &At| script.imports_around(at, "jax") && !script.imports_around(at, "torch");
    let raises = |(at, meeting): &(&At, &Mistyped)| meeting.lookup || !promotes(at);
    for (at, meeting) in script.observed_once::<Mistyped>().filter(raises) {
        let (gets, wants) = (meeting.gets.name(), meeting.wants.name());
        let is_index = &*meeting.what == INDEX;
        // Before, `/` of two integers was one.
        if is_index && !script.pins.allow_since(TRUE_DIVISION.0, TRUE_DIVISION.1) {
            continue;
        }
        let message = match meeting.lookup {
            true if is_index => format!("{INDEX} is indexed with {gets}, but needs integer indices"),
            true => format!("`{}` is indexed with {gets}, but needs integer indices", meeting.what),
            false if meeting.what.contains(' ') => format!("{} mixes {gets} and {wants}", meeting.what),
            false => format!("`{}` gets {gets} input, but its weights are {wants}", meeting.what),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(made) = meeting.made.filter(|made| *made != at.place) {
            finding = finding.because(made, format!("{gets} comes from here"));
        }
        if meeting.gets == DType::Float64 {
            finding = finding
                .note("NumPy defaults to float64, and tensors created from its arrays keep that dtype");
        }
        let cast = cast(meeting);
        let fix = script.behind_argument(at.place, 0, &["input"], &cast);
        let fix = fix.filter(|_| meeting.lookup || !meeting.what.contains(' '));
        let fix = fix.map(|edits| Fix::guess(format!("cast the input with `{cast}`"), edits));
        let help = match is_index {
            true => "divide integers with `//`, or cast the index with `.long()`".to_owned(),
            false => format!("cast the input with `{cast}`"),
        };
        out.push(finding.fix(fix).note("this raises a dtype error").help(help), at);
    }
    for (at, narrowed) in script.observed_once::<Narrowed>() {
        if at.confidence >= Confidence::Medium && script.imports(at.place.file, "torch") {
            out.push(changed_in_place(script, at, narrowed), at);
        }
    }
}

fn changed_in_place(script: &Script, at: &At, narrowed: &Narrowed) -> Diagnostic {
    let holds = narrowed.holds.name();
    let what = if narrowed.divides { "a quotient is" } else { "the result is" };
    let message = format!("this raises an error: the tensor holds {holds}, and {what} a float");
    let mut finding = script.finding(RULE.id, RULE.severity, at, message);
    if let Some(made) = at.beside(narrowed.made) {
        finding = finding.because(made, format!("{holds} comes from here"));
    }
    finding
        .note("PyTorch raises `RuntimeError: result type Float can't be cast to the desired output type`")
        .help("create a new tensor, `x = x * y`, or convert it first with `.float()`")
}

fn cast(meeting: &Mistyped) -> String {
    let cast = match meeting.wants {
        _ if meeting.lookup => "long",
        DType::Float64 => "double",
        DType::Float16 => "half",
        DType::BFloat16 => "bfloat16",
        _ => "float",
    };
    format!(".{cast}()")
}
