//! A reduction that is given to an argument which is a flag.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::values::Value;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "ignored-reduction",
    summary: "`reduce` and `size_average` are flags: a reduction given to them is ignored",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("ignored-reduction"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_arguments: Some(seen), on_call: Some(seen), ..Checker::SILENT };

/// The flags from before there was `reduction`.
const SIZE_AVERAGE: &str = "size_average";
const REDUCE: &str = "reduce";

/// A flag that is told a reduction, which is another one than the flags come to.
struct IgnoredReduction {
    flag: &'static str,
    wanted: Rc<str>,
    actual: &'static str,
    call: Place,
}

/// A flag as the framework reads it: anything but an empty string counts as true, and so does leaving it out.
fn is_on(flag: &Value) -> Option<bool> {
    match flag {
        Value::None => Some(true),
        Value::Str(_) => flag.as_str().map(|text| !text.is_empty()),
        other => other.as_bool(),
    }
}

fn seen(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let has = |name: &str| call.api.params.iter().any(|param| param.name == name);
    if !has(SIZE_AVERAGE) || !has(REDUCE) {
        return;
    }
    for flag in [REDUCE, SIZE_AVERAGE] {
        let (value, Some(place)) = (call.get(flag), call.place_of(flag)) else { continue };
        let Some(wanted) = value.as_str() else { continue };
        let (Some(averages), Some(reduces)) = (is_on(&call.get(SIZE_AVERAGE)), is_on(&call.get(REDUCE)))
        else {
            return;
        };
        let actual = match (averages, reduces) {
            (true, true) => "mean",
            (false, true) => "sum",
            (_, false) => "none",
        };
        // Of the instance's calls the arguments of the constructor have no place of their own.
        if wanted != actual && place != call.place {
            let ignored = IgnoredReduction { flag, wanted: Rc::from(wanted), actual, call: call.place };
            cx.observe(place, ignored, Confidence::High);
        }
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<IgnoredReduction>() {
        let IgnoredReduction { flag, wanted, actual, .. } = seen;
        let comes_to = match *actual {
            "none" => "is not reduced",
            "sum" => "is summed",
            _ => "is averaged",
        };
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("the loss {comes_to}: `{flag}` is a flag, and the string {wanted:?} counts as true"),
            )
            .note(format!("PyTorch computes `reduction='{actual}'` from the flags, and ignores `reduction`"))
            .help(format!("write `reduction='{wanted}'`"));
        let edits = reduction_named(script.draft(at.place.file), seen);
        let fix = edits.map(|edits| Fix::safe(format!("rename `{flag}` to `reduction`"), edits));
        out.push(finding.fix(fix), at);
    }
}

/// The argument under the name that takes a reduction, where the call has no other of these.
fn reduction_named(draft: Draft<'_>, seen: &IgnoredReduction) -> Option<Vec<Edit>> {
    let call = draft.call_at(seen.call.span)?;
    let others = [REDUCE, SIZE_AVERAGE, "reduction"].into_iter().filter(|name| *name != seen.flag);
    let is_alone = others.into_iter().all(|name| draft.keyword(call, name).is_none());
    let is_reduction = matches!(&*seen.wanted, "none" | "sum");
    let start = draft.keyword(call, seen.flag).filter(|_| is_alone && is_reduction)?.span.start;
    Some(vec![draft.replace(Span::new(start, start + seen.flag.len() as u32), "reduction")])
}
