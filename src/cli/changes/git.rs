//! Asks the `git` that is installed, which knows the user's configuration and every form of a repository.

use anyhow::{anyhow, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a hook of git is told of the repository that it runs in; another repository is not meant by it.
const OF_ONE_REPOSITORY: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

/// What git is told so that it starts nothing that the repository's own configuration names: no monitor of its files
/// and no hooks.
const HARMLESS: [&str; 6] =
    ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"];

/// Nothing is written into the repository, and nothing fetched.
const QUIET: [(&str, &str); 3] =
    [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0")];

/// A folder in which git is asked.
pub(crate) struct Repository {
    folder: PathBuf,
    is_submodule: bool,
}

impl Repository {
    pub(crate) fn around(folder: &Path) -> Repository {
        Repository { folder: folder.to_owned(), is_submodule: false }
    }

    pub(crate) fn submodule(folder: &Path) -> Repository {
        Repository { folder: folder.to_owned(), is_submodule: true }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        if self.is_submodule {
            for name in OF_ONE_REPOSITORY {
                command.env_remove(name);
            }
        }
        command.envs(QUIET).arg("-C").arg(&self.folder).args(HARMLESS).args(args);
        command
    }

    /// [`Repository::command`] for what reads files of the working tree: filters that the repository itself sets up
    /// are programs of strangers, those of the user's own configuration are not.
    fn unfiltered(&self, args: &[&str]) -> anyhow::Result<Command> {
        let listed = ["config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\."];
        let listed = self.command(&listed).stdin(Stdio::null()).output();
        let listed = listed.map_err(|error| anyhow!("git can't be started: {error}"))?;
        // 1 says that there are none; 128, that there is no repository, of which git itself will complain.
        if !matches!(listed.status.code(), Some(0 | 1 | 128)) {
            bail!("git can't say which filters the repository has; version 2.26 or later is required");
        }
        let mut words = listed.stdout.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut off: Vec<String> = Vec::new();
        while let (Some(scope), Some(name)) = (words.next(), words.next()) {
            let strange = matches!(&*scope, "local" | "worktree" | "submodule");
            if let Some((filter, _)) = name.rsplit_once('.').filter(|_| strange) {
                // On the command line a name ends with the first `=`: another filter would be turned off.
                if filter.contains('=') {
                    bail!(
                        "the repository configures `{filter}`, a filter with `=` in its name, which can't be turned off"
                    );
                }
                for (key, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                    off.extend(["-c".to_owned(), format!("{filter}.{key}={value}")]);
                }
            }
        }
        let off: Vec<&str> = off.iter().map(String::as_str).collect();
        Ok(self.command(&[&off, args].concat()))
    }

    /// What git prints, or what it complains of.
    pub(crate) fn ask(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = self.unfiltered(args)?.stdin(Stdio::null()).output();
        let output = output.map_err(|error| anyhow!("git can't be started: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}", said.trim().strip_prefix("fatal: ").unwrap_or(said.trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes objects to paths in a folder. One process gives all of them, one after another.
    pub(crate) fn write(&self, files: &[(&str, &str)], root: &Path) -> anyhow::Result<()> {
        let mut command = self.command(&["cat-file", "--batch"]);
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
            let size = header.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
            let Some(size) = size else {
                bail!("git does not have {path} here (a partial clone has only some files)")
            };
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
}
