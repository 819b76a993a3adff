//! The keys of `trainlint.toml` and of `[tool.trainlint]`: the one list of what may be said
//! there. An unknown key is an error, since a misspelt one would be silently without effect.

use super::reader::{Reader, Value};
use super::{Config, ConfigError, Target, parse_confidence, parse_severity};
use crate::apis::Literal;
use crate::engine::selection::Selector;
use crate::engine::suggest::did_you_mean;
use globset::Glob;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Every key of the top level.
pub const KEYS: &[&str] = &[
    "apis",
    "baseline",
    "exclude",
    "extend",
    "extend-exclude",
    "extend-select",
    "fixable",
    "force-exclude",
    "ignore",
    "min-confidence",
    "min-severity",
    "pedantic",
    "per-file-ignores",
    "required-version",
    "select",
    "severity",
    "target",
    "unfixable",
    "values",
];

/// Every key of `[target]`.
pub const TARGET_KEYS: &[&str] = &["gpu", "gpus", "memory"];

/// Reads a `trainlint.toml`.
pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let reader = Reader { path, text };
    let table = reader.parse()?;
    config(&reader, &table)
}

/// Reads the section of a `pyproject.toml`; none where it has no such section.
pub fn parse_pyproject(path: &Path, text: &str) -> Result<Option<Config>, ConfigError> {
    // Most pyproject files of a tree are not ours, and need not even be valid.
    if !text.contains("trainlint") {
        return Ok(None);
    }
    let reader = Reader { path, text };
    let table = reader.parse()?;
    let section = table.get("tool").and_then(|tool| tool.get_ref().as_table()?.get("trainlint"));
    section.map(|section| config(&reader, reader.table("tool.trainlint", section)?)).transpose()
}

fn config(reader: &Reader<'_>, table: &DeTable<'_>) -> Result<Config, ConfigError> {
    let base = reader.path.parent().unwrap_or(Path::new("")).to_owned();
    let mut config = Config { base, ..Config::default() };
    // The version is asked first: a newer file may well have keys that this version does not know.
    if let Some(value) = table.get("required-version") {
        reader.one("required-version", value, required_version)?;
    }
    for (key, value) in table {
        if key.get_ref() == "tool" {
            let message = "in this file keys stand at the top level, without `[tool.trainlint]`";
            return Err(reader.error(key.span(), message));
        }
        if !KEYS.contains(&key.get_ref().as_ref()) {
            return Err(reader.unknown_key(key, KEYS));
        }
        entry(reader, &mut config, key.get_ref(), value)?;
    }
    Ok(config)
}

fn entry(reader: &Reader<'_>, config: &mut Config, key: &str, value: &Value<'_>) -> Result<(), ConfigError> {
    let selectors = |value: &Value<'_>| reader.each(key, value, Selector::parse);
    match key {
        "select" => config.select = Some(selectors(value)?),
        "extend-select" => config.extend_select = selectors(value)?,
        "ignore" => config.ignore = selectors(value)?,
        "per-file-ignores" => {
            for (glob, rules) in reader.table(key, value)? {
                let pattern =
                    read_glob(glob.get_ref()).map_err(|message| reader.error(glob.span(), message))?;
                config.per_file_ignores.push((pattern, selectors(rules)?));
            }
        }
        "severity" => {
            for (name, level) in reader.table(key, value)? {
                let selector = Selector::parse(name.get_ref());
                let selector = selector.map_err(|message| reader.error(name.span(), message))?;
                config.severity.push((selector, reader.one(key, level, parse_severity)?));
            }
        }
        "fixable" => config.fixable = Some(selectors(value)?),
        "unfixable" => config.unfixable = selectors(value)?,
        "exclude" => config.exclude = Some(reader.each(key, value, read_glob)?),
        "extend-exclude" => config.extend_exclude = reader.each(key, value, read_glob)?,
        "force-exclude" => config.force_exclude = Some(reader.flag(key, value)?),
        "min-confidence" => config.min_confidence = Some(reader.one(key, value, parse_confidence)?),
        "min-severity" => config.min_severity = Some(reader.one(key, value, parse_severity)?),
        "pedantic" => config.pedantic = Some(reader.flag(key, value)?),
        "extend" => config.extend = Some(config.base.join(reader.string(key, value)?)),
        "apis" => config.apis = reader.each(key, value, |path| Ok(config.base.join(path)))?,
        "baseline" => config.baseline = Some(config.base.join(reader.string(key, value)?)),
        "target" => target(reader, config, reader.table(key, value)?)?,
        "values" => values(reader, config, reader.table(key, value)?)?,
        _ => {}
    }
    Ok(())
}

/// A glob that compiles, as it was written.
pub fn read_glob(text: &str) -> Result<String, String> {
    Glob::new(text).map_err(|error| format!("`{text}` is not a glob: {}", error.kind()))?;
    Ok(text.to_owned())
}

fn target(reader: &Reader<'_>, config: &mut Config, table: &DeTable<'_>) -> Result<(), ConfigError> {
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "gpu" | "memory" if config.target.is_some() => {
                return Err(reader.error(key.span(), "`gpu` and `memory` both set the GPU memory; keep one"));
            }
            "gpu" => config.target = Some(reader.one("gpu", value, Target::of_gpu)?),
            "memory" => config.target = Some(reader.one("memory", value, Target::of_memory)?),
            "gpus" => config.gpus = Some(reader.whole("gpus", value)?),
            _ => return Err(reader.unknown_key(key, TARGET_KEYS)),
        }
    }
    Ok(())
}

fn values(reader: &Reader<'_>, config: &mut Config, table: &DeTable<'_>) -> Result<(), ConfigError> {
    for (name, value) in table {
        let literal = match value.get_ref() {
            DeValue::Boolean(flag) => Some(Literal::Bool(*flag)),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(Literal::Int)
            }
            DeValue::Float(number) => number.as_str().parse().ok().map(Literal::Float),
            DeValue::String(text) => Some(Literal::Str(text.as_ref().into())),
            _ => None,
        };
        let name = name.get_ref();
        let literal = literal.ok_or_else(|| {
            let message = format!("the value of `{name}` must be a number, a string, `true` or `false`");
            reader.error(value.span(), message)
        })?;
        config.values.push((name.to_string(), literal));
    }
    Ok(())
}

/// Checks `>=0.2`, `==0.1.0`, or several with commas, against this version.
fn required_version(text: &str) -> Result<(), String> {
    let running = env!("CARGO_PKG_VERSION");
    for clause in text.split(',').map(str::trim) {
        let split = clause.find(|c: char| c.is_ascii_digit()).unwrap_or(clause.len());
        let (operator, version) = clause.split_at(split);
        let unreadable =
            || format!("`{text}` is not a version requirement: write `>=0.1`, `==0.1.0` or `>=0.1,<0.2`");
        let wanted = numbers(version).ok_or_else(unreadable)?;
        let order = numbers(running).unwrap_or_default().cmp(&wanted);
        let satisfied = match operator.trim() {
            "" | "==" => order.is_eq(),
            ">=" => order.is_ge(),
            ">" => order.is_gt(),
            "<=" => order.is_le(),
            "<" => order.is_lt(),
            other => {
                return Err(format!("{}{}", unreadable(), did_you_mean(other, ["==", ">=", "<="])));
            }
        };
        if !satisfied {
            return Err(format!("requires trainlint {text}, but this is {running}"));
        }
    }
    Ok(())
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = [0; 3];
    for (place, part) in version.trim().split('.').enumerate() {
        *parts.get_mut(place)? = part.parse().ok()?;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("trainlint.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn complaints_have_a_place_and_a_hint() {
        assert_eq!(
            error("pedantic = true\nselct = []\n"),
            "trainlint.toml:2:1: unknown key `selct`; did you mean `select`?"
        );
        assert_eq!(
            error("select = [\"memory\",\n  \"retained-graf\"]\n"),
            "trainlint.toml:2:3: unknown rule or group `retained-graf`; did you mean `retained-graph`?"
        );
        assert_eq!(
            error("[target]\ngpu = \"rtx490\"\n"),
            "trainlint.toml:2:7: unknown GPU `rtx490`; did you mean `rtx4090`? \
             (`trainlint config target.gpu` lists them; or give its memory, such as `24GiB`)"
        );
        assert_eq!(
            error("[target]\ngpuss = 2\n"),
            "trainlint.toml:2:1: unknown key `gpuss`; did you mean `gpus`?"
        );
        assert_eq!(
            error("pedantic = 1"),
            "trainlint.toml:1:12: `pedantic` must be `true` or `false`, but is of type integer"
        );
        assert_eq!(
            error("[tool.trainlint]\npedantic = true\n"),
            "trainlint.toml:1:2: in this file keys stand at the top level, without `[tool.trainlint]`"
        );
        assert!(error("[severity]\nmemory = \"bad\"").ends_with("(`error`, `warning` and `note` are known)"));
        assert!(error("exclude = [\"a[\"]").contains("`a[` is not a glob"));
        assert!(error("select = [").starts_with("trainlint.toml:1:"));
    }

    #[test]
    fn versions_are_asked_before_keys() {
        assert_eq!(
            error("key-of-the-future = 1\nrequired-version = \">=99.0\"\n"),
            format!(
                "trainlint.toml:2:20: requires trainlint >=99.0, but this is {}",
                env!("CARGO_PKG_VERSION")
            )
        );
        assert_eq!(required_version(">=0.0.1, <99"), Ok(()));
        assert!(required_version("newest").unwrap_err().contains("is not a version requirement"));
    }

    #[test]
    fn values_and_targets_are_read() {
        let text =
            "[values]\nbatch_size = 64\nlr = 1e-3\nname = \"x\"\n[target]\nmemory = \"24GiB\"\ngpus = 2\n";
        let config = parse(Path::new("dir/trainlint.toml"), text).unwrap();
        assert_eq!(config.values.len(), 3);
        assert_eq!(config.target.unwrap().memory, 24 << 30);
        assert_eq!(config.gpus, Some(2));
        assert_eq!(config.base, Path::new("dir"));
    }

    #[test]
    fn a_pyproject_of_others_is_passed_over() {
        let path = Path::new("pyproject.toml");
        assert!(parse_pyproject(path, "not = = toml").unwrap().is_none());
        assert!(parse_pyproject(path, "[project]\nname = \"trainlint-user\"").unwrap().is_none());
        let config = parse_pyproject(path, "[tool.trainlint]\npedantic = true").unwrap();
        assert_eq!(config.unwrap().pedantic, Some(true));
    }
}
