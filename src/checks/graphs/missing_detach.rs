//! Targets that are computed of the largest value that a network predicts, and that keep its graph: the loss trains
//! the target, too.

use crate::apis::RangeFunction;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Assignment, Checker, Interp, LossCall};
use crate::report::{Confidence, FileId, Fix, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Tree};
use crate::values::{Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-detach",
    summary: "the target of a loss is bootstrapped from a network and keeps its computation graph",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-detach"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_api_result: Some(largest),
    on_assign: Some(assigned),
    on_loss: Some(compared),
    ..Checker::SILENT
};

/// Where the largest of what a network predicts was taken, and the names of what is computed of it.
#[derive(Default)]
struct Bootstraps {
    taken: Vec<Place>,
    names: Vec<(Ustr, Bootstrap)>,
}

/// A value that a network's own prediction leads to.
#[derive(Clone, Copy)]
struct Bootstrap {
    /// Where the largest of its predictions is taken.
    taken: Place,
    /// Something was added to it, such as a reward.
    added: bool,
}

/// A loss whose target has a graph.
struct Followed {
    /// Where the largest value is taken.
    taken: Place,
    /// The same network predicts and is asked for the target.
    same: bool,
}

/// `net(next_states).max(1)`
fn largest(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let api = result.call.api;
    let is_largest = matches!(
        api.range_function(),
        Some(RangeFunction::Largest | RangeFunction::OptionalMax | RangeFunction::Max)
    );
    if !is_largest {
        return;
    }
    let Some(of) = result.call.nth_tensor(0) else { return };
    if of.graph.is_live() && of.learned {
        let place = result.call.place;
        cx.remember(|all: &mut Bootstraps| {
            if !all.taken.contains(&place) {
                all.taken.push(place);
            }
        });
    }
}

/// `target = reward + gamma * best`
fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let tree = cx.tree(cx.file());
    // `best, index = values.max(dim=1)`
    let target = match &tree.expr(assignment.target).kind {
        ExprKind::Tuple(targets) => targets.first().copied().unwrap_or(assignment.target),
        _ => assignment.target,
    };
    // `targets[alive] = best`: the rest of it stays what it was.
    let (whole, is_part) = match tree.expr(target).kind {
        ExprKind::Subscript { base, .. } => (base, true),
        _ => (target, false),
    };
    let ExprKind::Name(name) = tree.expr(whole).kind else { return };
    let live = match &*assignment.result.borrow() {
        Value::Tuple(parts) => parts.first().and_then(Value::as_tensor).is_some_and(|it| it.graph.is_live()),
        value => value.as_tensor().is_some_and(|tensor| tensor.graph.is_live()),
    };
    let found = cx.remember(|all: &mut Bootstraps| (!all.taken.is_empty()).then(|| std::mem::take(all)));
    let Some(mut all) = found else { return };
    let file = cx.file();
    let bootstrap = if live { all.of(tree, file, assignment.value) } else { None };
    if !is_part {
        all.names.retain(|(known, _)| *known != name);
    }
    all.names.extend(bootstrap.map(|bootstrap| (name, bootstrap)));
    cx.remember(|known: &mut Bootstraps| *known = all);
}

impl Bootstraps {
    /// What an expression is computed of, if that is arithmetic on the largest of predictions.
    fn of(&self, tree: &Tree, file: FileId, expr: ExprId) -> Option<Bootstrap> {
        let here = tree.expr(expr);
        match &here.kind {
            ExprKind::Name(name) => self.names.iter().find(|(known, _)| known == name).map(|(_, it)| *it),
            ExprKind::Call { callee, .. } => {
                let place = Place::new(file, here.span);
                if self.taken.contains(&place) {
                    return Some(Bootstrap { taken: place, added: false });
                }
                match tree.expr(*callee).kind {
                    ExprKind::Attribute { base, .. } => self.of(tree, file, base),
                    _ => None,
                }
            }
            ExprKind::Subscript { base, .. } | ExprKind::Attribute { base, .. } => self.of(tree, file, *base),
            ExprKind::Unary { operand, .. } => self.of(tree, file, *operand),
            ExprKind::Binary { op, left, right } => {
                let adds = matches!(op, BinaryOp::Add | BinaryOp::Sub);
                let side = self.of(tree, file, *left).or_else(|| self.of(tree, file, *right))?;
                Some(Bootstrap { added: side.added || adds, ..side })
            }
            _ => None,
        }
    }
}

fn compared(cx: &mut Interp<'_>, loss: &LossCall<'_>) {
    let Some(spec) = &loss.call.api.loss else { return };
    let (Value::Tensor(input), Value::Tensor(target)) = (loss.input, loss.target) else { return };
    if !input.graph.is_live() || !target.graph.is_live() {
        return;
    }
    let places = [loss.call.place_of(&spec.input), loss.call.place_of(&spec.target)];
    let [Some(input_place), Some(target_place)] = places else { return };
    // Many scripts write them the other way round.
    let sides = places_in(cx, [input_place, target_place]);
    let (taken, place, one, other): (_, _, &Rc<Tensor>, _) = match sides {
        [None, Some(taken)] => (taken, target_place, target, input),
        [Some(taken), None] => (taken, input_place, input, target),
        _ => return,
    };
    let shared = other.graph.leaves();
    let same = one.graph.leaves().iter().any(|leaf| shared.contains(leaf));
    let confidence = one.confidence.min(other.confidence).min(Confidence::Medium);
    cx.observe(place, Followed { taken, same }, confidence);
}

/// Where what two arguments are computed of was taken, if something was added to it.
fn places_in(cx: &mut Interp<'_>, arguments: [Place; 2]) -> [Option<Place>; 2] {
    let all: Bootstraps = cx.recall();
    let found = arguments.map(|argument| {
        let module = cx.module(argument.file);
        let bootstrap = all.of(&module.tree, argument.file, module.expr_at(argument.span)?)?;
        bootstrap.added.then_some(bootstrap.taken)
    });
    cx.remember(|known: &mut Bootstraps| *known = all);
    found
}

fn check(script: &Script, out: &mut Findings) {
    for (at, followed) in script.observed_once::<Followed>() {
        let (severity, message) = match followed.same {
            true => {
                (RULE.severity, "this loss also trains its target: the target keeps its computation graph")
            }
            false => {
                (Severity::Note, "this loss also backpropagates through its target, which should be constant")
            }
        };
        let mut finding = script.finding(RULE.id, severity, at, message);
        if let Some(taken) = at.beside(Some(followed.taken)) {
            finding = finding.because(taken, "it is computed from the network's predictions here");
        }
        let draft = script.draft(at.place.file);
        let is_name =
            draft.expr_at(at.place.span).is_some_and(|id| matches!(draft.expr(id).kind, ExprKind::Name(_)));
        let fix = is_name
            .then(|| Fix::guess("detach the target", vec![draft.insert(at.place.span.end, ".detach()")]));
        let finding = finding
            .note("a bootstrapped target stands for a fixed number, as if the environment had returned it")
            .help("compute the target inside `torch.no_grad()`, or use `target.detach()`")
            .fix(fix);
        out.push(finding, at);
    }
}
