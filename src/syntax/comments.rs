//! The text as the grammar is to see it. Before each comment its scanner looks over all comments that follow for the
//! next indentation, so that n of them in a row take n² steps: a run of more than [`MOST_IN_A_ROW`] is blanks to the
//! grammar, and its comments are found here.

use crate::report::Span;
use crate::source::after_token;
use std::borrow::Cow;
use std::ops::Range;

/// So many times the grammar may look over a byte.
pub(super) const MOST_IN_A_ROW: usize = 64;

/// A text of the same length with the same code, and the comments that it lacks, in order.
pub(super) fn without_long_runs(text: &str) -> (Cow<'_, str>, Vec<Span>) {
    if !may_have_run(text.as_bytes()) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let runs = runs(text.as_bytes());
    if runs.is_empty() {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut blanked, mut from) = (String::with_capacity(text.len()), 0);
    for comment in &runs {
        blanked.push_str(&text[from..comment.start]);
        blanked.extend(std::iter::repeat_n(' ', comment.len()));
        from = comment.end;
    }
    blanked.push_str(&text[from..]);
    let spans = runs.iter().map(|comment| Span::new(comment.start as u32, comment.end as u32));
    (Cow::Owned(blanked), spans.collect())
}

/// Whether so many lines in a row look like comments; lines of strings may, too.
fn may_have_run(bytes: &[u8]) -> bool {
    let (mut at, mut in_a_row) = (0, 0);
    while at < bytes.len() {
        let end = line_end(bytes, at);
        match first_code(bytes, at) {
            Some(b'#') => in_a_row += 1,
            Some(_) => in_a_row = 0,
            None => {}
        }
        if in_a_row > MOST_IN_A_ROW {
            return true;
        }
        at = end + 1;
    }
    false
}

/// The comments of long runs.
fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut run, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        let end = line_end(bytes, at);
        match first_code(bytes, at) {
            Some(b'#') => {
                let start = at + bytes[at..end].iter().take_while(|byte| **byte != b'#').count();
                let blanks = bytes[start..end].iter().rev().take_while(|byte| **byte == b'\r').count();
                run.push(start..end - blanks);
                at = end + 1;
            }
            Some(_) => {
                close(&mut run, &mut found);
                at = after_code(bytes, at);
            }
            None => at = end + 1,
        }
    }
    close(&mut run, &mut found);
    found
}

fn close(run: &mut Vec<Range<usize>>, found: &mut Vec<Range<usize>>) {
    if run.len() > MOST_IN_A_ROW {
        found.append(run);
    }
    run.clear();
}

/// The beginning of the next line that does not begin within a string.
fn after_code(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at = after_token(bytes, at);
    }
    at + 1
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length)
}

/// The first byte of a line that is no blank; none where the line is empty.
fn first_code(bytes: &[u8], at: usize) -> Option<u8> {
    let byte = bytes[at..].iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c' | b'\r'))?;
    (*byte != b'\n').then_some(*byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    fn left(text: &str) -> usize {
        let (seen, comments) = without_long_runs(text);
        assert_eq!(seen.len(), text.len());
        assert!(comments.iter().all(|span| text[span.range()].starts_with('#')), "{comments:?}");
        let seen = seen.matches('#').count();
        assert_eq!(seen + comments.len(), text.matches('#').count());
        seen
    }

    #[test]
    fn the_grammar_sees_no_long_run_of_comments() {
        let many = "    # é\r\n\n".repeat(1000);
        assert_eq!(left(&format!("def f():\n{many}    x = 1  # a\n{many}")), 1);
        assert_eq!(left(&format!("x = [\n{many}]\n")), 0);
        assert_eq!(left(&format!("x = '''\n# ''' \n{many}")), 1);
        assert_eq!(left(&format!("x = \"it's\"  # it's\n{many}")), 1);
    }

    #[test]
    fn strings_and_short_runs_stay() {
        let string = format!("x = '''\n{}'''\n", "# a\n".repeat(1000));
        assert_eq!(left(&string), 1000);
        let short = "# a\n".repeat(MOST_IN_A_ROW);
        assert_eq!(left(&format!("{short}x = 1\n{short}")), 2 * MOST_IN_A_ROW);
    }

    #[test]
    fn comments_of_long_runs_are_in_the_tree() {
        let text = format!("def f():\n    x = 1\n{}    y = 2  # b\n", "    # a\n".repeat(1000));
        let tree = parse(&text);
        assert_eq!((tree.comments.len(), tree.errors.len(), tree.lines.len()), (1001, 0, 3));
        assert!(tree.comments.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
