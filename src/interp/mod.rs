//! The abstract interpreter: runs a script on values of the lattice, inlines the project's own functions,
//! and writes down what the framework calls would do. It always ends, and never knows a framework by name:
//! `apis` says what calls do, `transfer` computes what they give.

mod alternatives;
mod api;
mod arguments;
mod around;
mod aside;
mod assign;
mod attributes;
mod batches;
pub(crate) mod beside_inputs;
mod branch;
mod builtins;
mod call;
mod call_path;
mod class;
mod comprehension;
mod context;
mod criteria;
mod data;
mod decorate;
mod derived;
mod detach_points;
mod device;
mod device_origins;
mod dtypes;
mod effects;
mod elements;
mod engines;
mod events;
mod expr;
mod formulas;
mod functions;
mod given_devices;
mod grad;
mod groups;
mod handed_on;
mod hooks;
mod inherited;
pub mod invocation;
mod items;
mod iterators;
mod joined;
mod layered;
mod listing;
mod loops;
mod models;
mod modes;
pub mod modules;
mod moments;
mod offered;
mod optimizer_params;
mod parameters;
mod parts;
pub mod python;
mod rations;
mod reach;
mod recipes;
mod records;
mod refine;
mod replicas;
pub mod reveal;
mod roles;
mod run;
mod sample_order;
mod scaling;
mod scope;
mod selections;
mod singularities;
mod stmt;
mod streams;
mod taken;
mod templates;
pub mod transfer;
mod unconstructed;
mod walked;

pub use alternatives::Unfit;
use call_path::{CallPath, CallPaths};
pub(crate) use class::Base;
use device::own_gpu;
pub(crate) use device::{collect_tensors, given_tensors};
pub(crate) use elements::{bounded_index, index_parts, loop_indices};
pub use events::{
    Abandoned, ApiResult, AppliedLayer, ArmEnd, Assignment, AttributeWrite, Augment, BackwardCall, Branch,
    Compare, Constructed, ContainerWrite, Declared, DrawnByName, ElementRead, ElementWrite, Exhausted,
    ExpressionStatement, FitCall, ForwardCall, FunctionApplied, Indexed, Instance, LayerCall, LoaderCall,
    LossCall, MethodResult, Operation, OperationResult, Operator, Return, StackedLayer, TensorCompare, Test,
    TracePoint, Tried, Uncalled, UnfitCall, UnknownMethod, Unpacked, Update,
};
pub(crate) use handed_on::BUILT;
pub use hooks::{Checker, Hooks};
pub use invocation::{Call, Invocation, Passed};
use loops::ActiveLoop;
pub(crate) use offered::Offered;
pub(crate) use parameters::is_parameter;
pub(crate) use parts::mark_graph;
pub(crate) use python::{COPIED, is_bounded};
pub use run::rehearse;
pub(crate) use streams::is_part_of_dataset;

use crate::apis::Apis;
use crate::names::{Module, Project};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{ExprId, FnId, StmtId, Tree, WithItem};
use crate::trace::{At, Event, FnKey, Node, Rehearsal, Sight};
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use ustr::Ustr;

/// What the user said about the run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `--set name=value`: stands for whatever the script would read from outside under that name.
    pub values: Vec<(String, String)>,
    /// Steps a rehearsal of one file may take; `None` for the default.
    pub fuel: Option<u32>,
}

/// What `__name__` is in the script that is rehearsed, and in what it imports.
const AS_SCRIPT: &str = "__main__";
const AS_MODULE: &str = "__module__";

/// So many items are looked through for one step.
const ITEMS_A_STEP: u32 = 1024;

/// Each optimizer has a timeline of all that happens, and is told from all others there.
const STEPS_AN_OPTIMIZER: u32 = 4;

/// How many there are so far.
#[derive(Default)]
struct OptimizersMade(u32);

/// After so many steps the rehearsal asks whether its time is over.
const STEPS_A_LOOK: u32 = 256;

/// The interpreter of one file's rehearsal.
pub struct Interp<'p> {
    pub project: &'p Project,
    pub apis: &'p Apis,
    pub settings: &'p Settings,
    /// Who listens to the rehearsal, and what they remember.
    hooks: &'p Hooks,
    memories: hooks::Memories,
    /// Events so far.
    moment: u32,
    pub heap: Heap,
    pub out: Rehearsal,
    /// Open sequences of the trace, innermost last.
    trace: Vec<Vec<Node>>,
    frames: Vec<Frame<'p>>,
    active: Vec<ActiveLoop>,
    /// Counts passes of loops: the age of graphs and objects.
    pub epoch: u32,
    /// Whether operations record gradients here; `None` when that is not known.
    pub grad: Option<bool>,
    /// Contexts in force other than the grad mode.
    contexts: Vec<ContextKind>,
    /// Where a factory or layer puts its tensors that is not told where.
    pub default_device: Device,
    /// New layers hold `float32`; scripts that choose another default are not followed in this.
    plain_dtypes: bool,
    /// The scaler that calls the `step` of a class around an optimizer.
    stepping: Option<ObjId>,
    /// Where the script last said of an input that no gradients are recorded, as old releases were told.
    pub volatile: Option<Place>,
    /// A tape recorded something already: what it does not record has no graph.
    recorded: bool,
    /// There are symbolic values, of which models are made.
    symbolic: bool,
    /// The call sites and unrolled iterations around us, so that a site has an object for each.
    path: CallPath,
    paths: CallPaths,
    sites: FxHashMap<(CallPath, Place), ObjId>,
    scopes: FxHashMap<ObjId, Scope>,
    modules: FxHashMap<FileId, ModuleFrame>,
    /// Names that a module's stars were asked for, in vain or not yet to the end.
    asked: FxHashSet<(FileId, Ustr)>,
    /// Imports of the script that were reached; their names are looked for when they are asked for.
    deferred: FxHashSet<StmtId>,
    /// How many more modules stars may lead to.
    stars: u32,
    length_symbols: FxHashMap<ObjId, Symbol>,
    /// Models that are not seen into, of which the script has asked for parts.
    handed_out: ObjSet,
    /// The lengths of tensors of unknown shape that were asked for.
    tensor_lengths: Vec<(Rc<Tensor>, Symbol)>,
    /// Ids of graphs that are followed, by where that began.
    followed: FxHashMap<(CallPath, Place), u32>,
    /// What unknown values are taken for.
    roles: roles::Roles,
    /// Instances of classes whose methods nothing called.
    instances: FxHashMap<ObjId, Value>,
    pub(crate) seeded: Option<FnKey>,
    /// The statement that is an expression, and whose value nobody wants.
    discarded: Option<Place>,
    /// Functions that were run from one that nothing called.
    entered: FxHashSet<FnKey>,
    /// The confidence of what is being rehearsed: low where parameters were typed by their names.
    trust: Confidence,
    /// A `with` statement whose context is being called.
    awaiting: Option<(Place, Around<'p>)>,
    carried: u32,
    /// Everything that optimizers were given so far.
    optimized: ObjSet,
    /// Where iterators were gone through: by the way that led there, and the place.
    endings: Vec<(CallPath, Place)>,
    /// Objects from here on were made since a function began to be rehearsed without its callers.
    pub(crate) seeded_from: u32,
    /// How what is let go of leaves.
    leaving: reach::Leaving,
    /// Bytes that the layers of the running forward gave, and that its graph keeps.
    kept: u64,
    fuel: u32,
    /// Items that were looked through since a step was last taken for them.
    looked: u32,
    /// Frames that were entered, those that have ended included.
    frames_so_far: u32,
    /// What the running call must leave of the fuel.
    floor: u32,
    /// Functions that once did not come to their end with the fuel they got.
    exhausted: FxHashSet<FnKey>,
    depth: u32,
    /// Modules whose calls are open.
    nested: usize,
    /// Inputs of formulas so far.
    inputs: u32,
    /// The passes of loops that count.
    counts: Vec<elements::Count>,
    /// Ways of branches that are running.
    arms: usize,
    /// What is to be told of a line, when somebody asks.
    probe: Option<Box<reveal::Probe>>,
}

/// The frame of a running function or module.
struct Frame<'p> {
    env: ObjId,
    file: FileId,
    /// Of the file: each expression asks for it.
    tree: &'p Tree,
    function: Option<FnId>,
    /// Values returned so far, and what the heap was at those returns.
    returned: Option<Value>,
    exits: Vec<heap::Writes>,
    yielded: Option<Value>,
    /// The loader that a generator hands on, and how many loops ran around its frame.
    hands_on: Option<ObjId>,
    around_loops: usize,
    receiver: Option<Value>,
    class: Option<ObjId>,
    site: Option<(Place, Ustr)>,
    /// The body of the `with` statement that this generator is the context of.
    around: Option<Around<'p>>,
    /// Tells it from all other frames.
    serial: u32,
}

/// A running frame, as checkers see it.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// Tells it from all other frames.
    pub serial: u32,
    pub file: FileId,
    /// `None` for the body of a module or class.
    pub function: Option<FnId>,
    pub receiver: Option<ObjId>,
}

/// What a generator that is a context runs where it yields.
#[derive(Clone, Copy)]
struct Around<'p> {
    target: Option<ExprId>,
    /// The statement's further contexts.
    rest: &'p [WithItem],
    body: &'p [StmtId],
    path: CallPath,
    /// How the body ended, once it ran.
    flow: Option<stmt::Flow>,
}

#[derive(Clone, Copy)]
struct Scope {
    file: FileId,
    function: Option<FnId>,
    parent: Option<ObjId>,
}

struct ModuleFrame {
    env: ObjId,
    /// Statements that ran already; `None` when the whole body runs.
    ran: Option<FxHashSet<u32>>,
}

impl<'p> Interp<'p> {
    pub fn module(&self, file: FileId) -> &'p Module {
        self.project.module(file)
    }

    pub fn tree(&self, file: FileId) -> &'p Tree {
        &self.project.module(file).tree
    }

    /// The tree of the running frame's file.
    fn here(&self) -> &'p Tree {
        self.frames.last().map_or_else(|| self.tree(FileId(0)), |frame| frame.tree)
    }

    /// The file of the running frame.
    pub fn file(&self) -> FileId {
        self.frames.last().map_or(FileId(0), |frame| frame.file)
    }

    /// The frames that are running, outermost first.
    pub(crate) fn running(&self) -> impl DoubleEndedIterator<Item = Running> {
        self.frames.iter().map(|frame| Running {
            serial: frame.serial,
            file: frame.file,
            function: frame.function,
            receiver: frame.receiver.as_ref().and_then(Value::as_obj),
        })
    }

    /// The functions of a file that are running.
    pub(crate) fn running_functions(&self, file: FileId) -> Vec<FnId> {
        self.frames.iter().filter(|frame| frame.file == file).filter_map(|frame| frame.function).collect()
    }

    /// How many calls and modules run, one in another.
    pub(crate) fn frame_depth(&self) -> usize {
        self.frames.len()
    }

    /// The object that holds the names of the running frame.
    pub(crate) fn locals(&self) -> Option<ObjId> {
        self.frames.last().map(|frame| frame.env)
    }

    /// The object that holds the names of a module that runs or has run.
    pub(crate) fn module_names(&self, file: FileId) -> Option<ObjId> {
        self.modules.get(&file).map(|module| module.env)
    }

    pub fn place(&self, span: Span) -> Place {
        Place::new(self.file(), span)
    }

    pub fn expr_place(&self, expr: ExprId) -> Place {
        Place::new(self.file(), self.here().expr(expr).span)
    }

    /// A fresh symbol for a size without a number.
    pub fn symbol(&mut self, name: &str) -> Symbol {
        self.out.symbols.push(Rc::from(name));
        Symbol(self.out.symbols.len() as u32 - 1)
    }

    /// The length of an object: the same symbol each time it is asked for.
    pub fn length_symbol(&mut self, object: ObjId, name: &str) -> Int {
        if let Some(symbol) = self.length_symbols.get(&object) {
            return Int::symbol(*symbol);
        }
        let symbol = self.symbol(name);
        self.length_symbols.insert(object, symbol);
        Int::symbol(symbol)
    }

    /// An object made at a place: the same one when the same way leads there again.
    pub fn alloc(&mut self, place: Place, class: ClassRef, state: State) -> ObjId {
        if matches!(state, State::Optimizer(_)) {
            let made = self.remember(|made: &mut OptimizersMade| (made.0 += 1, made.0).1);
            self.burn(made * STEPS_AN_OPTIMIZER);
        }
        let object = Object {
            class,
            attrs: Vec::new(),
            notes: Vec::new(),
            state,
            site: place,
            epoch: self.epoch,
            confidence: self.trust,
        };
        let key = (self.path, place);
        if let Some(id) = self.sites.get(&key).copied()
            && std::mem::discriminant(&self.heap.get(id).state) == std::mem::discriminant(&object.state)
            && !self.active.is_empty()
        {
            self.heap.replace(id, object);
            return id;
        }
        let id = self.heap.alloc(object);
        self.sites.insert(key, id);
        id
    }

    pub fn list(&mut self, place: Place, items: Vec<Value>) -> Value {
        Value::Obj(self.alloc(place, ClassRef::Builtin, State::List(Items::exact(items))))
    }

    pub fn list_of(&mut self, place: Place, any: Value) -> Value {
        Value::Obj(self.alloc(place, ClassRef::Builtin, State::List(Items::any(any))))
    }

    pub fn dict(&mut self, place: Place, entries: Entries) -> Value {
        Value::Obj(self.alloc(place, ClassRef::Builtin, State::Dict(entries)))
    }

    /// Writes an event into the trace.
    pub fn event(&mut self, place: Place, effect: crate::trace::Effect, confidence: Confidence) {
        let event = Event { place, effect, confidence: confidence.min(self.trust) };
        self.push(Node::Event(event));
    }

    fn push(&mut self, node: Node) {
        if let Some(open) = self.trace.last_mut() {
            open.push(node);
        }
    }

    /// A module or parameter that is made in each iteration starts without gradients.
    fn made(&mut self, place: Place, object: ObjId) {
        if !self.active.is_empty() && self.heap.get(object).module().is_some() {
            self.event(place, crate::trace::Effect::Made { object }, Confidence::High);
        }
    }

    /// The function that runs, and what it is a method of.
    pub(crate) fn running_method(&self) -> Option<(FnKey, Option<ObjId>)> {
        let frame = self.frames.last()?;
        let receiver = frame.receiver.as_ref().and_then(Value::as_obj);
        frame.function.map(|function| (FnKey { file: frame.file, function }, receiver))
    }

    /// Writes down something seen here.
    pub fn see(&mut self, place: Place, sight: Sight, confidence: Confidence) {
        self.observe(place, sight, confidence);
    }

    pub fn at(&self, place: Place, confidence: Confidence) -> At {
        At {
            place,
            loops: self.active.iter().map(|active| active.id).collect(),
            calls: self.frames.iter().filter_map(|frame| frame.site).collect(),
            seeded: self.seeded,
            confidence: confidence.min(self.trust),
        }
    }

    /// Whether the running call, or the script itself, has no fuel left: what it did so far proves nothing.
    pub(crate) fn is_out_of_fuel(&self) -> bool {
        self.fuel <= self.floor
    }

    /// Takes some fuel; false when none is left.
    fn burn(&mut self, amount: u32) -> bool {
        if self.fuel < self.floor + amount {
            self.fuel = self.fuel.min(self.floor);
            return false;
        }
        self.fuel -= amount;
        if self.fuel % STEPS_A_LOOK < amount {
            crate::source::still_wanted(STEPS_A_LOOK as usize);
        }
        true
    }

    /// Looking through many items is work, too.
    fn burn_over(&mut self, items: usize) {
        let looked = self.looked.saturating_add(u32::try_from(items).unwrap_or(u32::MAX));
        self.looked = looked % ITEMS_A_STEP;
        self.burn(looked / ITEMS_A_STEP);
    }

    /// The text of the script at a place.
    pub fn words(&self, place: Place) -> &str {
        self.module(place.file).source.text.get(place.span.range()).unwrap_or_default()
    }

    /// Where relative paths of the running script may lead: its folder, and the folders above that hold it.
    pub fn search_folders(&self) -> Vec<PathBuf> {
        /// A configuration lies at most so many folders above the script.
        const ABOVE: usize = 4;
        let path = &self.project.source(self.file()).path;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = crate::source::absolute(folder.unwrap_or(Path::new(".")));
        folder.ancestors().take(ABOVE).map(Path::to_path_buf).collect()
    }
}
