//! Branches on the device: both ways are run, and what they compute of the same inputs is compared.

use super::{Interp, stmt::Flow};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::{Diverging, Exit, Sight, When};
use crate::values::formula::agree;
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// Steps that the way may take that is not taken.
const ASIDE: u32 = 2_000;
/// Longer ways than this are programs of their own.
const MOST_STATEMENTS: usize = 12;
/// Names of larger frames are not looked through.
const MOST_NAMES: usize = 64;

/// What one way left: what the frame's tensors are computed of, and what was returned.
#[derive(Default)]
pub(super) struct Outcome {
    names: Vec<(Ustr, Formula)>,
    returned: Option<Formula>,
}

/// What a function returned on one device, where the rest of it is for the other.
#[derive(Clone)]
pub(super) struct Returned {
    formula: Formula,
    test: Place,
    /// The frame that returned.
    depth: usize,
}

impl<'p> Interp<'p> {
    /// `use_cuda = torch.cuda.is_available()`: tests of the name ask for the device, too.
    pub(super) fn note_device_flag(&mut self, target: ExprId, asked: u32, value: &Value) {
        if self.devices_asked == asked || !matches!(value.bare(), Value::Bool(_)) {
            return;
        }
        if let ExprKind::Name(name) = self.tree(self.file()).expr(target).kind {
            self.device_flags.insert((self.file(), name));
        }
    }

    /// Whether evaluating a test, since a count of questions, asked for the device.
    pub(super) fn asks_device(&self, test: ExprId, asked: u32) -> bool {
        let is_flag = || match self.tree(self.file()).expr(test).kind {
            ExprKind::Name(name) => self.device_flags.contains(&(self.file(), name)),
            ExprKind::Unary { operand, .. } => match self.tree(self.file()).expr(operand).kind {
                ExprKind::Name(name) => self.device_flags.contains(&(self.file(), name)),
                _ => false,
            },
            _ => false,
        };
        self.devices_asked != asked || (!self.device_flags.is_empty() && is_flag())
    }

    /// Gives the tensors of the running frame that are not followed a formula each: what they are here.
    pub(super) fn name_inputs(&mut self) -> bool {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return false };
        let attrs = &self.heap.get(env).attrs;
        if attrs.len() > MOST_NAMES {
            return false;
        }
        let found: Vec<(Ustr, Rc<Tensor>)> = attrs
            .iter()
            .filter_map(|(name, value)| match value {
                Value::Tensor(tensor) => Some((*name, tensor.clone())),
                _ => None,
            })
            .collect();
        let mut known: FxHashMap<*const Tensor, Rc<Tensor>> = FxHashMap::default();
        for (name, tensor) in &found {
            if let Some(numbers) = tensor.numbers.clone() {
                self.name_content(&numbers, *name);
                continue;
            }
            let followed = match known.get(&Rc::as_ptr(tensor)) {
                Some(followed) => followed.clone(),
                None => {
                    let numbers = Some(Rc::new(Numbers::of(self.fresh_input(*name))));
                    Rc::new(Tensor { numbers, ..(**tensor).clone() })
                }
            };
            known.insert(Rc::as_ptr(tensor), followed.clone());
            self.heap.get_mut(env).set_attr(*name, Value::Tensor(followed));
        }
        !found.is_empty()
    }

    /// What nobody has written into a buffer is an input, too.
    fn name_content(&mut self, numbers: &Numbers, name: Ustr) {
        if let Some(buffer) = numbers.buffer
            && numbers.formula.is_none()
            && self.heap.noted(buffer, super::elements::CONTENT).is_none()
        {
            let input = self.fresh_input(name);
            self.fill(buffer, input);
        }
    }

    /// Runs the way that is taken where there is a GPU and, aside, the other one.
    pub(super) fn either_device(&mut self, test: ExprId, taken: &'p [StmtId], other: &'p [StmtId]) -> Flow {
        if !self.name_inputs() {
            return self.block(taken);
        }
        let before = self.outcome(None);
        let aside = if other.is_empty() { None } else { self.aside(other) };
        let (flow, here) = self.way(taken);
        let place = self.expr_place(test);
        match aside {
            Some(aside) if taken.is_empty() => self.await_return(place, aside.returned),
            Some(aside) => self.compare_ways(place, &before, &here, &aside),
            None if flow == Flow::Stop(Exit::Return) && other.is_empty() => {
                self.await_return(place, here.returned);
            }
            None => {}
        }
        flow
    }

    /// Runs both ways of a branch on the device, where either may be taken.
    pub(super) fn both_devices(&mut self, test: ExprId, body: &'p [StmtId], otherwise: &'p [StmtId]) -> Flow {
        let named = self.name_inputs();
        let before = self.outcome(None);
        let (mut one, mut other) = (Outcome::default(), Outcome::default());
        let mut ended = Flow::Next;
        let flow = self.branch(
            When::Unknown,
            &mut [
                &mut |interp| {
                    interp.refine(test, true);
                    let (flow, outcome) = interp.way(body);
                    (one, ended) = (outcome, flow);
                    flow
                },
                &mut |interp| {
                    interp.refine(test, false);
                    let (flow, outcome) = interp.way(otherwise);
                    other = outcome;
                    flow
                },
            ],
        );
        let place = self.expr_place(test);
        if named {
            self.compare_ways(place, &before, &one, &other);
        }
        if named && otherwise.is_empty() && ended == Flow::Stop(Exit::Return) {
            self.await_return(place, one.returned);
        }
        flow
    }

    /// One way has returned this, and the other goes on.
    fn await_return(&mut self, test: Place, returned: Option<Formula>) {
        let depth = self.frames.len();
        self.returned = returned.map(|formula| Returned { formula, test, depth });
    }

    /// One of the ways of a branch, and what it left.
    pub(super) fn way(&mut self, block: &'p [StmtId]) -> (Flow, Outcome) {
        let earlier = self.frames.last_mut().and_then(|frame| frame.returned.take());
        let flow = self.block(block);
        let own = self.frames.last_mut().and_then(|frame| frame.returned.take());
        let outcome = self.outcome(own.as_ref());
        let both = match (earlier, own) {
            (Some(earlier), Some(own)) => Some(self.heap.join(&earlier, &own)),
            (one, other) => one.or(other),
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.returned = both;
        }
        (flow, outcome)
    }

    /// What a way that is not taken would leave; nothing of it stays.
    fn aside(&mut self, block: &'p [StmtId]) -> Option<Outcome> {
        if block.len() > MOST_STATEMENTS {
            return None;
        }
        let least = self.floor.max(self.fuel.saturating_sub(ASIDE));
        let floor = std::mem::replace(&mut self.floor, least);
        let (starved, called) = (self.starved.clone(), self.out.called.clone());
        let (consumed, walked) = (self.out.consumed.clone(), self.out.walked.clone());
        let returned = self.frames.last_mut().and_then(|frame| frame.returned.take());
        let exits = self.frames.last().map_or(0, |frame| frame.exits.len());
        let left =
            self.active.last().map(|active| (active.breaks.len(), active.continues.len(), active.escapes));
        self.heap.begin();
        let (_, outcome) = self.quietly(|interp| interp.way(block));
        self.heap.rollback();
        let came_to_its_end = !self.is_starved();
        if let Some(frame) = self.frames.last_mut() {
            frame.returned = returned;
            frame.exits.truncate(exits);
        }
        if let (Some(active), Some((breaks, continues, escapes))) = (self.active.last_mut(), left) {
            active.breaks.truncate(breaks);
            active.continues.truncate(continues);
            active.escapes = escapes;
        }
        (self.starved, self.out.called) = (starved, called);
        (self.out.consumed, self.out.walked) = (consumed, walked);
        self.floor = floor;
        came_to_its_end.then_some(outcome)
    }

    pub(super) fn outcome(&self, returned: Option<&Value>) -> Outcome {
        let of = |value: &Value| self.formula_of(value.as_tensor()?).filter(Formula::is_known);
        let env = self.frames.last().map(|frame| self.heap.get(frame.env));
        let attrs = env.map_or(&[][..], |env| &env.attrs);
        let names = attrs.iter().filter_map(|(name, value)| Some((*name, of(value)?))).collect();
        Outcome { names, returned: returned.and_then(of) }
    }

    /// Says where two ways leave different functions of the same inputs under one name.
    pub(super) fn compare_ways(&mut self, test: Place, before: &Outcome, one: &Outcome, other: &Outcome) {
        let of = |outcome: &'_ Outcome, name: Ustr| {
            outcome.names.iter().find(|(known, _)| *known == name).map(|(_, formula)| formula.clone())
        };
        for (name, here) in &one.names {
            let Some(there) = of(other, *name) else { continue };
            let was = of(before, *name);
            let changed = |now: &Formula| was.as_ref().is_none_or(|was| !was.same(now));
            if changed(here) && changed(&there) {
                self.see_diverging(test, Some(*name), here, &there);
            }
        }
        if let (Some(here), Some(there)) = (&one.returned, &other.returned) {
            self.see_diverging(test, None, here, there);
        }
    }

    fn see_diverging(&mut self, test: Place, name: Option<Ustr>, here: &Formula, there: &Formula) {
        if here.is_number() || there.is_number() || agree(here, there) != Some(false) {
            return;
        }
        let diverging = Diverging { name, one: here.clone(), other: there.clone() };
        self.see(test, Sight::Diverging(Rc::new(diverging)), Confidence::High);
    }

    /// Behind `if cuda: return …` the rest of the block is what the other device runs.
    pub(super) fn rest_for_other(&mut self, rest: &'p [StmtId]) {
        let depth = self.frames.len();
        let Some(here) = self.returned.take_if(|returned| returned.depth == depth) else { return };
        let Some(there) = self.aside(rest).and_then(|outcome| outcome.returned) else { return };
        self.see_diverging(here.test, None, &here.formula, &there);
    }

    /// One way has returned, and the other goes on to its own `return`.
    pub(super) fn other_return(&mut self, value: &Value) {
        let depth = self.frames.len();
        let Some(here) = self.returned.take_if(|returned| returned.depth == depth) else { return };
        if let Some(there) = value.as_tensor().and_then(|tensor| self.formula_of(tensor)) {
            self.see_diverging(here.test, None, &here.formula, &there);
        }
    }
}

impl Returned {
    /// Whether the frame that returned has been left.
    pub(super) fn is_over(&self, depth: usize) -> bool {
        self.depth > depth
    }
}
