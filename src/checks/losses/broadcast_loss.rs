//! A loss over all pairs of predictions and targets.

use super::broadcasting::{broadcasts, known_shape};
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
}

/// A loss over all pairs of predictions and targets, where each belongs to one.
struct BroadcastLoss {
    at: At,
    input: String,
    target: String,
    /// The loss refuses shapes that differ.
    refused: bool,
    /// The backward that it reaches, where the loss is written by hand.
    backward: Option<Place>,
}

/// A column that a model makes minus a vector of data: what comes of it stays with the value, until it
/// reaches a loss.
fn subtracted(cx: &mut Interp<'_>, operation: &OperationResult<'_>) {
    let &OperationResult { operator: Operator::Binary(BinaryOp::Sub), left, right, place, .. } = operation
    else {
        return;
    };
    let Some(spread) = operation.result.borrow().as_tensor().cloned() else { return };
    if is_column_to(left, right) || is_column_to(right, left) {
        let hazard = Hazard::new(HazardKind::PairwiseBroadcast, place, spread.confidence);
        operation.result.replace(Value::tensor(spread.with_hazard(hazard)));
        let pairs = AllPairs { left: left.clone(), right: right.clone() };
        cx.observe(place, pairs, spread.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for loss in broadcast_losses(script) {
        let mut finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message(&loss))
            .note(if loss.refused {
                "the loss raises an error when the shapes differ"
            } else {
                "each prediction is compared with every target, so all predictions are pulled to the mean target"
            })
            .replay(script.replay_of_loss(Loss::AllPairs, Loss::Squares))
            .help("give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`");
        if let Some(backward) = loss.backward {
            finding = finding.because(backward, "this backward pass uses the resulting loss");
        }
        out.push(finding, &loss.at);
    }
}

fn message(loss: &BroadcastLoss) -> String {
    let (input, target) = (&loss.input, &loss.target);
    if loss.backward.is_some() {
        format!("{input} - {target} broadcasts to all pairs of predictions and targets")
    } else if loss.refused {
        format!("shape mismatch in this loss: predictions are {input}, targets are {target}")
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
        let Some(confidence) = broadcasts(loss.input, target) else { continue };
        if seen.insert(loss.at.place) {
            found.push(BroadcastLoss {
                at: At { confidence: confidence.min(target.confidence).min(loss.at.confidence), ..loss.at },
                input: known_shape(script, loss.input),
                target: known_shape(script, target),
                refused: pairs == Pairs::Equal,
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
