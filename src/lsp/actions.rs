//! What can be done about findings: the fix of one, all that are safe, or a comment that ignores one.

use super::documents::Document;
use super::edits::Changes;
use super::findings::View;
use super::server::Server;
use crate::report::{Applicability, Diagnostic as Finding, Span};
use crate::source::{Seat, SourceFile, logical_lines};
use gen_lsp_types::{CodeAction, CodeActionKind, CodeActionParams, Range};
use serde_json::json;

pub(crate) const FIX_ALL: &str = "source.fixAll.trainlint";
/// What some clients run over a whole notebook when it is saved.
pub(crate) const FIX_NOTEBOOK: &str = "notebook.source.fixAll.trainlint";

impl Server {
    pub(crate) fn actions(&self, view: &View<'_>, params: &CodeActionParams) -> Vec<CodeAction> {
        let uri = &params.text_document.uri.0;
        let (Some(seat), Some(source)) = (self.documents.seat(uri), &view.checked.source) else {
            return Vec::new();
        };
        let only = params.context.only.as_deref();
        let mut actions = Vec::new();
        if asks_for(only, "quickfix") {
            for (finding, range) in meant(view.of_cell(seat.cell).collect(), params.range) {
                actions.extend(self.quick(view, seat.document, source, finding, range));
            }
        }
        let kind = [FIX_ALL, FIX_NOTEBOOK].into_iter().find(|kind| only.is_some() && asks_for(only, kind));
        // A light bulb is no place for what costs several checks, unless it can wait until it is wanted.
        let kind = kind.or_else(|| (only.is_none() && self.client.can.resolves).then_some(FIX_ALL));
        if let Some(kind) = kind.filter(|_| has_safe_fix(view)) {
            actions.push(fix_all(seat.document, kind));
        }
        actions
    }

    /// The fix of a finding, and the comment.
    fn quick(
        &self,
        view: &View<'_>,
        document: &Document,
        source: &SourceFile,
        finding: &Finding,
        range: Range,
    ) -> Vec<CodeAction> {
        let may_guess = self.settings_of(&view.checked.path).unsafe_fixes;
        let changes = Changes { document, source, can: &self.client.can };
        let mut actions = Vec::new();
        let action = |title: String, edit, is_preferred: bool| CodeAction {
            title,
            kind: Some(CodeActionKind::QuickFix),
            diagnostics: Some(vec![view.diagnostic(finding, range)]),
            is_preferred: is_preferred.then_some(true),
            edit: Some(edit),
            ..CodeAction::default()
        };
        let least = if may_guess { Applicability::Unsafe } else { Applicability::Safe };
        if let Some(fix) = finding.fix.as_ref().filter(|fix| fix.applicability >= least) {
            let edits: Vec<(Span, &str)> =
                fix.edits.iter().map(|edit| (edit.place.span, edit.text.as_str())).collect();
            if let Some(edit) = changes.edit(&edits) {
                let is_safe = fix.applicability == Applicability::Safe;
                let note = if is_safe { "" } else { " (unsafe: read what it changes)" };
                actions.push(action(format!("{}{note}", capital(&fix.title)), edit, is_safe));
            }
        }
        if let Some((span, text)) = ignoring(source, finding)
            && let Some(edit) = changes.edit(&[(span, &text)])
        {
            actions.push(action(format!("Ignore `{}` here", finding.rule), edit, false));
        }
        if let Some((span, text)) = ignoring_in_file(source, document, finding)
            && let Some(edit) = changes.edit(&[(span, &text)])
        {
            actions.push(action(format!("Ignore `{}` in this file", finding.rule), edit, false));
        }
        actions
    }
}

/// Its edit is made when it is wanted, or before the answer is sent.
fn fix_all(document: &Document, kind: &str) -> CodeAction {
    CodeAction {
        title: "Fix everything that trainlint can fix safely".to_owned(),
        kind: Some(CodeActionKind::from(kind.to_owned())),
        data: Some(json!({ "fixAll": document.uri, "edits": document.edits })),
        ..CodeAction::default()
    }
}

/// The comment that `--add-ignore` writes.
fn ignoring(source: &SourceFile, finding: &Finding) -> Option<(Span, String)> {
    if finding.rule == crate::engine::selection::UNUSED_SUPPRESSION.id {
        return None;
    }
    let seat = Seat::of(&source.text, &logical_lines(&source.text), finding.place.span.start)?;
    Some(seat.silence(&source.text, &[finding.rule], None)).filter(|(_, text)| !text.is_empty())
}

/// A comment for the whole of a script, below the lines that have to be its first. A notebook has no such place.
fn ignoring_in_file(source: &SourceFile, document: &Document, finding: &Finding) -> Option<(Span, String)> {
    document.part(None).filter(|_| finding.rule != crate::engine::selection::UNUSED_SUPPRESSION.id)?;
    let is_first = |line: &&str| line.starts_with("#!") || line.starts_with('#') && line.contains("coding");
    let lines = source.text.split_inclusive('\n').take(2).take_while(is_first);
    let start = u32::try_from(lines.map(str::len).sum::<usize>()).ok()?;
    Some((Span::new(start, start), format!("# trainlint: file-ignore[{}]\n", finding.rule)))
}

fn has_safe_fix(view: &View<'_>) -> bool {
    let is_safe =
        |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.applicability == Applicability::Safe);
    view.checked.outcome.findings.iter().any(is_safe)
}

/// Whether a kind, or one that it is part of, is among those asked for; without a list all are.
fn asks_for(only: Option<&[CodeActionKind]>, kind: &str) -> bool {
    let Some(only) = only else { return true };
    only.iter().any(|asked| {
        let asked = String::from(asked.clone());
        kind.strip_prefix(asked.as_str())
            .is_some_and(|rest| asked.is_empty() || rest.is_empty() || rest.starts_with('.'))
    })
}

/// What stands where was asked; where nothing does, what stands on those lines, since the cursor of a terminal is
/// seldom on the finding itself.
fn meant<T>(all: Vec<(T, Range)>, asked: Range) -> Vec<(T, Range)> {
    let touches = |one: Range| one.start <= asked.end && asked.start <= one.end;
    let on_lines = |one: Range| one.start.line <= asked.end.line && asked.start.line <= one.end.line;
    let is_on_one = all.iter().any(|(_, range)| touches(*range));
    all.into_iter().filter(|(_, range)| if is_on_one { touches(*range) } else { on_lines(*range) }).collect()
}

fn capital(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gen_lsp_types::Position;

    #[test]
    fn what_stands_on_the_line_is_meant_unless_the_cursor_is_on_another() {
        let range = |line, from, to| Range {
            start: Position { line, character: from },
            end: Position { line, character: to },
        };
        let all = || vec![("left", range(3, 4, 9)), ("right", range(3, 20, 25)), ("below", range(4, 0, 5))];
        let names = |asked| meant(all(), asked).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(range(3, 4, 4)), ["left"]);
        assert_eq!(names(range(3, 25, 25)), ["right"]);
        assert_eq!(names(range(3, 0, 0)), ["left", "right"]);
        assert_eq!(names(range(3, 0, 99)), ["left", "right"]);
        assert_eq!(names(range(2, 0, 0)), Vec::<&str>::new());
    }

    #[test]
    fn kinds_are_asked_for_by_what_they_are_part_of() {
        let asked = |kind: &str| vec![CodeActionKind::from(kind.to_owned())];
        assert!(asks_for(None, FIX_ALL));
        assert!(asks_for(Some(&asked("")), FIX_ALL));
        assert!(asks_for(Some(&asked("source")), FIX_ALL));
        assert!(asks_for(Some(&asked("source.fixAll")), FIX_ALL));
        assert!(!asks_for(Some(&asked("source.fix")), FIX_ALL));
        assert!(!asks_for(Some(&asked("source.fixAll.other")), FIX_ALL));
        assert!(!asks_for(Some(&[]), FIX_ALL));
    }
}
