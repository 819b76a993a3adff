//! A state that is carried from iteration to iteration with its graph.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;
use crate::report::replay::Carried;
use crate::trace::{At, GraphUsedAgain};

pub(super) static RULE: Rule = Rule {
    id: "undetached-hidden-state",
    summary: "a value carries its graph into the next iteration's backward",
    group: Group::Memory,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("undetached-hidden-state"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    // Kept on purpose where nothing is trained, it is the gradients that are looked at.
    let counts = |_: &At, again: &GraphUsedAgain| !again.kept || script.steps_anywhere();
    for (at, again) in script.observed_once_where(counts) {
        let (message, cost) = if again.kept {
            (
                "each backward goes through the graphs of all earlier iterations again",
                "iterations take longer and longer, and memory grows until none is left",
            )
        } else {
            (
                "the second iteration's backward comes to the graph of the first, which is freed",
                "the run ends with «trying to backward through the graph a second time»",
            )
        };
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, message)
                .because(again.recorded, "what this gave in the iteration before is part of the loss")
                .note(cost)
                .replay(script.replay_of_carried(if again.kept { Carried::Kept } else { Carried::Freed }))
                .help("cut the carried value off before it is used again: `hidden = hidden.detach()`"),
            at,
        );
    }
}
