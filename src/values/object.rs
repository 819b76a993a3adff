//! Objects with an identity: instances, containers, modules, optimizers, frames.

use super::device::Device;
use super::tensor::DType;
use super::{Entries, Heap, Note, Notes, Num, Value};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::ClassId;
use smallvec::SmallVec;
use std::rc::Rc;
use ustr::Ustr;

/// An object of the [`Heap`](super::heap::Heap).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjId(pub u32);

/// A small sorted set of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjSet(SmallVec<[ObjId; 4]>);

impl ObjSet {
    pub fn one(object: ObjId) -> ObjSet {
        ObjSet(SmallVec::from_slice(&[object]))
    }

    pub fn insert(&mut self, object: ObjId) {
        if let Err(at) = self.0.binary_search(&object) {
            self.0.insert(at, object);
        }
    }

    pub fn contains(&self, object: ObjId) -> bool {
        self.0.binary_search(&object).is_ok()
    }

    pub fn union(&self, other: &ObjSet) -> ObjSet {
        let (mut a, mut b) = (self.0.as_slice(), other.0.as_slice());
        let mut all = SmallVec::with_capacity(a.len().max(b.len()));
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            all.push(*x.min(y));
            (a, b) = (&a[usize::from(x <= y)..], &b[usize::from(y <= x)..]);
        }
        all.extend_from_slice(a);
        all.extend_from_slice(b);
        ObjSet(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = ObjId> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<ObjId> for ObjSet {
    fn from_iter<T: IntoIterator<Item = ObjId>>(objects: T) -> ObjSet {
        let mut all: SmallVec<[ObjId; 4]> = objects.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        ObjSet(all)
    }
}

/// What an object is an instance of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassRef {
    /// A class of the project; the object with [`State::Class`].
    Project(ObjId),
    /// A class of a framework, by canonical qualified name.
    Api(Ustr),
    /// A list, dict, frame, class or another thing of the language itself.
    Builtin,
}

/// Attributes, in order of first assignment. Few enough that a scan beats a map.
pub type Attrs = Vec<(Ustr, Value)>;

#[derive(Clone, Debug)]
pub struct Object {
    pub class: ClassRef,
    pub attrs: Attrs,
    pub notes: Notes,
    pub state: State,
    /// Where it was made.
    pub site: Place,
    /// The pass of a loop in which it was made.
    pub epoch: u32,
    pub confidence: Confidence,
}

#[derive(Clone, Debug)]
pub enum State {
    Plain,
    Frame,
    Class(Rc<ClassState>),
    /// Lists, sets and iterators.
    List(Items),
    Dict(Entries),
    Module(ModuleState),
    Optimizer(OptimizerState),
    Loader(Rc<LoaderState>),
    Sampler(SamplerState),
    /// A scaler of gradients.
    Scaler,
}

#[derive(Clone, Debug)]
pub struct ClassState {
    pub file: FileId,
    pub class: ClassId,
    pub bases: Vec<Value>,
    /// The frame that the class statement ran in.
    pub env: ObjId,
}

/// What a sequence holds.
#[derive(Clone, Debug, Default)]
pub struct Items {
    /// One by one, when known.
    pub exact: Option<Vec<Value>>,
    /// What any of them is, when not known one by one.
    pub any: Value,
    /// How many, when not known one by one, and who says so.
    pub len: Num,
}

impl Items {
    pub fn exact(items: Vec<Value>) -> Items {
        Items { exact: Some(items), any: Value::Unknown, len: Num::default() }
    }

    pub fn any(any: Value) -> Items {
        Items { exact: None, any, len: Num::default() }
    }
}

impl State {
    pub fn is_scaler(&self) -> bool {
        matches!(self, State::Scaler)
    }

    /// How many items are held one by one.
    pub fn held(&self) -> usize {
        match self {
            State::List(items) => items.exact.as_ref().map_or(0, Vec::len),
            State::Dict(entries) => entries.known.len(),
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    #[default]
    Train,
    Eval,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModuleState {
    pub mode: Mode,
    /// The script set the mode: it is not only the one that modules are made in.
    pub mode_set: bool,
    /// The same on one way at least.
    pub mode_may_be_set: bool,
    /// Its mode was assigned as an attribute, which is about the module alone.
    pub mode_of_its_own: bool,
    /// Its own output depends on the mode.
    pub mode_dependent: bool,
    pub device: Device,
    pub dtype: Option<DType>,
    /// `requires_grad` is off for all its own parameters: `None` when it is not known.
    pub frozen: Option<bool>,
    /// The same of each of them, where they differ.
    pub apart: Vec<(Ustr, Option<bool>)>,
    /// Has parameters of its own (a layer), or is made elsewhere and may have any.
    pub weights: Learned,
    /// Who places tensors and steps for it, when a framework does (`accelerator.prepare`).
    pub managed: bool,
    /// The instance that manages it, where the script made one.
    pub engine: Option<ObjId>,
    /// Moves its inputs to its own devices.
    pub scatters: bool,
    /// Attributes that are tensors and move with the module.
    pub buffers: SmallVec<[Ustr; 2]>,
    /// Other modules that this one wraps or may be.
    pub parts: SmallVec<[ObjId; 2]>,
    /// Goes along a sequence, step by step.
    pub recurrent: bool,
    /// A container of layers that are not known: whatever it does, they do.
    pub open: bool,
    /// Its parameters were given other data, perhaps in another shape.
    pub refilled: bool,
    /// A container in which one layer stands for any number of them.
    pub repeats: bool,
    /// A hook sees what its calls give, and may keep it.
    pub hooked: bool,
}

impl ModuleState {
    /// Whether its own output depends on its mode, for all that is known of models from elsewhere.
    pub fn is_mode_dependent(&self) -> bool {
        let elsewhere = self.weights == Learned::Opaque && !self.open;
        (self.mode_dependent || elsewhere) && self.parts.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Learned {
    /// Only what its submodules have.
    #[default]
    Nothing,
    /// Parameters of its own, and how many where that is known.
    Own(Option<i64>),
    /// Not seen: a model from elsewhere.
    Opaque,
}

impl Learned {
    /// Of what is one or the other: two layers that are seen have weights of their own, and nobody knows how many.
    pub fn join(self, other: Learned) -> Learned {
        match (self, other) {
            (one, other) if one == other => one,
            (Learned::Own(_), Learned::Own(_)) => Learned::Own(None),
            _ => Learned::Opaque,
        }
    }
}

impl Default for ModuleState {
    fn default() -> ModuleState {
        ModuleState {
            mode: Mode::Train,
            mode_set: false,
            mode_may_be_set: false,
            mode_of_its_own: false,
            mode_dependent: false,
            device: Device::Cpu,
            dtype: None,
            frozen: Some(false),
            apart: Vec::new(),
            weights: Learned::Nothing,
            managed: false,
            engine: None,
            scatters: false,
            buffers: SmallVec::new(),
            parts: SmallVec::new(),
            recurrent: false,
            open: false,
            refilled: false,
            repeats: false,
            hooked: false,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimizerState {
    /// The modules and parameters that it steps.
    pub owns: ObjSet,
    /// It may own more than `owns`.
    pub others: bool,
    /// Its groups, in order; `None` where they are not known one by one.
    pub groups: Option<Rc<[super::ParamGroup]>>,
    /// A framework decides when its steps and clears are real.
    pub managed: bool,
    /// Its steps are as long as the gradients are large.
    pub proportional: bool,
}

/// In which orders a sampler may go through its dataset: a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Orders(u8);

impl Orders {
    pub const SEQUENTIAL: Orders = Orders(1);
    pub const RANDOM: Orders = Orders(2);
    /// Each process has a part of its own.
    pub const SHARED: Orders = Orders(4);
    /// The same, shuffled: in the same way in each epoch, unless it is told which one it is.
    pub const SHARED_RANDOM: Orders = Orders(8);
    pub const UNKNOWN: Orders = Orders(16);

    pub fn union(self, other: Orders) -> Orders {
        Orders(self.0 | other.0)
    }

    pub fn meets(self, other: Orders) -> bool {
        self.0 & other.0 != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerState {
    pub orders: Orders,
    /// Where a sampler was made that shuffles the parts of processes.
    pub shared_at: Option<Place>,
}

/// How many processes make the batches of a loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    Known(i64),
    /// As many as the machine has processors, or a multiple of that.
    PerProcessor,
}

impl Workers {
    pub fn any(self) -> bool {
        self != Workers::Known(0)
    }

    /// Machines that train have more than one processor.
    pub fn are_several(self) -> bool {
        !matches!(self, Workers::Known(..=1))
    }
}

/// How a loader takes samples from its dataset.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct SampleOrder {
    /// In the order of the dataset.
    pub in_order: Option<bool>,
    /// No sampler chooses them.
    pub unsampled: bool,
    /// The sampler may be `None`, and then they come in the order of the dataset.
    pub unless_sampled: bool,
    pub workers: Option<Workers>,
}

impl SampleOrder {
    pub fn join(self, other: SampleOrder) -> SampleOrder {
        SampleOrder {
            in_order: self.in_order.filter(|_| self.in_order == other.in_order),
            unsampled: self.unsampled && other.unsampled,
            unless_sampled: self.unless_sampled && other.unless_sampled,
            workers: self.workers.filter(|_| self.workers == other.workers),
        }
    }
}

#[derive(Clone, Debug)]
pub struct LoaderState {
    pub dataset: Value,
    pub batch_size: Value,
    /// One sample of the dataset, with a batch dimension in front.
    pub batch: Value,
    pub sample_order: SampleOrder,
    pub managed: bool,
    /// An iterator begins with it again whenever it has come to its end.
    pub rounds: bool,
}

impl Object {
    /// How many children a container of modules has.
    pub(super) fn stacked(&self) -> usize {
        if !matches!(self.state, State::Module(_)) {
            return 0;
        }
        self.attrs.iter().filter(|(name, _)| name.parse::<usize>().is_ok()).count()
    }

    /// `if i == last: block.append(…)`: which layers of a container run nobody knows.
    pub(super) fn open_stack(&mut self) {
        if let State::Module(module) = &mut self.state {
            module.open = true;
        }
    }

    pub fn attr(&self, name: Ustr) -> Option<&Value> {
        self.attrs.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub fn set_attr(&mut self, name: Ustr, value: Value) {
        match self.attrs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, slot)) => *slot = value,
            None => self.attrs.push((name, value)),
        }
    }

    /// What an analysis noted of it.
    pub fn noted(&self, note: Note) -> Option<&Value> {
        self.notes.iter().find(|(known, _)| *known == note).map(|(_, value)| value)
    }

    pub fn note(&mut self, note: Note, value: Value) {
        match self.notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, slot)) => *slot = value,
            None => self.notes.push((note, value)),
        }
    }

    pub fn module(&self) -> Option<&ModuleState> {
        match &self.state {
            State::Module(module) => Some(module),
            _ => None,
        }
    }

    pub fn optimizer(&self) -> Option<&OptimizerState> {
        match &self.state {
            State::Optimizer(optimizer) => Some(optimizer),
            _ => None,
        }
    }
}

impl Heap {
    /// All modules that were made.
    pub fn modules(&self) -> impl Iterator<Item = ObjId> + '_ {
        (0..self.len() as u32).map(ObjId).filter(|id| self.get(*id).module().is_some())
    }

    /// All optimizers that were made.
    pub fn optimizers(&self) -> impl Iterator<Item = ObjId> + '_ {
        (0..self.len() as u32).map(ObjId).filter(|id| self.get(*id).optimizer().is_some())
    }
}
