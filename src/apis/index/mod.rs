//! The public names of the frameworks, release by release: whether there is such a name, in which
//! releases, and which names its parameters have. Made from the packages' sources by `scripts/api_index.py`.

mod packed;
mod pins;
mod releases;
pub mod text;
mod wheels;

pub use pins::{Origin, Pin, Pins, Wanted};

use packed::Packed;
use std::sync::OnceLock;
use text::{ANY, Kind, More, Releases, Span};

/// Aliases may lead to aliases.
const MOST_HOPS: usize = 4;

/// What the index says of a qualified name.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may be there: nobody listed all that is.
    Unknown,
    Known(Known),
    /// Nobody listed all parts of something that is known, which is what is told of.
    Part(Known),
    Missing(Missing),
}

/// A name that exists or existed.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The name it is listed under.
    pub path: String,
    pub span: Span,
    /// Releases that may have it outside of the span: not all was listed of what it is in.
    pub unsure: Option<Span>,
    /// `None` where any keyword may be given.
    pub keywords: Option<Keywords>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keywords {
    pub listed: Vec<(&'static str, Span)>,
    /// Releases in which any keyword may be given.
    pub unsure: Option<Span>,
}

/// What it would be a part of is known whole, and has no such part.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    pub holder: String,
    pub name: String,
    /// The releases that have the holder.
    pub span: Span,
    /// Those of them in which it may have it all the same.
    pub unsure: Option<Span>,
}

/// The index of one package.
pub struct Index {
    pub releases: Releases<'static>,
    map: fst::Map<&'static [u8]>,
    more: &'static [u8],
}

/// The package that a qualified name belongs to.
pub fn of(path: &str) -> Option<(&'static str, &'static Index)> {
    let top = path.split('.').next()?;
    all().iter().find(|(name, _)| *name == top).map(|(name, index)| (*name, index))
}

pub fn all() -> &'static [(&'static str, Index)] {
    static ALL: OnceLock<Vec<(&'static str, Index)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut rest: &'static [u8] = include_bytes!(concat!(env!("OUT_DIR"), "/index.pack"));
        let mut found = Vec::new();
        // The build script wrote it; a test reads it whole.
        while let Ok((packed, after)) = postcard::take_from_bytes::<Packed<'static>>(rest) {
            if let Ok(map) = fst::Map::new(packed.map) {
                found.push((packed.name, Index { releases: packed.releases, map, more: packed.more }));
            }
            rest = after;
        }
        found
    })
}

/// Asks for a qualified name, along aliases, also into other packages.
pub fn ask(path: &str) -> Answer {
    let (mut path, mut within) = (path.to_owned(), None);
    for _ in 0..MOST_HOPS {
        let Some((package, index)) = of(&path) else { return Answer::Unknown };
        match index.walk(&path) {
            Step::Done(Answer::Known(known)) => return Answer::Known(known.within(package, within)),
            Step::Done(Answer::Part(known)) => return Answer::Part(known.within(package, within)),
            Step::Done(answer) => return answer,
            Step::Elsewhere { path: other, span, open } => {
                within = Some((package, span, open));
                path = other;
            }
        }
    }
    Answer::Unknown
}

impl Known {
    /// Another name of it may have come later or gone sooner than what it leads to.
    fn within(mut self, package: &str, alias: Option<(&str, Span, Option<Span>)>) -> Known {
        if let Some((_, span, open)) = alias.filter(|(own, span, _)| *own == package && span.meets(self.span))
        {
            // Where not all was listed of what it is in, the other name may have been there as well.
            self.unsure = joined(self.unsure, open);
            self.span.first = self.span.first.max(span.first);
            self.span.last = self.span.last.min(span.last);
        }
        self
    }
}

enum Step {
    Done(Answer),
    Elsewhere { path: String, span: Span, open: Option<Span> },
}

impl Index {
    /// Goes along the parts of a name until one is not listed.
    fn walk(&self, path: &str) -> Step {
        let mut holder: Option<Known> = None;
        let mut kind = Kind::Value;
        let mut open = None;
        let mut end = 0;
        for part in path.split('.') {
            let start = if end == 0 { 0 } else { end + 1 };
            end = start + part.len();
            if part.starts_with('_') {
                return Step::Done(part_of(holder));
            }
            let Some(number) = self.map.get(&path[..end]) else {
                return Step::Done(match holder {
                    Some(holder) if matches!(kind, Kind::Module | Kind::Class) => {
                        not_listed(holder, part, open)
                    }
                    other => part_of(other),
                });
            };
            let entry = packed::read(number);
            let more = self.more(entry.more);
            if let More::Alias(target) = more {
                let path = format!("{target}{}", &path[end..]);
                return Step::Elsewhere { path, span: entry.span, open };
            }
            let keywords = match more {
                More::Params(params) => Some(keywords(params, outside(open, entry.span))),
                _ => None,
            };
            holder = Some(Known { path: path[..end].to_owned(), span: entry.span, unsure: open, keywords });
            (kind, open) = (entry.kind, joined(open, entry.open));
        }
        Step::Done(holder.map_or(Answer::Unknown, Answer::Known))
    }

    fn more(&self, at: usize) -> More<'static> {
        let bytes = if at == 0 { None } else { self.more.get(at..) };
        bytes.and_then(|bytes| postcard::take_from_bytes(bytes).ok()).map_or(More::Nothing, |(more, _)| more)
    }

    /// The names that something holds, for «did you mean».
    pub fn parts(&self, holder: &str) -> Vec<String> {
        use fst::{IntoStreamer, Streamer};
        let prefix = format!("{holder}.");
        // A slash comes right after a dot.
        let after = format!("{holder}/");
        let (mut from, mut found) = (prefix.clone(), Vec::new());
        'names: loop {
            let mut stream = self.map.range().ge(&from).lt(&after).into_stream();
            while let Some((key, _)) = stream.next() {
                let part = std::str::from_utf8(&key[prefix.len()..]).unwrap_or_default();
                let Some((part, _)) = part.split_once('.') else {
                    found.push(part.to_owned());
                    continue;
                };
                // What lies deeper is far more, and is passed over.
                from = format!("{prefix}{part}/");
                continue 'names;
            }
            return found;
        }
    }

    /// Whether anything at all holds a part of this name. All names are gone through.
    pub fn has_part(&self, name: &str) -> bool {
        use fst::{IntoStreamer, Streamer};
        let ending = format!(".{name}");
        let mut stream = self.map.into_stream();
        while let Some((key, _)) = stream.next() {
            if key.ends_with(ending.as_bytes()) {
                return true;
            }
        }
        false
    }
}

/// What is known of a part that nobody listed is when that is there which it is a part of.
fn part_of(holder: Option<Known>) -> Answer {
    holder.map_or(Answer::Unknown, Answer::Part)
}

/// A part that is not listed: missing, where all is listed in some release at least.
fn not_listed(holder: Known, part: &str, open: Option<Span>) -> Answer {
    let is_open = open.is_some_and(|open| open.first <= holder.span.first && holder.span.last <= open.last);
    if is_open {
        return part_of(Some(holder));
    }
    Answer::Missing(Missing { holder: holder.path, name: part.to_owned(), span: holder.span, unsure: open })
}

fn joined(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Span { first: a.first.min(b.first), last: a.last.max(b.last) }),
        (a, b) => a.or(b),
    }
}

/// The releases in which something may be there and is not listed, where it is listed in those of a span.
fn outside(open: Option<Span>, listed: Span) -> Option<Span> {
    let open = open?;
    match (open.first < listed.first, open.last > listed.last) {
        (true, true) => Some(open),
        (true, false) => Some(Span { first: open.first, last: listed.first - 1 }),
        (false, true) => Some(Span { first: listed.last + 1, last: open.last }),
        (false, false) => None,
    }
}

/// Parameters of something; where it may be something else, `open`, they may be others.
fn keywords(params: Vec<(&'static str, Span)>, open: Option<Span>) -> Keywords {
    let unsure = params.iter().find(|(name, _)| *name == ANY).map(|(_, span)| *span);
    let listed = params.into_iter().filter(|(name, _)| *name != ANY).collect();
    Keywords { listed, unsure: joined(unsure, open) }
}

#[cfg(test)]
mod tests;
