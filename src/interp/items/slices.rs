//! What an index or a slice of a sequence takes, and what is put in its place.

use crate::values::{Heap, Value};
use std::ops::Range;

/// The items that a slice takes of a sequence that is known, also backwards: `channels[::-1]`.
pub(super) fn sliced(slice: &Value, items: &[Value]) -> Option<Vec<Value>> {
    if is_reversal(slice) {
        return Some(items.iter().rev().cloned().collect());
    }
    Some(items[slice_bounds(slice, items.len())?].to_vec())
}

/// `[::-1]`
fn is_reversal(slice: &Value) -> bool {
    let Value::Slice(parts) = slice.bare() else { return false };
    matches!((&parts.0, &parts.1), (Value::None, Value::None)) && parts.2.as_known_int() == Some(-1)
}

/// The positions a slice with known bounds and no step takes.
pub(in crate::interp) fn slice_bounds(slice: &Value, len: usize) -> Option<Range<usize>> {
    let Value::Slice(parts) = slice else { return None };
    let bound = |value: &Value, missing: usize| match value.bare() {
        Value::None => Some(missing),
        other => {
            let at = other.as_known_int()?;
            let at = if at < 0 { at + len as i64 } else { at };
            Some(at.clamp(0, len as i64) as usize)
        }
    };
    if !matches!(parts.2, Value::None) {
        return None;
    }
    let (start, end) = (bound(&parts.0, 0)?, bound(&parts.1, len)?);
    Some(start..end.max(start))
}

/// A Python index as a position.
pub(in crate::interp) fn position(index: i64, len: usize) -> Option<usize> {
    let at = if index < 0 { index + len as i64 } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// A batch, as a loader gives it, is a list of so many parts, one of which is put in another's place.
pub(super) fn with_item(heap: &mut Heap, items: &[Value], index: &Value, value: &Value) -> Value {
    let written = index.as_known_int().and_then(|at| position(at, items.len()));
    let parts = items.iter().enumerate().map(|(at, item)| match written {
        Some(written) if written == at => value.clone(),
        Some(_) => item.clone(),
        None => heap.join(item, value),
    });
    Value::tuple(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::{position, sliced};
    use crate::values::Value;
    use std::rc::Rc;

    #[test]
    fn negative_indices_count_from_the_end() {
        assert_eq!(position(-1, 3), Some(2));
        assert_eq!(position(3, 3), None);
        assert_eq!(position(-4, 3), None);
    }

    #[test]
    fn a_sequence_is_taken_backwards() {
        let items = [Value::int(64), Value::int(128)];
        let slice = |step: Value| Value::Slice(Rc::new((Value::None, Value::None, step)));
        let taken = sliced(&slice(Value::int(-1)), &items).unwrap();
        assert_eq!(taken.iter().map(Value::as_known_int).collect::<Vec<_>>(), [Some(128), Some(64)]);
        assert!(sliced(&slice(Value::int(2)), &items).is_none());
    }
}
