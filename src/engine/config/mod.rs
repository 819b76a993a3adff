//! What a configuration file or the command line may say, before it is resolved.
//! `read` gets it from TOML, `cli` from flags; `settings` folds the layers.

mod read;
mod reader;
mod schema;

pub use read::{KEYS, TARGET_KEYS, parse, parse_pyproject, read_glob};
pub use schema::{described, schema};

use crate::apis::Literal;
use crate::engine::selection::Selector;
use crate::facts::gpus;
use crate::report::{Confidence, Severity, units};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// One layer: everything optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The folder that globs and paths are relative to.
    pub base: PathBuf,
    pub extend: Option<PathBuf>,
    pub select: Option<Vec<Selector>>,
    pub extend_select: Vec<Selector>,
    pub ignore: Vec<Selector>,
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,
    pub exclude: Option<Vec<String>>,
    pub extend_exclude: Vec<String>,
    pub force_exclude: Option<bool>,
    pub min_confidence: Option<Confidence>,
    pub min_severity: Option<Severity>,
    /// How bad findings are, in the user's eyes.
    pub severity: Vec<(Selector, Severity)>,
    /// Whose fixes may be applied.
    pub fixable: Option<Vec<Selector>>,
    pub unfixable: Vec<Selector>,
    pub pedantic: Option<bool>,
    pub apis: Vec<PathBuf>,
    /// Findings that are known.
    pub baseline: Option<PathBuf>,
    pub target: Option<Target>,
    pub gpus: Option<u32>,
    pub values: Vec<(String, Literal)>,
}

/// The card that the run is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As it is called in messages: `rtx4090`, or `24 GiB`.
    pub name: String,
    /// Memory of one card, in bytes.
    pub memory: u64,
}

impl Default for Target {
    /// Without a word from the user: a card of 24 GiB, the largest that desks commonly hold.
    fn default() -> Self {
        Target { name: "24 GiB".to_owned(), memory: 24 << 30 }
    }
}

impl Target {
    pub fn of_gpu(name: &str) -> Result<Target, String> {
        if let Some(gpu) = gpus::find(name) {
            return Ok(Target { name: gpu.id.to_owned(), memory: gpu.bytes() });
        }
        let known = || gpus::GPUS.iter().map(|gpu| gpu.id);
        let part = name.to_lowercase();
        // `4090` is near to no name, and part of one.
        let hint = match known().find(|id| !part.is_empty() && id.contains(&part)) {
            Some(id) => format!("; did you mean `{id}`?"),
            None => super::suggest::did_you_mean(name, known()),
        };
        Err(format!(
            "unknown GPU `{name}`{hint} (`trainlint config target.gpu` lists them; or give its memory, such as `24GiB`)"
        ))
    }

    pub fn of_memory(size: &str) -> Result<Target, String> {
        let memory = units::parse_size(size).map_err(|error| error.to_string())?;
        Ok(Target { name: units::bytes(memory), memory })
    }
}

/// Reads `high`, `medium`, `low`.
pub fn parse_confidence(text: &str) -> Result<Confidence, String> {
    match text {
        "high" => Ok(Confidence::High),
        "medium" => Ok(Confidence::Medium),
        "low" => Ok(Confidence::Low),
        other => {
            let hint = super::suggest::did_you_mean(other, ["high", "medium", "low"]);
            Err(format!("unknown confidence `{other}`{hint} (`high`, `medium` and `low` are known)"))
        }
    }
}

/// Reads `error`, `warning`, `note`.
pub fn parse_severity(text: &str) -> Result<Severity, String> {
    match text {
        "error" => Ok(Severity::Error),
        "warning" => Ok(Severity::Warning),
        "note" => Ok(Severity::Note),
        other => {
            let hint = super::suggest::did_you_mean(other, ["error", "warning", "note"]);
            Err(format!("unknown severity `{other}`{hint} (`error`, `warning` and `note` are known)"))
        }
    }
}

/// Reads the right side of `--set name=value`: Python's literals, and else a string.
pub fn parse_value(text: &str) -> Literal {
    let number = text.replace('_', "");
    if let Ok(whole) = number.parse::<i64>() {
        return Literal::Int(whole);
    }
    // `inf`, `nan` and `infinity` are words before they are numbers.
    if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && let Ok(real) = number.parse::<f64>()
    {
        return Literal::Float(real);
    }
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    match (quoted, text) {
        (Some(inner), _) => Literal::Str(inner.into()),
        (None, "True" | "true") => Literal::Bool(true),
        (None, "False" | "false") => Literal::Bool(false),
        (None, "None" | "none" | "null") => Literal::None,
        (None, other) => Literal::Str(other.into()),
    }
}

/// Why a configuration can't be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    pub path: PathBuf,
    /// Line and column, from one on.
    pub at: Option<(usize, usize)>,
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_python_reads_them() {
        assert_eq!(parse_value("64"), Literal::Int(64));
        assert_eq!(parse_value("1_000_000"), Literal::Int(1_000_000));
        assert_eq!(parse_value("1e-3"), Literal::Float(1e-3));
        assert_eq!(parse_value("True"), Literal::Bool(true));
        assert_eq!(parse_value("None"), Literal::None);
        assert_eq!(parse_value("'64'"), Literal::Str("64".into()));
        assert_eq!(parse_value("inf"), Literal::Str("inf".into()));
        assert_eq!(parse_value("cuda:0"), Literal::Str("cuda:0".into()));
    }
}
