//! The abstract interpreter: runs a script on values of the lattice, inlines the project's own functions,
//! and writes down what the framework calls would do. It always ends, and never knows a framework by name:
//! `apis` says what calls do, `transfer` computes what they give.

mod alternatives;
mod ambient;
mod answered;
mod apart;
mod api;
mod arguments;
mod around;
mod aside;
mod assembled;
mod assign;
mod attributes;
mod batches;
pub(crate) mod beside_inputs;
mod branch;
mod budget;
mod builtins;
mod call;
mod call_path;
mod callables;
mod cells;
mod class;
mod compiled;
mod comprehension;
mod context;
mod criteria;
mod data;
mod decorate;
mod derived;
mod detach_points;
mod determinants;
mod device;
mod device_origins;
mod drawn;
mod dtypes;
mod effects;
mod elements;
mod engines;
mod events;
mod expr;
mod fields;
mod formulas;
mod frames;
mod functions;
mod given_devices;
mod grad;
mod groups;
mod handed_on;
mod heads;
mod hooks;
mod inherited;
mod inside;
pub mod invocation;
mod items;
mod iterators;
mod joined;
mod layered;
mod left_behind;
mod left_open;
mod left_out;
mod lineage;
mod listing;
mod loops;
mod models;
mod modes;
pub mod modules;
mod moments;
mod nested;
mod offered;
mod one_by_one;
mod optimizer_params;
mod parameters;
mod parts;
mod pipelines;
pub mod python;
mod questions;
mod rations;
mod reach;
mod recipes;
mod records;
mod refine;
mod replicas;
mod rest;
pub mod reveal;
mod roles;
mod run;
mod sample_order;
mod scaling;
mod scope;
mod selections;
mod singularities;
mod sizes;
mod stacked;
mod stmt;
mod streams;
mod supposed;
mod switches;
mod taken;
mod templates;

pub mod transfer;
mod trees;
mod tried_stacks;
mod unconstructed;
mod walked;
mod waypoint;

pub use alternatives::{Unfit, unfit};
use call_path::CallPath;
pub(crate) use class::WRAPPED;
use device::own_gpu;
pub(crate) use device::{collect_tensors, given_tensors};
pub(crate) use device_origins::innermost_function;
pub(crate) use effects::LEARNED_BUFFER;
pub(crate) use elements::{bounded_index, index_parts, loop_indices};
pub use events::{
    Abandoned, ApiResult, AppliedLayer, Arithmetic, ArmEnd, Assignment, AttributeWrite, Augment,
    BackwardCall, Branch, Compare, Constructed, ContainerWrite, Declared, DeclaredOption, Difference, Drawn,
    DrawnByName, ElementRead, ElementWrite, Entered, EntryRead, Exhausted, ExpressionStatement, FitCall,
    ForwardCall, FunctionApplied, HiddenAttribute, IndexResult, Indexed, Instance, LayerCall, LoaderCall,
    LoopOver, LossCall, MethodResult, MissingAttribute, NumberApplied, Operation, OperationResult, Operator,
    Return, StackMade, StackedLayer, TensorCompare, Test, TracePoint, Tried, TupleUse, Uncalled, UnfitCall,
    UnfitFields, UnknownMethod, Unpacked, Update,
};
pub(crate) use frames::Running;
use frames::{Around, Frame};
pub(crate) use handed_on::BUILT;
pub use hooks::{Checker, Hooks};
pub use invocation::{Call, Invocation, Passed};
pub(crate) use lineage::Base;
use loops::ActiveLoop;
pub(crate) use offered::Offered;
pub(crate) use parameters::is_parameter;
pub(crate) use parts::mark_graph;
pub(crate) use python::{is_bounded, tuple_of_unknown_length};
pub use run::rehearse;
pub(crate) use scope::OWN_CLASS;
pub(crate) use streams::is_part_of_dataset;
pub use waypoint::Waypoint;

use crate::apis::Apis;
use crate::names::{Module, Project};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{ExprId, FnId, Tree};
use crate::trace::{At, Event, Node, Rehearsal, Sight};
use crate::values::*;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

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

/// Each optimizer has a timeline of all that happens, and is told from all others there.
const STEPS_AN_OPTIMIZER: u32 = 4;

/// How many there are so far.
#[derive(Default)]
struct OptimizersMade(u32);

/// The interpreter of one file's rehearsal.
pub struct Interp<'p> {
    pub project: &'p Project,
    pub apis: &'p Apis,
    pub settings: &'p Settings,
    /// Who follows the rehearsal, and what they remember.
    listeners: hooks::Listeners<'p>,
    pub heap: Heap,
    pub out: Rehearsal,
    /// Open sequences of the trace, innermost last.
    trace: Vec<Vec<Node>>,
    frames: Vec<Frame<'p>>,
    active: Vec<ActiveLoop>,
    /// Counts passes of loops: the age of graphs and objects.
    pub epoch: u32,
    /// What holds for operations wherever they stand: the grad mode, the default device.
    pub ambient: ambient::Ambient,
    /// Where we are, and the object of each place.
    sites: call_path::Sites,
    /// The modules that run or have run, and the scopes in them.
    loaded: scope::Loaded,
    symbols: formulas::Symbols,
    graphs: grad::Graphs,
    /// What is taken for granted of what nobody here calls.
    pub(crate) supposed: supposed::Supposed,
    budget: budget::Budget,
    passes: elements::Passes,
    /// The statement that is an expression, and whose value nobody wants.
    discarded: Option<Place>,
    /// A `with` statement whose context is being called.
    awaiting: Option<(Place, Around<'p>)>,
    /// What is to be told of a line, when somebody asks.
    probe: Option<Box<reveal::Probe>>,
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

    /// How many samples there are in a batch of which nobody knows more than that it is one.
    pub(crate) fn uncounted_samples(&mut self) -> Int {
        if self.symbols.uncounted.is_none() {
            self.symbols.uncounted = Some(self.symbol("batch"));
        }
        self.symbols.uncounted.map_or(Int::Unknown, Int::symbol)
    }

    /// The length of an object: the same symbol each time it is asked for.
    pub fn length_symbol(&mut self, object: ObjId, name: &str) -> Int {
        if let Some(symbol) = self.symbols.lengths.get(&object) {
            return Int::symbol(*symbol);
        }
        let symbol = self.symbol(name);
        self.symbols.lengths.insert(object, symbol);
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
            confidence: self.supposed.trust,
        };
        let key = (self.sites.path, place);
        if let Some(id) = self.sites.made.get(&key).copied()
            && std::mem::discriminant(&self.heap.get(id).state) == std::mem::discriminant(&object.state)
            && !self.active.is_empty()
        {
            self.heap.replace(id, object);
            return id;
        }
        let id = self.heap.alloc(object);
        self.sites.made.insert(key, id);
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

    /// What an object is called in messages: its class.
    pub fn class_name(&self, object: ObjId) -> Rc<str> {
        match self.heap.get(object).class {
            ClassRef::Project(class) => self.name_of_class(class),
            ClassRef::Api(name) => Rc::from(name.as_str()),
            ClassRef::Builtin => Rc::from("model"),
        }
    }

    /// The name of a class of the project.
    pub fn name_of_class(&self, class: ObjId) -> Rc<str> {
        match &self.heap.get(class).state {
            State::Class(state) => Rc::from(self.tree(state.file).class(state.class).name.as_str()),
            _ => Rc::from("model"),
        }
    }

    /// Writes an event into the trace.
    pub fn event(&mut self, place: Place, effect: crate::trace::Effect, confidence: Confidence) {
        let event = Event { place, effect, confidence: confidence.min(self.supposed.trust) };
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

    /// Writes down something seen here.
    pub fn see(&mut self, place: Place, sight: Sight, confidence: Confidence) {
        self.observe(place, sight, confidence);
    }

    pub fn at(&self, place: Place, confidence: Confidence) -> At {
        At {
            place,
            loops: self.active.iter().map(|active| active.id).collect(),
            calls: self.frames.iter().filter_map(|frame| frame.site).collect(),
            seeded: self.supposed.seeded,
            confidence: confidence.min(self.supposed.trust),
        }
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
