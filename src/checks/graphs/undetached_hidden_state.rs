//! A state that is carried from iteration to iteration with its graph.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;
use crate::report::replay::Carried;
use crate::trace::{At, GraphUsedAgain};

pub(super) static RULE: Rule = Rule {
    id: "undetached-hidden-state",
    summary: "a hidden state carries its graph into the next iteration's backward",
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
                "each backward pass also backpropagates through the graphs of all earlier iterations",
                "each iteration is slower than the last, and memory grows until it runs out",
            )
        } else {
            (
                "the second `backward()` reaches the first iteration's graph, which is already freed",
                "PyTorch raises `Trying to backward through the graph a second time`",
            )
        };
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, message)
                .because(
                    again.recorded,
                    "its output from the previous iteration is still part of this loss's graph",
                )
                .note(cost)
                .replay(script.replay_of_carried(if again.kept { Carried::Kept } else { Carried::Freed }))
                .help("detach the carried state before using it again: `hidden = hidden.detach()`"),
            at,
        );
    }
}
