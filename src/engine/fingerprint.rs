//! What makes a finding the same finding after lines were added, code was moved and files were
//! renamed: its rule, the code of its line, and the functions and classes around it. Knows no path.

use crate::engine::{Outcome, Shown};
use crate::report::{Diagnostic, FileId, Span};
use crate::source::{bare_code, logical_lines};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The most bytes of code in a fingerprint.
const LONGEST: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    pub rule: &'static str,
    /// The functions and classes around the place, outermost first, with dots; empty at the top.
    pub context: String,
    /// The line without comments, its runs of space made one.
    pub code: String,
}

impl Fingerprint {
    /// Sixteen hexadecimal digits.
    pub fn digest(&self) -> String {
        let Fingerprint { rule, context, code } = self;
        format!("{:016x}", xxh3_64(format!("{rule}\0{context}\0{code}").as_bytes()))
    }
}

/// A line of data or of what was generated is told by its start and a digest of all of it.
fn shortened(code: String) -> String {
    if code.len() <= LONGEST {
        return code;
    }
    let start: String = code.chars().take(LONGEST / 2).collect();
    format!("{start} … {:016x}", xxh3_64(code.as_bytes()))
}

/// Thirty-two hexadecimal digits that stand for a text.
pub fn digest_of(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// One for each finding of the outcome, in their order.
pub fn fingerprints(outcome: &Outcome) -> Vec<Fingerprint> {
    let mut outlines: FxHashMap<FileId, Outline> = FxHashMap::default();
    let mut of = |finding: &Diagnostic| {
        let shown = outcome.sources.get(finding.place.file);
        let Some(shown) = shown else {
            return Fingerprint { rule: finding.rule, context: String::new(), code: String::new() };
        };
        let outline = outlines.entry(finding.place.file).or_insert_with(|| Outline::of(shown));
        outline.fingerprint(finding.rule, shown, finding.place.span)
    };
    outcome.findings.iter().map(&mut of).collect()
}

/// Counts how often each was seen before: the first of its kind is number one.
#[derive(Debug, Default)]
pub struct Occurrences(FxHashMap<String, u32>);

impl Occurrences {
    pub fn next(&mut self, of: &str) -> u32 {
        let count = self.0.entry(of.to_owned()).or_insert(0);
        *count += 1;
        *count
    }
}

/// The logical lines of a file, with their indentation.
struct Outline(Vec<(Span, usize)>);

impl Outline {
    fn of(shown: &Shown) -> Outline {
        let text = &shown.source.text;
        let indented = |line: Span| {
            let start = line.start as usize;
            let before = text[..start].rfind('\n').map_or(0, |end| end + 1);
            (line, start - before)
        };
        Outline(logical_lines(text).into_iter().map(indented).collect())
    }

    fn fingerprint(&self, rule: &'static str, shown: &Shown, span: Span) -> Fingerprint {
        let source = &shown.source;
        let before = self.0.partition_point(|(line, _)| line.start <= span.start);
        let physical = source.line_range(source.line_index(span.start));
        let own = self.0[..before].last().filter(|(line, _)| span.start < line.end);
        let code = match own {
            Some((logical, _)) => bare_code(&source.text, *logical, physical),
            // In a comment, which then is what the finding is about.
            None => source.text[physical].split_whitespace().collect::<Vec<_>>().join(" "),
        };
        Fingerprint { rule, context: self.context(&source.text, before), code: shortened(code) }
    }

    /// What is around the last of the first so many lines.
    fn context(&self, text: &str, lines: usize) -> String {
        let mut names = Vec::new();
        let mut within = self.0[..lines].last().map_or(0, |(_, indent)| *indent);
        for (line, indent) in self.0[..lines].iter().rev() {
            if within == 0 {
                break;
            }
            if *indent < within {
                within = *indent;
                names.extend(defined(&text[line.range()]));
            }
        }
        names.reverse();
        names.join(".")
    }
}

/// The name that a header defines, if it defines one.
fn defined(header: &str) -> Option<&str> {
    let header = header.strip_prefix("async ").map_or(header, str::trim_start);
    let rest = header.strip_prefix("def ").or_else(|| header.strip_prefix("class "))?.trim_start();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use std::path::Path;
    use std::sync::Arc;

    fn fingerprint(text: &str) -> Fingerprint {
        let source = SourceFile::from_bytes(Path::new("x.py"), text.as_bytes()).unwrap();
        let at = source.text.find("BAD").unwrap() as u32;
        let shown = Shown { path: "x.py".to_owned(), source: Arc::new(source) };
        Outline::of(&shown).fingerprint("unsafe-division", &shown, Span::new(at, at + 3))
    }

    #[test]
    fn what_is_around_a_line_and_in_it_counts_and_where_it_stands_does_not() {
        let plain = fingerprint("class A:\n    def f(self):\n        if x:\n            y =  BAD\n");
        assert_eq!((plain.context.as_str(), plain.code.as_str()), ("A.f", "y = BAD"));
        let moved = "import os\n\n\nclass A:\n  s = '''\nBAK\n'''\n  async def f(self):  # why\n    y = BAD  # noqa\n";
        assert_eq!(fingerprint(moved), plain);
        assert_ne!(fingerprint("class A:\n    def g(self):\n        y = BAD\n").digest(), plain.digest());
    }

    #[test]
    fn of_a_statement_over_several_lines_the_one_with_the_place_counts() {
        let text = "y = f('#',  # first\n      BAD,  # second\n      z)\n";
        assert_eq!(fingerprint(text).code, "BAD,");
        assert_eq!(fingerprint("x = 1  # BAD\n").code, "x = 1 # BAD");
    }
}
