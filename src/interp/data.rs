//! Datasets, loaders, and models whose training a framework runs.

use super::{Call, Interp, Invocation, Passed, python};
use crate::apis::{Api, Literal, Mark, Operand, Role};
use crate::report::Place;
use crate::trace::{CompiledLoss, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// A loader: what its batches look like, and how large they are.
    pub(super) fn loader(&mut self, api: &'p Api, call: &Invocation) -> Value {
        let dataset = call.get("dataset");
        let batch_size = call.get("batch_size");
        let (batch_size, length) =
            self.batch_and_length(call, &dataset, batch_size, ("dataset", "batch_size"));
        let length_place = dataset.as_obj().map(|object| self.heap.get(object).site);
        let count = match (batch_size.as_int(), &length) {
            (Some(Int::Known(size)), Int::Known(length)) => Int::Known(*size.min(length)),
            (Some(size), _) if !size.is_unknown() => size.clone(),
            _ => Int::symbol(self.symbol("batch")),
        };
        let sample = self.sample(&dataset, call.place);
        let collate = call.get("collate_fn");
        let batch = match &collate {
            Value::None => self.collated(&sample, &count),
            Value::Unknown => Value::Unknown,
            function => {
                let samples = self.list_of(call.place, sample);
                self.quietly(|interp| interp.call_value(function, &Call::with(call.place, [samples])))
            }
        };
        let state =
            LoaderState { dataset: dataset.clone(), batch_size: batch_size.clone(), batch, managed: false };
        let object = self.alloc(call.place, ClassRef::Api(api.name), State::Loader(Rc::new(state)));
        self.keep_arguments(object, api, call);
        let confidence = self.heap.get(object).confidence;
        let batch_place = call.place_of("batch_size").unwrap_or(call.place);
        let sight = Sight::Loader { loader: object, dataset, length, length_place, batch_size, batch_place };
        self.see(call.place, sight, confidence);
        Value::Obj(object)
    }

    /// The length of data, and the batch size against it. Of data that nobody knows, `len(data)` is known to be
    /// its length all the same.
    fn batch_and_length(
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

    /// Runs something that must leave nothing in the trace.
    pub(super) fn quietly<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let seen = self.out.sightings.len();
        self.trace.push(Vec::new());
        let result = run(self);
        self.trace.pop();
        self.out.sightings.truncate(seen);
        result
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
        if let Some(api) = apis.get(class)
            && let Some(spec) = &api.dataset
        {
            if spec.sample.is_empty() {
                return Value::Unknown;
            }
            let shape: Shape = spec.sample.iter().map(|size| Int::Known(*size)).collect();
            let raw = Tensor { is_array: true, ..samples_of(shape, DType::UInt8, place) };
            let transform = self.heap.attr(object, Ustr::from("transform")).cloned().unwrap_or(Value::None);
            let input = match transform.bare() {
                Value::None => raw,
                transform => {
                    let call = Call::with(place, [Value::tensor(raw)]);
                    let given = self.quietly(|interp| interp.call_value(transform, &call));
                    let given = given.as_tensor().map(|tensor| (**tensor).clone());
                    let unknown = Tensor { dtype: Some(DType::Float32), ..Tensor::default() };
                    let made = Some(place);
                    Tensor { source: Source::Data, graph: Graph::None, made, ..given.unwrap_or(unknown) }
                }
            };
            let input = Tensor { device: Device::Cpu, ..input };
            return Value::tuple(vec![Value::tensor(input), Value::of_int(Int::Unknown)]);
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
        Value::Unknown
    }

    /// Samples stacked into a batch.
    fn collated(&mut self, sample: &Value, count: &Int) -> Value {
        let batch = |tensor: Tensor| {
            let shape = tensor
                .shape
                .as_ref()
                .map(|shape| std::iter::once(count.clone()).chain(shape.iter().cloned()).collect::<Shape>());
            Value::tensor(Tensor {
                shape,
                device: if tensor.is_array { Device::Cpu } else { tensor.device },
                is_array: false,
                // New in each iteration, whenever the loader itself was made.
                born: u32::MAX,
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
                    let known =
                        entries.known.into_iter().map(|(key, value)| (key, self.collated(&value, count)));
                    let known = known.collect();
                    let site = self.heap.get(*object).site;
                    self.dict(site, Entries { known, other: entries.other })
                }
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
        if let Some(part) = attr(self, "samples in part") {
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

    /// Verbs of datasets and of models that are built layer by layer.
    pub(super) fn dataset_or_model(&mut self, verb: &str, call: &Invocation) -> Value {
        match verb {
            "dataset-slices" => {
                let data = call.nth(0);
                self.note_slices(&data, call);
                let sample = super::engines::on_device(&self.slices(&data, call.place), Device::Automatic);
                let length = self.slices_length(&data, call.place);
                self.stream(call, sample, length)
            }
            "dataset-batch" => self.stream_batch(call),
            "dataset-rows" => self.dataset_rows(call),
            "compose" => {
                let steps = self.iterate(&call.nth(0), call.place).exact;
                steps.map_or(Value::Unknown, |steps| {
                    let apply = |value, step: &Value| self.call_value(step, &Call::with(call.place, [value]));
                    steps.iter().fold(call.nth(1), apply)
                })
            }
            "dataset-map" => {
                let Some((sample, length)) = self.stream_parts(&call.nth(0)) else { return Value::Unknown };
                let args: Vec<Value> = match &sample {
                    Value::Tuple(items) => items.to_vec(),
                    other => vec![other.clone()],
                };
                let mapped =
                    self.quietly(|interp| interp.call_value(&call.nth(1), &Call::with(call.place, args)));
                let batched = call.nth(0).as_obj().and_then(|source| self.loader_of(&Value::Obj(source)));
                let made = self.stream(call, mapped, length);
                if let (Some(object), Some(loader)) = (made.as_obj(), batched) {
                    self.heap.get_mut(object).set_attr(Ustr::from("batched"), Value::Obj(loader));
                }
                made
            }
            "dataset-same" | "dataset-skip" | "dataset-take" => call.nth(0),
            "tensor-dataset" => self.dataset_of(call, "tensors"),
            "concat-datasets" => self.dataset_of(call, "datasets"),
            "split-dataset" => self.split(call),
            "take-samples" => self.taken(call),
            "dataset-arrays" => self.arrays(call),
            "keras-input" => self.keras_input(call),
            "keras-sequential" => self.keras_sequential(call),
            "keras-model" => self.keras_model(call),
            "activation-layer" => self.activation(&call.nth(0), &call.nth(1), call.place),
            _ => Value::Unknown,
        }
    }

    /// A dataset that holds others, or tensors, in an attribute.
    fn dataset_of(&mut self, call: &Invocation, name: &str) -> Value {
        let object = self.alloc(call.place, ClassRef::Api(call.api.name), State::Plain);
        self.heap.get_mut(object).set_attr(Ustr::from(name), call.nth(0));
        Value::Obj(object)
    }

    /// Arrays that become slices are copied whole to where the framework computes.
    fn note_slices(&mut self, data: &Value, call: &Invocation) {
        let arrays: Vec<Rc<Tensor>> = match data.bare() {
            Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor().cloned()).collect(),
            other => other.as_tensor().cloned().into_iter().collect(),
        };
        let largest = arrays.into_iter().filter(|array| array.is_array).max_by_key(|array| array.bytes());
        let elsewhere =
            self.contexts.iter().any(|context| matches!(context, ContextKind::Device(Device::Cpu)));
        if let Some(tensor) = largest.filter(|array| array.bytes().is_some() && !elsewhere) {
            let how = Rc::from(call.api.name.as_str());
            let confidence = tensor.confidence.min(crate::report::Confidence::Medium);
            self.see(call.place, Sight::Resident { tensor, how }, confidence);
        }
    }

    fn slices(&mut self, data: &Value, place: Place) -> Value {
        match data.bare() {
            Value::Tuple(items) => {
                Value::tuple(items.clone().iter().map(|item| self.iterate(item, place).any).collect())
            }
            _ => self.iterate(data, place).any,
        }
    }

    fn slices_length(&mut self, data: &Value, place: Place) -> Int {
        match data.bare() {
            Value::Tuple(items) => {
                items.first().map_or(Int::Unknown, |first| self.length(&first.clone(), place))
            }
            other => self.length(&other.clone(), place),
        }
    }

    /// A dataset of the streaming kind: what it gives, and how many times.
    fn stream(&mut self, call: &Invocation, sample: Value, length: Int) -> Value {
        let class = self.apis.class_of(Role::Dataset).map_or(ClassRef::Builtin, ClassRef::Api);
        let class = match call.api.name.rsplit_once('.') {
            Some((class, _)) if self.apis.class(Ustr::from(class)).is_some() => {
                ClassRef::Api(Ustr::from(class))
            }
            _ => class,
        };
        let object = self.alloc(call.place, class, State::Plain);
        let items = Items { exact: None, any: sample, len: Num::of(length) };
        let inner = self.heap.alloc(Object {
            class: ClassRef::Builtin,
            attrs: Vec::new(),
            state: State::List(items),
            site: call.place,
            epoch: self.epoch,
            confidence: crate::report::Confidence::High,
        });
        self.heap.get_mut(object).set_attr(Ustr::from("iterable"), Value::Obj(inner));
        Value::Obj(object)
    }

    fn stream_parts(&mut self, dataset: &Value) -> Option<(Value, Int)> {
        let inner = self.heap.attr(dataset.as_obj()?, Ustr::from("iterable"))?.as_obj()?;
        match &self.heap.get(inner).state {
            State::List(items) => Some((items.any.clone(), items.len.int.clone())),
            _ => None,
        }
    }

    fn stream_batch(&mut self, call: &Invocation) -> Value {
        let Some((sample, length)) = self.stream_parts(&call.nth(0)) else { return Value::Unknown };
        let size = call.nth(1);
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
    fn taken(&mut self, call: &Invocation) -> Value {
        let indices = call.nth(1);
        let length = if indices.is_unknown() { Int::Unknown } else { self.length(&indices, call.place) };
        self.part_of(call, 0, length)
    }

    /// `random_split`: a dataset in parts of these lengths, or of these shares.
    fn split(&mut self, call: &Invocation) -> Value {
        let (dataset, lengths) = (call.nth(0), call.nth(1));
        let parts = match lengths.bare() {
            Value::Unknown => None,
            _ => self.iterate(&lengths, call.place).exact,
        };
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

    fn part_of(&mut self, call: &Invocation, index: u32, length: Int) -> Value {
        let path = self.path;
        self.path = super::call::mix(path, call.place.span.start, index);
        let class = self.apis.class_of(Role::Dataset).map_or(ClassRef::Builtin, ClassRef::Api);
        let object = self.alloc(call.place, class, State::Plain);
        self.path = path;
        let part = self.heap.get_mut(object);
        part.set_attr(Ustr::from("dataset"), call.nth(0));
        part.set_attr(Ustr::from("samples in part"), Value::of_int(length));
        Value::Obj(object)
    }

    /// All samples of a well-known dataset as it stores them.
    fn dataset_rows(&mut self, call: &Invocation) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        let count = self.dataset_length(object, call.place).unwrap_or_default();
        let sizes = (1..4).filter_map(|index| call.nth(index).as_known_int()).map(Int::Known);
        let rows = samples_of(std::iter::once(count).chain(sizes).collect(), DType::UInt8, call.place);
        Value::tensor(Tensor { is_array: call.nth(4).as_str() == Some("array"), ..rows })
    }

    /// `((x_train, y_train), (x_test, y_test))` of a well-known dataset.
    fn arrays(&mut self, call: &Invocation) -> Value {
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
            let shape: Shape =
                std::iter::once(samples).chain(spec.sample.iter().copied()).map(Int::Known).collect();
            Value::tuple(vec![
                array(shape, DType::UInt8),
                array(Rc::from([Int::Known(samples)]), DType::UInt8),
            ])
        };
        let is_train = |name: &Option<Literal>| matches!(name, Some(Literal::Str(name)) if name == "train");
        let (train, test): (Vec<_>, Vec<_>) = spec.samples.iter().partition(|(name, _)| is_train(name));
        Value::tuple(train.into_iter().chain(test).map(|(_, samples)| split(*samples)).collect())
    }

    fn keras_input(&mut self, call: &Invocation) -> Value {
        let batch = Int::symbol(self.symbol("batch"));
        let shape = super::transfer::ints_of(self, &call.nth(0))
            .map(|sizes| std::iter::once(batch).chain(sizes).collect::<Shape>());
        Value::tensor(Tensor {
            shape,
            graph: Graph::None,
            source: Source::Data,
            made: Some(call.place),
            ..Tensor::default()
        })
    }

    fn keras_sequential(&mut self, call: &Invocation) -> Value {
        let object = self.model_object(call);
        let layers = self.iterate(&call.nth(0), call.place).exact.unwrap_or_default();
        for (index, layer) in layers.into_iter().enumerate() {
            self.heap.get_mut(object).set_attr(Ustr::from(&index.to_string()), layer);
        }
        Value::Obj(object)
    }

    fn keras_model(&mut self, call: &Invocation) -> Value {
        let object = self.model_object(call);
        let output = call.nth(1);
        self.heap.get_mut(object).set_attr(Ustr::from("output"), output);
        Value::Obj(object)
    }

    fn model_object(&mut self, call: &Invocation) -> ObjId {
        // These models place their inputs themselves.
        let state = ModuleState {
            weights: Learned::Opaque,
            device: Device::Accelerator,
            scatters: true,
            ..ModuleState::default()
        };
        self.alloc(call.place, ClassRef::Api(call.api.name), State::Module(state))
    }

    /// An activation given by its name.
    pub(super) fn activation(&mut self, input: &Value, activation: &Value, place: Place) -> Value {
        let Some(tensor) = input.as_tensor() else { return input.clone() };
        let name = match activation.bare() {
            Value::Str(Some(name)) => Some(name.to_string()),
            Value::Api(name) => name.rsplit('.').next().map(str::to_owned),
            Value::None => return input.clone(),
            _ => None,
        };
        let mut tensor = (**tensor).clone();
        let unit = Interval { low: 0.0, high: 1.0, low_open: true, high_open: true };
        (tensor.range, tensor.mark) = match name.as_deref() {
            Some("linear") => return input.clone(),
            Some("softmax") => (Some(unit), Some((Mark::Softmax, place))),
            Some("sigmoid") => (Some(unit), Some((Mark::Sigmoid, place))),
            Some("log_softmax") => (None, Some((Mark::LogSoftmax, place))),
            Some("relu") => (Some(Interval::NON_NEGATIVE), None),
            Some("softplus" | "exponential") => (Some(Interval::POSITIVE), None),
            Some("tanh") => (Some(Interval { low: -1.0, high: 1.0, low_open: true, high_open: true }), None),
            _ => (None, None),
        };
        Value::tensor(tensor)
    }

    /// `model.add(layer)`
    pub(super) fn add_layer(&mut self, model: &Value, layer: &Value) {
        let Some(object) = model.as_obj() else { return };
        let count = self.indexed_children(object).map_or(0, |children| children.len());
        let name = if self.in_loop() { "*".to_owned() } else { count.to_string() };
        self.heap.get_mut(object).set_attr(Ustr::from(&name), layer.clone());
    }

    /// `model.compile(optimizer, loss)`
    pub(super) fn compile(&mut self, model: &Value, optimizer: &Value, loss: &Value) {
        let Some(object) = model.as_obj() else { return };
        let object = self.heap.get_mut(object);
        object.set_attr(Ustr::from("compiled optimizer"), optimizer.clone());
        object.set_attr(Ustr::from("compiled loss"), loss.clone());
    }

    /// `model.fit(data, batch_size=…)`: what the framework will train on.
    pub(super) fn fit(&mut self, call: &Invocation, operands: &[Operand]) {
        let arg = |index: usize| operands.get(index).map_or(Value::None, |operand| call.operand(operand));
        let name = |index: usize| match operands.get(index) {
            Some(Operand::Param(name)) => name.as_str(),
            _ => "",
        };
        let (model, data) = (arg(0), arg(1));
        let (batch_size, length) = self.batch_and_length(call, &data, arg(2), (name(1), name(2)));
        let batch_place = call.place_of(name(2));
        let loss = self.compiled_loss(&model, &data, call.place);
        self.run_own_loss(&model, &data, call.place);
        let kept = self.kept_of_batch(&model, &data, &batch_size, call.place);
        let sight = Sight::Fit { batch_size, batch_place, length, data, kept, loss: loss.map(Rc::new) };
        self.see(call.place, sight, crate::report::Confidence::High);
    }

    /// What a model keeps of one batch.
    fn kept_of_batch(&mut self, model: &Value, data: &Value, size: &Value, place: Place) -> u64 {
        let (Some(object), Some(size @ Int::Known(_)), Value::Tensor(_)) =
            (model.as_obj(), size.as_int(), data.bare())
        else {
            return 0;
        };
        let row = self.iterate(data, place).any;
        let batch = self.collated(&row, size);
        let outer = std::mem::take(&mut self.kept);
        self.quietly(|interp| interp.call_module(object, &Call::with(place, [batch])));
        std::mem::replace(&mut self.kept, outer)
    }

    /// The loss a model was compiled with, against what its last layer gives.
    fn compiled_loss(&mut self, model: &Value, data: &Value, place: Place) -> Option<CompiledLoss> {
        let object = model.as_obj()?;
        let loss = self.heap.attr(object, Ustr::from("compiled loss"))?.as_obj()?;
        let ClassRef::Api(name) = self.heap.get(loss).class else { return None };
        let apis = self.apis;
        let class = apis.class(name)?;
        let spec_api = match class.class.as_ref()?.call {
            Some(function) => apis.get(function)?,
            None => class,
        };
        let spec = spec_api.loss.as_ref()?;
        let mut invocation = Invocation::bind(spec_api, &Call::new(place));
        for (name, value) in self.heap.get(loss).attrs.clone() {
            invocation.fill(name, value);
        }
        let expects = self.expectation(&spec.expects, &invocation);
        let output = self.output_of_model(object, data, place);
        let place = self.heap.get(loss).site;
        Some(CompiledLoss { loss: name, expects, place, output })
    }

    /// A loss of the project that a model was compiled with: the framework walks what it gives.
    fn run_own_loss(&mut self, model: &Value, data: &Value, place: Place) {
        let Some(object) = model.as_obj() else { return };
        let Some(loss) = self.heap.attr(object, Ustr::from("compiled loss")).cloned() else { return };
        let own = match &loss {
            Value::Function(_) | Value::Bound(_) => true,
            Value::Obj(object) => matches!(self.heap.get(*object).class, ClassRef::Project(_)),
            _ => false,
        };
        if !own {
            return;
        }
        let output = self.output_of_model(object, data, place);
        let call = Call::with(place, [Value::Unknown, output]);
        if let Value::Tensor(loss) = self.call_value(&loss, &call) {
            // Whatever shape it has, the framework takes the mean.
            let confidence = loss.confidence;
            self.see(place, Sight::Backward { loss, has_gradient: true }, confidence);
        }
    }

    fn output_of_model(&mut self, object: ObjId, data: &Value, place: Place) -> Value {
        match self.heap.attr(object, Ustr::from("output")).cloned() {
            Some(output) => output,
            None => {
                let input = Passed { value: self.first_batch(data, place), place };
                let call = Call { positional: vec![input], ..Call::new(place) };
                self.quietly(|interp| interp.call_module(object, &call))
            }
        }
    }

    fn first_batch(&mut self, data: &Value, place: Place) -> Value {
        let any = self.iterate(data, place).any;
        let batch = Int::symbol(self.symbol("batch"));
        let batch = self.collated(&any, &batch);
        match batch {
            Value::Unknown => Value::tensor(Tensor { graph: Graph::None, ..Tensor::default() }),
            other => other,
        }
    }

    /// A builtin: those that need the interpreter itself, then the language's own.
    pub(super) fn call_builtin(&mut self, name: Ustr, call: &Call, _args: &[crate::syntax::Arg]) -> Value {
        let first = call.arg(0, "");
        match name.as_str() {
            "super" => self.super_value(),
            "object.__init__" => Value::None,
            "isinstance" => match (first, call.arg(1, "")) {
                (Some(value), Some(class)) => Value::Bool(self.is_instance(&value.clone(), &class.clone())),
                _ => Value::Bool(None),
            },
            "getattr" => self.getattr_builtin(call),
            "setattr" => {
                if let (Some(receiver), Some(name), Some(value)) = (first, call.arg(1, ""), call.arg(2, ""))
                    && let Some(name) = name.as_str()
                {
                    let (receiver, name, value) = (receiver.clone(), Ustr::from(name), value.clone());
                    self.set_attr(&receiver, name, value, call.place);
                }
                Value::None
            }
            "hasattr" => Value::Bool(None),
            "len" => match first {
                Some(value) => Value::of_int(self.length(&value.clone(), call.place)),
                None => Value::of_int(Int::Unknown),
            },
            _ => match python::call(self, &name, call) {
                Some(value) => value,
                None => self.builtin_of_tensors(&name, call),
            },
        }
    }

    fn getattr_builtin(&mut self, call: &Call) -> Value {
        let Some(receiver) = call.arg(0, "").cloned() else { return Value::Unknown };
        match call.arg(1, "").and_then(|name| name.as_str().map(Ustr::from)) {
            Some(name) => {
                let value = self.get_attr(&receiver, name, call.place);
                match (value, call.arg(2, "")) {
                    (Value::Unknown, Some(default)) if !receiver.is_unknown() => {
                        let default = default.clone();
                        self.heap.join(&default, &Value::Unknown)
                    }
                    (value, _) => value,
                }
            }
            None => Value::Unknown,
        }
    }

    /// `sum`, `abs`, `max` of tensors: the operators on them.
    fn builtin_of_tensors(&mut self, name: &str, call: &Call) -> Value {
        let Some(first) = call.arg(0, "").cloned() else { return Value::Unknown };
        match name {
            "sum" => {
                let items = self.iterate(&first, call.place);
                match items.exact {
                    Some(exact) => exact.into_iter().fold(Value::int(0), |all, item| {
                        self.binary(crate::syntax::BinaryOp::Add, &all, &item, call.place, false)
                    }),
                    None => {
                        let sum = self.binary(
                            crate::syntax::BinaryOp::Add,
                            &items.any.clone(),
                            &items.any,
                            call.place,
                            false,
                        );
                        match sum.as_tensor() {
                            Some(tensor) => Value::tensor(Tensor { range: None, ..(**tensor).clone() }),
                            None => Value::Unknown,
                        }
                    }
                }
            }
            "float" | "round" => Value::Float(None),
            "int" => Value::of_int(Int::Unknown),
            "abs" | "pow" | "max" | "min" => match first.as_tensor() {
                Some(tensor) => Value::tensor(Tensor { range: None, mark: None, ..(**tensor).clone() }),
                None => Value::Unknown,
            },
            "next" | "iter" => match first.bare() {
                Value::Obj(_) | Value::Params(_) if name == "next" => self.iterate(&first, call.place).any,
                _ => first,
            },
            _ => {
                if !matches!(name, "print" | "repr" | "str" | "format" | "id" | "type") {
                    self.havoc(call);
                }
                Value::Unknown
            }
        }
    }

    /// `a @ b` and the like on instances of the project's classes.
    pub(super) fn operator_method(
        &mut self,
        op: crate::syntax::BinaryOp,
        a: &Value,
        b: &Value,
        place: Place,
    ) -> Option<Value> {
        use crate::syntax::BinaryOp::*;
        let name = match op {
            Add => "__add__",
            Sub => "__sub__",
            Mul => "__mul__",
            Div => "__truediv__",
            MatMul => "__matmul__",
            Pow => "__pow__",
            Mod => "__mod__",
            _ => return None,
        };
        let object = a.as_obj()?;
        match self.find_attr(object, Ustr::from(name))? {
            Value::Function(closure) => Some(self.inline(&closure, Some(a), &Call::with(place, [b.clone()]))),
            _ => None,
        }
    }
}

/// Samples as a dataset holds them on the CPU.
fn samples_of(shape: Shape, dtype: DType, place: Place) -> Tensor {
    Tensor {
        shape: Some(shape),
        dtype: Some(dtype),
        device: Device::Cpu,
        graph: Graph::None,
        source: Source::Data,
        range: Some(Interval::closed(0.0, 255.0)),
        made: Some(place),
        ..Tensor::default()
    }
}
