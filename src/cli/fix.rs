//! `trainlint check --fix` and `--diff`: what the engine has changed in memory goes to the files, or is shown.

use super::adopt::hide_known;
use super::args::CheckArgs;
use super::check::{complain, report, verdict};
use super::output::Output;
use super::progress::Bar;
use super::{CLEAN, FAILURE, FINDINGS};
use crate::engine::analysis::analyse;
use crate::engine::fix::{Refused, Repaired, Rewritten, fix};
use crate::engine::{Outcome, Request};
use crate::render;
use crate::report::Applicability;
use crate::source::rewrite;
use similar::TextDiff;

pub fn run(args: &CheckArgs, request: &Request, output: &Output) -> anyhow::Result<u8> {
    let least = if args.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
    let mut repaired = fix(request, least, &Bar::new(!args.no_progress), &analyse)?;
    complain(&repaired.outcome, output);
    hide_known(args, request, &mut repaired.outcome, output)?;
    refuse(&repaired.refused, "fixed", output);
    if args.diff {
        return show(&repaired, output);
    }
    let said = match args.fix_only {
        true => render::fixes(&repaired.outcome, Some(repaired.fixed), args.unsafe_fixes).into_bytes(),
        false => report(args, &repaired.outcome, Some(repaired.fixed), output)?,
    };
    if let Some((_, script)) = &request.stdin {
        output.out(repaired.files.first().map_or(script, |file| &file.after))?;
        output.aside(&said);
    } else {
        output.out(&said)?;
    }
    let all_written = request.stdin.is_some() || write(&repaired.files, output);
    Ok(match verdict(args, &repaired.outcome) {
        _ if !all_written => FAILURE,
        FINDINGS if args.fix_only => CLEAN,
        verdict => verdict,
    })
}

/// Says what could not be done.
pub fn refuse(refused: &[Refused], done: &str, output: &Output) {
    for one in refused {
        let cell = one.cell.map_or(String::new(), |cell| format!(":cell {cell}"));
        let place = format!("{}{cell}:{}", one.path, one.line);
        output.complain("warning", &format!("{place}: {} was not {done}: {}", one.rule, one.why));
    }
}

/// Whether all files could be written.
pub fn write(files: &[Rewritten], output: &Output) -> bool {
    let mut all_written = true;
    for file in files {
        if let Err(error) = rewrite(&file.path, &file.before, &file.after) {
            output.complain("error", &format!("{}: {error}", file.shown));
            all_written = false;
        }
    }
    all_written
}

/// The diff, and the exit code that says whether there is one.
fn show(repaired: &Repaired, output: &Output) -> anyhow::Result<u8> {
    let text: Vec<u8> = repaired.files.iter().flat_map(diff).collect();
    output.out(&text)?;
    Ok(code_of_diff(&repaired.outcome, !text.is_empty()))
}

fn code_of_diff(outcome: &Outcome, differs: bool) -> u8 {
    match (outcome.failed(), differs) {
        (true, _) => FAILURE,
        (false, true) => FINDINGS,
        (false, false) => CLEAN,
    }
}

/// Of the bytes of the files, so that it can be applied whatever their encoding is.
fn diff(file: &Rewritten) -> Vec<u8> {
    let mut text = Vec::new();
    let name = |side: &str| format!("{side}/{}", file.shown);
    // Writing to a `Vec` does not fail.
    let _ = TextDiff::from_lines(&*file.before, &*file.after)
        .unified_diff()
        .header(&name("a"), &name("b"))
        .to_writer(&mut text);
    text
}
