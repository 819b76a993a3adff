//! What keeps Python from running a text at all, in the words of its grammar. The tree comes from a parser that
//! recovers and does not say why; this recogniser is asked where that one stumbled, and says what was expected.
//! It takes every text that a release of Python 3 takes, so what it refuses is wrong in all of them.

mod expressions;
mod gate;
mod indentation;
mod lexer;
mod patterns;
mod statements;
#[cfg(test)]
mod tests;
mod tokens;

use super::ast::Tree;
use crate::report::Span;
use gate::may_be_broken;
use statements::Parser;

/// A place where the grammar has no way on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub span: Span,
    pub kind: FaultKind,
    /// What it goes back to: the bracket that a closing one meets, the head of a missing block.
    pub since: Option<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `<<<<<<<` and what belongs to it.
    Conflict,
    /// A bracket that is never closed.
    Unclosed,
    /// A closing bracket that closes nothing.
    Unmatched,
    /// A closing bracket of another kind than the one that is open.
    Mismatched,
    /// A string that its line does not end, or the text.
    OpenString,
    /// A character that Python has no use for.
    Character,
    /// A number that runs into a name.
    Number,
    /// Something stands behind a backslash that was to continue the line.
    Continuation,
    /// A line stands further in than the one before, which opens no block.
    Indent,
    /// A line goes back to a column at which no block stands.
    Unindent,
    /// How far in a line stands depends on how wide a tab is.
    Tabs,
    /// The head of a block is followed by none.
    MissingBlock,
    /// All that a block holds is a line that IPython takes for itself.
    Magic,
    /// A header without its colon.
    MissingColon,
    /// Two expressions follow each other where a list goes on.
    MissingComma,
    /// `if x = 3`
    AssignedInTest,
    /// `else` and its kin, of nothing.
    LoneClause,
    /// A `try` that handles nothing.
    LoneTry,
    /// An argument by position after one by keyword.
    LatePositional,
    /// A word of the language where a name was expected.
    Keyword,
    /// What was expected here.
    Expected(&'static str),
    /// What only Python 2 has, and how Python 3 says it.
    Python2(&'static str),
}

/// The faults of a text, in order; one for each broken place, for what follows a fault is often a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub found: Vec<Fault>,
    /// All of them are forms of Python 2, and nothing in the text is of Python 3 only.
    pub is_python2: bool,
}

/// What is wrong with a text of which `tree` is what could be made of it; it was cut into `pieces` that stand for
/// themselves, such as the cells of a notebook.
pub fn faults(text: &str, tree: &Tree, pieces: &[Span]) -> Faults {
    if !may_be_broken(text, tree) {
        return Faults::default();
    }
    let mut all = Faults::default();
    let mut is_python3 = false;
    for piece in pieces {
        let (found, is_newer) = of_piece(text, *piece);
        is_python3 |= is_newer;
        all.found.extend(found);
    }
    let is_old = |fault: &Fault| matches!(fault.kind, FaultKind::Python2(_));
    // Python 2 takes a tab for eight blanks.
    let may_be_old = |fault: &Fault| is_old(fault) || fault.kind == FaultKind::Tabs;
    all.is_python2 = !is_python3 && all.found.iter().any(is_old) && all.found.iter().all(may_be_old);
    // Python stops at the first of them, and the others have its cause.
    let mut tabs = u32::from(all.is_python2);
    all.found.retain(|fault| {
        tabs += u32::from(fault.kind == FaultKind::Tabs);
        fault.kind != FaultKind::Tabs || tabs == 1
    });
    all
}

/// What stands between the markers of a conflict is told as the conflict, whatever else is wrong with it.
fn beside_conflicts(text: &str, mut found: Vec<Fault>) -> Vec<Fault> {
    let ending = |start: u32| {
        let end = text[start as usize..].find("\n>>>>>>>");
        end.map_or(text.len() as u32, |end| start + end as u32)
    };
    let is_conflict = |fault: &&Fault| fault.kind == FaultKind::Conflict;
    let conflicts: Vec<Span> = found
        .iter()
        .filter(is_conflict)
        .map(|fault| Span::new(fault.span.start, ending(fault.span.start)))
        .collect();
    let inside = |fault: &Fault| conflicts.iter().any(|conflict| conflict.contains(fault.span));
    found.retain(|fault| fault.kind == FaultKind::Conflict || !inside(fault));
    found
}

/// The blocks behind a bracket that is never closed, up to the next line that begins at the margin: the bracket may have
/// taken the head of one for its own, so nothing is said of how far in its lines stand.
fn behind_open_brackets(text: &str, mut found: Vec<Fault>) -> Vec<Fault> {
    let ending = |start: usize| {
        let at_margin =
            |(_, rest): &(usize, &str)| rest.starts_with(|c: char| !c.is_whitespace() && c != '#');
        let mut lines =
            text[start..].match_indices('\n').map(|(at, _)| (start + at + 1, &text[start + at + 1..]));
        lines.find(at_margin).map_or(text.len(), |(at, _)| at)
    };
    let mut blocks: Vec<Span> = Vec::new();
    for fault in found.iter().filter(|fault| fault.kind == FaultKind::Unclosed) {
        let start = fault.span.start;
        if blocks.last().is_none_or(|last| last.end <= start) {
            blocks.push(Span::new(start, ending(start as usize) as u32));
        }
    }
    let is_of_blocks = |kind: &FaultKind| {
        use FaultKind::*;
        matches!(kind, Indent | Unindent | Tabs | LoneClause | LoneTry | MissingBlock)
    };
    let is_inside = |place: Span| {
        let before = blocks.partition_point(|block| block.start <= place.start);
        blocks[..before].last().is_some_and(|block| block.contains(place))
    };
    found.retain(|fault| !is_of_blocks(&fault.kind) || !is_inside(fault.span));
    found
}

fn of_piece(text: &str, piece: Span) -> (Vec<Fault>, bool) {
    let part = &text[piece.range()];
    let scanned = lexer::scan(part);
    if scanned.is_template {
        return (Vec::new(), false);
    }
    let (found, is_newer) = Parser::new(part, scanned).run();
    let mut found = behind_open_brackets(part, beside_conflicts(part, found));
    for fault in &mut found {
        for span in std::iter::once(&mut fault.span).chain(&mut fault.since) {
            (span.start, span.end) = (span.start + piece.start, span.end + piece.start);
        }
    }
    (found, is_newer)
}

/// The character before a place.
fn last_char(text: &str, end: u32) -> Span {
    let width = text[..end as usize].chars().next_back().map_or(0, char::len_utf8);
    Span::new(end - width as u32, end)
}
