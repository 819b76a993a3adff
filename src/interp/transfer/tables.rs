//! Tables of data and what is done to them before training: rows and columns, splits, samples that are drawn.
//! The number of rows has a name, so that features and targets are known to be equally many.

use super::build::*;
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;

fn rows(interp: &mut Interp, name: &str) -> Int {
    Int::symbol(interp.symbol(name))
}

fn data(interp: &Interp, place: Place, shape: Shape, dtype: Option<DType>) -> Tensor {
    Tensor {
        shape: Some(shape),
        dtype,
        device: Device::Cpu,
        graph: Graph::None,
        source: Source::Data,
        is_array: true,
        ..some_tensor(interp, place)
    }
}

/// `table [delimiter]`: rows and columns; where a delimiter may be given, without one it may be a single column.
pub(crate) fn table(interp: &mut Interp, call: &Invocation) -> Value {
    if operands(call).len() == 1 && given(call, Slot::Delimiter).is_none() {
        return super::factory::array_unknown(interp, call);
    }
    let shape = Rc::from([rows(interp, "rows"), Int::Unknown]);
    // What reads numbers of which a delimiter tells the columns makes an array of them.
    let is_table = operands(call).is_empty();
    Value::tensor(Tensor { is_table, ..data(interp, call.place, shape, None) })
}

/// `table-rows x [axis columns]`: other rows, unless it is columns that are dropped.
pub(crate) fn table_rows(interp: &mut Interp, call: &Invocation) -> Value {
    let table = first(interp, call);
    let by_column = given(call, Slot::Columns).is_some()
        || given(call, Slot::Axis)
            .is_some_and(|axis| axis.as_known_int() == Some(1) || axis.as_str() == Some("columns"));
    let shape = table.shape.as_deref().and_then(|shape| shape.split_first()).map(|(old, rest)| {
        let first = if by_column { old.clone() } else { rows(interp, "rows") };
        let rest = rest.iter().map(|size| if by_column { Int::Unknown } else { size.clone() });
        std::iter::once(first).chain(rest).collect()
    });
    Value::tensor(kept(interp, &table).with_shape(shape))
}

/// `table-column x`: one number a row.
pub(crate) fn table_column(interp: &mut Interp, call: &Invocation) -> Value {
    let table = first(interp, call);
    let shape = table.shape.as_ref().and_then(|shape| Some(Rc::from([shape.first()?.clone()])));
    Value::tensor(kept(interp, &table).with_shape(shape))
}

/// `class-table`: of how many classes nobody knows, and what a row says is not what a column says.
pub(crate) fn class_table(interp: &mut Interp, call: &Invocation) -> Value {
    let shape = Rc::from([rows(interp, "classes"), rows(interp, "predicted classes")]);
    Value::tensor(Tensor { source: Source::Mask, ..data(interp, call.place, shape, None) })
}

/// `class-indices x`: the number of a class for each row.
pub(crate) fn class_indices(interp: &mut Interp, call: &Invocation) -> Value {
    let known = first(interp, call).shape.as_ref().and_then(|shape| shape.first().cloned());
    let count = known.unwrap_or_else(|| rows(interp, "rows"));
    Value::tensor(data(interp, call.place, Rc::from([count]), Some(DType::Int64)))
}

/// `dummies x`: of a column one number for each class, of which one is one. A table keeps its other columns.
pub(crate) fn dummies(interp: &mut Interp, call: &Invocation) -> Value {
    let (x, made) = (first(interp, call), table(interp, call));
    // Without the first class, of two only one is left.
    let all = flag(named(call, "drop_first")) == Some(false);
    match (x.shape.as_deref(), made.as_tensor()) {
        (Some([count]), Some(table)) if all => {
            let shape = Some(Rc::from([count.clone(), Int::Unknown]));
            Value::tensor(Tensor {
                range: Some(Interval::closed(0.0, 1.0)),
                ..(**table).clone().with_shape(shape)
            })
        }
        _ => made,
    }
}

/// `transformed self x`: other numbers, row by row; what is not known becomes an array, too.
pub(crate) fn transformed(interp: &mut Interp, call: &Invocation) -> Value {
    let rows = call.nth_tensor(1).unwrap_or_default();
    let confidence = rows.confidence.min(interp.supposed.trust);
    let dtype = rows.dtype.filter(|dtype| dtype.is_float());
    let array = Tensor {
        is_array: true,
        device: Device::Cpu,
        graph: Graph::None,
        source: Source::Data,
        ..some_tensor(interp, call.place)
    };
    Value::tensor(Tensor { shape: rows.shape.clone(), dtype, confidence, ..array })
}

/// `split-arrays arrays`: of each array the rows to train on and those to test on.
pub(crate) fn split_arrays(interp: &mut Interp, call: &Invocation) -> Value {
    let (train, test) = (rows(interp, "len(train)"), rows(interp, "len(test)"));
    let mut parts = Vec::new();
    for array in &call.rest {
        for count in [&train, &test] {
            parts.push(match array.as_tensor() {
                Some(tensor) => Value::tensor((**tensor).clone().with_shape(with_rows(tensor, count))),
                None => Value::Unknown,
            });
        }
    }
    Value::tuple(parts)
}

/// `folds`: which samples to train on, and which are held out, fold by fold.
pub(crate) fn folds(interp: &mut Interp, call: &Invocation) -> Value {
    let mut indices = |name: &str| {
        let count = rows(interp, name);
        Value::tensor(data(interp, call.place, Rc::from([count]), Some(DType::Int64)))
    };
    let pair = Value::tuple(vec![indices("len(train)"), indices("len(test)")]);
    interp.streaming(ClassRef::Builtin, call.place, pair, Int::Unknown)
}

fn with_rows(tensor: &Tensor, count: &Int) -> Option<Shape> {
    let (_, rest) = tensor.shape.as_deref()?.split_first()?;
    Some(std::iter::once(count.clone()).chain(rest.iter().cloned()).collect())
}

/// `drawn-samples n features targets dtype`: features, and a target for each sample.
pub(crate) fn drawn_samples(interp: &mut Interp, call: &Invocation) -> Value {
    let size = |slot: Slot| given(call, slot).and_then(|size| size.as_int().cloned());
    let count = match size(Slot::N) {
        Some(count) if !count.is_unknown() => count,
        _ => rows(interp, "samples"),
    };
    let inputs = Rc::from([count.clone(), size(Slot::Features).unwrap_or_default()]);
    let targets: Shape = match size(Slot::Targets) {
        None | Some(Int::Known(1)) => Rc::from([count]),
        Some(targets) => Rc::from([count, targets]),
    };
    Value::tuple(vec![
        Value::tensor(data(interp, call.place, inputs, Some(DType::Float64))),
        Value::tensor(data(interp, call.place, targets, quoted_dtype(call))),
    ])
}

/// `bunch n features dtype return_X_y`: a small well-known set, as an object or as a pair.
pub(crate) fn bunch(interp: &mut Interp, call: &Invocation) -> Value {
    let size = |slot: Slot| call.operand(slot).as_int().cloned().unwrap_or_default();
    let (count, features) = (size(Slot::N), size(Slot::Features));
    let inputs = data(interp, call.place, Rc::from([count.clone(), features]), Some(DType::Float64));
    let targets = data(interp, call.place, Rc::from([count]), quoted_dtype(call));
    let (inputs, targets) = (Value::tensor(inputs), Value::tensor(targets));
    match flag(param(call, Slot::ReturnXY)) {
        Some(true) => Value::tuple(vec![inputs, targets]),
        Some(false) => {
            let object = interp.alloc(call.place, ClassRef::Builtin, State::Plain);
            let bunch = interp.heap.get_mut(object);
            bunch.set_attr("data".into(), inputs);
            bunch.set_attr("target".into(), targets);
            Value::Obj(object)
        }
        None => Value::Unknown,
    }
}
