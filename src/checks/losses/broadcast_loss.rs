//! A loss over all pairs of predictions and targets.

use super::all_pairs::{AllPairs, Of};
use super::broadcasting::{broadcasts, is_spread_over_rows, known_shape};
use super::taught::taught_losses;
use crate::apis::Pairs;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::replay::Loss;
use crate::report::{Place, Severity};
use crate::trace::{At, Sight};
use crate::values::HazardKind;

pub(super) static RULE: Rule = Rule {
    id: "broadcast-loss",
    summary: "predictions `[N, 1]` and targets `[N]` broadcast to `[N, N]`",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("broadcast-loss"),
    check,
};

/// A loss over all pairs of predictions and targets, where each belongs to one.
struct BroadcastLoss {
    at: At,
    input: String,
    target: String,
    /// The loss refuses shapes that differ.
    refused: bool,
    /// The one prediction of a row meets several targets.
    by_row: bool,
    /// What meets, where the loss is written by hand.
    of: Of,
    /// The backward that it reaches, where the loss is written by hand.
    backward: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    for loss in broadcast_losses(script) {
        let mut finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message(&loss))
            .note(match (loss.refused, loss.of) {
                _ if loss.by_row && !loss.refused => {
                    "the one prediction of a row is compared with every target of that row; PyTorch warns of the sizes"
                }
                (true, _) => "the loss raises an error when the shapes differ",
                (_, Of::Weights) => "each loss is multiplied by every weight, so all samples get the mean weight",
                (_, Of::Factors) => "the mean over all pairs is that of the samples times that of their factors",
                (_, Of::Indices) => "each row is picked from at the indices of all rows, not at its own",
                _ => "each prediction is compared with every target, so all predictions are pulled to the mean target",
            })
            .help(match loss.of {
                _ if loss.by_row => "give both the same shape: add up or choose among the targets of a row first",
                Of::Weights => "give both the same shape: `weights.squeeze(1)`",
                Of::Factors => "give both the same shape: `squeeze(1)` the column",
                Of::Indices => "give both the same shape: `indices.squeeze(1)`",
                Of::Targets => "give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`",
            });
        if loss.of == Of::Targets && !loss.by_row {
            finding = finding.replay(script.replay_of_loss(Loss::AllPairs, Loss::Squares));
        }
        if let Some(backward) = loss.backward {
            finding = finding.because(backward, "this backward pass uses the resulting loss");
        }
        out.push(finding, &loss.at);
    }
}

fn message(loss: &BroadcastLoss) -> String {
    let (input, target) = (&loss.input, &loss.target);
    match loss.of {
        Of::Weights => return format!("{input} * {target} broadcasts to all pairs of losses and weights"),
        Of::Factors => return format!("{input} and {target} broadcast to all pairs of samples"),
        Of::Indices => {
            return format!("indices of shape {input} and {target} pick all pairs of rows and indices");
        }
        Of::Targets => {}
    }
    if loss.backward.is_some() {
        format!("{input} - {target} broadcasts to all pairs of predictions and targets")
    } else if loss.refused {
        format!("shape mismatch in this loss: predictions are {input}, targets are {target}")
    } else if loss.by_row {
        format!("predictions of shape {input} are spread over targets of shape {target}")
    } else {
        format!("predictions of shape {input} and targets of shape {target} broadcast to all pairs")
    }
}

fn broadcast_losses(script: &Script) -> Vec<BroadcastLoss> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for loss in taught_losses(script) {
        let (Some(pairs), Some(target)) = (loss.spec.pairs, loss.target.and_then(|value| value.as_tensor()))
        else {
            continue;
        };
        let all_pairs = broadcasts(loss.input, target);
        let by_row = is_spread_over_rows(loss.input, target).filter(|_| all_pairs.is_none());
        let confidence = all_pairs.or(by_row);
        let Some(confidence) = confidence else { continue };
        if seen.insert(loss.at.place) {
            found.push(BroadcastLoss {
                at: At { confidence: confidence.min(target.confidence).min(loss.at.confidence), ..loss.at },
                input: known_shape(script, loss.input),
                target: known_shape(script, target),
                refused: pairs == Pairs::Equal,
                by_row: by_row.is_some(),
                of: Of::Targets,
                backward: None,
            });
        }
    }
    broadcast_by_hand(script, &mut seen, &mut found);
    found
}

/// Differences over all pairs that a backward walks.
fn broadcast_by_hand(script: &Script, seen: &mut Places, found: &mut Vec<BroadcastLoss>) {
    for (at, sight) in script.sightings() {
        let Sight::Backward { loss, .. } = sight else { continue };
        let spread = loss.hazards.iter().flat_map(|hazards| hazards.iter());
        for hazard in spread.filter(|hazard| hazard.kind == HazardKind::PairwiseBroadcast) {
            let met = |(here, _): &(&At, &AllPairs)| here.place == hazard.place;
            let Some((here, pairs)) = script.observed::<AllPairs>().find(met) else { continue };
            if !pairs.is_certain() {
                continue;
            }
            if seen.insert(hazard.place) {
                found.push(BroadcastLoss {
                    at: At { confidence: hazard.confidence.min(at.confidence), ..here.clone() },
                    input: known_shape(script, &pairs.left),
                    target: known_shape(script, &pairs.right),
                    refused: false,
                    by_row: false,
                    of: pairs.of,
                    backward: Some(at.place),
                });
            }
        }
    }
}
