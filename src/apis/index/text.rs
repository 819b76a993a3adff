//! The text form of an index: `rules/index/README.md` explains it. Shared with the build script, which
//! packs it; what is wrong in it stops the build.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Module,
    Class,
    Function,
    /// A number, a result of a call: what it holds is not known.
    Value,
}

/// One public name.
#[derive(Debug)]
pub struct Line<'t> {
    /// Qualified.
    pub path: String,
    pub kind: Kind,
    /// The first and the last release in which it may hold more than is listed.
    pub open: Option<Span>,
    /// The first and the last release that has it, by number.
    pub span: Span,
    pub more: More<'t>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub first: u8,
    pub last: u8,
}

impl Span {
    pub fn meets(self, other: Span) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// What stands above the names of a package.
#[derive(Debug, Serialize, Deserialize)]
pub struct Releases<'t> {
    /// Those that were read, in order.
    #[serde(borrow)]
    pub read: Vec<&'t str>,
    /// The Pythons that each is made for, as `3.7-3.10`.
    #[serde(borrow)]
    pub pythons: Vec<&'t str>,
    /// All others, in order.
    #[serde(borrow)]
    pub others: Vec<&'t str>,
}

/// Stands among parameters for any, of the releases of which they are not known.
pub const ANY: &str = "*";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum More<'t> {
    Nothing,
    /// Another name of this.
    Alias(&'t str),
    /// The names that may be given by keyword, and the releases that know them; all others do not exist.
    #[serde(borrow)]
    Params(Vec<(&'t str, Span)>),
}

/// Reads the index of one package: its releases, and its names.
pub fn parse(text: &str) -> Result<(Releases<'_>, Vec<Line<'_>>), String> {
    let mut lines = text.lines().enumerate();
    let mut header = |word: &str| {
        let rest = lines.next().and_then(|(_, line)| line.strip_prefix(word));
        rest.map(|rest| rest.split_ascii_whitespace().collect::<Vec<&str>>())
    };
    let read = header("versions").ok_or("line 1: expected `versions …`")?;
    let pythons = header("pythons").ok_or("line 2: expected `pythons …`")?;
    let others = header("others").ok_or("line 3: expected `others …`")?;
    let last = u8::try_from(read.len() - 1).map_err(|_| "line 1: more than 256 versions")?;
    let releases = Releases { read, pythons, others };
    let all = Span { first: 0, last };
    let mut above: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for (number, line) in lines {
        let failure = |what: &str| format!("line {}: {what}: `{line}`", number + 1);
        let (dotted, rest) = line.split_once(' ').ok_or_else(|| failure("no kind"))?;
        let name = dotted.trim_start_matches('.');
        let depth = dotted.len() - name.len();
        if depth > above.len() {
            return Err(failure("too deep for what is above it"));
        }
        above.truncate(depth);
        above.push(name);
        out.push(one(above.join("."), rest, all).ok_or_else(|| failure("not understood"))?);
    }
    Ok((releases, out))
}

fn one(path: String, rest: &str, all: Span) -> Option<Line<'_>> {
    let (head, params) = match rest.split_once('(') {
        Some((head, params)) => (head, Some(params.strip_suffix(')')?)),
        None => (rest, None),
    };
    let mut words = head.split_ascii_whitespace();
    let kind = words.next()?;
    let (kind, open) = match kind.split_once('*') {
        Some((kind, "")) => (kind, Some(all)),
        Some((kind, releases)) => (kind, Some(span(releases, all)?)),
        None => (kind, None),
    };
    let kind = match kind {
        "m" => Kind::Module,
        "c" => Kind::Class,
        "f" => Kind::Function,
        "v" => Kind::Value,
        _ => return None,
    };
    let mut line = Line { path, kind, open, span: all, more: More::Nothing };
    for word in words {
        match word.split_at_checked(1)? {
            ("@", releases) => line.span = span(releases, all)?,
            (">", target) => line.more = More::Alias(target),
            _ => return None,
        }
    }
    if let Some(params) = params {
        let known = |word| match str::split_once(word, '@') {
            Some((name, releases)) => Some((name, span(releases, all)?)),
            None => Some((word, line.span)),
        };
        line.more = More::Params(params.split_ascii_whitespace().map(known).collect::<Option<_>>()?);
    }
    Some(line)
}

/// `3-7`
fn span(text: &str, all: Span) -> Option<Span> {
    let (first, last) = text.split_once('-')?;
    let span = Span { first: first.parse().ok()?, last: last.parse().ok()? };
    (span.first <= span.last && span.last <= all.last).then_some(span)
}
