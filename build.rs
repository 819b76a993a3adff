//! Packs `rules/apis/*.toml` for the library, so that starting costs no parsing.
//! A table that is wrong stops the build with its place.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script reads, writes and talks to cargo"
)]

// The library uses more of these modules than the build script does.
#[allow(dead_code)]
#[path = "src/apis"]
mod apis {
    pub mod error;
    pub mod model;
    pub mod pack;
    pub mod parse;
    pub mod terms;
    pub mod transfers;
    pub mod vocabulary;
}

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use apis::error::Input;
use apis::parse::{Shared, Table};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules/apis");
    println!("cargo::rerun-if-changed=src/apis");
    let mut files: Vec<PathBuf> =
        fs::read_dir("rules/apis")?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
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
    Ok(())
}
