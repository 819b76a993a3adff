//! Files in which a project lists what it needs.

use super::Notes;

pub(super) fn list(text: &str, notes: &mut Notes<'_>) {
    text.lines().enumerate().for_each(|(at, line)| notes.requirement(at, line));
}

pub(super) fn pyproject(text: &str, notes: &mut Notes<'_>) {
    let Ok(table) = text.parse::<toml::Table>() else { return };
    let project = table.get("project");
    let listed = project.and_then(|project| project.get("dependencies"));
    if let Some(wanted) = project.and_then(|project| project.get("requires-python")?.as_str()) {
        notes.pin(line_with(text, "requires-python"), "python", wanted);
    }
    let groups =
        [project.and_then(|project| project.get("optional-dependencies")), table.get("dependency-groups")];
    let groups =
        groups.into_iter().flatten().filter_map(toml::Value::as_table).flat_map(|groups| groups.values());
    for list in listed.into_iter().chain(groups) {
        for wanted in list.as_array().into_iter().flatten().filter_map(toml::Value::as_str) {
            notes.requirement(line_with(text, wanted), wanted);
        }
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry")?.get("dependencies")?.as_table());
    for (name, wanted) in poetry.into_iter().flatten() {
        // A caret bounds below as `>=` does, and what it bounds above is rarely the next release.
        keyed(text, name, wanted, notes);
    }
}

pub(super) fn pipfile(text: &str, notes: &mut Notes<'_>) {
    let Ok(table) = text.parse::<toml::Table>() else { return };
    for list in ["packages", "dev-packages"].iter().filter_map(|key| table.get(*key)?.as_table()) {
        list.iter().for_each(|(name, wanted)| keyed(text, name, wanted, notes));
    }
}

/// `name = "1.4"`, or a table with the version in it.
fn keyed(text: &str, name: &str, wanted: &toml::Value, notes: &mut Notes<'_>) {
    let Some(version) = wanted.as_str().or_else(|| wanted.get("version")?.as_str()) else { return };
    let names = |line: &str| line.trim_start().trim_matches('"').starts_with(name) && line.contains(version);
    let line = text.lines().position(names).unwrap_or_default();
    notes.pin(line, name, version);
}

fn line_with(text: &str, wanted: &str) -> usize {
    text.lines().position(|line| line.contains(wanted)).unwrap_or_default()
}

/// Of each package a name and, on a line after it, the version.
pub(super) fn lock(text: &str, notes: &mut Notes<'_>) {
    let word = |line: &'_ str, key: &str| -> Option<String> {
        Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().trim_matches('"').to_owned())
    };
    let mut name: Option<String> = None;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            name = None;
        } else if let Some(found) = word(line, "name") {
            name = Some(found);
        } else if let (Some(version), Some(name)) = (word(line, "version"), &name) {
            notes.pin(at, name, &version);
        }
    }
}

/// JSON of names, each with an object that has the version.
pub(super) fn pipfile_lock(text: &str, notes: &mut Notes<'_>) {
    let mut name = "";
    for (at, line) in text.lines().enumerate() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let key = key.trim_matches('"');
        if value.trim() == "{" {
            name = key;
        } else if key == "version" {
            notes.requirement(at, &format!("{name}{}", value.trim().trim_matches([',', '"'])));
        }
    }
}

/// Whatever stands in quotes and reads as a requirement with a version, but in lists for those who develop it
/// or who ask for more.
pub(super) fn setup_py(text: &str, notes: &mut Notes<'_>) {
    let mut is_optional = false;
    for (at, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        if let Some((name, _)) =
            code.split_once(['=', ':']).filter(|(_, value)| value.trim().starts_with(['[', '{']))
        {
            is_optional =
                ["extra", "dev", "test", "doc"].iter().any(|word| name.to_ascii_lowercase().contains(word));
        }
        let quote = if code.contains('"') { '"' } else { '\'' };
        for word in code.split(quote).skip(1).step_by(2) {
            if !is_optional && word.contains(['=', '<', '>', '~']) {
                notes.requirement(at, word);
            }
        }
    }
}

pub(super) fn setup_cfg(text: &str, notes: &mut Notes<'_>) {
    let mut is_listed = false;
    for (at, line) in text.lines().enumerate() {
        if !line.starts_with([' ', '\t']) {
            let key = line.split('=').next().unwrap_or_default().trim();
            is_listed = key == "install_requires";
        } else if is_listed {
            notes.requirement(at, line);
        }
    }
}

/// Lists of `name=version=build`, and under `pip` of requirements; its own YAML is of no interest.
pub(super) fn conda(text: &str, notes: &mut Notes<'_>) {
    for (at, line) in text.lines().enumerate() {
        let Some(line) = line.trim().strip_prefix("- ") else { continue };
        let line = line.trim_matches(['"', '\'']);
        let line = line.rsplit("::").next().unwrap_or(line);
        match line.split_once('=') {
            Some((name, rest)) if !rest.starts_with('=') && !name.ends_with(['<', '>', '~', '!']) => {
                notes.pin(at, name.trim(), &format!("={rest}"));
            }
            _ => notes.requirement(at, line),
        }
    }
}
