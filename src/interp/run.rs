//! The rehearsal of one file: its body as a script, then every function that nothing called.

use super::ambient::Ambient;
use super::budget::Budget;
use super::call_path::Sites;
use super::elements::Passes;
use super::formulas::Symbols;
use super::grad::Graphs;
use super::hooks::Listeners;
use super::rations::{FUEL_A_FORWARD, FUEL_A_TRAINING};
use super::scope::Loaded;
use super::supposed::Supposed;
use super::{Call, Constructed, Hooks, Interp, Passed, Settings, beside_inputs, cells, modules::FORWARDS};
use crate::apis::Apis;
use crate::names::Project;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::*;
use crate::trace::{EntryPoint, FnKey, LoopId, LoopInfo, Node, Over, Rehearsal, Sight};
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

/// Callers of callers are followed so far.
const CALLERS: usize = 3;
/// Steps that a rehearsal of one file may take.
const FUEL: u32 = 600_000;
/// Steps for the forwards of a file that puts nothing on a GPU.
const FUEL_OF_FORWARDS: u32 = 20_000;
/// Steps more for what the script itself runs: without its end nothing of it can be judged.
const FUEL_OF_THE_SCRIPT: u32 = 200_000;

/// Rehearses a file of the project.
pub fn rehearse(
    project: &Project,
    apis: &Apis,
    hooks: &Hooks,
    settings: &Settings,
    file: FileId,
) -> Rehearsal {
    let mut interp = Interp::new(project, apis, hooks, settings);
    interp.run(file);
    interp.out.heap = interp.heap;
    interp.out
}

/// A function that is rehearsed without its callers.
struct Seeded<'p, 'a> {
    key: FnKey,
    closure: &'a Rc<Closure>,
    receiver: Option<Value>,
    definition: &'p Function,
    place: Place,
    /// A framework owns the loop that calls it.
    owned: bool,
    gives_loss: bool,
}

impl<'p> Interp<'p> {
    pub(super) fn run(&mut self, file: FileId) {
        self.script(file);
        self.uncalled(file);
        self.templates(file);
        self.on_file_end(file);
        self.unconstructed(file);
        self.making_methods(file);
        super::rest::rehearse_the_rest(self, file);
        self.on_end(());
    }

    pub(super) fn new(
        project: &'p Project,
        apis: &'p Apis,
        hooks: &'p Hooks,
        settings: &'p Settings,
    ) -> Interp<'p> {
        Interp {
            project,
            apis,
            settings,
            listeners: Listeners::of(hooks),
            heap: Heap::default(),
            out: Rehearsal::default(),
            trace: Vec::new(),
            frames: Vec::new(),
            active: Vec::new(),
            epoch: 1,
            ambient: Ambient::default(),
            sites: Sites::default(),
            loaded: Loaded::default(),
            symbols: Symbols::default(),
            graphs: Graphs::default(),
            supposed: Supposed::default(),
            budget: Budget::of(settings.fuel.unwrap_or(FUEL + FUEL_OF_THE_SCRIPT)),
            passes: Passes::default(),
            discarded: None,
            awaiting: None,
            probe: None,
        }
    }

    fn script(&mut self, file: FileId) {
        let env = self.open_module(file, true);
        self.push_frame(env, file, None, None);
        self.trace.push(Vec::new());
        let body = &self.tree(file).body;
        for stmt in body {
            if self.is_out_of_fuel() {
                break;
            }
            // An exit of the program ends what runs, not what is defined below.
            self.stmt(*stmt);
        }
        cells::run(self, file);
        self.supposed.scripted = self.heap.len() as u32;
        let nodes = self.trace.pop().unwrap_or_default();
        self.frames.pop();
        if self.is_out_of_fuel() {
            // What was not reached may have cleared, walked or moved anything; a loss is what it is.
            self.out.observations.retain(|seen| matches!(seen.get(), Some(Sight::Loss(_))));
            self.out.out_of_fuel = true;
            return;
        }
        self.out.entries.push(EntryPoint { function: None, nodes });
        self.budget.fuel =
            self.budget.fuel.saturating_sub(FUEL_OF_THE_SCRIPT).max(self.budget.fuel.min(FUEL_A_TRAINING));
    }

    /// Functions and methods of the file that nothing called, with what can be said of their parameters: callers
    /// before what they call, so that a function is rehearsed as it is called, if only by one of these.
    fn uncalled(&mut self, file: FileId) {
        let tree = self.tree(file);
        let (mattering, offered) = (self.mattering(file), self.offered_in(file));
        let (evaluated, runners) = (self.evaluated_models(file), self.runners_of_own_models(file));
        let encloses = self.enclosing(file, &mattering);
        let wanted = |interp: &Self, index: &usize| {
            let function = FnId(*index as u32);
            let definition = tree.function(function);
            let asked = interp.is_asked_about(FnKey { file, function });
            let mentions = &interp.module(file).names.scopes[*index].mentions;
            let evaluates = evaluated.iter().any(|model| mentions.contains(*model));
            let matters = mattering[*index]
                || encloses[*index]
                || offered[*index]
                || interp.is_hook(file, definition)
                || asked
                || evaluates
                || runners.contains(&function);
            matters && definition.parent.is_none() && definition.name != "<lambda>"
        };
        let wanted: Vec<usize> = (0..tree.functions.len()).filter(|index| wanted(self, index)).collect();
        for index in self.callers_first(file, wanted) {
            let function = FnId(index as u32);
            let key = FnKey { file, function };
            let definition = tree.function(function);
            let is_asked = self.is_asked_about(key);
            if self.out.called.contains(&key) || (self.supposed.entered.contains(&key) && !is_asked) {
                continue;
            }
            if self.is_out_of_fuel() {
                self.out.out_of_fuel = true;
                return;
            }
            // What was too much for a call may fit into a ration of its own.
            self.budget.exhausted.remove(&key);
            self.on_a_ration(key, |interp| interp.seed(key, definition));
            self.seed_shallow(key, definition);
        }
        self.uncalled_inside(file, &mattering);
    }

    /// Functions that no other of these mentions come first.
    fn callers_first(&self, file: FileId, wanted: Vec<usize>) -> Vec<usize> {
        let (tree, names) = (self.tree(file), &self.module(file).names);
        let mut mentions: FxHashMap<Ustr, usize> = FxHashMap::default();
        for name in wanted.iter().flat_map(|index| names.scopes[*index].mentions.iter()) {
            *mentions.entry(name).or_default() += 1;
        }
        let is_mentioned = |index: &usize| {
            let name = tree.functions[*index].name;
            let own = usize::from(names.scopes[*index].mentions.contains(name));
            mentions.get(&name).copied().unwrap_or_default() > own
        };
        let (inner, outer): (Vec<usize>, Vec<usize>) = wanted.iter().copied().partition(is_mentioned);
        let mut order: Vec<usize> = outer.into_iter().chain(inner).collect();
        order.sort_by_cached_key(|index| self.turn(file, &tree.functions[*index]));
        order
    }

    /// Methods of modules and functions that make tensors and that nothing called: last, so that they take no fuel from
    /// anything else.
    fn making_methods(&mut self, file: FileId) {
        let tree = self.tree(file);
        let entered: FxHashSet<FnKey> = self.out.entries.iter().filter_map(|entry| entry.function).collect();
        let imported = self.imported_makers(file);
        let (starved, uses_gpu) = (self.out.out_of_fuel, self.out.uses_gpu);
        let end = self.budget.fuel.saturating_sub(FUEL_OF_FORWARDS);
        for (index, definition) in tree.functions.iter().enumerate() {
            if self.is_out_of_fuel() || !uses_gpu && self.budget.fuel <= end {
                break;
            }
            let function = FnId(index as u32);
            let key = FnKey { file, function };
            let ran = self.out.called.contains(&key) || entered.contains(&key);
            let makes = definition.parent.is_none()
                && !ran
                && (self.is_making_method(file, function, definition, &imported)
                    || beside_inputs::is_making_function(self, file, function, definition));
            if makes {
                match uses_gpu {
                    true => self.on_a_ration(key, |interp| interp.seed(key, definition)),
                    false => self.on_a_small_ration(FUEL_A_FORWARD, |interp| interp.seed(key, definition)),
                }
            }
        }
        if !uses_gpu {
            // What nothing here puts on a GPU is looked at beside the rest.
            self.out.out_of_fuel = starved;
        }
    }

    /// Which functions of a file mention anything that the rules are about, or another that does: the
    /// loop may be in one method and the step in the next.
    pub(super) fn mattering(&self, file: FileId) -> Vec<bool> {
        let (tree, names) = (self.tree(file), &self.module(file).names);
        let mentions = |index: usize, words: &[Ustr]| {
            words.iter().any(|word| names.scopes[index].mentions.contains(*word))
        };
        let kept = self.kept_criteria(file);
        let computes_loss = |(index, function): (usize, &Function)| {
            let own = kept.iter().filter(|(class, _)| function.class == Some(*class));
            own.into_iter().any(|(_, name)| names.scopes[index].mentions.contains(*name))
        };
        let heeds_devices = names.speaks_of(&[Ustr::from("device"), Ustr::from("is_cuda")]);
        let makes_tensors = |(index, function): (usize, &Function)| {
            let is_forward = function.class.is_some() && FORWARDS.contains(&function.name.as_str());
            heeds_devices && is_forward && mentions(index, self.apis.makers())
        };
        let mut matters: Vec<bool> =
            tree.functions.iter().enumerate().map(|one| computes_loss(one) || makes_tensors(one)).collect();
        self.mark_callers(file, &mut matters, self.apis.protocol_words().to_vec());
        matters
    }

    /// Marks the functions of a file that mention one of some words, and those that call these by their names.
    pub(super) fn mark_callers(&self, file: FileId, marked: &mut [bool], mut words: Vec<Ustr>) {
        let (tree, names) = (self.tree(file), &self.module(file).names);
        let mentions = |index: usize, words: &[Ustr]| {
            words.iter().any(|word| names.scopes[index].mentions.contains(*word))
        };
        for _ in 0..CALLERS {
            let fresh: Vec<usize> =
                (0..marked.len()).filter(|index| !marked[*index] && mentions(*index, &words)).collect();
            // Names that every class has say nothing about who is called.
            let telling = |name: &Ustr| !name.starts_with("__") && *name != "forward" && *name != "<lambda>";
            words = fresh.iter().map(|index| tree.functions[*index].name).filter(telling).collect();
            fresh.into_iter().for_each(|index| marked[index] = true);
            if words.is_empty() {
                break;
            }
        }
    }

    /// Whether a method may be called by a framework that owns the loop.
    fn is_hook(&self, file: FileId, definition: &Function) -> bool {
        let Some(class) = definition.class else { return false };
        self.class_object(file, class).is_some_and(|object| {
            let class = ClassRef::Project(object);
            // The constructor ran for the instance, and would make its layers once more.
            self.is_owned_class(class) && definition.name != "__init__"
                || self.called_first(class).contains(&definition.name)
                || definition.name == "forward" && self.is_function_class(class)
        })
    }

    pub(super) fn seed(&mut self, key: FnKey, definition: &'p Function) {
        let Some(env) = self.loaded.modules.get(&key.file).map(|module| module.env) else { return };
        let place = Place::new(key.file, definition.name_span);
        self.push_frame(env, key.file, None, None);
        self.trace.push(Vec::new());
        let receiver = match definition.class {
            Some(class) => self.seeded_receiver(key.file, class, place),
            None => None,
        };
        let found = match (&receiver, definition.class) {
            (Some(receiver), _) => {
                receiver.as_obj().and_then(|object| self.find_attr(object, definition.name))
            }
            (None, None) => self.heap.attr(env, definition.name).cloned(),
            (None, Some(_)) => None,
        };
        self.trace.pop();
        let found = found.and_then(|found| self.defined_as(key, found));
        if let Some(closure) = found.or_else(|| self.overridden(key, definition)) {
            let first = definition.params.first().map(|param| param.name);
            let receiver = match definition.class {
                Some(class) if closure.wrap.is_class => self.class_object(key.file, class).map(Value::Obj),
                // By its name it may be given the class as well: `cls.place(cls)`.
                Some(_) if first.is_some_and(|first| first == "cls") => receiver.map(|_| Value::Unknown),
                _ => receiver,
            };
            // The constructor ran for the instance, and makes its layers once more.
            let built = receiver.as_ref().and_then(Value::as_obj).filter(|_| definition.name == "__init__");
            let built = built.map(|object| Constructed { object, constructor: place });
            built.iter().for_each(|built| self.on_construct(built));
            let result = self.run_seeded(key, &closure, receiver, definition, place);
            built.iter().for_each(|built| self.on_constructed(built));
            self.run_made(key, &result, definition, place);
        }
        self.end_seed();
    }

    /// The loss that a function makes of its options, `focal_loss(gamma=2.0)`, is called by whoever trains with it.
    fn run_made(&mut self, key: FnKey, result: &Value, maker: &Function, place: Place) {
        let Value::Function(made) = result.bare() else { return };
        let inner = FnKey { file: made.file, function: made.function };
        let definition = self.tree(inner.file).function(inner.function);
        let is_own = inner.file == key.file && definition.parent == Some(key.function);
        if is_own && !self.out.called.contains(&inner) && self.is_loss(key, maker) {
            self.run_seeded(inner, made, None, definition, place);
        }
    }

    pub(super) fn end_seed(&mut self) {
        self.frames.pop();
        self.supposed.seeded = None;
        self.supposed.trust = Confidence::High;
        self.ambient.grad = Some(true);
    }

    pub(super) fn run_seeded(
        &mut self,
        key: FnKey,
        closure: &Rc<Closure>,
        receiver: Option<Value>,
        definition: &'p Function,
        place: Place,
    ) -> Value {
        self.supposed.seeded = Some(key);
        // A framework that owns the loop decides whether gradients are recorded in its hooks.
        let owned = receiver.as_ref().and_then(Value::as_obj).is_some_and(|object| self.is_owned(object));
        let trains = receiver.as_ref().is_some_and(|receiver| self.trains_in(receiver, definition.name));
        let gives_loss = receiver.as_ref().is_some_and(|receiver| self.gives_loss(receiver, definition.name));
        if owned && !trains || self.was_cut_without_grad(key) || self.supposed.beside_training {
            self.ambient.grad = None;
        }
        if self.is_of_a_suite(key.file) {
            self.supposed.trust = Confidence::Low;
        }
        self.supposed.since = self.heap.len() as u32;
        let mut call = Call::new(place);
        let skip = usize::from(receiver.is_some() && !closure.wrap.is_static);
        let makes = beside_inputs::is_making_function(self, key.file, key.function, definition);
        for param in definition.params.iter().skip(skip) {
            if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) {
                call.open = true;
                continue;
            }
            let mut value = self.seeded_param(closure, param);
            if self.is_model_of_loss(key, param) {
                let model = self.opaque_module(place, Device::Unknown);
                self.heap.get_mut(model).confidence = Confidence::Medium;
                value = Value::Obj(model);
            }
            value = closure.as_passed(param.name, self.as_prediction(key, param, value));
            if makes {
                value = beside_inputs::given_anywhere(self, closure, param, value);
            }
            if trains {
                value = self.as_hooks_are_called(closure, param, value);
            }
            let place = Place::new(closure.file, param.span);
            call.keywords.push((param.name, Passed { value, place }));
        }
        if receiver.as_ref().is_some_and(|receiver| self.computes(receiver, definition)) {
            let object = receiver.as_ref().and_then(Value::as_obj);
            call = self.at_home(closure, object, &call);
        }
        if !self.supposed.beside_training {
            self.suppose_probabilities(key, &mut call, &mut |interp, call| {
                interp.taken_back(|interp| {
                    let result = interp.inline_decorated(closure, receiver.as_ref(), call);
                    interp.losses_in(&result)
                })
            });
        }
        let seeded = Seeded { key, closure, receiver, definition, place, owned, gives_loss };
        let result = self.run_as_called(&seeded, &call);
        if !self.supposed.beside_training && self.leaves_out(&seeded, &mut call) {
            // What one way of calling it has shown is not less for the other that is too much.
            let starved = self.out.out_of_fuel;
            self.run_as_called(&seeded, &call);
            self.out.out_of_fuel = starved;
        }
        result
    }

    /// One call of a function that nothing calls.
    fn run_as_called(&mut self, seeded: &Seeded<'p, '_>, call: &Call) -> Value {
        let Seeded { key, closure, ref receiver, definition, place, owned, gives_loss } = *seeded;
        let recorded = self.out.parts.len();
        self.trace.push(Vec::new());
        let applied =
            match receiver.as_ref().and_then(Value::as_obj).map(|object| self.heap.get(object).class) {
                Some(ClassRef::Project(class))
                    if definition.name == "forward" && self.is_function_class(ClassRef::Project(class)) =>
                {
                    self.apply_seeded(class, closure, place)
                }
                _ => None,
            };
        let result = match applied {
            Some(result) => result,
            None => self.inline_decorated(closure, receiver.as_ref(), call),
        };
        if gives_loss {
            self.note_returned_loss(&result, definition, place);
        }
        self.note_loaders(receiver.as_ref(), definition.name, &result, place);
        if !self.is_of_a_suite(key.file) {
            self.note_offered(key, &result);
        }
        // Whoever calls one of its methods may have called others before, in any order.
        if let Some(receiver) = receiver {
            self.leave_places_open(receiver);
            super::left_open::leave_attributes_open(self, receiver);
        }
        self.hand_to_callers(&result);
        self.keep_held_parts(recorded);
        let mut nodes = self.trace.pop().unwrap_or_default();
        let steps_own = |receiver: &Value| self.steps_own(key, receiver, &nodes);
        if definition.name != "__init__" && (owned || receiver.as_ref().is_some_and(steps_own)) {
            nodes = self.called_each_round(nodes, place);
        }
        self.out.out_of_fuel |= self.budget.exhausted.contains(&key);
        self.out.entries.push(EntryPoint { function: Some(key), nodes });
        result
    }

    /// Leaves out of a call what its function makes itself where it is `None`: `if mask is None: mask = ...`. Callers do
    /// either, and each is a run of its own. Whether there is anything of the kind.
    fn leaves_out(&self, seeded: &Seeded, call: &mut Call) -> bool {
        let Seeded { closure, definition, .. } = *seeded;
        let tree = self.tree(closure.file);
        let is_optional = |name: &Ustr| {
            closure.defaults.iter().any(|(other, default)| other == name && matches!(default, Value::None))
        };
        if !call.keywords.iter().any(|(name, _)| is_optional(name)) {
            return false;
        }
        let asked = tree.asked_for_none(definition.span);
        let mut any = false;
        for (name, passed) in &mut call.keywords {
            if asked.contains(name) && is_optional(name) {
                passed.value = Value::None;
                any = true;
            }
        }
        any
    }

    /// Whether a file belongs to a suite of tests. They run a few small batches, and what is wrong with
    /// those is worth a word to few.
    pub(super) fn is_of_a_suite(&self, file: FileId) -> bool {
        let packaged = self.project.module_name(file).is_some_and(|name| self.apis.is_suite(&name));
        packaged || self.apis.tests(&self.module(file).source.text)
    }

    /// A hook of a framework that owns the loop: it is called again and again.
    fn called_each_round(&mut self, nodes: Vec<Node>, place: Place) -> Vec<Node> {
        let id = LoopId(self.out.loops.len() as u32);
        self.out.loops.push(LoopInfo {
            place,
            over: Over::Other,
            first: self.epoch,
            outer: Rc::from([]),
            changed: ObjSet::default(),
            count: Int::Unknown,
            of_model: false,
        });
        vec![Node::Loop { id, body: nodes }]
    }

    pub(crate) fn is_owned(&self, object: ObjId) -> bool {
        self.is_owned_class(self.heap.get(object).class)
    }

    pub(super) fn is_owned_class(&self, class: ClassRef) -> bool {
        self.lineage(class).into_iter().any(|base| match base {
            super::lineage::Base::Api(name) => self.apis.owns(name).iter().any(|part| part == "loop"),
            _ => false,
        })
    }
}
