//! What the frameworks have deprecated: since when, what takes its place, and how it is written then. Knows the
//! form of `rules/deprecated/*.toml`, not one framework.

pub(crate) mod rows;

pub use rows::{Rewrite, Row, Rows};

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/deprecated.pack"));
    // The build script wrote it; a test reads it whole.
    postcard::from_bytes::<Rows>(bytes).map(|rows| rows.row).unwrap_or_default()
});

/// Stands where an argument does for a row about assignments; no argument is called that.
const ASSIGNED: &str = "=";

/// Attributes that some row tells to be assigned no longer, and the classes that have them.
static ASSIGNED_NAMES: LazyLock<[FxHashSet<&'static str>; 2]> = LazyLock::new(|| {
    let names = ROWS.iter().filter(|row| row.assigned).flat_map(|row| &row.names);
    let parts = names.filter_map(|name| name.rsplit_once('.'));
    [parts.clone().map(|(_, last)| last).collect(), parts.map(|(class, _)| class).collect()]
});

/// By name, and argument where the row is about one.
type ByName<'n> = FxHashMap<(&'n str, &'n str), &'static Row>;

static BY_NAME: LazyLock<ByName<'static>> = LazyLock::new(|| {
    let names = |row: &'static Row| {
        let argument = if row.assigned { ASSIGNED } else { row.argument.as_deref().unwrap_or_default() };
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

/// What became of assigning to an attribute of a class.
pub fn of_assigned(class: &str, attribute: &str) -> Option<&'static Row> {
    let [attributes, _]: &[FxHashSet<&str>; 2] = &ASSIGNED_NAMES;
    attributes.contains(attribute).then(|| of_argument(&format!("{class}.{attribute}"), ASSIGNED))?
}

/// Whether a class has attributes that are assigned no longer.
pub fn is_assigned_holder(class: &str) -> bool {
    let [_, classes]: &[FxHashSet<&str>; 2] = &ASSIGNED_NAMES;
    classes.contains(class)
}

/// All rows, in the order of their files.
pub fn all() -> &'static [Row] {
    &ROWS
}

#[cfg(test)]
mod tests;
