//! What a file uses of the frameworks, and the releases that have it.

use crate::apis::index::text::Span as Releases;
use crate::apis::index::{self, Answer, Known};
use crate::names::{Project, Target, mentions};
use crate::report::{FileId, Span};
use ustr::Ustr;

/// A name of a framework, or an argument of one, where the file surely needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    pub package: &'static str,
    /// As the framework calls it: `torch.stft(return_complex)`.
    pub name: String,
    pub at: Span,
    /// The first and the last release that may have it; none where no release does.
    pub releases: Option<Releases>,
}

/// What a file uses, but where it is prepared for its absence.
pub fn uses(project: &Project, file: FileId) -> Vec<Use> {
    let module = project.module(file);
    let mut found = Vec::new();
    for mention in mentions(&module.tree, &module.names) {
        let Some((top, _)) = index::of(&mention.path) else { continue };
        let Some(at) = mention.parts.last().copied().filter(|_| !mention.guarded) else { continue };
        if project.resolve(file, 0, Some(Ustr::from(top))) != Target::Outside {
            continue;
        }
        let of = |path: &str, name: String, at: Span, releases: Option<Releases>| {
            Some(Use { package: index::of(path)?.0, name, at, releases })
        };
        match index::ask(&mention.path) {
            Answer::Unknown => {}
            Answer::Known(known) => {
                found.extend(of(&known.path, known.path.clone(), at, Some(known.bounds())));
                for (keyword, at) in &mention.keywords {
                    let releases = known.bounds_of(keyword);
                    found.extend(of(&known.path, format!("{}({keyword})", known.path), *at, releases));
                }
            }
            Answer::Part(known) => {
                found.extend(of(&known.path, known.path.clone(), at, Some(known.bounds())));
            }
            Answer::Missing(missing) => {
                let releases = reaching(missing.unsure, missing.span);
                found.extend(of(
                    &missing.holder,
                    format!("{}.{}", missing.holder, missing.name),
                    at,
                    releases,
                ));
            }
        }
    }
    found
}

impl Known {
    /// The releases that have it, and those that may.
    fn bounds(&self) -> Releases {
        widened(self.span, self.unsure)
    }

    /// The same of an argument; none where no release takes it.
    fn bounds_of(&self, keyword: &str) -> Option<Releases> {
        let Some(keywords) = &self.keywords else { return Some(self.bounds()) };
        match keywords.listed.iter().find(|(name, _)| *name == keyword) {
            Some((_, span)) => Some(widened(*span, keywords.unsure)),
            None => reaching(keywords.unsure, self.span),
        }
    }
}

/// What no release is known to have counts for those where that is not known, if they are the last ones.
fn reaching(unsure: Option<Releases>, span: Releases) -> Option<Releases> {
    unsure.filter(|unsure| unsure.last >= span.last).map(|unsure| widened(span, Some(unsure)))
}

fn widened(span: Releases, by: Option<Releases>) -> Releases {
    // A gap of releases that surely lack it tells that it came after them.
    let touches =
        |by: &Releases| by.first <= span.last.saturating_add(1) && span.first <= by.last.saturating_add(1);
    let by = by.filter(touches).unwrap_or(span);
    Releases { first: span.first.min(by.first), last: span.last.max(by.last) }
}
