//! Where the paths of an outcome are counted from. People read them from the working folder on;
//! services that review code want them from the root of the repository on.

use crate::engine::disk;
use crate::source::absolute_from;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct Roots {
    cwd: PathBuf,
    /// The repository around the working folder, or the working folder itself.
    repository: PathBuf,
}

impl Roots {
    /// `asked` is what is checked. Where the repository around the working folder does not hold it, the one around it
    /// counts.
    pub fn around(cwd: &Path, asked: Option<&Path>) -> Roots {
        let own = disk::repository(cwd).filter(|root| asked.is_none_or(|path| path.starts_with(root)));
        let repository = own.or_else(|| disk::repository(asked?)).unwrap_or(cwd).to_owned();
        Roots { cwd: cwd.to_owned(), repository }
    }

    /// The repository that paths are counted from.
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// A path as it is shown, from the repository's root on; one outside of it stays absolute.
    pub fn in_repository(&self, shown: &str) -> String {
        super::shown_path(&self.repository, &absolute_from(&self.cwd, Path::new(shown)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_counted_from_the_repository() {
        let roots = Roots { cwd: PathBuf::from("/r/sub"), repository: PathBuf::from("/r") };
        assert_eq!(roots.in_repository("a/b.py"), "sub/a/b.py");
        assert_eq!(roots.in_repository("/r/x.py"), "x.py");
        assert_eq!(roots.in_repository("/elsewhere/x.py"), "/elsewhere/x.py");
    }
}
