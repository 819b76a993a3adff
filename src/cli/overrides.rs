//! What the command line says over every configuration file: `--config KEY=VALUE`, and over that the other flags.

use super::args::{CheckArgs, TargetArgs};
use crate::engine::config::{Config, Target, parse};
use crate::engine::configs::Origin;
use anyhow::{anyhow, bail};
use std::path::{Path, PathBuf};

/// One `--config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    File(PathBuf),
    /// A line of TOML.
    Entry(String),
}

impl Said {
    /// Never fails, as any text may be the name of a file; an entry is read when all of them are known.
    #[expect(clippy::unnecessary_wraps, reason = "clap asks for a result")]
    pub(crate) fn parse(text: &str) -> Result<Said, String> {
        match text.split_once('=') {
            Some((key, _)) if !key.contains(['/', '\\']) && !Path::new(text).exists() => {
                Ok(Said::Entry(text.to_owned()))
            }
            _ => Ok(Said::File(PathBuf::from(text))),
        }
    }
}

/// Which files count.
pub(crate) fn origin(args: &TargetArgs) -> anyhow::Result<Origin> {
    let files: Vec<&PathBuf> = args
        .config
        .iter()
        .filter_map(|said| match said {
            Said::File(path) => Some(path),
            Said::Entry(_) => None,
        })
        .collect();
    match (&files[..], args.isolated) {
        ([], false) => Ok(Origin::Closest),
        ([], true) => Ok(Origin::Isolated),
        ([file], false) => Ok(Origin::File((*file).clone())),
        ([_, ..], true) => bail!("`--config FILE` cannot be used with `--isolated`"),
        ([_, second, ..], false) => {
            bail!("`--config` names a second file, {}; only one can be used", second.display())
        }
    }
}

/// A layer over every configuration file.
pub(crate) fn overrides(args: &CheckArgs, cwd: &Path) -> anyhow::Result<Config> {
    let entries = entries(&args.target, cwd)?;
    let target = match (&args.target.gpu, &args.target.gpu_memory) {
        (Some(name), _) => Some(Target::of_gpu(name)),
        (None, Some(size)) => Some(Target::of_memory(size)),
        (None, None) => None,
    };
    let target = target.transpose().map_err(anyhow::Error::msg)?;
    let with = |mut said: Vec<_>, more: &[_]| {
        said.extend_from_slice(more);
        said
    };
    let mut values = entries.values;
    values.extend(args.target.set.iter().cloned());
    let mut per_file_ignores = entries.per_file_ignores;
    per_file_ignores.extend(args.per_file_ignores.iter().cloned());
    let mut extend_exclude = entries.extend_exclude;
    extend_exclude.extend(args.extend_exclude.iter().cloned());
    Ok(Config {
        select: args.shown.select.clone().or(entries.select),
        extend_select: with(entries.extend_select, &args.extend_select),
        ignore: with(entries.ignore, &args.ignore),
        per_file_ignores,
        fixable: args.fixable.clone().or(entries.fixable),
        unfixable: with(entries.unfixable, &args.unfixable),
        exclude: args.exclude.clone().or(entries.exclude),
        extend_exclude,
        force_exclude: args.force_exclude.then_some(true).or(entries.force_exclude),
        min_confidence: args.shown.min_confidence.or(entries.min_confidence),
        min_severity: args.shown.min_severity.or(entries.min_severity),
        pedantic: args.shown.pedantic.then_some(true).or(entries.pedantic),
        target: target.or(entries.target),
        values,
        ..entries
    })
}

/// What `--config KEY=VALUE` says, read as one file of which each is a line.
fn entries(args: &TargetArgs, cwd: &Path) -> anyhow::Result<Config> {
    let lines: Vec<&str> = args
        .config
        .iter()
        .filter_map(|said| match said {
            Said::Entry(line) => Some(line.as_str()),
            Said::File(_) => None,
        })
        .collect();
    let name = cwd.join("--config");
    let config = parse(&name, &lines.join("\n")).map_err(|error| {
        let line = error.at.and_then(|(line, _)| lines.get(line - 1)).copied().unwrap_or_default();
        anyhow!("`--config {line}`: {}", error.message)
    })?;
    if config.extend.is_some() {
        bail!("`extend` can't be set by `--config KEY=VALUE`; give the file, as in `--config FILE`");
    }
    Ok(Config { base: cwd.to_owned(), ..config })
}
