//! What git says has changed since a revision, and the files as they were then. Asks the `git`
//! that is installed, which knows the user's configuration and every form of a repository.

use crate::engine::configs::Origin;
use crate::engine::{Outcome, Request};
use crate::report::Diagnostic;
use anyhow::{Context, anyhow, bail};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Larger files are data; a script that refers to one says so without it.
const LARGEST: u64 = 4 << 20;

pub struct Changes {
    top: PathBuf,
    /// The folder that git was asked in, from the top on.
    prefix: PathBuf,
    base: String,
    /// The lines that are new or different, by path from the top on. Files that git does not know have none: what
    /// the base does not have of them is new in any case.
    lines: HashMap<String, Vec<Range<u32>>>,
}

impl Changes {
    /// Since the last commit that the revision and the working tree have in common.
    pub fn since(cwd: &Path, revision: &str) -> anyhow::Result<Changes> {
        let top = git(cwd, &["rev-parse", "--show-toplevel"])
            .map_err(|error| anyhow!("`--diff-base` needs a git repository: {error}"))?;
        let prefix = git(cwd, &["rev-parse", "--show-prefix"])?;
        let wanted = format!("{revision}^{{commit}}");
        let commit = git(cwd, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).map_err(|_| {
            anyhow!("git knows no revision `{revision}` here (a shallow clone has only the last ones: fetch it first)")
        })?;
        let base = match git(cwd, &["merge-base", commit.trim(), "HEAD"]) {
            Ok(base) => base,
            // What is missing may be the commit in common, and against any other the rest would be news.
            Err(_) if git(cwd, &["rev-parse", "--is-shallow-repository"])?.trim() == "true" => bail!(
                "git knows no commit that `{revision}` and the working tree have in common: this clone is shallow, \
                 fetch more of its history (`fetch-depth: 0` in GitHub Actions, `GIT_DEPTH: 0` in GitLab)"
            ),
            // Nothing is in common.
            Err(_) => commit,
        };
        let mut changes = Changes {
            top: PathBuf::from(top.trim_end_matches(['\r', '\n'])),
            prefix: PathBuf::from(prefix.trim_end_matches(['\r', '\n'])),
            base: base.trim().to_owned(),
            lines: HashMap::new(),
        };
        changes.read_diff()?;
        Ok(changes)
    }

    fn read_diff(&mut self) -> anyhow::Result<()> {
        let quiet = [
            "-c",
            "core.quotePath=false",
            "-c",
            "diff.noprefix=false",
            "diff",
            "--no-ext-diff",
            "--no-color",
        ];
        let exact = ["--no-textconv", "--unified=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/"];
        let diff = git(&self.top, &[&quiet[..], &exact[..], &[&self.base, "--"]].concat())?;
        self.lines = hunks(&diff);
        Ok(())
    }

    /// Whether a finding lies on a changed line.
    pub fn touch(&self, outcome: &Outcome, finding: &Diagnostic) -> bool {
        let Some(shown) = outcome.sources.get(finding.place.file) else { return false };
        let Some(lines) = self.lines.get(&outcome.roots.in_repository(&shown.path)) else { return false };
        let line = |offset| shown.source.locate(offset).file_line;
        let (first, last) = (line(finding.place.span.start), line(finding.place.span.end));
        let meets = |range: &Range<u32>| range.start <= last && first < range.end;
        lines.iter().any(meets)
    }

    /// The files that an analysis reads, as they were, in a folder that goes away with the result.
    pub fn tree_before(&self) -> anyhow::Result<Before> {
        let folder = TempDir::with_prefix("trainlint-").context("no temporary folder can be made")?;
        // Canonical, as git gives its own: a path is stripped of it again.
        let root = folder.path().canonicalize().context("no temporary folder can be made")?;
        std::fs::create_dir(root.join(".git")).context("no temporary folder can be made")?;
        let listed = git(&self.top, &["ls-tree", "-r", "-l", "-z", "--full-tree", &self.base])?;
        let files: Vec<(&str, &str)> = listed.split('\0').filter_map(listed_file).collect();
        write_files(&self.top, &root, &files).context("the files of the base revision can't be written")?;
        Ok(Before { top: self.top.clone(), prefix: self.prefix.clone(), root, _folder: folder })
    }
}

/// A tree of files as it was at the base.
pub struct Before {
    top: PathBuf,
    prefix: PathBuf,
    root: PathBuf,
    _folder: TempDir,
}

impl Before {
    /// A message without the name of the temporary folder, which is gone when it is read.
    pub fn plain(&self, message: &str) -> String {
        message.replace(&format!("{}/", self.root.display()), "")
    }

    /// The same request, of the files as they were; what was not there yet is not asked for.
    pub fn request(&self, now: &Request) -> Request {
        let cwd = self.root.join(&self.prefix);
        let moved = |path: &PathBuf| {
            let inside = path.strip_prefix(&self.top).map(|path| self.root.join(path));
            let then = if path.is_absolute() { inside.ok()? } else { cwd.join(path) };
            then.exists().then_some(then)
        };
        let mut overrides = now.overrides.clone();
        overrides.base = cwd.clone();
        let paths = now.paths.iter().filter_map(moved).collect();
        let origin = match &now.origin {
            // A file that is named is the one that is there now.
            Origin::File(file) => Origin::File(now.cwd.join(file)),
            other => other.clone(),
        };
        Request { paths, overrides, cwd, origin, threads: now.threads, ..Request::default() }
    }
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
    // A path that leads out of the tree would be written there.
    let inside = path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git"));
    (is_file && inside && known.contains(&extension)).then_some((object, path))
}

/// One process gives all files, one after another.
fn write_files(top: &Path, root: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.arg("-C").arg(top).args(["cat-file", "--batch"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut asking), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("git has no streams");
    };
    let wanted: String = files.iter().map(|(object, _)| format!("{object}\n")).collect();
    // git answers while it is still asked, so asking must not wait for reading.
    let asked = std::thread::spawn(move || asking.write_all(wanted.as_bytes()));
    let mut answers = BufReader::new(answers);
    for (_, path) in files {
        let mut header = String::new();
        answers.read_line(&mut header)?;
        let size: u64 = header.trim_end().rsplit(' ').next().unwrap_or_default().parse()?;
        let mut bytes = Vec::new();
        answers.by_ref().take(size).read_to_end(&mut bytes)?;
        answers.read_exact(&mut [0])?;
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root))?;
        std::fs::write(path, bytes)?;
    }
    asked.join().map_err(|_| anyhow!("git could not be asked"))??;
    child.wait()?;
    Ok(())
}

/// What git prints, or what it complains of.
fn git(folder: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| anyhow!("git can't be started: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.trim().strip_prefix("fatal: ").unwrap_or(said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines that a diff without context adds or changes, by file.
fn hunks(diff: &str) -> HashMap<String, Vec<Range<u32>>> {
    let mut files: HashMap<String, Vec<Range<u32>>> = HashMap::new();
    let mut path = None;
    // Of a hunk, so many lines are left that may look like anything.
    let mut body = 0;
    for line in diff.split('\n') {
        if body > 0 && line.starts_with(['+', '-']) {
            body -= 1;
        } else if let Some(new) = line.strip_prefix("+++ ") {
            path = unquoted(new).strip_prefix("b/").map(str::to_owned);
        } else if let Some((removed, added)) = line.strip_prefix("@@ -").and_then(hunk) {
            body = removed + added.len();
            if let Some(path) = path.as_ref().filter(|_| !added.is_empty()) {
                files.entry(path.clone()).or_default().push(added);
            }
        }
    }
    files
}

/// `7,2 +8,3 @@ def f():`: how many lines are gone, and which came.
fn hunk(text: &str) -> Option<(usize, Range<u32>)> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse::<u32>().ok());
    let start: u32 = new.split(',').next()?.parse().ok()?;
    let added = count(new)?;
    Some((count(old)? as usize, start..start.checked_add(added)?))
}

/// A path as git writes it: in quotes where it holds a quote or a character that commands.
fn unquoted(path: &str) -> String {
    let path = path.trim_end_matches(['\t', '\r']);
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return path.to_owned();
    };
    let (mut out, mut rest) = (Vec::new(), inner.as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let Some((&escape, tail)) = tail.split_first().filter(|_| byte == b'\\') else {
            out.push(byte);
            continue;
        };
        rest = tail;
        let octal = inner_octal(escape, tail);
        match escape {
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            _ if octal.is_some() => {
                out.extend(octal);
                rest = &tail[2..];
            }
            plain => out.push(plain),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The byte of three octal digits.
fn inner_octal(first: u8, rest: &[u8]) -> Option<u8> {
    let digits = [first, *rest.first()?, *rest.get(1)?];
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_read_from_a_diff() {
        let diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3 +3,2 @@ def f():\n-a\n+++ b/y.py\n+c\n\
                    @@ -9,2 +10,0 @@\n-d\n-e\ndiff --git a/z.py b/z.py\n--- a/z.py\n+++ \"b/z\\303\\274\\\"\\t.py\"\n@@ -0,0 +1 @@\n+q\n";
        let found = hunks(diff);
        assert_eq!((found["x.py"].len(), &found["x.py"][0]), (1, &(3..5)));
        assert_eq!((found["zü\"\t.py"].len(), &found["zü\"\t.py"][0]), (1, &(1..2)));
        assert_eq!(found.len(), 2);
    }

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
