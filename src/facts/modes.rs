//! In which mode models train and are evaluated. An automaton follows the mode of one model round the loops:
//! what an evaluation left behind is what the next epoch trains in.

use super::{Places, Script, walked};
use crate::interp::modules::descendants;
use crate::report::{Confidence, Place, replay};
use crate::trace::{At, Effect, Entry, Event, Forward, LoopId, Node, Over, Protocol, Sight, Way, walk};
use crate::values::{Graph, Learned, Mode, ModuleState, ObjId, ObjSet, State};
use std::rc::Rc;

/// What a model gave was compared with something that no model gave.
pub struct Scored;

/// A model that trains on in evaluation mode.
pub struct StuckInEval {
    pub at: At,
    pub model: String,
    /// What put it there.
    pub eval: Place,
    /// It is in evaluation mode on every way round.
    pub always: bool,
    /// The innermost loop that trains evaluates, too.
    pub in_same_round: bool,
    pub modes: replay::Modes,
}

/// An evaluation in training mode.
pub struct EvaluatedInTraining {
    pub at: At,
    pub model: Rc<str>,
    /// A layer that does something else in training.
    pub layer: Rc<str>,
    pub layer_is_model: bool,
    pub modes: replay::Modes,
}

/// Of more models in one entry only so many are followed.
const MOST_MODELS: usize = 12;

/// Modes that a model may be in, as a set.
type Modes = u8;
/// As it was when the script came by it.
const GIVEN: Modes = 1;
const TRAIN: Modes = 2;
const EVAL: Modes = 4;
/// Some parts in one mode and some in another, or somebody we cannot see set it.
const OTHER: Modes = 8;

/// The mode of one model, along a way.
struct Turn<'s, 'a> {
    script: &'s Script<'a>,
    model: ObjId,
    /// The parts whose output depends on the mode.
    swaying: ObjSet,
    parts: ObjSet,
    trained: Vec<Trained>,
    /// The loops around what puts the model into training, and into evaluation.
    to_train: Vec<Vec<LoopId>>,
    to_eval: Vec<(Place, Vec<LoopId>)>,
}

#[derive(Clone, PartialEq)]
struct Now {
    modes: Modes,
    /// The latest evaluation mode.
    eval: Option<Place>,
    /// The forward whose graph is still to be walked.
    ran: Option<Ran>,
}

#[derive(Clone, PartialEq)]
struct Ran {
    place: Place,
    modes: Modes,
    eval: Option<Place>,
    confidence: Confidence,
}

/// A forward whose graph a backward walked.
struct Trained {
    ran: Ran,
    settled: bool,
    loops: Vec<LoopId>,
    calls: Vec<(Place, ustr::Ustr)>,
}

impl Turn<'_, '_> {
    fn inside(&self, object: ObjId) -> ObjSet {
        descendants(&self.script.rehearsal.heap, object)
    }

    fn set(&mut self, state: &mut Now, module: Option<ObjId>, mode: Mode, event: &Event, way: &Way) {
        let Some(module) = module else {
            state.modes = OTHER;
            return;
        };
        let targets = self.inside(module);
        let covered = self.swaying.iter().filter(|part| targets.contains(*part)).count();
        if covered == 0 {
            return;
        }
        let whole = covered == self.swaying.len();
        state.modes = match mode {
            Mode::Train if whole => TRAIN,
            Mode::Eval if whole => EVAL,
            // A part is brought to where the whole is already.
            Mode::Train if state.modes == TRAIN => TRAIN,
            Mode::Eval if state.modes == EVAL => EVAL,
            _ => OTHER,
        };
        if state.modes == EVAL {
            state.eval = Some(event.place);
        }
        if way.settled {
            match mode {
                Mode::Eval => self.to_eval.push((event.place, way.loops.clone())),
                _ => self.to_train.push(way.loops.clone()),
            }
        }
    }

    /// Whether a backward reaches the model.
    fn reaches(&self, leaves: &ObjSet) -> bool {
        leaves.iter().any(|leaf| self.parts.contains(leaf) || self.inside(leaf).contains(self.model))
    }
}

impl Protocol for Turn<'_, '_> {
    type State = Now;
    type Event = Event;

    fn join(&self, a: &Now, b: &Now) -> Now {
        let ran = match (&a.ran, &b.ran) {
            (Some(x), Some(y)) if x.place == y.place => {
                Some(Ran { modes: x.modes | y.modes, eval: x.eval.or(y.eval), ..x.clone() })
            }
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        Now { modes: a.modes | b.modes, eval: a.eval.or(b.eval), ran }
    }

    /// The second iteration decides: what was before the loop says nothing about the way round.
    fn joins_entry(&self) -> bool {
        false
    }

    fn event(&mut self, state: &mut Now, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Mode { module, mode } => self.set(state, *module, *mode, event, way),
            Effect::Touch { objects } if objects.iter().any(|object| self.parts.contains(object)) => {
                state.modes |= OTHER;
            }
            Effect::Made { object } if *object == self.model => state.modes = GIVEN,
            Effect::Forward { module, grad } if *module == self.model && *grad != Some(false) => {
                let (place, confidence) = (event.place, event.confidence);
                state.ran = Some(Ran { place, modes: state.modes, eval: state.eval, confidence });
            }
            Effect::Backward { leaves, .. } if self.reaches(leaves) => {
                if let Some(ran) = state.ran.take() {
                    let (loops, calls) = (way.loops.clone(), way.calls.clone());
                    self.trained.push(Trained { ran, settled: way.settled, loops, calls });
                }
            }
            _ => {}
        }
    }
}

/// What was last done before an evaluation.
struct Since<'s, 'a> {
    script: &'s Script<'a>,
    place: Place,
    parts: ObjSet,
    on_purpose: bool,
}

/// The model was put into training mode.
const PUT: u8 = 1;
/// Something was trained, or nothing was done yet.
const TRAINED: u8 = 2;

impl Protocol for Since<'_, '_> {
    type State = u8;
    type Event = Event;

    fn join(&self, a: &u8, b: &u8) -> u8 {
        a | b
    }

    fn event(&mut self, state: &mut u8, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Mode { module: Some(module), mode: Mode::Train } => {
                let inside = descendants(&self.script.rehearsal.heap, *module);
                if inside.iter().any(|part| self.parts.contains(part)) {
                    *state = PUT;
                }
            }
            Effect::Backward { .. } | Effect::Step { .. } => *state = TRAINED,
            Effect::Forward { .. } if event.place == self.place && way.settled => {
                self.on_purpose |= *state == PUT;
            }
            _ => {}
        }
    }
}

impl<'a> Script<'a> {
    pub fn stuck_in_eval(&self) -> Vec<StuckInEval> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for entry in &self.rehearsal.entries {
            let mut models = ObjSet::default();
            trained_models(&entry.nodes, &mut models);
            if !steps(&entry.nodes) {
                continue;
            }
            for model in models.iter().take(MOST_MODELS) {
                let Some(turn) = self.turn(entry, model) else { continue };
                for stuck in turn.stuck(entry) {
                    if seen.insert(stuck.eval) {
                        found.push(stuck);
                    }
                }
            }
        }
        found
    }

    fn turn<'s>(&'s self, entry: &Entry, model: ObjId) -> Option<Turn<'s, 'a>> {
        let heap = &self.rehearsal.heap;
        let parts = descendants(heap, model);
        let sways = |part: &ObjId| heap.get(*part).module().is_some_and(ModuleState::sways);
        let swaying: ObjSet = parts.iter().filter(sways).collect();
        if swaying.is_empty() {
            return None;
        }
        let mut turn = Turn {
            script: self,
            model,
            swaying,
            parts,
            trained: Vec::new(),
            to_train: Vec::new(),
            to_eval: Vec::new(),
        };
        walk(&mut turn, &entry.nodes, Now { modes: GIVEN, eval: None, ran: None });
        Some(turn)
    }

    /// Evaluations of a model that the script trains, or has loaded as it was trained, with layers that still behave as in training.
    pub fn evaluated_in_training(&self) -> Vec<EvaluatedInTraining> {
        let mut found: Vec<EvaluatedInTraining> = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::Forward(forward) = sight else { continue };
            let Some(layer) = &forward.in_training else { continue };
            if forward.mode != Mode::Train {
                continue;
            }
            let Some(confidence) = self.evaluation(at, forward) else { continue };
            // One call of `eval` helps all forwards of a function.
            let known = found.iter().any(|other| other.at.calls == at.calls && other.at.loops == at.loops);
            if known || !seen.insert(at.place) {
                continue;
            }
            let opaque = self.rehearsal.heap.get(forward.module).module();
            found.push(EvaluatedInTraining {
                at: At { confidence: at.confidence.min(confidence), ..at.clone() },
                model: forward.name.clone(),
                layer: layer.clone(),
                layer_is_model: opaque.is_some_and(|module| module.weights == Learned::Opaque),
                modes: replay::Modes { evaluated_in_training: true, ..self.dropping() },
            });
        }
        found
    }

    /// How sure it is that a forward evaluates, in a mode that nobody chose for it.
    fn evaluation(&self, at: &At, forward: &Forward) -> Option<Confidence> {
        let evaluates = match self.is_trained(forward.module) {
            true => self.evaluates(at, forward),
            false => self.infers(at, forward),
        };
        evaluates.filter(|_| !self.was_put_there(at, forward.module))
    }

    /// The modes in which the script evaluates models with layers that mind, for replays.
    pub fn modes_of_evaluations(&self) -> Vec<replay::Modes> {
        let heap = &self.rehearsal.heap;
        let sways = |part: ObjId| heap.get(part).module().is_some_and(ModuleState::sways);
        let mode = |(at, sight): (&At, &Sight)| {
            let Sight::Forward(forward) = sight else { return None };
            let minds = descendants(heap, forward.module).iter().any(sways);
            let known = matches!(forward.mode, Mode::Train | Mode::Eval);
            (minds && known).then(|| self.evaluation(at, forward)).flatten()?;
            Some(replay::Modes { evaluated_in_training: forward.in_training.is_some(), ..self.dropping() })
        };
        self.sightings().filter_map(mode).collect()
    }

    /// And in which it trains them, from the second round on.
    pub fn modes_of_trainings(&self) -> Vec<replay::Modes> {
        let mut found = Vec::new();
        for entry in self.rehearsal.entries.iter().filter(|entry| steps(&entry.nodes)) {
            let mut models = ObjSet::default();
            trained_models(&entry.nodes, &mut models);
            let turns = models.iter().take(MOST_MODELS).filter_map(|model| self.turn(entry, model));
            let turns: Vec<Turn> = turns.collect();
            let settled = turns.iter().flat_map(|turn| turn.trained.iter().filter(|one| one.settled));
            found.extend(settled.map(|one| replay::Modes {
                learns_in_training: one.ran.modes & EVAL == 0,
                ..self.dropping()
            }));
        }
        found
    }

    /// Whether the model was put into training mode for the evaluation itself: nothing trained since.
    fn was_put_there(&self, at: &At, model: ObjId) -> bool {
        let parts = descendants(&self.rehearsal.heap, model);
        let mut since = Since { script: self, place: at.place, parts, on_purpose: false };
        let mut entries = self.rehearsal.entries.iter().filter(|entry| entry.function == at.seeded);
        let settles = entries.all(|entry| walk(&mut since, &entry.nodes, TRAINED));
        since.on_purpose || !settles
    }

    /// Whether gradients of the script's optimizers reach a model.
    fn is_trained(&self, module: ObjId) -> bool {
        let heap = &self.rehearsal.heap;
        let parts = descendants(heap, module);
        let walked = self.rehearsal.walked.iter();
        let reached = walked
            .filter(|leaf| heap.get(*leaf).module().is_some())
            .any(|leaf| parts.contains(leaf) || descendants(heap, leaf).contains(module));
        reached && self.rehearsal.entries.iter().any(|entry| steps(&entry.nodes))
    }

    /// How sure it is that a forward evaluates: nothing is learned from it, and its output is scored, or it
    /// goes through data that no training goes through.
    fn evaluates(&self, at: &At, forward: &Forward) -> Option<Confidence> {
        let graph = &forward.graph;
        let unused = !self.rehearsal.consumed.contains(graph) && !self.rehearsal.returned.contains(graph);
        let confidence = match forward.grad {
            Some(false) => Confidence::High,
            Some(true) if unused => Confidence::Medium,
            _ => return None,
        };
        let innermost = at.loops.last();
        let apart = innermost.is_some_and(|id| !self.trains_in(*id));
        let of_data = !forward.input.as_ref().is_some_and(|input| input.learned || input.is_leaf);
        let own_data = innermost.is_some_and(|id| match self.rehearsal.loop_info(*id).over {
            Over::Loader(loader) => !self.feeds_training(loader),
            Over::Other | Over::Counter => false,
        });
        let scored = self.is_scored(at);
        let in_loop = apart && of_data && (own_data || scored);
        let by_itself = confidence == Confidence::High && of_data && scored && self.is_by_itself(at);
        (in_loop || by_itself).then_some(confidence)
    }

    /// How sure it is that a script which trains nothing runs a model that was trained elsewhere.
    fn infers(&self, at: &At, forward: &Forward) -> Option<Confidence> {
        let parts = descendants(&self.rehearsal.heap, forward.module);
        let entries = &self.rehearsal.entries;
        let trains = self.sightings().any(|(_, sight)| matches!(sight, Sight::Backward { .. }))
            || entries.iter().any(|entry| steps(&entry.nodes));
        // Numbers drawn for a generator may be meant to be normalised among themselves.
        let of_data =
            !forward.drawn && !forward.input.as_ref().is_some_and(|input| input.learned || input.is_leaf);
        let sure = forward.grad == Some(false) && at.seeded.is_none() && of_data && !trains;
        (sure && entries.iter().any(|entry| restores(&entry.nodes, &parts))).then_some(Confidence::Medium)
    }

    /// Whether something made without gradients goes into a loss, or is compared with labels, beside a forward.
    fn is_scored(&self, at: &At) -> bool {
        let beside =
            |other: &At| other.loops == at.loops && other.calls == at.calls && other.seeded == at.seeded;
        let is_loss = |sight: &Sight| match sight {
            Sight::Loss(loss) => {
                let input = loss.input.as_tensor();
                input.is_some_and(|input| input.learned && !matches!(input.graph, Graph::Live(_)))
            }
            _ => false,
        };
        self.observed::<Scored>().any(|(other, _)| beside(other))
            || self.sightings().any(|(other, sight)| beside(other) && is_loss(sight))
    }

    /// Whether no backward runs in the same iteration of the same function.
    fn is_by_itself(&self, at: &At) -> bool {
        !self.sightings().any(|(other, sight)| {
            matches!(sight, Sight::Backward { .. })
                && other.calls == at.calls
                && other.seeded == at.seeded
                && at.loops.last().is_some_and(|id| other.loops.contains(id))
        })
    }
}

impl Turn<'_, '_> {
    fn stuck(&self, entry: &Entry) -> Vec<StuckInEval> {
        let mut found = Vec::new();
        for trained in self.trained.iter().filter(|trained| trained.settled) {
            let Some(eval) = trained.ran.eval else { continue };
            // Only what began in another mode has got stuck; the rest was meant.
            let first = self.trained.iter().find(|other| other.ran.place == trained.ran.place);
            let began_well = first.is_some_and(|first| first.ran.modes & (EVAL | OTHER) == 0);
            let in_eval = trained.ran.modes & EVAL != 0 && trained.ran.modes & OTHER == 0;
            let always = trained.ran.modes == EVAL;
            if !began_well || !in_eval || !(always || self.never_returns(trained, eval)) {
                continue;
            }
            found.push(StuckInEval {
                at: self.at(entry, trained, always),
                model: self.script.name_or(self.model, "model"),
                eval,
                always,
                modes: replay::Modes { learns_in_training: false, ..self.script.dropping() },
                in_same_round: self.to_eval.iter().any(|(place, loops)| {
                    *place == eval && trained.loops.last().is_some_and(|own| loops.contains(own))
                }),
            });
        }
        found
    }

    /// Whether nothing in the innermost loop around both sets the mode back.
    fn never_returns(&self, trained: &Trained, eval: Place) -> bool {
        let shared = self.to_eval.iter().filter(|(place, _)| *place == eval).find_map(|(_, loops)| {
            let both = loops.iter().zip(&trained.loops).take_while(|(a, b)| a == b);
            both.last().map(|(id, _)| *id)
        });
        shared.is_some_and(|id| !self.to_train.iter().any(|loops| loops.contains(&id)))
    }

    fn at(&self, entry: &Entry, trained: &Trained, always: bool) -> At {
        let heap = &self.script.rehearsal.heap;
        let opaque = self.swaying.iter().any(|part| {
            matches!(&heap.get(part).state, State::Module(module) if module.weights == Learned::Opaque)
        });
        let sure = if always && !opaque { Confidence::High } else { Confidence::Medium };
        let confidence = trained.ran.confidence.min(heap.get(self.model).confidence).min(sure);
        walked(entry.function, trained.ran.place, &trained.loops, &trained.calls, confidence)
    }
}

/// The models that run with gradients in a sequence.
fn trained_models(nodes: &[Node], found: &mut ObjSet) {
    for node in nodes {
        match node {
            Node::Event(Event { effect: Effect::Forward { module, grad }, .. }) if *grad != Some(false) => {
                found.insert(*module);
            }
            Node::Loop { body, .. } | Node::Call { body, .. } => trained_models(body, found),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| trained_models(arm, found)),
            _ => {}
        }
    }
}

/// Whether one of these modules is given weights in a sequence.
fn restores(nodes: &[Node], modules: &ObjSet) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => match &event.effect {
            Effect::Restore { objects } => objects.iter().any(|object| modules.contains(object)),
            _ => false,
        },
        Node::Loop { body, .. } | Node::Call { body, .. } => restores(body, modules),
        Node::Branch { arms, .. } => arms.iter().any(|arm| restores(arm, modules)),
        Node::Exit(_) => false,
    })
}

/// Whether an optimizer steps in a sequence.
fn steps(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => matches!(event.effect, Effect::Step { .. }),
        Node::Loop { body, .. } | Node::Call { body, .. } => steps(body),
        Node::Branch { arms, .. } => arms.iter().any(|arm| steps(arm)),
        Node::Exit(_) => false,
    })
}
