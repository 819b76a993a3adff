//! The scripts around the files that were asked for: whoever imports one of them may call what it defines, so a
//! check of one file rehearses its importers, too, and says what a check of the whole project says of it.

use crate::engine::Request;
use crate::engine::analysis::{Imports, Worth};
use crate::engine::config::ConfigError;
use crate::engine::configs::Configs;
use crate::engine::discovery::{Asked, Below};
use crate::source::absolute_from;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scripts of the project that import what was asked for, and were not asked for.
pub(super) fn importers(
    request: &Request,
    configs: &Arc<Configs>,
    imports: &Imports,
    asked: &[Asked],
    worth: Worth<'_>,
) -> Vec<Asked> {
    let Some(first) = asked.first().filter(|_| request.importers > 0) else { return Vec::new() };
    let Some(root) = root(&request.cwd, imports, &first.path) else { return Vec::new() };
    if request.paths.iter().any(|path| root.starts_with(absolute_from(&request.cwd, path))) {
        return Vec::new();
    }
    let Ok(around) = below(request, &root, configs) else { return Vec::new() };
    let of: Vec<PathBuf> = asked.iter().map(|file| file.path.clone()).collect();
    let files: Vec<PathBuf> = around.scripts.iter().map(|file| file.path.clone()).collect();
    let mut wanted = imports.importers(&files, &of, worth);
    wanted.truncate(request.importers);
    let wanted: FxHashSet<PathBuf> = wanted.into_iter().collect();
    around.scripts.iter().filter(|file| wanted.contains(&file.path)).cloned().collect()
}

/// The scripts of the project, as they were found before where there is a memory and nothing came or went since.
fn below(request: &Request, root: &Path, configs: &Arc<Configs>) -> Result<Arc<Below>, ConfigError> {
    match &request.memory {
        Some(memory) => memory.below(root, configs),
        None => Below::of(root, configs).map(Arc::new),
    }
}

/// Where the project of a file begins: at the folder that says so, else at the working folder.
fn root(cwd: &Path, imports: &Imports, file: &Path) -> Option<PathBuf> {
    let here = || file.starts_with(cwd).then(|| cwd.to_owned());
    imports.root_of(file).or_else(here)
}
