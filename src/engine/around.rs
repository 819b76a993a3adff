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

/// What else of the project counts.
#[derive(Default)]
pub(super) struct Around {
    /// The scripts that import what was asked for, and were not asked for.
    pub importers: Vec<Asked>,
    /// Something in the project speaks of GPUs.
    pub on_gpus: bool,
}

pub(super) fn around(
    request: &Request,
    configs: &Arc<Configs>,
    imports: &Imports,
    asked: &[Asked],
    worth: &dyn Worth,
) -> Around {
    let Some(first) = asked.first().filter(|_| request.importers > 0) else { return Around::default() };
    let Some(root) = root(&request.cwd, imports, &first.path) else { return Around::default() };
    if request.paths.iter().any(|path| root.starts_with(absolute_from(&request.cwd, path))) {
        return Around::default();
    }
    let Ok(around) = below(request, &root, configs) else { return Around::default() };
    let of: Vec<PathBuf> = asked.iter().map(|file| file.path.clone()).collect();
    let files: Vec<PathBuf> = around.scripts.iter().map(|file| file.path.clone()).collect();
    let mut wanted = imports.importers(&files, &of, worth);
    wanted.truncate(request.importers);
    let wanted: FxHashSet<PathBuf> = wanted.into_iter().collect();
    Around {
        importers: around.scripts.iter().filter(|file| wanted.contains(&file.path)).cloned().collect(),
        on_gpus: imports.speak_of_gpus(&near(request, &files), worth),
    }
}

/// The files beside those that were asked for by name, and in the folder above, where the scripts of a package lie.
/// What lies outside of a folder that was asked for is another matter.
fn near(request: &Request, files: &[PathBuf]) -> Vec<PathBuf> {
    let above = |path: &PathBuf| absolute_from(&request.cwd, path).parent()?.parent().map(Path::to_path_buf);
    let named: Vec<PathBuf> =
        request.paths.iter().filter(|path| path.extension().is_some()).filter_map(above).collect();
    let is_near = |file: &&PathBuf| named.iter().any(|folder| file.starts_with(folder));
    files.iter().filter(is_near).cloned().collect()
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
