//! Packs `rules/apis/*.toml` for the library, so that starting costs no parsing.
//! A table that is wrong stops the build with its place.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script reads, writes and talks to cargo"
)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "what is wrong stops the build")]
#![allow(unreachable_pub, reason = "modules of the library, of which a build script shows nothing")]

#[allow(dead_code, reason = "the library uses more of these modules than the build script does")]
#[path = "src/apis"]
mod apis {
    pub mod builds {
        pub mod rows;
    }
    pub mod changed {
        pub mod rows;
    }
    pub mod deprecated {
        pub mod rows;
    }
    pub mod effects;
    pub mod error;
    pub mod index {
        pub mod pack;
        pub mod packed;
        pub mod text;
    }
    pub mod model;
    pub mod needs;
    pub mod numbers;
    pub mod pack;
    pub mod parse;
    pub mod shared;
    pub mod slots;
    pub mod terms;
    pub mod transfers;
    pub mod vocabulary;
    pub mod words;
}

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use apis::builds::rows::Rows as Builds;
use apis::changed::rows::Rows as Changed;
use apis::deprecated::rows::Rows as Deprecated;
use apis::error::Input;
use apis::parse::Table;
use apis::shared::Shared;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules/apis");
    println!("cargo::rerun-if-changed=src/apis");
    let files = sorted("rules/apis", "toml")?;
    let mut shared = Shared::default();
    let mut entries = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path)?;
        let Table { entries: found, shared: also, .. } =
            apis::parse::parse(Input { file: &path.display().to_string(), text: &text })?;
        entries.extend(found);
        shared.extend(also);
    }
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(Path::new(&out).join("apis.pack"), apis::pack::pack(&entries, &shared)?)?;
    fs::write(Path::new(&out).join("index.pack"), index()?)?;
    fs::write(
        Path::new(&out).join("deprecated.pack"),
        together("rules/deprecated", |all: &mut Deprecated, more| all.row.extend(more.row))?,
    )?;
    fs::write(Path::new(&out).join("builds.pack"), together("rules/builds", Builds::extend)?)?;
    fs::write(
        Path::new(&out).join("changed.pack"),
        together("rules/changed", |all: &mut Changed, more| all.row.extend(more.row))?,
    )?;
    Ok(())
}

/// The tables of a folder, of all files together.
fn together<T: Default + Serialize + DeserializeOwned>(
    folder: &str,
    add: impl Fn(&mut T, T),
) -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={folder}");
    let mut all = T::default();
    for path in sorted(folder, "toml")? {
        let read = toml::from_str(&fs::read_to_string(&path)?);
        add(&mut all, read.map_err(|why| format!("{}: {why}", path.display()))?);
    }
    Ok(postcard::to_stdvec(&all)?)
}

/// The names of the packages, one after the other.
fn index() -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules/index");
    let mut packed = Vec::new();
    for path in sorted("rules/index", "txt")? {
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a name that is no text")?;
        let one = apis::index::pack::pack(name, &fs::read_to_string(&path)?);
        packed.extend(one.map_err(|why| format!("{}: {why}", path.display()))?);
    }
    Ok(packed)
}

fn sorted(folder: &str, extension: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|one| one == extension));
    files.sort();
    Ok(files)
}
