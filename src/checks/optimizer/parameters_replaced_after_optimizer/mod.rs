//! Parameters that came when the optimizer was already built.

mod abandoned;
mod replaced;

pub(in crate::checks) use abandoned::abandoned_models;
pub(in crate::checks) use replaced::replaced_parts;

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::Severity;
use crate::values::OptimizerState;

pub(super) static RULE: Rule = Rule {
    id: "parameters-replaced-after-optimizer",
    summary: "a part of the model is made after its optimizer",
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
                    "these new parameters are never updated: the optimizer does not have them",
                )
                .because(
                    part.gathered,
                    format!(
                        "`{}` took the parameters that were there",
                        script.optimizer_name(part.optimizer)
                    ),
                )
                .because(part.step, "and steps those only")
                .replay(script.replay_of_layers(layers::REPLACED))
                .help("replace it before the optimizer is built, or call `add_param_group` for it"),
            &part.at,
        );
    }
    for step in abandoned_models(script) {
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &step.at,
                "this step leaves the model as it is: it owns another one",
            )
            .because(step.other, "this model gets the gradients");
        if let Some(gathered) = step.gathered {
            finding = finding.because(
                gathered,
                format!("`{}` has the parameters of an earlier one", script.optimizer_name(step.optimizer)),
            );
        }
        finding = finding.replay(script.replay_of_layers(layers::MISSED));
        out.push(finding.help("build the optimizer again when the model is made again"), &step.at);
    }
}

/// Whether all parameters of an optimizer are known.
fn owns_known(state: &OptimizerState) -> bool {
    !state.owns.is_empty() && !state.others && !state.managed
}
