//! The command line: flags in, exit code out. The only place that prints, and that knows the
//! environment; everything else is the engine's and the renderers'.
#![allow(clippy::disallowed_methods, reason = "this module is the edge to the environment")]

mod adopt;
mod args;
mod backend;
mod cache;
mod changes;
mod check;
mod config;
mod doctor;
mod explain;
mod finish;
mod fix;
mod formats;
mod hints;
mod init;
mod manual;
mod output;
mod overrides;
mod progress;
mod replay;
mod reports;
mod reveal;
mod rules;
mod server;
mod shells;
mod show;
mod versions;
mod watch;

pub use manual::manual;

use args::{Args, Command};
use clap::Parser;
use output::Output;
use std::process::ExitCode;

/// Nothing to report.
const CLEAN: u8 = 0;
/// There are findings.
const FINDINGS: u8 = 1;
/// trainlint could not do what it was asked to.
const FAILURE: u8 = 2;

/// There is no GPU that could be used, and nothing else was allowed.
const NO_GPU: u8 = 3;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // A closed pipe is the reader's choice, and no failure of ours.
            let error = hints::teach(error);
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILURE));
        }
    };
    let mut output = Output::new(args.color);
    let result = match args.command {
        Command::Check(check) => check::run(&check, &mut output),
        Command::Confirm(confirm) => replay::confirm(&confirm, &output),
        Command::Plan(plan) => replay::plan(&plan, &output),
        Command::Replay(replay) => replay::replay(&replay, &output),
        Command::Report(report) => replay::report(&report, &output),
        Command::ReplayWorker(worker) => replay::worker(&worker, &output),
        Command::Rules(rules) => rules::run(&rules, &output),
        Command::Reveal(args) => reveal::run(&args, &output),
        Command::Versions(args) => versions::run(&args, &output),
        Command::Doctor(args) => doctor::run(&args, &output),
        Command::Explain(explain) => explain::run(&explain, &output),
        Command::Config(args) => config::run(&args, &output),
        Command::Init(args) => init::run(&args, &output),
        Command::Server(args) => server::run(&args),
        Command::Clean(args) => cache::clean(args.cache_dir.as_deref(), &output),
        Command::Completions(args) => shells::completions(&args, &output),
        Command::Man(args) => shells::man(&args, &output),
        Command::Version => {
            output.out(format!("trainlint {}\n", env!("CARGO_PKG_VERSION")).as_bytes()).map(|()| CLEAN)
        }
    };
    let code = result.unwrap_or_else(|error| {
        output.complain("error", &format!("{error:#}"));
        FAILURE
    });
    ExitCode::from(code)
}
