//! A tensor on the GPU that is computed number by number.

use super::element_accesses::{CountedLoop, GpuElementRead, IndexedWrite};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};
use crate::trace::{At, LoopId};
use crate::values::Device;

pub(super) static RULE: Rule = Rule {
    id: "element-loop-on-gpu",
    summary: "a Python loop accesses a GPU tensor element by element",
    group: Group::Kernels,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("element-loop-on-gpu"),
    check,
};

/// A loop over fewer numbers than this is done before anybody notices.
const NOTICEABLE: i64 = 64;
/// Reading numbers one by one, without writing any, is worth a word from so many on.
const MANY: i64 = 1024;

fn check(script: &Script, out: &mut Findings) {
    let mut seen: Vec<LoopId> = Vec::new();
    for (at, write) in script.observed::<IndexedWrite>() {
        let computed = write.single && write.formula.as_ref().is_some_and(|formula| !formula.is_number());
        let device = write.target.device;
        if computed && device.is_chosen_gpu() && is_new_and_long(&write.loops, &mut seen) {
            let help = "vectorize it over the whole tensor: `y = x * 2` instead of `y[i] = x[i] * 2`";
            report(script, out, at, (device, "computed", help), &write.loops);
        }
    }
    for (at, read) in script.observed::<GpuElementRead>() {
        let whole = times(&read.loops).zip(read.target.numel().known());
        let many = whole.is_some_and(|(times, numel)| times >= MANY && times == numel);
        let device = read.target.device;
        if many && device.is_chosen_gpu() && is_new_and_long(&read.loops, &mut seen) {
            let help = "use a vectorized operation, or copy the tensor to the CPU once before the loop: `x = x.tolist()`";
            report(script, out, at, (device, "read", help), &read.loops);
        }
    }
}

fn report(
    script: &Script,
    out: &mut Findings,
    at: &At,
    (device, what, help): (Device, &str, &str),
    loops: &[CountedLoop],
) {
    let times = times(loops).map_or(String::new(), |times| format!(", {} times", units::count(times)));
    let message = format!("a tensor on {} is {what} element by element{times}", device.describe());
    let mut finding = script.finding(RULE.id, RULE.severity, at, message);
    for counted in loops {
        finding = finding.because(counted.place, "this loop iterates over its elements");
    }
    finding = finding.note("every single-element read or write is a separate GPU operation");
    out.push(finding.help(help), at);
}

/// Whether a nest of loops is long enough to be noticed, and was not reported yet.
fn is_new_and_long(loops: &[CountedLoop], seen: &mut Vec<LoopId>) -> bool {
    let Some(outermost) = loops.iter().filter_map(|counted| counted.id).min() else { return false };
    if times(loops).is_some_and(|times| times < NOTICEABLE) || seen.contains(&outermost) {
        return false;
    }
    seen.push(outermost);
    true
}

/// How often the body of the innermost loop runs.
fn times(loops: &[CountedLoop]) -> Option<i64> {
    loops.iter().try_fold(1_i64, |product, counted| product.checked_mul(counted.times.known()?))
}
