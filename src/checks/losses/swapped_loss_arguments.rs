//! A loss that gets the targets in the place of the predictions.

use super::taught::several_losses;
use crate::apis::Expects;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::trace::{At, Loss, Sight};
use crate::values::{Graph, Source, Tensor};

pub(super) static RULE: Rule = Rule {
    id: "swapped-loss-arguments",
    summary: "the loss receives the targets as predictions and the predictions as targets",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("swapped-loss-arguments"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let several = several_losses(script);
    let mut seen = Places::default();
    for (at, sight) in script.sightings() {
        let Sight::Loss(loss) = sight else { continue };
        let Some((labels, output)) = swapped(loss) else { continue };
        if several.contains_key(&at.place) || !seen.insert(at.place) {
            continue;
        }
        let confidence = at.confidence.min(labels.confidence).min(output.confidence);
        let at = At { confidence, ..at.clone() };
        let (input, target) = (loss.spec.input, loss.spec.target);
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &at,
                "swapped arguments: this loss receives the targets as its predictions",
            )
            .note("it raises an error, or the model is trained on the gradient of another loss")
            .help(format!("pass the output of the model as `{input}`, and the targets as `{target}`"))
            .fix(exchanged(script, at.place).map(|edits| Fix::safe("swap the arguments", edits)));
        if let Some(made) = at.beside(output.made) {
            finding = finding.because(made, "the predictions are computed here");
        }
        out.push(finding, &at);
    }
}

/// The labels and the output of a loss that gets one in the place of the other.
pub(super) fn swapped(loss: &Loss) -> Option<(&Tensor, &Tensor)> {
    // Of a divergence either argument may learn, and the difference of two numbers has no order.
    if loss.spec.turned || matches!(loss.expects, Expects::Anything | Expects::LogDistribution) {
        return None;
    }
    let (input, target) = (loss.input.as_tensor()?, loss.target.as_tensor()?);
    let is_given = matches!(input.source, Source::Data | Source::Constant);
    let is_fixed = is_given && !input.learned && matches!(input.graph, Graph::None);
    let is_output = target.learned && !matches!(target.graph, Graph::None);
    (is_fixed && is_output).then_some((input, target))
}

/// The first two arguments of a call in the place of each other.
fn exchanged(script: &Script, place: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let call = draft.call_at(place.span)?;
    let (first, second) = (draft.positional(call, 0)?.span, draft.positional(call, 1)?.span);
    Some(vec![draft.replace(first, draft.text(second)), draft.replace(second, draft.text(first))])
}
