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
    #[serde(default)]
    pub without: Vec<String>,
    /// Arguments that have to be there, as they are written here.
    #[serde(default)]
    pub given: Vec<String>,
    /// The parameters, in their order, as far as they may be given by position.
    #[serde(default)]
    pub params: Vec<String>,
    /// Names whose use in a file says that its author knows.
    #[serde(default)]
    pub unless: Vec<String>,
    /// An argument that has to be a number with a fraction.
    #[serde(default)]
    pub fraction: Option<String>,
    /// An argument that has to be a whole number.
    #[serde(default)]
    pub whole: Option<String>,
    /// An argument that has to be a text with another end.
    #[serde(default)]
    pub ends: Option<Ends>,
    /// More arguments than this have to be given by position.
    #[serde(default)]
    pub positional: Option<usize>,
    /// What the call gives has to be unpacked into so many names.
    #[serde(default)]
    pub unpacked: Option<usize>,
    /// Methods that are given what the call gives, and for which both meanings are the same.
    #[serde(default)]
    pub same_for: Vec<String>,
    /// What is said where it is an error from that release on.
    #[serde(default)]
    pub raises: Option<String>,
    pub before: String,
    pub after: String,
    pub help: String,
    #[serde(default)]
    pub breaks: Option<Breaks>,
    pub source: String,
}

/// A text that ends otherwise.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    pub argument: String,
    pub with: Vec<String>,
}

/// When the change ends the run.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Breaks {
    /// Methods that are called on what the call gives.
    pub methods: Vec<String>,
    pub says: String,
}
