//! An optimizer that forgets what it knows after each step.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "optimizer-built-in-loop",
    summary: "an optimizer is built anew for each step",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("optimizer-built-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for built in script.rebuilt_optimizers() {
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &built.at,
                    format!("each iteration starts with a new `{}`, which has forgotten every step", built.class),
                )
                .because(built.step, "takes its only step here")
                .because(built.model, "for a model that is made once")
                .note("its running averages start at zero in every step, so that momentum and adaptive rates never build up")
                .help("build the optimizer once, before the loop")
                .replay(script.replay_of_order(built.step, Repair::BuildOnce)),
            &built.at,
        );
    }
}
