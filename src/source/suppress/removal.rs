//! What to take out of a file so that a suppression which hides nothing is gone.

use super::Unused;
use crate::report::Span;

impl Unused {
    /// The id, or the whole comment where it says nothing else; `None` where that is not plain.
    pub fn removal(&self, text: &str) -> Option<Span> {
        let open = text[..self.span.start as usize].rfind('[')? + 1;
        let close = self.span.end as usize + text[self.span.end as usize..].find(']')?;
        let inside = text.get(open..close).filter(|list| !list.contains(['[', '\n']))?;
        let action = text[..open - 1].trim_end();
        if !(action.ends_with("ignore") || action.ends_with("file-ignore")) {
            return None;
        }
        if inside.trim() == self.rule { self.whole_comment(text, open, close) } else { Some(self.item(text)) }
    }

    /// One id of several, with the comma that set it apart.
    fn item(&self, text: &str) -> Span {
        let behind = &text[self.span.end as usize..];
        match behind.trim_start().strip_prefix(',') {
            Some(rest) => {
                let next = rest.len() - rest.trim_start().len();
                Span::new(self.span.start, self.span.end + (behind.len() - rest.len() + next) as u32)
            }
            None => {
                let before = text[..self.span.start as usize].trim_end().trim_end_matches(',');
                Span::new(before.len() as u32, self.span.end)
            }
        }
    }

    /// The comment that the directive is, which others may stand before and behind.
    fn whole_comment(&self, text: &str, open: usize, close: usize) -> Option<Span> {
        let (first, last) = (self.comment.start as usize, self.comment.end as usize);
        let start = first + text.get(first..open)?.rfind('#')?;
        let says = text[start + 1..open].trim_start().to_ascii_lowercase();
        let reason = text.get(close + 1..last)?;
        let end = reason.find('#').map_or(last, |next| close + 1 + next);
        if !says.starts_with("trainlint") || text[close + 1..end].contains('[') {
            return None;
        }
        let line = text[..start].rfind('\n').map_or(0, |feed| feed + 1);
        let before = text[line..start].trim_end();
        let span = match (end == last, before.is_empty(), text[end..].find('\n')) {
            (false, ..) => start..end,
            (true, true, Some(feed)) => line..end + feed + 1,
            (true, true, None) => line..end,
            (true, false, _) => line + before.len()..end,
        };
        Some(Span::new(span.start as u32, span.end as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(text: &str, rule: &str) -> Option<String> {
        let at = text.find(rule).unwrap();
        let comment = text.find('#').unwrap();
        let end = comment + text[comment..].find('\n').unwrap_or(text.len() - comment);
        let unused = Unused {
            rule: rule.to_owned(),
            span: Span::new(at as u32, (at + rule.len()) as u32),
            comment: Span::new(comment as u32, end as u32),
            what: String::new(),
        };
        let span = unused.removal(text)?;
        Some(format!("{}{}", &text[..span.start as usize], &text[span.end as usize..]))
    }

    #[test]
    fn a_comment_goes_when_nothing_is_left_of_it() {
        let of = |text: &str| removed(text, "a-rule");
        assert_eq!(of("x = 1  # trainlint: ignore[a-rule]\ny\n").as_deref(), Some("x = 1\ny\n"));
        assert_eq!(of("x\n  # trainlint: ignore[a-rule] why\ny\n").as_deref(), Some("x\ny\n"));
        assert_eq!(
            of("x  # trainlint: ignore[a-rule, b-rule]").as_deref(),
            Some("x  # trainlint: ignore[b-rule]")
        );
        assert_eq!(
            of("x  # trainlint: ignore[b-rule, a-rule]").as_deref(),
            Some("x  # trainlint: ignore[b-rule]")
        );
        assert_eq!(
            of("x  # type: ignore  # trainlint: ignore[a-rule]").as_deref(),
            Some("x  # type: ignore")
        );
        assert_eq!(of("x  # trainlint: ignore[a-rule]  # noqa: F401").as_deref(), Some("x  # noqa: F401"));
        assert_eq!(of("x  # trainlint: ignore[a-rule], disable[b-rule]"), None);
        assert_eq!(of("# trainlint: disable[a-rule]\n"), None);
    }
}
