//! The timeline of one optimizer: the tree of a trace without whatever does not concern it, its effects as typed
//! events. Everything that is said of an optimizer is read off it; it is made once and kept by the script.

mod automaton;
mod powerset;
mod projection;
mod step_order;
mod view;

pub(crate) use automaton::{Automaton, LoopHead, Moment, reached, run};
pub(crate) use powerset::{Powerset, States, states};
pub(crate) use view::{Certainty, Parts, Whose, whose, with_submodules};

use crate::facts::Script;
use crate::report::{Confidence, Place};
use crate::source::still_wanted;
use crate::trace::{Asked, At, Effect, EntryPoint, FnKey, LoopId, Node};
use crate::values::{Int, ObjId, ObjSet, OptimizerState, Scaled};
use projection::Projection;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use ustr::Ustr;
use view::{OptimizerView, owned_parts};

/// What happens to one optimizer in one entry of a rehearsal.
pub(crate) struct Timeline {
    /// The entry, by its place among those of the rehearsal.
    pub entry: usize,
    /// The function whose body the entry is, if nothing called it.
    pub seeded: Option<FnKey>,
    pub optimizer: ObjId,
    /// What it owns, or the part of that whose timeline this is.
    pub state: OptimizerState,
    pub nodes: Vec<Node<Rc<OptimizerEvent>>>,
    /// Questions that decide more than once what happens to it, some of them at most.
    repeated: Vec<u32>,
    key: Key,
}

/// Something that happens to the optimizer, or to the gradients that it applies.
#[derive(Debug)]
pub(crate) struct OptimizerEvent {
    pub kind: Kind,
    pub place: Place,
    pub confidence: Confidence,
    /// Loops around it, outermost first, across calls.
    pub loops: Rc<[LoopId]>,
    /// Call sites that led there, outermost first.
    pub calls: Rc<[(Place, Ustr)]>,
    /// How often the branch around it is taken that a counter decides.
    pub pace: Option<Pace>,
    /// A counter, or an exception, decides whether the first iteration comes here.
    pub conditional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    pub every: Int,
    /// The user says how often.
    pub given: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Adds to the gradients.
    Backward { certainty: Certainty, scaled: Scaled },
    /// Applies the gradients, through a scaler or not.
    Step { whose: Whose, scaler: Option<ObjId> },
    /// The step is named and not called.
    NamedStep,
    /// Something steps that is not known.
    UnseenStep,
    /// The gradients are cleared, by the optimizer's own method or through what it owns.
    Clear { certainty: Certainty, own: bool },
    /// Gradients are cleared, and none of this optimizer's.
    ClearOther,
    /// What it owns was made anew, without gradients.
    Made(Certainty),
    /// The gradients are clipped.
    Clip(Certainty),
    /// A scaler divides the gradients by the scale.
    Unscale(Whose),
    /// It divides those of an optimizer that may be this one.
    MayUnscale,
    /// A scaler chooses the scale of the next iteration.
    Update { scaler: ObjId },
    /// A scaler multiplies a loss.
    Scale,
    /// The script learns the scale.
    ReadScale,
    /// A schedule of learning rates goes on.
    Schedule { scheduler: ObjId, whose: Whose },
    /// The branch that follows is taken every so often.
    Paced(Pace),
    /// A call that is not understood got hold of something.
    Touched(Touched),
    /// Gradients that may be its own are changed in place, such as clipped by hand: all that was added is in them.
    Changed,
    /// Gradients were looked at: its own, or else some that may be.
    Read(Certainty),
    /// An optimizer took these parameters as they were then.
    Gathered { own: bool, parts: Rc<ObjSet> },
    /// A part of a module was replaced.
    Replaced { owner: ObjId, part: ObjId },
}

/// What a call that is not understood got hold of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touched {
    /// The optimizer itself.
    pub optimizer: bool,
    /// The optimizer, or something through which its gradients may be reached.
    pub gradients: bool,
    /// The same, so that they may be cleared.
    pub clears: bool,
    /// A scaler of gradients.
    pub scaler: bool,
}

impl OptimizerEvent {
    pub(crate) fn is_backward(&self) -> bool {
        matches!(self.kind, Kind::Backward { .. })
    }

    pub(crate) fn is_own_step(&self) -> bool {
        matches!(self.kind, Kind::Step { whose: Whose::Own, .. })
    }

    pub(crate) fn is_in(&self, iteration: LoopId) -> bool {
        self.loops.contains(&iteration)
    }
}

impl Timeline {
    /// Whether anything of a kind happens.
    pub(crate) fn any(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        any(&self.nodes, &|event: &OptimizerEvent| wanted(&event.kind))
    }

    pub(crate) fn at(&self, event: &OptimizerEvent, confidence: Confidence) -> At {
        At {
            place: event.place,
            loops: event.loops.clone(),
            calls: event.calls.clone(),
            seeded: self.seeded,
            confidence: confidence.min(event.confidence),
        }
    }
}

/// Whether an event is in a part of a timeline.
pub(crate) fn any(nodes: &[Node<Rc<OptimizerEvent>>], wanted: &dyn Fn(&OptimizerEvent) -> bool) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => wanted(event),
        Node::Loop { body, .. } | Node::Call { body, .. } => any(body, wanted),
        Node::Branch { arms, .. } => arms.iter().any(|arm| any(arm, wanted)),
        Node::Exit(_) => false,
    })
}

/// What was asked for so far.
#[derive(Default)]
pub struct Timelines {
    made: RefCell<FxHashMap<Key, Rc<Timeline>>>,
    who_steps: OnceCell<WhoSteps>,
}

/// Who steps in a rehearsal.
struct WhoSteps {
    by_entry: Vec<Stepping>,
    /// Those of all entries.
    anywhere: ObjSet,
    /// Something steps that is not known.
    unseen: bool,
}

/// The optimizers that step in an entry.
struct Stepping {
    all: ObjSet,
    /// Those whose own `zero_grad` is called there, too: each goes round by itself.
    cleared: ObjSet,
}

/// What a timeline is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    entry: usize,
    optimizer: ObjId,
    owns: ObjSet,
    alone: bool,
    supposed: Option<Asked>,
}

/// So many questions are answered both ways.
const MOST_QUESTIONS: usize = 4;

impl Script<'_> {
    /// The timelines of the optimizers that step in an entry, of all entries.
    pub(crate) fn timelines(&self, parts: Parts) -> Vec<Rc<Timeline>> {
        let entries = self.who_steps().by_entry.iter().enumerate();
        entries.flat_map(|(entry, stepping)| self.timelines_in(entry, &stepping.all, parts)).collect()
    }

    /// The timelines of several optimizers in one entry, among which a call has to be told.
    pub(crate) fn timelines_in(&self, entry: usize, among: &ObjSet, parts: Parts) -> Vec<Rc<Timeline>> {
        let heap = &self.rehearsal.heap;
        let mut all = Vec::new();
        for optimizer in among.iter() {
            let Some(state) = heap.get(optimizer).optimizer() else { continue };
            for owns in owned_parts(state, parts) {
                let state = OptimizerState { owns, ..state.clone() };
                // Another that owns the same takes part in all that is done to this one.
                let alone = among.iter().all(|other| whose(heap, optimizer, &state, other).is_some());
                all.push(self.timeline(Key { entry, optimizer, owns: state.owns, alone, supposed: None }));
            }
        }
        all
    }

    /// The same as `timelines`, but where an option decides twice: then there is one with each of its answers in the
    /// place of the timeline in which it is answered anew each time.
    pub(crate) fn timelines_by_options(&self, parts: Parts) -> Vec<Rc<Timeline>> {
        let apart = |timeline: Rc<Timeline>| match self.supposing(&timeline) {
            answered if answered.is_empty() => vec![timeline],
            answered => answered.into_iter().flatten().collect(),
        };
        self.timelines(parts).into_iter().flat_map(apart).collect()
    }

    /// A timeline with either answer to each question that decides about it more than once.
    pub(crate) fn supposing(&self, timeline: &Timeline) -> Vec<[Rc<Timeline>; 2]> {
        let answered = |question: u32, holds: bool| {
            let supposed = Some(Asked { question, holds });
            self.timeline(Key { supposed, ..timeline.key.clone() })
        };
        timeline.repeated.iter().map(|one| [answered(*one, true), answered(*one, false)]).collect()
    }

    fn timeline(&self, key: Key) -> Rc<Timeline> {
        let Key { entry, optimizer, .. } = key;
        if let Some(known) = self.timelines.made.borrow().get(&key) {
            return known.clone();
        }
        still_wanted(self.rehearsal.loops.len() + 1);
        let body = &self.rehearsal.entries[entry];
        let apart = &self.who_steps().by_entry[entry].cleared;
        let own = self.rehearsal.heap.get(optimizer).optimizer().cloned().unwrap_or_default();
        let state = OptimizerState { owns: key.owns.clone(), ..own };
        let view = OptimizerView::new(&self.rehearsal.heap, optimizer, state, key.alone, apart);
        let mut projection = Projection::new(&view, key.supposed);
        let nodes = projection.sequence(&body.nodes).0;
        let repeated = match key.supposed {
            None => repeated(&projection.questions),
            Some(_) => Vec::new(),
        };
        let OptimizerView { state, .. } = view;
        let seeded = body.function;
        let made = Rc::new(Timeline { entry, seeded, optimizer, state, nodes, repeated, key: key.clone() });
        self.timelines.made.borrow_mut().insert(key, made.clone());
        made
    }

    /// The optimizers that step anywhere.
    pub(crate) fn stepping_optimizers(&self) -> &ObjSet {
        &self.who_steps().anywhere
    }

    /// Whether an optimizer steps in an entry and is cleared there by itself: it stands for no other one then.
    pub(crate) fn goes_round_alone(&self, optimizer: ObjId, entry: usize) -> bool {
        self.who_steps().by_entry[entry].cleared.contains(optimizer)
    }

    /// The optimizers that step in an entry.
    pub(crate) fn stepping_in(&self, entry: usize) -> &ObjSet {
        &self.who_steps().by_entry[entry].all
    }

    /// Whether those of the optimizers that may be meant step in other entries only, each beside clearing it.
    pub(crate) fn steps_only_elsewhere(&self, entry: usize, meant: &dyn Fn(ObjId) -> bool) -> bool {
        let entries = self.who_steps().by_entry.iter().enumerate();
        let mut stepping = entries
            .flat_map(|(at, stepping)| stepping.all.iter().map(move |optimizer| (at, stepping, optimizer)));
        stepping.all(|(at, stepping, optimizer)| {
            !meant(optimizer) || at != entry && stepping.cleared.contains(optimizer)
        })
    }

    /// Whether no other optimizer steps in an entry.
    pub(crate) fn steps_alone(&self, optimizer: ObjId, entry: usize) -> bool {
        self.who_steps().by_entry[entry].all.iter().all(|other| other == optimizer)
    }

    /// Whether anything updates parameters, or may.
    pub(crate) fn steps_anywhere(&self) -> bool {
        self.steps_unseen() || self.who_steps().by_entry.iter().any(|stepping| !stepping.all.is_empty())
    }

    /// Whether something steps that is not known.
    pub(crate) fn steps_unseen(&self) -> bool {
        self.who_steps().unseen
    }

    fn who_steps(&self) -> &WhoSteps {
        self.timelines.who_steps.get_or_init(|| WhoSteps::of(&self.rehearsal.entries))
    }
}

/// Those that are there more than once.
fn repeated(questions: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        if found.len() < MOST_QUESTIONS && !found.contains(question) && questions[..index].contains(question)
        {
            found.push(*question);
        }
    }
    found
}

impl WhoSteps {
    fn of(entries: &[EntryPoint]) -> WhoSteps {
        let mut steps = WhoSteps {
            by_entry: Vec::with_capacity(entries.len()),
            anywhere: ObjSet::default(),
            unseen: false,
        };
        for entry in entries {
            let (mut all, mut cleared) = (ObjSet::default(), ObjSet::default());
            each_effect(&entry.nodes, &mut |_, effect| match effect {
                Effect::Step { optimizer, .. } => all.insert(*optimizer),
                Effect::Clear { targets, .. } => targets.iter().for_each(|object| cleared.insert(object)),
                Effect::UnseenStep => steps.unseen = true,
                _ => {}
            });
            let cleared = cleared.iter().filter(|object| all.contains(*object)).collect();
            steps.by_entry.push(Stepping { all, cleared });
        }
        steps.anywhere = steps.by_entry.iter().flat_map(|stepping| stepping.all.iter()).collect();
        steps
    }
}

pub(crate) fn each_effect(nodes: &[Node], see: &mut dyn FnMut(Place, &Effect)) {
    for node in nodes {
        match node {
            Node::Event(event) => see(event.place, &event.effect),
            Node::Loop { body, .. } | Node::Call { body, .. } => each_effect(body, see),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| each_effect(arm, see)),
            Node::Exit(_) => {}
        }
    }
}
