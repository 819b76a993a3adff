//! Evaluation that records graphs nobody walks.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "missing-no-grad",
    summary: "evaluation builds graphs that no backward walks",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("missing-no-grad"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for forward in script.idle_graphs() {
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &forward.at,
                "this forward records a graph that no backward walks",
            )
            .note(format!(
                "`{}` is in evaluation mode here, and its parameters ask for gradients",
                forward.module
            ))
            .help("put the loop under `with torch.no_grad():`");
        for other in &forward.others {
            finding = finding.because(*other, "and so does this");
        }
        let idle = (forward.kept > 0).then(|| {
            let what = format!("the graph that one pass through `{}` keeps for nothing", forward.module);
            Replay::Memory(Demand { wasted: true, ..Demand::of(what, forward.kept) })
        });
        let fix = script.unrecorded(&forward).map(|fix| {
            let title = match fix.by_decorator {
                true => format!("decorate the function with `@{}()`", fix.said),
                false => format!("put it under `with {}():`", fix.said),
            };
            Fix::safe(title, fix.edits)
        });
        out.push(finding.fix(fix).replay(idle), &forward.at);
    }
}
