//! A training step that goes past the strategy its variables were made for.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "bypassed-strategy",
    summary: "the training step never goes through the distribution strategy",
    group: Group::Distributed,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("bypassed-strategy"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for step in script.bypassed_strategies() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &step.at,
                "this step is taken outside of the strategy's replicas",
            )
            .because(step.scope, "made in the strategy's scope, with a copy on each device")
            .note("TensorFlow raises an error here, or trains on one device only")
            .help("call the step with `strategy.run(train_step, args=(batch,))`, or train with `model.fit`");
        out.push(finding, &step.at);
    }
}
