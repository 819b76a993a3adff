//! The distributions of a Python environment, read from what `pip` wrote beside them. Runs nothing.

use super::machine::{Distribution, Environment, Framework};
use crate::apis::index::Pins;
use crate::engine::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The environment below a prefix; `None` where nothing is installed.
pub(super) fn read(root: &Path, prefix: &Path) -> Option<Environment> {
    let folders = packages(&super::below(root, prefix));
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in &folders {
        for name in disk::names_in(folder) {
            if let Some(distribution) = named(&name) {
                found.entry(distribution).or_default().push(folder.join(name));
            }
        }
    }
    let python = folders.first().and_then(|folder| version_of(folder));
    let distributions = closure(&found);
    if distributions.is_empty() {
        return None;
    }
    let frameworks = ["torch", "tensorflow", "jax"]
        .into_iter()
        .filter_map(|package| framework(package, &distributions, &folders))
        .collect();
    Some(Environment { path: prefix.display().to_string(), python, frameworks, distributions })
}

/// The folders that packages are installed in.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for lib in ["lib", "lib64", "local/lib"].map(|lib| prefix.join(lib)) {
        let pythons = disk::names_in(&lib).into_iter().filter(|name| name.starts_with("python3"));
        folders.extend(pythons.flat_map(|python| {
            ["site-packages", "dist-packages"].map(|packages| lib.join(&python).join(packages))
        }));
    }
    folders.push(prefix.join("Lib").join("site-packages"));
    folders.retain(|folder| !disk::names_in(folder).is_empty());
    // Of virtual environments `lib64` is a link to `lib`.
    let mut seen = BTreeSet::new();
    folders.retain(|folder| seen.insert(disk::resolved(folder)));
    folders
}

/// `3.10` of `lib/python3.10/site-packages`
fn version_of(folder: &Path) -> Option<String> {
    let name = folder.parent()?.file_name()?.to_str()?;
    name.strip_prefix("python").filter(|version| version.contains('.')).map(str::to_owned)
}

/// `torch` of `torch-2.5.1.dist-info`
fn named(entry: &str) -> Option<String> {
    let stem = [".dist-info", ".egg-info"].iter().find_map(|end| entry.strip_suffix(end))?;
    Some(plain(stem.split('-').next().unwrap_or(stem)))
}

/// A name as indexes compare it.
pub(super) fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['_', '.'], "-")
}

/// The distributions of frameworks, and all that they require.
fn closure(found: &BTreeMap<String, Vec<PathBuf>>) -> Vec<Distribution> {
    let is_of_framework = |name: &str| Pins::package(name).is_some() || name.starts_with("jax");
    let mut open: Vec<&str> = found.keys().map(String::as_str).filter(|name| is_of_framework(name)).collect();
    // CUDA's own wheels may be left over from another release.
    open.extend(found.keys().map(String::as_str).filter(|name| name.starts_with("nvidia-")));
    let mut seen: BTreeSet<&str> = open.iter().copied().collect();
    let mut read: Vec<Distribution> = Vec::new();
    while let Some(name) = open.pop() {
        for place in &found[name] {
            let Some(mut distribution) = metadata(place) else { continue };
            distribution.name = name.to_owned();
            if Pins::package(name).is_none() {
                distribution.libraries = libraries(place);
            }
            for required in &distribution.requires {
                let required = plain(name_of(required));
                if let Some((known, _)) = found.get_key_value(required.as_str())
                    && seen.insert(known)
                {
                    open.push(known);
                }
            }
            read.push(distribution);
        }
    }
    read.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    read
}

/// The name that a requirement begins with.
pub(super) fn name_of(requirement: &str) -> &str {
    let end = requirement.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    &requirement[..end.unwrap_or(requirement.len())]
}

/// The head of `METADATA`, or of its predecessor.
fn metadata(place: &Path) -> Option<Distribution> {
    let files = [place.join("METADATA"), place.join("PKG-INFO"), place.to_owned()];
    let text = files.iter().find_map(|file| disk::read_text(file).ok())?;
    let mut distribution = Distribution::default();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match line.split_once(':') {
            Some(("Version", version)) => distribution.version = version.trim().to_owned(),
            Some(("Requires-Dist", wanted)) => distribution.requires.extend(holds(wanted)),
            _ => {}
        }
    }
    (!distribution.version.is_empty()).then_some(distribution)
}

/// A requirement whose condition is one of Linux on x86, or has none; of others nobody knows.
fn holds(wanted: &str) -> Option<String> {
    const HERE: [&str; 3] =
        ["platform_system == \"Linux\"", "platform_machine == \"x86_64\"", "sys_platform == \"linux\""];
    let (wanted, condition) = wanted.split_once(';').unwrap_or((wanted, ""));
    let condition = condition.replace('\'', "\"");
    let parts = condition.split(" and ").map(|part| part.trim().trim_matches(['(', ')']));
    parts.filter(|part| !part.is_empty()).all(|part| HERE.contains(&part)).then(|| wanted.trim().to_owned())
}

/// Shared libraries of `RECORD` that have a version in their names.
fn libraries(place: &Path) -> Vec<String> {
    let record = disk::read_text(&place.join("RECORD")).unwrap_or_default();
    let files = record.lines().filter_map(|line| line.split(',').next());
    files.filter(|file| file.contains(".so.")).map(str::to_owned).collect()
}

fn framework(package: &str, all: &[Distribution], folders: &[PathBuf]) -> Option<Framework> {
    let carrier = all.iter().find(|one| Pins::package(&one.name) == Some(package))?;
    let mut framework =
        Framework { package: package.to_owned(), version: carrier.version.clone(), ..Framework::default() };
    let text = |path: &str| folders.iter().find_map(|folder| disk::read_text(&folder.join(path)).ok());
    match package {
        "torch" => torch(&text("torch/version.py").unwrap_or_default(), &mut framework),
        "tensorflow" => {
            let about = text("tensorflow/python/platform/build_info.py")
                .or_else(|| text("tensorflow_core/python/platform/build_info.py"));
            tensorflow(&about.unwrap_or_default(), &mut framework);
        }
        _ => jax(all, &mut framework),
    }
    Some(framework)
}

/// `cuda: Optional[str] = '12.4'`, or `None`.
fn torch(about: &str, framework: &mut Framework) {
    for line in about.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches(['\'', '"']);
        match name.split(':').next().unwrap_or_default().trim() {
            "__version__" => value.clone_into(&mut framework.version),
            "cuda" if value == "None" => framework.is_cpu = true,
            "cuda" => framework.cuda = Some(value.to_owned()),
            // For cards of other makers.
            "hip" | "rocm" | "xpu" if value != "None" => framework.is_cpu = false,
            _ => {}
        }
    }
}

/// `"is_cuda_build": True, "cuda_version": "11.2"` in one dictionary, or as names of a module.
fn tensorflow(about: &str, framework: &mut Framework) {
    let after = |key: &str| about.find(key).map(|at| &about[at + key.len()..]);
    let Some(kind) = after("is_cuda_build") else { return };
    let is_cuda = kind.trim_start_matches(|c: char| "\"': =,".contains(c)).starts_with("True");
    let is_rocm = after("is_rocm_build")
        .is_some_and(|rest| rest.trim_start_matches(|c: char| "\"': =,".contains(c)).starts_with("True"));
    framework.is_cpu = !is_cuda && !is_rocm;
    if !is_cuda {
        return;
    }
    let version = after("cuda_version").and_then(|rest| {
        let start = rest.find(|c: char| c.is_ascii_digit()).filter(|start| *start < 16)?;
        let end = rest[start..].find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        Some(rest[start..start + end].to_owned())
    });
    framework.cuda = version;
    let code = after("cuda_compute_capabilities").and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let names =
        code.split(['"', '\'']).filter(|name| name.starts_with("sm_") || name.starts_with("compute_"));
    framework.code = names.map(str::to_owned).collect();
}

/// A plugin beside it, or a build that names its CUDA, as in `0.4.25+cuda12.cudnn89`.
fn jax(all: &[Distribution], framework: &mut Framework) {
    let plugin = all.iter().find_map(|one| {
        let rest = one.name.strip_prefix("jax-cuda")?;
        rest.strip_suffix("-plugin").or_else(|| rest.strip_suffix("-pjrt"))
    });
    let local = all.iter().find(|one| one.name == "jaxlib").and_then(|one| one.version.split_once("+cuda"));
    let major = plugin.or(local.map(|(_, local)| local.split('.').next().unwrap_or(local)));
    framework.is_cpu = major.is_none();
    framework.cuda = major.map(|major| major.trim_start_matches("cuda").to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_say_what_they_are_for() {
        let of = |package: &str, about: &str| {
            let mut framework = Framework::default();
            if package == "torch" {
                torch(about, &mut framework);
            } else {
                tensorflow(about, &mut framework);
            }
            (framework.cuda, framework.is_cpu, framework.code)
        };
        let cuda = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(
                "torch",
                "__version__ = '2.5.1+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n"
            ),
            (cuda("12.4"), false, vec![])
        );
        assert_eq!(of("torch", "__version__ = '1.4.0'\ncuda = '10.1'\n"), (cuda("10.1"), false, vec![]));
        assert_eq!(
            of("torch", "__version__ = '2.5.1+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"),
            (None, true, vec![])
        );
        assert_eq!(
            of("torch", "cuda: Optional[str] = None\nhip: Optional[str] = '6.2'\n"),
            (None, false, vec![])
        );
        let about = r#"build_info = collections.OrderedDict([("cpu_compiler", "clang"), ("cuda_compute_capabilities", ["sm_60", "sm_80", "compute_90"]), ("cuda_version", "12.5.1"), ("is_cuda_build", True), ("is_rocm_build", False)])"#;
        assert_eq!(
            of("tf", about),
            (cuda("12.5.1"), false, ["sm_60", "sm_80", "compute_90"].map(str::to_owned).to_vec())
        );
        assert_eq!(
            of("tf", "build_info = {'is_cuda_build': False, 'is_rocm_build': False}"),
            (None, true, vec![])
        );
        assert_eq!(
            of("tf", "is_cuda_build = True\ncuda_version_number = '10.0'\n"),
            (cuda("10.0"), false, vec![])
        );
    }

    #[test]
    fn requirements_hold_on_linux_or_are_left_alone() {
        assert_eq!(
            holds(
                " nvidia-cudnn-cu12==9.1.0.70; platform_system == \"Linux\" and platform_machine == \"x86_64\""
            ),
            Some("nvidia-cudnn-cu12==9.1.0.70".to_owned())
        );
        assert_eq!(holds(" numpy (>=1.2)").as_deref(), Some("numpy (>=1.2)"));
        assert_eq!(holds("opt-einsum>=3.3; extra == \"opt-einsum\""), None);
        assert_eq!(holds("setuptools; python_version >= \"3.12\""), None);
    }
}
