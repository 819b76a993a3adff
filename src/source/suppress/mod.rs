//! Comments that keep findings quiet: `# trainlint: ignore[id]`, `file-ignore[id]`,
//! `disable[id]` to `enable[id]`, `# noqa: id` and a bare `# noqa`. Knows no rule: what is named is
//! handed out with its place, so that the engine can say which ids are unknown.

mod directive;
mod removal;
mod scopes;
mod writing;

use crate::report::Span;
use aho_corasick::AhoCorasick;
use directive::{Action, Directive, Found, is_id};
use rustc_hash::FxHashMap;
use scopes::{Scope, Scopes};
use std::cell::RefCell;
use std::sync::LazyLock;

pub use directive::Malformed;
pub use writing::Seat;

/// Whether a text may hold a suppression: after a `#` on the line one of the words, and no code after `noqa`,
/// since that is meant for other tools.
pub fn mentions_suppression(text: &str) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(["trainlint", "noqa"]).ok()
    });
    // Without an automaton every file is parsed.
    let Some(words) = &*WORDS else { return true };
    words.find_iter(text).any(|found| {
        let line = text[..found.start()].rfind('\n').map_or(0, |end| end + 1);
        let is_others = found.pattern().as_u32() == 1 && has_only_codes(&text[found.end()..]);
        !is_others && text[line..found.start()].contains('#')
    })
}

/// Whether what follows `noqa` is a list for other tools.
fn has_only_codes(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default().trim_start();
    let is_word = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
    line.strip_prefix(':').is_some_and(|list| !list.split(|letter| !is_word(letter)).any(is_id))
}

/// The suppressions of one file.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    entries: Vec<SuppressedRule>,
    /// Of each rule, by its place among the entries.
    by_rule: FxHashMap<String, Scopes>,
    /// Lines with a bare `# noqa`.
    noqa: Scopes,
    malformed: Vec<Malformed>,
}

/// A rule that a suppression names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRule<'a> {
    pub rule: &'a str,
    pub span: Span,
}

/// A part of a suppression that kept nothing quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The id in the brackets. Meaningless when the rule was not run: the engine knows.
    pub rule: String,
    /// The id's place.
    pub span: Span,
    /// The whole comment, for a fix that removes it.
    pub comment: Span,
    /// What is wrong, as a message.
    pub what: String,
}

/// One id of one directive.
#[derive(Clone, Debug)]
struct SuppressedRule {
    action: Action,
    rule: String,
    span: Span,
    comment: Span,
    scope: Scope,
    used: bool,
}

impl Suppressions {
    /// Reads the comments of a file. `logical` gives its logical lines, as [`super::logical_lines`] does; it is
    /// asked only when a comment needs them.
    ///
    /// - `ignore` after code covers the findings that begin on that line; on the first or last line of a statement
    ///   over several lines, those in the statement.
    /// - `ignore` alone on a line covers the next logical line (with the header that its decorators belong to); within
    ///   brackets, the next line.
    /// - `disable` covers from its line to the line of the next `enable` with the same id, or the end.
    pub fn collect(text: &str, comments: &[Span], logical: impl FnOnce() -> Vec<Span>) -> Suppressions {
        let mut found = Vec::new();
        for &comment in comments {
            directive::parse(text, comment, &mut found);
        }
        let mut collected = Suppressions::default();
        if found.is_empty() {
            return collected;
        }
        let mut lines = logical();
        lines.sort_unstable();
        let layout = Layout { text, lines, last: RefCell::default() };
        let mut open = FxHashMap::default();
        for found in found {
            match found {
                Found::Directive(directive) => collected.add(&layout, directive, &mut open),
                Found::Noqa(comment) if layout.is_alone(comment) => {}
                Found::Noqa(comment) => collected.noqa.push(layout.after_code(comment), 0),
                Found::Malformed(malformed) => collected.malformed.push(malformed),
            }
        }
        for (index, entry) in collected.entries.iter().enumerate() {
            collected.by_rule.entry(entry.rule.clone()).or_default().push(entry.scope.clone(), index);
        }
        collected.by_rule.values_mut().for_each(Scopes::sort);
        collected.noqa.sort();
        collected
    }

    /// True when a finding at the span, which goes by these names (its rule's and its group's), is to be kept quiet;
    /// remembers what did it.
    pub fn covers(&mut self, names: &[&str], span: Span) -> bool {
        let mut covered = self.noqa.around(span.start).next().is_some();
        for name in names {
            for index in self.by_rule.get(*name).into_iter().flat_map(|scopes| scopes.around(span.start)) {
                self.entries[index].used = true;
                covered = true;
            }
        }
        covered
    }

    /// What [`Suppressions::covers`] never needed so far, in order. A bare `# noqa` is for other tools, too, and is
    /// never here.
    pub fn unused(&self) -> Vec<Unused> {
        let unused = self.entries.iter().filter(|entry| !entry.used);
        unused.map(SuppressedRule::as_unused).collect()
    }

    /// Directives that cannot be understood, in order.
    pub fn malformed(&self) -> &[Malformed] {
        &self.malformed
    }

    /// Every id that is named, in order, for a check that there is such a rule.
    pub fn rules(&self) -> impl Iterator<Item = NamedRule<'_>> {
        self.entries.iter().map(|entry| NamedRule { rule: &entry.rule, span: entry.span })
    }

    /// `open` are the entries of each rule that `disable` it until further notice, the last one last.
    fn add(&mut self, layout: &Layout<'_>, directive: Directive, open: &mut FxHashMap<String, Vec<usize>>) {
        let Directive { action, comment, rules } = directive;
        for (rule, span) in rules {
            let open = open.entry(rule.clone()).or_default();
            let (scope, used) = match action {
                // Others keep their own word for all, so that one of ours which hides nothing may be theirs.
                Action::Noqa if layout.is_alone(comment) => (0..0, true),
                Action::Noqa => (layout.after_code(comment), true),
                Action::Ignore if layout.is_alone(comment) => (layout.below(comment), false),
                Action::Ignore => (layout.after_code(comment), false),
                Action::FileIgnore => (0..u32::MAX, false),
                Action::Disable => {
                    open.push(self.entries.len());
                    (layout.line_start(comment.start)..u32::MAX, false)
                }
                Action::Enable => {
                    let disabled = open.pop();
                    if let Some(disabled) = disabled {
                        self.entries[disabled].scope.end = layout.line_start(comment.start);
                    }
                    (0..0, disabled.is_some())
                }
            };
            self.entries.push(SuppressedRule { action, rule, span, comment, scope, used });
        }
    }
}

impl SuppressedRule {
    fn as_unused(&self) -> Unused {
        let (name, rule) = (self.action.name(), &self.rule);
        let what = match self.action {
            Action::Enable => format!("`{name}[{rule}]` ends no `disable[{rule}]`"),
            _ => format!("`{name}[{rule}]` suppresses nothing"),
        };
        Unused { rule: rule.clone(), span: self.span, comment: self.comment, what }
    }
}

/// A comment above more decorators than this is not about what they decorate.
const MOST_DECORATORS: usize = 256;

/// The lines of the text, physical and logical.
struct Layout<'a> {
    text: &'a str,
    /// In order.
    lines: Vec<Span>,
    /// What the last comment alone on its line was about, and where it stands: those between mean the same.
    last: RefCell<Option<(u32, Scope)>>,
}

impl Layout<'_> {
    fn line_start(&self, at: u32) -> u32 {
        self.text[..at as usize].rfind('\n').map_or(0, |end| end as u32 + 1)
    }

    /// After the line feed; past the end of the text for the last line, so that its end is within it.
    fn line_end(&self, at: u32) -> u32 {
        let rest = &self.text[at as usize..];
        at + rest.find('\n').unwrap_or(rest.len()) as u32 + 1
    }

    /// True when nothing but space stands before the comment.
    fn is_alone(&self, comment: Span) -> bool {
        self.text[self.line_start(comment.start) as usize..comment.start as usize].trim().is_empty()
    }

    /// What a comment after code is about.
    fn after_code(&self, comment: Span) -> Scope {
        let line = self.line_start(comment.start)..self.line_end(comment.start);
        let before = self.lines.partition_point(|logical| logical.start < comment.start);
        let Some(logical) = self.lines[..before].last() else {
            return line;
        };
        let at_first = line.contains(&logical.start);
        let at_last = line.start < logical.end && logical.end <= line.end;
        if at_first || at_last { line.start.min(logical.start)..line.end.max(logical.end) } else { line }
    }

    /// What a comment alone on its line is about.
    fn below(&self, comment: Span) -> Scope {
        let mut last = self.last.borrow_mut();
        // Where nothing comes after one, nothing comes after those behind it.
        let is_known = |(from, scope): &(u32, Scope)| {
            *from <= comment.start && (comment.start < scope.start || scope.is_empty())
        };
        if !last.as_ref().is_some_and(is_known) {
            *last = Some((comment.start, self.searched_below(comment)));
        }
        last.as_ref().map_or(0..0, |(_, scope)| scope.clone())
    }

    fn searched_below(&self, comment: Span) -> Scope {
        let after = self.lines.partition_point(|logical| logical.start < comment.start);
        if self.lines[..after].last().is_some_and(|logical| comment.start < logical.end) {
            return self.line_below(comment);
        }
        let Some((first, rest)) = self.lines[after..].split_first() else { return 0..0 };
        let mut last = first;
        for next in rest.iter().take(MOST_DECORATORS) {
            if !self.text[last.start as usize..].starts_with('@') {
                break;
            }
            last = next;
        }
        first.start..last.end
    }

    /// The next physical line that is more than a comment.
    fn line_below(&self, comment: Span) -> Scope {
        let mut start = self.line_end(comment.start);
        while (start as usize) < self.text.len() {
            let end = self.line_end(start);
            let line = self.text[start as usize..].lines().next().unwrap_or_default().trim_start();
            if !line.is_empty() && !line.starts_with('#') {
                return start..end;
            }
            start = end;
        }
        0..0
    }
}

#[cfg(test)]
mod tests;
