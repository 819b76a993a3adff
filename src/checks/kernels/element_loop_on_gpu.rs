//! A tensor on the GPU that is computed number by number.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "element-loop-on-gpu",
    summary: "a Python loop goes through a tensor on the GPU number by number",
    group: Group::Kernels,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("element-loop-on-gpu"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for element in script.element_loops() {
        let what = if element.writes { "computed" } else { "read" };
        let times = element.times.map_or(String::new(), |times| format!(", {} times", units::count(times)));
        let message = format!("a tensor on {} is {what} number by number{times}", element.device.describe());
        let mut finding = script.finding(RULE.id, RULE.severity, &element.at, message);
        for place in element.counted {
            finding = finding.because(place, "the loop goes through its numbers");
        }
        let help = if element.writes {
            "write the expression for the whole tensor: `y = x * 2` instead of `y[i] = x[i] * 2`"
        } else {
            "use an operation on the whole tensor, or copy it once before the loop: `x = x.tolist()`"
        };
        finding = finding.note("each read and each write of one number is a call of its own on the GPU");
        out.push(finding.help(help), &element.at);
    }
}
