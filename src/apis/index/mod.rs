//! The public names of the frameworks, release by release: whether there is such a name, in which
//! releases, and which names its parameters have. Made from the packages' sources by `scripts/api_index.py`.

mod packed;
mod pins;
pub mod text;

pub use pins::Pins;

use packed::Packed;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use text::{Kind, More, Span};

/// Aliases may lead to aliases.
const MOST_HOPS: usize = 4;

/// What the index says of a qualified name.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may be there: nobody listed all that is.
    Unknown,
    Known(Known),
    /// What it would be a part of is known whole, and has no such part.
    Missing {
        holder: String,
        name: String,
    },
}

/// A name that exists or existed.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The name it is listed under.
    pub path: String,
    pub span: Span,
    /// `None` where any keyword may be given.
    pub keywords: Option<Vec<(&'static str, Span)>>,
}

/// The index of one package.
pub struct Index {
    pub versions: Vec<&'static str>,
    map: fst::Map<&'static [u8]>,
    more: &'static [u8],
}

/// The package that a qualified name belongs to.
pub fn of(path: &str) -> Option<(&'static str, &'static Index)> {
    let top = path.split('.').next()?;
    all().iter().find(|(name, _)| *name == top).map(|(name, index)| (*name, index))
}

fn all() -> &'static [(&'static str, Index)] {
    static ALL: OnceLock<Vec<(&'static str, Index)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut rest: &'static [u8] = include_bytes!(concat!(env!("OUT_DIR"), "/index.pack"));
        let mut found = Vec::new();
        // The build script wrote it; a test reads it whole.
        while let Ok((packed, after)) = postcard::take_from_bytes::<Packed<'static>>(rest) {
            if let Ok(map) = fst::Map::new(packed.map) {
                found.push((packed.name, Index { versions: packed.versions, map, more: packed.more }));
            }
            rest = after;
        }
        found
    })
}

/// What took the place of a name that was removed.
pub fn instead(path: &str) -> Option<&'static str> {
    static REPLACED: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/index/replaced.toml"));
    // A test reads it.
    let all = REPLACED.get_or_init(|| toml::from_str(text).unwrap_or_default());
    all.get(path).map(String::as_str)
}

/// Asks for a qualified name, along aliases, also into other packages.
pub fn ask(path: &str) -> Answer {
    let mut path = path.to_owned();
    for _ in 0..MOST_HOPS {
        let Some((_, index)) = of(&path) else { return Answer::Unknown };
        match index.walk(&path) {
            Step::Done(answer) => return answer,
            Step::Elsewhere(other) => path = other,
        }
    }
    Answer::Unknown
}

enum Step {
    Done(Answer),
    Elsewhere(String),
}

impl Index {
    /// Goes along the parts of a name until one is not listed.
    fn walk(&self, path: &str) -> Step {
        let mut holder: Option<(Kind, bool)> = None;
        let mut end = 0;
        for part in path.split('.') {
            let start = if end == 0 { 0 } else { end + 1 };
            let before = end;
            end = start + part.len();
            if part.starts_with('_') {
                return Step::Done(Answer::Unknown);
            }
            let Some(number) = self.map.get(&path[..end]) else {
                let is_whole = matches!(holder, Some((Kind::Module | Kind::Class, false)));
                return Step::Done(match is_whole {
                    true => Answer::Missing { holder: path[..before].to_owned(), name: part.to_owned() },
                    false => Answer::Unknown,
                });
            };
            let (kind, is_open, span, at) = packed::read(number);
            let more = self.more(at);
            if let More::Alias(target) = more {
                return Step::Elsewhere(format!("{target}{}", &path[end..]));
            }
            if end == path.len() {
                let keywords = match more {
                    More::Params(params) => Some(params),
                    _ => None,
                };
                // Where not all is listed, the releases that list it do not tell when it came and went.
                let is_open = holder.is_some_and(|(_, is_open)| is_open);
                let span = if is_open { self.all() } else { span };
                return Step::Done(Answer::Known(Known { path: path.to_owned(), span, keywords }));
            }
            if matches!(kind, Kind::Function | Kind::Value) {
                return Step::Done(Answer::Unknown);
            }
            holder = Some((kind, is_open));
        }
        Step::Done(Answer::Unknown)
    }

    fn all(&self) -> Span {
        let last = self.versions.len().saturating_sub(1);
        Span { first: 0, last: u8::try_from(last).unwrap_or(u8::MAX) }
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
}

#[cfg(test)]
mod tests;
