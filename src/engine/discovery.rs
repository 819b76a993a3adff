//! Which files are meant: what was named, and below a folder every script and notebook that
//! neither `.gitignore` nor `exclude` leaves out. Reads no script.

use crate::engine::config::ConfigError;
use crate::engine::configs::Configs;
use crate::engine::disk;
use crate::engine::ignored::Ignored;
use crate::engine::settings::Settings;
use crate::engine::suggest::nearest;
use crate::source::{Stamp, absolute_from};
use ignore::{DirEntry, WalkBuilder};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// A file to check.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Absolute.
    pub path: PathBuf,
    /// Named by the user, and not merely found.
    pub explicit: bool,
    pub settings: Arc<Settings>,
}

/// Why there is nothing to run on.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    #[error("{path} does not exist{hint}")]
    Missing { path: String, hint: String },
    #[error("{path} is not a folder")]
    NoFolder { path: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The files of `paths`, sorted, each once.
pub fn discover(cwd: &Path, paths: &[PathBuf], configs: &Configs) -> Result<Vec<Asked>, DiscoveryError> {
    let mut files = Vec::new();
    for given in paths {
        let path = absolute_from(cwd, given);
        if path.is_dir() {
            walk(&path, configs, &mut files)?;
        } else if path.exists() {
            let settings = configs.of_folder(path.parent().unwrap_or(cwd))?;
            if !(settings.force_exclude && settings.exclude.matches_below(cwd, &path)) {
                files.push(Asked { path, explicit: true, settings });
            }
        } else {
            return Err(missing(given, &path));
        }
    }
    // Of the same file, the explicit mention comes first and stays.
    files.sort_by(|a, b| a.path.cmp(&b.path).then(b.explicit.cmp(&a.explicit)));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(if paths.len() > 1 { once(files) } else { files })
}

/// A link and what it leads to are one file, and so are the names of a file by way of a folder and a link to it. The
/// name that leads nowhere else stays, else the first.
fn once(files: Vec<Asked>) -> Vec<Asked> {
    let mut folders: FxHashMap<PathBuf, PathBuf> = FxHashMap::default();
    let mut real = |path: &Path| match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !path.is_symlink() => {
            folders.entry(folder.to_owned()).or_insert_with(|| disk::resolved(folder)).join(name)
        }
        _ => disk::resolved(path),
    };
    let mut named: Vec<(PathBuf, Asked)> = files.into_iter().map(|file| (real(&file.path), file)).collect();
    named.sort_by_cached_key(|(real, file)| {
        (real.clone(), file.path.is_symlink(), *real != file.path, file.path.clone())
    });
    named.dedup_by(|(real, other), (first, kept)| {
        let is_same = real == first;
        kept.explicit |= is_same && other.explicit;
        is_same
    });
    let mut files: Vec<Asked> = named.into_iter().map(|(_, file)| file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn missing(given: &Path, path: &Path) -> DiscoveryError {
    let folder = path.parent().unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A link to nowhere is there itself, and is not what was meant.
    let siblings: Vec<String> =
        disk::names_in(folder).into_iter().filter(|sibling| *sibling != *name).collect();
    let hint = nearest(&name, siblings.iter().map(String::as_str))
        .map(|near| format!("; did you mean {}?", given.with_file_name(near).display()));
    // What a shell does not expand reaches us as it is.
    let is_pattern = given.to_string_lossy().contains(['*', '?']);
    let pattern = || is_pattern.then(|| "; a folder stands for all scripts in it".to_owned());
    let hint = hint.or_else(pattern).unwrap_or_default();
    DiscoveryError::Missing { path: given.display().to_string(), hint }
}

fn walk(root: &Path, configs: &Configs, files: &mut Vec<Asked>) -> Result<(), ConfigError> {
    let base = configs.of_folder(root)?;
    if base.force_exclude && base.exclude.matches(root) {
        return Ok(());
    }
    let (mut linked, first): (Vec<Asked>, usize) = (Vec::new(), files.len());
    for entry in entries(root, base).filter(is_script) {
        let is_link = entry.path_is_symlink();
        let into = if is_link { &mut linked } else { &mut *files };
        into.extend(found(root, configs, entry)?);
    }
    if !linked.is_empty() {
        // A link and what it leads to are one file, and so are two links.
        let mut real: FxHashSet<PathBuf> =
            files[first..].iter().map(|file| disk::resolved(&file.path)).collect();
        linked.sort_by(|a, b| a.path.cmp(&b.path));
        files.extend(linked.into_iter().filter(|link| real.insert(disk::resolved(&link.path))));
    }
    Ok(())
}

/// What lies below a folder and is neither ignored nor excluded.
fn entries(root: &Path, base: Arc<Settings>) -> impl Iterator<Item = DirEntry> {
    // The walker wants a closure that lives as long as it pleases, so excludes of nested
    // configurations are applied to what it gives; those of the root prune the walk itself.
    let ignored = Ignored::below(root);
    let walker = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let path = entry.path();
            entry.depth() == 0 || !(base.exclude.matches(path) || ignored.leaves_out(path, is_dir))
        })
        .build();
    walker.flatten()
}

fn found(root: &Path, configs: &Configs, entry: DirEntry) -> Result<Option<Asked>, ConfigError> {
    let path = entry.into_path();
    let settings = configs.of_folder(path.parent().unwrap_or(root))?;
    let is_excluded = settings.exclude.matches_below(root, &path);
    Ok((!is_excluded).then_some(Asked { path, explicit: false, settings }))
}

/// A folder that holds more is no single project.
const MOST_ENTRIES: usize = 30_000;

/// Other files below a folder whose paths pass a test, sorted.
pub fn texts(
    root: &Path,
    configs: &Configs,
    is_wanted: fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, ConfigError> {
    let entries = entries(root, configs.of_folder(root)?).take(MOST_ENTRIES);
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let mut wanted: Vec<PathBuf> = files.map(DirEntry::into_path).filter(|path| is_wanted(path)).collect();
    wanted.sort();
    Ok(wanted)
}

/// The scripts below a folder, as they lay when somebody looked.
#[derive(Debug, Default)]
pub struct Below {
    /// Sorted; none where they are too many to be looked through for the sake of one file.
    pub scripts: Vec<Asked>,
    /// The folders, and what says what is ignored in them.
    watched: Vec<(PathBuf, Option<Stamp>)>,
}

impl Below {
    pub fn of(root: &Path, configs: &Configs) -> Result<Below, ConfigError> {
        let base = configs.of_folder(root)?;
        let mut below = Below::default();
        for (index, entry) in entries(root, base).enumerate() {
            if index > MOST_ENTRIES {
                below.scripts.clear();
                break;
            }
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                below.watch(entry.path());
            } else if is_script(&entry) {
                below.scripts.extend(found(root, configs, entry)?);
            }
        }
        below.scripts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(below)
    }

    fn watch(&mut self, folder: &Path) {
        let of = [folder.to_owned(), folder.join(".gitignore"), folder.join(".ignore")];
        self.watched.extend(of.map(|path| (path.clone(), Stamp::of(&path))));
    }

    /// Whether nothing came or went since.
    pub fn is_current(&self) -> bool {
        self.watched.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}

/// Stubs hold no training code, so `.pyi` is only read when another file needs it.
fn is_script(entry: &DirEntry) -> bool {
    let file = entry.file_type().is_some_and(|kind| kind.is_file())
        || (entry.path_is_symlink() && entry.path().is_file());
    file && entry.path().extension().is_some_and(|extension| extension == "py" || extension == "ipynb")
}
