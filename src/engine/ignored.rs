//! What `.ignore`, `.gitignore`, `.git/info/exclude` and git's global list leave out of a walk, by the patterns of the
//! `ignore` crate. The files are read here and not by the crate, which would wait for a pipe and swallow a device.

use crate::source::read_regular;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Lists of projects have some kilobytes; a longer one counts as missing.
const LONGEST: u64 = 1 << 20;

/// What is ignored below one root.
pub(crate) struct Ignored {
    root: PathBuf,
    /// Past links, so that patterns of the folders above it fit.
    real: PathBuf,
    global: Gitignore,
    /// The folders from the root to where the walk is. It goes deep first, so no more have to be kept.
    open: Mutex<Vec<(PathBuf, Option<Arc<Lists>>)>>,
}

/// The lists of the nearest folder that has any, and those of the folders above it.
struct Lists {
    ignore: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    above: Option<Arc<Lists>>,
}

impl Ignored {
    pub(crate) fn below(root: &Path) -> Ignored {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut folders: Vec<&Path> = real.ancestors().collect();
        folders.reverse();
        let lists = folders.into_iter().fold(None, |above, folder| Lists::of(folder, above));
        let open = Mutex::new(vec![(root.to_owned(), lists)]);
        Ignored { root: root.to_owned(), real, global: Gitignore::global().0, open }
    }

    /// Whether an entry is left out. Entries are asked about as a walk finds them: a folder before what it holds.
    pub(crate) fn leaves_out(&self, path: &Path, is_dir: bool) -> bool {
        let real =
            path.strip_prefix(&self.root).map_or_else(|_| path.to_owned(), |rest| self.real.join(rest));
        let (mut ignore, mut git, mut exclude) = (Match::None, Match::None, Match::None);
        let nearest = path.parent().and_then(|folder| self.lists(folder));
        let mut next = nearest.as_deref();
        while let Some(lists) = next {
            // Of each kind, the list that is nearest decides.
            for (found, list) in
                [(&mut ignore, &lists.ignore), (&mut git, &lists.git), (&mut exclude, &lists.exclude)]
            {
                if found.is_none() {
                    *found = list.matched(&real, is_dir);
                }
            }
            next = lists.above.as_deref();
        }
        ignore.or(git).or(exclude).or(self.global.matched(path, is_dir)).is_ignore()
    }

    fn lists(&self, folder: &Path) -> Option<Arc<Lists>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while open.len() > 1 && open.last().is_some_and(|(path, _)| !folder.starts_with(path)) {
            open.pop();
        }
        let (path, above) = open.last()?;
        if path == folder {
            return above.clone();
        }
        let real =
            folder.strip_prefix(&self.root).map_or_else(|_| folder.to_owned(), |rest| self.real.join(rest));
        let lists = Lists::of(&real, above.clone());
        open.push((folder.to_owned(), lists.clone()));
        lists
    }
}

impl Lists {
    /// Those of a folder; of the ones above it where it has none.
    fn of(folder: &Path, above: Option<Arc<Lists>>) -> Option<Arc<Lists>> {
        let ignore = list(folder, &folder.join(".ignore"));
        let git = list(folder, &folder.join(".gitignore"));
        let own = git_folder(folder).map(|own| list(folder, &own.join("info/exclude")));
        let exclude = own.unwrap_or_else(Gitignore::empty);
        if ignore.is_empty() && git.is_empty() && exclude.is_empty() {
            return above;
        }
        Some(Arc::new(Lists { ignore, git, exclude, above }))
    }
}

/// The patterns of a file, as seen from a folder; none where it is missing, too long, or no regular file.
fn list(folder: &Path, path: &Path) -> Gitignore {
    let Some(text) = text(path, LONGEST) else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
        // Of a pattern that is none, git takes no notice either.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Where git keeps what is its own of a repository: a worktree has a file that says so.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let found = git.metadata().ok()?;
    if found.is_dir() {
        return Some(git);
    }
    let line = |path: &Path| text(path, 1 << 16)?.lines().next().map(str::to_owned);
    let own = folder.join(line(&git)?.strip_prefix("gitdir: ")?);
    let common = line(&own.join("commondir"))?;
    Some(own.join(common))
}

fn text(path: &Path, limit: u64) -> Option<String> {
    // Most folders have no list, and asking for it is cheaper than being told why it can't be read.
    let bytes = path.is_file().then(|| read_regular(path, limit).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ignore::WalkBuilder;

    const LISTS: [&str; 8] = [
        "*.py\n!keep.py\n",
        "a/\n",
        "/a/b\n# a note\n!a.py\n",
        "\u{feff}b/**\n",
        "keep.py\n\\!odd\n[ab].py\n",
        "**/b/keep.py\n",
        "!b/\n!*.py\n",
        "a.py   \n\n/keep.py\n",
    ];

    /// All that the crate finds with its own filters, and with ours.
    fn found(root: &Path) -> [Vec<PathBuf>; 2] {
        let ignored = Ignored::below(root);
        let (mut crates, mut ours) = (WalkBuilder::new(root), WalkBuilder::new(root));
        crates.hidden(false).require_git(false);
        ours.standard_filters(false).filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !ignored.leaves_out(entry.path(), is_dir)
        });
        [crates, ours].map(|walk| {
            let mut paths: Vec<_> = walk.build().flatten().map(ignore::DirEntry::into_path).collect();
            paths.sort();
            paths
        })
    }

    #[test]
    fn the_same_is_left_out_as_the_crate_leaves_out_itself() {
        let folders = ["", "a", "a/b", "b", "b/a"];
        let names = [".gitignore", ".ignore", ".git/info/exclude"];
        for seed in 0..200_usize {
            let root = tempfile::tempdir().unwrap();
            let mut next = seed.wrapping_mul(0x9e37_79b9);
            let mut draw = |most: usize| {
                next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (next >> 33) % most
            };
            for folder in folders {
                let folder = root.path().join(folder);
                std::fs::create_dir_all(folder.join(".git/info")).unwrap();
                for file in ["a.py", "b.py", "keep.py", "!odd"] {
                    std::fs::File::create_new(folder.join(file)).unwrap();
                }
                for name in names {
                    if draw(3) == 0 {
                        let text = LISTS[draw(LISTS.len())];
                        std::io::Write::write_all(
                            &mut std::fs::File::create_new(folder.join(name)).unwrap(),
                            text.as_bytes(),
                        )
                        .unwrap();
                    }
                }
            }
            for folder in ["", "a", "b/a"] {
                let [crates, ours] = found(&root.path().join(folder));
                assert_eq!(crates, ours, "{seed} {folder}");
            }
        }
    }
}
