//! Which of the releases that were read stand for those that may be installed.

use super::text::{Releases, Span};
use pep440_rs::Version;
use std::str::FromStr;

impl Releases<'_> {
    pub fn last(&self) -> u8 {
        u8::try_from(self.read.len().saturating_sub(1)).unwrap_or(u8::MAX)
    }

    pub fn all(&self) -> Span {
        Span { first: 0, last: self.last() }
    }

    pub fn name(&self, at: u8) -> &str {
        self.read.get(usize::from(at)).copied().unwrap_or_default()
    }

    /// The first that was read of those from a release on, which need not be among them.
    pub fn from(&self, release: &str) -> Option<u8> {
        let wanted = Version::from_str(release).ok()?;
        let is_there = |name: &&str| Version::from_str(name).is_ok_and(|version| version >= wanted);
        u8::try_from(self.read.iter().position(is_there)?).ok()
    }

    /// A release without its patch, where it is the first of its minor version that was read.
    pub fn minor(&self, at: u8) -> String {
        let short = |name: &str| name.split('.').take(2).collect::<Vec<_>>().join(".");
        let name = self.name(at);
        let is_first = at == 0 || short(self.name(at - 1)) != short(name);
        if is_first { short(name) } else { name.to_owned() }
    }

    /// When what a release is the last to have went: not all minor versions need have been read.
    pub fn went_after(&self, last: u8) -> String {
        let (name, next) = (self.name(last), self.name(last.saturating_add(1)));
        match next.is_empty() || follows(name, next) {
            true => format!("it was last available in {name}"),
            false => format!("{name} has it, and {next} does not"),
        }
    }

    /// When what a release is the first to have came.
    pub fn came_with(&self, first: u8) -> String {
        let name = self.name(first);
        match first.checked_sub(1).map(|before| self.name(before)) {
            Some(before) if !follows(before, name) => format!("{name} has it, and {before} does not"),
            _ => format!("it was added in {}", self.minor(first)),
        }
    }

    /// The Pythons that a release was made for: the first, and the last where that is known.
    pub fn python(&self, at: u8) -> Option<(&str, Option<&str>)> {
        let (first, last) = self.pythons.get(usize::from(at))?.split_once('-')?;
        (!first.is_empty()).then_some((first, Some(last).filter(|last| !last.is_empty())))
    }

    /// What stands for the releases that a test allows: all that was read between the first and the last of
    /// them. `also` are releases that are not on the package index. `None` where nothing was read of any.
    pub(super) fn chosen(&self, also: &[Version], allows: impl Fn(&Version) -> bool) -> Option<Span> {
        let read: Vec<Version> = self.read.iter().filter_map(|name| Version::from_str(name).ok()).collect();
        let others = self.others.iter().filter_map(|name| Version::from_str(name).ok());
        let candidates = read.iter().cloned().chain(others).chain(also.iter().cloned());
        let mut found: Option<Span> = None;
        for version in candidates.filter(|version| allows(version)) {
            let Some(span) = stands_for(&read, &version) else { continue };
            found = Some(match found {
                Some(known) => Span { first: known.first.min(span.first), last: known.last.max(span.last) },
                None => span,
            });
        }
        found
    }
}

/// Whether no minor version lies between two releases, as far as their numbers tell.
fn follows(release: &str, next: &str) -> bool {
    let number = |name: &str| {
        let mut parts = name.split('.').map(|part| part.parse::<u32>().ok());
        Some((parts.next()??, parts.next()??))
    };
    let (Some((major, minor)), Some((next_major, next_minor))) = (number(release), number(next)) else {
        return false;
    };
    (next_major == major && next_minor <= minor + 1) || (next_major == major + 1 && next_minor == 0)
}

/// The releases before and after one. Where one patch of a minor version was read, it stands for all of them;
/// what lies before the first and after the last release is not known.
fn stands_for(read: &[Version], version: &Version) -> Option<Span> {
    let minor = |version: &Version| (version.release().first().copied(), version.release().get(1).copied());
    let same: Vec<usize> = (0..read.len()).filter(|at| minor(&read[*at]) == minor(version)).collect();
    let (first, last) = match same[..] {
        [only] => (only, only),
        _ => {
            let after = read.iter().position(|one| one >= version).or(same.last().copied())?;
            (read.iter().rposition(|one| one <= version)?, after)
        }
    };
    Some(Span { first: u8::try_from(first).ok()?, last: u8::try_from(last).ok()? })
}
