//! What the frameworks' releases were built for: CUDA, cuDNN, compute capabilities; and which drivers and cards
//! each CUDA runs with. Knows the form of `rules/builds/*.toml`, and no machine.

mod release;
pub(crate) mod rows;

pub use release::Release;
pub use rows::{Build, Code, Generation, Rows, Toolkit, Variant};

use std::sync::LazyLock;

static ROWS: LazyLock<Rows> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/builds.pack"));
    // The build script wrote it; a test reads it whole.
    postcard::from_bytes(bytes).unwrap_or_default()
});

/// All rows.
pub fn all() -> &'static Rows {
    &ROWS
}

/// What a release was built for; `None` where nobody wrote it down.
pub fn build(package: &str, release: &Release) -> Option<&'static Build> {
    let fits = |build: &&Build| {
        let bound = |text: &Option<String>| text.as_deref().and_then(Release::parse);
        build.package == package
            && Release::parse(&build.release).is_some_and(|minor| release.starts_with(&minor))
            && bound(&build.from).is_none_or(|from| *release >= from)
            && bound(&build.until).is_none_or(|until| *release <= until)
    };
    ROWS.build.iter().find(fits)
}

impl Build {
    /// The CUDA releases that it was built for, the oldest first.
    pub fn cuda(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.variants.iter().map(|variant| &*variant.cuda)
    }

    /// Whether there is such a build. What lies between two that are known may have been built all the same.
    pub fn may_have(&self, cuda: &Release) -> bool {
        let known: Vec<Release> = self.cuda().filter_map(Release::parse).collect();
        let (Some(first), Some(last)) = (known.first(), known.last()) else { return true };
        (first..=last).contains(&cuda)
    }
}

/// What code a build has; `None` where nobody wrote it down.
pub fn code(package: &str, release: &Release, cuda: &Release) -> Option<&'static Code> {
    ROWS.code.iter().find(|row| {
        let since = Release::parse(&row.since).is_some_and(|since| *release >= since);
        let until =
            Release::parse(&row.until).is_some_and(|until| *release <= until || release.starts_with(&until));
        // Some builds say no more than the major version of their CUDA.
        let is = |one: Release| cuda.starts_with(&one) || one.starts_with(cuda);
        let built = row.cuda.iter().filter_map(|cuda| Release::parse(cuda)).any(is);
        row.package == package && since && until && built
    })
}

impl Code {
    /// Whether it runs on a card: code for the same major version and no newer minor one, or code that the driver
    /// translates.
    pub fn runs_on(&self, card: &Release) -> bool {
        let same = |has: &Release| has.major() == card.major() && has <= card;
        let ptx = self.ptx.as_deref().and_then(Release::parse);
        self.has.iter().filter_map(|has| Release::parse(has)).any(|has| same(&has))
            || ptx.is_some_and(|ptx| ptx <= *card)
    }
}

/// The oldest driver that runs a CUDA release.
pub fn driver_for(cuda: &Release) -> Option<&'static str> {
    let is = |row: &&Toolkit| Release::parse(&row.cuda).is_some_and(|one| cuda.starts_with(&one));
    ROWS.toolkit.iter().find(is).map(|row| &*row.driver)
}

/// The cards with a compute capability.
pub fn generation(card: &Release) -> Option<&'static Generation> {
    let within = |row: &&Generation| {
        let (from, to) = (Release::parse(&row.from), Release::parse(&row.to));
        from.is_some_and(|from| from <= *card) && to.is_some_and(|to| *card <= to)
    };
    ROWS.generation.iter().find(within)
}

impl Generation {
    /// Whether a CUDA release makes code for these cards.
    pub fn is_known_to(&self, cuda: &Release) -> bool {
        let first = self.first.as_deref().and_then(Release::parse);
        let last = self.last.as_deref().and_then(Release::parse);
        first.is_none_or(|first| *cuda >= first) && last.is_none_or(|last| cuda.major() <= last.major())
    }
}

#[cfg(test)]
mod tests;
