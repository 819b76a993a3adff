//! Where a text can be split so that its pieces can be parsed apart: between statements of the module, and of the
//! classes in it. In a valid text a split never falls into a statement. In a broken one a piece ends at the latest
//! where a function or class begins at the margin or among a class's members, so that what is broken breaks no
//! more than its own piece.

use super::logical::{after_string, line_end};
use memchr::memmem;

/// A piece of so many bytes ends with any statement, and not only before compound ones.
const LONG: usize = 4096;

/// Heads of statements that begin a piece.
const COMPOUND: [&[u8]; 9] = [b"@", b"async", b"class", b"def", b"for", b"if", b"try", b"while", b"with"];
/// Words that go on with a compound statement.
const CLAUSES: [&[u8]; 5] = [b"case", b"elif", b"else", b"except", b"finally"];

/// Where a piece begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub start: usize,
    /// It holds more members of the class that began last.
    pub is_member: bool,
}

/// Where pieces begin, in order; the first begins with the text.
pub fn chunks(text: &str) -> Vec<Chunk> {
    let bytes = text.as_bytes();
    // A string that never ends says that quotes are not what they seem.
    let chunks = Scan::new(bytes, true).run().or_else(|| Scan::new(bytes, false).run());
    chunks.unwrap_or_else(|| vec![START])
}

const START: Chunk = Chunk { start: 0, is_member: false };

/// The class at the margin that a line may be in.
#[derive(Clone, Copy)]
enum Class<'a> {
    None,
    /// Its first member has not come yet.
    Begun,
    /// What its members are indented by.
    Indented(&'a [u8]),
}

struct Scan<'a> {
    bytes: &'a [u8],
    trusts_quotes: bool,
    chunks: Vec<Chunk>,
    depth: u32,
    class: Class<'a>,
    /// The line before ended with a backslash.
    is_continued: bool,
    /// A decorator waits for what it decorates.
    is_decorated: bool,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], trusts_quotes: bool) -> Scan<'a> {
        Scan {
            bytes,
            trusts_quotes,
            chunks: vec![START],
            depth: 0,
            class: Class::None,
            is_continued: false,
            is_decorated: false,
        }
    }

    /// None when quotes are trusted, and should not be.
    fn run(mut self) -> Option<Vec<Chunk>> {
        let mut at = 0;
        while at < self.bytes.len() {
            self.begin(at);
            at = self.line(at)?;
        }
        Some(self.chunks)
    }

    /// A line that does not begin within a string.
    fn begin(&mut self, at: usize) {
        let is_continued = std::mem::take(&mut self.is_continued);
        let (indent, line) = indented(&self.bytes[at..]);
        if matches!(line.first(), None | Some(b'#' | b'\r' | b'\n')) {
            return;
        }
        let is_within = self.depth > 0 || is_continued;
        if is_within && !(self.is_level(indent) && begins_definition(line)) {
            return;
        }
        match self.class {
            _ if indent.is_empty() => self.statement(at, line),
            Class::Begun => {
                self.class = Class::Indented(indent);
                self.is_decorated = head(line) == b"@";
            }
            Class::Indented(own) if own == indent => self.member(at, line),
            _ => {}
        }
    }

    /// Whether statements that are split apart stand so far from the margin.
    fn is_level(&self, indent: &[u8]) -> bool {
        indent.is_empty() || matches!(self.class, Class::Indented(own) if own == indent)
    }

    /// A statement of the module begins, or a clause of one.
    fn statement(&mut self, at: usize, line: &[u8]) {
        let is_after_members = self.chunks.last().is_some_and(|chunk| chunk.is_member);
        self.is_decorated &= matches!(self.class, Class::None);
        if self.may_split(at, line) || is_after_members {
            self.chunks.push(Chunk { start: at, is_member: false });
        }
        self.class = if head(line) == b"class" { Class::Begun } else { Class::None };
    }

    fn member(&mut self, at: usize, line: &[u8]) {
        if self.may_split(at, line) {
            self.chunks.push(Chunk { start: at, is_member: true });
        }
    }

    fn may_split(&mut self, at: usize, line: &[u8]) -> bool {
        self.depth = 0;
        let head = head(line);
        let is_compound = COMPOUND.contains(&head);
        let is_decorated = std::mem::replace(&mut self.is_decorated, head == b"@");
        let is_part = CLAUSES.contains(&head) || (is_decorated && is_compound);
        let last = self.chunks.last().map_or(0, |chunk| chunk.start);
        at > last && !is_part && !head.is_empty() && (is_compound || at - last > LONG)
    }

    /// To the beginning of the next line that does not begin within a string.
    fn line(&mut self, start: usize) -> Option<usize> {
        let mut at = start;
        while at < self.bytes.len() {
            at = match self.bytes[at] {
                b'\n' => return Some(at + 1),
                // Where quotes are not trusted, a string ends before a definition, too.
                b'"' | b'\'' if self.strays(at) => return self.string(at),
                b'#' => line_end(self.bytes, at),
                b'"' | b'\'' => self.string(at)?,
                b'\\' if self.bytes[at..].starts_with(b"\\\n") || self.bytes[at..].starts_with(b"\\\r\n") => {
                    self.is_continued = true;
                    return Some(line_end(self.bytes, at) + 1);
                }
                b'(' | b'[' | b'{' => {
                    self.depth += 1;
                    at + 1
                }
                b')' | b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    at + 1
                }
                _ => at + 1,
            };
        }
        Some(at)
    }

    /// After a string, or before the definition that it strays into; none where that is not known yet.
    fn string(&self, at: usize) -> Option<usize> {
        let end = after_string(self.bytes, at).min(self.bytes.len());
        let closes = self.bytes[at + 1..end].ends_with(&self.bytes[at..=at]);
        let is_triple = self.bytes[at..].starts_with(&[self.bytes[at]; 3]);
        if self.trusts_quotes {
            return (closes || !is_triple).then_some(end);
        }
        Some(self.stray(at, end).unwrap_or(end))
    }

    fn strays(&self, at: usize) -> bool {
        !self.trusts_quotes && self.stray(at, after_string(self.bytes, at).min(self.bytes.len())).is_some()
    }

    /// The first definition within a string that stands where definitions do.
    fn stray(&self, at: usize, end: usize) -> Option<usize> {
        let feeds = memmem::find_iter(&self.bytes[at..end], b"\n");
        feeds.map(|feed| at + feed + 1).find(|line| {
            let (indent, rest) = indented(&self.bytes[*line..]);
            self.is_level(indent) && begins_definition(rest)
        })
    }
}

/// What a line begins with, and the rest.
fn indented(line: &[u8]) -> (&[u8], &[u8]) {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    line.split_at(blanks)
}

/// The word, or the mark of a decorator, that a statement begins with; empty for any other.
fn head(line: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    match line.first() {
        Some(b'@') => &line[..1],
        _ => &line[..line.iter().take_while(|byte| is_word(byte)).count()],
    }
}

/// `def name` or `class name`, which no expression and no wrapped line begins with.
fn begins_definition(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"async ").unwrap_or(line);
    let named = line.strip_prefix(b"def ").or_else(|| line.strip_prefix(b"class "));
    named.is_some_and(|rest| !head(rest).is_empty() && head(rest) != b"@")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        let mut ends: Vec<usize> = chunks(text).iter().map(|chunk| chunk.start).collect();
        ends.push(text.len());
        ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
    }

    #[test]
    fn pieces_begin_with_compound_statements() {
        let whole = [
            "import a\nx = 1\n",
            "if x:\n    y\nelse:\n    z\n",
            "@a\n# b\n@c\nasync def f():\n    pass\n\n",
            "for x in y: pass\n",
            "class A: pass\n",
        ];
        assert_eq!(pieces(&whole.concat()), whole);
    }

    #[test]
    fn classes_are_cut_between_members() {
        let whole = [
            "@c\nclass A(\n    B\n):\n    # a\n    @d\n    def e(self): pass\n\n",
            "    @property\n    def f(self):\n        def g(): pass\n# b\n",
            "    if x:\n        def h(self): pass\n    else:\n        y = 2\n",
            "(a, b) = 1, 2\nclass C: pass\n",
        ];
        let members: Vec<bool> = chunks(&whole.concat()).iter().map(|chunk| chunk.is_member).collect();
        assert_eq!(pieces(&whole.concat())[..3], whole[..3]);
        assert_eq!(members, [false, true, true, false, false]);
    }

    #[test]
    fn a_wrapped_line_says_nothing_of_later_ones() {
        let whole = ["def f():\n    return a + \\\n        b\n", "@c\nclass D:\n    pass\n"];
        assert_eq!(pieces(&whole.concat()), whole);
    }

    #[test]
    fn nothing_is_cut_within_strings_brackets_and_wrapped_lines() {
        for text in [
            "x = '''\ndef f():\n    pass\n'''\n",
            "x = (\nif_\n, [a\nfor a in b\nif a])\n",
            "x = a \\\nif b else c\n",
            "x = 'a\\\ndef f()'\n",
            "# it's\nx = \"'''\"\ny\n",
        ] {
            assert_eq!(pieces(text), [text]);
        }
    }

    #[test]
    fn what_is_broken_ends_with_the_next_definition() {
        assert_eq!(pieces("x = f(a,\n\ndef g():\n    pass\n"), ["x = f(a,\n\n", "def g():\n    pass\n"]);
        let text = "def f():\n    \"\"\"\n    x\n\ndef g():\n    \"\"\"doc\"\"\"\n\nclass A:\n    pass\n";
        assert_eq!(pieces(text).len(), 3, "{:?}", pieces(text));
        let class =
            ["class A:\n    x = 1\n", "    def f(self):\n        g([\n", "    def h(self):\n        pass\n"];
        assert_eq!(pieces(&class.concat()), class);
        let class = [
            "class A:\n    x = 1\n",
            "    def f(self):\n        \'\'\'x\n",
            "    def h(self):\n        pass\n",
        ];
        assert_eq!(pieces(&class.concat()), class);
    }
}
