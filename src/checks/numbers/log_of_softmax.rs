//! A logarithm of what a softmax or a sigmoid has made, where rounding reaches zero.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Ailment, Findings, Script};
use crate::report::{Fix, Severity};
use crate::values::End;

pub(super) static RULE: Rule = Rule {
    id: "log-of-softmax",
    summary: "the logarithm of a softmax or sigmoid is taken by hand",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("log-of-softmax"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in script.unsafe_numbers(Ailment::LogOfShare) {
        let subject = number.subject("a probability");
        // What is left of a probability is rounded to zero long before a probability underflows.
        let of_rest = number.nearness == End::Rounded;
        let message =
            format!("{subject} is rounded to zero where the model is sure, and its logarithm is -∞");
        let limit = if of_rest {
            "in single precision a sigmoid is exactly 1 from a logit of 17 on, and 1 minus it zero"
        } else {
            "in single precision a probability is zero from a difference of 104 between logits on, its gradient much earlier"
        };
        let finding = script
            .unsafe_finding(RULE.id, Severity::Warning, &number, message)
            .note(limit)
            .help("compute the logarithm from the logits: `log_softmax(x)`, `logsigmoid(x)`, `logsigmoid(-x)` for `log(1 - sigmoid(x))`, or a loss that takes logits");
        let stable = script.as_log_softmax(&number).map(|edits| Fix::safe("use `log_softmax`", edits));
        let fix = stable.or_else(|| {
            let edits = script.kept_from_zero(&number, "1e-6")?;
            Some(Fix::guess("add `1e-6` to the operand", edits))
        });
        out.push(finding.fix(fix), &number.at);
    }
}
