//! Which releases the project around a script asks for: what the files in its folder and above it say, up to
//! the project's root. A file that can't be read or understood says nothing.

mod commands;
mod files;
mod told;

use crate::apis::index::{Origin, Pins};
use crate::engine::disk;
use crate::engine::seen::Seen;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What makes a folder the root of a project.
const ROOTS: [&str; 3] = [".git", "pyproject.toml", "setup.py"];
/// A project's root lies at most so many folders above a script.
const ABOVE: usize = 6;
/// A part that lists packages of its own lies at most so many folders below what speaks for the whole project.
const PARTS: usize = 2;
/// Folders whose files speak for the folder that they are in.
const WITHIN: [&str; 5] = ["requirements", "docker", ".github/workflows", ".circleci", "conda"];
/// A page is longer than this for other reasons than what it needs to run.
const LONGEST: usize = 1 << 20;

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

/// What takes down the pins of one file.
struct Notes<'p> {
    pins: &'p mut Pins,
    base: &'p Path,
    file: &'p str,
    is_weak: bool,
}

impl Notes<'_> {
    /// A requirement in a line, counted from zero.
    fn requirement(&mut self, line: usize, text: &str) {
        let origin = self.origin(line);
        self.pins.requirement(text, origin);
    }

    fn pin(&mut self, line: usize, name: &str, wanted: &str) {
        let origin = self.origin(line);
        self.pins.pin(name, wanted, origin);
    }

    fn origin(&self, line: usize) -> Origin {
        let line = u32::try_from(line + 1).unwrap_or_default();
        let base = self.base.display().to_string();
        Origin { base, file: self.file.to_owned(), line, is_weak: self.is_weak }
    }
}

type Reader = fn(&str, &mut Notes<'_>);

impl Pinned {
    /// Whether the disk says what it said.
    pub fn is_current(&self) -> bool {
        self.seen.is_current()
    }

    /// What is said for a script: by its folder, and of a notebook by its cells.
    pub fn of_file(&self, path: &Path) -> Arc<Pins> {
        let around = self.of_folder(path.parent().unwrap_or(path));
        if path.extension().is_none_or(|extension| extension != "ipynb") {
            return around;
        }
        let Ok(text) = disk::read_text(path) else { return around };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut own = Pins::default();
        commands::cells(&text, &mut Notes { pins: &mut own, base: path, file: &name, is_weak: false });
        Arc::new(around.over(own))
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

    /// The folder whose word counts for another.
    pub fn base_of(&self, folder: &Path) -> Option<PathBuf> {
        let says = |folder: &&Path| {
            let Own { pins, is_root } = self.own(folder);
            is_root || !pins.is_silent()
        };
        folder.ancestors().take(ABOVE).find(says).map(Path::to_path_buf)
    }

    /// What the closest folder says that says anything, and above it what is only told, and what the project says of
    /// packages that this folder has no word about.
    fn closest(&self, folder: &Path) -> Arc<Pins> {
        let mut pins = Pins::default();
        let mut above = folder.ancestors().take(ABOVE);
        for folder in above.by_ref() {
            let Own { pins: own, is_root } = self.own(folder);
            pins = own.over(pins);
            if !own.is_silent() || is_root {
                pins.root = Some(folder.display().to_string());
                if is_root {
                    return Arc::new(pins);
                }
                break;
            }
        }
        for folder in above.take(PARTS) {
            let Own { pins: own, is_root } = self.own(folder);
            pins = own.besides(&pins).over(pins);
            if is_root {
                break;
            }
        }
        Arc::new(pins)
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
            self.read(folder, name, &mut pins);
        }
        for inner in
            WITHIN.iter().filter(|inner| names.iter().any(|name| Some(&**name) == inner.split('/').next()))
        {
            let within = folder.join(inner);
            self.seen.note(&within);
            for name in disk::names_in(&within) {
                self.read(folder, &format!("{inner}/{name}"), &mut pins);
            }
        }
        let is_root = names.iter().any(|name| ROOTS.contains(&name.as_str()));
        let own = Own { pins: Arc::new(pins), is_root };
        known().insert(folder.to_path_buf(), own.clone());
        own
    }

    fn read(&self, folder: &Path, name: &str, pins: &mut Pins) {
        let Some((reader, is_weak)) = reader(name) else { return };
        let path = folder.join(name);
        self.seen.note(&path);
        if let Ok(text) = disk::read_text(&path)
            && text.len() <= LONGEST
        {
            reader(&text, &mut Notes { pins, base: folder, file: name, is_weak });
        }
    }
}

/// How a file is read, and whether it only tells.
fn reader(path: &str) -> Option<(Reader, bool)> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_list = [".txt", ".in", ".lock"].iter().any(|end| name.ends_with(end));
    let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
    let is_job = path.starts_with(".github/") || path.starts_with(".circleci/");
    let reader: (Reader, bool) = match &*name {
        "pyproject.toml" => (files::pyproject, false),
        "poetry.lock" | "uv.lock" | "pdm.lock" => (files::lock, false),
        "pipfile" => (files::pipfile, false),
        "pipfile.lock" => (files::pipfile_lock, false),
        "setup.py" => (files::setup_py, false),
        "setup.cfg" => (files::setup_cfg, false),
        ".travis.yml" | ".gitlab-ci.yml" | "tox.ini" => (commands::shell, true),
        _ if is_yaml && is_job => (commands::shell, true),
        _ if is_list && (name.contains("requirement") || name.contains("constraint")) => (files::list, false),
        _ if is_list && path.starts_with("requirements/") => (files::list, false),
        _ if is_yaml && (name.contains("env") || name.contains("conda")) => (files::conda, false),
        // Beside the project's own there are images of all kinds.
        _ if name.starts_with("dockerfile") || name.ends_with("dockerfile") => {
            (commands::dockerfile, path != "Dockerfile")
        }
        _ if name.starts_with("readme") || name.starts_with("install.") => (told::page, true),
        _ if name.ends_with(".sh") && (name.contains("install") || name.contains("setup")) => {
            (commands::shell, true)
        }
        _ => return None,
    };
    Some(reader)
}

#[cfg(test)]
mod tests;
