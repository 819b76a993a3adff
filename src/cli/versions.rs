//! `trainlint versions [PATHS]`: the releases that a project can run with.

use super::args::{CheckArgs, ListFormat, VersionsArgs};
use super::check;
use super::output::Output;
use super::{CLEAN, FINDINGS};
use crate::engine::versions::versions;
use crate::render;

pub(crate) fn run(args: &VersionsArgs, output: &Output) -> anyhow::Result<u8> {
    let request = check::request(&CheckArgs { paths: args.paths.clone(), ..CheckArgs::default() })?;
    let found = versions(&request)?;
    let text = match args.output_format {
        ListFormat::Json => render::versions_json(&found),
        ListFormat::Text => render::versions(&found).into_bytes(),
    };
    output.out(&text)?;
    Ok(if found.has_conflict() { FINDINGS } else { CLEAN })
}
