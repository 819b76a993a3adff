//! Terms of a loss that are constants for the backward pass: a metric of hard decisions, added to a loss that learns.

use crate::apis::{Api, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Interp, Operation, Operator};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::BinaryOp;
use crate::trace::Sight;
use crate::values::{DetachPoint, Graph, ObjSet, Tensor};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "constant-loss-term",
    summary: "a term of the loss has no gradient, so it trains nothing and its weight has no effect",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("constant-loss-term"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_operation: Some(summed), ..Checker::SILENT };

/// A sum of a loss that learns and one that was computed of the same model, and has no gradient.
struct ConstantTerm {
    point: Place,
    by: Ustr,
}

fn summed(cx: &mut Interp<'_>, sum: &Operation<'_>) {
    if !matches!(sum.operator, Operator::Binary(BinaryOp::Add | BinaryOp::Sub)) {
        return;
    }
    for (learns, term) in [(sum.left, sum.right), (sum.right, sum.left)] {
        if let Some((point, by)) = constant(cx, learns, term) {
            let sure = learns.confidence.min(term.confidence);
            cx.observe(sum.place, ConstantTerm { point, by }, sure);
        }
    }
}

/// Where a term lost the way to what the rest of the loss trains.
fn constant(cx: &Interp<'_>, learns: &Tensor, term: &Tensor) -> Option<(Place, Ustr)> {
    let points = term.detach_points.as_ref()?;
    let trained = learns.graph.leaves();
    let is_sum = is_one_number(term) && (learns.rank().is_none() || is_one_number(learns));
    if !is_sum || !learns.graph.is_live() || trained.is_empty() {
        return None;
    }
    let asks = match &term.graph {
        Graph::None => false,
        Graph::Live(nodes) if nodes.own && nodes.leaves.is_empty() && !nodes.maybe => true,
        _ => return None,
    };
    points.iter().find_map(|point| {
        let by = point.by?;
        // Whoever detaches a term means it, but not who asks for its gradients afterwards.
        let is_meant = point.unrecorded || cx.apis.get(by).and_then(Api::transfer) == Some(Transfer::Detach);
        (shares(point, &trained) && (asks || !is_meant)).then_some((point.place, by))
    })
}

fn is_one_number(tensor: &Tensor) -> bool {
    tensor.averaged || tensor.rank() == Some(0)
}

fn shares(point: &DetachPoint, trained: &ObjSet) -> bool {
    point.lost.iter().any(|part| trained.contains(part))
}

fn check(script: &Script, out: &mut Findings) {
    let losses: Vec<&Tensor> = script
        .sightings()
        .filter_map(|(_, sight)| match sight {
            Sight::Backward { loss, .. } | Sight::Walked { loss, .. } => Some(&**loss),
            _ => None,
        })
        .collect();
    let mut seen = Places::default();
    for (at, term) in script.observed_once::<ConstantTerm>() {
        // What is only printed trains nothing, and is not meant to.
        let is_of = |loss: &&Tensor| {
            let mut points = loss.detach_points.iter().flat_map(|points| points.iter());
            loss.made == Some(at.place) || points.any(|point| point.place == term.point)
        };
        if at.confidence < Confidence::Medium || !losses.iter().any(is_of) || !seen.insert(term.point) {
            continue;
        }
        let by = term.by.rsplit('.').next().unwrap_or_default();
        let message = "a term of this loss has no gradient: it is a constant, and its weight has no effect";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(term.point, format!("`{by}` detaches the result from the graph"))
            .note("the term is logged and looks like a part of the loss, but the model is trained as if it were not there")
            .help("compute the term from the outputs themselves, as in a soft argmax or probabilities in place of decisions");
        out.push(finding, at);
    }
}
