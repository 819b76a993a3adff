//! Whole lines: statements that have their lines to themselves are inserted, removed, moved and indented.

use super::Draft;
use crate::report::{Edit, Span};
use crate::syntax::{ExprKind, FunctionBody, StmtId, StmtKind};

/// A statement that has its lines to itself, but for a comment behind it.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub stmt: StmtId,
    /// Without what stands before and behind it.
    pub code: Span,
    pub indent: &'a str,
    /// Where its first line begins.
    start: u32,
    /// Where its last line ends, in front of the line feed.
    end: u32,
}

impl<'a> Draft<'a> {
    /// The statement that a place is part of, if it is alone on its lines.
    pub fn line_at(&self, span: Span) -> Option<Line<'a>> {
        self.line(self.statement_at(span)?)
    }

    pub fn line(&self, stmt: StmtId) -> Option<Line<'a>> {
        let text: &'a str = &self.module.source.text;
        let code = self.module.tree.stmt(stmt).span;
        let (start, indent) = self.line_start(code.start);
        let rest = &text[code.end as usize..];
        let behind = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let comment = behind.trim_start();
        let alone = indent.trim_matches([' ', '\t']).is_empty()
            && (comment.is_empty() || comment.starts_with('#'))
            && !text[..start as usize].trim_end_matches(['\n', '\r']).ends_with('\\');
        let end = code.end + behind.len() as u32;
        alone.then_some(Line { stmt, code, indent, start, end })
    }

    /// Where the line of a place begins, and what stands before the place.
    pub(crate) fn line_start(&self, at: u32) -> (u32, &'a str) {
        let text: &'a str = &self.module.source.text;
        let start = text[..at as usize].rfind('\n').map_or(0, |feed| feed + 1);
        (start as u32, &text[start..at as usize])
    }

    /// A statement of one line before another one.
    pub fn insert_before(&self, line: Line<'a>, code: &str) -> Edit {
        self.insert(line.start, format!("{}{code}\n", line.indent))
    }

    pub fn insert_after(&self, line: Line<'a>, code: &str) -> Edit {
        self.insert(line.end, format!("\n{}{code}", line.indent))
    }

    /// Removes a statement with its lines; refused where nothing would be left of its block.
    pub fn remove(&self, line: Line<'a>) -> Option<Edit> {
        let (block, _) = self.beside(line.stmt)?;
        if block.len() < 2 {
            return None;
        }
        let text: &str = &self.module.source.text;
        let feed = text[line.end as usize..].find('\n').map(|at| line.end + at as u32 + 1);
        let cell = |at: u32| self.module.source.locate(at).cell;
        let span = match feed.filter(|end| cell(*end) == cell(line.start)) {
            Some(end) => Span::new(line.start, end),
            // The last line of a file, or cell, takes the line feed before it.
            None => {
                let before = text[..line.start as usize].trim_end_matches(['\n', '\r']).len() as u32;
                Span::new(before, line.end)
            }
        };
        Some(self.replace(span, ""))
    }

    /// Moves a statement of one line behind another one, its comment with it.
    pub fn move_after(&self, line: Line<'a>, target: Line<'a>) -> Option<Vec<Edit>> {
        let moved = self.movable(line)?;
        Some(vec![self.remove(line)?, self.insert_after(target, moved)])
    }

    pub fn move_before(&self, line: Line<'a>, target: Line<'a>) -> Option<Vec<Edit>> {
        let moved = self.movable(line)?;
        Some(vec![self.remove(line)?, self.insert_before(target, moved)])
    }

    fn movable(&self, line: Line<'a>) -> Option<&'a str> {
        let moved = self.text(Span::new(line.code.start, line.end));
        (!moved.contains('\n')).then_some(moved.trim_end())
    }

    /// Indents statements that follow each other, and puts a header above them.
    pub fn put_under(&self, header: &str, first: Line<'a>, last: Line<'a>) -> Option<Edit> {
        let unit = self.unit_around(first).unwrap_or_else(|| self.indent_unit());
        let region = Span::new(first.start, last.end);
        let inside_string = self.lines_in_strings(region);
        let mut text = format!("{}{header}", first.indent);
        let mut at = region.start;
        for line in self.text(region).split('\n') {
            let is_blank = line.trim().is_empty();
            let unit = if is_blank || inside_string.contains(&at) { "" } else { unit };
            text.push('\n');
            text.push_str(unit);
            text.push_str(line.trim_end_matches('\r'));
            at += line.len() as u32 + 1;
        }
        Some(self.replace(region, text))
    }

    /// Where lines begin that begin within a string, whose text must not change.
    fn lines_in_strings(&self, region: Span) -> Vec<u32> {
        let text: &str = &self.module.source.text;
        let strings = self.module.tree.exprs.iter().filter(|expr| {
            let is_string = matches!(expr.kind, ExprKind::Str(_) | ExprKind::Bytes | ExprKind::FString(_));
            is_string && region.contains(expr.span)
        });
        let inside = |span: Span| {
            let feeds = text[span.range()].match_indices('\n');
            feeds.map(move |(at, _)| span.start + at as u32 + 1).collect::<Vec<_>>()
        };
        strings.flat_map(|expr| inside(expr.span)).collect()
    }

    /// By how much a statement is indented against the one around it.
    fn unit_around(&self, line: Line<'a>) -> Option<&'a str> {
        let around = self.statements_around(line.code);
        let (_, outer) = self.line_start(self.statement(*around.iter().rev().nth(1)?).span.start);
        line.indent.strip_prefix(outer).filter(|unit| !unit.is_empty())
    }

    /// By how much the file indents: as its first indented block does.
    fn indent_unit(&self) -> &'a str {
        let tree = &self.module.tree;
        let bodies = tree.stmts.iter().filter_map(|stmt| {
            let body = match &stmt.kind {
                StmtKind::For { body, .. } | StmtKind::With { body, .. } => body,
                StmtKind::Function(id) => match &tree.function(*id).body {
                    FunctionBody::Block(body) => body,
                    FunctionBody::Expr(_) => return None,
                },
                _ => return None,
            };
            Some((stmt.span, *body.first()?))
        });
        let mut units = bodies.filter_map(|(header, first)| {
            let inner = self.line(first)?.indent;
            let (_, outer) = self.line_start(header.start);
            inner.strip_prefix(outer).filter(|unit| !unit.is_empty())
        });
        units.next().unwrap_or("    ")
    }
}
