//! Where modules lie: search paths of a directory, and modules and packages in them. Every
//! directory is listed at most once.

use crate::source::{ImportLine, SourceFile, Stamp, import_lines, list_dir};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What makes a directory the root of a project.
const MARKERS: [&str; 4] = ["pyproject.toml", "setup.py", "setup.cfg", ".git"];

/// Where nothing marks the root of a project, it is no more than so many folders up.
const ABOVE: usize = 2;

/// What scripts put on the path as they run, most often in a module of its own (`_init_paths.py`).
const LIBRARY: &str = "lib";

/// Modules of Python that packages like to name their own modules after. Inside a package the
/// plain import means Python's.
const STANDARD: [&str; 32] = [
    "abc",
    "ast",
    "code",
    "collections",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "glob",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "parser",
    "pathlib",
    "platform",
    "profile",
    "queue",
    "random",
    "re",
    "signal",
    "statistics",
    "string",
    "time",
    "types",
    "typing",
    "warnings",
];

/// Whether a plain import in a package means Python's own module.
pub fn is_standard(top: &str) -> bool {
    STANDARD.binary_search(&top).is_ok()
}

/// Where a module was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A module, or the `__init__.py` of a package.
    File(PathBuf),
    /// A folder without `__init__.py`.
    Folder(PathBuf),
}

/// The names in a directory that imports can mean, and whether they are directories.
type Listing = FxHashMap<Box<str>, bool>;

/// Where plain imports of the files of one directory look, in order.
#[derive(Debug)]
pub(super) struct Roots {
    paths: Box<[PathBuf]>,
    /// Folders further up, up to the root of the project, and its `lib`: scripts of a subfolder put them on the path
    /// as they run, or are run with them on it. A module is looked for there last, and a bare folder never.
    above: Box<[PathBuf]>,
    /// The directory itself and the outermost around it, when they are packages: their modules are found last, though
    /// Python would not, for such files are often run as scripts, or from a root that has an `__init__.py` by habit.
    packages: Vec<PathBuf>,
    /// The first directory upwards that is no package.
    pub top: PathBuf,
}

/// The listing of a directory, with the stamp that it had before; no listing where there is none.
struct Listed {
    stamp: Option<Stamp>,
    listing: Option<Arc<Listing>>,
}

#[derive(Default)]
pub(super) struct Lookup {
    listings: Mutex<FxHashMap<PathBuf, Listed>>,
    roots: Mutex<FxHashMap<PathBuf, Arc<Roots>>>,
}

impl Lookup {
    fn listing(&self, dir: &Path) -> Option<Arc<Listing>> {
        if let Some(known) = self.listings.lock().unwrap_or_else(PoisonError::into_inner).get(dir) {
            return known.listing.clone();
        }
        let stamp = Stamp::of(dir);
        let listing =
            list_dir(dir).map(|entries| Arc::new(entries.into_iter().filter_map(relevant).collect()));
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        listings.entry(dir.to_path_buf()).or_insert(Listed { stamp, listing }).listing.clone()
    }

    /// Whether every directory is as it was when it was listed.
    pub(crate) fn is_current(&self) -> bool {
        let listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        listings.iter().all(|(dir, listed)| Stamp::of(dir) == listed.stamp)
    }

    /// A module or package `name` directly in `dir`.
    pub(crate) fn in_dir(&self, dir: &Path, name: &str) -> Option<Found> {
        // No system call for what is certainly not there.
        let listing = self.listing(dir)?;
        let is_dir = listing.get(name).is_some_and(|is_dir| *is_dir);
        let folder = dir.join(name);
        if is_dir && self.has_file(&folder, "__init__.py") {
            return Some(Found::File(folder.join("__init__.py")));
        }
        let file = format!("{name}.py");
        if listing.get(file.as_str()).is_some_and(|is_dir| !is_dir) {
            return Some(Found::File(dir.join(file)));
        }
        is_dir.then_some(Found::Folder(folder))
    }

    fn has_file(&self, dir: &Path, name: &str) -> bool {
        self.listing(dir).is_some_and(|listing| listing.get(name).is_some_and(|is_dir| !is_dir))
    }

    fn is_package(&self, dir: &Path) -> bool {
        self.has_file(dir, "__init__.py")
    }

    /// The package that the directory `dir` is.
    pub(crate) fn of_dir(&self, dir: &Path) -> Found {
        if self.is_package(dir) {
            Found::File(dir.join("__init__.py"))
        } else {
            Found::Folder(dir.to_path_buf())
        }
    }

    /// `a.b.c` below `dir`.
    fn below(&self, dir: &Path, dotted: &str) -> Option<Found> {
        let mut at = dir.to_path_buf();
        let mut parts = dotted.split('.').peekable();
        loop {
            let found = self.in_dir(&at, parts.next()?)?;
            if parts.peek().is_none() {
                return Some(found);
            }
            at = match found {
                Found::Folder(folder) => folder,
                Found::File(file) if file.ends_with("__init__.py") => file.parent()?.to_path_buf(),
                Found::File(_) => return None,
            };
        }
    }

    /// `import dotted` in a file of `dir`: a module or package anywhere wins over a bare folder.
    pub(crate) fn plain(&self, dir: &Path, dotted: &str) -> Option<Found> {
        let roots = self.roots(dir);
        let top = dotted.split('.').next().unwrap_or(dotted);
        let own = roots.packages.iter().filter(|_| !is_standard(top));
        let mut folder = None;
        for root in roots.paths.iter().chain(own) {
            match self.below(root, dotted) {
                Some(Found::Folder(found)) if folder.is_none() => folder = Some(found),
                Some(Found::File(found)) => return Some(Found::File(found)),
                _ => {}
            }
        }
        for root in &roots.above {
            match self.below(root, dotted) {
                Some(Found::Folder(found)) if folder.is_none() && self.has_modules(&found) => {
                    folder = Some(found);
                }
                Some(Found::File(found)) => return Some(Found::File(found)),
                _ => {}
            }
        }
        folder.map(Found::Folder)
    }

    /// Whether a folder holds modules itself: one without may be anything.
    fn has_modules(&self, folder: &Path) -> bool {
        self.listing(folder)
            .is_some_and(|listing| listing.iter().any(|(name, is_dir)| !is_dir && name.ends_with(".py")))
    }

    /// What an import in a file leads to: plain with level 0, relative with one level a dot.
    pub(crate) fn import(&self, from: &Path, level: u32, module: Option<&str>) -> Option<Found> {
        let dir = from.parent()?;
        if level == 0 {
            let module = module?;
            let found = self.beside(from, dir, module).or_else(|| self.plain(dir, module));
            // No module imports itself: `import lpips` in a `lpips.py` of the project means what is installed.
            let may_be_it = from.ends_with("__init__.py") || module.contains('.');
            return found.filter(|found| may_be_it || !matches!(found, Found::File(file) if file == from));
        }
        let mut found = self.of_dir(dir.ancestors().nth(level as usize - 1)?);
        for part in module.into_iter().flat_map(|module| module.split('.')) {
            found = self.step(&found, part)?;
        }
        Some(found)
    }

    /// `import dotted` where a module of this name lies in the package of a file and another where Python would look for
    /// it: the file is run as a script where it lies, which others of its imports show that are found nowhere else.
    fn beside(&self, from: &Path, dir: &Path, dotted: &str) -> Option<Found> {
        let own = self.own_module(dir, dotted)?;
        if self.plain(dir, dotted).as_ref() == Some(&own) {
            return None;
        }
        let source = SourceFile::read(from).ok()?;
        let is_found_here_alone = |line: &ImportLine<'_>| {
            let own = (line.level == 0).then(|| self.own_module(dir, line.module)).flatten();
            own.is_some_and(|own| self.plain(dir, line.module) == Some(own))
        };
        import_lines(&source.text).iter().any(is_found_here_alone).then_some(own)
    }

    /// The module of this name in a folder that is a package.
    fn own_module(&self, dir: &Path, dotted: &str) -> Option<Found> {
        let top = dotted.split('.').next().unwrap_or(dotted);
        let found = self.below(dir, dotted).filter(|_| self.is_package(dir) && !is_standard(top));
        found.filter(|found| matches!(found, Found::File(_)))
    }

    /// The module `name` of a package or a folder.
    pub(crate) fn step(&self, of: &Found, name: &str) -> Option<Found> {
        match of {
            Found::Folder(folder) => self.in_dir(folder, name),
            Found::File(file) if file.ends_with("__init__.py") => self.in_dir(file.parent()?, name),
            Found::File(_) => None,
        }
    }

    /// The nearest folder upwards that says that it is the root of a project.
    pub(crate) fn marked_root(&self, dir: &Path) -> Option<PathBuf> {
        let is_root = |dir: &&Path| {
            self.listing(dir)
                .is_some_and(|listing| MARKERS.iter().any(|marker| listing.contains_key(*marker)))
        };
        dir.ancestors().find(is_root).map(Path::to_path_buf)
    }

    pub(crate) fn roots(&self, dir: &Path) -> Arc<Roots> {
        if let Some(known) = self.roots.lock().unwrap_or_else(PoisonError::into_inner).get(dir) {
            return known.clone();
        }
        let roots = Arc::new(self.find_roots(dir));
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).insert(dir.to_path_buf(), roots.clone());
        roots
    }

    fn find_roots(&self, dir: &Path) -> Roots {
        let top = dir.ancestors().find(|dir| !self.is_package(dir)).unwrap_or(dir).to_path_buf();
        let mut paths = Vec::with_capacity(4);
        if top == dir {
            paths.push(dir.to_path_buf());
        }
        paths.push(top.clone());
        let mut above: Vec<PathBuf> = top.ancestors().skip(1).map(Path::to_path_buf).collect();
        let root = self.marked_root(dir);
        if let Some(root) = &root {
            above.retain(|folder| folder.starts_with(root) && folder != root);
        } else {
            above.truncate(ABOVE);
        }
        let beside: Vec<PathBuf> = [Some(&top), above.first(), root.as_ref()]
            .into_iter()
            .flatten()
            .map(|at| at.join(LIBRARY))
            .collect();
        above.extend(beside.into_iter().filter(|library| self.listing(library).is_some()));
        if let Some(root) = root {
            let source = root.join("src");
            paths.extend([root, source]);
        } else {
            paths.push(top.join("src"));
        }
        let mut seen = Vec::new();
        paths.retain(|path| {
            let new = !seen.contains(path);
            seen.push(path.clone());
            new && self.listing(path).is_some()
        });
        let mut around = dir.ancestors().take_while(|at| **at != top);
        let packages = around.next().into_iter().chain(around.last()).map(Path::to_path_buf).collect();
        Roots { paths: paths.into_boxed_slice(), above: above.into_boxed_slice(), packages, top }
    }
}

/// Directories of data hold millions of files that no import means.
fn relevant((name, is_dir): (String, bool)) -> Option<(Box<str>, bool)> {
    let wanted = is_dir || name.ends_with(".py") || MARKERS.contains(&name.as_str());
    wanted.then(|| (name.into_boxed_str(), is_dir))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_of_standard_modules_is_sorted() {
        assert!(super::STANDARD.is_sorted());
    }
}
