//! Results and operands that the backward pass computes with, changed in place before it comes.

use super::leaf_modified_in_place::changes_numbers;
use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{
    AppliedLayer, Assignment, Augment, Checker, ElementWrite, Interp, Invocation, MethodResult, mark_graph,
};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind, StmtKind};
use crate::trace::At;
use crate::values::{Graph, Mode, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "inplace-on-saved-tensor",
    summary: "a tensor that the backward pass needs is changed in place",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("inplace-on-saved-tensor"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_assign: Some(assigned),
    on_call: Some(computing),
    on_layer_applied: Some(applied),
    on_augment: Some(augmented),
    on_element_write: Some(written),
    on_method_result: Some(called),
    ..Checker::SILENT
};

/// The parameter of operations that may write into their input.
const INPLACE: &str = "inplace";
/// So many results are remembered, the latest.
const LATEST: usize = 256;

/// Results with a name that their operation saves, under the ids by which their graphs are followed.
#[derive(Default)]
struct Saved(Vec<SavedTensor>);

#[derive(Clone)]
struct SavedTensor {
    tensor: Rc<Tensor>,
    what: What,
    id: u32,
    by: Ustr,
    place: Place,
}

/// Which of its tensors an operation saves.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Input,
    Result,
}

/// Operands that were saved while a statement is evaluated: what it binds leads back to them.
#[derive(Default)]
struct Operands(Vec<(Rc<Tensor>, Ustr, Place)>);

/// `x.pow(2)`
fn computing(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.api.class.is_none() {
        if call.api.saves_input {
            saving(cx, call);
        }
        changing(cx, call, Mode::Train);
    }
}

/// `self.conv(x)`: the gradient of its weight is computed of its input.
fn applied(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    if applied.call.api.saves_input && cx.learns(applied.layer) == Some(true) && cx.autocast().is_none() {
        saving(cx, applied.call);
    }
    let mode = cx.heap.get(applied.layer).module().map_or(Mode::Unknown, |module| module.mode);
    changing(cx, applied.call, mode);
}

fn saving(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if cx.ambient.grad != Some(true) {
        return;
    }
    let Some(operand) = call.nth_tensor(0) else { return };
    if operand.graph.is_live() && !operand.is_array && !operand.is_leaf {
        let saved = (operand, call.api.name, call.place);
        cx.remember(|all: &mut Operands| {
            if all.0.len() == LATEST {
                all.0.remove(0);
            }
            all.0.push(saved);
        });
    }
}

/// `F.relu(x, inplace=True)`, and a layer that was made so.
fn changing(cx: &mut Interp<'_>, call: &Invocation<'_>, mode: Mode) {
    let has_flag = call.api.params.iter().any(|param| param.name == INPLACE);
    if has_flag
        && cx.truth(&call.get(&Ustr::from(INPLACE))) == Some(true)
        && !drops_nothing(cx, call, mode)
        && let Some(operand) = call.nth_tensor(0)
        && !overwritten(cx, &operand, call.place)
    {
        overwritten_without_name(cx, &operand, call.place);
    }
}

/// Dropout that is switched off gives what it is given.
fn drops_nothing(cx: &Interp<'_>, call: &Invocation<'_>, mode: Mode) -> bool {
    let Some(drop) = call.api.effects.iter().find(|effect| effect.verb == Verb::Drop) else { return false };
    let is_off =
        |at: usize| drop.args.get(at).is_some_and(|arg| cx.truth(&call.value_of(arg)) == Some(false));
    mode == Mode::Eval || is_off(0) || is_off(1)
}

/// A saved tensor is changed in place.
struct Overwritten {
    what: What,
    by: Ustr,
    saved: Place,
    way: Way,
}

/// How a backward pass may come through a saved tensor.
#[derive(Clone, Copy)]
enum Way {
    /// Through what a name leads to.
    Named(u32),
    /// Through the last layer that a result without a name was computed by.
    Layer(u32),
}

/// `y = torch.exp(x)`: from here on this very tensor is what the backward pass needs.
fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let result = assignment.result.borrow().clone();
    let Some(tensor) = result.as_tensor().filter(|tensor| tensor.graph.is_live() && !tensor.is_array) else {
        return;
    };
    if cx.ambient.grad != Some(true) || tensor.is_leaf {
        return;
    }
    let place = cx.expr_place(assignment.value);
    let operands: Operands = cx.recall();
    let by = saving_call(cx, tensor, assignment);
    let inside: Vec<_> = operands.0.into_iter().filter(|(_, _, call)| is_within(*call, place)).collect();
    if by.is_none() && inside.is_empty() {
        return;
    }
    let id = cx.graph_id(place);
    let marked = mark_graph(&result, id);
    let result =
        marked.as_tensor().zip(by).map(|(tensor, (by, made))| (tensor.clone(), What::Result, by, made));
    let inputs = inside.into_iter().map(|(tensor, by, call)| (tensor, What::Input, by, call));
    for (tensor, what, by, place) in result.into_iter().chain(inputs) {
        cx.remember(|saved: &mut Saved| {
            if saved.0.len() == LATEST {
                saved.0.remove(0);
            }
            saved.0.push(SavedTensor { tensor, what, id, by, place });
        });
    }
    assignment.result.replace(marked);
}

fn is_within(call: Place, statement: Place) -> bool {
    call.file == statement.file && statement.span.contains(call.span)
}

/// What made a tensor that a statement binds, if the backward pass needs what it gives: the statement itself, or a
/// function or model that it calls. A copy is another tensor.
fn saving_call(cx: &mut Interp<'_>, tensor: &Tensor, assignment: &Assignment) -> Option<(Ustr, Place)> {
    let (by, made) = (tensor.what?, tensor.made?);
    let saved = cx.apis.get(by).filter(|api| api.saves_result)?.name;
    let place = cx.expr_place(assignment.value);
    (made == place || !is_within(made, place) && calls_project(cx, assignment.value)).then_some((saved, made))
}

fn calls_project(cx: &mut Interp<'_>, expr: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = cx.tree(cx.file()).expr(expr).kind else { return false };
    matches!(cx.eval(callee).bare(), Value::Obj(_) | Value::Function(_))
}

/// `y += 1`
fn augmented(cx: &mut Interp<'_>, augment: &Augment<'_>) {
    let place = cx.expr_place(augment.target);
    if let Value::Tensor(tensor) = augment.before {
        overwritten(cx, tensor, place);
    }
}

/// `y[0] = 1`
fn written(cx: &mut Interp<'_>, write: &ElementWrite<'_>) {
    overwritten(cx, write.tensor, write.place);
}

/// `y.mul_(2)`
fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    if let Value::Tensor(tensor) = result.receiver
        && changes_numbers(result.api)
    {
        overwritten(cx, tensor, result.call.place);
    }
}

/// Whether a name leads to the tensor, as one that is saved.
fn overwritten(cx: &mut Interp<'_>, tensor: &Tensor, place: Place) -> bool {
    let this = |saved: &&SavedTensor| std::ptr::eq(&*saved.tensor, tensor);
    let saved = cx.remember(|all: &mut Saved| all.0.iter().rev().find(this).cloned());
    let Some(saved) = saved.filter(|_| cx.ambient.grad == Some(true)) else { return false };
    let way = Way::Named(saved.id);
    let seen = Overwritten { what: saved.what, by: saved.by, saved: saved.place, way };
    cx.observe(place, seen, tensor.confidence);
    true
}

/// `self.drop(self.relu(x))`, `nn.Sequential(nn.ReLU(), nn.Dropout(inplace=True))`: what one layer saves is handed to the
/// next.
fn overwritten_without_name(cx: &mut Interp<'_>, tensor: &Tensor, place: Place) {
    let Graph::Live(nodes) = &tensor.graph else { return };
    let (Some(by), Some(saved), Some(last)) = (tensor.what, tensor.made, nodes.parts.iter().last()) else {
        return;
    };
    if !tensor.graph.is_live() || tensor.is_array || tensor.is_leaf || cx.ambient.grad != Some(true) {
        return;
    }
    if let Some(api) = cx.apis.get(by).filter(|api| api.saves_result) {
        let (by, way) = (api.name, Way::Layer(last.id));
        cx.observe(place, Overwritten { what: What::Result, by, saved, way }, tensor.confidence);
    }
}

fn is_needed(script: &Script, at: &At, seen: &Overwritten) -> bool {
    match seen.way {
        Way::Named(id) => script.rehearsal.backpropagated.contains(&id),
        Way::Layer(part) => {
            let part = script.rehearsal.parts.get(part as usize);
            part.is_some_and(|part| !part.walks.is_empty()) && is_handed_on(script, at.place, seen.saved)
        }
    }
}

/// Whether a call is given the very tensor that another one made, and no copy of it: as its argument, or in a stack.
fn is_handed_on(script: &Script, call: Place, made: Place) -> bool {
    let draft = script.draft(call.file);
    let given = || draft.call_at(call.span)?.args.first().map(|given| draft.expr(given.value).span);
    made == call || made.file == call.file && given() == Some(made.span)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once_where::<Overwritten, _>(|at, seen| is_needed(script, at, seen)) {
        let by = seen.by.rsplit('.').next().unwrap_or_default();
        let part = if seen.what == What::Input { "input" } else { "result" };
        let message = format!("`backward()` raises an error: it needs the {part} of `{by}` as it was");
        let fix = out_of_place(script, at.place).map(|edits| Fix::safe("compute a new tensor", edits));
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(seen.saved, format!("`{by}` saves its {part} for the backward pass"))
            .note("PyTorch raises `one of the variables needed for gradient computation has been modified by an inplace operation`")
            .help("compute a new tensor instead: `y = y + x` in place of `y += x`")
            .fix(fix);
        out.push(finding, at);
    }
}

/// `y *= a + b` as `y = y * (a + b)`.
fn out_of_place(script: &Script, target: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(target.file);
    let statement = draft.statement_at(target.span)?;
    let StmtKind::AugAssign { target, op, value } = draft.statement(statement).kind else { return None };
    let operator = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        _ => return None,
    };
    let name = draft.plain(target)?;
    let (written, value) = (draft.written(value), draft.expr(value));
    let is_one = matches!(
        value.kind,
        ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Call { .. } | ExprKind::Subscript { .. }
    );
    let operand = if is_one { written.to_owned() } else { format!("({written})") };
    let span = draft.statement(statement).span;
    Some(vec![draft.replace(span, format!("{name} = {name} {operator} {operand}"))])
}
