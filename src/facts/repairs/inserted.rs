//! Statements that are missing, or that should not be there.

use crate::facts::edits::Line;
use crate::facts::{EmptiedCache, SameEpochs, Script, StaleTraining};
use crate::report::{Edit, Span};
use crate::syntax::{ExprKind, StmtKind};
use crate::trace::Over;

impl<'a> Script<'a> {
    /// A call of the sampler's `method` with the number of the epoch, at the head of the loop over epochs.
    pub fn told_epoch(&self, sampler: &SameEpochs, method: &str) -> Option<Vec<Edit>> {
        let (made, epochs) = (sampler.at.place, sampler.epochs);
        let draft = self.draft(made.file);
        let statement = draft.statement_at(made.span)?;
        let name = match &draft.statement(statement).kind {
            StmtKind::Assign { targets, value } => {
                let [target] = **targets else { return None };
                (draft.expr(*value).span == made.span).then_some(target)?
            }
            _ => return None,
        };
        let round = draft.statement_at(epochs.span).filter(|_| epochs.file == made.file)?;
        let StmtKind::For { target, body, .. } = &draft.statement(round).kind else { return None };
        let ExprKind::Name(_) = draft.expr(*target).kind else { return None };
        let counts =
            |info: &crate::trace::LoopInfo| info.place == epochs && matches!(info.over, Over::Counter);
        let (block, at) = draft.beside(statement)?;
        // It has to be there, under this name, whenever the loop is reached.
        let is_before = draft.statements_around(epochs.span).iter().any(|stmt| block[at..].contains(stmt));
        let known = is_before && draft.same_function(made.span, epochs.span);
        if !known || !self.rehearsal.loops.iter().any(counts) {
            return None;
        }
        let code = format!("{}.{method}({})", draft.plain(name)?, draft.written(*target));
        Some(vec![draft.insert_before(draft.line(*body.first()?)?, &code)])
    }

    /// The statements that hand memory back removed, all of one iteration.
    pub fn emptied_no_more(&self, emptied: &EmptiedCache) -> Option<Vec<Edit>> {
        let place = emptied.at.place;
        let draft = self.draft(place.file);
        let mut lines: Vec<Line<'a>> = Vec::new();
        for other in [place].iter().chain(&emptied.others) {
            let line = draft
                .line_at(other.span)
                .filter(|line| other.file == place.file && line.code == other.span)?;
            if !lines.iter().any(|known| known.stmt == line.stmt) {
                lines.push(line);
            }
        }
        let stays = |line: &Line<'a>| {
            let block = draft.beside(line.stmt).map_or(&[][..], |(block, _)| block);
            block.iter().any(|stmt| !lines.iter().any(|line| line.stmt == *stmt))
        };
        lines.iter().all(stays).then(|| lines.iter().map(|line| draft.remove(*line)).collect())?
    }

    /// The compilation once more, in front of the training that does not see a change.
    pub fn compiled_again(&self, stale: &StaleTraining) -> Option<Vec<Edit>> {
        let (compiled, fitted) = (stale.compiled, stale.fitted);
        let draft = self.draft(compiled.file);
        let line = draft.line_at(compiled.span).filter(|line| line.code == compiled.span)?;
        let training = draft.line_at(fitted.span).filter(|_| fitted.file == compiled.file)?;
        let receiver = |span: Span| draft.receiver(draft.call_at(span)?).map(|(base, _)| draft.written(base));
        let same_model = receiver(compiled.span)? == receiver(fitted.span)?;
        // An optimizer that has a name has the state of the first training, too.
        let call = draft.call_at(compiled.span)?;
        let is_named = |arg: &crate::syntax::Arg| matches!(draft.expr(arg.value).kind, ExprKind::Name(_));
        let reusable = !call.args.iter().any(is_named) && line.indent == training.indent;
        let together = draft.same_function(compiled.span, fitted.span);
        (same_model && reusable && together)
            .then(|| vec![draft.insert_before(training, draft.text(line.code))])
    }
}
