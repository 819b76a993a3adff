//! Names of the frameworks that a file says, and whether there are such names.

use super::{Script, walked};
use crate::apis::index::{self, Answer, Index, Known};
use crate::names::{Mention, Target, mentions};
use crate::report::{Confidence, Place};
use crate::trace::{At, Sight};
use ustr::Ustr;

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
    pub instead: Option<&'static str>,
    pub why: Why,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// No listed release has it: the first and the last of them.
    Never { first: &'static str, last: &'static str },
    /// It came later than what the project asks for.
    Later { since: &'static str, pin: String },
    /// It went before what the project asks for.
    Gone { last: &'static str, pin: String },
}

impl Script<'_> {
    /// Names of frameworks in this file that do not exist.
    pub fn missing_names(&self) -> &[MissingName] {
        self.missing.get_or_init(|| self.look_up_names())
    }

    fn look_up_names(&self) -> Vec<MissingName> {
        let module = self.project.module(self.file);
        let mut found = Vec::new();
        let said = mentions(&module.tree, &module.names);
        for mention in &said {
            let Some((package, _)) = index::of(&mention.path) else { continue };
            if mention.guarded || self.is_own(package) {
                continue;
            }
            match index::ask(&mention.path) {
                Answer::Unknown => {}
                Answer::Missing { holder, name } => found.extend(self.never(mention, &holder, name)),
                Answer::Known(known) => match self.elsewhen(mention, &known) {
                    Some(missing) => found.push(missing),
                    None => found.extend(self.wrong_keywords(mention, &known)),
                },
            }
        }
        found.extend(self.unknown_attributes(&said));
        found
    }

    /// Attributes that values of a framework do not have. What a value is rests on what was rehearsed, so a
    /// name counts only where another is near that it was perhaps meant to be.
    fn unknown_attributes(&self, said: &[Mention]) -> Vec<MissingName> {
        let packages: Vec<&str> = said.iter().filter_map(|mention| mention.path.split('.').next()).collect();
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
            let Answer::Missing { holder, name } = index::ask(&format!("{class}.{name}")) else { continue };
            found.extend(never_had((*at).clone(), &holder, name).filter(|missing| missing.near.is_some()));
        }
        found
    }

    /// A package of the project itself has the name of a framework.
    fn is_own(&self, package: &str) -> bool {
        self.project.resolve(self.file, 0, Some(Ustr::from(package))) != Target::Outside
    }

    fn never(&self, mention: &Mention, holder: &str, name: String) -> Option<MissingName> {
        never_had(self.part(mention, &name)?, holder, name)
    }

    /// A name that other releases have than those that the project asks for.
    fn elsewhen(&self, mention: &Mention, known: &Known) -> Option<MissingName> {
        let (package, index) = index::of(&known.path)?;
        let (wanted, pin) = self.pins.releases(package, index)?;
        let (holder, name) = known.path.rsplit_once('.')?;
        let why = why(index, known.span, wanted, pin)?;
        let at = self.at(*mention.parts.last()?);
        let (holder, name) = (holder.to_owned(), name.to_owned());
        let instead = index::instead(&known.path);
        Some(MissingName { at, name, holder, is_keyword: false, near: None, instead, why })
    }

    fn wrong_keywords(&self, mention: &Mention, known: &Known) -> Vec<MissingName> {
        let Some((package, index)) = index::of(&known.path) else { return Vec::new() };
        let Some(keywords) = &known.keywords else { return Vec::new() };
        let wanted = self.pins.releases(package, index);
        let mut found = Vec::new();
        for (name, span) in &mention.keywords {
            let listed = keywords.iter().find(|(keyword, _)| keyword == name);
            let why = match (listed, &wanted) {
                (None, _) => Some(never(index)),
                (Some((_, span)), Some((wanted, pin))) => why(index, *span, *wanted, pin),
                (Some(_), None) => None,
            };
            let Some(why) = why else { continue };
            let near = match listed {
                None => near(name, keywords.iter().map(|(keyword, _)| (*keyword).to_owned()).collect()),
                Some(_) => None,
            };
            found.push(MissingName {
                at: self.at(*span),
                name: name.to_string(),
                holder: known.path.clone(),
                is_keyword: true,
                near,
                instead: None,
                why,
            });
        }
        found
    }

    /// Where the mention says a part of the name.
    fn part(&self, mention: &Mention, name: &str) -> Option<At> {
        let said: Vec<&str> = mention.path.split('.').collect();
        let first = said.len().saturating_sub(mention.parts.len());
        let at = (first..said.len()).find(|at| said[*at] == name).unwrap_or(said.len() - 1);
        Some(self.at(*mention.parts.get(at.checked_sub(first)?)?))
    }

    fn at(&self, span: crate::report::Span) -> At {
        walked(None, Place::new(self.file, span), &[], &[], Confidence::High)
    }
}

/// A name that no listed release has.
fn never_had(at: At, holder: &str, name: String) -> Option<MissingName> {
    let (_, index) = index::of(holder)?;
    let near = near(&name, index.parts(holder));
    let (holder, why) = (holder.to_owned(), never(index));
    Some(MissingName { at, name, holder, is_keyword: false, near, instead: None, why })
}

fn never(index: &'static Index) -> Why {
    let release = |version: Option<&&'static str>| version.copied().unwrap_or_default();
    Why::Never { first: release(index.versions.first()), last: release(index.versions.last()) }
}

fn why(index: &'static Index, has: index::text::Span, wanted: index::text::Span, pin: &str) -> Option<Why> {
    let release = |at: u8| index.versions.get(at as usize).copied().unwrap_or_default();
    let pin = pin.to_owned();
    if has.first > wanted.last {
        Some(Why::Later { since: release(has.first), pin })
    } else if has.last < wanted.first {
        Some(Why::Gone { last: release(has.last), pin })
    } else {
        None
    }
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
