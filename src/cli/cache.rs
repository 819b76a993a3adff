//! Where the cache lies, and `trainlint clean`.

use super::CLEAN;
use super::args::CacheArgs;
use super::output::Output;
use crate::engine::cache::{Place, is_cache, remove};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What the folder is called in the root of a project.
const NAME: &str = ".trainlint_cache";

/// What makes a folder the root of a project.
const ROOTS: [&str; 5] = [".git", "pyproject.toml", "trainlint.toml", ".trainlint.toml", "setup.py"];

/// None where nothing is to be remembered, or where this trainlint can't be told from another.
pub(crate) fn place(args: &CacheArgs, cwd: &Path) -> Option<Place> {
    let build = build().filter(|_| !args.no_cache)?;
    let given = args.cache_dir.as_deref();
    Some(Place { folder: folder(given, cwd), is_named: given.is_some(), build })
}

fn folder(given: Option<&Path>, cwd: &Path) -> PathBuf {
    let is_root = |folder: &&Path| ROOTS.iter().any(|name| folder.join(name).exists());
    let root = || cwd.ancestors().find(is_root).unwrap_or(cwd).join(NAME);
    given.map_or_else(root, |given| cwd.join(given))
}

/// Rules change without a new version while they are worked on, so the program's own file counts.
fn build() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let written = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), written.as_nanos()))
}

/// Removes the cache of the project around the working folder.
pub(crate) fn clean(given: Option<&Path>, output: &Output) -> anyhow::Result<u8> {
    let cwd = std::env::current_dir().context("the working folder can't be found")?;
    let folder = folder(given, &cwd);
    let shown = folder.strip_prefix(&cwd).unwrap_or(&folder).display().to_string();
    if !folder.exists() {
        output.out(format!("{shown}: there is no cache\n").as_bytes())?;
        return Ok(CLEAN);
    }
    // Whatever else is given, nothing but a cache of ours is removed.
    if folder.is_symlink() || !is_cache(&folder) {
        bail!("{shown} is not a trainlint cache and was not removed");
    }
    match remove(&folder).with_context(|| format!("{shown} can't be removed"))? {
        true => output.out(format!("removed {shown}\n").as_bytes())?,
        false => {
            output.out(format!("removed the cache in {shown}; other files in it were kept\n").as_bytes())?;
        }
    }
    Ok(CLEAN)
}
