//! Adopting trainlint where there are many findings already: baselines, and what a change brings.

use super::args::CheckArgs;
use super::changes::Changes;
use super::finish::{refuse, tidy, write};
use super::output::Output;
use super::{CLEAN, FAILURE, FINDINGS};
use crate::engine::baseline::Baseline;
use crate::engine::silence::silence;
use crate::engine::{self, Outcome, Request, Silent};
use crate::report::units::plural;
use crate::source::read_regular;
use anyhow::{Context, anyhow};
use std::path::Path;

/// Leaves the findings that are new, against a baseline, a revision, or both.
pub(crate) fn hide_known(
    args: &CheckArgs,
    request: &Request,
    outcome: &mut Outcome,
    output: &Output,
) -> anyhow::Result<()> {
    let configured = engine::settings_for(request)?.baseline.clone();
    if let Some(path) = args.baseline.as_ref().or(configured.as_ref()) {
        read(path)?.hide(outcome, |_, _| false);
    }
    if let Some(revision) = &args.diff_base {
        since(revision, request, outcome, output)?;
    }
    Ok(())
}

/// A hundred thousand findings take less.
const LARGEST: u64 = 256 << 20;

fn read(path: &Path) -> anyhow::Result<Baseline> {
    let context =
        || format!("{}: the baseline can't be read (`--write-baseline` creates one)", path.display());
    let text = String::from_utf8(read_regular(path, LARGEST).with_context(context)?).with_context(context)?;
    Baseline::parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Writes everything that was found, instead of showing it.
pub(crate) fn write_baseline(path: &Path, outcome: &Outcome, output: &Output) -> anyhow::Result<u8> {
    let baseline = Baseline::of(outcome);
    let context = || format!("{}: the baseline can't be written", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(context)?;
    }
    std::fs::write(path, baseline.to_text()).with_context(context)?;
    let count = plural(baseline.len(), "finding");
    output.out(format!("wrote a baseline of {count} to {}\n", path.display()).as_bytes())?;
    Ok(CLEAN)
}

/// Writes a comment beside each finding, and says how many there are.
pub(crate) fn add_ignores(
    reason: &str,
    request: &Request,
    outcome: &Outcome,
    output: &Output,
) -> anyhow::Result<u8> {
    let silenced = silence(outcome, Some(reason).filter(|reason| !reason.is_empty()));
    refuse(&silenced.refused, "ignored", output);
    tidy(request)?;
    let unwritten = write(&silenced.files, request, output);
    let written = silenced.silenced.iter().filter(|(path, _)| !unwritten.contains(path.as_str()));
    let findings = plural(written.map(|(_, count)| count).sum(), "finding");
    let files = plural(silenced.files.len() - unwritten.len(), "file");
    output.out(format!("ignored {findings} in {files}\n").as_bytes())?;
    Ok(match (unwritten.is_empty(), silenced.refused.is_empty()) {
        (false, _) => FAILURE,
        (true, false) => FINDINGS,
        (true, true) => CLEAN,
    })
}

/// Leaves what lies on lines that changed since a revision, and what the revision did not have.
fn since(revision: &str, request: &Request, outcome: &mut Outcome, output: &Output) -> anyhow::Result<()> {
    let changes = Changes::since(request, outcome.roots.repository(), revision)?;
    let is_changed = |outcome: &Outcome, finding: &_| changes.touch(outcome, finding);
    if outcome.findings.iter().all(|finding| is_changed(outcome, finding)) {
        return Ok(());
    }
    let before = changes.tree_before()?;
    match engine::check(&before.request(request), &Silent) {
        Ok(then) => Baseline::of(&then).hide(outcome, is_changed),
        // What is wrong there can't be repaired any more, and must not stand in the way of the change.
        Err(error) => {
            let why = before.plain(&error.to_string());
            output.complain("warning", &format!("the base revision can't be analyzed: {why}"));
        }
    }
    Ok(())
}
