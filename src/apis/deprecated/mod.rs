//! What the frameworks have deprecated: since when, what takes its place, and how it is written then. Knows the
//! form of `rules/deprecated/*.toml`, not one framework.

pub(crate) mod rows;

pub use rows::{Rewrite, Row, Rows};

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/deprecated.pack"));
    // The build script wrote it; a test reads it whole.
    postcard::from_bytes::<Rows>(bytes).map(|rows| rows.row).unwrap_or_default()
});

/// By name, and argument where the row is about one.
type ByName<'n> = FxHashMap<(&'n str, &'n str), &'static Row>;

static BY_NAME: LazyLock<ByName<'static>> = LazyLock::new(|| {
    let names = |row: &'static Row| {
        let argument = row.argument.as_deref().unwrap_or_default();
        row.names.iter().map(move |name| ((name.as_str(), argument), row))
    };
    ROWS.iter().flat_map(names).collect()
});

/// What became of a qualified name.
pub fn of(path: &str) -> Option<&'static Row> {
    of_argument(path, "")
}

/// What became of an argument of a function.
pub fn of_argument(path: &str, argument: &str) -> Option<&'static Row> {
    let known: &ByName<'_> = &BY_NAME;
    known.get(&(path, argument)).copied()
}

/// All rows, in the order of their files.
pub fn all() -> &'static [Row] {
    &ROWS
}

#[cfg(test)]
mod tests;
