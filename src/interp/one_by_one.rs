//! Which loops over known values are run value by value: short ones, and longer ones whose body does something else
//! for each value.

use super::Interp;
use crate::report::Span;
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

/// A sequence of known values up to this length is run value by value.
const FEW: usize = 8;
/// The same of keys, where the body writes what is under them.
const KEYS: usize = 64;
/// The same of modules, where all that the body does is behind a test of their class.
const MODULES: usize = 512;

pub(super) fn runs_one_by_one(
    heap: &Heap,
    tree: &Tree,
    target: ExprId,
    values: &[Value],
    body: &[StmtId],
) -> bool {
    values.len() <= FEW
        || writes_each_key(tree, target, values, body)
        || are_told_by_class(heap, tree, values, body)
}

/// `for i in range(len(self.layers)): x = self.layers[i](x)`: the numbers, where there are few and the body takes
/// the layers of a container by them.
pub(super) fn numbers_of_layers(
    interp: &mut Interp<'_>,
    target: ExprId,
    counted: &Items,
    body: &[StmtId],
) -> Option<Vec<Value>> {
    let tree = interp.here();
    let (ExprKind::Name(name), Value::Int(any)) = (&tree.expr(target).kind, &counted.any) else {
        return None;
    };
    let (nth, count) = (any.nth?, usize::try_from(counted.len.int.known()?).ok()?);
    let of_layers = |base: ExprId| is_container_of_layers(interp, base);
    let takes_layers = count <= FEW && taken_at(tree, body, *name).into_iter().any(of_layers);
    takes_layers.then(|| (nth.plus..).take(count).map(Value::int).collect())
}

/// Whether a name, or an attribute of one, stands for a container whose layers are known one by one.
fn is_container_of_layers(interp: &mut Interp<'_>, expr: ExprId) -> bool {
    let tree = interp.here();
    let value = match tree.expr(expr).kind {
        ExprKind::Name(name) => Some(interp.lookup(name)),
        ExprKind::Attribute { base, name, .. } => match tree.expr(base).kind {
            ExprKind::Name(holder) => {
                let holder = interp.lookup(holder).as_obj();
                holder.and_then(|holder| interp.heap.attr(holder, name).cloned())
            }
            _ => None,
        },
        _ => None,
    };
    let container = value.and_then(|value| value.as_obj());
    container.is_some_and(|object| interp.indexed_children(object).is_some() && !interp.repeats(object))
}

/// What is read in some statements under an index that is a name: `self.layers`, of `self.layers[i]`.
fn taken_at(tree: &Tree, body: &[StmtId], name: Ustr) -> Vec<ExprId> {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return Vec::new() };
    let body = Span::new(tree.stmt(*first).span.start, tree.stmt(*last).span.end);
    let within = tree.exprs.iter().filter(|expr| body.contains(expr.span));
    let taken = within.filter_map(|expr| match expr.kind {
        ExprKind::Subscript { base, index } => Some((base, index)),
        _ => None,
    });
    let is_it = |index: ExprId| matches!(tree.expr(index).kind, ExprKind::Name(used) if used == name);
    taken.filter(|(_, index)| is_it(*index)).map(|(base, _)| base).collect()
}

/// `for key in batch: batch[key] = batch[key].to(device)`: as one key that nobody knows, it would leave all that
/// was there before beside what is written.
fn writes_each_key(tree: &Tree, target: ExprId, values: &[Value], body: &[StmtId]) -> bool {
    let is_key = |value: &Value| match value {
        Value::Tuple(pair) => pair.first().is_some_and(|key| key.as_str().is_some()),
        key => key.as_str().is_some(),
    };
    let key = match &tree.expr(target).kind {
        ExprKind::Tuple(targets) | ExprKind::List(targets) => targets.first().copied(),
        _ => Some(target),
    };
    let name = key.and_then(|key| match tree.expr(key).kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    });
    values.len() <= KEYS && values.iter().all(is_key) && name.is_some_and(|name| writes_at(tree, body, name))
}

/// `for module in self.modules(): if isinstance(module, nn.BatchNorm2d): ...`
fn are_told_by_class(heap: &Heap, tree: &Tree, values: &[Value], body: &[StmtId]) -> bool {
    let is_module = |value: &Value| {
        let module = match value {
            Value::Tuple(pair) => pair.last().and_then(Value::as_obj),
            value => value.as_obj(),
        };
        module.is_some_and(|module| heap.get(module).module().is_some())
    };
    let [only] = body else { return false };
    let StmtKind::If { arms, otherwise } = &tree.stmt(*only).kind else { return false };
    let of_class = |(test, _): &(ExprId, _)| asks_for_class(tree, *test);
    otherwise.is_empty()
        && arms.iter().all(of_class)
        && values.len() <= MODULES
        && values.iter().all(is_module)
}

/// Whether a test holds for instances of some classes only.
fn asks_for_class(tree: &Tree, test: ExprId) -> bool {
    match &tree.expr(test).kind {
        ExprKind::Bool { and, items } => {
            let mut asked = items.iter().map(|item| asks_for_class(tree, *item));
            if *and { asked.any(|asks| asks) } else { asked.all(|asks| asks) }
        }
        ExprKind::Call { callee, .. } => {
            matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == "isinstance")
        }
        _ => false,
    }
}

/// Whether statements write an item under a name: `batch[key] = ...`. Loops in them would be run for each key.
fn writes_at(tree: &Tree, body: &[StmtId], name: Ustr) -> bool {
    let is_at = |target: &ExprId| match tree.expr(*target).kind {
        ExprKind::Subscript { index, .. } => {
            matches!(tree.expr(index).kind, ExprKind::Name(used) if used == name)
        }
        _ => false,
    };
    body.iter().any(|statement| match &tree.stmt(*statement).kind {
        StmtKind::Assign { targets, .. } => targets.iter().any(is_at),
        StmtKind::For { .. } | StmtKind::While { .. } => false,
        other => other.blocks().into_iter().any(|body| writes_at(tree, body, name)),
    })
}
