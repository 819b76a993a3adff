//! An automaton that follows the mode of one model round the loops: what an evaluation left behind is what the
//! next epoch trains in.

use crate::facts::Script;
use crate::facts::timeline::with_submodules;
use crate::report::{Confidence, Place, replay};
use crate::trace::{Does, Effect, EntryPoint, Event, LoopId, Node, Protocol, Way, walk};
use crate::values::{COPIED, ClassRef, Learned, Mode, ModuleState, ObjId, ObjSet, Object};
use ustr::Ustr;

/// The turns of the models that each entry with an optimizer's step trains.
pub(super) fn turns<'s, 'a>(script: &'s Script<'a>) -> Vec<(&'a EntryPoint, Turn<'s, 'a>)> {
    let mut found = Vec::new();
    for entry in script.rehearsal.entries.iter().filter(|entry| steps(&entry.nodes)) {
        let mut models = ObjSet::default();
        trained_models(&entry.nodes, &mut models);
        let models = whole_first(script, &models);
        let mut stepped: Vec<ObjId> =
            models.into_iter().filter(|model| is_stepped(script, *model)).take(MOST_MODELS + 1).collect();
        let is_lone = stepped.len() == 1;
        stepped.truncate(MOST_MODELS);
        let turns = stepped.into_iter().filter_map(|model| turn(script, entry, model, is_lone));
        found.extend(turns.map(|turn| (entry, turn)));
    }
    found
}

/// Whether an optimizer that steps has anything of a model, or may: what only an attack goes back through is not
/// trained.
fn is_stepped(script: &Script, model: ObjId) -> bool {
    script.steps_unseen() || !steppers(script, model).is_empty()
}

/// The optimizers that step and have anything of a model, or may.
fn steppers(script: &Script, model: ObjId) -> ObjSet {
    let heap = &script.rehearsal.heap;
    let parts = with_submodules(heap, &ObjSet::one(model));
    let is_copied = heap.noted(model, COPIED).is_some();
    let has = |optimizer: &ObjId| {
        heap.get(*optimizer).optimizer().is_none_or(|state| {
            let shared = |part: ObjId| parts.contains(part);
            let is_older = is_copied && optimizer.0 < model.0;
            let may = !is_older && (state.others || state.owns.is_empty());
            may || with_submodules(heap, &state.owns).iter().any(shared)
        })
    };
    script.stepping_optimizers().iter().filter(has).collect()
}

/// Whole models come before those that are parts of them, which run with them.
fn whole_first(script: &Script, models: &ObjSet) -> Vec<ObjId> {
    let heap = &script.rehearsal.heap;
    let inside =
        |model: ObjId| -> ObjSet { heap.descendants(model).iter().filter(|part| *part != model).collect() };
    let parts = models.iter().fold(ObjSet::default(), |parts, model| parts.union(&inside(model)));
    let (inner, whole): (Vec<ObjId>, Vec<ObjId>) = models.iter().partition(|model| parts.contains(*model));
    whole.into_iter().chain(inner).collect()
}

/// The modes in which a script trains models with layers that mind, from the second round on, for replays.
pub fn modes_of_trainings(script: &Script) -> Vec<replay::Modes> {
    let turns = turns(script);
    let settled = turns.iter().flat_map(|(_, turn)| turn.trained.iter().filter(|one| one.settled));
    let modes = settled
        .map(|one| replay::Modes { learns_in_training: one.ran.modes & EVAL == 0, ..script.dropping() });
    modes.collect()
}

/// Of more models in one entry only so many are followed.
const MOST_MODELS: usize = 12;

/// Modes that a model may be in, as a set.
pub(super) type Modes = u8;
/// As it was when the script came by it.
const GIVEN: Modes = 1;
const TRAIN: Modes = 2;
pub(super) const EVAL: Modes = 4;
/// Some parts in one mode and some in another, or somebody we cannot see set it.
pub(super) const OTHER: Modes = 8;

/// The mode of one model, along a way.
pub(super) struct Turn<'s, 'a> {
    pub script: &'s Script<'a>,
    pub model: ObjId,
    /// The parts whose output depends on the mode.
    pub mode_dependent: ObjSet,
    pub parts: ObjSet,
    /// What may apply its gradients.
    steppers: ObjSet,
    /// No other model is trained beside it.
    is_lone: bool,
    pub trained: Vec<Trained>,
    /// The loops around what puts the model into training, and into evaluation.
    pub to_train: Vec<Vec<LoopId>>,
    pub to_eval: Vec<(Place, Vec<LoopId>)>,
    /// Where it was made in evaluation mode.
    pub made_in_eval: Vec<Place>,
}

#[derive(Clone, PartialEq)]
pub(super) struct Now {
    modes: Modes,
    /// The latest evaluation mode.
    eval: Option<Place>,
    /// On some way there the model has run in it, for numbers alone.
    scored: bool,
    /// The forward whose graph is still to be walked.
    ran: Option<Ran>,
    /// Those of which gradients are left that a step may apply.
    walked: Vec<Walked>,
}

/// A forward whose graph a backward walked, and where.
#[derive(Clone, PartialEq)]
struct Walked {
    ran: Ran,
    loops: Vec<LoopId>,
    calls: Vec<(Place, Ustr)>,
}

#[derive(Clone, PartialEq)]
pub(super) struct Ran {
    pub place: Place,
    pub modes: Modes,
    pub eval: Option<Place>,
    /// On some way there an evaluation has come before it.
    pub scored: bool,
    pub confidence: Confidence,
}

impl Ran {
    /// What ran on either way.
    fn join(&self, other: &Ran) -> Ran {
        let scored = self.scored || other.scored;
        Ran { modes: self.modes | other.modes, eval: self.eval.or(other.eval), scored, ..self.clone() }
    }
}

/// A forward whose gradients an optimizer applied.
pub(super) struct Trained {
    pub ran: Ran,
    pub settled: bool,
    pub loops: Vec<LoopId>,
    pub calls: Vec<(Place, Ustr)>,
}

impl Turn<'_, '_> {
    fn inside(&self, object: ObjId) -> ObjSet {
        self.script.rehearsal.heap.descendants(object)
    }

    fn set(&mut self, state: &mut Now, module: Option<ObjId>, mode: Mode, event: &Event, way: &Way) {
        let Some(module) = module else {
            state.modes = OTHER;
            return;
        };
        let targets = self.inside(module);
        let covered = self.mode_dependent.iter().filter(|part| targets.contains(*part)).count();
        if covered == 0 {
            return;
        }
        let whole = covered == self.mode_dependent.len();
        state.modes = match mode {
            Mode::Train if whole => TRAIN,
            Mode::Eval if whole => EVAL,
            // A part is brought to where the whole is already.
            Mode::Train if state.modes == TRAIN => TRAIN,
            Mode::Eval if state.modes == EVAL => EVAL,
            _ => OTHER,
        };
        state.scored = false;
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

    fn make_in_eval(&mut self, state: &mut Now, module: ObjId, place: Place) {
        let made = self.inside(module);
        if self.mode_dependent.iter().all(|part| made.contains(part)) {
            (state.modes, state.eval) = (EVAL, Some(place));
            self.made_in_eval.push(place);
        }
    }

    /// Whether the model was made, or one of those that it stands for.
    fn is_made(&self, object: ObjId) -> bool {
        let heap = &self.script.rehearsal.heap;
        let model = heap.get(self.model);
        let stands_for = |other: &Object| model.class == ClassRef::Builtin || model.class == other.class;
        object == self.model
            || model.module().is_some_and(|module| module.parts.contains(&object))
                && stands_for(heap.get(object))
    }

    /// A step applies the gradients that are left.
    fn apply(&mut self, state: &mut Now, way: &Way) {
        let applied = std::mem::take(&mut state.walked).into_iter();
        let settled = way.settled;
        self.trained.extend(applied.map(|Walked { ran, loops, calls }| Trained {
            ran,
            settled,
            loops,
            calls,
        }));
    }

    fn is_cleared_by(&self, targets: &ObjSet) -> bool {
        targets.iter().any(|target| {
            self.steppers.contains(target)
                || self.parts.contains(target)
                || self.inside(target).contains(self.model)
        })
    }

    /// A backward of which nothing is known goes through what just ran, where nothing else is trained.
    fn is_blind(&self, leaves: &ObjSet, others: bool) -> bool {
        self.is_lone && others && leaves.is_empty()
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
            (Some(x), Some(y)) if x.place == y.place => Some(x.join(y)),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let mut walked = a.walked.clone();
        for other in &b.walked {
            match walked.iter_mut().find(|known| known.ran.place == other.ran.place) {
                Some(known) => known.ran = known.ran.join(&other.ran),
                None => walked.push(other.clone()),
            }
        }
        let scored = a.scored || b.scored;
        Now { modes: a.modes | b.modes, eval: a.eval.or(b.eval), scored, ran, walked }
    }

    /// The second iteration decides: what was before the loop says nothing about the way round.
    fn joins_entry(&self, _body: &[Node]) -> bool {
        false
    }

    fn event(&mut self, state: &mut Now, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Mode { module, mode } => self.set(state, *module, *mode, event, way),
            Effect::MadeInEval { module } => self.make_in_eval(state, *module, event.place),
            Effect::Touch { objects, does, sets_modes }
                if objects.iter().any(|part| self.parts.contains(part)) =>
            {
                if *sets_modes {
                    state.modes |= OTHER;
                }
                if *does != Does::Nothing {
                    self.apply(state, way);
                }
            }
            Effect::Step { optimizer, .. } if self.steppers.contains(*optimizer) => self.apply(state, way),
            Effect::UnseenStep | Effect::NamedStep { .. } => self.apply(state, way),
            Effect::Touch { objects, .. } if objects.iter().any(|object| self.steppers.contains(object)) => {
                self.apply(state, way);
            }
            // What an attack leaves behind is cleared before the next step.
            Effect::Clear { targets, .. } if self.is_cleared_by(targets) => state.walked.clear(),
            Effect::Made { object } if self.is_made(*object) => state.modes = GIVEN,
            Effect::Forward { module, grad } if *module == self.model && *grad != Some(false) => {
                let (place, confidence) = (event.place, event.confidence);
                let Now { modes, eval, scored, .. } = *state;
                state.ran = Some(Ran { place, modes, eval, scored, confidence });
            }
            Effect::Forward { module, .. } if *module == self.model && state.modes == EVAL => {
                state.scored = true;
            }
            Effect::Backward { leaves, others, .. }
                if self.reaches(leaves) || self.is_blind(leaves, *others) =>
            {
                if let Some(mut ran) = state.ran.take() {
                    if !self.reaches(leaves) {
                        ran.confidence = ran.confidence.min(Confidence::Medium);
                    }
                    let (loops, calls) = (way.loops.clone(), way.calls.clone());
                    state.walked.retain(|known| known.ran.place != ran.place);
                    state.walked.push(Walked { ran, loops, calls });
                }
            }
            _ => {}
        }
    }
}

fn turn<'s, 'a>(
    script: &'s Script<'a>,
    entry: &EntryPoint,
    model: ObjId,
    is_lone: bool,
) -> Option<Turn<'s, 'a>> {
    let heap = &script.rehearsal.heap;
    let parts = heap.descendants(model);
    // What is frozen may stay in evaluation mode with whatever it normalizes.
    let is_frozen = |module: &ModuleState| module.weights != Learned::Nothing && module.frozen == Some(true);
    let is_mode_dependent = |part: &ObjId| {
        let module = heap.get(*part).module();
        module.is_some_and(|module| module.is_mode_dependent() && !is_frozen(module))
    };
    let mode_dependent: ObjSet = parts.iter().filter(is_mode_dependent).collect();
    if mode_dependent.is_empty() {
        return None;
    }
    let mut turn = Turn {
        script,
        model,
        mode_dependent,
        parts,
        steppers: steppers(script, model),
        is_lone,
        trained: Vec::new(),
        to_train: Vec::new(),
        to_eval: Vec::new(),
        made_in_eval: Vec::new(),
    };
    walk(
        &mut turn,
        &entry.nodes,
        Now { modes: GIVEN, eval: None, scored: false, ran: None, walked: Vec::new() },
    );
    Some(turn)
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

/// Whether an optimizer steps in a sequence.
fn steps(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => matches!(event.effect, Effect::Step { .. }),
        Node::Loop { body, .. } | Node::Call { body, .. } => steps(body),
        Node::Branch { arms, .. } => arms.iter().any(|arm| steps(arm)),
        Node::Exit(_) => false,
    })
}
