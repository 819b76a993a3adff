//! Parameters that came when the optimizer was already built.

mod abandoned;
mod rebound;
mod replaced;

pub(in crate::checks) use abandoned::abandoned_models;
pub(in crate::checks) use rebound::CHECKER;
pub(in crate::checks) use replaced::replaced_parts;

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::Severity;
use crate::values::OptimizerState;

pub(super) static RULE: Rule = Rule {
    id: "parameters-replaced-after-optimizer",
    summary: "part of the model is replaced after the optimizer was created",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("parameters-replaced-after-optimizer"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for part in replaced_parts(script) {
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &part.at,
                    "these new parameters are never updated: the optimizer does not hold them",
                )
                .because(
                    part.gathered,
                    format!("`{}` was given the old parameters", script.optimizer_name(part.optimizer)),
                )
                .because(part.step, "updates only the old parameters")
                .replay(script.replay_of_layers(layers::REPLACED))
                .help("replace it before creating the optimizer, or register it with `add_param_group`"),
            &part.at,
        );
    }
    for step in abandoned_models(script) {
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &step.at,
                "this step does not update the model: its optimizer holds another model's parameters",
            )
            .because(step.other, "the gradients belong to this model");
        if let Some(gathered) = step.gathered {
            finding = finding.because(
                gathered,
                format!(
                    "`{}` was given the parameters of an earlier model",
                    script.optimizer_name(step.optimizer)
                ),
            );
        }
        finding = finding.replay(script.replay_of_layers(layers::MISSED));
        out.push(finding.help("create a new optimizer whenever the model is created again"), &step.at);
    }
    for (at, rebound) in rebound::rebound_leaves(script) {
        let message =
            format!("`{}` is a new tensor from here on, which no optimizer updates", rebound.written);
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, message)
                .because(rebound.gathered, "holds the tensor that it was before")
                .note("it keeps the graph that it was computed of, which the next `backward()` goes through again")
                .help(format!("change the values in place: `with torch.no_grad(): {}.clamp_(...)`", rebound.written)),
            at,
        );
    }
}

/// Whether all parameters of an optimizer are known.
fn owns_known(state: &OptimizerState) -> bool {
    !state.owns.is_empty() && !state.others && !state.managed
}
