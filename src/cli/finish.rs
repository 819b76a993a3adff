//! How a run ends, whatever it was asked for: what it says and where, what goes into files, and its exit code.
//! Knows neither which findings are left out nor how fixes are made.

use super::args::CheckArgs;
use super::output::Output;
use super::{CLEAN, FAILURE, FINDINGS, reports};
use crate::engine::fix::{Refused, Rewritten};
use crate::engine::{self, Outcome, Request, Unmatched};
use crate::render::{self, Format, Look};
use crate::report::Severity;
use crate::source::{absolute_from, rewrite, sweep};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a run has done that was to fix findings.
pub(crate) struct Fixed<'a> {
    /// What was fixed: the file as it is shown, and the rule.
    pub findings: &'a [(String, &'static str)],
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
    let text = match args.fix_only {
        true => fixes(args, outcome, fixed).into_bytes(),
        false => report(args, outcome, fixed, output)?,
    };
    let script = fixed.and_then(|fixed| fixed.script);
    if let Some(script) = script {
        output.out(script)?;
    }
    match (&args.output_file, script) {
        (Some(path), _) => reports::save(path, &text)?,
        (None, Some(_)) => output.aside(&text),
        (None, None) => output.out(&text)?,
    }
    Ok(verdict(args, outcome, fixed))
}

/// What a run says, in the format asked for; what is to go into report files goes there.
fn report(
    args: &CheckArgs,
    outcome: &Outcome,
    fixed: Option<&Fixed<'_>>,
    output: &Output,
) -> anyhow::Result<Vec<u8>> {
    reports::write(&args.report, args.output_format, outcome)?;
    if !args.output_format.is_for_people() {
        return Ok(render::findings(outcome, args.output_format, Look::default()));
    }
    let is_shown = args.output_file.is_none();
    let look = Look { color: output.color && is_shown, links: output.links && is_shown };
    let mut text = if args.statistics {
        render::statistics(outcome, look.color).into_bytes()
    } else {
        render::findings(outcome, args.output_format, look)
    };
    if args.quiet {
        return Ok(text);
    }
    if args.verbose {
        text.extend(render::coverage(outcome).into_bytes());
    }
    text.extend(render::summary(outcome, look.color).into_bytes());
    text.extend(fixes(args, outcome, fixed).into_bytes());
    // Lists are read by scripts, too, which look for names of rules.
    if args.output_format == Format::Full && !args.statistics && fixed.is_none() {
        text.extend(render::next(outcome).into_bytes());
    }
    Ok(text)
}

/// What was fixed, and what could be.
fn fixes(args: &CheckArgs, outcome: &Outcome, fixed: Option<&Fixed<'_>>) -> String {
    let findings = fixed.map(|fixed| fixed.findings);
    let mut text = render::fixes(outcome, findings.map(<[_]>::len), args.unsafe_fixes);
    if let Some(findings) = findings.filter(|_| args.show_fixes) {
        text.push_str(&render::fixed(findings));
    }
    text
}

fn verdict(args: &CheckArgs, outcome: &Outcome, fixed: Option<&Fixed<'_>>) -> u8 {
    let least = args.fail_on.unwrap_or(Severity::Note);
    let is_bad = outcome.findings.iter().any(|finding| finding.severity >= least);
    let is_fixed = args.exit_non_zero_on_fix && fixed.is_some_and(|fixed| !fixed.findings.is_empty());
    if outcome.failed() {
        FAILURE
    } else if is_fixed || is_bad && !args.exit_zero && !args.fix_only {
        FINDINGS
    } else {
        CLEAN
    }
}

/// Says which files were not checked, and why.
pub(crate) fn complain(outcome: &Outcome, output: &Output) {
    for problem in &outcome.problems {
        let level = if problem.fatal { "error" } else { "warning" };
        output.complain(level, &format!("{}: {}", problem.path, problem.message));
    }
    for Unmatched { name, near, known } in &outcome.unmatched {
        let hint = match (near, &known[..]) {
            (Some(near), _) => format!("; did you mean `{near}`?"),
            (None, []) => String::new(),
            (None, known) => format!("; values that can be set: {}", known.join(", ")),
        };
        output
            .complain("warning", &format!("`{name}` has no effect: no analyzed script has this name{hint}"));
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

/// Writes the files; gives the names of those that could not be written.
pub(crate) fn write<'a>(files: &'a [Rewritten], request: &Request, output: &Output) -> BTreeSet<&'a str> {
    let named = request.paths.iter().map(|path| absolute_from(&request.cwd, path));
    let within: Vec<PathBuf> = named.collect();
    let mut unwritten = BTreeSet::new();
    for file in files {
        if let Err(error) = rewrite(&file.path, &within, &file.before, &file.after) {
            output.complain("error", &format!("{}: {error}", file.shown));
            unwritten.insert(file.shown.as_str());
        }
    }
    unwritten
}

/// Takes away what a run that was killed left beside the files that this one is about.
pub(crate) fn tidy(request: &Request) -> anyhow::Result<()> {
    let files = engine::files(request)?;
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.path.parent()).collect();
    folders.into_iter().for_each(sweep);
    Ok(())
}
