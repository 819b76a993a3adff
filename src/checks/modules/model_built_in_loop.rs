//! Models that are built in a loop, in a framework that keeps them.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "model-built-in-loop",
    summary: "models are built in a loop, and the framework keeps what they leave",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("model-built-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for model in script.kept_models() {
        let message = match model.count {
            Some(count) => {
                format!("{} models are built, and Keras keeps the state of each", units::count(count))
            }
            None => "a model is built in each iteration, and Keras keeps the state of each".to_owned(),
        };
        let finding = script
            .finding(RULE.id, model.severity, &model.at, message)
            .because(model.around, "in this loop")
            .note("names and graphs of all models stay in one global state, so that each is slower to build")
            .help("call `keras.backend.clear_session()` before each model");
        out.push(finding, &model.at);
    }
}
