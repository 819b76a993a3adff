//! Names and arguments of frameworks that a file uses and that are deprecated in what the project may run with.

use super::apis::Asked;
use super::{Script, Use};
use crate::apis::deprecated::{self, Row};
use crate::apis::index::text::Span as Releases;
use crate::apis::index::{self, Answer, Index, Known};
use crate::names::Mention;
use crate::report::{Boundary, Fix};
use crate::syntax::{ExprKind, Tree};
use crate::trace::{At, Sight};
use ustr::Ustr;

/// A use of something that a framework has deprecated.
pub struct Deprecated {
    pub at: At,
    pub row: &'static Row,
    pub package: &'static str,
    /// The qualified name, or the function whose argument it is.
    pub name: String,
    /// The argument.
    pub argument: Option<String>,
    pub fate: Fate,
    pub fix: Option<Fix>,
}

/// What becomes of it in the releases that the project may run with.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It works in some of them at least; the release from which on it does not, if there is one.
    Warned { gone: Option<String> },
    /// None of the releases that are asked for has it, or none at all.
    Dead { gone: String, pin: Option<String> },
    /// It works in some of them, but not in what an installation brings today.
    Outlived { gone: String, pin: Option<String>, boundary: Boundary },
    /// None has it that has something else that the file uses.
    Apart { gone: String, other: Use },
}

impl Script<'_> {
    /// Names and arguments of frameworks in this file that are deprecated, but for those that are reported as gone.
    pub fn deprecated_names(&self) -> &[Deprecated] {
        &self.names_found().deprecated
    }

    /// What a mention uses of a row, with the name that the row has for it.
    pub(super) fn row_of(&self, mention: &Mention, known: Option<&Known>) -> Option<(String, &'static Row)> {
        let said = mention.path.match_indices('.').map(|(end, _)| &mention.path[..end]);
        let mut names = std::iter::once(&*mention.path).chain(said).chain(known.map(|known| &*known.path));
        names.find_map(|name| deprecated::of(name).map(|row| (name.to_owned(), row)))
    }

    pub(super) fn deprecated_name(&self, mention: &Mention, known: Option<&Known>) -> Option<Deprecated> {
        let (name, row) = self.row_of(mention, known)?;
        // What an import binds is told where it is imported.
        let said: Vec<&str> = mention.path.split('.').collect();
        let tree = &self.project.module(self.file).tree;
        if mention.expr.is_some_and(|expr| matches!(tree.expr(expr).kind, ExprKind::Name(_))) {
            return None;
        }
        let (package, index) = index::of(&name)?;
        let fate =
            self.fate(row, package, index, known.filter(|known| is_same(&known.path, &name, mention)))?;
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_whole = name.split('.').count() >= said.len() || !mention.path.starts_with(&name);
        let at = match is_whole {
            true => self.at(*mention.parts.last()?),
            false => self.part(mention, last)?,
        };
        let fix = if is_whole { self.rewritten(row, package, mention) } else { None };
        Some(Deprecated { at, row, package, name, argument: None, fate, fix })
    }

    pub(super) fn deprecated_arguments(&self, mention: &Mention, known: Option<&Known>) -> Vec<Deprecated> {
        let mut found = Vec::new();
        for (keyword, span) in &mention.keywords {
            let names = std::iter::once(&*mention.path).chain(known.map(|known| &*known.path));
            let mut rows = names.filter_map(|name| Some((name, deprecated::of_argument(name, keyword)?)));
            let Some((name, row)) = rows.next() else { continue };
            let Some((package, index)) = index::of(name) else { continue };
            let listed = known.and_then(|known| {
                let keywords = known.keywords.as_ref()?;
                let (_, span) = keywords.listed.iter().find(|(listed, _)| listed == keyword)?;
                Some(Known { path: known.path.clone(), span: *span, unsure: keywords.unsure, keywords: None })
            });
            let Some(fate) = self.fate(row, package, index, listed.as_ref()) else { continue };
            found.push(Deprecated {
                at: self.at(*span),
                row,
                package,
                name: name.to_owned(),
                argument: Some(keyword.to_string()),
                fate,
                fix: self.rewritten_argument(row, package, name, *span),
            });
        }
        found
    }

    /// What becomes of a row in what the project may run with; `None` where that has not come to pass.
    pub(super) fn fate(
        &self,
        row: &'static Row,
        package: &'static str,
        index: &'static Index,
        known: Option<&Known>,
    ) -> Option<Fate> {
        let releases = &index.releases;
        let rank = |release: &Option<String>| release.as_ref().and_then(|release| releases.from(release));
        let since = releases.from(&row.since)?;
        // An alias may lead into another package, with releases of its own.
        let known = known.filter(|known| index::of(&known.path).is_some_and(|(own, _)| own == package));
        let is_sure = |known: &&Known| known.unsure.is_none_or(|unsure| unsure.last <= known.span.last);
        let left = known.filter(is_sure).filter(|known| known.span.last < releases.last());
        let gone = rank(&row.gone).or(left.map(|known| known.span.last + 1));
        let is_over = |span: Releases| {
            let in_order = rank(&row.until).is_some_and(|until| span.last >= until);
            span.last < since || in_order || rank(&row.back).is_some_and(|back| span.first >= back)
        };
        let is_dead = |span: Releases| {
            // What has no effect since before the index begins may have one in what lies before it.
            let counts = |gone: u8| gone <= span.first && (gone > 0 || row.fate.is_none());
            gone.is_some_and(counts) && rank(&row.back).is_none_or(|back| span.last < back)
        };
        let named = |rank: u8| releases.minor(rank);
        let asked = self.asked(package, index);
        let (span, bound) = match &*asked {
            Asked::Outside => return None,
            Asked::Told(span) | Asked::Pinned { span, .. } => (*span, None),
            Asked::Any => self.bounds(package, releases.all(), |name| is_of(row, name)),
        };
        if is_over(span) {
            return None;
        }
        let gone_name = row.gone.clone().or(gone.map(named));
        match (&*asked, gone_name.clone()) {
            (Asked::Pinned { pin, .. }, Some(gone)) if is_dead(span) => {
                Some(Fate::Dead { gone, pin: Some(pin.clone()) })
            }
            // What goes on without effect is no reason to doubt that the project lives in older releases.
            (Asked::Any, Some(gone)) if is_dead(span) && row.fate.is_none() => Some(match bound {
                Some(other) => Fate::Apart { gone, other },
                None => Fate::Dead { gone, pin: None },
            }),
            (_, gone_name) => {
                let gone = gone.filter(|gone| *gone <= span.last);
                Some(match (gone_name.filter(|_| gone.is_some()), gone) {
                    // What never had an effect is told where it matters.
                    (Some(name), Some(rank)) if self.is_outlived(row, package, index, rank) => {
                        let (pin, boundary) = self.open_boundary(package, index, rank - 1);
                        Fate::Outlived { gone: name, pin, boundary }
                    }
                    (gone, _) => Fate::Warned { gone },
                })
            }
        }
    }

    fn is_outlived(&self, row: &Row, package: &str, index: &Index, gone: u8) -> bool {
        let is_back = row.back.as_ref().is_some_and(|back| {
            let newest = self.pins.newest(package, index);
            index.releases.from(back).is_some_and(|back| newest.is_none_or(|newest| newest >= back))
        });
        gone > 0 && !is_back && self.is_newest_gone(package, index, gone)
    }

    /// The first release that the project, or else the file, may run with.
    pub(super) fn first_release(&self, package: &'static str, row: &Row) -> Option<(u8, bool)> {
        let (_, index) = index::of(package)?;
        match &*self.asked(package, index) {
            Asked::Outside => None,
            Asked::Told(span) | Asked::Pinned { span, .. } => Some((span.first, true)),
            Asked::Any => {
                let (span, _) = self.bounds(package, index.releases.all(), |name| is_of(row, name));
                Some((span.first, false))
            }
        }
    }

    /// What classes of the file override of a class of a framework that no longer heeds it.
    pub(super) fn deprecated_methods(&self, said: &[Mention]) -> Vec<Deprecated> {
        let module = self.project.module(self.file);
        let mut found = Vec::new();
        for function in &module.tree.functions {
            let Some(class) = function.class else { continue };
            let bases = self.framework_bases(said, class).into_iter();
            let names = bases.map(|base| format!("{base}.{}", function.name));
            let overridden = names.flat_map(|name| {
                let whole = deprecated::of(&name).map(|row| (row, None, function.name_span));
                let params = function.params.iter().filter_map(|param| {
                    let row = deprecated::of_argument(&name, &param.name)?;
                    Some((row, Some(param.name), param.span))
                });
                let rows = whole.into_iter().chain(params).filter(|(row, ..)| row.overridden);
                let part = |(row, argument, span): (_, Option<Ustr>, _)| {
                    self.deprecated_part(row, &name, argument.as_deref(), self.at(span))
                };
                rows.filter_map(part).collect::<Vec<_>>()
            });
            // What the script calls itself it has for itself.
            found.extend(overridden.filter(|_| !is_called(&module.tree, function.name)));
        }
        found
    }

    /// What became of a method that a class has, or of an argument of it.
    fn deprecated_method(&self, name: &str, at: At) -> Option<Deprecated> {
        let row = deprecated::of(name)?;
        self.deprecated_part(row, name, None, at)
    }

    fn deprecated_part(
        &self,
        row: &'static Row,
        name: &str,
        argument: Option<&str>,
        at: At,
    ) -> Option<Deprecated> {
        let (package, index) = index::of(name)?;
        if self.is_own(package) {
            return None;
        }
        let known = match index::ask(name) {
            Answer::Known(known) if argument.is_none() => Some(known),
            _ => None,
        };
        let fate = self.fate(row, package, index, known.as_ref())?;
        let argument = argument.map(str::to_owned);
        Some(Deprecated { at, row, package, name: name.to_owned(), argument, fate, fix: None })
    }

    /// The name of a method by the package that the file takes its class from.
    pub(super) fn own_name(&self, method: &str) -> String {
        let of_tensorflow = method.strip_prefix("keras.").map(|rest| format!("tensorflow.keras.{rest}"));
        let has_tensorflow = self.uses().iter().any(|one| one.package == "tensorflow");
        of_tensorflow.filter(|_| has_tensorflow).unwrap_or_else(|| method.to_owned())
    }

    /// What became of a method that the rehearsal called, and of what it was given by name.
    pub fn deprecated_call(&self, method: &str, argument: Option<&str>, at: &At) -> Option<Deprecated> {
        let draft = self.draft(at.place.file);
        let name = self.own_name(method);
        let row = deprecated::of_argument(&name, argument.unwrap_or_default())?;
        let call = draft.call_at(at.place.span)?;
        let ExprKind::Attribute { name_span, .. } = draft.expr(call.callee).kind else { return None };
        let mut at = at.clone();
        let mut fix = None;
        let (package, _) = index::of(&name)?;
        match argument {
            None => {
                at.place.span = name_span;
                fix = fix.or_else(|| self.rewritten_method(row, package, call, name_span));
            }
            Some(argument) => {
                at.place.span = draft.keyword(call, argument)?.span;
                fix = fix.or_else(|| self.rewritten_argument(row, package, &name, at.place.span));
            }
        }
        let found = self.deprecated_part(row, &name, argument, at)?;
        Some(Deprecated { fix, ..found })
    }

    /// What became of assigning to an attribute, as the rehearsal saw it.
    pub fn deprecated_assignment(&self, attribute: &str, at: &At) -> Option<Deprecated> {
        let name = self.own_name(attribute);
        let (class, last) = name.rsplit_once('.')?;
        let row = deprecated::of_assigned(class, last)?;
        (at.place.file == self.file).then(|| self.deprecated_part(row, &name, None, at.clone()))?
    }

    /// Attributes of tensors that were deprecated, and that the tables do not know any more.
    pub fn deprecated_attributes(&self) -> Vec<Deprecated> {
        let has = |package: &str| self.uses().iter().any(|one| one.package == package);
        let unknown = self.sightings().filter_map(|(at, sight)| match sight {
            Sight::UnknownAttribute { class, name } if at.place.file == self.file => {
                Some((at, format!("{class}.{name}")))
            }
            _ => None,
        });
        let asked: Vec<_> = unknown.filter(|(_, name)| deprecated::of(name).is_some()).collect();
        // Where several frameworks meet, a tensor may be of any of them.
        if asked.is_empty() || ["jax", "keras", "tensorflow"].into_iter().any(has) {
            return Vec::new();
        }
        asked.into_iter().filter_map(|(at, name)| self.deprecated_method(&name, at.clone())).collect()
    }

    /// `loss.data[0]`, of a tensor that is known to have no dimensions.
    pub fn scalar_index(&self, at: &At) -> Option<Deprecated> {
        const NAME: &str = "torch.Tensor.data[0]";
        let others = ["jax", "keras", "tensorflow"];
        if self.uses().iter().any(|one| others.contains(&one.package)) {
            return None;
        }
        let row = deprecated::of(NAME)?;
        let found = self.deprecated_part(row, NAME, None, at.clone())?;
        let draft = self.draft(at.place.file);
        // A script that asks anything else for an item may know when there is one.
        let edits = draft.number_of(at.place.span)?;
        Some(Deprecated { fix: Some(Fix::safe("get the value with `.item()`", edits)), ..found })
    }
}

/// Whether a file calls a method of this name.
fn is_called(tree: &Tree, method: Ustr) -> bool {
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, .. } => {
            matches!(&tree.expr(*callee).kind, ExprKind::Attribute { name, .. } if *name == method)
        }
        _ => false,
    })
}

/// Whether what the index knows is the name itself, and not what it is a part of or an alias of.
fn is_same(known: &str, name: &str, mention: &Mention) -> bool {
    known == name || mention.path == name
}

/// Whether what a file uses is what a row is about.
fn is_of(row: &Row, name: &str) -> bool {
    row.names.iter().any(|own| name.starts_with(own.as_str()))
}
