//! Calls of the frameworks that mean something else since a release. Knows the form of `rules/changed/*.toml`, not
//! one framework.

pub(crate) mod rows;

pub use rows::{Breaks, Ends, Row, Rows};

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/changed.pack"));
    // The build script wrote it; a test reads it whole.
    postcard::from_bytes::<Rows>(bytes).map(|rows| rows.row).unwrap_or_default()
});

/// What became of calls of a qualified name, in as many ways as there are.
pub fn of(path: &str) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.names.iter().any(|name| name == path))
}

/// What the qualified names of rows are parts of.
static HOLDERS: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| {
    let names = ROWS.iter().flat_map(|row| &row.names);
    names.filter_map(|name| Some(name.rsplit_once('.')?.0)).collect()
});

/// Whether rows are about parts of a class or module.
pub fn is_holder(path: &str) -> bool {
    let holders: &FxHashSet<&str> = &HOLDERS;
    holders.contains(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::index::{self, Answer};

    #[test]
    fn rows_are_of_names_and_releases_that_are_known() {
        assert!(!ROWS.is_empty());
        for row in ROWS.iter() {
            let is_told = !row.without.is_empty() || !row.given.is_empty() || row.ends.is_some();
            let asks = is_told || row.positional.is_some() || row.unpacked.is_some() || row.raises.is_some();
            assert!(!row.source.is_empty() && asks, "{:?}", row.names);
            for name in &row.names {
                let (_, index) = index::of(name).unwrap();
                let since = index.releases.from(&row.since).unwrap();
                // What raises an error may do so in all releases that are known.
                let is_late = since > 0 || row.raises.is_some();
                assert!(is_late, "{name}: nothing is known of what was before {}", row.since);
                // Of some packages the index has the classes without their methods.
                let holder = name.rsplit_once('.').filter(|(class, _)| {
                    class.rsplit('.').next().is_some_and(|class| class.starts_with(char::is_uppercase))
                });
                let is_known = |name: &str| matches!(index::ask(name), Answer::Known(_));
                assert!(is_known(holder.map_or(name, |(class, _)| class)), "{name}");
            }
            let ends = row.ends.iter().map(|ends| &ends.argument);
            let named = row.fraction.iter().chain(&row.whole).chain(ends).chain(&row.without);
            let is_late = |name: &String| ["weights_only", "out", "dtype"].contains(&name.as_str());
            assert!(named.clone().all(|name| row.params.contains(name) || is_late(name)), "{:?}", row.names);
        }
    }
}
