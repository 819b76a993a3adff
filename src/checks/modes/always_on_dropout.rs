//! Dropout that does not ask for the mode of the model.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "always-on-dropout",
    summary: "dropout stays on when the model is evaluated",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("always-on-dropout"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for dropout in script.constant_dropouts() {
        let by = dropout.by.rsplit('.').next().unwrap_or_default();
        let class = &dropout.class;
        let (message, help) = if dropout.is_layer {
            (
                format!(
                    "this layer is made anew in each forward of `{class}`, so `model.eval()` never reaches it"
                ),
                "make the dropout layer in `__init__`".to_owned(),
            )
        } else if by.contains("dropout") && !by.contains("attention") {
            (
                format!("`{by}` drops numbers in evaluation mode, too"),
                format!("pass the mode on: `{by}(..., training=self.training)`"),
            )
        } else {
            (
                format!("`{by}` drops numbers in evaluation mode, too"),
                "pass `dropout_p=self.dropout if self.training else 0.0`".to_owned(),
            )
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &dropout.at, message)
            .note("what the model predicts is random, and worse than what it has learned")
            .help(help);
        let decides = !dropout.is_layer && script.takes(&dropout.by, "training");
        let fix = script.with_own_argument(dropout.at.place, "training").filter(|_| decides);
        let fix = fix.map(|edits| Fix::safe("pass the mode on", edits));
        out.push(finding.fix(fix), &dropout.at);
    }
}
