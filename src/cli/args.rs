//! Every flag, once: parsing, `--help` and `docs/cli.md` come from these definitions.

mod check;
mod replay;

pub(crate) use check::{CacheArgs, CheckArgs, ShownArgs, TargetArgs};
pub(crate) use replay::{
    Backend, ConfirmArgs, FindingArgs, PlanArgs, ReplayArgs, ReportArgs, ResultFormat, WhereArgs, WorkerArgs,
};

use super::doctor::DoctorArgs;
use super::reveal::question;
use super::shells::ShellKind;
use crate::engine::reveal::Question;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A static analyzer for Python training scripts: finds the bugs that waste a GPU run, before the run.
///
/// It never executes your code and never opens a network connection.
#[derive(Debug, Parser)]
#[command(name = "trainlint", version, max_term_width = 100, propagate_version = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// When to color the output.
    ///
    /// `auto` uses color on a terminal, and respects NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check scripts and notebooks.
    Check(Box<CheckArgs>),
    /// Check scripts, then run each finding's computation in isolation to confirm it.
    Confirm(Box<ConfirmArgs>),
    /// Write a replay plan of the findings, for `trainlint replay` on another machine.
    Plan(Box<PlanArgs>),
    /// Run a replay plan and write the results.
    Replay(ReplayArgs),
    /// Show the results of a replay.
    Report(ReportArgs),
    /// The process in which a plan runs.
    #[command(hide = true)]
    ReplayWorker(WorkerArgs),
    /// List the rules.
    Rules(RulesArgs),
    /// Show a rule's documentation, or the rules of a group.
    #[command(visible_alias = "rule")]
    Explain(ExplainArgs),
    /// List the configuration keys, or explain one.
    Config(ConfigArgs),
    /// Write a configuration file for a project.
    ///
    /// Adds a section to an existing `pyproject.toml`, and creates a `trainlint.toml` otherwise. Excludes submodules
    /// and folders that git attributes mark as vendored or generated.
    Init(InitArgs),
    /// Show what the analysis knows about the values on a line, and where unknown values come from.
    ///
    /// A line reached on several paths is shown once per path if they differ; for loops, the last iteration
    /// is shown.
    Reveal(RevealArgs),
    /// Show which framework releases provide everything a project uses, and which it requires.
    ///
    /// A folder with its own requirements is a separate project. Exits with 1 if no release, or none of the required
    /// ones, provides everything.
    Versions(VersionsArgs),
    /// Check that driver, GPUs, CUDA, cuDNN and framework builds work together.
    ///
    /// Reads the installed packages of the current Python environment, the libraries that loaders find, and what the
    /// project sets up (Dockerfiles, requirements, conda environments, Slurm scripts, CI jobs). Runs no Python. Exits
    /// with 1 if something cannot work.
    Doctor(DoctorArgs),
    /// Run the language server over stdio.
    Server(ServerArgs),
    /// Remove the cache.
    Clean(CleanArgs),
    /// Generate shell completions for commands, flags and rules.
    Completions(CompletionsArgs),
    /// Generate a man page.
    Man(ManArgs),
    /// Print the version.
    Version,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Cache directory to remove. [default: .trainlint_cache in the root of the project]
    #[arg(long, value_name = "FOLDER", env = "TRAINLINT_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Talk over stdin and stdout, as always: some clients insist on saying so.
    #[arg(long, hide = true)]
    pub stdio: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub shell: ShellKind,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The command to document; trainlint itself if omitted.
    pub command: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// Output format of the list.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Text,
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RevealArgs {
    /// The line, e.g. `train.py:12`; in a notebook with the cell number before it, e.g. `train.ipynb:3:12`.
    #[arg(value_name = "FILE:LINE", value_parser = question)]
    pub place: Question,

    /// Tell what this script knows of the line, which calls or imports its file. [default: the file itself]
    #[arg(long, value_name = "SCRIPT")]
    pub from: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,

    #[command(flatten)]
    pub target: TargetArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionsArgs {
    /// Files and folders to analyze. [default: .]
    pub paths: Vec<PathBuf>,

    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A rule, e.g. `missing-zero-grad`, a group, e.g. `memory`, or `ALL`.
    pub id: String,

    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The key to explain, e.g. `min-severity` or `target.gpu`.
    pub key: Option<String>,

    /// Output format; `json` prints the JSON schema of the configuration.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The folder of the project. [default: .]
    pub folder: Option<PathBuf>,
}
