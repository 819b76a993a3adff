//! Datasets that are streams, and parts of datasets: slices of arrays, batches, prefixes, splits.
//! An element of a stream is one abstract sample, beside how many there are.

use super::{Interp, Invocation, call_path::Hop};
use crate::apis::{Literal, Role, Slot};
use crate::report::Place;
use crate::trace::{PlacedOnGpu, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// How many samples a part of a dataset has.
pub(super) const SAMPLES_IN_PART: Note = Note::new("samples in part");

/// Whether a dataset is some samples of another one.
pub(crate) fn is_part_of_dataset(heap: &Heap, dataset: ObjId) -> bool {
    heap.noted(dataset, SAMPLES_IN_PART).is_some()
}

impl<'p> Interp<'p> {
    /// Arrays that become slices are copied whole to where the framework computes.
    pub(super) fn note_slices(&mut self, data: &Value, call: &Invocation) {
        let arrays: Vec<Rc<Tensor>> = match data.bare() {
            Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor().cloned()).collect(),
            other => other.as_tensor().cloned().into_iter().collect(),
        };
        let largest = arrays.into_iter().filter(|array| array.is_array).max_by_key(|array| array.bytes());
        let elsewhere =
            self.ambient.contexts.iter().any(|context| matches!(context, ContextKind::Device(Device::Cpu)));
        if let Some(tensor) = largest.filter(|array| array.bytes().is_some() && !elsewhere) {
            let confidence = tensor.confidence.min(crate::report::Confidence::Medium);
            self.observe(call.place, PlacedOnGpu { tensor, unasked: true }, confidence);
        }
    }

    /// One of the slices of arrays, or of each array in a tuple or dictionary.
    pub(super) fn slices(&mut self, data: &Value, place: Place) -> Value {
        match data.bare() {
            Value::Tuple(items) => {
                Value::tuple(items.clone().iter().map(|item| self.slices(item, place)).collect())
            }
            Value::Obj(object) => match self.heap.get(*object).state.clone() {
                State::Dict(entries) => {
                    let slices =
                        entries.known.iter().map(|(key, item)| (key.clone(), self.slices(item, place)));
                    let known = slices.collect();
                    let other = entries.other.map(|other| self.slices(&other, place));
                    self.dict(place, Entries::new(known, other))
                }
                _ => self.iterate(data, place).any,
            },
            _ => self.iterate(data, place).any,
        }
    }

    /// How many slices there are: each array of a tuple or dictionary has as many.
    pub(super) fn slices_length(&mut self, data: &Value, place: Place) -> Int {
        let held = match data.bare() {
            Value::Tuple(items) => items.first().cloned(),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Dict(entries) => entries.known.first().map(|(_, item)| item.clone()),
                _ => return self.length(&data.clone(), place),
            },
            other => return self.length(&other.clone(), place),
        };
        held.map_or(Int::Unknown, |held| self.slices_length(&held, place))
    }

    /// A dataset of the streaming kind: what it gives, and how many times.
    pub(super) fn stream(&mut self, call: &Invocation, sample: Value, length: Int) -> Value {
        let class = self.apis.class_of(Role::Dataset).map_or(ClassRef::Builtin, ClassRef::Api);
        let class = match call.api.name.rsplit_once('.') {
            _ if call.api.class.is_some() => ClassRef::Api(call.api.name),
            Some((class, _)) if self.apis.class(Ustr::from(class)).is_some() => {
                ClassRef::Api(Ustr::from(class))
            }
            _ => class,
        };
        self.streaming(class, call.place, sample, length)
    }

    pub(super) fn streaming(&mut self, class: ClassRef, place: Place, sample: Value, length: Int) -> Value {
        let object = self.alloc(place, class, State::Plain);
        let items = Items { exact: None, any: sample, len: Num::of(length) };
        let inner = self.heap.alloc(Object {
            class: ClassRef::Builtin,
            attrs: Vec::new(),
            notes: Vec::new(),
            state: State::List(items),
            site: place,
            epoch: self.epoch,
            confidence: crate::report::Confidence::High,
        });
        self.heap.get_mut(object).set_attr(Ustr::from("iterable"), Value::Obj(inner));
        Value::Obj(object)
    }

    /// What a folder of classes is read as: batches, with the labels that the names of its folders say.
    pub(super) fn labelled_stream(&mut self, call: &Invocation) -> Value {
        let class =
            call.operand(Slot::Cls).as_str().map_or(ClassRef::Builtin, |name| ClassRef::Api(name.into()));
        // `subset="both"` gives two of them.
        let part = call.operand(Slot::Name);
        if !matches!(part.bare(), Value::None) && !matches!(part.as_str(), Some("training" | "validation")) {
            return Value::Unknown;
        }
        let batch = Int::symbol(self.symbol("batch"));
        let data = Tensor {
            device: Device::Automatic,
            graph: Graph::None,
            source: Source::Data,
            // New in each iteration.
            created: u32::MAX,
            made: Some(call.place),
            ..Tensor::default()
        };
        let shares = Some(Interval::closed(0.0, 1.0));
        let kind = call.operand(Slot::Kind);
        let labels = match kind.bare() {
            Value::None => None,
            Value::Str(Some(kind)) => Some(match &**kind {
                "int" | "sparse" => Tensor { shape: Some([batch].into()), ..data.clone() },
                "binary" => {
                    Tensor { shape: Some([batch, Int::Known(1)].into()), range: shares, ..data.clone() }
                }
                "categorical" => {
                    Tensor { shape: Some([batch, Int::Unknown].into()), range: shares, ..data.clone() }
                }
                _ => return Value::Unknown,
            }),
            _ => return Value::Unknown,
        };
        let sample = match labels {
            Some(labels) => Value::tuple(vec![Value::tensor(data), Value::tensor(labels)]),
            None => Value::tensor(data),
        };
        let made = self.streaming(class, call.place, sample, Int::Unknown);
        if let Some(object) = made.as_obj() {
            // What the framework adds to the dataset that it gives.
            for name in ["class_names", "file_paths"] {
                self.heap.get_mut(object).set_attr(Ustr::from(name), Value::Unknown);
            }
        }
        made
    }

    pub(super) fn stream_parts(&mut self, dataset: &Value) -> Option<(Value, Int)> {
        let inner = self.heap.attr(dataset.as_obj()?, Ustr::from("iterable"))?.as_obj()?;
        match &self.heap.get(inner).state {
            State::List(items) => Some((items.any.clone(), items.len.int.clone())),
            _ => None,
        }
    }

    pub(super) fn stream_batch(&mut self, call: &Invocation) -> Value {
        let Some((sample, length)) = self.stream_parts(&call.nth(0)) else { return Value::Unknown };
        let size = call.operand(Slot::N);
        let count = size.as_int().cloned().unwrap_or_default();
        let count = if count.is_unknown() { Int::symbol(self.symbol("batch")) } else { count };
        let batch = self.collated(&sample, &count);
        let made = self.stream(call, batch, Int::Unknown);
        if let Some(object) = made.as_obj() {
            self.heap.get_mut(object).set_attr(Ustr::from("batched"), Value::Obj(object));
            let batch_place = call.place_of("batch_size").unwrap_or(call.place);
            let length_place = call.nth(0).as_obj().map(|object| self.heap.get(object).site);
            let sight = Sight::Loader {
                loader: object,
                dataset: call.nth(0),
                length,
                length_place,
                batch_size: size,
                batch_place,
            };
            self.see(call.place, sight, crate::report::Confidence::High);
        }
        made
    }

    /// `Subset`: some samples of a dataset.
    pub(super) fn taken(&mut self, call: &Invocation) -> Value {
        let indices = call.operand(Slot::Indices);
        let length = if indices.is_unknown() { Int::Unknown } else { self.length(&indices, call.place) };
        self.part_of(call, 0, length)
    }

    /// `random_split`: a dataset in parts of these lengths, or of these shares.
    pub(super) fn split(&mut self, call: &Invocation) -> Value {
        let (dataset, lengths) = (call.operand(Slot::Dataset), call.operand(Slot::Lengths));
        let parts = match lengths.bare() {
            Value::Unknown => None,
            _ => self.iterate(&lengths, call.place).exact,
        };
        // Of lengths that nobody knows there are as many as there are names.
        let parts = parts.or_else(|| Some(vec![Value::Unknown; self.names_of_parts(call.place)?]));
        let Some(parts) = parts else {
            let any = self.part_of(call, 0, Int::Unknown);
            return self.list_of(call.place, any);
        };
        let total = if dataset.is_unknown() { None } else { self.length(&dataset, call.place).known() };
        let length = |part: &Value| match part.bare() {
            Value::Int(num) => num.int.clone(),
            Value::Float(Some(share)) => {
                total.map_or(Int::Unknown, |total| Int::Known((total as f64 * share) as i64))
            }
            _ => Int::Unknown,
        };
        let lengths: Vec<Int> = parts.iter().map(length).collect();
        let made =
            lengths.into_iter().zip(0..).map(|(length, index)| self.part_of(call, index, length)).collect();
        self.list(call.place, made)
    }

    /// Into how many names a statement takes apart what a call gives.
    fn names_of_parts(&self, call: Place) -> Option<usize> {
        let (site, count) = self.frames.last()?.unpacks?;
        (site == call).then_some(count)
    }

    fn part_of(&mut self, call: &Invocation, index: u32, length: Int) -> Value {
        let path = self.enter_path(Hop::Nth(call.place, index));
        let class = self.apis.class_of(Role::Dataset).map_or(ClassRef::Builtin, ClassRef::Api);
        let object = self.alloc(call.place, class, State::Plain);
        self.sites.path = path;
        let part = self.heap.get_mut(object);
        part.set_attr(Ustr::from("dataset"), call.nth(0));
        part.note(SAMPLES_IN_PART, Value::of_int(length));
        Value::Obj(object)
    }

    /// All samples of a well-known dataset as it stores them.
    pub(super) fn dataset_rows(&mut self, call: &Invocation) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        let count = self.dataset_length(object, call.place).unwrap_or_default();
        let sizes = (1..4).filter_map(|index| call.nth(index).as_known_int()).map(Int::Known);
        let rows = samples_of(std::iter::once(count).chain(sizes).collect(), DType::UInt8, call.place);
        Value::tensor(Tensor { is_array: call.operand(Slot::Holder).as_str() == Some("array"), ..rows })
    }

    /// `((x_train, y_train), (x_test, y_test))` of a well-known dataset.
    pub(super) fn arrays(&mut self, call: &Invocation) -> Value {
        let Some(spec) = &call.api.dataset else { return Value::Unknown };
        let array = |shape: Shape, dtype: DType| {
            Value::tensor(Tensor {
                shape: Some(shape),
                dtype: Some(dtype),
                device: Device::Cpu,
                graph: Graph::None,
                source: Source::Data,
                is_array: true,
                made: Some(call.place),
                what: Some(call.api.name),
                ..Tensor::default()
            })
        };
        let split = |samples: i64| {
            let rows = Int::Known(samples);
            let shape: Shape =
                std::iter::once(samples).chain(spec.sample.iter().copied()).map(Int::Known).collect();
            Value::tuple(vec![
                array(shape, DType::UInt8),
                array(if spec.column { [rows, Int::Known(1)].into() } else { [rows].into() }, DType::UInt8),
            ])
        };
        let is_train = |name: &Option<Literal>| matches!(name, Some(Literal::Str(name)) if name == "train");
        let (train, test): (Vec<_>, Vec<_>) = spec.samples.iter().partition(|(name, _)| is_train(name));
        Value::tuple(train.into_iter().chain(test).map(|(_, samples)| split(*samples)).collect())
    }
}

/// Samples as a dataset holds them on the CPU.
pub(super) fn samples_of(shape: Shape, dtype: DType, place: Place) -> Tensor {
    Tensor {
        shape: Some(shape),
        dtype: Some(dtype),
        device: Device::Cpu,
        graph: Graph::None,
        source: Source::Data,
        range: Some(Interval::closed(0.0, 255.0)),
        images: Some(place),
        made: Some(place),
        ..Tensor::default()
    }
}
