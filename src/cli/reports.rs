//! What a run writes besides stdout: `--report FORMAT=PATH`, and the summary of a step of GitHub
//! Actions.

use crate::engine::Outcome;
use crate::render::{self, Format, Look};
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One `--report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    format: Format,
    path: PathBuf,
}

impl Report {
    pub(crate) fn parse(text: &str) -> Result<Report, String> {
        let (format, path) =
            text.split_once('=').ok_or("write a format, `=` and a path, such as `sarif=out.sarif`")?;
        let known = || {
            let names = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            names.map(|name| name.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let format = Format::from_str(format, true)
            .map_err(|_| format!("unknown format `{format}`; there are {}", known()))?;
        if path.is_empty() {
            return Err(format!("`{text}` names no file"));
        }
        Ok(Report { format, path: PathBuf::from(path) })
    }

    fn write(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let mut bytes = render::findings(outcome, self.format, Look::default());
        if self.format.is_for_people() {
            bytes.extend(render::summary(outcome, false).into_bytes());
        }
        save(&self.path, &bytes)
    }
}

/// Writes a report, and the folders that it needs.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let context = || format!("{}: the report can't be written", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(context)?;
    }
    std::fs::write(path, bytes).with_context(context)
}

/// Writes every report, and what GitHub Actions wants where annotations are asked for.
pub(crate) fn write(reports: &[Report], stdout: Format, outcome: &Outcome) -> anyhow::Result<()> {
    for report in reports {
        report.write(outcome)?;
    }
    let annotates = stdout == Format::Github || reports.iter().any(|report| report.format == Format::Github);
    match std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| annotates && !path.is_empty()) {
        Some(path) => append_summary(Path::new(&path), outcome),
        None => Ok(()),
    }
}

/// Appends, since the steps of a job share the file.
fn append_summary(path: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    let text = render::step_summary(outcome, blob().as_deref());
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| anyhow!("{}: the summary can't be written: {error}", path.display()))
}

/// Where GitHub shows the files of the revision that is checked.
fn blob() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (server, repository) = (variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
    Some(format!("{server}/{repository}/blob/{}", variable("GITHUB_SHA")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_format_and_a_path() {
        let report = Report::parse("json-lines=a=b.jsonl");
        assert_eq!(report, Ok(Report { format: Format::JsonLines, path: PathBuf::from("a=b.jsonl") }));
        assert!(Report::parse("SARIF=x").is_ok());
        assert!(Report::parse("out.sarif").unwrap_err().contains("such as `sarif=out.sarif`"));
        assert!(Report::parse("sariff=x").unwrap_err().contains("there are full, concise, grouped, json,"));
        assert!(Report::parse("sarif=").unwrap_err().contains("names no file"));
    }
}
