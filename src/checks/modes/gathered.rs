//! What a pass over data keeps of each batch: predictions beside labels are scored when the pass is over.

use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::interp::{Checker, ContainerWrite, Interp};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{ExprId, ExprKind, StmtKind};
use crate::trace::{At, Effect, Event, LoopId, Over, Protocol, Way, walk};
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_container_write: Some(keep), ..Checker::SILENT };

/// Something was put into a list in a loop.
pub(super) struct Kept;

fn keep(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) {
    cx.observe(write.place, Kept, Confidence::High);
}

/// A loop over batches, and where the model runs in it.
struct Pass<'a> {
    draft: Draft<'a>,
    file: FileId,
    span: Span,
    run: Span,
    /// What the loop binds.
    batch: Vec<Ustr>,
}

/// What a value is made of in an iteration.
#[derive(Default)]
struct Made {
    by_run: bool,
    of_batch: bool,
}

/// Whether what a forward gives is kept by the loop around it, and so is something of its batch that it did not give, or
/// nothing is trained any more.
pub(super) fn is_gathered(script: &Script, at: &At) -> bool {
    let Some(pass) = Pass::around(script, at) else { return false };
    let made: Vec<Made> = pass.kept(script, at).into_iter().map(|value| pass.made(value)).collect();
    let is_labelled = || made.iter().any(|made| made.of_batch && !made.by_run);
    made.iter().any(|made| made.by_run) && (is_labelled() || is_last(script, at))
}

/// Whether a pass comes when everything is trained, and once: who wants to know how unsure a model is repeats it.
fn is_last(script: &Script, at: &At) -> bool {
    let repeats = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Counter);
    let mut after = After { at, trains: false };
    let mut own = script.rehearsal.entries.iter().filter(|entry| entry.function.is_none());
    at.seeded.is_none()
        && !at.loops.iter().any(repeats)
        && own.all(|entry| walk(&mut after, &entry.nodes, false))
        && !after.trains
}

/// What is trained after a forward; the state is whether that has run.
struct After<'a> {
    at: &'a At,
    trains: bool,
}

impl Protocol for After<'_> {
    type State = bool;
    type Event = Event;

    fn join(&self, a: &bool, b: &bool) -> bool {
        *a || *b
    }

    fn event(&mut self, has_run: &mut bool, event: &Event, way: &Way) {
        match event.effect {
            Effect::Backward { .. } | Effect::Step { .. } | Effect::UnseenStep => self.trains |= *has_run,
            Effect::Forward { .. } => {
                *has_run |= event.place == self.at.place && *way.calls == *self.at.calls;
            }
            _ => {}
        }
    }
}

impl<'a> Pass<'a> {
    fn around(script: &Script<'a>, at: &At) -> Option<Pass<'a>> {
        let info = script.rehearsal.loop_info(*at.loops.last()?);
        // What is counted is no data: an agent acts step by step, and keeps what came of it.
        if matches!(info.over, Over::Counter) {
            return None;
        }
        let Place { file, span } = info.place;
        let sites = at.calls.iter().rev().map(|(site, _)| *site);
        let is_inside = |place: &Place| place.file == file && span.contains(place.span);
        let run = [at.place].into_iter().chain(sites).find(is_inside)?.span;
        let draft = script.draft(file);
        let around = draft.statements_around(run);
        let stmt = around.into_iter().map(|stmt| draft.statement(stmt)).find(|stmt| stmt.span == span)?;
        let mut batch = Vec::new();
        if let StmtKind::For { .. } = stmt.kind {
            draft.tree().each_target(&stmt.kind, &mut |target| batch.extend(draft.root(target)));
        }
        Some(Pass { draft, file, span, run, batch })
    }

    /// What is put into lists and arrays that were there before the loop.
    fn kept(&self, script: &Script, at: &At) -> Vec<Span> {
        let draft = self.draft;
        let is_here = |other: &At| {
            let Place { file, span } = other.place;
            other.seeded == at.seeded
                && other.loops == at.loops
                && file == self.file
                && self.span.contains(span)
        };
        let puts = script.observed::<Kept>().filter(|(other, _)| is_here(other));
        let puts: Vec<Span> = puts.map(|(other, _)| other.place.span).collect();
        let mut kept: Vec<Span> = puts.iter().filter_map(|put| self.put_at(*put)).collect();
        for stmt in draft.statements_within(self.span) {
            let value = match stmt {
                // `rows += [...]`
                StmtKind::AugAssign { target, value, .. } => {
                    puts.contains(&draft.expr(*target).span).then_some(value)
                }
                // `all = np.append(all, one)`
                StmtKind::Assign { targets, value } => {
                    targets.iter().any(|target| self.grows(*target, *value)).then_some(value)
                }
                _ => None,
            };
            kept.extend(value.map(|value| draft.expr(*value).span));
        }
        kept
    }

    /// `all.append(one)`
    fn put_at(&self, place: Span) -> Option<Span> {
        let call = self.draft.call_at(place)?;
        let (list, _) = self.draft.receiver(call)?;
        let is_older = self.draft.root(list).is_some_and(|root| !self.draft.binds(self.span, root));
        let put = call.args.last().filter(|_| is_older)?;
        Some(self.draft.expr(put.value).span)
    }

    fn grows(&self, target: ExprId, value: ExprId) -> bool {
        let ExprKind::Name(name) = self.draft.expr(target).kind else { return false };
        let value = self.draft.expr(value);
        matches!(value.kind, ExprKind::Call { .. }) && self.mentioned(value.span).any(|other| other == name)
    }

    fn mentioned(&self, span: Span) -> impl Iterator<Item = Ustr> {
        self.draft.exprs_within(span).filter_map(|expr| match expr.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        })
    }

    /// Follows a value back through what the iteration binds.
    fn made(&self, value: Span) -> Made {
        let mut made = Made::default();
        let mut seen: Vec<Ustr> = Vec::new();
        let mut left = vec![value];
        while let Some(span) = left.pop() {
            made.by_run |= span.contains(self.run);
            for name in self.mentioned(span) {
                if seen.contains(&name) {
                    continue;
                }
                seen.push(name);
                made.of_batch |= self.batch.contains(&name);
                left.extend(self.bound(name));
            }
        }
        made
    }

    /// What an iteration binds a name to.
    fn bound(&self, name: Ustr) -> Vec<Span> {
        let (draft, tree) = (self.draft, self.draft.tree());
        let mut values = Vec::new();
        for stmt in draft.statements_within(self.span) {
            let StmtKind::Assign { value, .. } = stmt else { continue };
            let mut is_it = false;
            tree.each_target(stmt, &mut |target| is_it |= draft.root(target) == Some(name));
            values.extend(is_it.then_some(draft.expr(*value).span));
        }
        values
    }
}
