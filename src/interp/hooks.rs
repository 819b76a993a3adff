//! What the rehearsal tells whoever listens: generic events of the language and of training, without a word
//! about what is wrong with them. A checker names the handlers it has; an event that nobody asked for costs a
//! test of an empty list.

use super::events::*;
use super::loops::ActiveLoop;
use super::{Interp, Invocation};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ExprId, StmtId};
use crate::trace::{At, Node, Observation};
use crate::values::*;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::cell::RefCell;

/// Declares the kinds of events: one field for each in [`Checker`] and in [`Hooks`].
macro_rules! events {
    ($($(#[$doc:meta])* $kind:ident($event:ty);)*) => {
        /// A concern that follows the rehearsal: a handler for each kind of event that it asks for.
        pub struct Checker {
            $($(#[$doc])* pub $kind: Option<for<'p> fn(&mut Interp<'p>, $event)>,)*
        }

        impl Checker {
            /// Listens to nothing: `Checker { on_call: Some(called), ..Checker::SILENT }`.
            pub const SILENT: Checker = Checker { $($kind: None,)* };
        }

        /// The handlers of all checkers, by kind of event.
        #[derive(Default)]
        pub struct Hooks {
            $(pub(crate) $kind: Vec<for<'p> fn(&mut Interp<'p>, $event)>,)*
        }

        impl Hooks {
            pub fn of(checkers: &[&Checker]) -> Hooks {
                Hooks { $($kind: checkers.iter().filter_map(|checker| checker.$kind).collect(),)* }
            }
        }

        impl<'p> Interp<'p> {
            $(
                /// Tells whoever asked for this kind of event.
                pub(crate) fn $kind(&mut self, event: $event) {
                    self.listeners.moment = self.listeners.moment.wrapping_add(1);
                    let hooks = self.listeners.hooks;
                    for handler in &hooks.$kind {
                        handler(self, event);
                    }
                }
            )*
        }
    };
}

events! {
    /// An instance of a class of the project was allocated, and its `__init__` is about to run.
    on_construct(&Constructed);
    /// `__init__` has run, or was given up.
    on_constructed(&Constructed);
    /// The constructor of a base class that is not of the project runs, or something that may call it.
    on_base_constructed(Option<ObjId>);
    /// An object was handed to code that is not seen.
    on_escape(ObjId);
    /// A call of the project's code ran out of fuel: what it did was taken back.
    on_abandoned(&Abandoned<'_>);
    /// A function of the project is called with other arguments than it takes.
    on_unfit_call(&UnfitCall<'_>);
    on_unfit_fields(&UnfitFields<'_>);
    /// A tuple is about to be bound to several names.
    on_unpack(&Unpacked<'_>);
    /// An option of the command line is declared.
    on_option(&DeclaredOption<'_>);
    /// A function ends in a `raise` on every path.
    on_always_raised(());
    /// An attribute is about to be written.
    on_attribute_write(&AttributeWrite<'_>);
    /// `target = value` was evaluated, and is about to be bound.
    on_assign(&Assignment);
    /// `target += …`, or a write into an item of a tensor, was computed, and is about to be bound.
    on_update(&Update<'_>);
    /// `target op= value` is about to be computed.
    on_augment(&Augment<'_>);
    /// An operator is about to be applied to what two expressions gave, whatever they are.
    on_arithmetic(&Arithmetic);
    /// A value is about to be put into a list or dict, under no key of its own.
    on_container_write(&ContainerWrite<'_>);
    /// A list was emptied in place.
    on_cleared(ObjId);
    /// A backward goes through a graph of which nothing is known.
    on_unknown_backward(());
    /// An iterator is gone through that has nothing left.
    on_exhausted(&Exhausted<'_>);
    /// The entry under a text is about to be read.
    on_entry_read(&EntryRead<'_>);
    /// A loop is about to run its body, over values that it does not tell apart.
    on_loop(&LoopOver<'_>);
    /// An instance of a class of the project or of a framework was made; its constructor has not run yet.
    on_instance(&Instance);
    /// A stack of layers was put together.
    on_stack(&StackMade);
    /// A framework is about to train a model with data, or to predict of them.
    on_fit(&FitCall<'_>);
    /// A module is called from outside of any forward.
    on_forward(&ForwardCall<'_>);
    /// What such a call gives; a checker may change what is known of it.
    on_forward_end(&RefCell<Value>);
    /// A layer of a framework is called, or a module that is not seen into.
    on_layer(&LayerCall<'_>);
    /// A class of a framework is about to make an instance of these arguments.
    on_arguments(&Invocation<'_>);
    /// A part of a tensor is read.
    on_index(&Indexed<'_>);
    /// A part of a tensor was chosen.
    on_index_result(&IndexResult<'_>);
    /// A layer is about to be applied to its operands.
    on_layer_applied(&AppliedLayer<'_>);
    /// A function, method or layer of a framework did its effects, and is about to give something.
    on_call(&Invocation<'_>);
    /// An operator is about to be applied to two tensors.
    on_operation(&Operation<'_>);
    /// A difference is about to be computed of a tensor and something else.
    on_difference(&Difference<'_>);
    /// An operator was applied to two tensors.
    on_operation_result(&OperationResult<'_>);
    /// An operator was applied to a tensor and something that is none.
    on_number_applied(&NumberApplied<'_>);
    /// A loss was computed.
    on_loss(&LossCall<'_>);
    /// A call has an effect that the tables name.
    on_effect(&Declared<'_>);
    /// A backward pass is about to walk the graph of a tensor.
    on_backward(&BackwardCall<'_>);
    /// A `try` with handlers ran, each way of it.
    on_try_end(&Tried<'_>);
    /// Two values that are no tensors are compared.
    on_compare(&Compare<'_>);
    /// A test of an `if` was evaluated.
    on_test(&Test<'_>);
    /// The tests of an `if` were evaluated, and its arms are about to run.
    on_branch(&Branch<'p>);
    /// An arm of an `if` is about to run, behind this test; `otherwise` has none.
    on_arm(Option<ExprId>);
    /// An arm of an `if` ran; the heap is as it left it.
    on_arm_end(&ArmEnd);
    /// The arms of an `if` ran, and what they left was joined.
    on_branch_end(&Branch<'p>);
    /// A function of the project is about to run.
    on_entered(&Entered<'_>);
    /// A function is about to return.
    on_return(&Return<'_>);
    /// A statement left its block, and this is the rest of it.
    on_block_exit(&'p [StmtId]);
    /// A call of the project's code has ended, or was given up.
    on_call_end(());
    /// The script asks which device there is: what it is told depends on the machine.
    on_device_query(());
    /// The script says here which GPUs it is to see.
    on_visible_devices(Place);
    /// An element, or a part, of a tensor is read at the indices of loops.
    on_element_read(&ElementRead<'_>);
    /// An element, or a part, of a tensor is written.
    on_element_write(&ElementWrite<'_>);
    /// A custom autograd function has run its forward; no gradients are recorded here.
    on_function_applied(&FunctionApplied<'_>);
    /// A file has run, and those of its functions that nothing calls.
    on_file_end(FileId);
    /// What a call of a framework gives was computed.
    on_api_result(&ApiResult<'_>);
    /// A method of a value of a framework was called.
    on_method_result(&MethodResult<'_>);
    /// An iterator over a loader is asked for its next batch.
    on_drawn(&Drawn);
    /// An iterator over a loader was asked for its next batch by the name that Python 2 has for it.
    on_drawn_by_name(&DrawnByName);
    /// A method was called that is not known, for the most part of something that is not.
    on_unknown_method(&UnknownMethod<'_>);
    /// A layer's own computation is about to run.
    on_layer_call(ObjId);
    /// A layer's own computation ran.
    on_layer_end(ObjId);
    /// A layer of a stack ran.
    on_stacked_layer(&StackedLayer);
    /// A condition was evaluated that decides what runs.
    on_condition(ExprId);
    /// An expression that is a statement was evaluated.
    on_expression_statement(&ExpressionStatement<'_>);
    /// A function or method of a framework is used as what a call of it would give.
    on_uncalled(&Uncalled<'_>);
    /// An attribute is read that is not there, as far as what was rehearsed says.
    on_missing_attribute(&MissingAttribute<'_>);
    /// An item of a tuple is asked for, or an operator is about to be applied to a tuple and something that is none.
    on_tuple_use(&TupleUse<'_>);
    /// An attribute is read of a module in a wrapper, which may have it or not.
    on_hidden_attribute(&HiddenAttribute);
    /// Two values were compared, of which one at least is a tensor.
    on_tensor_compare(&TensorCompare<'_>);
    /// A loader is about to make its first batch, as its workers do.
    on_loader_call(&LoaderCall<'_>);
    /// A loader took a sample of its dataset.
    on_sample(&Value);
    /// A loader's first batch was made.
    on_loader_batch(&LoaderCall<'_>);
    /// A loader was made.
    on_loader(ObjId);
    /// All of the script was rehearsed.
    on_end(());
}

/// Who listens to the rehearsal, and what they remember.
pub(super) struct Listeners<'p> {
    hooks: &'p Hooks,
    memories: Memories,
    /// Events so far.
    moment: u32,
}

impl<'p> Listeners<'p> {
    pub(super) fn of(hooks: &'p Hooks) -> Listeners<'p> {
        Listeners { hooks, memories: Memories::default(), moment: 0 }
    }
}

/// What checkers remember over a whole rehearsal, whatever path is taken: one value of each type, which only
/// the checker that declares the type can name. What has to fork with the paths is a [`FlowState`].
#[derive(Default)]
struct Memories(FxHashMap<TypeId, Box<dyn Any>>);

impl Memories {
    fn of<M: Any + Default>(&mut self) -> Option<&mut M> {
        self.0.entry(TypeId::of::<M>()).or_insert_with(|| Box::new(M::default())).downcast_mut()
    }
}

impl Interp<'_> {
    /// How many events there were so far: which of two things came first.
    pub(crate) fn moment(&self) -> u32 {
        self.listeners.moment
    }

    /// Looks into, or changes, what a checker remembers.
    pub fn remember<M: Any + Default, R: Default>(&mut self, change: impl FnOnce(&mut M) -> R) -> R {
        self.listeners.memories.of().map(change).unwrap_or_default()
    }

    /// Takes what a checker remembers out, to put it back with `remember` where it is to stay.
    pub fn recall<M: Any + Default>(&mut self) -> M {
        self.listeners.memories.of::<M>().map(std::mem::take).unwrap_or_default()
    }

    /// What is left behind from here on can be asked for.
    pub(crate) fn trace_point(&self) -> TracePoint {
        let nodes = self.trace.last().map_or(0, Vec::len);
        TracePoint { nodes, observations: self.out.observations.len() }
    }

    /// What happened since then in the block that runs.
    pub fn nodes_since(&self, began: TracePoint) -> &[Node] {
        self.trace.last().and_then(|open| open.get(began.nodes..)).unwrap_or_default()
    }

    pub fn observed_since(&self, began: TracePoint) -> &[Observation] {
        self.out.observations.get(began.observations..).unwrap_or_default()
    }

    /// The same, for what has to say something else after all.
    pub(crate) fn observed_since_mut(&mut self, began: TracePoint) -> &mut [Observation] {
        self.out.observations.get_mut(began.observations..).unwrap_or_default()
    }

    /// Writes down something seen here, for the rules to find by its type.
    pub fn observe(&mut self, place: Place, what: impl Any, confidence: Confidence) {
        let at = self.at(place, confidence);
        self.observe_at(at, what);
    }

    /// The same for what the values at hand make certain: it stays where later iterations of a loop know less of them.
    pub fn observe_for_good(&mut self, place: Place, what: impl Any, confidence: Confidence) {
        let at = self.at(place, confidence);
        self.observe_at_for_good(at, what);
    }

    /// The same for something that is at fault elsewhere.
    pub fn observe_at_for_good(&mut self, at: At, what: impl Any) {
        let mut seen = Observation::new(at, what);
        seen.lasting = self.is_straight_ahead();
        self.out.observations.push(seen);
    }

    /// The same in a second iteration that is run by itself: it comes to each of its ways from what the first has left.
    pub fn observe_on_the_way(&mut self, place: Place, what: impl Any, confidence: Confidence) {
        let mut seen = Observation::new(self.at(place, confidence), what);
        seen.lasting = self.is_straight_ahead();
        if !seen.lasting && self.passes.second && self.passes.first_only == 0 {
            seen.lasting = true;
            seen.at.confidence = confidence.min(Confidence::Medium);
        }
        self.out.observations.push(seen);
    }

    /// Takes back what was seen since then, but what stays so.
    pub(super) fn forget_observations(&mut self, since: usize) {
        let later = self.out.observations.split_off(since);
        self.out.observations.extend(later.into_iter().filter(|seen| seen.lasting));
    }

    /// Whether the first iteration of all loops around comes here: no way since the outermost began leads elsewhere.
    pub(super) fn is_straight_ahead(&self) -> bool {
        let Some(outermost) = self.active.first() else { return true };
        let returns = self.frames.iter().skip(outermost.frames).any(|frame| !frame.exits.is_empty());
        outermost.arms == self.passes.arms && self.active.iter().all(ActiveLoop::goes_on) && !returns
    }

    /// The same for something that is at fault elsewhere.
    pub fn observe_at(&mut self, at: At, what: impl Any) {
        self.out.observations.push(Observation::new(at, what));
    }
}
