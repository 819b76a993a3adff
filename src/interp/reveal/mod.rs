//! What the rehearsal knows of the values of a line, for whoever asks. A probe listens while a file is
//! rehearsed; without one, a statement costs a branch. A line that is reached on several ways is told for each;
//! of a loop's passes the last one counts.

mod names;
mod objects;
mod tensors;
mod words;

use super::{Hooks, Interp, Settings};
use crate::apis::Apis;
use crate::names::Project;
use crate::report::{FileId, Place};
use crate::syntax::{ArgKind, ExprId, ExprKind};
use crate::trace::FnKey;
use crate::values::Value;
use names::ObjectNames;
use ustr::Ustr;
use words::Words;

/// A function that no script has: `reveal(x)` in a fixture asks what is known of `x`.
const ASKING: &str = "reveal";

/// Ways to one line that are kept.
const MOST_VISITS: usize = 256;

/// What one rehearsal knows of what it was asked about.
#[derive(Debug, Default)]
pub struct Revealed {
    pub visits: Vec<Visit>,
}

/// One way on which a place was reached.
#[derive(Debug)]
pub struct Visit {
    /// Stands for the calls and unrolled rounds on the way.
    way: super::CallPath,
    /// The calls on the way, the outermost first.
    pub calls: Vec<(Place, Ustr)>,
    /// The function that was rehearsed without its callers, if the way begins there.
    pub uncalled: Option<FnKey>,
    pub values: Vec<Shown>,
}

/// What is known of one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub place: Place,
    pub value: String,
}

/// Listens while a file is rehearsed.
pub(super) struct Probe {
    file: FileId,
    revealed: Revealed,
}

/// What the calls of `reveal` in a file are given.
pub fn revealed_calls(project: &Project, apis: &Apis, settings: &Settings, file: FileId) -> Revealed {
    let hooks = Hooks::default();
    let mut interp = Interp::new(project, apis, &hooks, settings);
    interp.probe = Some(Box::new(Probe { file, revealed: Revealed::default() }));
    interp.run(file);
    interp.probe.map(|probe| probe.revealed).unwrap_or_default()
}

impl<'p> Interp<'p> {
    /// A statement that asks: its values are told, and nothing else happens.
    pub(super) fn reveal_call(&mut self, expr: ExprId) -> bool {
        let tree = self.tree(self.file());
        let ExprKind::Call { callee, args } = &tree.expr(expr).kind else { return false };
        if !matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == ASKING) {
            return false;
        }
        for arg in args.iter().filter(|arg| arg.kind == ArgKind::Positional) {
            let value = self.eval(arg.value);
            self.show(self.expr_place(arg.value), &value);
        }
        true
    }

    /// Whether a function is rehearsed because it was asked about, though it matters to no rule.
    pub(super) fn is_asked_about(&self, key: FnKey) -> bool {
        let asks = || &self.module(key.file).names.scope(key.function).mentions;
        self.probe.is_some() && asks().contains(Ustr::from(ASKING))
    }

    /// Writes down what is known of an expression; what an earlier pass of a loop knew is forgotten.
    fn show(&mut self, place: Place, value: &Value) {
        let value = self.in_words(value);
        let (way, uncalled) = (self.path, self.seeded);
        let calls = || self.frames.iter().filter_map(|frame| frame.site).collect();
        let Some(probe) = self.probe.as_deref_mut().filter(|probe| probe.file == place.file) else { return };
        let visits = &mut probe.revealed.visits;
        let known = visits.iter().position(|visit| (visit.way, visit.uncalled) == (way, uncalled));
        let at = match known {
            Some(at) => at,
            None if visits.len() >= MOST_VISITS => return,
            None => {
                visits.push(Visit { way, calls: calls(), uncalled, values: Vec::new() });
                visits.len() - 1
            }
        };
        let values = &mut visits[at].values;
        let shown = Shown { place, value };
        match values.iter_mut().find(|earlier| earlier.place == place) {
            Some(earlier) => *earlier = shown,
            None => values.push(shown),
        }
    }

    fn in_words(&self, value: &Value) -> String {
        let frames = self.frames.iter().rev().map(|frame| frame.env);
        let names = ObjectNames::seen_from(&self.heap, frames);
        let since = self.loop_since();
        let words =
            Words { heap: &self.heap, project: self.project, symbols: &self.out.symbols, names, since };
        words.value(value)
    }
}
