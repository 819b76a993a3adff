//! A softmax over one class.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "one-class-softmax",
    summary: "a softmax over one class always gives one",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("one-class-softmax"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for lone in script.lone_classes() {
        let message = if lone.in_loss {
            "this cross-entropy is over one class: it is zero whatever the model gives"
        } else {
            "this softmax is over an axis of one: it gives 1 whatever goes in"
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &lone.at, message)
            .note("nothing depends on the model any more, so its gradients are zero")
            .replay(script.replay_of_heads(lone.heads))
            .help("for two classes use one output with a sigmoid and a binary cross-entropy, or two outputs");
        out.push(finding, &lone.at);
    }
}
