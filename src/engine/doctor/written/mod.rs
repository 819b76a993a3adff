//! What a project's files set up: images, packages with their indexes, toolkits, modules of a cluster. Knows how
//! these files are written, and nothing of what fits what.

mod commands;
mod files;
mod image;

pub(super) use image::Image;

use crate::apis::builds::Release;
use std::path::Path;

/// What belongs together: a stage of a Dockerfile, an environment, a list of requirements, a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Setup {
    /// As it is shown.
    pub path: String,
    pub kind: Kind,
    pub image: Option<Said<Image>>,
    /// What is installed, by one command or list after the other: only what one of them says has to fit.
    pub lists: Vec<List>,
    /// `module load cuda/11.8`
    pub modules: Vec<Said<(String, Release)>>,
    pub python: Option<Said<Release>>,
    /// It asks for a GPU.
    pub gpu: Option<u32>,
    /// cuDNN is mentioned, however it gets there.
    pub has_cudnn: bool,
    /// It compiles the project's own code.
    pub compiles: Option<u32>,
    /// The project has code of its own for GPUs.
    pub has_kernels: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Script,
    Dockerfile,
    Requirements,
    Conda,
}

/// Something with its line, from one.
#[derive(Clone, Debug)]
pub(super) struct Said<T> {
    pub it: T,
    pub line: u32,
}

/// What one command or file installs.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub is_conda: bool,
    pub packages: Vec<Package>,
    /// The channels of conda, the first one first.
    pub channels: Vec<String>,
    /// What indexes of PyTorch are for: `cu118`, `cpu`.
    pub tag: Option<String>,
    /// PyPI is not asked.
    pub is_only: bool,
}

/// A package that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Package {
    /// As indexes compare it.
    pub name: String,
    /// Where exactly one release is asked for.
    pub release: Option<Release>,
    /// What follows the `+` of a version.
    pub local: Option<String>,
    pub extras: Vec<String>,
    /// As it is written.
    pub text: String,
    pub line: u32,
}

impl List {
    pub(super) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|one| one.name == name)
    }

    /// What a package's build is for: what it says itself, else what its index is for.
    pub(super) fn tag_of<'l>(&'l self, package: &'l Package) -> Option<&'l str> {
        package.local.as_deref().or(self.tag.as_deref())
    }
}

impl Setup {
    pub(super) fn packages(&self) -> impl Iterator<Item = (&List, &Package)> {
        self.lists.iter().flat_map(|list| list.packages.iter().map(move |package| (list, package)))
    }
}

/// Whether a file may set something up.
pub(super) fn is_of_interest(path: &Path) -> bool {
    files::reader(&path.display().to_string().replace('\\', "/")).is_some()
}

/// What a file sets up. `shown` is its path as it is shown.
pub(super) fn read(shown: &str, text: &str, list: &dyn Fn(&str) -> Option<String>) -> Vec<Setup> {
    let Some(reader) = files::reader(shown) else { return Vec::new() };
    let mut setups = reader(text, list);
    setups.iter_mut().for_each(|setup| shown.clone_into(&mut setup.path));
    setups
}

#[cfg(test)]
mod tests;
