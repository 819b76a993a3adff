//! `tensor[index]`: integers, slices, `...`, `None`, masks, lists and tensors of positions.

use super::build::*;
use super::dims::{Dims, broadcast_shapes, div_ceil, normalise_dim};
use crate::apis::{Api, Slot, Transfer};
use crate::interp::{Interp, Invocation, index_parts};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;

/// `index x index dim`: picked along an axis; without one, from all numbers in a row.
pub(crate) fn select(interp: &mut Interp, call: &Invocation) -> Value {
    let (tensor, chosen) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Index)));
    let shape = match given(call, Slot::Dim) {
        None => chosen.shape.clone(),
        Some(axis) => tensor.shape.as_ref().zip(chosen.shape.as_ref()).and_then(|(shape, chosen)| {
            let at = normalise_dim(axis.as_known_int()?, shape.len())?;
            Some(shape[..at].iter().chain(chosen.iter()).chain(&shape[at + 1..]).cloned().collect())
        }),
    };
    Value::tensor(Tensor { mark: None, ..kept(interp, &tensor).with_shape(shape) })
}

/// The numbers of a tensor that an index chooses. They stay what they were, and where they were made.
pub fn index(interp: &Interp, tensor: &Rc<Tensor>, index: &Value, place: Place) -> Tensor {
    let items = if tensor.is_array { columns(interp, tensor, index) } else { None };
    let items = items.or_else(|| self::items(interp, index));
    let shape = items
        .as_ref()
        .zip(tensor.shape.as_ref())
        .filter(|(items, shape)| !chooses_of_nothing(shape, items))
        .and_then(|(items, shape)| indexed(shape, items));
    // Of however many axes, the last one stays as it is where the index ends in `:`.
    let ends_whole = items.as_ref().is_some_and(|items| items.last().is_some_and(Item::is_whole));
    let last = tensor.last.clone().filter(|_| tensor.shape.is_none() && ends_whole);
    let basic = items.is_some_and(|items| !items.iter().any(Item::is_advanced));
    let mark = tensor.mark.filter(|_| basic || picks_rows(tensor, index));
    let range = match index.as_tensor() {
        Some(mask) => Relation::narrowed(mask.relation.as_deref(), tensor, true),
        None => tensor.range,
    };
    let relation = match (tensor.relation.as_deref(), index.as_tensor()) {
        // `np.eye(n)[labels]`
        (Some(Relation::Diagonal), Some(rows)) if rows.dtype != Some(DType::Bool) => {
            Some(Rc::new(Relation::OneHot))
        }
        _ => tensor.relation.clone(),
    };
    let kept = kept(interp, tensor).with_shape(shape.map(Rc::from));
    // A mean has no axis: releases that let it be indexed gave a Python number, which is on no device.
    let (device, device_origin) = match tensor.averaged {
        true => (Device::Unknown, None),
        false => (kept.device, kept.device_origin),
    };
    let backwards = backwards(tensor, index, place);
    let turned = tensor.turned.as_deref().and_then(|turned| super::layout::cut(turned, index));
    Tensor {
        mark,
        range,
        relation,
        numbers: None,
        recipe: None,
        device,
        device_origin,
        backwards,
        turned,
        last,
        ..kept
    }
}

/// Whether what an index chooses is a view of an array that goes backwards through memory: `image[:, :, ::-1]`. Lists of
/// positions and masks copy, and of one that goes backwards already an axis may be left out, or turned around again.
fn backwards(array: &Tensor, index: &Value, place: Place) -> Option<Place> {
    let parts = index_parts(index);
    let step = |part: &Value| match part {
        Value::Slice(slice) => match slice.2.bare() {
            Value::None => Some(1),
            step => step.as_known_int(),
        },
        _ => None,
    };
    let is_whole = |part: &Value| matches!(part, Value::Ellipsis) || step(part).is_some_and(|step| step > 0);
    if !array.is_array || array.backwards.is_some() {
        return array.backwards.filter(|_| array.is_array && parts.iter().all(is_whole));
    }
    let is_view = |part: &Value| is_whole(part) || step(part).is_some() || part.as_known_int().is_some();
    let turns = parts.iter().any(|part| step(part).is_some_and(|step| step < 0));
    (turns && parts.iter().all(is_view)).then_some(place)
}

/// Positions along an axis without any: the tensor is a placeholder, and another stands there when this runs.
fn chooses_of_nothing(shape: &[Int], items: &[Item]) -> bool {
    let chosen = items
        .iter()
        .zip(shape)
        .take_while(|(item, _)| matches!(item, Item::Array(_) | Item::Slice { .. } | Item::Int));
    chosen.into_iter().any(|(item, size)| matches!(item, Item::Array(_)) && *size == Int::Known(0))
}

/// An index that the tensor surely does not have.
pub enum Misplaced {
    /// Behind the end of an axis.
    Beyond { index: i64, axis: usize, size: i64 },
    /// So many axes are chosen along, and there are fewer.
    TooMany { indices: usize, rank: usize },
}

/// What of an index the tensor does not have.
pub fn misplaced_index(interp: &Interp, tensor: &Tensor, index: &Value) -> Option<Misplaced> {
    // Of tables and records the rank says little; what a model computed is neither.
    let shape = tensor.shape.as_ref().filter(|_| !tensor.is_array || tensor.learned)?;
    let parts = match index.bare() {
        Value::Tuple(parts) => parts.to_vec(),
        other => vec![other.clone()],
    };
    let indices: usize = items(interp, index)?.iter().map(Item::axes).sum();
    if indices > shape.len() {
        return Some(Misplaced::TooMany { indices, rank: shape.len() });
    }
    let parts = parts.iter().filter(|part| !matches!(part.bare(), Value::None));
    let basic = |part: &&Value| matches!(part.bare(), Value::Int(_) | Value::Slice(_));
    parts.take_while(basic).zip(shape.iter()).enumerate().find_map(|(axis, (part, size))| {
        let Value::Int(Num { int: Int::Known(index), .. }) = part else { return None };
        let Int::Known(size) = size else { return None };
        let inside = if *index < 0 { index.checked_neg()? <= *size } else { index < size };
        (!inside).then_some(Misplaced::Beyond { index: *index, axis, size: *size })
    })
}

/// Whether an index only says which rows are taken: whatever one value says of the first axis, the classes along the last
/// one stay together.
fn picks_rows(tensor: &Tensor, index: &Value) -> bool {
    let one = matches!(index.bare(), Value::Unknown | Value::Api(_) | Value::Tensor(_) | Value::Obj(_));
    one && tensor.rank().is_none_or(|rank| rank > 1)
}

/// Columns of a table, by name.
fn columns(interp: &Interp, table: &Tensor, index: &Value) -> Option<Vec<Item>> {
    if table.rank() == Some(1) {
        // A row, or a labelled vector.
        return Some(vec![named_columns(interp, index)?]);
    }
    let all = Item::Slice { start: None, stop: None, step: None };
    Some(vec![all, named_columns(interp, index)?])
}

fn named_columns(interp: &Interp, names: &Value) -> Option<Item> {
    if matches!(names.bare(), Value::Str(_)) {
        return Some(Item::Int);
    }
    match (names.bare(), sequence(interp, names)?) {
        (Value::Obj(_), Sequence::Exact(items)) => {
            let named = !items.is_empty() && items.iter().all(|item| matches!(item.bare(), Value::Str(_)));
            named.then(|| Item::Array(vec![Int::Known(items.len() as i64)]))
        }
        _ => None,
    }
}

/// One part of an index.
enum Item {
    Int,
    Slice {
        start: Option<Int>,
        stop: Option<Int>,
        step: Option<Int>,
    },
    Ellipsis,
    /// `None`: a new axis.
    New,
    /// Positions, in a shape of their own.
    Array(Dims),
    /// A mask over a number of axes.
    Mask(usize),
}

impl Item {
    fn is_advanced(&self) -> bool {
        matches!(self, Item::Array(_) | Item::Mask(_))
    }

    /// `:`
    fn is_whole(&self) -> bool {
        matches!(self, Item::Slice { start: None, stop: None, step: None })
    }

    /// How many axes it takes.
    fn axes(&self) -> usize {
        match self {
            Item::New | Item::Ellipsis => 0,
            Item::Mask(axes) => *axes,
            Item::Int | Item::Slice { .. } | Item::Array(_) => 1,
        }
    }
}

/// The parts of an index; `None` when one of them is not known.
fn items(interp: &Interp, index: &Value) -> Option<Vec<Item>> {
    match index.bare() {
        Value::Tuple(items) => items.iter().map(|value| item(interp, value)).collect(),
        other => match masks(interp, other) {
            Some(masks) => masks.iter().map(|value| item(interp, value)).collect(),
            None => Some(vec![item(interp, other)?]),
        },
    }
}

/// `x[[mask]]`: a list of masks stands for as many dimensions, as a tuple of them does.
fn masks(interp: &Interp, index: &Value) -> Option<Vec<Value>> {
    let Sequence::Exact(items) = sequence(interp, index)? else { return None };
    let is_mask =
        |item: &Value| item.as_tensor().is_some_and(|one| one.dtype == Some(DType::Bool) && !one.is_array);
    (!items.is_empty() && items.iter().all(is_mask)).then_some(items)
}

fn item(interp: &Interp, value: &Value) -> Option<Item> {
    Some(match value.bare() {
        Value::None => Item::New,
        Value::Ellipsis => Item::Ellipsis,
        Value::Int(_) => Item::Int,
        Value::Slice(slice) => {
            Item::Slice { start: bound(&slice.0), stop: bound(&slice.1), step: bound(&slice.2) }
        }
        Value::Tensor(tensor) => positions(tensor)?,
        other if named_columns(interp, other).is_some() => named_columns(interp, other)?,
        other => {
            sequence(interp, other)?;
            positions(&tensor_of(interp, other))?
        }
    })
}

fn positions(tensor: &Tensor) -> Option<Item> {
    let shape = tensor.shape.as_ref()?;
    match tensor.dtype? {
        DType::Bool => Some(Item::Mask(shape.len())),
        dtype if dtype.is_float() => None,
        _ => Some(Item::Array(shape.to_vec())),
    }
}

/// An end of a slice; `None` when it was left out.
fn bound(value: &Value) -> Option<Int> {
    match value {
        Value::None => None,
        other => Some(other.as_int().cloned().unwrap_or_default()),
    }
}

fn indexed(shape: &[Int], items: &[Item]) -> Option<Dims> {
    let taken: usize = items.iter().map(Item::axes).sum();
    let rest = shape.len().checked_sub(taken)?;
    let ellipses = items.iter().filter(|item| matches!(item, Item::Ellipsis)).count();
    let advanced = items.iter().any(Item::is_advanced);
    let mut walk = Walk::default();
    let mut axes = shape.iter();
    for item in items {
        let mut axes = axes.by_ref().take(if matches!(item, Item::Ellipsis) { rest } else { item.axes() });
        match item {
            Item::New => walk.keep([Int::Known(1)]),
            Item::Ellipsis => walk.keep(axes.by_ref().cloned()),
            Item::Slice { start, stop, step } => {
                walk.keep([slice_len(axes.next()?, start.as_ref(), stop.as_ref(), step.as_ref())]);
            }
            Item::Int if advanced => walk.choose(&[])?,
            Item::Int => {}
            Item::Array(positions) => walk.choose(positions)?,
            Item::Mask(_) => walk.choose(&[Int::Unknown])?,
        }
        axes.for_each(drop);
    }
    match ellipses {
        0 => walk.kept.extend(axes.cloned()),
        1 => {}
        _ => return None,
    }
    Some(walk.finish())
}

/// The axes that are left, and what positions choose among the others.
#[derive(Default)]
struct Walk {
    kept: Dims,
    /// The shape of all positions together, and how many axes stood before the first of them.
    chosen: Option<(Dims, usize)>,
    /// Kept axes stand between the positions, so theirs come in front.
    apart: bool,
    /// The last item was a position.
    inside: bool,
}

impl Walk {
    fn keep(&mut self, sizes: impl IntoIterator<Item = Int>) {
        self.kept.extend(sizes);
        self.inside = false;
    }

    fn choose(&mut self, positions: &[Int]) -> Option<()> {
        self.chosen = Some(match self.chosen.take() {
            Some((so_far, at)) => {
                self.apart |= !self.inside;
                (broadcast_shapes(&so_far, positions)?, at)
            }
            None => (positions.to_vec(), self.kept.len()),
        });
        self.inside = true;
        Some(())
    }

    fn finish(self) -> Dims {
        let mut sizes = self.kept;
        if let Some((chosen, at)) = self.chosen {
            let at = if self.apart { 0 } else { at };
            sizes.splice(at..at, chosen);
        }
        sizes
    }
}

/// The length of a slice. Symbols stand for sizes that small offsets do not exhaust.
pub fn slice_len(size: &Int, start: Option<&Int>, stop: Option<&Int>, step: Option<&Int>) -> Int {
    let step = match step.map_or(Some(1), Int::known) {
        Some(step) if step > 0 => step,
        Some(step) if step < 0 && start.is_none() && stop.is_none() => {
            return step.checked_neg().map_or(Int::Unknown, |step| div_ceil(size, &Int::Known(step)));
        }
        _ => return Int::Unknown,
    };
    let start = start.map_or(Int::Known(0), |start| from_front(start, size));
    if let (Int::Sum(_), Some(stop), false) = (&start, stop, matches!(size, Int::Sum(_)))
        && let Some(length) = stop.sub(&start).known()
    {
        // What moves along a loop is as long everywhere; the last one may be shorter, as of a loader.
        let length = Int::Known(size.known().map_or(length, |size| length.min(size)).max(0));
        return div_ceil(&length, &Int::Known(step));
    }
    let stop = match stop {
        None => size.clone(),
        Some(stop) if stop == size => size.clone(),
        Some(stop) => match (from_front(stop, size), size) {
            (stop, size) if stop.known().is_some() && size.known().is_some() => {
                stop.of_numbers(size, |stop, size| Some(stop.min(size))).unwrap_or_default()
            }
            // The end may lie behind the size.
            (_, _) if stop.known().is_none_or(|stop| stop >= 0) => return Int::Unknown,
            (stop, _) => stop,
        },
    };
    let length = stop.sub(&start);
    if length.known().is_some_and(|length| length < 0) {
        return Int::Known(0);
    }
    div_ceil(&length, &Int::Known(step))
}

/// A bound counted from the front.
fn from_front(bound: &Int, size: &Int) -> Int {
    if bound.known().is_none_or(|bound| bound >= 0) {
        return bound.clone();
    }
    let counted = |bound: i64, size: i64| Some(size.saturating_add(bound).max(0));
    bound.of_numbers(size, counted).unwrap_or_else(|| size.add(bound))
}

/// Where what a call gives was turned around: some functions do it, and some leave an array as it lies in memory.
pub fn turned_around(api: &Api, call: &Invocation, array: &Tensor) -> Option<Place> {
    let before = call.nth_tensor(0).and_then(|input| input.backwards);
    let is_whole = || call.operand(Slot::K).as_known_int().is_some_and(|turns| turns.rem_euclid(4) == 0);
    match api.transfer().filter(|_| array.is_array)? {
        // Twice turned around may be forwards again.
        Transfer::Reversed => before.is_none().then_some(call.place),
        Transfer::Turned if !is_whole() => before.is_none().then_some(call.place),
        Transfer::Permute | Transfer::Transpose | Transfer::Turned => before,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(sizes: &[i64]) -> Dims {
        sizes.iter().map(|size| Int::Known(*size)).collect()
    }

    fn slice(start: Option<i64>, stop: Option<i64>) -> Item {
        Item::Slice { start: start.map(Int::Known), stop: stop.map(Int::Known), step: None }
    }

    fn len(size: &Int, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Int {
        let known = |bound: Option<i64>| bound.map(Int::Known);
        slice_len(size, known(start).as_ref(), known(stop).as_ref(), known(step).as_ref())
    }

    #[test]
    fn slices_are_as_long_as_python_says() {
        let ten = Int::Known(10);
        assert_eq!(len(&ten, None, None, None), ten);
        assert_eq!(len(&ten, Some(2), Some(5), None), Int::Known(3));
        assert_eq!(len(&ten, Some(2), Some(50), None), Int::Known(8));
        assert_eq!(len(&ten, Some(-3), None, None), Int::Known(3));
        assert_eq!(len(&ten, Some(-30), Some(-8), None), Int::Known(2));
        assert_eq!(len(&ten, Some(7), Some(3), None), Int::Known(0));
        assert_eq!(len(&ten, None, None, Some(3)), Int::Known(4));
        assert_eq!(len(&ten, None, None, Some(-1)), ten);
        assert_eq!(len(&ten, Some(5), None, Some(-1)), Int::Unknown);
    }

    #[test]
    fn slices_of_symbols_stay_exact() {
        let size = Int::symbol(Symbol(0));
        assert_eq!(len(&size, None, None, None), size);
        assert_eq!(len(&size, Some(1), None, None), size.sub(&Int::Known(1)));
        assert_eq!(len(&size, None, Some(-1), None), size.sub(&Int::Known(1)));
        assert_eq!(len(&size, Some(-1), None, None), Int::Known(1));
        assert_eq!(len(&size, None, Some(4), None), Int::Unknown);
        assert_eq!(len(&size, None, None, Some(2)), Int::Unknown);
        assert_eq!(len(&Int::Unknown, Some(1), None, None), Int::Unknown);
        assert_eq!(slice_len(&Int::Known(10), None, Some(&size), None), Int::Unknown);
        assert_eq!(slice_len(&size, None, Some(&size), None), size);
    }

    #[test]
    fn basic_indices_drop_and_add_axes() {
        let shape = dims(&[8, 3, 32, 16]);
        assert_eq!(indexed(&shape, &[Item::Int]), Some(dims(&[3, 32, 16])));
        assert_eq!(indexed(&shape, &[slice(None, None), Item::Int]), Some(dims(&[8, 32, 16])));
        assert_eq!(indexed(&shape, &[Item::Ellipsis, Item::Int]), Some(dims(&[8, 3, 32])));
        assert_eq!(indexed(&shape, &[Item::Ellipsis, Item::New]), Some(dims(&[8, 3, 32, 16, 1])));
        assert_eq!(indexed(&shape, &[Item::New, slice(None, Some(2))]), Some(dims(&[1, 2, 3, 32, 16])));
        assert_eq!(indexed(&dims(&[8]), &[Item::Int]), Some(dims(&[])));
        assert_eq!(indexed(&dims(&[8]), &[Item::Int, Item::Int]), None);
        assert_eq!(indexed(&shape, &[Item::Ellipsis, Item::Ellipsis]), None);
    }

    #[test]
    fn masks_and_positions_choose() {
        let shape = dims(&[8, 3, 32]);
        let open = |rest: &[i64]| -> Dims { [Int::Unknown].into_iter().chain(dims(rest)).collect() };
        assert_eq!(indexed(&shape, &[Item::Mask(1)]), Some(open(&[3, 32])));
        assert_eq!(indexed(&shape, &[Item::Mask(3)]), Some(open(&[])));
        assert_eq!(indexed(&shape, &[Item::Mask(4)]), None);
        assert_eq!(indexed(&shape, &[Item::Array(dims(&[5]))]), Some(dims(&[5, 3, 32])));
        assert_eq!(
            indexed(&shape, &[slice(None, None), Item::Array(dims(&[5, 2]))]),
            Some(dims(&[8, 5, 2, 32]))
        );
        let pairs = [Item::Array(dims(&[8])), Item::Array(dims(&[8]))];
        assert_eq!(indexed(&shape, &pairs), Some(dims(&[8, 32])));
        let apart = [Item::Array(dims(&[4])), slice(None, None), Item::Int];
        assert_eq!(indexed(&shape, &apart), Some(dims(&[4, 3])));
        let back = [slice(None, None), Item::Array(dims(&[4])), Item::Int];
        assert_eq!(indexed(&shape, &back), Some(dims(&[8, 4])));
    }
}
