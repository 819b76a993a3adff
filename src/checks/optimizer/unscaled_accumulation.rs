//! Gradients of several batches that are summed where their mean is meant.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "unscaled-accumulation",
    summary: "gradients of several batches are summed at full size",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("unscaled-accumulation"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for sum in script.full_size_gradients() {
        let message = match sum.batches {
            Some(batches) => {
                format!("each step sums the gradients of {batches} batches, and none is divided by {batches}")
            }
            None => "each step sums the gradients of several batches, and none is divided by their number"
                .to_owned(),
        };
        let times = sum.batches.map_or("as many".to_owned(), |batches| batches.to_string());
        let cost = if sum.is_proportional {
            format!("that is a learning rate {times} times as large as it says")
        } else {
            "clipping, weight decay and epsilon see gradients that are too large".to_owned()
        };
        let divisor = sum.batches.map_or("the number of batches".to_owned(), |batches| batches.to_string());
        out.push(
            script
                .finding(RULE.id, sum.severity, &sum.at, message)
                .because(sum.step, format!("`{}` steps once for all of them", sum.optimizer))
                .note(cost)
                .replay(script.replay_of_order(sum.step, Repair::Divide))
                .help(format!("divide the loss by {divisor} before `backward()`")),
            &sum.at,
        );
    }
}
