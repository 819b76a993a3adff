//! What was seen of a machine, as plain data that can be written down there and judged elsewhere.

use crate::apis::builds::Release;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine, and the Python environment that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Machine {
    pub driver: Driver,
    pub cards: Vec<Card>,
    pub environment: Option<Environment>,
    /// Variables of the environment that loaders and drivers heed.
    pub variables: BTreeMap<String, String>,
    /// Libraries of CUDA that a loader may find.
    pub libraries: Vec<Library>,
    /// The size of `/dev/shm`, in bytes.
    pub shared_memory: Option<u64>,
}

/// What the driver says of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Driver {
    /// The version of the kernel module, such as 535.104.05.
    pub version: Option<String>,
    /// The CUDA release that the driver's library is for, such as 12.2.
    pub cuda: Option<String>,
    /// Why no card can be used.
    pub reason: Option<String>,
    pub help: Option<String>,
    /// A driver is there, and something is wrong with it.
    pub is_broken: bool,
    /// The cards that the kernel module lists, shown to this process or not.
    pub listed: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Card {
    pub name: String,
    /// The compute capability, such as 8.6.
    pub capability: String,
    /// In bytes.
    pub memory: u64,
    pub free: Option<u64>,
}

/// What is installed for one Python.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Environment {
    pub path: String,
    /// Such as 3.10.
    pub python: Option<String>,
    pub frameworks: Vec<Framework>,
    /// The frameworks' distributions, and what they require.
    pub distributions: Vec<Distribution>,
}

/// An installed framework, and what it was built for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Framework {
    /// As it is imported.
    pub package: String,
    pub version: String,
    /// The CUDA release of the build.
    pub cuda: Option<String>,
    /// The build is for the CPU alone.
    pub is_cpu: bool,
    /// Compute capabilities as the build names them (`sm_80`, `compute_90`), where it does.
    pub code: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Distribution {
    pub name: String,
    pub version: String,
    /// Requirements that hold here, without those of extras.
    pub requires: Vec<String>,
    /// Shared libraries with a version in their names that it installs.
    pub libraries: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Library {
    pub folder: String,
    /// The name that it is loaded by, such as `libcudnn.so.8`.
    pub name: String,
    /// As its file is called, where that says more.
    pub version: Option<String>,
    /// `LD_LIBRARY_PATH` leads to it.
    pub is_preferred: bool,
}

impl Environment {
    pub fn framework(&self, package: &str) -> Option<&Framework> {
        self.frameworks.iter().find(|one| one.package == package)
    }

    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions.iter().find(|one| one.name == name)
    }
}

impl Framework {
    pub fn release(&self) -> Option<Release> {
        Release::parse(&self.version)
    }

    pub fn built_for(&self) -> Option<Release> {
        self.cuda.as_deref().and_then(Release::parse)
    }

    /// torch 2.5.1 (CUDA 12.4)
    pub fn described(&self) -> String {
        let version = self.version.split('+').next().unwrap_or_default();
        match &self.cuda {
            Some(cuda) => format!("{} {version} (CUDA {cuda})", self.package),
            None => format!("{} {version}", self.package),
        }
    }
}

impl Card {
    pub fn capability(&self) -> Option<Release> {
        Release::parse(&self.capability)
    }
}

impl Driver {
    pub fn cuda(&self) -> Option<Release> {
        self.cuda.as_deref().and_then(Release::parse)
    }

    /// NVIDIA driver 535.104.05 (CUDA 12.2)
    pub fn described(&self) -> String {
        let version = self.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        let cuda = self.cuda.as_ref().map_or(String::new(), |cuda| format!(" (CUDA {cuda})"));
        format!("NVIDIA driver{version}{cuda}")
    }
}
