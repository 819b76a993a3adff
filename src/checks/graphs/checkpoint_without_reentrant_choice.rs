//! Activation checkpointing that leaves its way to the framework.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "checkpoint-without-reentrant-choice",
    summary: "checkpointing does not say which of its two ways it takes",
    group: Group::Memory,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("checkpoint-without-reentrant-choice"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for call in script.recomputed() {
        let name = call.function.rsplit('.').next().unwrap_or_default();
        let fix = script.with_argument(call.at.place, "use_reentrant", "False");
        out.push(
            script
                .finding(RULE.id, RULE.severity, &call.at, format!("`{name}` recomputes in the way that this version of the framework prefers"))
                .note("the reentrant way gives no gradients where no input asks for them, and PyTorch is about to change the default")
                .fix(fix.map(|edits| Fix::guess("pass `use_reentrant=False`", edits)))
                .help("pass `use_reentrant=False`"),
            &call.at,
        );
    }
}
