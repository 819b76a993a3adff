//! Which releases the project around a script asks for: the requirement files in its folder and above it, up
//! to the project's root. A file that can't be read or understood says nothing.

use crate::apis::index::Pins;
use crate::engine::disk;
use crate::engine::seen::Seen;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What makes a folder the root of a project.
const ROOTS: [&str; 3] = [".git", "pyproject.toml", "setup.py"];
/// A project's root lies at most so many folders above a script.
const ABOVE: usize = 6;

/// Pins by folder, each read once.
#[derive(Debug, Default)]
pub struct Pinned {
    in_force: Mutex<FxHashMap<PathBuf, Arc<Pins>>>,
    /// What the files in the very folder say.
    own: Mutex<FxHashMap<PathBuf, Own>>,
    /// The folders that were listed, and the files that were read.
    seen: Seen,
}

#[derive(Clone, Debug)]
struct Own {
    pins: Arc<Pins>,
    is_root: bool,
}

impl Pinned {
    /// Whether the disk says what it said.
    pub fn is_current(&self) -> bool {
        self.seen.is_current()
    }

    pub fn of_folder(&self, folder: &Path) -> Arc<Pins> {
        let known = || self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pins) = known().get(folder) {
            return pins.clone();
        }
        let pins = self.closest(folder);
        known().insert(folder.to_path_buf(), pins.clone());
        pins
    }

    /// What the closest folder says that says anything.
    fn closest(&self, folder: &Path) -> Arc<Pins> {
        for folder in folder.ancestors().take(ABOVE) {
            let Own { pins, is_root } = self.own(folder);
            if !pins.is_silent() || is_root {
                return pins;
            }
        }
        Arc::default()
    }

    fn own(&self, folder: &Path) -> Own {
        let known = || self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = known().get(folder) {
            return own.clone();
        }
        self.seen.note(folder);
        let names = disk::names_in(folder);
        let mut pins = Pins::default();
        for name in &names {
            read(&folder.join(name), name, &mut pins, &self.seen);
        }
        let is_root = names.iter().any(|name| ROOTS.contains(&name.as_str()));
        let own = Own { pins: Arc::new(pins), is_root };
        known().insert(folder.to_path_buf(), own.clone());
        own
    }
}

fn read(path: &Path, name: &str, pins: &mut Pins, seen: &Seen) {
    let is_requirements = name.contains("requirements") && name.ends_with(".txt");
    let is_conda = matches!(name, "environment.yml" | "environment.yaml" | "conda.yml" | "conda.yaml");
    let reader: fn(&str, &mut Pins) = match name {
        "pyproject.toml" => pyproject,
        "poetry.lock" | "uv.lock" | "pdm.lock" => lock,
        _ if is_requirements => |text, pins| text.lines().for_each(|line| pins.requirement(line)),
        _ if is_conda => conda,
        _ => return,
    };
    seen.note(path);
    if let Ok(text) = disk::read_text(path) {
        reader(&text, pins);
    }
}

fn pyproject(text: &str, pins: &mut Pins) {
    let Ok(table) = text.parse::<toml::Table>() else { return };
    let listed = table.get("project").and_then(|project| project.get("dependencies"));
    for line in listed.and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_str) {
        pins.requirement(line);
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry")?.get("dependencies")?.as_table());
    for (name, wanted) in poetry.into_iter().flatten() {
        let version = wanted.as_str().or_else(|| wanted.get("version")?.as_str());
        // A caret bounds below as `>=` does, and what it bounds above is rarely the next release.
        version.into_iter().for_each(|version| pins.pin(name, version));
    }
}

fn lock(text: &str, pins: &mut Pins) {
    let Ok(table) = text.parse::<toml::Table>() else { return };
    for package in table.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let word = |key: &str| package.get(key).and_then(toml::Value::as_str);
        if let (Some(name), Some(version)) = (word("name"), word("version")) {
            pins.pin(name, version);
        }
    }
}

/// Lists of `name=version=build`, and under `pip` of requirements; its own YAML is of no interest.
fn conda(text: &str, pins: &mut Pins) {
    for line in text.lines() {
        let Some(line) = line.trim().strip_prefix("- ") else { continue };
        let line = line.rsplit("::").next().unwrap_or(line);
        match line.split_once('=') {
            Some((name, rest)) if !rest.starts_with('=') && !name.ends_with(['<', '>', '~', '!']) => {
                pins.pin(name.trim(), &format!("={rest}"));
            }
            _ => pins.requirement(line),
        }
    }
}
