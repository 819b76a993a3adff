//! Rations: how much fuel a call gets of what is left, and a function that nothing calls.

use super::modules::FORWARDS;
use super::{Frame, Interp};
use crate::report::FileId;
use crate::syntax::Function;
use crate::trace::FnKey;
use crate::values::{Closure, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

/// A call into another file gets at least so much fuel, where there is so much.
const LEAST_RATION: u32 = 10_000;
/// Steps of these for each function that nothing calls: what a library's function needs, but not
/// what a test needs that runs half of the library.
const FUEL_A_FUNCTION: u32 = 30_000;
/// A forward of a file that puts nothing on a GPU.
pub(super) const FUEL_A_FORWARD: u32 = 5_000;
/// Steps for one that trains: it builds the model that it trains, from a library.
pub(super) const FUEL_A_TRAINING: u32 = 200_000;

/// A call of a function of the project.
const FUEL_A_CALL: u32 = 4;
/// So many parameters are passed by for a step.
const LOOKS_A_STEP: usize = 256;

/// Functions by file that go back, or lead to one that does, in the file itself or imported from another one.
#[derive(Default)]
struct Training(FxHashMap<FileId, Rc<[bool]>>);

/// Functions whose call did not come to its end where no gradients were recorded.
#[derive(Default)]
struct CutWithoutGrad(FxHashSet<FnKey>);

impl<'p> Interp<'p> {
    /// A call was cut off. Rehearsed by itself, the function knows what it was not to record.
    pub(super) fn note_cut(&mut self, key: FnKey) {
        if self.ambient.grad == Some(false) {
            self.remember(|cut: &mut CutWithoutGrad| cut.0.insert(key));
        }
    }

    pub(super) fn was_cut_without_grad(&mut self, key: FnKey) -> bool {
        self.remember(|cut: &mut CutWithoutGrad| cut.0.contains(&key))
    }

    /// Takes the fuel that the call itself costs: a parameter is looked for among those before it.
    pub(super) fn affords(&mut self, closure: &Closure) -> bool {
        let parameters = self.tree(closure.file).function(closure.function).params.len();
        self.burn(FUEL_A_CALL + (parameters * parameters / LOOKS_A_STEP) as u32)
    }

    /// Sets aside the fuel that a call must leave to what comes after it. Gives the floor that was in force.
    /// A model that is too deep for its part counts as one that is not seen into, and the training around it goes on.
    pub(super) fn ration(&mut self, file: FileId, is_forward: bool) -> u32 {
        let available = self.budget.fuel.saturating_sub(self.budget.floor);
        let outermost = is_forward && !self.in_forward();
        let share = match file == self.file() {
            true if !outermost => available / 4 * 3,
            _ => (available / 4).max(LEAST_RATION),
        };
        std::mem::replace(&mut self.budget.floor, self.budget.fuel - share.min(available))
    }

    /// How often a function is running. Forwards of other modules do not count: a model within a model of its kind
    /// comes to an end.
    pub(super) fn times_running(&self, key: &FnKey, receiver: Option<&Value>) -> usize {
        let forward = FORWARDS.contains(&self.tree(key.file).function(key.function).name.as_str());
        let module = receiver
            .and_then(Value::as_obj)
            .filter(|object| forward && self.heap.get(*object).module().is_some());
        let runs = |frame: &&Frame<'_>| {
            let own = module.is_none() || frame.receiver.as_ref().and_then(Value::as_obj) == module;
            own && frame.file == key.file && frame.function == Some(key.function)
        };
        self.frames.iter().filter(runs).count()
    }

    /// A training that was too much with all that its models compute is rehearsed once more without that: what it does
    /// to its optimizers is seen all the same.
    pub(super) fn seed_shallow(&mut self, key: FnKey, definition: &'p Function) {
        if !self.budget.exhausted.contains(&key) || !self.leads_back(key) || self.is_out_of_fuel() {
            return;
        }
        self.budget.exhausted.remove(&key);
        // What was cut off may have done anything to the object that it was called on.
        if let Some(class) = definition.class.and_then(|class| self.class_object(key.file, class)) {
            self.supposed.instances.remove(&class);
        }
        self.budget.shallow = true;
        self.on_a_ration(key, |interp| interp.seed(key, definition));
        self.budget.shallow = false;
    }

    /// Rehearses what is worth few steps.
    pub(super) fn on_a_small_ration(&mut self, ration: u32, rehearse: impl FnOnce(&mut Self)) {
        self.budget.floor = self.budget.fuel.saturating_sub(ration);
        rehearse(self);
        self.budget.floor = 0;
    }

    /// Whether a function goes back, or what it calls: `main`, which builds the model and hands it to `train`.
    pub(super) fn leads_back(&mut self, key: FnKey) -> bool {
        let file = key.file;
        let known = self.remember(|training: &mut Training| training.0.get(&file).cloned());
        let leads = known.unwrap_or_else(|| {
            let leads = self.leading_back(file);
            self.remember(|training: &mut Training| training.0.insert(file, Rc::clone(&leads)));
            leads
        });
        leads[key.function.0 as usize]
    }

    fn leading_back(&mut self, file: FileId) -> Rc<[bool]> {
        let walks = self.apis.protocol_words().iter().copied().filter(|word| self.apis.walks_back(*word));
        let mut words: Vec<Ustr> = walks.collect();
        let imported = self.imported_functions(file, |_| true);
        words.extend(imported.into_iter().filter(|(_, key)| self.goes_back(*key)).map(|(name, _)| name));
        let mut leads = vec![false; self.tree(file).functions.len()];
        self.mark_callers(file, &mut leads, words);
        leads.into()
    }

    /// Rehearses something that nothing calls with what fuel such a function gets.
    pub(super) fn on_a_ration(&mut self, key: FnKey, rehearse: impl FnOnce(&mut Self)) {
        let trains = self.leads_back(key) && !self.is_of_a_suite(key.file);
        let ration = if trains { FUEL_A_TRAINING } else { FUEL_A_FUNCTION };
        self.budget.floor = self.budget.fuel.saturating_sub(ration);
        rehearse(self);
        self.budget.floor = 0;
    }
}
