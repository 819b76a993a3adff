//! `trainlint check --fix` and `--diff`: what the engine has changed in memory goes to the files, or is shown.

use super::adopt::hide_known;
use super::args::CheckArgs;
use super::finish::{Fixed, complain, finish, refuse, tidy, write};
use super::output::Output;
use super::progress::Bar;
use super::{CLEAN, FAILURE, FINDINGS};
use crate::engine::analysis::analyse;
use crate::engine::fix::{Repaired, Rewritten, fix};
use crate::engine::{Outcome, Request, Silent, check};
use crate::report::{Applicability, escaped_lines, steers};
use similar::TextDiff;
use std::fmt::Write;

pub(crate) fn run(args: &CheckArgs, request: &Request, output: &Output) -> anyhow::Result<u8> {
    let least = if args.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
    let mut repaired = fix(request, least, &Bar::new(!args.no_progress && !args.quiet), &analyse)?;
    complain(&repaired.outcome, output);
    hide_known(args, request, &mut repaired.outcome, output)?;
    refuse(&repaired.refused, "fixed", output);
    if args.diff {
        return show(&repaired, output);
    }
    let all_written = request.stdin.is_some() || put(args, request, &mut repaired, output)?;
    let script = request.stdin.as_ref().map(|(_, script)| match repaired.files.first() {
        Some(file) => &*file.after,
        None => &**script,
    });
    let code = finish(args, &repaired.outcome, Some(&Fixed { findings: &repaired.fixed, script }), output)?;
    Ok(if all_written { code } else { FAILURE })
}

/// Puts the changes into the files; whether that went well. Of a file that was not written nothing is fixed, and what
/// is wrong with it is found again.
fn put(
    args: &CheckArgs,
    request: &Request,
    repaired: &mut Repaired,
    output: &Output,
) -> anyhow::Result<bool> {
    tidy(request)?;
    let unwritten = write(&repaired.files, request, output);
    if unwritten.is_empty() {
        return Ok(true);
    }
    repaired.fixed.retain(|(path, _)| !unwritten.contains(path.as_str()));
    repaired.outcome = check(request, &Silent)?;
    hide_known(args, request, &mut repaired.outcome, output)?;
    Ok(false)
}

/// The diff, and the exit code that says whether there is one.
fn show(repaired: &Repaired, output: &Output) -> anyhow::Result<u8> {
    let text: Vec<u8> = repaired.files.iter().flat_map(diff).collect();
    match output.is_read_by_people {
        true => {
            output.out(escaped_lines(&String::from_utf8_lossy(&text).replace("\r\n", "\n")).as_bytes())?;
        }
        // Whoever applies it needs each byte.
        false => output.out(&text)?,
    }
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
    let name = |side: &str| quoted(format!("{side}/{}", file.shown));
    // Writing to a `Vec` does not fail.
    let _ = TextDiff::from_lines(&*file.before, &*file.after)
        .unified_diff()
        .header(&name("a"), &name("b"))
        .to_writer(&mut text);
    text
}

/// A name as `git` and `patch` write it where it would be more than a name.
fn quoted(name: String) -> String {
    if !name.contains(|c| steers(c) || matches!(c, '"' | '\\')) {
        return name;
    }
    let mut text = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            _ if steers(c) => {
                // Writing to a string does not fail.
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                    let _ = write!(text, "\\{byte:03o}");
                });
            }
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

#[test]
fn names_in_a_diff_are_quoted_as_git_quotes_them() {
    assert_eq!(quoted("a/train.py".to_owned()), "a/train.py");
    assert_eq!(quoted("a/é\u{1b}[2J\n\"b\".py".to_owned()), "\"a/é\\033[2J\\012\\\"b\\\".py\"");
    assert_eq!(quoted("\u{202e}".to_owned()), "\"\\342\\200\\256\"");
}
