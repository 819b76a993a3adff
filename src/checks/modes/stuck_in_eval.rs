//! Training that goes on in evaluation mode.

use super::stretches::{body_of_loop, called_model, is_loop};
use super::turns::{EVAL, OTHER, Trained, Turn, turns};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span, replay};
use crate::trace::{At, EntryPoint, LoopId};
use crate::values::{Learned, ObjId, State};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "stuck-in-eval",
    summary: "the model stays in evaluation mode while it is trained",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("stuck-in-eval"),
    check,
};

/// A model that trains on in evaluation mode.
struct StuckInEval {
    at: At,
    model: String,
    /// What put it there.
    eval: Place,
    /// In which rounds, in words; `None` where it was made in evaluation mode, and nothing ever sets another.
    when: Option<&'static str>,
    /// The innermost loop that trains evaluates, too.
    in_same_round: bool,
    /// In each of its rounds the evaluation comes first.
    is_behind: bool,
    modes: replay::Modes,
}

fn check(script: &Script, out: &mut Findings) {
    let turns = turns(script);
    let found = turns.iter().flat_map(|(entry, turn)| turn.stuck(entry));
    let mut seen = FxHashSet::default();
    for stuck in found.filter(|stuck| seen.insert(stuck.eval)) {
        let (message, severity, cause) = match stuck.when {
            Some(when) => (
                format!("{when} the model trains in evaluation mode: no `train()` in between"),
                RULE.severity,
                "sets evaluation mode, and nothing sets training mode before training goes on",
            ),
            None => (
                "the model trains in evaluation mode: nothing calls `train()` after it is loaded".to_owned(),
                Severity::Warning,
                "returns the model in evaluation mode",
            ),
        };
        let fix = back_in_training(script, &stuck);
        let fix = fix.map(|(model, edits)| Fix::guess(format!("call `{model}.train()` before it"), edits));
        out.push(
            script
                .finding(RULE.id, severity, &stuck.at, message)
                .because(stuck.eval, cause)
                .note("dropout is disabled, and batch norm statistics are no longer updated")
                .fix(fix)
                .replay(script.replay_of_mode(stuck.modes))
                .help(match stuck.when {
                    Some(_) => format!("call `{}.train()` where training goes on", stuck.model),
                    None => format!("call `{}.train()` before the training loop", stuck.model),
                }),
            &stuck.at,
        );
    }
}

impl Turn<'_, '_> {
    fn stuck(&self, entry: &EntryPoint) -> Vec<StuckInEval> {
        let mut found = Vec::new();
        for trained in self.trained.iter().filter(|trained| trained.settled) {
            let Some(eval) = trained.ran.eval else { continue };
            // What began in another mode has got stuck; the rest may be meant.
            let first = self.trained.iter().find(|other| other.ran.place == trained.ran.place);
            let began_well = first.is_some_and(|first| first.ran.modes & (EVAL | OTHER) == 0);
            // An evaluation every so often, in front of what trains: before the first of them it is in another mode.
            let is_between = |first: &Trained| {
                first.ran.scored && first.ran.modes & EVAL != 0 && first.ran.modes & !(EVAL | OTHER) != 0
            };
            let scored_between = first.is_some_and(is_between);
            let in_eval = trained.ran.modes & EVAL != 0 && trained.ran.modes & OTHER == 0;
            let always = trained.ran.modes == EVAL;
            let when = match began_well {
                true if always => Some("from the second iteration on,"),
                true if in_eval && self.never_returns(trained, eval) => Some("after the first evaluation,"),
                false if scored_between && in_eval && self.never_returns(trained, eval) => {
                    Some("after the first evaluation,")
                }
                false if always && self.is_put_there_in_each_epoch(trained, eval) => Some("in every epoch,"),
                false if always && self.stays_as_made(eval) => None,
                _ => continue,
            };
            found.push(StuckInEval {
                at: self.at(entry, trained, always && (began_well || when.is_none())),
                model: self.script.name_or(self.model, "model"),
                eval,
                when,
                modes: replay::Modes { learns_in_training: false, ..self.script.dropping() },
                is_behind: scored_between,
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

    /// Whether the loop over epochs itself calls `eval` where others call `train`, and nothing ever does that: who
    /// means to keep statistics as they are freezes what they normalise, or says it once.
    fn is_put_there_in_each_epoch(&self, trained: &Trained, eval: Place) -> bool {
        let heap = &self.script.rehearsal.heap;
        let learns = |part: ObjId| {
            let module = heap.get(part).module();
            module.is_some_and(|module| module.weights == Learned::Nothing || module.frozen == Some(false))
        };
        let around = |(place, loops): &(Place, Vec<LoopId>)| {
            *place == eval && !loops.is_empty() && trained.loops.starts_with(loops)
        };
        self.to_train.is_empty() && self.to_eval.iter().any(around) && self.parts.iter().all(learns)
    }

    /// Whether a model was made in evaluation mode, has layers that are known to do something else in training, and
    /// nothing ever sets its mode.
    fn stays_as_made(&self, eval: Place) -> bool {
        let heap = &self.script.rehearsal.heap;
        let minds = |part: ObjId| heap.get(part).module().is_some_and(|module| module.mode_dependent);
        self.made_in_eval.contains(&eval) && self.to_train.is_empty() && self.mode_dependent.iter().any(minds)
    }

    fn at(&self, entry: &EntryPoint, trained: &Trained, always: bool) -> At {
        let heap = &self.script.rehearsal.heap;
        let opaque = self.mode_dependent.iter().any(|part| {
            matches!(&heap.get(part).state, State::Module(module) if module.weights == Learned::Opaque)
        });
        let sure = if always && !opaque { Confidence::High } else { Confidence::Medium };
        let confidence = trained.ran.confidence.min(heap.get(self.model).confidence).min(sure);
        At {
            place: trained.ran.place,
            loops: Rc::from(&*trained.loops),
            calls: Rc::from(&*trained.calls),
            seeded: entry.function,
            confidence,
        }
    }
}

/// A call of `train` on a model before what trains it: in each round that evaluates it, too, and behind an evaluation
/// that comes first, else before all rounds; what it is called on.
fn back_in_training<'a>(script: &Script<'a>, stuck: &StuckInEval) -> Option<(&'a str, Vec<Edit>)> {
    let place = stuck.at.place;
    let draft = script.draft(place.file);
    let callee = called_model(draft, place)?;
    let (model, root) = (draft.plain(callee)?, draft.root(callee)?);
    let around = draft.statements_around(place.span);
    let function = draft.function_around(place.span);
    let own_loop = around.iter().rev().find(|stmt| {
        is_loop(draft, **stmt) && draft.function_around(draft.statement(**stmt).span) == function
    });
    let target = match own_loop.filter(|_| !stuck.is_behind) {
        Some(round) if stuck.in_same_round => body_of_loop(draft, *round)?.first().copied()?,
        Some(round) => *round,
        None => around.last().copied()?,
    };
    let line = draft.line(target)?;
    let between = Span::new(line.code.start, place.span.start.max(line.code.start));
    (!draft.binds(between, root))
        .then(|| (model, vec![draft.insert_before(line, &format!("{model}.train()"))]))
}
