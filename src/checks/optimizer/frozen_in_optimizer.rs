//! Optimizers whose list of parameters is not what the script trains: layers get gradients, and nobody has them.

use crate::checks::modules::is_made_in_forward;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "frozen-in-optimizer",
    summary: "trainable layers whose parameters are in no optimizer",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("frozen-in-optimizer"),
    check,
};

/// So many parts are named.
const NAMED: usize = 2;

fn check(script: &Script, out: &mut Findings) {
    for untrained in script.untrained() {
        // No optimizer could have a layer that lives for one forward pass, which is said of it.
        if is_made_in_forward(script, untrained.made) {
            continue;
        }
        let mut parts = untrained.parts.clone();
        parts.dedup();
        let named: Vec<String> = parts.iter().take(NAMED).map(|part| format!("`{part}`")).collect();
        let more = match parts.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!("no optimizer updates the parameters of {}{more}", named.join(" and "));
        out.push(
            script
                .finding(RULE.id, RULE.severity, &untrained.at, message)
                .because(untrained.backward, "computes their gradients, which no optimizer applies")
                .because(untrained.made, "they keep their initial values")
                .help(format!(
                    "pass them to `{}`, or freeze them with `requires_grad_(False)`",
                    untrained.optimizer
                )),
            &untrained.at,
        );
    }
}
