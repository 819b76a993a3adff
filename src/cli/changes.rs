//! What has changed since a revision of git, and the files as they were then.

mod diff;
mod git;

pub(crate) use git::Repository;

use crate::engine::configs::Origin;
use crate::engine::{Outcome, Request};
use crate::report::Diagnostic;
use crate::source::absolute_from;
use anyhow::{Context, anyhow, bail};
use diff::Diff;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Larger files are data; a script that refers to one says so without it.
const LARGEST: u64 = 4 << 20;

pub(crate) struct Changes {
    top: PathBuf,
    /// The working folder, without links.
    cwd: PathBuf,
    /// The repository, and its submodules.
    parts: Vec<Part>,
    diff: Diff,
}

/// A repository as it was at the base.
struct Part {
    repository: Repository,
    /// Its folder from the top on, with a slash at the end; empty for the repository at the top.
    folder: String,
    base: String,
    /// What `ls-tree` says of the base.
    listed: String,
}

impl Changes {
    /// Since the last commit that the revision and the working tree have in common.
    /// In the repository of what is checked, which need not be that of the working folder.
    pub(crate) fn since(request: &Request, repository: &Path, revision: &str) -> anyhow::Result<Changes> {
        let here = match request.cwd.starts_with(repository) {
            true => Repository::around(&request.cwd),
            false => Repository::submodule(repository),
        };
        let top = here
            .ask(&["rev-parse", "--show-toplevel"])
            .map_err(|error| anyhow!("`--diff-base` needs a git repository: {error}"))?;
        let top = PathBuf::from(top.trim_end_matches(['\r', '\n']));
        let cwd = request.cwd.canonicalize().unwrap_or_else(|_| request.cwd.clone());
        if let Some(other) = request.paths.iter().find(|path| absolute(&cwd, path, &top).is_none()) {
            bail!("{} is outside of the git repository {}", other.display(), top.display());
        }
        let part = Part::at(Repository::around(&top), String::new(), base(&here, revision)?)?;
        let mut changes = Changes { top, cwd, parts: vec![part], diff: Diff::default() };
        // The list grows by the submodules of submodules.
        let mut next = 0;
        while let Some(part) = changes.parts.get(next) {
            part.read_diff(&mut changes.diff)?;
            let inner = part.submodules(&changes.top);
            changes.parts.extend(inner);
            next += 1;
        }
        Ok(changes)
    }

    /// Whether a finding lies on a changed line. The lines of a notebook are JSON and change when it is run or saved
    /// by another program; of its code, what the base does not have is new.
    pub(crate) fn touch(&self, outcome: &Outcome, finding: &Diagnostic) -> bool {
        let Some(shown) = outcome.sources.get(finding.place.file) else { return false };
        let Some(lines) = self.diff.lines.get(&outcome.roots.in_repository(&shown.path)) else {
            return false;
        };
        let place = |offset| shown.source.locate(offset);
        let (first, last) = (place(finding.place.span.start), place(finding.place.span.end));
        let meets = |range: &Range<u32>| range.start <= last.file_line && first.file_line < range.end;
        first.cell.is_none() && lines.iter().any(meets)
    }

    /// The files that an analysis reads, as they were, in a folder that goes away with the result.
    pub(crate) fn tree_before(&self) -> anyhow::Result<Before> {
        let folder = TempDir::with_prefix("trainlint-").context("can't create a temporary folder")?;
        // Canonical, as git gives its own: a path is stripped of it again.
        let root = folder.path().canonicalize().context("can't create a temporary folder")?;
        std::fs::create_dir(root.join(".git")).context("can't create a temporary folder")?;
        for part in &self.parts {
            let files: Vec<(&str, &str)> = part.listed.split('\0').filter_map(listed_file).collect();
            let written = part.repository.write(&files, &root.join(&part.folder));
            written.context("the files of the base revision can't be written")?;
        }
        let renamed = self.diff.renamed.clone();
        Ok(Before { top: self.top.clone(), cwd: self.cwd.clone(), root, renamed, _folder: folder })
    }
}

/// The commit to compare with.
fn base(here: &Repository, revision: &str) -> anyhow::Result<String> {
    let wanted = format!("{revision}^{{commit}}");
    let commit = here.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).map_err(|_| {
        anyhow!(
            "git does not know revision `{revision}` (a shallow clone lacks older commits: fetch it first)"
        )
    })?;
    let base = match here.ask(&["merge-base", commit.trim(), "HEAD"]) {
        Ok(base) => base,
        // What is missing may be the commit in common, and against any other the rest would be news.
        Err(_) if here.ask(&["rev-parse", "--is-shallow-repository"])?.trim() == "true" => bail!(
            "git knows no commit that `{revision}` and the working tree have in common: this clone is shallow, \
             fetch more of its history (`fetch-depth: 0` in GitHub Actions, `GIT_DEPTH: 0` in GitLab)"
        ),
        // Nothing is in common.
        Err(_) => commit,
    };
    Ok(base.trim().to_owned())
}

impl Part {
    fn at(repository: Repository, folder: String, base: String) -> anyhow::Result<Part> {
        let listed = repository.ask(&["ls-tree", "-r", "-l", "-z", "--full-tree", &base])?;
        Ok(Part { repository, folder, base, listed })
    }

    fn read_diff(&self, diff: &mut Diff) -> anyhow::Result<()> {
        let plain = ["-c", "core.quotePath=false", "-c", "diff.noprefix=false", "diff"];
        let exact = ["--no-ext-diff", "--no-color", "--no-textconv", "--unified=0", "--find-renames"];
        let named = ["--ignore-submodules", "--src-prefix=a/", "--dst-prefix=b/", &self.base, "--"];
        diff.read(&self.repository.ask(&[&plain[..], &exact, &named].concat())?, &self.folder);
        Ok(())
    }

    /// The submodules that are checked out, and know what they were.
    fn submodules(&self, top: &Path) -> Vec<Part> {
        let linked = |line: &str| {
            let (about, path) =
                line.split_once('\t').filter(|(about, _)| about.starts_with("160000 commit "))?;
            let base = about.split_ascii_whitespace().nth(2)?.to_owned();
            let folder = format!("{}{path}/", self.folder);
            let inside = is_inside(path) && top.join(&folder).join(".git").exists();
            let repository = inside.then(|| Repository::submodule(&top.join(&folder)))?;
            Part::at(repository, folder, base).ok()
        };
        self.listed.split('\0').filter_map(linked).collect()
    }
}

/// A tree of files as it was at the base.
pub(crate) struct Before {
    top: PathBuf,
    cwd: PathBuf,
    root: PathBuf,
    renamed: HashMap<String, String>,
    _folder: TempDir,
}

impl Before {
    /// A message without the name of the temporary folder, which is gone when it is read.
    pub(crate) fn plain(&self, message: &str) -> String {
        message.replace(&format!("{}/", self.root.display()), "")
    }

    /// The same request, of the files as they were; what was not there yet is not asked for.
    pub(crate) fn request(&self, now: &Request) -> Request {
        let cwd =
            self.cwd.strip_prefix(&self.top).map_or_else(|_| self.root.clone(), |own| self.root.join(own));
        let mut overrides = now.overrides.clone();
        overrides.base = cwd.clone();
        let origin = match &now.origin {
            // A file that is named is the one that is there now.
            Origin::File(file) => Origin::File(now.cwd.join(file)),
            other => other.clone(),
        };
        let Request { importers, threads, .. } = *now;
        Request { paths: self.paths(now), overrides, cwd, origin, importers, threads, ..Request::default() }
    }

    /// What was asked for, and what of it was somewhere else.
    fn paths(&self, now: &Request) -> Vec<PathBuf> {
        let asked: Vec<PathBuf> =
            now.paths.iter().filter_map(|path| absolute(&self.cwd, path, &self.top)).collect();
        let moved = |path: &PathBuf| Some(self.root.join(path.strip_prefix(&self.top).ok()?));
        let mut paths: Vec<PathBuf> = asked.iter().filter_map(moved).collect();
        for (new, old) in &self.renamed {
            if asked.iter().any(|asked| self.top.join(new).starts_with(asked)) {
                paths.push(self.root.join(old));
            }
        }
        paths.retain(|path| path.exists());
        paths.sort();
        paths
    }
}

/// A path below the top of a repository, as git has it; `cwd` is without links.
fn absolute(cwd: &Path, path: &Path, top: &Path) -> Option<PathBuf> {
    let plain = absolute_from(cwd, path);
    let found = if plain.starts_with(top) { plain } else { plain.canonicalize().ok()? };
    found.starts_with(top).then_some(found)
}

/// The object and the path of a line of `ls-tree`, if an analysis may read the file.
fn listed_file(line: &str) -> Option<(&str, &str)> {
    let (about, path) = line.split_once('\t')?;
    let mut about = about.split_ascii_whitespace();
    let (mode, kind, object, size) = (about.next()?, about.next()?, about.next()?, about.next()?);
    let is_file = kind == "blob" && mode != "120000" && size.parse::<u64>().is_ok_and(|size| size <= LARGEST);
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = [
        "py",
        "pyi",
        "pyw",
        "ipynb",
        "toml",
        "yaml",
        "yml",
        "json",
        "txt",
        "cfg",
        "lock",
        "gitignore",
        "ignore",
    ];
    (is_file && is_inside(path) && known.contains(&extension)).then_some((object, path))
}

/// A path that leads out of the tree would be written there.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_analysis_reads_is_taken_from_a_revision() {
        assert_eq!(listed_file("100644 blob abc     12\ta/b.py"), Some(("abc", "a/b.py")));
        assert_eq!(listed_file("100644 blob abc     12\t.gitignore"), Some(("abc", ".gitignore")));
        assert_eq!(listed_file("120000 blob abc     12\ta/b.py"), None);
        assert_eq!(listed_file("100644 blob abc 99999999\ta/b.py"), None);
        assert_eq!(listed_file("100644 blob abc     12\t../b.py"), None);
        assert_eq!(listed_file("100644 blob abc     12\tmodel.bin"), None);
    }
}
