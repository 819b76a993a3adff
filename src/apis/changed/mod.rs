//! Calls of the frameworks that mean something else since a release. Knows the form of `rules/changed/*.toml`, not
//! one framework.

pub(crate) mod rows;

pub use rows::{Breaks, Row, Rows};

use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/changed.pack"));
    // The build script wrote it; a test reads it whole.
    postcard::from_bytes::<Rows>(bytes).map(|rows| rows.row).unwrap_or_default()
});

/// What became of calls of a qualified name.
pub fn of(path: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.names.iter().any(|name| name == path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::index::{self, Answer};

    #[test]
    fn rows_are_of_names_and_releases_that_are_known() {
        assert!(!ROWS.is_empty());
        for row in ROWS.iter() {
            assert!(!row.source.is_empty() && !row.without.is_empty(), "{:?}", row.names);
            for name in &row.names {
                let (_, index) = index::of(name).unwrap();
                let since = index.releases.from(&row.since).unwrap();
                assert!(since > 0, "{name}: nothing is known of what was before {}", row.since);
                assert!(matches!(index::ask(name), Answer::Known(_)), "{name}");
            }
            let named = row.fraction.iter().chain(&row.without);
            let is_late = |name: &String| name == "weights_only";
            assert!(named.clone().all(|name| row.params.contains(name) || is_late(name)), "{:?}", row.names);
        }
    }
}
