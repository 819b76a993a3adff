//! Datasets and loaders: how many samples there are, what one of them is, and the batches made of them.

use super::{Call, Interp, Invocation, LoaderCall, streams::SAMPLES_IN_PART};
use crate::apis::{Api, DatasetSpec, Literal, ParamKind, Slot};
use crate::report::Place;
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// An instance of a framework's class that holds tensors and moves with them.
const RECORD: Note = Note::new("record");

/// Where datasets of torchvision have their labels: a script that writes to one of these makes labels of its own.
const LABELS: [&str; 4] = ["labels", "targets", "test_labels", "train_labels"];

/// The shape of a sample as it is read: of images the channels are last, and of grey ones there is no axis for them.
fn as_read(spec: &DatasetSpec) -> Shape {
    let known = |size: &i64| Int::Known(*size);
    match &*spec.sample {
        _ if spec.labelled => [Int::Unknown, Int::Unknown, Int::Known(3)].into(),
        [1, height, width] => [height, width].map(known).into(),
        [channels, height, width] => [height, width, channels].map(known).into(),
        other => other.iter().map(known).collect(),
    }
}

impl<'p> Interp<'p> {
    /// How many batches a loader gives.
    pub(super) fn length_of_loader(&mut self, loader: ObjId) -> Int {
        self.length_symbol(loader, "len(loader)")
    }

    /// A loader: what its batches look like, and how large they are.
    pub(super) fn loader(&mut self, api: &Api, call: &Invocation) -> Value {
        let object = self.alloc(call.place, ClassRef::Api(api.name), State::Plain);
        self.load(object, api, call);
        Value::Obj(object)
    }

    /// Makes a loader of an object: one of the framework's, or of a class that inherits from it.
    pub(super) fn load(&mut self, object: ObjId, api: &Api, call: &Invocation) {
        let dataset = call.get("dataset");
        // Who draws whole batches says how large they are.
        let batch_size = match call.get("batch_sampler").bare() {
            Value::None => call.get("batch_size"),
            _ => Value::Unknown,
        };
        let (batch_size, length) =
            self.batch_and_length(call, &dataset, batch_size, ("dataset", "batch_size"));
        let length_place = dataset.as_obj().map(|object| self.heap.get(object).site);
        let count = match (batch_size.as_int(), &length) {
            (Some(size), length) if size.known().is_some() && length.known().is_some() => {
                size.of_numbers(length, |size, length| Some(size.min(length))).unwrap_or_default()
            }
            (Some(size), _) if !size.is_unknown() => size.clone(),
            _ => Int::symbol(self.symbol("batch")),
        };
        let sample_order = self.sample_order(call);
        let made = LoaderCall { call, dataset: &dataset, sample_order };
        self.on_loader_call(&made);
        let batch = self.first_of_loader(call, &dataset, &count);
        self.on_loader_batch(&made);
        let state = LoaderState {
            dataset: dataset.clone(),
            batch_size: batch_size.clone(),
            batch,
            sample_order,
            managed: false,
            rounds: false,
        };
        self.heap.get_mut(object).state = State::Loader(Rc::new(state));
        self.keep_arguments(object, api, call);
        self.on_loader(object);
        let confidence = self.heap.get(object).confidence;
        let batch_place = call.place_of("batch_size").unwrap_or(call.place);
        let sight = Sight::Loader { loader: object, dataset, length, length_place, batch_size, batch_place };
        self.see(call.place, sight, confidence);
    }

    /// A loader is given another function that makes its batches.
    pub(super) fn collates_otherwise(&mut self, object: ObjId, attribute: &str) {
        if attribute == "collate_fn"
            && let State::Loader(state) = &mut self.heap.get_mut(object).state
        {
            Rc::make_mut(state).batch = Value::Unknown;
        }
    }

    /// What a loader hands out, as its workers make it.
    fn first_of_loader(&mut self, call: &Invocation, dataset: &Value, count: &Int) -> Value {
        let sample = self.sample(dataset, call.place);
        self.on_sample(&sample);
        if sample.as_obj().is_some_and(|object| self.is_record(object)) {
            // The loaders of such datasets collate in their own way, whatever they are told.
            return sample;
        }
        match &call.get("collate_fn") {
            Value::None => self.collated(&sample, count),
            Value::Unknown => Value::Unknown,
            function => {
                let samples = self.list_of(call.place, sample);
                self.quietly(|interp| interp.call_value(function, &Call::with(call.place, [samples])))
            }
        }
    }

    /// The length of data, and the batch size against it. Of data that nobody knows, `len(data)` is known to be
    /// its length all the same.
    pub(super) fn batch_and_length(
        &mut self,
        call: &Invocation,
        data: &Value,
        batch_size: Value,
        names: (&str, &str),
    ) -> (Value, Int) {
        if !data.is_unknown() {
            return (batch_size, self.length(data, call.place));
        }
        let words = |name: &str| call.place_of(name).map(|place| self.words(place));
        let (Some(data), Some(size)) = (words(names.0), words(names.1)) else {
            return (batch_size, Int::Unknown);
        };
        let measured = size.strip_prefix("len(").and_then(|rest| rest.strip_suffix(')'));
        if data.is_empty() || measured != Some(data) {
            return (batch_size, Int::Unknown);
        }
        let length = Int::symbol(self.symbol("len(dataset)"));
        (Value::of_int(length.clone()), length)
    }

    /// One sample of a dataset.
    fn sample(&mut self, dataset: &Value, place: Place) -> Value {
        match dataset.bare() {
            Value::Obj(object) => {
                let object = *object;
                if let Some(Value::Function(closure)) = self.find_attr(object, Ustr::from("__getitem__")) {
                    let call = Call::with(place, [Value::of_int(Int::Unknown)]);
                    return self.quietly(|interp| interp.inline(&closure, Some(&Value::Obj(object)), &call));
                }
                self.known_sample(object, place)
            }
            Value::Tensor(_) => {
                let items = self.iterate(dataset, place);
                items.any
            }
            _ => Value::Unknown,
        }
    }

    /// A sample of a dataset of a framework: of known shape, of tensors it holds, of the dataset it wraps.
    fn known_sample(&mut self, object: ObjId, place: Place) -> Value {
        let ClassRef::Api(class) = self.heap.get(object).class else { return Value::Unknown };
        let apis = self.apis;
        if let Some(record) = self.record_of(class) {
            return self.data_record(record, place);
        }
        if let Some(api) = apis.get(class)
            && let Some(spec) = &api.dataset
        {
            if spec.sample.is_empty() && !spec.labelled {
                return self.unknown_sample(object, place);
            }
            let raw = super::streams::samples_of(as_read(spec), DType::UInt8, place);
            let raw = Tensor { is_array: true, ..raw };
            // A loader of the script's own reads what it likes.
            let own = spec.labelled && self.heap.attr(object, Ustr::from("loader")).is_some();
            let raw = if own { raw.with_shape(None) } else { raw };
            let transform = self.heap.attr(object, Ustr::from("transform")).cloned().unwrap_or(Value::None);
            let input = match transform.bare() {
                Value::None => raw,
                transform => {
                    let call = Call::with(place, [Value::tensor(raw)]);
                    let given = self.in_passing(|interp| interp.call_value(transform, &call));
                    let given = given.as_tensor().map(|tensor| (**tensor).clone());
                    let unknown = Tensor { dtype: Some(DType::Float32), ..Tensor::default() };
                    let made = Some(place);
                    Tensor { source: Source::Data, graph: Graph::None, made, ..given.unwrap_or(unknown) }
                }
            };
            let input = Tensor { device: Device::Cpu, ..input };
            return Value::tuple(vec![Value::tensor(input), self.label(object, place)]);
        }
        for name in ["tensors", "dataset", "datasets"] {
            let Some(inner) = self.heap.attr(object, Ustr::from(name)).cloned() else { continue };
            if name == "dataset" {
                return self.sample(&inner, place);
            }
            let parts = match &inner {
                Value::Tuple(items) => items.to_vec(),
                other => self.iterate(other, place).exact.unwrap_or_default(),
            };
            if name == "datasets" {
                return parts.first().map_or(Value::Unknown, |first| self.sample(first, place));
            }
            let items: Vec<Value> = parts.iter().map(|part| self.iterate(part, place).any).collect();
            return if items.is_empty() { Value::Unknown } else { Value::tuple(items) };
        }
        self.unknown_sample(object, place)
    }

    /// A sample of which nothing is known goes through the transform all the same.
    fn unknown_sample(&mut self, object: ObjId, place: Place) -> Value {
        let transform = self.heap.attr(object, Ustr::from("transform")).cloned().unwrap_or(Value::None);
        if !matches!(transform.bare(), Value::None | Value::Unknown) {
            let call = Call::with(place, [Value::Unknown]);
            self.quietly(|interp| interp.call_value(&transform, &call));
        }
        Value::Unknown
    }

    /// The class of a dataset's samples, where they are records: as its own entry says, or that of a base.
    fn record_of(&self, class: Ustr) -> Option<Ustr> {
        let api = self.apis.get(class)?;
        let own = api.dataset.as_ref().and_then(|spec| spec.record);
        own.or_else(|| api.class.as_ref()?.is.iter().find_map(|base| self.record_of(*base)))
    }

    /// A record of tensors that lie on the CPU, as nobody has moved it yet; some of them it may lack.
    fn data_record(&mut self, class: Ustr, place: Place) -> Value {
        let Some(api) = self.apis.get(class) else { return Value::Unknown };
        let part = Value::tensor(Tensor {
            device: Device::Cpu,
            graph: Graph::None,
            source: Source::Data,
            created: u32::MAX,
            made: Some(place),
            ..Tensor::default()
        });
        let held = api.params.iter().filter(|param| param.kind == ParamKind::Plain).map(|param| {
            let may_lack = param.default.is_some();
            (param.name, if may_lack { Value::Maybe(Rc::new(part.clone())) } else { part.clone() })
        });
        let attrs: Vec<(Ustr, Value)> = held.collect();
        let object = self.alloc(place, ClassRef::Api(class), State::Plain);
        attrs.into_iter().for_each(|(name, part)| self.heap.get_mut(object).set_attr(name, part));
        self.heap.note(object, RECORD, Value::Bool(Some(true)));
        Value::Obj(object)
    }

    /// What a loader gives in one iteration: a record is another one each time, wherever the last one was moved.
    pub(super) fn this_batch(&mut self, any: Value, place: Place) -> Value {
        match &any {
            Value::Obj(object) => match self.heap.get(*object) {
                Object { class: ClassRef::Api(class), .. } if self.is_record(*object) => {
                    self.data_record(*class, place)
                }
                _ => any,
            },
            Value::Tuple(items) if items.iter().any(|item| matches!(item, Value::Obj(_))) => {
                let items: Vec<Value> = items.to_vec();
                Value::tuple(items.into_iter().map(|item| self.this_batch(item, place)).collect())
            }
            _ => any,
        }
    }

    /// Whether an object holds tensors and moves with them.
    pub(super) fn is_record(&self, object: ObjId) -> bool {
        self.heap.noted(object, RECORD).is_some()
    }

    /// The label of a sample, as the dataset's own transform of labels makes it.
    fn label(&mut self, dataset: ObjId, place: Place) -> Value {
        let is_replaced = |name: &&str| self.heap.attr(dataset, Ustr::from(name)).is_some();
        let raw = match LABELS.iter().any(is_replaced) {
            true => Value::Unknown,
            false => Value::of_int(Int::Unknown),
        };
        match self.heap.attr(dataset, Ustr::from("target_transform")).cloned().unwrap_or(Value::None).bare() {
            Value::None => raw,
            transform => {
                let call = Call::with(place, [raw]);
                self.quietly(|interp| interp.call_value(transform, &call))
            }
        }
    }

    /// Samples stacked into a batch.
    pub(super) fn collated(&mut self, sample: &Value, count: &Int) -> Value {
        let batch = |tensor: Tensor| {
            let shape = tensor
                .shape
                .as_ref()
                .map(|shape| std::iter::once(count.clone()).chain(shape.iter().cloned()).collect::<Shape>());
            let first = Some(count.clone()).filter(|count| shape.is_none() && !count.is_unknown());
            Value::tensor(Tensor {
                shape,
                first,
                device: if tensor.is_array { Device::Cpu } else { tensor.device },
                is_array: false,
                // New in each iteration, whenever the loader itself was made.
                created: u32::MAX,
                source: if tensor.source == Source::Unknown { Source::Data } else { tensor.source },
                ..tensor
            })
        };
        let scalar = |dtype| Tensor {
            shape: Some(Rc::from([])),
            dtype: Some(dtype),
            device: Device::Cpu,
            graph: Graph::None,
            source: Source::Data,
            ..Tensor::default()
        };
        match sample.bare() {
            Value::Tensor(tensor) => batch((**tensor).clone()),
            Value::Tuple(items) => {
                Value::tuple(items.iter().map(|item| self.collated(item, count)).collect())
            }
            Value::Int(_) => batch(scalar(DType::Int64)),
            Value::Float(_) => batch(scalar(DType::Float64)),
            Value::Obj(object) => match self.heap.get(*object).state.clone() {
                State::Dict(entries) => {
                    let collated = entries.map(|value| self.collated(value, count));
                    let site = self.heap.get(*object).site;
                    self.dict(site, collated)
                }
                State::List(Items { exact: Some(items), .. }) => {
                    let items = items.iter().map(|item| self.collated(item, count)).collect();
                    let site = self.heap.get(*object).site;
                    self.list(site, items)
                }
                State::Plain if self.is_record(*object) => sample.clone(),
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// The length of a framework's dataset.
    pub(super) fn dataset_length(&mut self, object: ObjId, place: Place) -> Option<Int> {
        let ClassRef::Api(class) = self.heap.get(object).class else { return None };
        let apis = self.apis;
        let api = apis.get(class)?;
        if let Some(spec) = &api.dataset {
            let by = spec.by.and_then(|by| self.heap.attr(object, by).cloned());
            let samples = spec.samples.iter().find(|(value, _)| match (value, &by) {
                (None, _) => true,
                (Some(Literal::Bool(a)), Some(by)) => by.as_bool() == Some(*a),
                (Some(Literal::Str(a)), Some(by)) => by.as_str() == Some(a.as_str()),
                (Some(Literal::Int(a)), Some(by)) => by.as_known_int() == Some(*a),
                _ => false,
            });
            return samples.map(|(_, samples)| Int::Known(*samples));
        }
        let attr = |interp: &Self, name: &str| interp.heap.attr(object, Ustr::from(name)).cloned();
        if let Some(part) = self.heap.noted(object, SAMPLES_IN_PART).cloned() {
            return part.as_int().cloned().filter(|length| !length.is_unknown());
        }
        for name in ["tensors", "dataset"] {
            let Some(inner) = attr(self, name) else { continue };
            let first = match &inner {
                Value::Tuple(items) => items.first().cloned().unwrap_or_default(),
                other => other.clone(),
            };
            if matches!(first, Value::Obj(_) | Value::Tensor(_)) {
                return Some(self.length(&first, place));
            }
        }
        None
    }

    /// A dataset of slices along the first dimension.
    pub(super) fn dataset_slices(&mut self, call: &Invocation) -> Value {
        let data = call.nth(0);
        self.note_slices(&data, call);
        let sliced = self.slices(&data, call.place);
        let sample = self.on_device(&sliced, Device::Automatic);
        let length = self.slices_length(&data, call.place);
        self.stream(call, sample, length)
    }

    /// A dataset of what a function gives of each sample.
    pub(super) fn dataset_map(&mut self, call: &Invocation) -> Value {
        let source = call.nth(0);
        let Some((sample, length)) = self.stream_parts(&source) else { return Value::Unknown };
        let args: Vec<Value> = match &sample {
            Value::Tuple(items) => items.to_vec(),
            other => vec![other.clone()],
        };
        let mapped =
            self.quietly(|interp| interp.call_value(&call.operand(Slot::F), &Call::with(call.place, args)));
        super::pipelines::stream_like(self, call, mapped, length)
    }

    /// A dataset that holds others, or tensors, in an attribute.
    pub(super) fn dataset_of(&mut self, call: &Invocation, name: &str) -> Value {
        let object = self.alloc(call.place, ClassRef::Api(call.api.name), State::Plain);
        self.heap.get_mut(object).set_attr(Ustr::from(name), call.nth(0));
        Value::Obj(object)
    }
}
