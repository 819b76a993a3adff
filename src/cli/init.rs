//! `trainlint init`: a configuration for a project that has none. What is not the project's own is asked of git.

use super::CLEAN;
use super::args::InitArgs;
use super::changes::Repository;
use super::output::Output;
use crate::engine::config::parse_pyproject;
use crate::source::read_regular;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What git calls files that others wrote, or programs.
const FOREIGN: [&str; 2] = ["linguist-vendored", "linguist-generated"];

pub(crate) fn run(args: &InitArgs, output: &Output) -> anyhow::Result<u8> {
    let cwd = std::env::current_dir().context("the working folder can't be found")?;
    let folder = args.folder.as_ref().map_or(cwd.clone(), |folder| cwd.join(folder));
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    let pyproject = folder.join("pyproject.toml");
    let own = ["trainlint.toml", ".trainlint.toml"].map(|name| folder.join(name));
    if let Some(there) = own.iter().find(|path| path.exists()) {
        bail!("{} exists already", shown(there, &cwd));
    }
    let excluded = foreign(&folder);
    let path = if pyproject.is_file() { pyproject } else { folder.join("trainlint.toml") };
    if path.ends_with("pyproject.toml") {
        extend(&path, &excluded)?;
    } else {
        std::fs::write(&path, text(&excluded, "")).with_context(|| cannot(&path))?;
    }
    let place = shown(&path, &cwd);
    output.out(
        format!("wrote {place}; `trainlint config` lists the keys, `trainlint check` uses it\n").as_bytes(),
    )?;
    Ok(CLEAN)
}

/// No configuration is larger.
const LARGEST: u64 = 16 << 20;

/// A section at the end of a file that has none.
fn extend(path: &Path, excluded: &BTreeSet<String>) -> anyhow::Result<()> {
    let before = read_regular(path, LARGEST).with_context(|| cannot(path))?;
    let before = String::from_utf8(before).with_context(|| cannot(path))?;
    if parse_pyproject(path, &before)?.is_some() {
        bail!("{} has a section `[tool.trainlint]` already", path.display());
    }
    let gap = if before.is_empty() || before.ends_with("\n\n") { "" } else { "\n" };
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let whole = format!("{before}{end}{gap}[tool.trainlint]\n{}", text(excluded, "tool.trainlint."));
    std::fs::write(path, whole).with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("{} can't be written", path.display())
}

fn shown(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

fn text(excluded: &BTreeSet<String>, section: &str) -> String {
    let excluded: Vec<String> = excluded.iter().map(|path| format!("{path:?}")).collect();
    format!(
        "# Not checked, besides what .gitignore names: code of others.\n\
         extend-exclude = [{}]\n\n\
         # The GPU that training runs on; without it, one with 24 GiB.\n\
         # [{section}target]\n\
         # gpu = \"rtx4090\"\n",
        excluded.join(", ")
    )
}

/// Submodules, and folders and files that `.gitattributes` calls vendored or generated; nothing without git.
fn foreign(folder: &Path) -> BTreeSet<String> {
    let here = Repository::around(folder);
    let listed = here.ask(&["ls-files", "--stage", "-z", "--", "."]).unwrap_or_default();
    let mut excluded = BTreeSet::new();
    let mut scripts = Vec::new();
    for line in listed.split('\0') {
        let Some((about, path)) = line.split_once('\t') else { continue };
        if about.starts_with("160000 ") {
            excluded.insert(path.to_owned());
        } else if path.ends_with(".py") || path.ends_with(".ipynb") {
            scripts.push(path);
        }
    }
    let marked = marked(&here, &scripts);
    for path in &marked {
        excluded.insert(whole_folder(path, &scripts, &marked));
    }
    excluded
}

/// Git takes so many paths at once.
const AT_ONCE: usize = 500;

fn marked(here: &Repository, scripts: &[&str]) -> BTreeSet<String> {
    let mut marked = BTreeSet::new();
    for some in scripts.chunks(AT_ONCE) {
        let args = [&["check-attr", "-z"][..], &FOREIGN, &["--"], some].concat();
        let said = here.ask(&args).unwrap_or_default();
        let words: Vec<&str> = said.split('\0').collect();
        for one in words.chunks_exact(3) {
            if matches!(one[2], "set" | "true") {
                marked.insert(one[0].to_owned());
            }
        }
    }
    marked
}

/// The topmost folder of a marked file of which every script is marked, or the file.
fn whole_folder(path: &str, scripts: &[&str], marked: &BTreeSet<String>) -> String {
    let is_whole = |folder: &Path| {
        scripts.iter().filter(|one| Path::new(one).starts_with(folder)).all(|one| marked.contains(*one))
    };
    let folders = Path::new(path).ancestors().skip(1).filter(|one| !one.as_os_str().is_empty());
    let top = folders.take_while(|folder| is_whole(folder)).last().map(PathBuf::from);
    let found = top.unwrap_or_else(|| PathBuf::from(path));
    let text = found.to_string_lossy().into_owned();
    // A name without a slash would match anywhere.
    if text.contains('/') { text } else { format!("./{text}") }
}
