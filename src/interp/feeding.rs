//! How loaders are fed: in which order samples come, which process gets which, and whether the order in
//! which a dataset holds them means anything. Knows samplers and datasets by what the tables say of them.

use super::{Interp, Invocation, class::Base, streams::SAMPLES_IN_PART};
use crate::apis::{Api, Order, Role, Verb};
use crate::report::{Confidence, Place};
use crate::trace::Sight;
use crate::values::*;
use ustr::Ustr;

/// Datasets in datasets are followed this far.
const DEEPEST: usize = 4;

/// The attribute of a stream that says how its source holds the samples, while nothing shuffled them.
const HELD: Note = Note::new("held in order");

impl<'p> Interp<'p> {
    pub(super) fn sampler_state(&mut self, api: &Api, call: &Invocation) -> SamplerState {
        let orders = match self.apis.order(api.name) {
            Some(Order::Sequential) => Orders::SEQUENTIAL,
            Some(Order::Random) => Orders::RANDOM,
            Some(Order::Shared(flag)) => match self.truth(&call.get(&flag)) {
                Some(true) => Orders::SHARED_RANDOM,
                Some(false) => Orders::SHARED,
                None => Orders::SHARED.union(Orders::UNKNOWN),
            },
            _ => Orders::UNKNOWN,
        };
        SamplerState { orders, shared_at: (orders == Orders::SHARED_RANDOM).then_some(call.place) }
    }

    /// What the arguments of a loader say of the way it goes through its dataset.
    pub(super) fn feeding(&mut self, call: &Invocation, dataset: &Value) -> Feeding {
        let given = |name: &str| {
            let more = call.more.iter().find(|(known, _)| *known == name);
            more.map_or_else(|| call.get(name), |(_, passed)| passed.value.clone())
        };
        let absent = |name: &str| {
            let listed = call.api.params.iter().any(|param| param.name == name);
            !call.open && (matches!(given(name), Value::None) || (!listed && given(name).is_unknown()))
        };
        let unsampled = absent("sampler") && absent("batch_sampler");
        let listed = call.api.params.iter().any(|param| param.name == "shuffle");
        let shuffled = if listed { self.truth(&given("shuffle")) } else { None };
        let holds = self.holds(dataset, call.place, 0);
        let has_order = shuffled == Some(true) || holds != Holds::Unknown;
        let whole = unsampled && has_order && !self.is_shared_by_hand(dataset, call);
        let workers = given("num_workers");
        Feeding {
            in_order: shuffled.filter(|_| unsampled).map(|shuffled| !shuffled),
            stated: call.is_given("shuffle"),
            holds: if self.orders_itself(dataset) { Holds::Unknown } else { holds },
            whole: if whole { Some(true) } else { None },
            workers: workers.as_known_int(),
        }
    }

    /// Whether the script, or the file of the dataset, shuffles samples before any loader does.
    fn orders_itself(&self, dataset: &Value) -> bool {
        let own = self.frames.iter().map(|frame| frame.file);
        own.chain(self.dataset_class(dataset).map(|(file, _)| file))
            .any(|file| self.apis.shuffles(&self.module(file).source.text))
    }

    /// Whether each process makes a dataset of its own: the call that makes it, or its class, speaks of ranks.
    fn is_shared_by_hand(&self, dataset: &Value, call: &Invocation) -> bool {
        let Some(object) = dataset.as_obj() else {
            let words = call.place_of("dataset").map_or("", |place| self.words(place));
            return self.apis.shares(words) || self.apis.shares(&self.module(self.file()).source.text);
        };
        let class = self.dataset_class(dataset);
        self.apis.shares(self.words(self.heap.get(object).site))
            || class.is_some_and(|(file, span)| self.apis.shares(self.words(Place::new(file, span))))
    }

    fn dataset_class(&self, dataset: &Value) -> Option<(crate::report::FileId, crate::report::Span)> {
        let ClassRef::Project(class) = self.heap.get(dataset.as_obj()?).class else { return None };
        let State::Class(state) = &self.heap.get(class).state else { return None };
        Some((state.file, self.tree(state.file).class(state.class).span))
    }

    /// How a dataset holds its samples.
    fn holds(&mut self, dataset: &Value, place: Place, depth: usize) -> Holds {
        let Some(object) = dataset.as_obj().filter(|_| depth < DEEPEST) else { return Holds::Unknown };
        let attr = |interp: &Self, name: &str| interp.heap.attr(object, Ustr::from(name)).cloned();
        if self.heap.noted(object, SAMPLES_IN_PART).is_some() {
            return Holds::Unknown;
        }
        if let Some(tensors) = attr(self, "tensors") {
            return self.held_arrays(&tensors);
        }
        if let Some(parts) = attr(self, "datasets") {
            let parts = self.iterate(&parts, place).exact.unwrap_or_default();
            return parts.first().map_or(Holds::Unknown, |first| self.holds(first, place, depth + 1));
        }
        let lineage = self.lineage(self.heap.get(object).class);
        if lineage.contains(&Base::Unknown) {
            return Holds::Unknown;
        }
        let order = lineage.iter().find_map(|base| match base {
            Base::Api(name) => self.apis.order(*name),
            _ => None,
        });
        match order {
            Some(Order::ByClass) => Holds::ByClass,
            Some(_) => Holds::Unknown,
            None if self.role_of(self.heap.get(object).class) != Some(Role::Dataset) => Holds::Unknown,
            None if lineage.iter().any(|base| matches!(base, Base::Project(_))) => {
                let reads = self.find_attr(object, Ustr::from("__getitem__"));
                if matches!(reads, Some(Value::Function(_))) { Holds::AsStored } else { Holds::Unknown }
            }
            None => Holds::AsStored,
        }
    }

    /// Arrays side by side: where one of them was drawn at random, their order says nothing.
    fn held_arrays(&self, arrays: &Value) -> Holds {
        let drawn = |value: &Value| {
            value.as_tensor().and_then(|tensor| tensor.what).is_some_and(|what| self.apis.is_random(&what))
        };
        let drawn = match arrays.bare() {
            Value::Tuple(items) => items.iter().any(drawn),
            one => drawn(one),
        };
        // What was drawn may have come here through anything.
        let draws = || self.frames.iter().any(|frame| self.apis.draws(&self.module(frame.file).source.text));
        if drawn || draws() { Holds::Unknown } else { Holds::AsStored }
    }

    /// A stream of slices gives them in the order of the arrays.
    pub(super) fn note_held(&mut self, stream: &Value, arrays: &Value) {
        if self.held_arrays(arrays) == Holds::AsStored
            && !self.orders_itself(&Value::Unknown)
            && let Some(object) = stream.as_obj()
        {
            self.heap.note(object, HELD, Value::Bool(Some(true)));
        }
    }

    /// What is made of a stream comes in the same order.
    pub(super) fn keep_held(&mut self, made: &Value, source: &Value) {
        let held = source.as_obj().and_then(|source| self.heap.noted(source, HELD).cloned());
        if let (Some(object), Some(held)) = (made.as_obj(), held) {
            self.heap.note(object, HELD, held);
        }
    }

    pub(super) fn stream_shuffled(&mut self, call: &Invocation) -> Value {
        let stream = call.nth(0);
        if let Some(object) = stream.as_obj() {
            self.heap.note(object, HELD, Value::Bool(Some(false)));
        }
        stream
    }

    /// A sampler learns which epoch it is in.
    pub(super) fn set_epoch(&mut self, sampler: &Value, place: Place) {
        self.see(place, Sight::EpochSet { sampler: sampler.as_obj() }, Confidence::High);
    }

    /// A method of something that we do not see, which may be a sampler.
    pub(super) fn epoch_of_unknown(&mut self, method: Ustr, place: Place) {
        let api = self.apis.class_of(Role::Sampler).and_then(|class| self.apis.method(class, method));
        if api.is_some_and(|api| api.effects.iter().any(|effect| effect.verb == Verb::SetEpoch)) {
            self.see(place, Sight::EpochSet { sampler: None }, Confidence::High);
        }
    }

    /// Each process has a copy of a module.
    pub(super) fn replicate(&mut self, module: &Value, place: Place) {
        if let Some(module) = module.as_obj() {
            self.see(place, Sight::Parallel { module }, Confidence::High);
        }
    }
}

/// Whether a stream gives what its source holds in the order in which it is held.
pub fn is_held_in_order(heap: &Heap, stream: ObjId) -> bool {
    heap.noted(stream, HELD).and_then(Value::as_bool) == Some(true)
}
