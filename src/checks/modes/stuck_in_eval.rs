//! Training that goes on in evaluation mode.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "stuck-in-eval",
    summary: "nothing puts the model back into training mode after an evaluation",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("stuck-in-eval"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for stuck in script.stuck_in_eval() {
        let when = if stuck.always { "from the second round on" } else { "once it was evaluated" };
        let message = format!("{when} this trains the model in evaluation mode");
        let fix = script.back_in_training(&stuck, "train");
        let fix = fix.map(|(model, edits)| Fix::guess(format!("call `{model}.train()` before it"), edits));
        out.push(
            script
                .finding(RULE.id, RULE.severity, &stuck.at, message)
                .because(stuck.eval, "puts it into evaluation mode, and nothing puts it back")
                .note("dropout is off, and batch norm no longer follows the data")
                .fix(fix)
                .replay(script.replay_of_mode(stuck.modes))
                .help(format!("call `{}.train()` at the head of each epoch", stuck.model)),
            &stuck.at,
        );
    }
}
