//! Text of strangers as people may see it: what names and comments say never steers a terminal, hides the order of
//! words or speaks to whoever reads a log.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character commands a terminal, ends a line or turns the direction of others.
pub fn steers(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || turns
}

/// On one line, with an escape in place of each such character.
pub fn escaped(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// The same of a text of several lines.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// A path as it may begin a line: there, two colons would be a command to the runner of GitHub Actions.
pub fn escaped_path(path: &str) -> Cow<'_, str> {
    let shown = escaped(path);
    if shown.trim_start().starts_with("::") { Cow::Owned(format!("./{shown}")) } else { shown }
}

fn replaced(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_replaced(c) {
            // Writing to a string does not fail.
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_and_not_done() {
        assert_eq!(escaped("a\u{1b}[2J\n\u{202e}b é 语"), "a\\u{1b}[2J\\n\\u{202e}b é 语");
        assert_eq!(escaped_lines("a\n\tb\r\u{2066}"), "a\n\tb\\r\\u{2066}");
        assert_eq!(escaped_path("::stop-commands::x.py"), "./::stop-commands::x.py");
        assert_eq!(escaped_path("a::b.py"), "a::b.py");
    }
}
