//! How a run ends, whatever it was asked for: what it says and where, what goes into files, and its exit code.
//! Knows neither which findings are left out nor how fixes are made.

use super::args::CheckArgs;
use super::output::Output;
use super::{CLEAN, FAILURE, FINDINGS, reports};
use crate::engine::fix::{Refused, Rewritten};
use crate::engine::{Outcome, Request};
use crate::render::{self, Format};
use crate::source::{absolute_from, rewrite};
use std::path::PathBuf;

/// What a run has done that was to fix findings.
pub(crate) struct Fixed<'a> {
    pub count: usize,
    /// The repaired script, where it came from stdin: it has stdout for itself.
    pub script: Option<&'a [u8]>,
}

/// Says what was found, and what was fixed if anything was to be; gives the exit code.
pub(crate) fn finish(
    args: &CheckArgs,
    outcome: &Outcome,
    fixed: Option<&Fixed<'_>>,
    output: &Output,
) -> anyhow::Result<u8> {
    let count = fixed.map(|fixed| fixed.count);
    let text = match args.fix_only {
        true => render::fixes(outcome, count, args.unsafe_fixes).into_bytes(),
        false => report(args, outcome, count, output)?,
    };
    match fixed.and_then(|fixed| fixed.script) {
        Some(script) => {
            output.out(script)?;
            output.aside(&text);
        }
        None => output.out(&text)?,
    }
    Ok(verdict(args, outcome))
}

/// What a run says, in the format asked for; what is to go into report files goes there.
fn report(
    args: &CheckArgs,
    outcome: &Outcome,
    fixed: Option<usize>,
    output: &Output,
) -> anyhow::Result<Vec<u8>> {
    reports::write(&args.report, args.output_format, outcome)?;
    if !args.output_format.is_for_people() {
        return Ok(render::findings(outcome, args.output_format, false));
    }
    let mut text = if args.statistics {
        render::statistics(outcome, output.color).into_bytes()
    } else {
        render::findings(outcome, args.output_format, output.color)
    };
    if args.verbose {
        text.extend(render::coverage(outcome).into_bytes());
    }
    text.extend(render::summary(outcome, output.color).into_bytes());
    text.extend(render::fixes(outcome, fixed, args.unsafe_fixes).into_bytes());
    // Lists are read by scripts, too, which look for names of rules.
    if args.output_format == Format::Full && !args.statistics && fixed.is_none() {
        text.extend(render::next(outcome).into_bytes());
    }
    Ok(text)
}

fn verdict(args: &CheckArgs, outcome: &Outcome) -> u8 {
    if outcome.failed() {
        FAILURE
    } else if outcome.findings.is_empty() || args.exit_zero || args.fix_only {
        CLEAN
    } else {
        FINDINGS
    }
}

/// Says which files were not checked, and why.
pub(crate) fn complain(outcome: &Outcome, output: &Output) {
    for problem in &outcome.problems {
        let level = if problem.fatal { "error" } else { "warning" };
        output.complain(level, &format!("{}: {}", problem.path, problem.message));
    }
}

/// Says what could not be done.
pub(crate) fn refuse(refused: &[Refused], done: &str, output: &Output) {
    for one in refused {
        let cell = one.cell.map_or(String::new(), |cell| format!(":cell {cell}"));
        let place = format!("{}{cell}:{}", one.path, one.line);
        output.complain("warning", &format!("{place}: {} was not {done}: {}", one.rule, one.why));
    }
}

/// Whether all files could be written.
pub(crate) fn write(files: &[Rewritten], request: &Request, output: &Output) -> bool {
    let named = request.paths.iter().map(|path| absolute_from(&request.cwd, path));
    let within: Vec<PathBuf> = named.collect();
    let mut all_written = true;
    for file in files {
        if let Err(error) = rewrite(&file.path, &within, &file.before, &file.after) {
            output.complain("error", &format!("{}: {error}", file.shown));
            all_written = false;
        }
    }
    all_written
}
