//! What can be read of a machine without asking its driver: files of the system, libraries, an environment.

use super::machine::{Library, Machine};
use super::{below, installed};
use crate::engine::disk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Variables that loaders, drivers and frameworks heed.
pub const VARIABLES: [&str; 8] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "CUDA_PATH",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
];

/// Libraries by which releases of CUDA and cuDNN are told.
const LIBRARIES: [&str; 5] = ["libcudart", "libcudnn", "libcublas", "libcusolver", "libnccl"];

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// What counts as the root of the file system.
    pub root: PathBuf,
    /// The prefix of the Python environment.
    pub environment: Option<PathBuf>,
    pub variables: BTreeMap<String, String>,
}

/// All but what the driver says.
pub fn look(places: &Places) -> Machine {
    let Places { root, environment, variables } = places;
    let mut machine = Machine { variables: variables.clone(), ..Machine::default() };
    machine.driver.version = kernel_module(root);
    machine.driver.listed = disk::names_in(&root.join("proc/driver/nvidia/gpus")).len();
    machine.shared_memory = shared_memory(root);
    machine.environment = environment.as_ref().and_then(|prefix| installed::read(root, prefix));
    machine.libraries = libraries(places);
    machine
}

/// `535.104.05` of «NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 …»
fn kernel_module(root: &Path) -> Option<String> {
    let text = disk::read_text(&root.join("proc/driver/nvidia/version")).ok()?;
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(is_version).map(str::to_owned)
}

/// What is mounted at `/dev/shm` says its size in kilobytes where it has a limit of its own.
fn shared_memory(root: &Path) -> Option<u64> {
    let text = disk::read_text(&root.join("proc/mounts")).ok()?;
    let line = text.lines().find(|line| line.split(' ').nth(1) == Some("/dev/shm"))?;
    let options = line.split(' ').nth(3)?;
    let size = options.split(',').find_map(|option| option.strip_prefix("size="))?;
    Some(size.strip_suffix('k')?.parse::<u64>().ok()? << 10)
}

/// Libraries in the folders of `LD_LIBRARY_PATH`, in its order, then those that loaders know themselves.
fn libraries(places: &Places) -> Vec<Library> {
    let Places { root, environment, variables } = places;
    let preferred = variables.get("LD_LIBRARY_PATH").map(String::as_str).unwrap_or_default();
    let preferred = preferred.split(':').filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    let toolkits = disk::names_in(&root.join("usr/local"));
    let toolkits = toolkits.iter().filter(|name| name.starts_with("cuda"));
    let usual = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu"].map(PathBuf::from);
    let known = toolkits
        .map(|name| Path::new("/usr/local").join(name).join("lib64"))
        .chain(usual)
        .chain(environment.iter().map(|prefix| prefix.join("lib")));
    let mut found: Vec<Library> = Vec::new();
    let folders = preferred.map(|folder| (folder, true)).chain(known.map(|folder| (folder, false)));
    for (folder, is_preferred) in folders {
        let shown = folder.display().to_string();
        if found.iter().any(|library| library.folder == shown) {
            continue;
        }
        let names = disk::names_in(&below(root, &folder));
        for (name, version) in loaded_by(&names) {
            found.push(Library { folder: shown.clone(), name, version, is_preferred });
        }
    }
    found
}

/// The names that libraries are loaded by (`libcudart.so.11.0`, `libcudnn.so.8`), which are the shortest of a major
/// version, each with the version that the longest one says.
fn loaded_by(names: &[String]) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for library in LIBRARIES {
        let mut majors: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in names {
            let version = name.strip_prefix(library).and_then(|rest| rest.strip_prefix(".so."));
            let is_number = |version: &&str| version.chars().all(|c| c.is_ascii_digit() || c == '.');
            if let Some(version) = version.filter(is_number) {
                majors.entry(version.split('.').next().unwrap_or(version)).or_default().push(version);
            }
        }
        for versions in majors.values() {
            let numbers = |version: &str| version.split('.').count();
            let fewest = versions.iter().map(|version| numbers(version)).min().unwrap_or_default();
            let longest =
                versions.iter().max_by_key(|version| numbers(version)).filter(|one| numbers(one) > fewest);
            let shortest = versions.iter().filter(|version| numbers(version) == fewest);
            found
                .extend(shortest.map(|one| {
                    (format!("{library}.so.{one}"), longest.map(|version| (*version).to_owned()))
                }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_the_names_they_are_loaded_by() {
        let names = [
            "libcudart.so",
            "libcudart.so.11.0",
            "libcudart.so.11.8.89",
            "libcudnn.so.8",
            "libcudnn.so.8.9.2",
            "libcudnn_ops_infer.so.8",
            "libnccl.so.2.18.3",
        ];
        let names = names.map(str::to_owned);
        let found = loaded_by(&names);
        let pair = |name: &str, version: Option<&str>| (name.to_owned(), version.map(str::to_owned));
        assert_eq!(
            found,
            [
                pair("libcudart.so.11.0", Some("11.8.89")),
                pair("libcudnn.so.8", Some("8.9.2")),
                pair("libnccl.so.2.18.3", None)
            ]
        );
    }
}
