//! What the client says of how to check, as a layer over every configuration file. `docs/editors.md` lists the
//! settings; what makes no sense is said once, and left aside.

use crate::engine::config::{Config, Target, parse_confidence, parse_severity, parse_value, read_glob};
use crate::engine::configs::Origin;
use crate::engine::selection::Selector;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// When documents are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Run {
    #[default]
    OnType,
    OnSave,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub enable: bool,
    pub run: Run,
    pub code_lens: bool,
    /// Offer fixes that rest on a guess, too.
    pub unsafe_fixes: bool,
    config: Option<PathBuf>,
    layer: Config,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            enable: true,
            run: Run::default(),
            code_lens: true,
            unsafe_fixes: true,
            config: None,
            layer: Config::default(),
        }
    }
}

impl Settings {
    /// From the section `trainlint` of the client's settings, and what is wrong with it.
    pub(crate) fn read(section: &Value) -> (Settings, Vec<String>) {
        let (mut settings, mut wrong) = (Settings::default(), Vec::new());
        for (key, value) in section.as_object().into_iter().flatten() {
            // Clients send every setting that they know, with null for what is not set.
            if !value.is_null()
                && let Err(why) = settings.set(key, value)
            {
                wrong.push(format!("the setting `trainlint.{key}` is ignored: {why}"));
            }
        }
        (settings, wrong)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "enable" => self.enable = flag(value)?,
            "run" => self.run = run(value)?,
            "codeLens" => self.code_lens = flag(value)?,
            "unsafeFixes" => self.unsafe_fixes = flag(value)?,
            "config" => self.config = path(value)?,
            "select" => self.layer.select = Some(selectors(value)?).filter(|all| !all.is_empty()),
            "extendSelect" => self.layer.extend_select = selectors(value)?,
            "ignore" => self.layer.ignore = selectors(value)?,
            "minSeverity" => self.layer.min_severity = severity(value)?,
            "exclude" => self.layer.extend_exclude = globs(value)?,
            "minConfidence" => self.layer.min_confidence = confidence(value)?,
            "pedantic" => self.layer.pedantic = flag(value)?.then_some(true),
            "gpu" => self.target(value, Target::of_gpu)?,
            "gpuMemory" => self.target(value, Target::of_memory)?,
            "values" => self.layer.values = values(value)?,
            // Others are the client's own.
            _ => {}
        }
        Ok(())
    }

    fn target(&mut self, value: &Value, read: fn(&str) -> Result<Target, String>) -> Result<(), String> {
        let name = word(value)?;
        if !name.is_empty() {
            self.layer.target = Some(read(name)?);
        }
        Ok(())
    }

    pub(crate) fn origin(&self) -> Origin {
        self.config.clone().map_or(Origin::Closest, Origin::File)
    }

    /// What is to be over every configuration file.
    pub(crate) fn layer(&self, root: &Path) -> Config {
        Config { base: root.to_owned(), force_exclude: Some(true), ..self.layer.clone() }
    }
}

/// The section `trainlint` of what a client sends: some send the section, some what holds it.
pub(crate) fn section(sent: &Value) -> &Value {
    let inner = |value: &'_ Value, key: &str| value.get(key).is_some_and(Value::is_object);
    let sent = if inner(sent, "settings") { &sent["settings"] } else { sent };
    if inner(sent, "trainlint") { &sent["trainlint"] } else { sent }
}

fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("it is `{value}`, and must be `true` or `false`"))
}

fn word(value: &Value) -> Result<&str, String> {
    value.as_str().map(str::trim).ok_or_else(|| format!("it is `{value}`, and must be a string"))
}

fn run(value: &Value) -> Result<Run, String> {
    match word(value)? {
        "onType" => Ok(Run::OnType),
        "onSave" => Ok(Run::OnSave),
        other => Err(format!("it is `{other}`, and must be `onType` or `onSave`")),
    }
}

fn path(value: &Value) -> Result<Option<PathBuf>, String> {
    let path = word(value)?;
    Ok((!path.is_empty()).then(|| PathBuf::from(path)))
}

fn confidence(value: &Value) -> Result<Option<crate::report::Confidence>, String> {
    let name = word(value)?;
    if name.is_empty() { Ok(None) } else { parse_confidence(name).map(Some) }
}

fn severity(value: &Value) -> Result<Option<crate::report::Severity>, String> {
    let name = word(value)?;
    if name.is_empty() { Ok(None) } else { parse_severity(name).map(Some) }
}

fn globs(value: &Value) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| format!("it is `{value}`, and must be a list of strings"))?;
    list.iter().map(|glob| word(glob).and_then(read_glob)).collect()
}

/// A list, or one word.
fn selectors(value: &Value) -> Result<Vec<Selector>, String> {
    let listed = || value.as_array().ok_or_else(|| format!("it is `{value}`, and must be a list of rules"));
    if value.is_string() {
        return Ok(vec![Selector::parse(word(value)?)?]);
    }
    listed()?.iter().map(|one| Selector::parse(word(one)?)).collect()
}

fn values(value: &Value) -> Result<Vec<(String, crate::apis::Literal)>, String> {
    let named: &Map<String, Value> =
        value.as_object().ok_or_else(|| format!("it is `{value}`, and must be an object"))?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(named.iter().map(|(name, value)| (name.clone(), parse_value(&text(value)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_makes_no_sense_is_said_and_left_aside() {
        let sent = json!({"trainlint": {"enable": false, "run": "always", "select": null, "ignore": ["memry"],
                                        "minConfidence": "high", "trace": {"server": "off"}}});
        let (settings, wrong) = Settings::read(section(&sent));
        assert!(!settings.enable);
        assert_eq!(settings.layer(Path::new("/")).min_confidence, Some(crate::report::Confidence::High));
        assert_eq!(
            wrong,
            [
                "the setting `trainlint.ignore` is ignored: unknown rule or group `memry`; did you mean `memory`?",
                "the setting `trainlint.run` is ignored: it is `always`, and must be `onType` or `onSave`",
            ]
        );
        for nothing in [json!(null), json!({}), json!([]), json!({"settings": {}})] {
            assert!(Settings::read(section(&nothing)).1.is_empty());
        }
    }
}
