//! Numbers that are drawn at random: integers, items of an array, and keys that decide them.

use super::build::*;
use super::elementwise::computed_of;
use super::factory::{Holder, drawn_shape, made, shape_of};
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::report::Confidence;
use crate::values::*;
use std::rc::Rc;

/// `chosen x size`: numbers drawn from an array, or integers below a number.
pub(crate) fn chosen(interp: &mut Interp, call: &Invocation) -> Value {
    let (of, shape) = (call.nth(0), drawn_shape(interp, call));
    let dtype = match of.as_int() {
        Some(_) => Some(DType::Int64),
        None => tensor_of(interp, &of).dtype,
    };
    Value::tensor(Tensor { dtype, ..made(interp, call, None, Holder::NumPy).with_shape(shape) })
}

/// `permuted x`: the numbers below an integer, or those of an array, in any order.
pub(crate) fn permuted(interp: &mut Interp, call: &Invocation) -> Value {
    let of = call.nth(0);
    if let Some(below) = of.as_int() {
        let made = made(interp, call, None, Holder::NumPy).with_shape(Some(Rc::new([below.clone()])));
        return Value::tensor(Tensor { dtype: Some(DType::Int64), ..made });
    }
    let shape = of.as_tensor().and_then(|of| of.shape.clone());
    Value::tensor(computed_of(interp, call.place, vec![of]).with_shape(shape))
}

/// `randint low high size dtype device requires_grad`: with one bound, from zero to it.
pub(crate) fn randint(interp: &mut Interp, call: &Invocation) -> Value {
    let (low, mut high, mut size) =
        (call.operand(Slot::Low), given(call, Slot::High), given(call, Slot::Size));
    let chooses = call.api.params.iter().any(|param| param.name == "device");
    let is_size = |high: &Value| chooses || sequence(interp, high).is_some();
    if size.is_none() && high.as_ref().is_some_and(is_size) {
        // `torch.randint(10, (2, 3))`: who chooses a device asks for a size in any case.
        size = high.take();
    }
    let (low, high) = match high {
        Some(high) => (interval_of(&low), interval_of(&high)),
        None => (Some(Interval::point(0.0)), interval_of(&low)),
    };
    let range = low.zip(high).map(|(low, high)| low.join(&high.sub(&Interval::point(1.0))));
    let shape = size.map_or(Some(Rc::from([])), |size| shape_of(interp, &size));
    let holder = if chooses { Holder::Framework } else { Holder::NumPy };
    let made = made(interp, call, None, holder);
    let dtype = named(call, "dtype").map_or(Some(DType::Int64), |_| made.dtype);
    Value::tensor(Tensor { shape, dtype, range, source: Source::Data, ..made })
}

/// `normal x y size dtype device requires_grad`: of a size, or one for each number of the others.
pub(crate) fn normal(interp: &mut Interp, call: &Invocation) -> Value {
    let drawn = match given(call, Slot::Size) {
        Some(size) => {
            let shape = shape_of(interp, &size);
            made(interp, call, None, Holder::Framework).with_shape(shape)
        }
        None => {
            let drawn = super::elementwise::of_all(interp, call.place, &[call.nth(0), call.nth(1)]);
            Tensor { is_array: false, graph: Graph::None, ..drawn }
        }
    };
    Value::tensor(Tensor { source: Source::Data, range: Some(Interval::REAL), ..drawn })
}

/// An object is a key of random numbers, of this number: what is one of two keys has none.
const RANDOM_KEY: Note = Note::new("random key");

/// More keys than these are not told apart.
const MOST_KEYS: i64 = 8;

/// `random-key`
pub(crate) fn random_key(interp: &mut Interp, call: &Invocation) -> Value {
    let key = interp.alloc(call.place, ClassRef::Builtin, State::Plain);
    noted(interp, key)
}

/// `random-keys n`
pub(crate) fn random_keys(interp: &mut Interp, call: &Invocation) -> Value {
    let count = call.operand(Slot::N).as_known_int().filter(|count| (1..=MOST_KEYS).contains(count));
    let Some(count) = count else { return Value::Unknown };
    let mut keys = Vec::new();
    for _ in 0..count {
        let key = interp.heap.alloc(Object {
            class: ClassRef::Builtin,
            attrs: Vec::new(),
            notes: Vec::new(),
            state: State::Plain,
            site: call.place,
            epoch: interp.epoch,
            confidence: Confidence::High,
        });
        keys.push(noted(interp, key));
    }
    interp.list(call.place, keys)
}

fn noted(interp: &mut Interp, key: ObjId) -> Value {
    interp.heap.note(key, RANDOM_KEY, Value::of_int(Int::Known(i64::from(key.0))));
    Value::Obj(key)
}

impl Interp<'_> {
    /// The key of random numbers that a value is, where it is surely one.
    pub(crate) fn random_key(&self, value: &Value) -> Option<ObjId> {
        let number = |key: &ObjId| self.heap.noted(*key, RANDOM_KEY)?.as_known_int();
        value.as_obj().filter(|key| number(key).is_some())
    }
}
