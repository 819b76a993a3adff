//! `trainlint config`: the keys of the configuration, from the definitions that its schema has.

use super::CLEAN;
use super::args::{ConfigArgs, ListFormat};
use super::output::Output;
use crate::engine::config::{described, schema};
use crate::engine::suggest::did_you_mean;
use anyhow::anyhow;
use serde_json::Value;
use std::fmt::Write;

pub(crate) fn run(args: &ConfigArgs, output: &Output) -> anyhow::Result<u8> {
    let text = match (&args.key, args.output_format) {
        (_, ListFormat::Json) => schema(),
        (Some(key), ListFormat::Text) => explained(key)?,
        (None, ListFormat::Text) => listed(),
    };
    output.out(text.as_bytes())?;
    Ok(CLEAN)
}

/// Every key, those of tables after their table.
fn keys() -> Vec<(String, Value)> {
    let mut keys = Vec::new();
    for (key, value) in described() {
        let inner = value.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let inner = inner.into_iter().map(|(name, value)| (format!("{key}.{name}"), value));
        let inner: Vec<_> = inner.collect();
        keys.push((key, value));
        keys.extend(inner);
    }
    keys
}

fn listed() -> String {
    let keys = keys();
    let wide = keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (key, value) in &keys {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{key:wide$}  {}", meaning(value));
    }
    text.push_str("\n`trainlint config KEY` shows what a key can be set to\n");
    text
}

fn explained(key: &str) -> anyhow::Result<String> {
    let keys = keys();
    let Some((name, value)) = keys.iter().find(|(name, _)| name == key) else {
        let hint = did_you_mean(key, keys.iter().map(|(name, _)| name.as_str()));
        return Err(anyhow!("unknown key `{key}`{hint} (`trainlint config` lists them)"));
    };
    Ok(format!("{name}\n\n{}\n\nvalue: {}\n", meaning(value), kind(value)))
}

fn meaning(value: &Value) -> &str {
    value["description"].as_str().unwrap_or_default()
}

/// What a key can be set to.
fn kind(value: &Value) -> String {
    let words = |list: &Value| {
        let words: Vec<String> = list.as_array().into_iter().flatten().map(ToString::to_string).collect();
        words.join(", ")
    };
    if value["enum"].is_array() {
        return words(&value["enum"]);
    }
    if value["anyOf"][0]["enum"].is_array() {
        return words(&value["anyOf"][0]["enum"]);
    }
    match (value["allOf"][0]["$ref"].as_str(), value["type"].as_str()) {
        (Some("#/definitions/severity"), _) => "\"error\", \"warning\", \"note\"".to_owned(),
        (Some("#/definitions/globs"), _) => "a list of names and globs".to_owned(),
        (Some(_), _) => "a list of rules and groups (`trainlint rules`), or `ALL`".to_owned(),
        (None, Some("boolean")) => "true or false".to_owned(),
        (None, Some("integer")) => "a positive integer".to_owned(),
        (None, Some("array")) => "a list of paths".to_owned(),
        (None, Some("object")) => "a table".to_owned(),
        _ => "a string".to_owned(),
    }
}
