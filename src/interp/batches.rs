//! Batches of a dataset that nobody knows: what a loader's own collation makes of samples are tensors, and
//! how the loop takes a batch apart says how many.

use super::{Interp, lineage::Base, walked::loss_of};
use crate::apis::Role;
use crate::names::{Module, Subject};
use crate::report::{Confidence, Place, Span};
use crate::syntax::*;
use crate::trace::Over;
use crate::values::*;
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// So many datasets may wrap each other.
const MOST_WRAPPED: usize = 8;

/// What tells where a batch is of which nobody knows the parts.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Nothing,
    /// The loop moves a part of it: the loader left all of it on the CPU.
    Moved,
    /// The loader can give nothing that is elsewhere.
    Loaded,
}

/// Where parts of batches got their names of which only their loader says that they are on the CPU.
#[derive(Default)]
struct OnlyLoaded(FxHashSet<Place>);

/// So many progress bars around each other are seen through.
pub(super) const DEEPEST_WRAPPER: usize = 8;

impl<'p> Interp<'p> {
    /// Whether it is its loader alone that says where a part of a batch is: nothing beside it is moved, and a model that
    /// is not seen may fetch its inputs.
    pub(crate) fn is_only_loaded(&mut self, part: &Tensor) -> bool {
        part.made.is_some_and(|made| self.remember(|loaded: &mut OnlyLoaded| loaded.0.contains(&made)))
    }

    /// What a loop's targets are given, where the batch of the loader is not known.
    pub(super) fn parts_of_batch(&mut self, target: ExprId, batch: Value, loader: ObjId) -> Value {
        let collates = self.heap.attr(loader, Ustr::from("collate_fn"));
        if !matches!(collates, Some(Value::None)) {
            return batch;
        }
        let told = match self.moves_part_of(target) && !self.sends_samples(loader) {
            true => Told::Moved,
            false if self.loads_on_cpu(loader) => Told::Loaded,
            false => Told::Nothing,
        };
        let made = self.collated_as(told, target, batch);
        self.of_its_size(made, loader)
    }

    /// What a loader collates of samples that nobody knows: as many of them as it says.
    fn of_its_size(&self, batch: Value, loader: ObjId) -> Value {
        let State::Loader(state) = &self.heap.get(loader).state else { return batch };
        let Some(size) = state.batch_size.as_int().filter(|size| !size.is_unknown()) else { return batch };
        let count = |part: &Value| match part {
            Value::Tensor(part) if part.has_axis && part.shape.is_none() && part.first.is_none() => {
                Value::tensor(Tensor { first: Some(size.clone()), ..(**part).clone() })
            }
            other => other.clone(),
        };
        match &batch {
            Value::Tuple(parts) => Value::tuple(parts.iter().map(count).collect()),
            part => count(part),
        }
    }

    /// The same of something unknown that the loop takes apart: what it moves a part of are batches. What `zip` pairs
    /// comes from several places, and each says only of itself where it is.
    pub(super) fn parts_of_unknown(&mut self, target: ExprId, item: Value) -> Value {
        if let (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Tuple(items)) =
            (&self.here().expr(target).kind, &item)
            && targets.len() == items.len()
        {
            let counted = matches!(items.first(), Some(Value::Int(_)));
            let part = |(target, item): (&ExprId, &Value)| match item {
                Value::Unknown if !counted && self.moves_part_of(*target) && !self.has_engine() => {
                    self.collated_part(Told::Moved, *target)
                }
                _ => self.parts_of_unknown(*target, item.clone()),
            };
            return Value::tuple(targets.iter().zip(items.iter()).map(part).collect());
        }
        if self.takes_apart(target) && self.moves_part_of(target) && !self.has_engine() {
            return self.collated_as(Told::Moved, target, item);
        }
        item
    }

    /// `images, labels = batch`, of a batch that a loop gives: the same.
    pub(super) fn unpacked_batch(&mut self, target: ExprId, written: ExprId, batch: &Value) -> Value {
        if !(self.takes_apart(target) && self.is_open_batch(batch)) {
            return batch.clone();
        }
        let loader = match self.source_of_drawn(written) {
            Some(iterator) => self.loader_named(iterator),
            None if self.is_item(written) => self.loader_around(),
            None => return batch.clone(),
        };
        let whole = if let Value::Tuple(_) = batch { batch.clone() } else { Value::Unknown };
        let sends = loader.is_some_and(|loader| self.sends_samples(loader));
        let told = match self.moves_part_of(target) && !self.has_engine() && !sends {
            true => Told::Moved,
            false if loader.is_some_and(|loader| self.loads_on_cpu(loader)) => Told::Loaded,
            false => return batch.clone(),
        };
        match self.collated_as(told, target, whole) {
            Value::Unknown => batch.clone(),
            parts => loader.map_or(parts.clone(), |loader| self.of_its_size(parts, loader)),
        }
    }

    /// A parameter that its function moves in passing, `model(x.to(device))`, and otherwise uses as it is: it is on the CPU.
    pub(super) fn part_of_given_batch(&self, scope: super::Scope, name: Ustr) -> Option<Value> {
        let function = scope.function?;
        let module = self.module(scope.file);
        let (relations, subject) = (module.relations(), Subject::Local(Some(function), name));
        let definition = module.tree.function(function);
        let param = definition.params.iter().find(|param| param.name == name)?;
        let puts = |act: &&crate::names::Act| act.method.is_some_and(|method| self.sends(method));
        let mut moves = relations.acts_of(subject).filter(puts).map(|act| act.call);
        let is_moved = moves.any(|call| !relations.is_discarded(call) && !casts(&module.tree, call));
        if !is_moved || relations.bindings(subject).next().is_some() {
            return None;
        }
        let used = module.names.uses.of_local(Some(function), name);
        let fits = used.iter().all(|attribute| self.apis.method_of(Role::Tensor, *attribute).is_some());
        let made = Some(Place::new(scope.file, param.span));
        fits.then(|| Value::tensor(Tensor { made, ..collated(Device::Cpu) }))
    }

    fn takes_apart(&self, target: ExprId) -> bool {
        matches!(self.here().expr(target).kind, ExprKind::Tuple(_) | ExprKind::List(_))
    }

    /// `batch["label"]`, of a batch of which the same loop moves another item.
    pub(super) fn item_of_batch(&mut self, base: ExprId, place: Place, item: Value) -> Value {
        let is_open = match &item {
            Value::Unknown => true,
            Value::Tensor(tensor) => is_open_part(tensor),
            _ => false,
        };
        let sends = || self.loader_around().is_some_and(|loader| self.sends_samples(loader));
        if !is_open || !self.is_item(base) || !self.moves_item_of(base) || self.has_engine() || sends() {
            return item;
        }
        Value::tensor(Tensor { made: Some(place), ..collated(Device::Cpu) })
    }

    /// Whether something in the loop around puts an item of a batch on a device.
    fn moves_item_of(&self, batch: ExprId) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let module = self.module(frame.file);
        let tree = &module.tree;
        let ExprKind::Name(name) = tree.expr(batch).kind else { return false };
        let is_part = |item: ExprId| match tree.expr(item).kind {
            ExprKind::Subscript { base, .. } => {
                matches!(tree.expr(base).kind, ExprKind::Name(known) if known == name)
            }
            _ => false,
        };
        // `x = batch["x"]`, and later `x.to(device)`.
        let is_bound_to_part = |item: ExprId| match tree.expr(item).kind {
            ExprKind::Name(part) => {
                let mut bindings = module.relations().bindings(Subject::Local(frame.function, part));
                bindings.any(|(value, _)| is_part(value))
            }
            _ => false,
        };
        let is_item = |call: ExprId| {
            let ExprKind::Call { callee, .. } = tree.expr(call).kind else { return false };
            let ExprKind::Attribute { base: item, .. } = tree.expr(callee).kind else { return false };
            is_part(item) || is_bound_to_part(item)
        };
        let acts = module.relations().acts_where(|method| self.sends(method));
        let calls = acts.filter(|act| act.function == frame.function).map(|act| act.call);
        moves_beside(module, batch, calls.filter(|call| is_item(*call)))
    }

    /// Whether a variable is what a loop gives, and nothing else there, as a whole and in its items.
    fn is_item(&self, written: ExprId) -> bool {
        let (ExprKind::Name(name), Some(frame)) = (&self.here().expr(written).kind, self.frames.last())
        else {
            return false;
        };
        let module = self.module(frame.file);
        let relations = module.relations();
        let subject = Subject::Local(frame.function, *name);
        let around = relations.innermost_loop(module.tree.expr(written).span);
        let is_here =
            |value: ExprId| around.is_none_or(|around| around.contains(module.tree.expr(value).span));
        relations.is_item(subject)
            && !relations.bindings(subject).any(|(value, _)| is_here(value))
            && !relations.is_rewritten(*name)
    }

    /// A batch of which nothing is known, or that it holds tensors.
    fn is_open_batch(&self, batch: &Value) -> bool {
        let list = match batch {
            Value::Obj(list) => list,
            Value::Tuple(items) => return items.iter().any(Value::is_unknown),
            _ => return batch.is_unknown(),
        };
        match &self.heap.get(*list).state {
            State::List(Items { exact: None, any, .. }) => {
                any.as_tensor().is_some_and(|tensor| is_open_part(tensor))
            }
            _ => false,
        }
    }

    /// The loader that the loop around goes over.
    fn loader_around(&self) -> Option<ObjId> {
        match self.out.loop_info(self.active.last()?.id).over {
            Over::Loader(loader) => Some(loader),
            _ => None,
        }
    }

    /// `next(batches)`, `batches.next()`: what a batch is drawn from.
    fn source_of_drawn(&self, written: ExprId) -> Option<ExprId> {
        let tree = self.here();
        let ExprKind::Call { callee, args } = &tree.expr(written).kind else { return None };
        match (&tree.expr(*callee).kind, &**args) {
            (ExprKind::Name(name), [source, ..]) if *name == "next" => Some(source.value),
            (ExprKind::Attribute { base, name, .. }, []) if *name == "next" || *name == "__next__" => {
                Some(*base)
            }
            _ => None,
        }
    }

    /// The loader behind an iterable, through progress bars and `enumerate`.
    pub(crate) fn loader_of(&self, value: &Value) -> Option<ObjId> {
        let (batched, iterable) = (Ustr::from("batched"), Ustr::from("iterable"));
        let mut object = value.as_obj()?;
        // A class of the script may go through itself.
        for _ in 0..DEEPEST_WRAPPER {
            let here = self.heap.get(object);
            if matches!(here.state, State::Loader(_)) {
                return Some(object);
            }
            if let Some(loader) = here.attr(batched) {
                return loader.as_obj();
            }
            object = here.attr(iterable)?.as_obj()?;
        }
        None
    }

    /// What goes through a loader begins with it again.
    pub(super) fn goes_round(&mut self, loader: ObjId) {
        if let State::Loader(state) = &mut self.heap.get_mut(loader).state {
            std::rc::Rc::make_mut(state).rounds = true;
        }
    }

    /// The loader behind an iterator: a name, or `iter(loader)`.
    fn loader_named(&self, iterator: ExprId) -> Option<ObjId> {
        match &self.here().expr(iterator).kind {
            ExprKind::Name(name) => {
                let frame = self.frames.last()?;
                let outer = || self.heap.attr(self.loaded.modules.get(&frame.file)?.env, *name);
                self.loader_of(self.heap.attr(frame.env, *name).or_else(outer)?)
            }
            ExprKind::Call { args, .. } => match &**args {
                [only] if matches!(self.here().expr(only.value).kind, ExprKind::Name(_)) => {
                    self.loader_named(only.value)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether whatever a loader collates is on the CPU: other processes make it, it is to be pinned, or a framework's
    /// dataset reads it, and nobody has said that tensors are made elsewhere by default.
    fn loads_on_cpu(&self, loader: ObjId) -> bool {
        let State::Loader(state) = &self.heap.get(loader).state else { return false };
        if state.managed || self.ambient.device != Device::Cpu || self.has_engine() {
            return false;
        }
        let told = |name: &str| self.heap.attr(loader, Ustr::from(name));
        let collates = matches!(told("collate_fn"), Some(Value::None));
        let has_workers = state.sample_order.workers.is_some_and(Workers::any)
            && matches!(told("multiprocessing_context"), Some(Value::None));
        let is_pinned = matches!(told("pin_memory"), Some(Value::Bool(Some(true))));
        collates
            && !self.moves_samples(&state.dataset)
            && (has_workers || is_pinned || self.reads(&state.dataset))
    }

    /// Whether the dataset of a loader may put some of what it gives on a GPU, whatever else the script moves.
    fn sends_samples(&self, loader: ObjId) -> bool {
        matches!(&self.heap.get(loader).state, State::Loader(state) if self.moves_samples(&state.dataset))
    }

    /// The dataset itself and those that it wraps, each with all that it may be.
    fn datasets_within(&self, dataset: &Value) -> Vec<ObjSet> {
        let mut found = Vec::new();
        let mut next = dataset.as_obj();
        while let Some(object) = next.filter(|_| found.len() < MOST_WRAPPED) {
            found.push(self.heap.stands_for(object));
            next = self.heap.attr(object, Ustr::from("dataset")).and_then(Value::as_obj);
        }
        found
    }

    /// Whether a method of a dataset may put samples on a GPU.
    fn moves_samples(&self, dataset: &Value) -> bool {
        let sends = |class: ObjId| {
            let State::Class(state) = &self.heap.get(class).state else { return true };
            let module = self.module(state.file);
            let functions = (0..).map(FnId).zip(&module.tree.functions);
            let mut own = functions.filter(|(_, function)| function.class == Some(state.class));
            own.any(|(id, _)| module.names.scope(id).mentions.iter().any(|name| self.sends(name)))
        };
        let may_move = |object: ObjId| {
            let mut bases = self.lineage(self.heap.get(object).class).into_iter();
            bases.any(|base| matches!(base, Base::Project(class) if sends(class)))
        };
        self.datasets_within(dataset).iter().any(|all| all.iter().any(may_move))
    }

    /// Whether a framework's dataset reads the samples, for a class of the project or by itself.
    fn reads(&self, dataset: &Value) -> bool {
        let is_read = |name: Ustr| self.apis.get(name).is_some_and(|api| api.dataset.is_some());
        let reads = |object: ObjId| {
            let mut bases = self.lineage(self.heap.get(object).class).into_iter();
            bases.any(|base| matches!(base, Base::Api(name) if is_read(name)))
        };
        self.datasets_within(dataset).iter().any(|all| all.iter().all(reads))
    }

    /// Whether something of a batch is moved: then the loader gives what is on the CPU, all of it.
    fn moves_part_of(&self, target: ExprId) -> bool {
        match &self.here().expr(target).kind {
            ExprKind::Name(name) => self.is_moved(target, *name),
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                targets.iter().any(|target| self.moves_part_of(*target))
            }
            _ => false,
        }
    }

    /// Whether a variable is put on a device.
    fn is_moved(&self, target: ExprId, name: Ustr) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let (subject, module) = (Subject::Local(frame.function, name), self.module(frame.file));
        let acts = module.relations().acts_of(subject);
        let puts = acts.filter(|act| act.method.is_some_and(|method| self.sends(method)));
        moves_beside(module, target, puts.map(|act| act.call))
    }

    /// Whether something in a function goes backward by itself through what it is told: an engine, whose loaders
    /// put their batches where the model is.
    fn has_engine(&self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let module = self.module(frame.file);
        let mut backwards = module.relations().acts_where(|method| self.apis.walks_back(method));
        backwards.any(|act| act.function == frame.function && loss_of(&module.tree, act).is_told)
    }

    fn collated_as(&mut self, told: Told, target: ExprId, batch: Value) -> Value {
        let tree = self.here();
        match (&tree.expr(target).kind, &batch) {
            (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Tuple(items))
                if targets.len() == items.len() =>
            {
                // Pairs of a counter and a batch, or the parts of a sample.
                let counted = matches!(items.first(), Some(Value::Int(_)));
                let part = |(target, item): (&ExprId, &Value)| match item {
                    Value::Unknown if !counted => self.collated_part(told, *target),
                    _ => self.collated_as(told, *target, item.clone()),
                };
                Value::tuple(targets.iter().zip(items.iter()).map(part).collect())
            }
            (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Unknown) => {
                Value::tuple(targets.iter().map(|target| self.collated_part(told, *target)).collect())
            }
            (ExprKind::Name(name), Value::Unknown) if self.attributes_used(*name).is_empty() => {
                // Taken apart by an assignment or by numbers.
                let place = self.expr_place(target);
                self.list_of(place, Value::tensor(collated(Device::Unknown)))
            }
            _ => batch,
        }
    }

    /// One part of a sample, collated: a tensor, if that is how it is used.
    fn collated_part(&mut self, told: Told, target: ExprId) -> Value {
        let tree = self.here();
        let ExprKind::Name(name) = tree.expr(target).kind else {
            return self.collated_as(told, target, Value::Unknown);
        };
        let used = self.attributes_used(name);
        let fits = used.iter().all(|attribute| self.apis.method_of(Role::Tensor, *attribute).is_some());
        let device = match told {
            Told::Nothing => Device::Unknown,
            Told::Moved => Device::Cpu,
            // Texts are collated as they are: that it is a tensor is to be seen.
            Told::Loaded if used.is_empty() && !self.apis.is_input(&name) => Device::Unknown,
            Told::Loaded => Device::Cpu,
        };
        let made = (device == Device::Cpu).then(|| self.expr_place(target));
        if told == Told::Loaded {
            self.remember(|loaded: &mut OnlyLoaded| loaded.0.extend(made));
        }
        if fits { Value::tensor(Tensor { made, ..collated(device) }) } else { Value::Unknown }
    }

    fn attributes_used(&self, name: Ustr) -> &'p [Ustr] {
        let Some(frame) = self.frames.last() else { return &[] };
        self.module(frame.file).names.uses.of_local(frame.function, name)
    }
}

/// Whether one of these calls moves something of a batch in the loop around it: another loop may give its own batches
/// the same names. What comes of the call is used, for a model is moved where it is.
fn moves_beside(module: &Module, batch: ExprId, mut calls: impl Iterator<Item = ExprId>) -> bool {
    let (tree, relations) = (&module.tree, module.relations());
    let around = relations.innermost_loop(tree.expr(batch).span);
    calls.any(|call| {
        around.is_none_or(|around| around.contains(tree.expr(call).span))
            && !relations.is_discarded(call)
            && !casts(tree, call)
            && !follows_output(module, call, around)
    })
}

/// `y.type_as(output)`, `y.to(output.device)`: it goes where the loop computes, wherever that is.
fn follows_output(module: &Module, call: ExprId, around: Option<Span>) -> bool {
    let (tree, relations) = (&module.tree, module.relations());
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else { return false };
    let Some(mut followed) = args.first().map(|arg| arg.value) else { return false };
    if let ExprKind::Attribute { base, .. } = tree.expr(followed).kind {
        followed = base;
    }
    let ExprKind::Name(name) = tree.expr(followed).kind else { return false };
    let function = relations.act(call).and_then(|act| act.function);
    let computes = |value: ExprId| match tree.expr(value).kind {
        ExprKind::Call { .. } => around.is_none_or(|around| around.contains(tree.expr(value).span)),
        _ => false,
    };
    let moved = |value: ExprId| {
        relations.act(value).is_some_and(|act| act.receiver == Some(Subject::Local(function, name)))
    };
    relations.bindings(Subject::Local(function, name)).any(|(value, _)| computes(value) && !moved(value))
}

/// Whether a part of a batch may be anywhere.
fn is_open_part(part: &Tensor) -> bool {
    part.source == Source::Data && part.device == Device::Unknown && part.shape.is_none()
}

/// Whether `x.to(...)` is given a dtype and nothing else.
fn casts(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else { return false };
    let [only] = &args[..] else { return false };
    let names_dtype = match &tree.expr(only.value).kind {
        ExprKind::Attribute { name, .. } => *name == "dtype" || DType::named(name).is_some(),
        ExprKind::Name(name) => name.ends_with("dtype"),
        _ => false,
    };
    names_dtype || only.kind == ArgKind::Keyword(Ustr::from("dtype"))
}

fn collated(device: Device) -> Tensor {
    Tensor {
        device,
        graph: Graph::None,
        source: Source::Data,
        has_axis: true,
        // New in each iteration.
        created: u32::MAX,
        confidence: Confidence::Medium,
        ..Tensor::default()
    }
}
