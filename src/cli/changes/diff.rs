//! What `git diff` writes, without context and colours.

use std::collections::HashMap;
use std::ops::Range;

/// What is new, with paths from the top on.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    /// The lines that are new or different. Files that git does not know have none: what the base does not have of
    /// them is new in any case.
    pub lines: HashMap<String, Vec<Range<u32>>>,
    /// Where files were before.
    pub renamed: HashMap<String, String>,
}

impl Diff {
    /// Adds what a diff says of the files in a folder.
    pub(crate) fn read(&mut self, diff: &str, folder: &str) {
        let full = |path: &str| format!("{folder}{path}");
        let (mut path, mut old) = (None, None);
        // Of a hunk, so many lines are left that may look like anything.
        let mut body = 0;
        for line in diff.split('\n') {
            if body > 0 && line.starts_with(['+', '-']) {
                body -= 1;
            } else if let Some(new) = line.strip_prefix("+++ ") {
                path = unquoted(new).strip_prefix("b/").map(full);
            } else if let Some(from) = line.strip_prefix("rename from ") {
                old = Some(full(&unquoted(from)));
            } else if let Some((to, from)) = line.strip_prefix("rename to ").zip(old.take()) {
                self.renamed.insert(full(&unquoted(to)), from);
            } else if let Some((removed, added)) = line.strip_prefix("@@ -").and_then(hunk) {
                body = removed + added.len();
                if let Some(path) = path.as_ref().filter(|_| !added.is_empty()) {
                    self.lines.entry(path.clone()).or_default().push(added);
                }
            }
        }
    }
}

/// `7,2 +8,3 @@ def f():`: how many lines are gone, and which came.
fn hunk(text: &str) -> Option<(usize, Range<u32>)> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse::<u32>().ok());
    let start: u32 = new.split(',').next()?.parse().ok()?;
    let added = count(new)?;
    Some((count(old)? as usize, start..start.checked_add(added)?))
}

/// A path as git writes it: in quotes where it holds a quote or a character that commands.
fn unquoted(path: &str) -> String {
    let path = path.trim_end_matches(['\t', '\r']);
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return path.to_owned();
    };
    let (mut out, mut rest) = (Vec::new(), inner.as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let Some((&escape, tail)) = tail.split_first().filter(|_| byte == b'\\') else {
            out.push(byte);
            continue;
        };
        rest = tail;
        let octal = inner_octal(escape, tail);
        match escape {
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            _ if octal.is_some() => {
                out.extend(octal);
                rest = &tail[2..];
            }
            plain => out.push(plain),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The byte of three octal digits.
fn inner_octal(first: u8, rest: &[u8]) -> Option<u8> {
    let digits = [first, *rest.first()?, *rest.get(1)?];
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_read_from_a_diff() {
        let diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3 +3,2 @@ def f():\n-a\n+++ b/y.py\n+c\n\
                    @@ -9,2 +10,0 @@\n-d\n-e\ndiff --git a/z.py b/z.py\n--- a/z.py\n+++ \"b/z\\303\\274\\\"\\t.py\"\n@@ -0,0 +1 @@\n+q\n";
        let mut read = Diff::default();
        read.read(diff, "");
        let found = read.lines;
        assert_eq!((found["x.py"].len(), &found["x.py"][0]), (1, &(3..5)));
        assert_eq!((found["zü\"\t.py"].len(), &found["zü\"\t.py"][0]), (1, &(1..2)));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn renamed_files_are_read_from_a_diff() {
        let diff = "diff --git a/a b.py b/c.py\nsimilarity index 100%\nrename from a b.py\nrename to \"\\303\\274.py\"\n\
                    diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1 @@\n-rename from q\n-rename to r\n+rename to z\n";
        let mut read = Diff::default();
        read.read(diff, "sub/");
        assert_eq!(read.renamed, HashMap::from([("sub/ü.py".to_owned(), "sub/a b.py".to_owned())]));
        assert_eq!((read.lines["sub/x.py"].len(), &read.lines["sub/x.py"][0]), (1, &(1..2)));
    }
}
