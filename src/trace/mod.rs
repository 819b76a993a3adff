//! What a rehearsal leaves behind: a tree of effects in the order they happen, and the things seen on
//! the way. Plain data; `walk` answers path questions about it. Knows no rule and no framework.

pub mod called;
pub mod observation;
pub mod visit;
pub mod walk;

pub use called::Called;
pub use observation::Observation;
pub use visit::{Visit, visits};
pub use walk::{Protocol, Way, walk};

use crate::apis::{Expects, LossSpec};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::FnId;
use crate::values::{Heap, Int, Mode, ObjId, ObjSet, Part, Scaled, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

/// What code that is not seen may do to the gradients that it gets hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    Nothing,
    /// It may add to them, scale them or read them: what backward passes added is still in them.
    Writes,
    Anything,
}

/// A loop of the trace, by its place in [`Rehearsal::loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(pub u32);

/// A function of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnKey {
    pub file: FileId,
    pub function: FnId,
}

/// The tree of what happens; a projection of it has events of its own.
#[derive(Debug)]
pub enum Node<E = Event> {
    Event(E),
    Loop {
        id: LoopId,
        body: Vec<Node<E>>,
    },
    Branch {
        when: When,
        arms: Vec<Vec<Node<E>>>,
    },
    /// The body of an inlined call.
    Call {
        site: Place,
        name: Ustr,
        body: Vec<Node<E>>,
    },
    Exit(Exit),
}

/// What decides which arm of a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Unknown,
    /// A counter modulo something: the arms alternate.
    Phase,
    /// A counter against a number: one arm first, the other later.
    Counter,
    /// The first arm is taken in the first iteration of this loop, and the others in those after it.
    First(LoopId),
    /// The other way round.
    Later(LoopId),
    /// The second arm is what a handler does.
    Exception,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Return,
    Break,
    Continue,
    Raise,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub place: Place,
    pub effect: Effect,
    /// It happens to this object or to none of those named (an unknown receiver).
    pub confidence: Confidence,
}

#[derive(Clone, Debug)]
pub enum Effect {
    /// Walks the graph of `loss` and adds to the gradients of `leaves`.
    Backward { leaves: ObjSet, others: bool, scaled: Scaled },
    /// Applies the gradients of what the optimizer owns, divided by the scale where a scaler does it.
    Step { optimizer: ObjId, scaler: Option<ObjId> },
    /// The gradients of these are clipped; not of all their parameters, where not `whole`.
    Clip { targets: ObjSet, whole: bool },
    /// What else a scaler of gradients does.
    Scaler { scaler: ObjId, act: ScalerAct },
    /// Something steps that is not known: it may be any optimizer.
    UnseenStep,
    /// The step of an optimizer is named and not called.
    NamedStep { optimizer: ObjId },
    /// A schedule goes on to its next learning rate.
    Schedule { scheduler: ObjId, optimizer: Option<ObjId> },
    /// The branch that follows is taken every so often; `given` where the user says how often.
    Paced { every: Int, given: bool },
    /// The questions that decide the branch that follows, arm by arm.
    Asked { tests: Rc<[ArmTest]> },
    /// The gradients of an optimizer's, module's or parameter's are cleared.
    Clear { targets: ObjSet, whole: bool },
    /// A call that is not understood got hold of these, and may do this to their gradients, and put them into another mode.
    Touch { objects: ObjSet, does: Does, sets_modes: bool },
    /// The gradients of these are written; what backward passes added is still in them, where `kept`.
    WriteGradients { objects: ObjSet, kept: bool },
    /// The gradients of these were looked at.
    Read { objects: ObjSet },
    /// A module or parameter was made anew: it has no gradients.
    Made { object: ObjId },
    /// A framework is told how to train a model.
    Compiled { model: ObjId },
    /// A framework trains a model as it was compiled: for epochs, or one step.
    Fitted { model: ObjId, one_step: bool },
    /// These learn from the next compilation on, or no longer do.
    Trainable { objects: ObjSet, learns: Option<bool> },
    /// Free memory is looked for and handed back.
    Empty { what: Emptied },
    /// An optimizer gathered the parameters of all these, as they were then.
    Gather { optimizer: ObjId, parts: Rc<ObjSet>, remembers: bool },
    /// A part of a module was replaced, or added where its forward uses it.
    Replace { owner: ObjId, part: ObjId },
    /// Parameters were drawn again, as when their modules were made.
    Redraw { objects: ObjSet },
    /// Parameters got values from elsewhere.
    Restore { objects: ObjSet },
    /// A forward of a module, and whether gradients are recorded.
    Forward { module: ObjId, grad: Option<bool> },
    /// A module and all inside it are put into a mode; some module that we do not see is.
    Mode { module: Option<ObjId>, mode: Mode },
    /// A model that is made in evaluation mode, which nobody chose for it.
    MadeInEval { module: ObjId },
}

/// A question that has one answer wherever it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    pub question: u32,
    /// The answer with which the arm is taken.
    pub holds: bool,
}

/// What has to hold for an arm to be taken, where none before it is.
#[derive(Clone, Debug, Default)]
pub struct ArmTest {
    /// What decides it; `None` of a question whose answer may change.
    pub decides: Option<Asked>,
    /// What has to hold as well: the parts of a conjunction.
    pub needs: Box<[Asked]>,
}

impl ArmTest {
    pub fn questions(&self) -> impl Iterator<Item = u32> {
        self.decides.iter().chain(&self.needs).map(|asked| asked.question)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// What the framework keeps of the GPU's memory for later.
    Cache,
    /// Objects of the language that nothing leads to.
    Garbage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalerAct {
    /// Divides the gradients of an optimizer by the scale, in place.
    Unscale(ObjId),
    /// Chooses the scale of the next iteration.
    Update,
    /// Multiplies a loss.
    Scale,
    /// Tells its scale: the script may do any of this by itself.
    Read,
}

#[derive(Clone, Debug)]
pub struct LoopInfo {
    pub place: Place,
    pub over: Over,
    /// The pass in which it first ran: what is older was made outside.
    pub first: u32,
    /// Enclosing loops, outermost first, across calls.
    pub outer: Rc<[LoopId]>,
    /// Objects from before an iteration that it writes into, or that stand for another one in each.
    pub changed: ObjSet,
    /// How many iterations it has, where that is known.
    pub count: crate::values::Int,
    /// It is part of what a model computes: a method of the model holds it.
    pub of_model: bool,
}

/// What a loop goes through.
#[derive(Clone, Debug)]
pub enum Over {
    Loader(ObjId),
    /// `range`, `count`, `while`: numbers.
    Counter,
    Other,
}

/// Where something was seen.
#[derive(Clone, Debug)]
pub struct At {
    pub place: Place,
    /// Loops around it, outermost first, across calls.
    pub loops: Rc<[LoopId]>,
    /// Call sites that led there, outermost first.
    pub calls: Rc<[(Place, Ustr)]>,
    /// The function that was rehearsed without its callers.
    pub seeded: Option<FnKey>,
    pub confidence: Confidence,
}

impl At {
    /// What the text alone shows, whatever leads there.
    pub fn of_text(place: Place, confidence: Confidence) -> At {
        At { place, loops: Rc::from([]), calls: Rc::from([]), seeded: None, confidence }
    }

    /// Another place, if it lies in the same file.
    pub fn beside(&self, other: Option<Place>) -> Option<Place> {
        other.filter(|other| other.file == self.place.file && *other != self.place)
    }
}

#[derive(Clone, Debug)]
pub enum Sight {
    /// A loss was computed.
    Loss(Rc<Loss>),
    /// A model was told the loss that it is trained with.
    Compiled(Rc<CompiledLoss>),
    /// A value of a framework was asked for an attribute that the tables do not know; its class.
    UnknownAttribute { class: Ustr, name: Ustr },
    /// `backward` on a tensor.
    Backward { loss: Rc<Tensor>, has_gradient: bool },
    /// Gradients of this were asked for as values; nothing accumulates.
    Walked { loss: Rc<Tensor>, returned: bool },
    /// A backward of something that we do not see: it may walk any graph.
    BlindBackward,
    /// Gradients of something that we do not see were asked for as values.
    BlindWalk,
    /// A module ran.
    Forward(Rc<Forward>),
    /// A loader was built.
    Loader {
        loader: ObjId,
        dataset: Value,
        length: crate::values::Int,
        length_place: Option<Place>,
        batch_size: Value,
        batch_place: Place,
    },
    /// A framework trains a model on what this loader gives, or scores one on it.
    GoneThrough { loader: ObjId, trains: bool },
    /// A framework runs the whole training.
    Fit {
        batch_size: Value,
        batch_place: Option<Place>,
        length: crate::values::Int,
        data: Value,
        /// Bytes that the layers keep of one batch, as far as their sizes are known.
        kept: u64,
        /// The losses of its outputs, each with what that is to be: all labels, or those of a batch.
        losses: Vec<(Rc<CompiledLoss>, Value)>,
    },
}

/// A tensor was placed on the GPU.
#[derive(Clone, Debug)]
pub struct PlacedOnGpu {
    pub tensor: Rc<Tensor>,
    /// The framework puts it there without being asked.
    pub unasked: bool,
}

/// A backward comes to what the backward of an earlier iteration went through.
pub struct GraphUsedAgain {
    /// Where that was recorded.
    pub recorded: Place,
    /// Each backward retains its graph, so that the next can go through it.
    pub kept: bool,
}

/// A backward comes to what another one has freed in the same iteration.
pub struct GraphFreed {
    /// Where that was recorded.
    pub recorded: Place,
    /// The backward that freed it.
    pub freed: Place,
}

/// A backward is told to retain its graph, all of which was recorded in the same iteration.
pub struct GraphRetained;

#[derive(Clone, Debug)]
pub struct Forward {
    pub module: ObjId,
    pub name: Rc<str>,
    pub mode: Mode,
    /// It has put itself into training mode, whichever it was in before.
    pub leaves_eval: bool,
    /// The class of a part that is in training mode, and does something else there than in evaluation.
    pub in_training: Option<Rc<str>>,
    /// Such a part ran: what a forward leaves out changes nothing.
    pub ran_in_training: bool,
    /// Whether gradients are recorded; `None` when that is not known.
    pub grad: Option<bool>,
    /// Where the script said last that an input is to record none, which newer releases no longer heed.
    pub volatile: Option<Place>,
    pub input: Option<Rc<Tensor>>,
    /// The input was drawn at random.
    pub drawn: bool,
    pub output: Value,
    /// Its parameters ask for gradients.
    pub learns: bool,
    /// Bytes that its layers keep for the way back, as far as their sizes are known.
    pub kept: u64,
    /// What becomes of its graph: see [`Rehearsal::walked`].
    pub graph: u32,
    /// What its layers recorded, as places in [`Rehearsal::parts`].
    pub parts: std::ops::Range<u32>,
}

/// A loss that was computed.
#[derive(Clone, Debug)]
pub struct Loss {
    pub loss: Ustr,
    pub spec: LossSpec,
    /// What it expects of its input, once its arguments are known.
    pub expects: Expects,
    pub input: Value,
    pub input_place: Place,
    pub target: Value,
    /// Where it was created, if it is an object.
    pub made: Option<Place>,
    /// A test leads here, which may tell which loss it is.
    pub in_arm: bool,
}

/// The loss that a model was compiled with, and what its last layer does.
#[derive(Clone, Debug)]
pub struct CompiledLoss {
    pub model: ObjId,
    pub loss: Ustr,
    pub spec: LossSpec,
    pub expects: Expects,
    pub place: Place,
    pub output: Value,
}

/// A part of a graph: what one call of a layer recorded, or a module around several.
#[derive(Clone, Debug)]
pub struct GraphPart {
    pub place: Place,
    /// The pass of a loop in which it was recorded.
    pub epoch: u32,
    /// The innermost loop in which it was recorded.
    pub within: Option<LoopId>,
    /// The layer, where we do not see what it does.
    pub hidden: Option<ObjId>,
    /// The layer, where it is one that is seen and in training mode.
    pub layer: Option<ObjId>,
    pub inner: Rc<[Part]>,
    /// The backward passes that walk it, by their place in [`Rehearsal::walks`].
    pub walks: Vec<u32>,
    /// It went where we do not see who walks it.
    pub escaped: bool,
    /// It went there before anybody walked it, or when a step had changed what it was computed of.
    pub told: bool,
}

/// A backward pass of the rehearsal; one for each time that it was rehearsed.
#[derive(Clone, Debug)]
pub struct BackwardPass {
    pub place: Place,
    /// The loops around it.
    pub loops: Rc<[LoopId]>,
    /// Whether it keeps the graph; `None` when that is not known.
    pub retains: Option<bool>,
    /// It walks more than the parts that we know.
    pub others: bool,
    /// Code that is not seen ran while the graph that it kept was of use.
    pub open: bool,
}

/// Everything that one rehearsal of a file found.
#[derive(Default)]
pub struct Rehearsal {
    /// One sequence for each entry: the module's body, then each function nobody called.
    pub entries: Vec<EntryPoint>,
    pub loops: Vec<LoopInfo>,
    pub observations: Vec<Observation>,
    /// Where those of each type are, once a rule asks.
    pub by_type: observation::ByType,
    /// Ids of carried graphs that a backward went through, or may have.
    pub consumed: rustc_hash::FxHashSet<u32>,
    /// Graphs that functions got hold of that are not seen: they may go back through them.
    pub handed_over: rustc_hash::FxHashSet<u32>,
    /// Those of them that a backward went through.
    pub backpropagated: rustc_hash::FxHashSet<u32>,
    /// Ids of graphs that a function rehearsed without its callers returned: they may walk them.
    pub returned: rustc_hash::FxHashSet<u32>,
    /// Modules and parameters that a graph led to at the exit of a module, or at a backward.
    pub reached: rustc_hash::FxHashSet<ObjId>,
    /// A backward walked a graph of which nothing is known.
    pub blind_backward: bool,
    /// Modules whose weights the script hands out, as it does to save them.
    pub saved: ObjSet,
    /// Modules that are loaded on some way only, from what is not seen; and those that are loaded otherwise.
    pub resumed: ObjSet,
    pub copied: ObjSet,
    /// Modules whose graphs a backward walked, or may have.
    pub walked: ObjSet,
    /// What layers recorded, in the order of the rehearsal.
    pub parts: Vec<GraphPart>,
    pub backward_passes: Vec<BackwardPass>,
    /// Where graphs were walked of which nothing is known.
    pub unknown_backwards: rustc_hash::FxHashSet<Place>,
    pub heap: Heap,
    /// Names of the symbols in sizes.
    pub symbols: Vec<Rc<str>>,
    /// Functions rehearsed with real arguments.
    pub called: Called,
    /// Losses that nothing called, and that were rehearsed with parameters for which they take them.
    pub supposed: Vec<FnKey>,
    pub out_of_fuel: bool,
    /// The files that ran for it, in their order.
    pub read: Vec<FileId>,
    /// What unknown things were taken for.
    pub assumptions: Vec<Assumption>,
    /// Something was put on the GPU, or on a device that is chosen at run time.
    pub uses_gpu: bool,
}

/// What something unknown was taken for.
#[derive(Clone, Debug)]
pub struct Assumption {
    pub name: Ustr,
    /// `an optimizer`
    pub role: &'static str,
    /// What says so: `it steps after a backward pass`
    pub reason: &'static str,
    pub because: Place,
    /// The function whose variable it is, or the class whose attribute.
    pub within: Option<Span>,
}

pub struct EntryPoint {
    /// `None` for the module's body.
    pub function: Option<FnKey>,
    pub nodes: Vec<Node>,
}

impl Rehearsal {
    /// All that was seen of one type, in the order of the rehearsal.
    pub fn observed<T: std::any::Any>(&self) -> impl Iterator<Item = (&At, &T)> {
        self.observed_at(self.by_type.of::<T>(&self.observations))
    }

    /// Where those of one type are in the list of all that count.
    pub fn positions<T: std::any::Any>(&self, counts: impl Fn(&T) -> bool) -> impl Iterator<Item = u32> {
        let found = self.by_type.of::<T>(&self.observations).iter().copied();
        found.filter(move |at| self.observations[*at as usize].get().is_some_and(&counts))
    }

    /// Those of one type among these.
    pub fn observed_at<'o, T: std::any::Any>(
        &'o self,
        positions: &[u32],
    ) -> impl Iterator<Item = (&'o At, &'o T)> {
        let found = positions.iter().filter_map(|at| self.observations.get(*at as usize));
        found.filter_map(|seen| Some((&seen.at, seen.get()?)))
    }

    /// Whether somebody goes back through a graph, or may, but for the callers of the function that made it.
    pub fn is_used(&self, graph: &u32) -> bool {
        self.consumed.contains(graph) || self.handed_over.contains(graph)
    }

    pub fn loop_info(&self, id: LoopId) -> &LoopInfo {
        &self.loops[id.0 as usize]
    }
}
