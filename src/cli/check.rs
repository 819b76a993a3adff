//! `trainlint check`: flags into a request, the outcome into text and an exit code.

use super::args::CheckArgs;
use super::finish::{complain, finish};
use super::output::Output;
use super::overrides::{origin, overrides};
use super::progress::Bar;
use super::{adopt, cache, fix, show, watch};
use crate::engine::{self, Request};
use crate::source::{NOTEBOOK_LIMIT, Patience, read_limited};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(args: &CheckArgs, output: &mut Output) -> anyhow::Result<u8> {
    output.is_quiet = args.quiet;
    let request = request(args)?;
    if args.show_files {
        return show::files(&request, output);
    }
    if args.show_settings {
        return show::settings(&request, output);
    }
    if args.fix || args.fix_only || args.diff {
        return fix::run(args, &request, output);
    }
    if args.watch {
        return watch::run(args, &request, output);
    }
    once(args, &request, output)
}

/// A run that changes no script, unless comments are to be added.
pub(crate) fn once(args: &CheckArgs, request: &Request, output: &Output) -> anyhow::Result<u8> {
    let progress = Bar::new(!args.no_progress && !args.quiet);
    let mut outcome = engine::check(request, &progress)?;
    complain(&outcome, output);
    if let Some(path) = args.write_baseline.as_ref().filter(|_| !outcome.failed()) {
        return adopt::write_baseline(path, &outcome, output);
    }
    adopt::hide_known(args, request, &mut outcome, output)?;
    if let Some(reason) = args.add_ignore.as_ref().filter(|_| !outcome.failed()) {
        return adopt::add_ignores(reason, request, &outcome, output);
    }
    finish(args, &outcome, None, output)
}

pub(crate) fn request(args: &CheckArgs) -> anyhow::Result<Request> {
    let cwd = std::env::current_dir().context("the working folder can't be found")?;
    let piped = args.paths.iter().any(|path| path == Path::new("-"));
    if piped && args.paths.len() > 1 {
        bail!("`-` reads a script from stdin, and can't be combined with other paths");
    }
    let from_stdin = piped || (args.paths.is_empty() && args.stdin_filename.is_some());
    if args.stdin_filename.is_some() && !from_stdin {
        bail!("`--stdin-filename` names a script from stdin; give `-` instead of paths");
    }
    let (paths, stdin) = if from_stdin {
        let name = args.stdin_filename.clone().unwrap_or_else(|| PathBuf::from("<stdin>"));
        let mut bytes = Vec::new();
        // What is not going to be checked need not be waited for.
        if !args.show_files && !args.show_settings {
            bytes =
                read_limited(std::io::stdin().lock(), 0, NOTEBOOK_LIMIT).context("stdin can't be read")?;
        }
        (Vec::new(), Some((name, bytes)))
    } else if args.paths.is_empty() {
        (vec![PathBuf::from(".")], None)
    } else {
        (args.paths.clone(), None)
    };
    Ok(Request {
        overrides: overrides(args, &cwd)?,
        cache: cache::place(&args.cache, &cwd),
        cwd,
        paths,
        stdin,
        origin: origin(&args.target)?,
        ignore_suppressions: args.ignore_suppressions,
        importers: IMPORTERS,
        patience: Patience { per_file: Some(PER_FILE), ..Patience::default() },
        threads: args.threads,
        ..Request::default()
    })
}

/// So long one file may take, which only hostile ones do. Without optimisation all takes far longer.
const PER_FILE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 600 } else { 30 });

/// Whoever imports a file may call it; more of them than these seldom say anything new.
const IMPORTERS: usize = 32;
