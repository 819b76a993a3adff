//! Names of the frameworks that a file says, and whether there are such names.

use super::{Changed, Deprecated, Script, Use, walked};
use crate::apis::deprecated::{self, Row};
use crate::apis::index::text::{Releases, Span};
use crate::apis::index::{self, Answer, Index, Known, Missing, Pin, Wanted};
use crate::names::{Mention, Target, is_only_looked_up, mentions};
use crate::report::{Boundary, Cause, Confidence, Fix, Place};
use crate::trace::{At, Sight};
use std::rc::Rc;
use ustr::Ustr;

/// An argument of a framework's method that its table does not list.
pub struct UnlistedKeyword {
    pub method: Ustr,
    pub name: Ustr,
}

/// A name that no release has, or none that the project may run with.
pub struct MissingName {
    pub at: At,
    /// The whole name, or the keyword.
    pub name: String,
    /// What does not have it.
    pub holder: String,
    /// The keyword of a call.
    pub is_keyword: bool,
    /// What was perhaps meant.
    pub near: Option<String>,
    /// What took the place of a removed name.
    pub instead: Option<&'static Row>,
    /// How it is written in the releases that the project asks for.
    pub fix: Option<Fix>,
    pub why: Why,
}

/// What a look at the names of a file found.
#[derive(Default)]
pub struct NamesFound {
    pub missing: Vec<MissingName>,
    pub deprecated: Vec<Deprecated>,
    pub changed: Vec<Changed>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// No listed release has it: the first and the last of them.
    Never { first: &'static str, last: &'static str },
    /// It came later than what the project asks for.
    Later { came: String, pin: String, boundary: Boundary },
    /// It went before what the project asks for.
    Gone { went: String, pin: String, boundary: Boundary },
    /// It went, and what the project asks for, if anything, does not keep newer releases away.
    Outlived { went: String, pin: Option<String>, boundary: Boundary },
    /// It went before something came that the file uses, too.
    Apart { gone: String, other: Use },
}

impl MissingName {
    /// What it has in common with others: the name, and where the project stands.
    pub fn cause(&self) -> Cause {
        let what = format!("{}.{}", self.holder, self.name);
        let boundary = match &self.why {
            Why::Never { .. } | Why::Apart { .. } => None,
            Why::Later { boundary, .. } | Why::Gone { boundary, .. } | Why::Outlived { boundary, .. } => {
                Some(boundary.clone())
            }
        };
        Cause { what, boundary }
    }
}

/// Keywords that the parser of arguments of a framework took, in NumPy's names and its own, before any release
/// wrote them down: `numpy_compatibility_arg_names` in `python_arg_parser.cpp`.
const PARSED: (&str, [&str; 8]) = ("torch.", ["a", "axis", "input", "keepdims", "other", "x", "x1", "x2"]);

/// What the project may run with.
#[derive(Debug)]
pub enum Asked {
    /// Anything.
    Any,
    /// What nobody read: nothing can be said.
    Outside,
    /// So it is told; too little to hold against a script.
    Told(Span),
    Pinned {
        span: Span,
        pin: String,
        key: String,
    },
}

impl Script<'_> {
    /// Names of frameworks in this file that do not exist.
    pub fn missing_names(&self) -> &[MissingName] {
        &self.names_found().missing
    }

    pub(super) fn names_found(&self) -> &NamesFound {
        self.found.get_or_init(|| self.look_up_names())
    }

    fn look_up_names(&self) -> NamesFound {
        let module = self.project.module(self.file);
        let (mut found, mut old, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        let mut said = mentions(&module.tree, &module.names);
        said.extend(self.starred());
        for mention in &said {
            let Some((package, _)) = index::of(&mention.path) else { continue };
            let is_provided_for =
                mention.guarded && !(raises(&mention.path) && is_only_looked_up(&module.tree, mention));
            if is_provided_for || self.is_own(package) || self.has_own(&mention.path) {
                continue;
            }
            let before = found.len();
            let answer = index::ask(&mention.path);
            let known = match &answer {
                Answer::Unknown => None,
                Answer::Missing(missing) => {
                    found.extend(self.part_missing(mention, missing));
                    None
                }
                Answer::Part(known) => {
                    found.extend(self.elsewhen(mention, known));
                    Some(known)
                }
                Answer::Known(known) => {
                    match self.elsewhen(mention, known) {
                        Some(missing) => found.push(missing),
                        None => found.extend(self.wrong_keywords(mention, known)),
                    }
                    Some(known)
                }
            };
            // What is reported as missing is not told twice.
            if found.len() == before {
                old.extend(self.deprecated_name(mention, known));
                changed.extend(self.changed_call(mention, known));
            }
            let is_told =
                |one: &Deprecated| found[before..].iter().any(|missing| missing.at.place == one.at.place);
            old.extend(self.deprecated_arguments(mention, known).into_iter().filter(|one| !is_told(one)));
        }
        changed.extend(self.changed_bare_calls());
        changed.extend(self.changed_of_bases(&said));
        // Whoever says what is safe to load, knows of the change.
        changed.retain(|one: &Changed| !said.iter().any(|mention| one.row.unless.contains(&mention.path)));
        found.extend(self.unknown_attributes(&said));
        found.extend(self.wrong_method_keywords(&said));
        old.extend(self.deprecated_methods(&said));
        old.extend(self.assigned_of_bases(&said));
        NamesFound { missing: found, deprecated: old, changed }
    }

    /// Attributes that values of a framework do not have. What a value is rests on what was rehearsed, so a
    /// name counts only where another is near that it was perhaps meant to be.
    fn unknown_attributes(&self, said: &[Mention]) -> Vec<MissingName> {
        let packages = packages_of(said);
        let asked: Vec<(&At, &Ustr, &Ustr)> = self
            .sightings()
            .filter_map(|(at, sight)| match sight {
                Sight::UnknownAttribute { class, name } => Some((at, class, name)),
                _ => None,
            })
            .filter(|(at, class, _)| {
                at.place.file == self.file && packages.iter().any(|own| is_of(class, own))
            })
            .collect();
        // Where several frameworks meet, a tensor may be of any of them, or an array.
        let several = TENSORS.iter().filter(|package| packages.contains(package)).count() > 1;
        let is_ambiguous = |class: &str| several && class.ends_with(".Tensor");
        let mut found: Vec<MissingName> = Vec::new();
        for (at, class, name) in &asked {
            let told = found.iter().any(|missing| missing.at.place == at.place);
            if told || is_ambiguous(class) {
                continue;
            }
            let Answer::Missing(missing) = index::ask(&format!("{class}.{name}")) else { continue };
            let never = self.never_had((*at).clone(), &missing);
            // What is only used as tensors are may be an array, or a record of its own: a slip of one letter counts.
            let is_near = |missing: &MissingName| match &missing.near {
                Some(near) => {
                    at.confidence == Confidence::High || strsim::damerau_levenshtein(name, near) == 1
                }
                None => false,
            };
            found.extend(never.filter(is_near));
        }
        found
    }

    /// A package of the project itself has the name of a framework.
    pub(super) fn is_own(&self, package: &str) -> bool {
        self.project.resolve(self.file, 0, Some(Ustr::from(package))) != Target::Outside
    }

    /// The same where a bare folder has the name: it counts where the file that is asked for lies in it.
    fn has_own(&self, path: &str) -> bool {
        let end = path.match_indices('.').nth(1).map_or(path.len(), |(at, _)| at);
        path[..end].contains('.') && self.is_own(&path[..end])
    }

    /// Stands for what the project asks for of a package, and where; else for the project.
    pub fn asked_key(&self, package: &'static str) -> String {
        let asked = index::of(package).map(|(package, index)| self.asked(package, index));
        match asked.as_deref() {
            Some(Asked::Pinned { key, .. }) => key.clone(),
            _ => format!("{package} {}", self.pins.root.as_deref().unwrap_or_default()),
        }
    }

    /// What the project asks for of a package.
    pub(super) fn asked(&self, package: &'static str, index: &Index) -> Rc<Asked> {
        let mut known = self.asked.borrow_mut();
        let asked = known.entry(package).or_insert_with(|| Rc::new(self.ask_pins(package, index)));
        asked.clone()
    }

    fn ask_pins(&self, package: &str, index: &Index) -> Asked {
        match self.pins.wanted(package, index) {
            Wanted::Any => Asked::Any,
            Wanted::Outside => Asked::Outside,
            Wanted::Within { span, pins } if pins.iter().all(|pin| pin.origin.is_weak) => Asked::Told(span),
            Wanted::Within { span, pins } => {
                Asked::Pinned { span, pin: cited(&pins), key: key(package, &pins) }
            }
        }
    }

    /// A part that is not listed: what it would be a part of may be missing itself.
    fn part_missing(&self, mention: &Mention, missing: &Missing) -> Option<MissingName> {
        let known = Known { path: missing.holder.clone(), span: missing.span, unsure: None, keywords: None };
        self.elsewhen(mention, &known).or_else(|| self.never_had(self.part(mention, &missing.name)?, missing))
    }

    /// A name that no release has of which all names are known.
    fn never_had(&self, at: At, missing: &Missing) -> Option<MissingName> {
        let (package, index) = index::of(&missing.holder)?;
        let is_unsure = match &*self.asked(package, index) {
            Asked::Outside => true,
            Asked::Any => missing.unsure.is_some_and(|unsure| unsure.last >= missing.span.last),
            Asked::Told(span) | Asked::Pinned { span, .. } => {
                missing.unsure.is_some_and(|unsure| unsure.meets(*span))
            }
        };
        if is_unsure {
            return None;
        }
        let near = near(&missing.name, index.parts(&missing.holder));
        let why = never(&index.releases, missing.unsure);
        let (holder, name) = (missing.holder.clone(), missing.name.clone());
        Some(MissingName { at, name, holder, is_keyword: false, near, instead: None, fix: None, why })
    }

    /// A name that other releases have than those that the project asks for.
    fn elsewhen(&self, mention: &Mention, known: &Known) -> Option<MissingName> {
        let why = self.why(known)?;
        // What it is a part of may be what is missing.
        let above = mention.path.match_indices('.').map(|(end, _)| &mention.path[..end]);
        let missing = above.filter(|path| path.contains('.')).find_map(|path| match index::ask(path) {
            Answer::Known(above) | Answer::Part(above) => Some((path.to_owned(), self.why(&above)?)),
            _ => None,
        });
        let (path, why) = missing.unwrap_or_else(|| (known.path.clone(), why));
        let (holder, name) = path.rsplit_once('.')?;
        let at = match path.len() < mention.path.len() && mention.path.starts_with(&path) {
            true => self.part(mention, name)?,
            false => self.at(*mention.parts.last()?),
        };
        let (holder, name) = (holder.to_owned(), name.to_owned());
        let instead = deprecated::of(&path);
        let own = self.row_of(mention, Some(known)).filter(|(name, _)| *name == path || path == known.path);
        let fix = own.and_then(|(_, row)| self.rewritten(row, index::of(&path)?.0, mention));
        Some(MissingName { at, name, holder, is_keyword: false, near: None, instead, fix, why })
    }

    fn why(&self, known: &Known) -> Option<Why> {
        let (package, index) = index::of(&known.path)?;
        let asked = self.asked(package, index);
        let (has, unsure) = clipped(known, &index.releases);
        why(&index.releases, has, unsure, &asked)
            .or_else(|| self.outlived(package, index, &known.path, has, unsure))
    }

    fn wrong_keywords(&self, mention: &Mention, known: &Known) -> Vec<MissingName> {
        let keywords = mention.keywords.iter();
        keywords.filter_map(|(name, span)| self.wrong_keyword(known, *name, self.at(*span))).collect()
    }

    /// Arguments of methods that the tables do not list and that no release has, or not all. What has the method rests on
    /// what was rehearsed.
    fn wrong_method_keywords(&self, said: &[Mention]) -> Vec<MissingName> {
        let packages = packages_of(said);
        let own = self.observed_once::<UnlistedKeyword>().filter(|(at, seen)| {
            let is_said = packages.iter().any(|package| is_of(&seen.method, package));
            at.place.file == self.file && at.confidence == Confidence::High && is_said
        });
        own.filter_map(|(at, seen)| match index::ask(&seen.method) {
            // What has a row is told by it, and what became a word of the language as that.
            Answer::Known(known)
                if deprecated::of_argument(&known.path, &seen.name).is_none() && seen.name != "async" =>
            {
                self.wrong_keyword(&known, seen.name, at.clone())
            }
            _ => None,
        })
        .collect()
    }

    fn wrong_keyword(&self, known: &Known, name: Ustr, at: At) -> Option<MissingName> {
        let (package, index) = index::of(&known.path)?;
        let keywords = known.keywords.as_ref()?;
        let listed = keywords.listed.iter().find(|(keyword, _)| *keyword == name);
        let asked = self.asked(package, index);
        let unsure = keywords.unsure;
        let why = match (listed, &*asked) {
            (Some((_, span)), asked) => why(&index.releases, *span, unsure, asked)
                .or_else(|| self.outlived(package, index, &known.path, *span, unsure)),
            (None, Asked::Outside) => None,
            (None, Asked::Any) if unsure.is_some_and(|unsure| unsure.last >= known.span.last) => None,
            (None, Asked::Told(span) | Asked::Pinned { span, .. })
                if unsure.is_some_and(|unsure| unsure.meets(*span)) =>
            {
                None
            }
            (None, _) => Some(never(&index.releases, unsure)),
        }?;
        let was_taken = PARSED.1.contains(&name.as_str()) && known.path.starts_with(PARSED.0);
        if was_taken && matches!(why, Why::Later { .. }) {
            return None;
        }
        let row = deprecated::of_argument(&known.path, &name);
        // What it means before it is gone is written down, and told by that.
        if row.is_some_and(|row| row.fate.is_some()) && matches!(why, Why::Outlived { .. }) {
            return None;
        }
        let near = match listed {
            None => near(&name, keywords.listed.iter().map(|(keyword, _)| (*keyword).to_owned()).collect()),
            Some(_) => None,
        };
        let fix = row.and_then(|row| self.rewritten_argument(row, package, &known.path, at.place.span));
        let (name, holder) = (name.to_string(), known.path.clone());
        Some(MissingName { at, name, holder, is_keyword: true, near, instead: row, fix, why })
    }

    /// Where the mention says a part of the name.
    pub(super) fn part(&self, mention: &Mention, name: &str) -> Option<At> {
        let said: Vec<&str> = mention.path.split('.').collect();
        let first = said.len().saturating_sub(mention.parts.len());
        let at = (first..said.len()).find(|at| said[*at] == name).unwrap_or(said.len() - 1);
        Some(self.at(*mention.parts.get(at.checked_sub(first)?)?))
    }

    pub(super) fn at(&self, span: crate::report::Span) -> At {
        walked(None, Place::new(self.file, span), &[], &[], Confidence::High)
    }
}

/// The packages that names begin with.
fn packages_of(said: &[Mention]) -> Vec<&str> {
    said.iter().filter_map(|mention| mention.path.split('.').next()).collect()
}

/// `torch==1.4` (requirements.txt:3), and where else it is said.
fn cited(pins: &[&Pin]) -> String {
    /// More would not be read.
    const MOST: usize = 3;
    let words: Vec<String> = pins.iter().take(MOST).map(|pin| pin.cited()).collect();
    words.join(" or ")
}

fn key(package: &str, pins: &[&Pin]) -> String {
    let places =
        pins.iter().map(|pin| format!("{}/{}:{}", pin.origin.base, pin.origin.file, pin.origin.line));
    places.fold(package.to_owned(), |key, place| key + " " + &place)
}

/// No release from the one after which nothing is unsure.
fn never(releases: &'static Releases<'static>, unsure: Option<Span>) -> Why {
    let first = unsure.map_or(0, |unsure| unsure.last.saturating_add(1).min(releases.last()));
    Why::Never { first: releases.name(first), last: releases.name(releases.last()) }
}

fn why(releases: &'static Releases<'static>, has: Span, unsure: Option<Span>, asked: &Asked) -> Option<Why> {
    let Asked::Pinned { span: wanted, pin, key } = asked else { return None };
    if unsure.is_some_and(|unsure| unsure.meets(*wanted)) {
        return None;
    }
    let package = key.split(' ').next().unwrap_or_default().to_owned();
    let pin = pin.clone();
    let boundary = |rank: u8, is_last: bool| Boundary {
        key: format!("{key} {is_last}"),
        package,
        release: releases.name(rank).to_owned(),
        rank,
        is_last,
        is_open: false,
    };
    if has.first > wanted.last {
        Some(Why::Later { came: releases.came_with(has.first), pin, boundary: boundary(has.first, false) })
    } else if has.last < wanted.first {
        Some(Why::Gone { went: releases.went_after(has.last), pin, boundary: boundary(has.last, true) })
    } else {
        None
    }
}

/// Whether a name that newer releases no longer have is still there in them, and raises.
fn raises(path: &str) -> bool {
    deprecated::of(path).is_some_and(|row| row.raises)
}

/// The releases that have a name, without those of which people wrote down that it raises there, or is gone.
fn clipped(known: &Known, releases: &Releases<'_>) -> (Span, Option<Span>) {
    let row = deprecated::of(&known.path).filter(|row| row.fate.is_none() && row.back.is_none());
    let gone = row.and_then(|row| releases.from(row.gone.as_ref()?)).filter(|gone| *gone > known.span.first);
    let Some(last) = gone.map(|gone| gone - 1) else { return (known.span, known.unsure) };
    let until = |span: Span| Span { last: span.last.min(last), ..span };
    (until(known.span), known.unsure.map(until).filter(|unsure| unsure.first <= unsure.last))
}

/// Packages that have tensors of their own.
const TENSORS: [&str; 4] = ["jax", "keras", "tensorflow", "torch"];

/// Whether a class belongs to a package.
fn is_of(class: &str, package: &str) -> bool {
    class.split('.').next() == Some(package)
}

/// The name that is meant, if one is close enough.
fn near(name: &str, all: Vec<String>) -> Option<String> {
    /// Less alike than this is another word.
    const ALIKE: f64 = 0.8;
    let alike = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let best = all.into_iter().map(|other| (alike(&other), other)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}
