//! Evaluation with layers that still behave as in training.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "missing-eval-mode",
    summary: "a model is evaluated in training mode",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("missing-eval-mode"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for forward in script.evaluated_in_training() {
        let note = match forward.layer_is_model {
            true => "pretrained models hold dropout or batch norm, which act on the batch in training mode"
                .to_owned(),
            false => format!(
                "its `{}` acts as in training: outputs are noisy, or depend on the batch",
                forward.layer
            ),
        };
        let fix = script.in_eval_mode(&forward, "eval", "train");
        let fix = fix.map(|(model, edits)| Fix::guess(format!("call `{model}.eval()` before it"), edits));
        out.push(
            script
                .finding(RULE.id, RULE.severity, &forward.at, "this evaluates the model in training mode")
                .note(note)
                .fix(fix)
                .replay(script.replay_of_mode(forward.modes))
                .help("call `.eval()` on it before, and `.train()` before training goes on"),
            &forward.at,
        );
    }
}
