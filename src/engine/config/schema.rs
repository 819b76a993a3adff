//! The JSON schema of a configuration file, for editors that complete and check as one types. Lists
//! the rules and cards that this version knows; `read` has the last word.

use crate::checks::Group;
use crate::engine::selection::known_rules;
use crate::facts::gpus::GPUS;
use serde_json::{Map, Value, json};

/// The text of `trainlint.schema.json`.
pub fn schema() -> String {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "trainlint",
        "description": "Configuration of trainlint: trainlint.toml, .trainlint.toml, or [tool.trainlint] of pyproject.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": described(),
        "definitions": {
            "selectors": {"type": "array", "items": {"$ref": "#/definitions/selector"}},
            "selector": {"enum": selectors()},
            "severity": {"enum": ["error", "warning", "note"]},
            "globs": {"type": "array", "items": {"type": "string"}},
        },
    });
    // A value of strings, lists and maps serialises.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

fn selectors() -> Vec<&'static str> {
    let groups = Group::ALL.into_iter().map(Group::name);
    ["ALL"].into_iter().chain(groups).chain(known_rules().into_iter().map(|rule| rule.id)).collect()
}

/// Every key with its type and what it means, as in the schema.
pub fn described() -> Map<String, Value> {
    let of = |reference: &str, description: &str| json!({"allOf": [{"$ref": format!("#/definitions/{reference}")}], "description": description});
    let plain = |kind: &str, description: &str| json!({"type": kind, "description": description});
    let mut ignores = plain("object", "Rules and groups to disable in matching files, by glob.");
    ignores["additionalProperties"] = json!({"$ref": "#/definitions/selectors"});
    let mut apis = plain("array", "Tables that describe your own wrappers, relative to this file.");
    apis["items"] = json!({"type": "string"});
    let mut values = plain("object", "Values that override those of the scripts.");
    values["additionalProperties"] = json!({"type": ["boolean", "number", "string"]});
    let mut severities =
        plain("object", "Severity of the findings of rules and groups, instead of their own.");
    severities["propertyNames"] = json!({"$ref": "#/definitions/selector"});
    severities["additionalProperties"] = json!({"$ref": "#/definitions/severity"});
    let severity = "Minimum severity of the findings to show; `warning` by default, `note` with `pedantic`.";
    let confidence = "Minimum confidence of the findings to show.";
    let exclude = "Names and globs to exclude from folders, instead of the defaults.";
    let forced = "Apply excludes even to files passed on the command line.";
    let version = "Required version of trainlint, e.g. \">=0.1\".";
    let entries = [
        ("select", of("selectors", "Check only these rules and groups.")),
        ("extend-select", of("selectors", "Rules and groups to check in addition to those selected.")),
        ("ignore", of("selectors", "Rules and groups to disable.")),
        ("per-file-ignores", ignores),
        ("min-confidence", json!({"enum": ["high", "medium", "low"], "description": confidence})),
        ("min-severity", of("severity", severity)),
        ("severity", severities),
        ("fixable", of("selectors", "Rules and groups whose fixes may be applied; all by default.")),
        ("unfixable", of("selectors", "Rules and groups whose fixes are shown, but never applied.")),
        ("pedantic", plain("boolean", "Also show notes and low-confidence findings.")),
        ("exclude", of("globs", exclude)),
        ("extend-exclude", of("globs", "Names and globs to exclude, in addition to those excluded already.")),
        ("force-exclude", plain("boolean", forced)),
        ("target", target()),
        ("values", values),
        ("apis", apis),
        ("baseline", plain("string", "A baseline written by `--write-baseline`, relative to this file.")),
        ("extend", plain("string", "A configuration file that this one extends, relative to this file.")),
        ("required-version", plain("string", version)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn target() -> Value {
    let cards: Vec<&str> = GPUS.iter().map(|gpu| gpu.id).collect();
    // Other spellings of a card are taken, too, so the list only proposes.
    let gpu = json!({
        "anyOf": [{"enum": cards}, {"type": "string"}],
        "description": "The target GPU.",
    });
    let memory = json!({
        "type": "string",
        "description": "Memory of the target GPU instead, e.g. \"24GiB\", \"24GB\", \"32000M\" or \"1.5T\".",
    });
    json!({
        "type": "object",
        "description": "The target GPU; a GPU with 24 GiB by default.",
        "additionalProperties": false,
        "properties": {
            "gpu": gpu,
            "memory": memory,
            "gpus": {"type": "integer", "minimum": 1, "description": "Number of GPUs."},
        },
        "not": {"required": ["gpu", "memory"]},
    })
}
