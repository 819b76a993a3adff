//! Names that are gone from newer releases than a project may mean, where nothing says which it means: a new
//! installation lacks them, or no release has them beside what else the file uses.

use super::apis::Asked;
use super::{Script, Use, Why, uses};
use crate::apis::index::Index;
use crate::apis::index::text::Span as Releases;
use crate::report::Boundary;
use crate::syntax::faults;

impl Script<'_> {
    /// Why a name, or an argument of one, is missing where what the project asks for does not tell.
    pub(super) fn outlived(
        &self,
        package: &'static str,
        index: &'static Index,
        name: &str,
        has: Releases,
        unsure: Option<Releases>,
    ) -> Option<Why> {
        let releases = &index.releases;
        let last = unsure.map_or(has.last, |unsure| unsure.last.max(has.last));
        if last >= releases.last() || matches!(&*self.asked(package, index), Asked::Outside) {
            return None;
        }
        let (span, latest) = self.bounds(package, releases.all(), |other| other.starts_with(name));
        if let Some(other) = latest.filter(|_| span.first > last) {
            return Some(Why::Apart { gone: releases.minor(last + 1), other });
        }
        self.is_newest_gone(package, index, last + 1).then(|| {
            let (pin, boundary) = self.open_boundary(package, index, last);
            Why::Outlived { went: releases.went_after(last), pin, boundary }
        })
    }

    /// The last release that has what newer installations lack, and what the project requires, if it does.
    pub(super) fn open_boundary(
        &self,
        package: &'static str,
        index: &Index,
        last: u8,
    ) -> (Option<String>, Boundary) {
        let pin = match &*self.asked(package, index) {
            Asked::Pinned { pin, .. } => Some(pin.clone()),
            _ => None,
        };
        let boundary = Boundary {
            key: format!("{} open", self.asked_key(package)),
            package: package.to_owned(),
            release: index.releases.name(last).to_owned(),
            rank: last,
            is_last: true,
            is_open: true,
        };
        (pin, boundary)
    }

    /// Whether a new installation brings a release from which something is gone, and the script is one that it runs.
    pub(super) fn is_newest_gone(&self, package: &str, index: &Index, gone: u8) -> bool {
        self.pins.newest(package, index).is_some_and(|newest| newest >= gone) && self.is_valid()
    }

    /// What is not valid any more lives in the past, and says so itself.
    fn is_valid(&self) -> bool {
        let module = self.project.module(self.file);
        *self.valid.get_or_init(|| {
            faults(&module.source.text, &module.tree, &module.source.cells()).found.is_empty()
        })
    }

    /// The releases that have all else that the file uses of a package, and what came last of that.
    pub(super) fn bounds(
        &self,
        package: &str,
        all: Releases,
        is_own: impl Fn(&str) -> bool,
    ) -> (Releases, Option<Use>) {
        let (mut span, mut latest) = (all, None);
        for one in self.uses() {
            let Some(has) = one.releases.filter(|_| one.package == package && !is_own(&one.name)) else {
                continue;
            };
            if has.first > span.first {
                (span.first, latest) = (has.first, Some(one.clone()));
            }
            span.last = span.last.min(has.last);
        }
        (span, latest)
    }

    pub(super) fn uses(&self) -> &[Use] {
        self.used.get_or_init(|| uses(self.project, self.file))
    }
}
