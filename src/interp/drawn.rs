//! What a training draws from something unknown: no batch of it is in a graph. A step changes the weights that a graph
//! would have saved, and a pass over the same batches would go through it again, so nobody keeps one in there. The same
//! goes for the batch that a framework gives to a hook.

use super::{Interp, lineage::Base};
use crate::apis::{Role, Verb};
use crate::names::{Module, Subject};
use crate::report::Confidence;
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

/// What a loop that trains is given by something that nobody knows: its parts are data.
pub(super) fn by_training(interp: &mut Interp, target: ExprId, iter: ExprId, item: Value) -> Value {
    if !holds_unknown(&item) || !is_kept(interp, iter) || !trains_on(interp, target) {
        return item;
    }
    as_data(interp, target, item)
}

/// `x, y = batch`, in a method that a framework calls for each batch: what it is given is data as well.
pub(super) fn for_hook(interp: &Interp, target: ExprId, written: ExprId, batch: Value) -> Value {
    match batch {
        Value::Unknown if is_batch_of_hook(interp, written) => as_data(interp, target, batch),
        known => known,
    }
}

/// Whether an expression is the first parameter of a hook that runs, which was bound only once.
fn is_batch_of_hook(interp: &Interp, written: ExprId) -> bool {
    let Some(frame) = interp.frames.last() else { return false };
    let receiver = frame.receiver.as_ref().and_then(Value::as_obj);
    let (ExprKind::Name(name), Some(key), Some(object)) =
        (&interp.here().expr(written).kind, frame.function, receiver)
    else {
        return false;
    };
    let module = interp.module(frame.file);
    let hook = module.tree.function(key);
    let subject = Subject::Local(Some(key), *name);
    hook.params.get(1).is_some_and(|param| param.name == *name)
        && module.relations().bindings(subject).next().is_none()
        && interp
            .lineage(interp.heap.get(object).class)
            .into_iter()
            .any(|base| matches!(base, Base::Api(class) if interp.apis.runs_each_batch(class, hook.name)))
}

/// Whether what a loop goes through was there before it: what a call gives that is not seen may be made on the way,
/// by a model.
fn is_kept(interp: &mut Interp, iter: ExprId) -> bool {
    match &interp.here().expr(iter).kind {
        ExprKind::Call { callee, args } => {
            let is_known = match interp.eval(*callee).bare() {
                Value::Api(name) => interp.apis.get(*name).is_some(),
                called => matches!(called, Value::Builtin(_)),
            };
            is_known && args.iter().all(|arg| is_kept(interp, arg.value))
        }
        ExprKind::Comprehension(_) => false,
        _ => true,
    }
}

/// Whether a model runs in the loop of a target, its loss is walked back through there, and an optimizer steps.
fn trains_on(interp: &mut Interp, target: ExprId) -> bool {
    let Some(frame) = interp.frames.last() else { return false };
    let (file, function) = (frame.file, frame.function);
    let module = interp.module(file);
    let (tree, relations) = (&module.tree, module.relations());
    let Some(around) = relations.innermost_loop(tree.expr(target).span) else { return false };
    let is_inside = |call: ExprId| around.contains(tree.expr(call).span);
    let steps = |method: Ustr| interp.apis.method_does(Role::Optimizer, method, Verb::Step);
    let mut stepping = relations.acts_where(steps);
    if !stepping.any(|act| act.function == function && is_inside(act.call)) {
        return false;
    }
    let losses = interp.losses(file);
    let passes = losses.backwards.iter().filter(|pass| is_inside(pass.act.call));
    let origins: Vec<ExprId> =
        passes.flat_map(|pass| pass.origins.iter().map(|origin| origin.call)).collect();
    origins.into_iter().filter(|call| is_inside(*call)).any(|call| is_forward(interp, module, call))
}

fn is_forward(interp: &mut Interp, module: &Module, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = module.tree.expr(call).kind else { return false };
    if !matches!(module.tree.expr(callee).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
        return false;
    }
    let called = interp.eval(callee).as_obj();
    called.is_some_and(|object| {
        interp.heap.get(object).module().is_some_and(|module| module.weights != Learned::Nothing)
    })
}

fn as_data(interp: &Interp, target: ExprId, item: Value) -> Value {
    match (&interp.here().expr(target).kind, &item) {
        (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Tuple(items))
            if targets.len() == items.len() =>
        {
            let parts = targets.iter().zip(items.iter());
            Value::tuple(parts.map(|(target, item)| as_data(interp, *target, item.clone())).collect())
        }
        (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Unknown) => {
            Value::tuple(targets.iter().map(|target| part_of_sample(interp, *target)).collect())
        }
        // A whole sample may be a list of parts, or a dictionary.
        (ExprKind::Name(name), Value::Unknown) if !attributes_of(interp, *name).is_empty() => {
            part_of_sample(interp, target)
        }
        _ => item,
    }
}

/// One part of a sample: a tensor, if it is asked for what tensors have, and for nothing else.
fn part_of_sample(interp: &Interp, target: ExprId) -> Value {
    let ExprKind::Name(name) = interp.here().expr(target).kind else {
        return as_data(interp, target, Value::Unknown);
    };
    let mut used = attributes_of(interp, name).iter();
    if !used.all(|attribute| interp.apis.method_of(Role::Tensor, *attribute).is_some()) {
        return Value::Unknown;
    }
    Value::tensor(Tensor {
        graph: Graph::None,
        source: Source::Data,
        // New in each iteration.
        created: u32::MAX,
        confidence: Confidence::Medium,
        ..Tensor::default()
    })
}

fn attributes_of<'p>(interp: &Interp<'p>, name: Ustr) -> &'p [Ustr] {
    let Some(frame) = interp.frames.last() else { return &[] };
    interp.module(frame.file).names.uses.of_local(frame.function, name)
}

fn holds_unknown(item: &Value) -> bool {
    match item {
        Value::Unknown => true,
        Value::Tuple(items) => items.iter().any(holds_unknown),
        _ => false,
    }
}
