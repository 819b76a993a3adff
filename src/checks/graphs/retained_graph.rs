//! A graph that is kept alive from iteration to iteration.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Carried, Demand, Replay};
use crate::report::{Fix, Severity};
use crate::trace::Carry;

pub(super) static RULE: Rule = Rule {
    id: "retained-graph",
    summary: "a value keeps its graph alive after its iteration",
    group: Group::Memory,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("retained-graph"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for kept in script.retained_graphs() {
        // A backward frees the activations; what is left of the graph is small, and grows.
        let (severity, cost) = if kept.is_walked {
            (
                Severity::Warning,
                "backward has freed the activations; the nodes of each iteration's graph stay",
            )
        } else {
            (Severity::Error, "no backward frees it, so the activations of every iteration stay in memory")
        };
        let message = match kept.by {
            Carry::Sum => format!("`{}` keeps the graph of every iteration alive", kept.into),
            Carry::Append => format!("`{}` collects values with their graphs", kept.into),
        };
        let mut finding = script.finding(RULE.id, severity, &kept.at, message);
        if let Some(place) = kept.container {
            finding = finding.because(place, "lives longer than the iteration");
        }
        // Where it is known what a graph takes, that says more than how many there are.
        let held = match kept.kept {
            bytes if bytes > 0 && !kept.is_walked => Replay::Memory(Demand {
                each_step: Some(bytes),
                steps: kept.steps,
                ..Demand::of("what is kept", 0)
            }),
            _ => script.replay_of_carried(Carried::Held),
        };
        let fix = script.let_go(&kept, ".detach()").map(|edits| Fix::safe("add `.detach()`", edits));
        out.push(
            finding
                .fix(fix)
                .replay(held)
                .note(cost)
                .help("keep `.item()` for a number, or `.detach()` for a tensor"),
            &kept.at,
        );
    }
}
