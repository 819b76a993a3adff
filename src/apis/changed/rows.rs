//! The form of `rules/changed/*.toml`. Shared with the build script, which packs it.

use serde::{Deserialize, Serialize};

/// A file of rows.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub row: Vec<Row>,
}

/// Functions whose calls mean something else since a release.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub names: Vec<String>,
    pub since: String,
    /// Arguments that say what is meant.
    pub without: Vec<String>,
    /// The parameters, in their order, as far as they may be given by position.
    pub params: Vec<String>,
    /// Names whose use in a file says that its author knows.
    #[serde(default)]
    pub unless: Vec<String>,
    /// An argument that has to be a number with a fraction.
    #[serde(default)]
    pub fraction: Option<String>,
    pub before: String,
    pub after: String,
    pub help: String,
    #[serde(default)]
    pub breaks: Option<Breaks>,
    pub source: String,
}

/// When the change ends the run.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Breaks {
    /// Methods that are called on what the call gives.
    pub methods: Vec<String>,
    pub says: String,
}
