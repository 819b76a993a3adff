//! New suppressions, put where they cover a place: at the end of its line, and where no comment
//! can stand there (within a string, before a backslash), at the end of the statement.

use super::directive::{self, Action, Found};
use crate::report::Span;
use crate::source::logical::{after_string, line_end};

/// Where a comment can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat {
    /// After the last character of the line that is not space.
    end: u32,
    /// The comment that is there already.
    comment: Option<Span>,
}

impl Seat {
    /// Of a place in code; `logical` are the logical lines of the text. None for a place in a comment.
    pub fn of(text: &str, logical: &[Span], place: u32) -> Option<Seat> {
        let before = logical.partition_point(|line| line.start <= place);
        let own = *logical[..before].last().filter(|line| place < line.end)?;
        let last = (own.end as usize).max(place as usize + 1);
        [place as usize, last - 1].into_iter().find_map(|at| seat(text, own, line_end(text.as_bytes(), at)))
    }

    /// The change that silences these rules; empty where all of them are silenced there already.
    pub fn silence(self, text: &str, rules: &[&str], reason: Option<&str>) -> (Span, String) {
        let listed = self.comment.map(|comment| ignored(text, comment)).unwrap_or_default();
        let missing: Vec<&str> =
            rules.iter().copied().filter(|rule| !listed.iter().any(|(one, _)| one == rule)).collect();
        let names = missing.join(", ");
        match listed.last() {
            _ if missing.is_empty() => (Span::new(self.end, self.end), String::new()),
            Some((_, span)) => (Span::new(span.end, span.end), format!(", {names}")),
            None => {
                let reason = reason.map(|reason| format!(" -- {reason}")).unwrap_or_default();
                (Span::new(self.end, self.end), format!("  # trainlint: ignore[{names}]{reason}"))
            }
        }
    }
}

/// The ids in the first `ignore[…]` of a comment.
fn ignored(text: &str, comment: Span) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    directive::parse(text, comment, &mut found);
    let ignoring = found.into_iter().find_map(|found| match found {
        Found::Directive(directive) if directive.action == Action::Ignore => Some(directive.rules),
        _ => None,
    });
    ignoring.unwrap_or_default()
}

/// At the end of a physical line of a logical one, if a comment can stand there.
fn seat(text: &str, logical: Span, end: usize) -> Option<Seat> {
    let bytes = text.as_bytes();
    let (mut at, mut comment) = (logical.start as usize, None);
    while at < end {
        at = match bytes[at] {
            b'#' => {
                let after = line_end(bytes, at);
                comment = (after == end).then_some(at);
                after
            }
            b'"' | b'\'' => after_string(bytes, at),
            _ => at + 1,
        };
    }
    let line = text[..end].trim_end();
    let in_string = at > end;
    let goes_on = comment.is_none() && line.ends_with('\\');
    let end = line.len() as u32;
    (!in_string && !goes_on).then(|| Seat { end, comment: comment.map(|start| Span::new(start as u32, end)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::logical_lines;

    fn silenced(text: &str, word: &str, rules: &[&str], reason: Option<&str>) -> String {
        let place = text.find(word).unwrap() as u32;
        let seat = Seat::of(text, &logical_lines(text), place).unwrap();
        let (span, by) = seat.silence(text, rules, reason);
        let mut text = text.to_owned();
        text.replace_range(span.range(), &by);
        text
    }

    #[test]
    fn a_comment_goes_where_one_can_stand() {
        let of = |text: &str| silenced(text, "BAD", &["a"], None);
        assert_eq!(of("x = BAD  \ny = 1\n"), "x = BAD  # trainlint: ignore[a]  \ny = 1\n");
        assert_eq!(of("x = BAD"), "x = BAD  # trainlint: ignore[a]");
        assert_eq!(of("f(\n  BAD,\n  1)\n"), "f(\n  BAD,  # trainlint: ignore[a]\n  1)\n");
        assert_eq!(of("x = BAD + \\\n  1\n"), "x = BAD + \\\n  1  # trainlint: ignore[a]\n");
        assert_eq!(of("f('''\nBAD\n''', 1)\n"), "f('''\nBAD\n''', 1)  # trainlint: ignore[a]\n");
        assert_eq!(of("x = BAD\r\ny = '#'\r\n"), "x = BAD  # trainlint: ignore[a]\r\ny = '#'\r\n");
        assert_eq!(of("if BAD:\n  pass\n"), "if BAD:  # trainlint: ignore[a]\n  pass\n");
    }

    #[test]
    fn comments_that_are_there_stay() {
        let of = |text: &str| silenced(text, "BAD", &["a", "b"], Some("known"));
        assert_eq!(of("BAD  # noqa: E501\n"), "BAD  # noqa: E501  # trainlint: ignore[a, b] -- known\n");
        assert_eq!(of("BAD # trainlint: ignore[a] why\n"), "BAD # trainlint: ignore[a, b] why\n");
        assert_eq!(of("BAD # trainlint: ignore[b, a]\n"), "BAD # trainlint: ignore[b, a]\n");
        assert_eq!(of("BAD # see C:\\\n"), "BAD # see C:\\  # trainlint: ignore[a, b] -- known\n");
        assert_eq!(Seat::of("x = 1  # BAD\n", &logical_lines("x = 1  # BAD\n"), 9), None);
    }
}
