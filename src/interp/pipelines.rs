//! Pipelines of data that a framework runs: where their samples come from, and what is made of several of them.

use super::{Interp, Invocation, call_path::Hop};
use crate::apis::Slot;
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// `dataset-zip datasets`: a sample of each of them.
pub(super) fn dataset_zip(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let given = match call.rest.as_slice() {
        [several @ Value::Tuple(_)] => several.clone(),
        several => Value::tuple(several.to_vec()),
    };
    let Some(datasets) = interp.iterate(&given, call.place).exact else { return Value::Unknown };
    let parts: Option<Vec<_>> = datasets.iter().map(|dataset| interp.stream_parts(dataset)).collect();
    let Some(parts) = parts.filter(|parts| !parts.is_empty()) else { return Value::Unknown };
    let known = parts.iter().find(|(_, length)| !length.is_unknown());
    let length = known.map_or(Int::Unknown, |(_, length)| length.clone());
    let samples = parts.into_iter().map(|(sample, _)| sample).collect();
    interp.stream(call, Value::tuple(samples), length)
}

/// `dataset-filtered self`: nobody knows how many of the samples are left.
pub(super) fn dataset_filtered(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    match interp.stream_parts(&call.nth(0)) {
        Some((sample, _)) => stream_like(interp, call, sample, Int::Unknown),
        None => Value::Unknown,
    }
}

/// `dataset-shuffled self`, `dataset-cached self`: the same samples, in a stream of its own.
pub(super) fn dataset_reordered(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    match interp.stream_parts(&call.nth(0)) {
        Some((sample, length)) => stream_like(interp, call, sample, length),
        None => call.nth(0),
    }
}

/// `dataset-take self n`, `dataset-skip self n`: some of the samples, in a stream of its own.
pub(super) fn dataset_cut(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    match interp.stream_parts(&call.nth(0)) {
        Some((sample, _)) => stream_like(interp, call, sample, Int::Unknown),
        None => call.nth(0),
    }
}

/// `dataset-joined self x`: samples of one, and then of the other.
pub(super) fn dataset_joined(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let (one, other) = (interp.stream_parts(&call.nth(0)), interp.stream_parts(&call.operand(Slot::X)));
    let (Some((one, _)), Some((other, _))) = (one, other) else { return Value::Unknown };
    let sample = interp.heap.join(&one, &other);
    stream_like(interp, call, sample, Int::Unknown)
}

/// `dataset-flat-map self f`: the samples of what a function makes datasets of.
pub(super) fn dataset_flat_map(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let datasets = interp.dataset_map(call);
    let made = interp.stream_parts(&datasets).map(|(dataset, _)| dataset);
    match made.and_then(|dataset| interp.stream_parts(&dataset)) {
        Some((sample, _)) => interp.stream(call, sample, Int::Unknown),
        None => Value::Unknown,
    }
}

/// `dataset-of x`: this one sample.
pub(super) fn dataset_of_one(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let sample = interp.on_device(&call.nth(0), Device::Automatic);
    interp.stream(call, sample, Int::Known(1))
}

/// `dataset-read`: a text for each line, record or file.
pub(super) fn dataset_read(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let text = read_tensor(call.place).with_shape(Some(Rc::from([])));
    interp.stream(call, Value::tensor(text), Int::Unknown)
}

/// `dataset-loaded cls split batch_size labelled info`: a set by its name, of which nobody knows the shapes.
pub(super) fn dataset_loaded(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let batches = call.operand(Slot::BatchSize);
    let (Some(class), Some(labelled), Some(with_info), Value::None) = (
        call.operand(Slot::Cls).as_str().map(Ustr::from),
        call.operand(Slot::Labelled).as_bool(),
        call.operand(Slot::Info).as_bool(),
        batches.bare(),
    ) else {
        return Value::Unknown;
    };
    let split = call.operand(Slot::Split);
    let data = match split.bare() {
        Value::Str(_) => part_of_set(interp, class, labelled, call.place, 0),
        Value::None => {
            let any = part_of_set(interp, class, labelled, call.place, 0);
            interp.dict(call.place, Entries::new(Vec::new(), Some(any)))
        }
        _ => match interp.iterate(&split, call.place).exact {
            Some(splits) => {
                let part = |(index, _)| part_of_set(interp, class, labelled, call.place, index);
                let parts = (0..).zip(&splits).map(part).collect();
                interp.list(call.place, parts)
            }
            None => Value::Unknown,
        },
    };
    if with_info { Value::tuple(vec![data, Value::Unknown]) } else { data }
}

fn part_of_set(interp: &mut Interp<'_>, class: Ustr, labelled: bool, place: Place, index: u32) -> Value {
    interp.one_hop_on(Hop::Nth(place, index), |interp| {
        let sample = match labelled {
            true => Value::tuple(vec![Value::tensor(read_tensor(place)); 2]),
            false => interp.dict(place, Entries::new(Vec::new(), Some(Value::Unknown))),
        };
        interp.streaming(ClassRef::Api(class), place, sample, Int::Unknown)
    })
}

/// Other samples of the kind that a stream gives; those of a stream of batches are batches.
pub(super) fn stream_like(interp: &mut Interp<'_>, call: &Invocation, sample: Value, length: Int) -> Value {
    let made = interp.stream(call, sample, length);
    if let (Some(object), Some(loader)) = (made.as_obj(), interp.loader_of(&call.nth(0))) {
        interp.heap.get_mut(object).set_attr(Ustr::from("batched"), Value::Obj(loader));
    }
    made
}

/// What is read from a file, each time anew.
fn read_tensor(place: Place) -> Tensor {
    Tensor {
        device: Device::Automatic,
        graph: Graph::None,
        source: Source::Data,
        created: u32::MAX,
        made: Some(place),
        ..Tensor::default()
    }
}
