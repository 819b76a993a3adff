//! What to say to those who type what other tools understand.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::path::Path;

/// Flags of other tools, and what does the same here.
const FOREIGN: [(&[&str], &str); 7] = [
    (&["--format", "-f"], "`--output-format FORMAT` sets the output format"),
    (&["--json"], "`--output-format json` writes JSON"),
    (&["--sarif"], "`--output-format sarif` writes SARIF, `--report sarif=PATH` into a file"),
    (&["--output"], "`--output-file FILE` writes to a file, `--report FORMAT=PATH` in addition to stdout"),
    (&["-s"], "`--quiet` prints findings only"),
    (&["--disable", "--extend-ignore", "--skip"], "`--ignore RULES` disables rules"),
    (&["--enable", "--rule", "--rules"], "`--select RULES` selects rules, `--extend-select` adds more"),
];

/// Commands of other tools that check.
const CHECKS: [&str; 5] = ["lint", "scan", "run", "analyze", "analyse"];

/// The error with a tip that fits, in place of one that does not.
pub(crate) fn teach(mut error: clap::Error) -> clap::Error {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            // To take the flag for a path is what clap advises, and what nobody means.
            let tip = said(ContextKind::InvalidArg).and_then(|flag| of_flag(&flag));
            error.remove(ContextKind::Suggested);
            tip
        }
        ErrorKind::InvalidSubcommand => {
            said(ContextKind::InvalidSubcommand).and_then(|name| of_command(&name))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn of_flag(flag: &str) -> Option<String> {
    let known = FOREIGN.iter().find(|(flags, _)| flags.contains(&flag));
    known.map(|(_, tip)| (*tip).to_owned())
}

fn of_command(name: &str) -> Option<String> {
    let path = Path::new(name);
    let is_script = path.extension().is_some_and(|kind| kind == "py" || kind == "ipynb");
    if is_script || path.exists() {
        Some(format!("`trainlint check {name}` checks it"))
    } else {
        CHECKS.contains(&name).then(|| "`trainlint check` does that".to_owned())
    }
}
