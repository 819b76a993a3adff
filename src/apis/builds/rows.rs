//! A table of builds as it is written and packed. Read by the build script, too.

use serde::{Deserialize, Serialize};

/// All files of `rules/builds`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rows {
    pub build: Vec<Build>,
    pub code: Vec<Code>,
    pub toolkit: Vec<Toolkit>,
    pub generation: Vec<Generation>,
}

impl Rows {
    pub fn extend(&mut self, other: Rows) {
        self.build.extend(other.build);
        self.code.extend(other.code);
        self.toolkit.extend(other.toolkit);
        self.generation.extend(other.generation);
    }
}

/// What a release of a framework was built for.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    pub package: String,
    /// With all its patch releases.
    pub release: String,
    /// The first of them, where the row is not about all.
    #[serde(default)]
    pub from: Option<String>,
    /// The last of them.
    #[serde(default)]
    pub until: Option<String>,
    /// In ascending order.
    #[serde(rename = "for")]
    pub variants: Vec<Variant>,
    /// The CUDA of what `pip install` takes from PyPI on Linux.
    #[serde(default)]
    pub pypi: Option<String>,
    #[serde(default)]
    pub torchvision: Option<String>,
    #[serde(default)]
    pub torchaudio: Option<String>,
    /// It looks for CUDA on the machine, and brings none.
    #[serde(default)]
    pub is_system: bool,
    pub source: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub cuda: String,
    #[serde(default)]
    pub cudnn: Option<String>,
}

/// The compute capabilities that builds have code for.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    pub package: String,
    /// The first release.
    pub since: String,
    /// The last release, with all its patch releases.
    pub until: String,
    pub cuda: Vec<String>,
    pub has: Vec<String>,
    /// Code that drivers translate for newer cards.
    #[serde(default)]
    pub ptx: Option<String>,
    pub source: String,
}

/// A release of CUDA, or a major version of it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Toolkit {
    pub cuda: String,
    /// The oldest driver for Linux that runs it.
    pub driver: String,
    pub source: String,
}

/// Cards with one name, by their compute capabilities.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    pub name: String,
    pub from: String,
    pub to: String,
    /// The first CUDA release that makes code for them.
    #[serde(default)]
    pub first: Option<String>,
    /// The last major version of CUDA that does.
    #[serde(default)]
    pub last: Option<String>,
    pub source: String,
}
