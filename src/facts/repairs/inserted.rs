//! Statements that are missing, or that should not be there.

use crate::facts::{SameEpochs, Script};
use crate::report::Edit;
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
}
