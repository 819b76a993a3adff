//! Which configuration applies where: the closest file up from a script, with what it extends
//! below it and the command line over it. Each folder is asked once.

use crate::engine::config::{self, Config, ConfigError};
use crate::engine::disk;
use crate::engine::seen::Seen;
use crate::engine::settings::Settings;
use crate::source::absolute_from;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where configuration comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The closest file up from each script.
    #[default]
    Closest,
    /// This file, for all of them.
    File(PathBuf),
    /// None (`--isolated`).
    Isolated,
}

/// The file names, the first found in a folder counts.
const NAMES: [&str; 3] = [".trainlint.toml", "trainlint.toml", "pyproject.toml"];

/// Settings by folder.
pub struct Configs {
    /// What the command line says, over every file.
    overrides: Config,
    /// Where no folder is asked.
    fixed: Option<Arc<Settings>>,
    default: Arc<Settings>,
    by_folder: Mutex<FxHashMap<PathBuf, Arc<Settings>>>,
    /// The files that were asked, whether they were there or not.
    seen: Seen,
}

impl Configs {
    pub fn new(cwd: &Path, origin: &Origin, overrides: Config) -> Result<Configs, ConfigError> {
        let seen = Seen::default();
        let default = Arc::new(Settings::fold(&[&overrides], Vec::new()));
        let fixed = match origin {
            Origin::Closest => None,
            Origin::Isolated => Some(default.clone()),
            Origin::File(path) => Some(
                settings(&absolute_from(cwd, path), &overrides, &seen)?
                    .ok_or_else(|| failure(path, "has no section `[tool.trainlint]`"))?,
            ),
        };
        Ok(Configs { overrides, fixed, default, by_folder: Mutex::default(), seen })
    }

    /// Whether every file that they rest on is as it was.
    pub fn is_current(&self) -> bool {
        let by_folder = self.by_folder.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.fixed.iter().chain([&self.default]).chain(by_folder.values());
        self.seen.is_current() && all.all(|settings| settings.is_current())
    }

    /// What is in force for the files of a folder, given by its absolute path.
    pub fn of_folder(&self, folder: &Path) -> Result<Arc<Settings>, ConfigError> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        let mut asked = Vec::new();
        let mut found = None;
        for ancestor in folder.ancestors() {
            let known = self.by_folder.lock().unwrap_or_else(PoisonError::into_inner).get(ancestor).cloned();
            found = match known {
                Some(known) => Some(known),
                None => in_folder(ancestor, &self.overrides, &self.seen)?,
            };
            asked.push(ancestor);
            if found.is_some() {
                break;
            }
        }
        let found = found.unwrap_or_else(|| self.default.clone());
        let mut by_folder = self.by_folder.lock().unwrap_or_else(PoisonError::into_inner);
        by_folder.extend(asked.into_iter().map(|folder| (folder.to_owned(), found.clone())));
        Ok(found)
    }
}

fn in_folder(folder: &Path, overrides: &Config, seen: &Seen) -> Result<Option<Arc<Settings>>, ConfigError> {
    for name in NAMES {
        let path = folder.join(name);
        seen.note(&path);
        if path.is_file()
            && let Some(settings) = settings(&path, overrides, seen)?
        {
            return Ok(Some(settings));
        }
    }
    Ok(None)
}

fn settings(path: &Path, overrides: &Config, seen: &Seen) -> Result<Option<Arc<Settings>>, ConfigError> {
    let Some(own) = read(path, seen)? else { return Ok(None) };
    let (mut layers, mut files) = (vec![own], vec![path.to_owned()]);
    while let Some(next) = layers.last().and_then(|layer| layer.extend.clone()) {
        let next = absolute_from(Path::new("/"), &next);
        let place = files.last().unwrap_or(&next).clone();
        if files.contains(&next) {
            return Err(failure(&place, format!("`extend` leads back to {}", next.display())));
        }
        seen.note(&next);
        if !next.is_file() {
            return Err(failure(&place, format!("extends {}, which does not exist", next.display())));
        }
        let config = read(&next, seen)?.ok_or_else(|| {
            failure(&place, format!("extends {}, which has no section `[tool.trainlint]`", next.display()))
        })?;
        layers.push(config);
        files.push(next);
    }
    let mut refs: Vec<&Config> = layers.iter().rev().collect();
    refs.push(overrides);
    files.reverse();
    Ok(Some(Arc::new(Settings::fold(&refs, files))))
}

fn read(path: &Path, seen: &Seen) -> Result<Option<Config>, ConfigError> {
    seen.note(path);
    let text = disk::read_text(path).map_err(|error| failure(path, format!("can't be read: {error}")))?;
    if path.file_name().is_some_and(|name| name == "pyproject.toml") {
        config::parse_pyproject(path, &text)
    } else {
        config::parse(path, &text).map(Some)
    }
}

fn failure(path: &Path, message: impl Into<String>) -> ConfigError {
    ConfigError { path: path.to_owned(), at: None, message: message.into() }
}
