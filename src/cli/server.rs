//! `trainlint server`: the language server on this process's stdin and stdout.

use super::CLEAN;
use super::args::ServerArgs;
use crate::lsp::{Host, Stdio, serve};
use anyhow::Context;
use std::time::Duration;

/// What the protocol wants of a server that was told to exit, and not to shut down before.
const LEFT: u8 = 1;

/// More than a script that somebody wrote takes to be checked.
const QUICK: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

pub(crate) fn run(args: &ServerArgs) -> anyhow::Result<u8> {
    // There is no other way to talk.
    let ServerArgs { stdio: _ } = args;
    let cwd = std::env::current_dir().context("the working folder can't be found")?;
    let program = std::env::current_exe().context("the program that runs can't be found")?;
    let stdio = Stdio::open().context("the threads that read and write can't be started")?;
    let ended = serve(&stdio.connection, Host { cwd, program, quick: QUICK });
    stdio.close();
    Ok(if ended? { CLEAN } else { LEFT })
}
