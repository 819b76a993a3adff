//! Which releases of the frameworks a project asks for, read from the texts of its requirement files.

use super::Index;
use super::text::Span;
use pep440_rs::{Version, VersionSpecifiers};
use rustc_hash::FxHashMap;
use std::str::FromStr;

/// What a project says of the releases of its packages.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    wanted: FxHashMap<&'static str, Pin>,
    /// One of the packages is named, if only to say that any release will do.
    names_some: bool,
}

#[derive(Clone, Debug)]
struct Pin {
    wanted: VersionSpecifiers,
    /// As it is written.
    text: String,
}

/// No release that a project could mean has a greater number.
const MAJORS: u64 = 5;
const MINORS: u64 = 40;
const PATCHES: u64 = 9;

/// Distributions under whose names the packages of the index come.
const DISTRIBUTIONS: [(&str, &str); 15] = [
    ("jax", "jax"),
    ("keras", "keras"),
    ("lightning", "lightning"),
    ("pytorch", "torch"),
    ("pytorch-lightning", "pytorch_lightning"),
    ("tensorflow", "tensorflow"),
    ("tensorflow-cpu", "tensorflow"),
    ("tensorflow-gpu", "tensorflow"),
    ("tensorflow-intel", "tensorflow"),
    ("tensorflow-macos", "tensorflow"),
    ("intel-tensorflow", "tensorflow"),
    ("torch", "torch"),
    ("torchaudio", "torchaudio"),
    ("torchvision", "torchvision"),
    ("transformers", "transformers"),
];

impl Pins {
    /// One requirement as `pip` writes them: `torch[extra]>=1.8,<2 ; python_version < "3.9"`.
    pub fn requirement(&mut self, line: &str) {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        let end = line.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = match rest.trim_start().strip_prefix('[') {
            Some(extras) => extras.split_once(']').map_or("", |(_, rest)| rest),
            None => rest,
        };
        self.pin(name, rest.trim());
    }

    /// What a script says of itself in a comment (PEP 723): it goes before what lies around it.
    pub fn inline(&self, script: &str) -> Option<Pins> {
        let start = script.find("# /// script\n")?;
        let lines = script[start..].lines().skip(1);
        let block: Vec<&str> =
            lines.map_while(|line| line.strip_prefix('#')).take_while(|line| *line != " ///").collect();
        let table: toml::Table = block.join("\n").parse().ok()?;
        let mut own = Pins::default();
        let listed = table.get("dependencies").and_then(toml::Value::as_array)?;
        listed.iter().filter_map(toml::Value::as_str).for_each(|line| own.requirement(line));
        let others = self.wanted.iter().filter(|(name, _)| !own.wanted.contains_key(*name));
        let others: Vec<_> = others.map(|(name, pin)| (*name, pin.clone())).collect();
        own.wanted.extend(others);
        Some(own)
    }

    /// What is wanted of a distribution, as conda (`=1.8`) or pip (`==1.8`) says it.
    pub fn pin(&mut self, name: &str, wanted: &str) {
        let name = name.to_ascii_lowercase().replace('_', "-");
        let Some((_, package)) = DISTRIBUTIONS.iter().find(|(known, _)| *known == name) else { return };
        self.names_some = true;
        let wanted = wanted.trim_matches(['(', ')', '"', '\'', ' ']);
        let is_bare = wanted.starts_with(|c: char| c.is_ascii_digit());
        let is_conda = wanted.starts_with('=') && !wanted.starts_with("==");
        let text = match (is_bare, is_conda) {
            (true, _) => format!("=={}", wanted.split(['+', '=']).next().unwrap_or(wanted)),
            (_, true) => format!(
                "=={}.*",
                wanted.trim_start_matches('=').split('=').next().unwrap_or_default().trim_end_matches(".*")
            ),
            _ => wanted.replace('^', ">="),
        };
        let local = text.split('+').next().unwrap_or_default();
        let Ok(specifiers) = VersionSpecifiers::from_str(local) else { return };
        if specifiers.is_empty() {
            return;
        }
        // Two files that want different things: neither is believed.
        let pin = Pin { wanted: specifiers, text: format!("{name}{local}") };
        match self.wanted.get_mut(package) {
            Some(known) if known.wanted != pin.wanted => known.wanted = VersionSpecifiers::empty(),
            Some(_) => {}
            None => {
                self.wanted.insert(package, pin);
            }
        }
    }

    /// Whether a project may run with some release from this one on, listed or not; any may where it says nothing.
    pub fn allow_since(&self, package: &str, (major, minor): (u64, u64)) -> bool {
        let Some(pin) = self.wanted.get(package).filter(|pin| !pin.wanted.is_empty()) else { return true };
        let all = (0..=MAJORS).flat_map(|major| (0..=MINORS).map(move |minor| (major, minor)));
        let numbers = all.filter(|release| *release >= (major, minor));
        let mut releases =
            numbers.flat_map(|(major, minor)| (0..=PATCHES).map(move |patch| [major, minor, patch]));
        releases.any(|release| pin.wanted.contains(&Version::new(release)))
    }

    pub fn is_silent(&self) -> bool {
        !self.names_some
    }

    /// The first and the last listed release that a project may run with, and what says so; `None` when it
    /// says nothing, or nothing that the index knows of.
    pub fn releases(&self, package: &str, index: &Index) -> Option<(Span, &str)> {
        let pin = self.wanted.get(package).filter(|pin| !pin.wanted.is_empty())?;
        let allowed = |version: &&str| patches(version).any(|version| pin.wanted.contains(&version));
        let first = index.versions.iter().position(&allowed)?;
        let last = index.versions.iter().rposition(allowed)?;
        Some((Span { first: first as u8, last: last as u8 }, &pin.text))
    }
}

/// The releases of a minor version up to the listed one, which stands for them.
fn patches(version: &str) -> impl Iterator<Item = Version> {
    let mut parts = version.splitn(3, '.');
    let minor = format!("{}.{}", parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
    let last: u64 = parts.next().and_then(|patch| patch.split('.').next()?.parse().ok()).unwrap_or(0);
    (0..=last).filter_map(move |patch| Version::from_str(&format!("{minor}.{patch}")).ok())
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    #[test]
    fn a_pin_may_leave_out_all_that_is_newer() {
        let allows = |requirement: &str| {
            let mut pins = Pins::default();
            pins.requirement(requirement);
            pins.allow_since("torch", (0, 4))
        };
        assert!(["torch", "torch==1.2.0", "torch>=0.3", "torch==0.4.1", "numpy<1"].into_iter().all(allows));
        assert!(!["torch==0.3.1", "torch<0.4", "torch~=0.3.0"].into_iter().any(allows));
    }

    fn released(requirement: &str) -> Option<(String, String)> {
        let mut pins = Pins::default();
        pins.requirement(requirement);
        let (package, index) = of("torch")?;
        let (span, _) = pins.releases(package, index)?;
        let name = |at: u8| {
            let parts: Vec<&str> = index.versions[at as usize].split('.').take(2).collect();
            parts.join(".")
        };
        Some((name(span.first), name(span.last)))
    }

    #[test]
    fn requirements_choose_releases() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(released("torch==1.13.1"), pair("1.13", "1.13"));
        assert_eq!(released("torch == 1.13.0+cu117  # old"), pair("1.13", "1.13"));
        assert_eq!(released("torch[opt]>=1.9,<2.0; python_version < '3.9'"), pair("1.9", "1.13"));
        assert_eq!(released("torch~=2.1.0"), pair("2.1", "2.1"));
        assert_eq!(released("torch"), None);
        assert_eq!(released("torch @ file:wheel.whl"), None);
        assert_eq!(released("torch==0.4.1"), None);
        assert_eq!(released("torch-geometric==1.0"), None);
    }

    #[test]
    fn a_script_may_say_it_itself() {
        let script = "# /// script\n# dependencies = [\"torch==1.9.1\"]\n# ///\nimport torch\n";
        let pins = Pins::default().inline(script).unwrap();
        let (_, index) = of("torch").unwrap();
        assert!(index.versions[pins.releases("torch", index).unwrap().0.first as usize].starts_with("1.9"));
        assert!(Pins::default().inline("import torch\n").is_none());
    }

    #[test]
    fn conda_and_lock_files_write_bare_versions() {
        let mut pins = Pins::default();
        pins.pin("pytorch", "=1.12");
        let (_, index) = of("torch").unwrap();
        assert!(index.versions[pins.releases("torch", index).unwrap().0.first as usize].starts_with("1.12"));
        pins.pin("torch", "==2.0.1");
        assert!(pins.releases("torch", index).is_none(), "two files that disagree say nothing");
    }
}
