//! The JSON of a plan. Numbers that matter by their bits are written as such: JSON rounds, and has no infinity.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub schema: String,
    /// Which version made it, for people.
    pub tool: String,
    pub seed: u64,
    #[serde(default)]
    pub sources: Vec<Source>,
    #[serde(default)]
    pub limits: Option<Limits>,
    pub items: Vec<Item>,
}

/// Read before the rest, so that a plan of another version is told from a broken one.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub schema: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub path: String,
    pub sha256: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub item_seconds: f64,
    pub total_seconds: f64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    pub rule: String,
    pub at: Spot,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expr: Option<Expr>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<Step>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<Memory>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spot {
    pub path: String,
    pub line: u32,
    pub column: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expr {
    pub dtype: String,
    pub framework: String,
    pub width: usize,
    pub samples: u64,
    pub inputs: Vec<Input>,
    pub nodes: Vec<Vec<Cell>>,
    /// By the number of the node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spots: BTreeMap<u32, Spot>,
    /// The nodes of the repaired program, on the same inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Vec<Vec<Cell>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub input: u32,
    pub node: u32,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub name: String,
    pub form: String,
    /// The bits of f64 numbers, such as `0x3ff0000000000000`.
    pub low: String,
    pub high: String,
    #[serde(default)]
    pub low_open: bool,
    #[serde(default)]
    pub high_open: bool,
    #[serde(default)]
    pub whole: bool,
    pub learned: bool,
}

/// `["input", 0]`, `["number", "0x3ff0000000000000"]` or `["sub", 0, 1]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Index(u32),
    Text(String),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub momentum: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<String>,
    pub script: Training,
    pub repaired: Training,
}

/// What is left out is as usual: squares are learned, all layers learn, and so on.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Training {
    /// The name of a call, and in which rounds it is made: in each, or in every so many.
    pub round: Vec<(String, u32)>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub divisor: u64,
    pub loss: Loss,
    pub layers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Modes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<String>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub elements: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn one() -> u64 {
    1
}

fn is_one(number: &u64) -> bool {
    *number == 1
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Loss {
    Squares,
    AllPairs,
    Classes(Head),
}

/// A loss of what the last layer gives (input 0) and of the target (input 1).
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub framework: String,
    pub form: String,
    pub nodes: Vec<Vec<Cell>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Modes {
    pub dropout: String,
    pub learns_in_training: bool,
    pub evaluated_in_training: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub what: String,
    pub least: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_step: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub wasted: bool,
    pub capacity: u64,
    pub card: String,
}
