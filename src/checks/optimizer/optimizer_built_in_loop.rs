//! An optimizer that forgets what it knows after each step.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "optimizer-built-in-loop",
    summary: "a new optimizer is created for every step or epoch",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("optimizer-built-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for built in script.rebuilt_optimizers() {
        let (each, step, note) = match built.each_epoch {
            false => (
                "iteration",
                "it takes its only step here",
                "momentum and running averages are reset to zero every step, so they never build up",
            ),
            true => (
                "epoch",
                "it steps once per batch of one epoch here",
                "momentum and running averages are reset to zero every epoch",
            ),
        };
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &built.at,
                    format!("every {each} creates a new `{}`, so optimizer state is lost", built.class),
                )
                .because(built.step, step)
                .because(built.model, "the model is created only once")
                .note(note)
                .help("create the optimizer once, before the loop")
                .replay(script.replay_of_order(built.step, Repair::BuildOnce)),
            &built.at,
        );
    }
}
