//! Asks the `git` that is installed, which knows the user's configuration and every form of a repository.

use anyhow::{anyhow, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a hook of git is told of the repository that it runs in; another repository is not meant by it.
const OF_ONE_REPOSITORY: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

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
        command.arg("-C").arg(&self.folder).args(args);
        command
    }

    /// What git prints, or what it complains of.
    pub(crate) fn ask(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = self.command(args).stdin(Stdio::null()).output();
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
}
