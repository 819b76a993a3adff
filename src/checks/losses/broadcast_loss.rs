//! A loss over all pairs of predictions and targets.

use super::broadcasting::{broadcasts, is_spread_over_rows, known_shape};
use super::taught::taught_losses;
use crate::apis::Pairs;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Interp, OperationResult, Operator};
use crate::report::replay::Loss;
use crate::report::{Place, Severity};
use crate::syntax::BinaryOp;
use crate::trace::{At, Sight};
use crate::values::{Hazard, HazardKind, Int, Tensor, Value};
use std::rc::Rc;

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

pub(super) static CHECKER: Checker = Checker { on_operation_result: Some(subtracted), ..Checker::SILENT };

/// A column of predictions and a vector of targets were subtracted, which gives all their pairs.
struct AllPairs {
    left: Rc<Tensor>,
    right: Rc<Tensor>,
    /// Losses are multiplied by weights; else predictions meet targets.
    weighted: bool,
}

/// A loss over all pairs of predictions and targets, where each belongs to one.
struct BroadcastLoss {
    at: At,
    input: String,
    target: String,
    /// The loss refuses shapes that differ.
    refused: bool,
    /// The one prediction of a row meets several targets.
    by_row: bool,
    /// The losses of samples are multiplied by weights.
    weighted: bool,
    /// The backward that it reaches, where the loss is written by hand.
    backward: Option<Place>,
}

/// A column that a model makes minus a vector of data: what comes of it stays with the value, until it
/// reaches a loss.
fn subtracted(cx: &mut Interp<'_>, operation: &OperationResult<'_>) {
    let &OperationResult { operator: Operator::Binary(operator), left, right, place, .. } = operation else {
        return;
    };
    let Some(spread) = operation.result.borrow().as_tensor().cloned() else { return };
    let weighted = operator == BinaryOp::Mul;
    let meets = match operator {
        BinaryOp::Sub => is_column_to(left, right) || is_column_to(right, left),
        BinaryOp::Mul => is_weighted_by(cx, left, right) || is_weighted_by(cx, right, left),
        _ => false,
    };
    if meets {
        let hazard = Hazard::new(HazardKind::PairwiseBroadcast, place, spread.confidence);
        operation.result.replace(Value::tensor(spread.with_hazard(hazard)));
        let pairs = AllPairs { left: left.clone(), right: right.clone(), weighted };
        cx.observe(place, pairs, spread.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for loss in broadcast_losses(script) {
        let mut finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message(&loss))
            .note(match (loss.refused, loss.weighted) {
                _ if loss.by_row && !loss.refused => {
                    "the one prediction of a row is compared with every target of that row; PyTorch warns of the sizes"
                }
                (true, _) => "the loss raises an error when the shapes differ",
                (_, true) => "each loss is multiplied by every weight, so all samples get the mean weight",
                _ => "each prediction is compared with every target, so all predictions are pulled to the mean target",
            })
            .help(match loss.weighted {
                _ if loss.by_row => "give both the same shape: add up or choose among the targets of a row first",
                true => "give both the same shape: `weights.squeeze(1)`",
                false => "give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`",
            });
        if !loss.weighted && !loss.by_row {
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
    if loss.weighted {
        format!("{input} * {target} broadcasts to all pairs of losses and weights")
    } else if loss.backward.is_some() {
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
        let by_row = is_spread_over_rows(loss.input, target);
        let confidence = broadcasts(loss.input, target).or(by_row);
        let Some(confidence) = confidence else { continue };
        if seen.insert(loss.at.place) {
            found.push(BroadcastLoss {
                at: At { confidence: confidence.min(target.confidence).min(loss.at.confidence), ..loss.at },
                input: known_shape(script, loss.input),
                target: known_shape(script, target),
                refused: pairs == Pairs::Equal,
                by_row: by_row.is_some(),
                weighted: false,
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
            if seen.insert(hazard.place) {
                found.push(BroadcastLoss {
                    at: At { confidence: hazard.confidence.min(at.confidence), ..here.clone() },
                    input: known_shape(script, &pairs.left),
                    target: known_shape(script, &pairs.right),
                    refused: false,
                    by_row: false,
                    weighted: pairs.weighted,
                    backward: Some(at.place),
                });
            }
        }
    }
}

/// Whether what is learned has a part in a value.
fn is_made(tensor: &Tensor) -> bool {
    tensor.learned || tensor.graph.is_live()
}

/// Whether one is what a loss gives for each sample and the other a column of as many weights.
fn is_weighted_by(cx: &Interp<'_>, losses: &Tensor, weights: &Tensor) -> bool {
    let by_loss = losses.what.and_then(|what| cx.apis.get(what)).is_some_and(|api| api.loss.is_some());
    let (Some(samples), Some(column)) = (&losses.shape, &weights.shape) else { return false };
    let many = |size: &Int| matches!(size, Int::Sum(_)) || size.known().is_some_and(|size| size > 1);
    let meets =
        matches!((&**samples, &**column), ([size], [rows, Int::Known(1)]) if rows == size && many(rows));
    by_loss && meets
}

/// Whether one is a column of predictions and the other a vector of data that may be as long.
fn is_column_to(column: &Tensor, vector: &Tensor) -> bool {
    let many = |size: &Int| matches!(size, Int::Sum(_)) || size.known().is_some_and(|size| size > 1);
    let (Some(column), Some(vector), true) =
        (&column.shape, &vector.shape, is_made(column) && !is_made(vector))
    else {
        return false;
    };
    matches!((&**column, &**vector), ([rows, Int::Known(1)], [size]) if rows == size && many(rows))
}
