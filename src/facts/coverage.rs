//! What was judged of a script's training, and what was not: the engine's own recall. A backward pass that is
//! written in the file and of which the rehearsal knows nothing is a step that no rule has seen.

use super::Script;
use super::timeline::{Certainty, Kind, OptimizerEvent, Parts, reached};
use crate::apis::{Role, Verb};
use crate::names::Act;
use crate::report::{Place, TrainingStep};
use crate::syntax::{Arg, ExprId, ExprKind, Tree};
use crate::trace::{At, Sight};
use std::rc::Rc;

impl Script<'_> {
    /// How many backward passes are written in this file, and those that are not among what was `followed`, each
    /// with what would have to be known.
    pub fn training_steps(&self, followed: &[Place]) -> (usize, Vec<TrainingStep>) {
        let module = self.project.module(self.file);
        let walks = |method| self.apis.method_does(Role::Tensor, method, Verb::Backward);
        let acts = module.relations().acts_where(walks);
        let steps: Vec<(&Act, ExprId)> = acts
            .filter(|act| !self.goes_back_by_hand(act))
            .filter_map(|act| Some((act, walked(&module.tree, act)?)))
            .collect();
        let place = |act: &Act| Place::new(self.file, module.tree.expr(act.call).span);
        let unfollowed = steps.iter().filter(|(act, _)| followed.binary_search(&place(act)).is_err());
        let told = unfollowed.map(|(act, loss)| {
            let place = place(act);
            TrainingStep { place, unknown: self.unknown_of(place, act, *loss) }
        });
        (steps.len(), told.collect())
    }

    /// Backward passes of which the graph is known, in any file that was reached, in order.
    pub fn followed(&self) -> Vec<Place> {
        let backward = |sight: &Sight| is_backward(sight) && !is_blind(sight);
        let places = self.sightings().filter(|(_, sight)| backward(sight)).map(|(at, _)| at.place);
        let mut places: Vec<Place> = places.collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Backward passes of any file that an optimizer applies, though nobody knows their graph: what is done with its
    /// gradients is judged, and what becomes of the graph is not.
    pub fn judged_by_contract(&self, followed: &[Place]) -> Vec<Place> {
        let blind = |at: &At, sight: &Sight| is_blind(sight) && followed.binary_search(&at.place).is_err();
        if !self.sightings().any(|(at, sight)| blind(at, sight)) {
            return Vec::new();
        }
        let timelines = self.timelines(Parts::Together);
        let mut places: Vec<Place> =
            timelines.iter().flat_map(|timeline| applied(&reached(timeline))).collect();
        places.retain(|place| followed.binary_search(place).is_err());
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether the file defines a method of this name itself: layers of one's own that go back by hand.
    fn goes_back_by_hand(&self, act: &Act) -> bool {
        let module = self.project.module(self.file);
        let methods = || module.tree.functions.iter().filter(|function| function.class.is_some());
        act.method.is_some_and(|name| methods().any(|function| function.name == name))
    }

    fn unknown_of(&self, place: Place, act: &Act, loss: ExprId) -> String {
        let blind = self.sightings().any(|(at, sight)| is_blind(sight) && at.place == place);
        if !blind && self.rehearsal.out_of_fuel {
            return "the analysis budget was exhausted before this line".to_owned();
        }
        if !blind {
            return "no analyzed code path reaches this line".to_owned();
        }
        let module = self.project.module(self.file);
        let said =
            |expr: ExprId| module.source.text.get(module.tree.expr(expr).span.range()).unwrap_or_default();
        let made = module
            .origins(loss, act.function)
            .into_iter()
            .find_map(|origin| callee(&module.tree, origin.call));
        match made {
            Some(callee) => {
                format!(
                    "the computation graph of `{}` is unknown; it comes from `{}`",
                    said(loss),
                    said(callee)
                )
            }
            None => format!("the computation graph of `{}` is unknown", said(loss)),
        }
    }
}

/// Backward passes that surely add to the gradients of an optimizer which steps in the same iteration, where nothing
/// that is not seen gets hold of them in each.
fn applied(events: &[Rc<OptimizerEvent>]) -> Vec<Place> {
    let is_sure =
        |event: &OptimizerEvent| matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. });
    let hides = |event: &OptimizerEvent| {
        matches!(event.kind, Kind::Touched(touched) if touched.clears) && !event.conditional
    };
    let judged = events.iter().filter(|backward| {
        let beside = |event: &&Rc<OptimizerEvent>| {
            backward.loops.last().is_none_or(|iteration| event.is_in(*iteration))
        };
        let mut around = events.iter().filter(beside);
        is_sure(backward)
            && around.clone().any(|event| event.is_own_step())
            && !around.any(|event| hides(event))
    });
    judged.map(|event| event.place).collect()
}

fn is_backward(sight: &Sight) -> bool {
    matches!(sight, Sight::Backward { .. } | Sight::BlindBackward)
}

/// Whether nothing is known of the graph that a backward pass goes through.
fn is_blind(sight: &Sight) -> bool {
    match sight {
        Sight::BlindBackward => true,
        Sight::Backward { loss, .. } => loss.graph.is_unclear(),
        _ => false,
    }
}

/// What a backward pass starts from: the receiver, or what it was made of, scaled for one.
fn walked(tree: &Tree, act: &Act) -> Option<ExprId> {
    let ExprKind::Attribute { base, .. } = tree.expr(callee(tree, act.call)?).kind else { return None };
    let ExprKind::Call { args, .. } = &tree.expr(base).kind else { return Some(base) };
    let named = |arg: &&Arg| matches!(tree.expr(arg.value).kind, ExprKind::Name(_));
    Some(args.iter().find(named).map_or(base, |arg| arg.value))
}

fn callee(tree: &Tree, call: ExprId) -> Option<ExprId> {
    match tree.expr(call).kind {
        ExprKind::Call { callee, .. } => Some(callee),
        _ => None,
    }
}
