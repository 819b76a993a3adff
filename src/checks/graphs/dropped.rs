//! Results that are dropped: a method or a function that gives a new tensor, called as a statement.

use crate::apis::{Api, Transfer};
use crate::interp::{ApiResult, Checker, ExpressionStatement, Interp, MethodResult};
use crate::report::{Confidence, Place, Span};
use crate::syntax::*;
use crate::trace::Over;
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// A comment that begins a cell, in a script that was exported from a notebook.
const CELL_COMMENTS: [&str; 3] = ["# In[", "# %%", "#%%"];

pub(super) static CHECKER: Checker = Checker {
    on_method_result: Some(called),
    on_api_result: Some(computed),
    on_expression_statement: Some(evaluated),
    ..Checker::SILENT
};

/// A method or a function gave a new tensor, and the statement dropped it.
pub(super) struct DroppedResult {
    pub method: Ustr,
    /// The function as it is written, where it is no method: `torch.clamp`.
    pub function: Option<Rc<str>>,
    /// What it was called on.
    pub receiver: Rc<str>,
    pub kind: Kind,
}

/// What is as it was.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Tensor,
    /// Nothing of its kind ever changes in place.
    Immutable,
    Dataset,
    /// A method of its class made another object.
    Class(Ustr),
}

/// What was called since the last statement that is an expression.
#[derive(Default)]
struct Called {
    all: Vec<Pure>,
    /// Where those that are methods were called.
    methods: FxHashSet<Place>,
}

/// A method or a function that does nothing but give a new tensor.
struct Pure {
    place: Place,
    name: Ustr,
    is_method: bool,
    kind: Kind,
    confidence: Confidence,
}

impl Pure {
    fn of(api: &Api, place: Place, is_method: bool, kind: Kind, confidence: Confidence) -> Pure {
        let name = Ustr::from(api.name.rsplit('.').next().unwrap_or_default());
        Pure { place, name, is_method, kind, confidence }
    }
}

fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let (api, call) = (result.api, result.call);
    let tensor = match result.receiver.bare() {
        Value::Tensor(tensor) => tensor,
        Value::Obj(dataset) => return called_on_object(cx, result, *dataset),
        _ => return,
    };
    let reforms = api.transfer().is_some_and(Transfer::reforms);
    let guessed = tensor.confidence < Confidence::High && !is_surely_a_tensor(cx, tensor);
    let in_place = guessed || api.name.ends_with('_') || call.keyword("out").is_some() || call.open;
    if reforms && api.effects.is_empty() && !in_place && !api.property && !tensor.is_array {
        let (kind, confidence) = (Kind::Tensor, tensor.confidence);
        note(cx, Pure::of(api, call.place, true, kind, confidence));
    }
}

/// `data.shuffle(1000)`, or `layer.from_pretrained(weights)`, a method of the class.
fn called_on_object(cx: &mut Interp<'_>, result: &MethodResult<'_>, object: ObjId) {
    let (api, call) = (result.api, result.call);
    let is_of_class = api.params.first().is_some_and(|param| param.name == "cls");
    if is_of_class && !matches!(cx.heap.get(object).state, State::Class(_)) {
        let (kind, confidence) = (Kind::Class(class_of(cx, object)), cx.heap.get(object).confidence);
        return note(cx, Pure::of(api, call.place, true, kind, confidence));
    }
    if api.transfer().is_some_and(Transfer::reforms) && api.effects.is_empty() && !call.open {
        let (kind, confidence) = (Kind::Dataset, cx.heap.get(object).confidence);
        note(cx, Pure::of(api, call.place, true, kind, confidence));
    }
}

/// What a class is called here, without its package.
fn class_of(cx: &Interp<'_>, object: ObjId) -> Ustr {
    Ustr::from(cx.class_name(object).rsplit('.').next().unwrap_or_default())
}

/// `torch.clamp(x, 0)` gives what `x.clamp(0)` does; operations whose operands are equals, and what a counted loop
/// repeats, are called to see how long they take.
fn computed(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let (call, api) = (result.call, result.call.api);
    let reforms = api.transfer().is_some_and(|transfer| transfer.reforms() && !transfer.combines());
    if !reforms || api.property || api.class.is_some() || api.name.ends_with('_') || !api.effects.is_empty() {
        return;
    }
    let is_given =
        |name: &str| !matches!(call.get(name), Value::Unknown | Value::None | Value::Bool(Some(false)));
    let writes = call.more.iter().any(|(name, _)| name == "out") || is_given("out") || is_given("inplace");
    // An operation that gets a name is a node of a graph, and is fetched by it.
    let in_place =
        call.open || writes || is_given("name") || call.more.iter().any(|(name, _)| *name == "name");
    let Some(tensor) = call.nth_tensor(0).filter(|tensor| !tensor.is_array) else { return };
    if !in_place && !is_counted(cx, call.place) {
        let (kind, confidence) = (Kind::Tensor, tensor.confidence);
        note(cx, Pure::of(api, call.place, false, kind, confidence));
    }
}

fn is_counted(cx: &Interp<'_>, place: Place) -> bool {
    let around = cx.at(place, Confidence::High).loops;
    around.last().is_some_and(|id| matches!(cx.out.loop_info(*id).over, Over::Counter))
}

fn note(cx: &mut Interp<'_>, pure: Pure) {
    cx.remember(|called: &mut Called| {
        if !called.methods.contains(&pure.place) {
            called.methods.extend(pure.is_method.then_some(pure.place));
            called.all.push(pure);
        }
    });
}

/// A guess from how a name is used, or what a model from elsewhere gives, may be a record that changes in
/// place, and so may what was only moved.
pub(super) fn is_surely_a_tensor(cx: &Interp<'_>, tensor: &Tensor) -> bool {
    let computes = |name: Ustr| {
        let transfer = cx.apis.get(name).and_then(Api::transfer);
        transfer.is_some_and(|transfer| !transfer.converts())
    };
    matches!(tensor.source, Source::Data | Source::Parameter) || tensor.what.is_some_and(computes)
}

/// A statement's expression, or the parts of a tuple that is one.
fn evaluated(cx: &mut Interp<'_>, statement: &ExpressionStatement<'_>) {
    let called: Called = cx.recall();
    if called.all.is_empty() {
        return;
    }
    let span = cx.expr_place(statement.expr).span;
    match (&cx.tree(cx.file()).expr(statement.expr).kind, statement.value) {
        (ExprKind::Tuple(parts), Value::Tuple(values)) if parts.len() == values.len() => {
            for (part, value) in parts.iter().zip(values.iter()) {
                dropped(cx, *part, value, span, &called);
            }
        }
        (_, value) => dropped(cx, statement.expr, value, span, &called),
    }
}

fn dropped(cx: &mut Interp<'_>, expr: ExprId, value: &Value, statement: Span, called: &Called) {
    let place = cx.expr_place(expr);
    let Some(pure) = called.all.iter().rev().find(|pure| pure.place == place) else { return };
    let tree = cx.tree(cx.file());
    let ExprKind::Call { callee, ref args } = tree.expr(expr).kind else { return };
    let base = match (pure.is_method, &tree.expr(callee).kind) {
        (true, ExprKind::Attribute { base, .. }) => *base,
        (false, _) if !matches!(cx.eval(callee), Value::Api(_)) => return,
        (false, _) => match args.first() {
            Some(first) if first.kind == ArgKind::Positional => first.value,
            _ => return,
        },
        _ => return,
    };
    let is_new = match pure.kind {
        Kind::Dataset => value.as_obj().is_some(),
        Kind::Class(_) => true,
        _ => value.as_tensor().is_some_and(|tensor| !tensor.is_array),
    };
    if !is_new || is_shown(cx, statement) || !is_used_on(cx, base, statement) {
        return;
    }
    let receiver = cx.written(base);
    let calls = cx.at(place, Confidence::High).calls;
    let by_a_runner = cx.supposed.seeded.is_some() && calls.iter().any(|(_, name)| name.starts_with("test_"));
    let confidence = if by_a_runner || is_demonstration(cx) { Confidence::Low } else { pure.confidence };
    // A function at the top of a script shows what it gives, as an expression of a notebook does.
    if !pure.is_method && running_function(cx).is_none() && !cx.in_loop() {
        return;
    }
    let function = (!pure.is_method).then(|| cx.written(callee));
    cx.observe(place, DroppedResult { method: pure.name, function, receiver, kind: pure.kind }, confidence);
}

/// A line of a notebook outside of functions and loops: it may be there to show that nothing changes.
fn is_demonstration(cx: &Interp<'_>) -> bool {
    let inside = running_function(cx).is_some() || cx.in_loop();
    !inside && cx.project.source(cx.file()).locate(0).cell.is_some()
}

/// Whether what a receiver holds is read again: only then somebody expects it to have changed.
pub(super) fn is_used_on(cx: &Interp<'_>, base: ExprId, statement: Span) -> bool {
    let tree = cx.tree(cx.file());
    let name = match &tree.expr(base).kind {
        ExprKind::Name(name) => *name,
        // An attribute or an item outlives the function.
        ExprKind::Attribute { .. } | ExprKind::Subscript { .. } => return true,
        _ => return false,
    };
    let around = running_function(cx).map(|function| tree.function(function).span);
    let repeated =
        cx.at(cx.expr_place(base), Confidence::High).loops.last().map(|id| cx.out.loop_info(*id).place);
    let repeated = repeated.filter(|place| place.file == cx.file()).map(|place| place.span);
    tree.exprs.iter().any(|expr| {
        matches!(expr.kind, ExprKind::Name(other) if other == name)
            && around.is_none_or(|around| around.contains(expr.span))
            && !statement.contains(expr.span)
            && (expr.span.start > statement.end
                || repeated.is_some_and(|body| body.contains(statement) && body.contains(expr.span)))
    })
}

/// Whether a notebook shows what the statement evaluates to: it is the last one of its cell.
fn is_shown(cx: &Interp<'_>, statement: Span) -> bool {
    if running_function(cx).is_some() {
        return false;
    }
    let file = cx.file();
    let (tree, source) = (cx.tree(file), cx.project.source(file));
    let Some(at) = tree.body.iter().position(|stmt| tree.stmt(*stmt).span == statement) else {
        return false;
    };
    let next = tree.body.get(at + 1).map(|stmt| tree.stmt(*stmt).span.start);
    let cell = |offset: u32| source.locate(offset).cell;
    if cell(statement.start).is_some() {
        return next.is_none_or(|next| cell(next) != cell(statement.start));
    }
    let between =
        |comment: &&Span| comment.start >= statement.end && next.is_none_or(|next| comment.end <= next);
    tree.comments.iter().filter(between).any(|comment| {
        let text = source.text.get(comment.range()).unwrap_or_default();
        CELL_COMMENTS.iter().any(|start| text.starts_with(start))
    })
}

/// The function whose body runs; not while a module or class is made.
pub(super) fn running_function(cx: &Interp<'_>) -> Option<FnId> {
    cx.running().next_back().and_then(|frame| frame.function)
}
