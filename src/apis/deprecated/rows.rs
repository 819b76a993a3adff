//! The form of `rules/deprecated/*.toml`. Shared with the build script, which packs it; what is wrong in it stops
//! the build.

use serde::{Deserialize, Serialize};

/// Some names, or an argument of some functions, that have one fate.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Qualified.
    pub names: Vec<String>,
    /// It is this argument of theirs.
    #[serde(default)]
    pub argument: Option<String>,
    /// It is about what overrides them: a framework calls it otherwise, or no longer.
    #[serde(default)]
    pub overridden: bool,
    /// It is assigning to them: an attribute that became a property without a setter.
    #[serde(default)]
    pub assigned: bool,
    /// The release that deprecates it.
    pub since: String,
    /// The release from which on it is in order again.
    #[serde(default)]
    pub until: Option<String>,
    /// The release from which on it is gone, where the index of names does not know.
    #[serde(default)]
    pub gone: Option<String>,
    /// The name is still there then, and raises.
    #[serde(default)]
    pub raises: bool,
    /// The release from which on its name stands for something else.
    #[serde(default)]
    pub back: Option<String>,
    /// What happens from then on, where it is not that the run ends.
    #[serde(default)]
    pub fate: Option<String>,
    /// What one change of a framework made of several names is one cause.
    #[serde(default)]
    pub group: Option<String>,
    /// The qualified name that takes its place.
    #[serde(default, rename = "use")]
    pub instead: Option<String>,
    /// The release that brings what takes its place, where the index of names does not know.
    #[serde(default)]
    pub came: Option<String>,
    /// What to do, in words, where a name does not say it.
    #[serde(default)]
    pub help: Option<String>,
    /// The parameters, in their order, as far as they may be given by position.
    #[serde(default)]
    pub params: Vec<String>,
    /// How it is written now; the first that fits.
    #[serde(default)]
    pub rewrite: Vec<Rewrite>,
    /// Where that stands.
    pub source: String,
}

/// Another way to write a use.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// `eigenvectors=True`: an argument that has to be there, as it is written here.
    #[serde(default)]
    pub given: Vec<String>,
    /// The only further arguments that may be there; without it, any.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// The name alone, or a call: `...` are all arguments as they stand, `$input` is one of them. Of an argument
    /// `name=value`, with `$` for its value, or nothing where it is left out.
    pub write: String,
    /// What is written where the name is not called.
    #[serde(default)]
    pub bare: Option<String>,
    /// It does not surely mean the same.
    #[serde(default)]
    pub guess: bool,
}

/// A file of rows.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub row: Vec<Row>,
}
