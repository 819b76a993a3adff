//! Which releases of the frameworks a project asks for, and where it says so.

use super::Index;
use super::text::Span;
use pep440_rs::{Version, VersionSpecifiers};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers that were given before. What was asked says nothing of what is required, and the cache tells settings apart by
/// how they are written.
#[derive(Clone, Default)]
struct Remembered(Arc<Mutex<FxHashMap<String, Option<Span>>>>);

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

/// What a project says of the releases of its packages.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    wanted: FxHashMap<&'static str, Vec<Pin>>,
    /// What that comes to of each package, once it was asked for: all scripts of a folder ask the same.
    chosen: Remembered,
    /// Packages that are named, if only to say that any release will do.
    named: Vec<&'static str>,
    /// The folder that speaks for the project, where one does.
    pub root: Option<String>,
}

/// One place that asks for releases of a package.
#[derive(Clone, Debug)]
pub struct Pin {
    wanted: VersionSpecifiers,
    /// No release of another major version is meant, or minor version below one.
    is_caret: bool,
    /// As it is written.
    pub text: String,
    pub origin: Origin,
}

/// Where a project says what it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The folder, or the script that says it itself.
    pub base: String,
    /// The file, as it is called from the folder that was asked.
    pub file: String,
    pub line: u32,
    /// What a page tells, or a job checks: it may be one of several that work.
    pub is_weak: bool,
}

impl Pin {
    /// `torch==1.4` (requirements.txt:3)
    pub fn cited(&self) -> String {
        format!("`{}` ({}:{})", self.text, self.origin.file, self.origin.line)
    }

    /// Whether it allows a release, of which what follows a `+` does not count.
    pub fn allows(&self, version: &str) -> bool {
        let version = version.split('+').next().unwrap_or(version);
        Version::from_str(version).is_ok_and(|version| self.wanted.contains(&version))
    }
}

/// What a project asks for of one package.
#[derive(Clone, Debug)]
pub enum Wanted<'p> {
    /// Nothing: any release may be meant.
    Any,
    /// Releases that nobody read.
    Outside,
    /// What was read of these stands for them.
    Within { span: Span, pins: Vec<&'p Pin> },
}

/// Is pinned as the packages are, and bounds what can be installed of them.
const PYTHON: &str = "python";
/// No release that a project could mean has a greater number.
const MAJORS: u64 = 5;
const MINORS: u64 = 40;
const PATCHES: u64 = 9;

/// The newest Python that anybody could mean.
const PYTHONS: u64 = 20;
/// Packages of which each release belongs to one of each of the others.
const TOGETHER: [&[&str]; 3] = [
    &["torch", "torchvision", "torchaudio"],
    &["tensorflow", "keras", "numpy"],
    &["jax", "flax", "optax", "haiku"],
];

/// Is used with any of the frameworks, and says nothing of which release of them is meant.
const ARRAYS: &str = "numpy";

/// Distributions under whose names the packages of the index come.
const DISTRIBUTIONS: [(&str, &str); 39] = [
    ("accelerate", "accelerate"),
    ("albumentations", "albumentations"),
    ("dm-haiku", "haiku"),
    ("flax", "flax"),
    ("gym", "gym"),
    ("gymnasium", "gymnasium"),
    ("intel-tensorflow", "tensorflow"),
    ("jax", "jax"),
    ("keras", "keras"),
    ("librosa", "librosa"),
    ("lightning", "lightning"),
    ("matplotlib", "matplotlib"),
    ("matplotlib-base", "matplotlib"),
    ("networkx", "networkx"),
    ("numpy", "numpy"),
    ("optax", "optax"),
    ("pandas", "pandas"),
    ("pillow", "PIL"),
    ("python", PYTHON),
    ("pytorch", "torch"),
    ("pytorch-cpu", "torch"),
    ("pytorch-gpu", "torch"),
    ("pytorch-lightning", "pytorch_lightning"),
    ("pyyaml", "yaml"),
    ("scikit-image", "skimage"),
    ("scikit-learn", "sklearn"),
    ("scipy", "scipy"),
    ("tensorflow", "tensorflow"),
    ("tensorflow-cpu", "tensorflow"),
    ("tensorflow-gpu", "tensorflow"),
    ("tensorflow-intel", "tensorflow"),
    ("tensorflow-macos", "tensorflow"),
    ("tensorflow-rocm", "tensorflow"),
    ("torch", "torch"),
    ("torchaudio", "torchaudio"),
    ("torchmetrics", "torchmetrics"),
    ("torchtext", "torchtext"),
    ("torchvision", "torchvision"),
    ("transformers", "transformers"),
];

impl Pins {
    /// The package that a distribution carries.
    pub fn package(distribution: &str) -> Option<&'static str> {
        let name = distribution.to_ascii_lowercase().replace('_', "-");
        DISTRIBUTIONS.iter().find(|(known, _)| *known == name).map(|(_, package)| *package)
    }

    /// The distribution that carries a package.
    pub fn distribution(package: &'static str) -> &'static str {
        let carriers = DISTRIBUTIONS.iter().filter(|(_, carried)| *carried == package);
        let own =
            carriers.clone().find(|(name, _)| name.replace('-', "_") == package).or(carriers.clone().next());
        own.map_or(package, |(name, _)| *name)
    }

    /// One requirement as `pip` writes them: `torch[extra]>=1.8,<2 ; python_version < "3.9"`, or a wheel.
    pub fn requirement(&mut self, line: &str, origin: Origin) {
        if let Some((name, version)) = super::wheels::told(line) {
            return self.pin(name, version, origin);
        }
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        let end = line.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = match rest.trim_start().strip_prefix('[') {
            Some(extras) => extras.split_once(']').map_or("", |(_, rest)| rest),
            None => rest,
        };
        // A hash or an option may follow.
        let rest = rest.split(" -").next().unwrap_or_default();
        self.pin(name, rest.trim(), origin);
    }

    /// What a script says of itself in a comment (PEP 723): it goes before what lies around it.
    pub fn inline(&self, script: &str, path: &Path) -> Option<Pins> {
        let start = script.find("# /// script\n")?;
        let lines = script[start..].lines().skip(1);
        let block: Vec<&str> =
            lines.map_while(|line| line.strip_prefix('#')).take_while(|line| *line != " ///").collect();
        let table: toml::Table = block.join("\n").parse().ok()?;
        let before = script[..start].lines().count() + 2;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let mut own = Pins::default();
        let listed = table.get("dependencies").and_then(toml::Value::as_array)?;
        if let Some(wanted) = table.get("requires-python").and_then(toml::Value::as_str) {
            let line = u32::try_from(before).unwrap_or_default();
            let base = path.display().to_string();
            own.pin(PYTHON, wanted, Origin { base, file: file.to_string(), line, is_weak: false });
        }
        for wanted in listed.iter().filter_map(toml::Value::as_str) {
            let at = block.iter().position(|line| line.contains(wanted)).unwrap_or_default();
            let line = u32::try_from(before + at).unwrap_or_default();
            let base = path.display().to_string();
            own.requirement(wanted, Origin { base, file: file.to_string(), line, is_weak: false });
        }
        Some(self.over(own))
    }

    /// What is said closer by goes before what is said here.
    pub fn over(&self, mut own: Pins) -> Pins {
        let others = self.wanted.iter().filter(|(name, _)| !own.wanted.contains_key(*name));
        let others: Vec<_> = others.map(|(name, pins)| (*name, pins.clone())).collect();
        own.wanted.extend(others);
        own.chosen = Remembered::default();
        own.named.extend(&self.named);
        own.root = own.root.or_else(|| self.root.clone());
        own
    }

    /// What is said further out of packages that nothing here is about.
    pub fn besides(&self, closer: &Pins) -> Pins {
        let mut besides = self.clone();
        besides.wanted.retain(|package, _| !closer.is_about(package));
        besides.named.retain(|package| !closer.is_about(package));
        besides
    }

    /// Whether a package is named, or a framework that its releases belong to.
    fn is_about(&self, package: &str) -> bool {
        let group = TOGETHER.iter().find(|group| group.contains(&package));
        let is_related = |named: &str| named != ARRAYS && group.is_some_and(|group| group.contains(&named));
        self.named.iter().any(|named| *named == package || is_related(named))
    }

    /// What is wanted of a distribution, as conda (`=1.8`) or pip (`==1.8`) says it.
    pub fn pin(&mut self, name: &str, wanted: &str, origin: Origin) {
        let Some(package) = Pins::package(name) else { return };
        if !origin.is_weak && package != PYTHON {
            self.named.push(package);
        }
        let wanted = wanted.trim_matches(['(', ')', '"', '\'', ' ']);
        let is_bare = wanted.starts_with(|c: char| c.is_ascii_digit());
        let is_conda = wanted.starts_with('=') && !wanted.starts_with("==");
        let text = match (is_bare, is_conda) {
            (true, _) => format!("=={}", wanted.split(['+', '=', ' ']).next().unwrap_or(wanted)),
            (_, true) => format!(
                "=={}.*",
                wanted
                    .trim_start_matches('=')
                    .split(['=', ' '])
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches(".*")
            ),
            _ => wanted.replace('^', ">="),
        };
        let local = text.split('+').next().unwrap_or_default();
        let Ok(specifiers) = VersionSpecifiers::from_str(local) else { return };
        if specifiers.is_empty() {
            return;
        }
        let name = name.to_ascii_lowercase();
        let is_caret = wanted.starts_with('^');
        let pin = Pin { wanted: specifiers, is_caret, text: format!("{name}{local}"), origin };
        self.chosen = Remembered::default();
        let known = self.wanted.entry(package).or_default();
        if !known.iter().any(|other| other.wanted == pin.wanted && other.origin.is_weak == pin.origin.is_weak)
        {
            known.push(pin);
        }
    }

    /// Whether a project may run with some release from this one on, listed or not; any may where it says nothing.
    pub fn allow_since(&self, package: &str, since: (u64, u64)) -> bool {
        let pins = self.counting(package);
        pins.is_empty() || allow_any(&pins, |release| release >= since)
    }

    /// Whether a project says that it runs with no release before this one.
    pub fn need_since(&self, package: &str, since: (u64, u64)) -> bool {
        let pins = self.counting(package);
        !pins.is_empty()
            && allow_any(&pins, |release| release >= since)
            && !allow_any(&pins, |release| release < since)
    }

    pub fn is_silent(&self) -> bool {
        self.named.is_empty()
    }

    /// All places that ask for releases of a package, the reliable ones first.
    pub fn all(&self, package: &str) -> Vec<&Pin> {
        let mut found: Vec<&Pin> = self.wanted.get(package).into_iter().flatten().collect();
        found.sort_by_key(|pin| pin.origin.is_weak);
        found
    }

    /// The places that count: what is only told does where nothing else is said.
    fn counting(&self, package: &str) -> Vec<&Pin> {
        let all = self.all(package);
        let strong = all.iter().filter(|pin| !pin.origin.is_weak).count();
        if strong == 0 { all } else { all[..strong].to_vec() }
    }

    /// The newest release of a package that an installation brings, of those that are known, where nothing that the
    /// project says bounds it: no word on the package itself, or on what belongs to it.
    pub fn newest(&self, package: &str, index: &Index) -> Option<u8> {
        let group = TOGETHER.iter().find(|group| group.contains(&package));
        let related = group.into_iter().flat_map(|group| group.iter()).filter(|other| **other != package);
        let is_free = |package: &str| {
            let newest = super::of(package).map(|(_, index)| index.releases.name(index.releases.last()));
            let allows = |pin: &&Pin| newest.is_some_and(|newest| !pin.is_caret && pin.allows(newest));
            self.all(package).iter().all(allows)
        };
        if !is_free(package) || !related.into_iter().all(|other| is_free(other)) {
            return None;
        }
        let python = self.python()?;
        let runs = |at: &u8| {
            let first = index.releases.python(*at).and_then(|(first, _)| numbers(first));
            first.is_none_or(|first| first <= python)
        };
        (0..=index.releases.last()).rev().find(runs)
    }

    /// The newest Python that the project may run with, by what it says of it and by what the releases were made for
    /// that it pins.
    fn python(&self) -> Option<(u64, u64)> {
        let said = self.all(PYTHON);
        let allowed = |minor: &u64| {
            let mut all = (0..=PYTHONS).map(|patch| Version::new([3, *minor, patch]));
            said.is_empty() || all.any(|version| said.iter().any(|pin| pin.wanted.contains(&version)))
        };
        let own = (0..=PYTHONS).rev().find(allowed).map(|minor| (3, minor))?;
        let pinned = super::all().iter().filter(|(package, _)| self.wanted.contains_key(*package));
        let made_for = pinned.filter_map(|(package, index)| match self.wanted(package, index) {
            Wanted::Within { span, .. } => {
                index.releases.python(span.last).and_then(|(_, last)| numbers(last?))
            }
            _ => None,
        });
        made_for.chain([own]).min()
    }

    /// What a project may run with of a package: what any of the places asks for, since each may be the one
    /// that counts.
    pub fn wanted(&self, package: &str, index: &Index) -> Wanted<'_> {
        let pins = self.counting(package);
        if pins.is_empty() {
            return Wanted::Any;
        }
        let choose = || {
            let specifiers = pins.iter().flat_map(|pin| pin.wanted.iter());
            let named: Vec<Version> = specifiers.map(|specifier| specifier.version().clone()).collect();
            index.releases.chosen(&named, |version| pins.iter().any(|pin| pin.wanted.contains(version)))
        };
        let mut known = self.chosen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let span = known.get(package).copied().unwrap_or_else(|| {
            let span = choose();
            known.insert(package.to_owned(), span);
            span
        });
        match span {
            Some(span) => Wanted::Within { span, pins },
            None => Wanted::Outside,
        }
    }
}

/// `3.10` as numbers, of which the second is no fraction.
fn numbers(python: &str) -> Option<(u64, u64)> {
    let (major, minor) = python.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether some release of these numbers, listed or not, is one that a place asks for.
fn allow_any(pins: &[&Pin], wanted: impl Fn((u64, u64)) -> bool) -> bool {
    let all = (0..=MAJORS).flat_map(|major| (0..=MINORS).map(move |minor| (major, minor)));
    let numbers = all.filter(|release| wanted(*release));
    let mut releases =
        numbers.flat_map(|(major, minor)| (0..=PATCHES).map(move |patch| [major, minor, patch]));
    releases.any(|release| pins.iter().any(|pin| pin.wanted.contains(&Version::new(release))))
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    fn here() -> Origin {
        Origin { base: String::new(), file: "requirements.txt".into(), line: 1, is_weak: false }
    }

    /// The first and the last release that stand for what all of some requirements allow together.
    fn released(requirements: &[&str]) -> Option<(String, String)> {
        let mut pins = Pins::default();
        let package = Pins::package(requirements[0].split(['=', '>', '<', '~', ' ', '[']).next()?)?;
        requirements.iter().for_each(|line| pins.requirement(line, here()));
        let (package, index) = of(package)?;
        let Wanted::Within { span, .. } = pins.wanted(package, index) else { return None };
        Some((index.releases.name(span.first).to_owned(), index.releases.name(span.last).to_owned()))
    }

    fn pair(a: &str, b: &str) -> Option<(String, String)> {
        Some((a.to_owned(), b.to_owned()))
    }

    #[test]
    fn requirements_choose_releases() {
        assert_eq!(released(&["torch==1.13.1"]), pair("1.13.1", "1.13.1"));
        assert_eq!(released(&["torch == 1.13.0+cu117  # old"]), pair("1.13.1", "1.13.1"));
        assert_eq!(released(&["torch[opt]>=1.9,<2.0; python_version < '3.9'"]), pair("1.9.1", "1.13.1"));
        assert_eq!(released(&["torch~=2.1.0"]), pair("2.1.2", "2.1.2"));
        let wheel =
            "torch @ https://download.pytorch.org/whl/cu113/torch-1.10.1%2Bcu113-cp38-cp38-linux_x86_64.whl";
        assert_eq!(released(&[wheel]), pair("1.10.2", "1.10.2"));
        assert_eq!(released(&["torch", &format!("#{wheel}")]), None);
        assert_eq!(released(&["torch==1.8.2"]), pair("1.8.1", "1.8.1"));
        assert_eq!(released(&["torch==1.4", "torch==1.7.0"]), pair("1.4.0", "1.7.1"));
        assert_eq!(released(&["torch-geometric==1.0"]), None);
    }

    #[test]
    fn what_nobody_read_is_told_from_what_nobody_said() {
        let wanted = |requirement: &str| {
            let mut pins = Pins::default();
            pins.requirement(requirement, here());
            let (package, index) = of("torch").unwrap();
            match pins.wanted(package, index) {
                Wanted::Any => "any",
                Wanted::Outside => "outside",
                Wanted::Within { .. } => "within",
            }
        };
        assert_eq!(wanted("torch"), "any");
        assert_eq!(wanted("torch @ file:wheel.whl"), "any");
        assert_eq!(wanted("torch==0.4.1"), "outside");
        assert_eq!(wanted("torch>=99"), "outside");
        assert_eq!(wanted("torch>=0.4.1"), "within");
    }

    #[test]
    fn a_release_between_two_that_were_read_is_either() {
        let (_, index) = of("jax").unwrap();
        let (first, last) = released(&["jax==0.3.2"]).unwrap();
        assert_ne!(first, last);
        let at = |name: &str| index.releases.read.iter().position(|one| *one == name);
        assert_eq!(at(&first).map(|at| at + 1), at(&last));
    }

    #[test]
    fn a_folder_says_nothing_of_what_it_does_not_name() {
        let mut outer = Pins::default();
        outer.requirement("torch==0.3.1", here());
        let besides = |line: &str| {
            let mut closer = Pins::default();
            closer.requirement(line, here());
            outer.besides(&closer).over(closer).all("torch").len()
        };
        assert_eq!(["numpy==1.13.1", "tqdm"].map(besides), [1, 1]);
        assert_eq!(["torch", "torchvision==0.9"].map(besides), [0, 0]);
    }

    #[test]
    fn a_script_may_say_it_itself() {
        let script = "# /// script\n# dependencies = [\n#   \"torch==1.9.1\",\n# ]\n# ///\nimport torch\n";
        let pins = Pins::default().inline(script, Path::new("src/train.py")).unwrap();
        assert_eq!(pins.all("torch")[0].cited(), "`torch==1.9.1` (train.py:3)");
        assert!(Pins::default().inline("import torch\n", Path::new("train.py")).is_none());
    }

    #[test]
    fn conda_and_lock_files_write_bare_versions() {
        let mut pins = Pins::default();
        pins.pin("pytorch", "=1.12", here());
        pins.pin("numpy", "1.19.2", here());
        assert_eq!(pins.all("torch")[0].text, "pytorch==1.12.*");
        assert_eq!(pins.all("numpy")[0].text, "numpy==1.19.2");
    }

    #[test]
    fn a_pin_may_leave_out_all_that_is_newer() {
        let allows = |requirement: &str| {
            let mut pins = Pins::default();
            pins.requirement(requirement, here());
            pins.allow_since("torch", (0, 4))
        };
        assert!(["torch", "torch==1.2.0", "torch>=0.3", "torch==0.4.1", "numpy<1"].into_iter().all(allows));
        assert!(!["torch==0.3.1", "torch<0.4", "torch~=0.3.0"].into_iter().any(allows));
    }

    #[test]
    fn what_is_only_told_counts_where_nothing_else_does() {
        let told = |line| Origin { base: String::new(), file: "README.md".into(), line, is_weak: true };
        let mut pins = Pins::default();
        pins.requirement("torch==0.4.1", told(3));
        let (_, index) = of("torch").unwrap();
        assert!(matches!(pins.wanted("torch", index), Wanted::Outside));
        pins.requirement("torch==1.4.0", here());
        assert!(matches!(pins.wanted("torch", index), Wanted::Within { .. }));
    }
}
