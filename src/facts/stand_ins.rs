//! What a replay on a stand-in takes of the script: its optimizer with the rates that it says, the order of its
//! calls, its loss; and what of it the finding would have otherwise.

use super::Script;
use crate::report::Place;
use crate::report::replay::{
    Act, Call, Carried, Layer, Loss, Modes, Number, Optimizer, Replay, Step, Training,
};
use crate::values::{ClassRef, ObjId};
use ustr::Ustr;

/// What a layer drops that is not told otherwise (`torch.nn.Dropout`).
const DROPOUT: f64 = 0.5;

/// How the order of calls is put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Gradients are cleared before they are first made for a step.
    Clear,
    /// Each loss is divided by the number of those that a step sums.
    Divide,
    /// Gradients are clipped right before each step.
    Clip,
    /// They are divided by the scale before they are clipped.
    Unscale,
    /// The scaler steps, and is updated.
    StepByScaler,
    /// The scaler is updated once, behind the last step.
    Update,
    /// The schedule goes on behind the last step.
    Schedule,
    /// The optimizer is built before the loop.
    BuildOnce,
    /// A step follows the backward pass.
    Step,
}

impl Script<'_> {
    /// A training with the script's order of calls around a step, against one in which they are repaired.
    pub fn replay_of_order(&self, step: Place, repair: Repair) -> Option<Replay> {
        let (optimizer, round) = self.step_order_at(&[step])?;
        self.order(optimizer, round, repair)
    }

    /// The same of a schedule, which may go on in a loop around the one that steps.
    pub fn replay_of_schedule(&self, step: Place, schedule: Place) -> Option<Replay> {
        let (optimizer, round) = self.step_order_at(&[step, schedule])?;
        self.order(optimizer, round, Repair::Schedule)
    }

    /// The same around a backward pass that nothing steps for; the optimizer by where it was made.
    pub fn replay_of_unapplied(&self, backward: Place, made: Place) -> Option<Replay> {
        let heap = &self.rehearsal.heap;
        let is_it =
            |object: &ObjId| heap.get(*object).optimizer().is_some() && heap.get(*object).site == made;
        let optimizer = (0..heap.len()).map(|index| ObjId(index as u32)).find(is_it)?;
        let round = self.step_order_of(optimizer, &[backward])?;
        self.order(optimizer, round, Repair::Step)
    }

    fn order(&self, optimizer: ObjId, round: Vec<Act>, repair: Repair) -> Option<Replay> {
        // Built before the loop or in it, what is asked is something else.
        let round: Vec<Act> = match repair {
            Repair::BuildOnce => round,
            _ => round.into_iter().filter(|act| act.call != Call::Build).collect(),
        };
        let script = Training { round, ..Training::default() };
        let repaired = repaired(&script, repair);
        (script != repaired).then(|| self.training(Some(optimizer), script, repaired))
    }

    /// Layers that get no gradients, or that no optimizer has.
    pub fn replay_of_layers(&self, layers: [Layer; 3]) -> Replay {
        let script = Training { layers, ..Training::default() };
        self.training(None, script, Training::default())
    }

    /// A loss as the script has it, and as it should be.
    pub fn replay_of_loss(&self, script: Loss, repaired: Loss) -> Replay {
        let of = |loss| Training { loss, ..Training::default() };
        self.training(None, of(script), of(repaired))
    }

    /// A model with dropout in another mode than it should be in.
    pub fn replay_of_mode(&self, script: Modes) -> Replay {
        let of = |modes| Training { modes, ..Training::default() };
        let right = Modes { dropout: script.dropout, ..Modes::default() };
        self.training(None, of(script), of(right))
    }

    /// A model that drops some of its numbers while it is in training mode.
    pub(crate) fn dropping(&self) -> Modes {
        Modes { dropout: Some(Number::new(DROPOUT)), ..Modes::default() }
    }

    /// Graphs of earlier rounds in that of this one.
    pub fn replay_of_carried(&self, carried: Carried) -> Replay {
        let script = Training { carries: Some(carried), ..Training::default() };
        self.training(None, script, Training::default())
    }

    /// A loss of so many numbers.
    pub fn replay_of_elements(&self, elements: u64) -> Replay {
        let script = Training { elements, ..Training::default() };
        self.training(None, script, Training::default())
    }

    fn training(&self, optimizer: Option<ObjId>, script: Training, repaired: Training) -> Replay {
        let known = optimizer.or_else(|| self.only_optimizer());
        let kind = known.and_then(|optimizer| self.kind_of(optimizer));
        let number = |names: &[&str]| {
            // Rates belong to the optimizer that they are given to.
            let object = known.filter(|_| kind.is_some())?;
            let heap = &self.rehearsal.heap;
            let value = names.iter().find_map(|name| heap.attr(object, Ustr::from(name))?.as_num());
            value.filter(|value| (0.0..=1e9).contains(value)).map(Number::new)
        };
        Replay::Step(Box::new(Step {
            optimizer: kind,
            learning_rate: number(&["lr", "learning_rate"]),
            momentum: number(&["momentum"]),
            weight_decay: number(&["weight_decay"]),
            script,
            repaired,
        }))
    }

    /// Whether an optimizer is made somewhere.
    pub fn makes_optimizer(&self, place: Place) -> bool {
        let heap = &self.rehearsal.heap;
        (0..heap.len()).map(|index| heap.get(ObjId(index as u32))).any(|object| {
            object.optimizer().is_some()
                && (object.site == place
                    || place.file == object.site.file && object.site.span.contains(place.span))
        })
    }

    fn kind_of(&self, optimizer: ObjId) -> Option<Optimizer> {
        let ClassRef::Api(class) = self.rehearsal.heap.get(optimizer).class else { return None };
        let name = class.rsplit('.').next()?.to_ascii_lowercase();
        Optimizer::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The one optimizer that steps in the script.
    fn only_optimizer(&self) -> Option<ObjId> {
        let stepping = self.stepping_optimizers();
        let mut found = stepping.iter();
        found.next().filter(|_| found.next().is_none())
    }
}

fn repaired(script: &Training, repair: Repair) -> Training {
    let mut training = script.clone();
    let round = &mut training.round;
    let is_step = |act: &Act| act.call.is_step();
    match repair {
        Repair::Clear => *round = cleared(round),
        Repair::Divide => {
            let every = round.iter().filter(|act| is_step(act)).map(|act| act.every).max().unwrap_or(1);
            training.divisor = every.max(1);
        }
        Repair::Clip => {
            round.retain(|act| act.call != Call::Clip);
            insert(round, is_step, 0, Call::Clip);
            if round.iter().any(|act| act.call == Call::ScaledBackward) {
                unscale(round);
            }
        }
        Repair::Unscale => {
            unscale(round);
        }
        Repair::StepByScaler => {
            for act in round.iter_mut().filter(|act| is_step(act)) {
                act.call = Call::ScaledStep;
            }
            round.retain(|act| act.call != Call::Update);
            insert_last(round, is_step, Call::Update);
        }
        Repair::Update => {
            round.retain(|act| act.call != Call::Update);
            insert_last(round, is_step, Call::Update);
        }
        Repair::Schedule => {
            round.retain(|act| act.call != Call::Schedule);
            insert_last(round, is_step, Call::Schedule);
        }
        Repair::BuildOnce => round.retain(|act| act.call != Call::Build),
        Repair::Step => {
            round.retain(|act| !is_step(act));
            let scaled = round.iter().any(|act| act.call == Call::ScaledBackward);
            let call = if scaled { Call::ScaledStep } else { Call::Step };
            insert_last(round, |act| act.call.is_backward(), call);
        }
    }
    training
}

/// Of several micro-batches a step, cleared behind it; else between a step and the first backward pass for the next.
fn cleared(round: &[Act]) -> Vec<Act> {
    let is_clear = |act: &Act| act.call == Call::Clear;
    if round.iter().any(|act| act.call.is_step() && act.every > 1) {
        let mut round: Vec<Act> = round.iter().copied().filter(|act| !is_clear(act)).collect();
        insert(&mut round, |act| act.call.is_step(), 1, Call::Clear);
        return round;
    }
    let mut parts: Vec<Vec<Act>> =
        round.split_inclusive(|act| act.call.is_step()).map(<[Act]>::to_vec).collect();
    // What is cleared at the end of the round is clear in the next.
    let last = parts.last().filter(|part| !part.iter().any(|act| act.call.is_step()));
    let mut is_clear_before = last.is_some_and(|part| {
        let clears = part.iter().rposition(is_clear);
        clears.is_some() && part.iter().rposition(|act| act.call.is_backward()) < clears
    });
    for part in parts.iter_mut().filter(|part| part.iter().any(|act| act.call.is_step())) {
        let walk = |act: &Act| act.call.is_backward();
        if let Some(walked) = part.iter().rposition(walk) {
            let mut index = 0..;
            part.retain(|act| index.next().is_some_and(|index| index < walked) || !is_clear(act));
        }
        if !is_clear_before
            && !part.iter().any(is_clear)
            && let Some(first) = part.iter().position(walk)
        {
            part.insert(first, Act::always(Call::Clear));
        }
        is_clear_before = false;
    }
    parts.concat()
}

/// Divided by the scale once, before they are first clipped.
fn unscale(round: &mut Vec<Act>) {
    round.retain(|act| act.call != Call::Unscale);
    insert(round, |act| act.call == Call::Clip, 0, Call::Unscale);
    let mut seen = false;
    round.retain(|act| act.call != Call::Unscale || !std::mem::replace(&mut seen, true));
}

/// A call before (0) or behind (1) each act of a kind, as often as that.
fn insert(round: &mut Vec<Act>, beside: impl Fn(&Act) -> bool, behind: usize, call: Call) {
    let mut at = 0;
    while at < round.len() {
        if beside(&round[at]) {
            let every = round[at].every;
            round.insert(at + behind, Act { call, every });
            at += 1;
        }
        at += 1;
    }
}

/// A call behind the last act of a kind.
fn insert_last(round: &mut Vec<Act>, beside: impl Fn(&Act) -> bool, call: Call) {
    if let Some(at) = round.iter().rposition(beside) {
        let every = round[at].every;
        round.insert(at + 1, Act { call, every });
    }
}
