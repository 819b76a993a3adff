//! Every flag, once: parsing, `--help` and `docs/cli.md` come from these definitions.

use super::doctor::DoctorArgs;
use super::reports::Report;
use super::reveal::question;
use crate::apis::Literal;
use crate::engine::config::{parse_confidence, parse_value, read_glob};
use crate::engine::reveal::Question;
use crate::engine::selection::Selector;
use crate::render::Format;
use crate::report::Confidence;
use clap::builder::FalseyValueParser;
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
    /// Show a rule's documentation.
    Explain(ExplainArgs),
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

#[derive(Debug, Default, clap::Args)]
pub(crate) struct CheckArgs {
    /// Files and folders to check; `-` reads a script from stdin. [default: .]
    pub paths: Vec<PathBuf>,

    /// Output format of the findings.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "full",
        ignore_case = true,
        env = "TRAINLINT_OUTPUT_FORMAT",
        help_heading = "Output"
    )]
    pub output_format: Format,

    /// Also write the findings to a file, e.g. `sarif=out.sarif`; can be repeated.
    #[arg(long, value_name = "FORMAT=PATH", value_parser = Report::parse, help_heading = "Output")]
    pub report: Vec<Report>,

    /// Show the number of findings per rule instead of the findings (human-readable formats only).
    #[arg(long, help_heading = "Output")]
    pub statistics: bool,

    /// Explain which training steps could not be judged, and why (human-readable formats only).
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// List the files that would be checked, and exit.
    #[arg(long, conflicts_with = "show_settings", help_heading = "Output")]
    pub show_files: bool,

    /// Show the effective settings for the first path, and exit.
    #[arg(long, help_heading = "Output")]
    pub show_settings: bool,

    /// Exit with 0 even if there are findings; failures still exit with 2.
    #[arg(long, help_heading = "Output")]
    pub exit_zero: bool,

    /// Do not show a progress bar.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,

    /// Apply safe fixes, then report the remaining findings.
    #[arg(long, help_heading = "Fixes")]
    pub fix: bool,

    /// Include unsafe fixes in `--fix`, `--fix-only` or `--diff`; review what they change.
    #[arg(long, help_heading = "Fixes")]
    pub unsafe_fixes: bool,

    /// Apply fixes without reporting remaining findings, and exit with 0 even if there are any.
    #[arg(long, help_heading = "Fixes")]
    pub fix_only: bool,

    /// Print the fixes as a unified diff without changing any files.
    #[arg(long, help_heading = "Fixes")]
    pub diff: bool,

    /// Report only findings that are not in this baseline; `--write-baseline` creates it. Also `baseline` in the
    /// configuration.
    #[arg(long, value_name = "FILE", help_heading = "Adoption")]
    pub baseline: Option<PathBuf>,

    /// Write all current findings to a baseline file, and exit with 0.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "fix_only", "diff"], help_heading = "Adoption")]
    pub write_baseline: Option<PathBuf>,

    /// Report only findings on lines changed since a git revision, and findings elsewhere that the change caused.
    ///
    /// Compares with the merge base of the revision and the working tree.
    #[arg(long, value_name = "REV", conflicts_with_all = ["write_baseline", "fix", "fix_only", "diff", "stdin_filename"], help_heading = "Adoption")]
    pub diff_base: Option<String>,

    /// Add an ignore comment to each finding, with an optional reason.
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = one_line, conflicts_with_all = ["write_baseline", "fix", "fix_only", "diff", "stdin_filename"],
          help_heading = "Adoption")]
    pub add_ignore: Option<String>,

    /// Check only these rules and groups; `ALL` selects every rule.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub select: Option<Vec<Selector>>,

    /// Rules and groups to check in addition to those selected.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub extend_select: Vec<Selector>,

    /// Rules and groups to disable.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub ignore: Vec<Selector>,

    /// Rules and groups to disable in matching files, e.g. `tests/**:memory,unsafe-division`.
    #[arg(long, value_name = "GLOB:RULES", value_parser = per_file_ignore, help_heading = "Rules")]
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,

    /// Minimum confidence of the findings to show: `high`, `medium` or `low`. [default: medium]
    #[arg(long, value_name = "CONFIDENCE", value_parser = parse_confidence, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,

    /// Also show notes and low-confidence findings.
    #[arg(long, help_heading = "Rules")]
    pub pedantic: bool,

    #[command(flatten)]
    pub target: TargetArgs,

    /// Names and globs to exclude, instead of the defaults.
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', value_parser = read_glob, help_heading = "Files")]
    pub exclude: Option<Vec<String>>,

    /// Names and globs to exclude, in addition to those excluded already.
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', value_parser = read_glob, help_heading = "Files")]
    pub extend_exclude: Vec<String>,

    /// Apply excludes even to files passed on the command line.
    #[arg(long, help_heading = "Files")]
    pub force_exclude: bool,

    /// Path to report for a script read from stdin.
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub stdin_filename: Option<PathBuf>,

    /// Number of threads; 0 uses all cores.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Miscellaneous")]
    pub threads: usize,

    #[command(flatten)]
    pub cache: CacheArgs,
}

// No documentation: it would take the place of that of the command that this is part of.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CacheArgs {
    /// Do not read or write the cache.
    #[arg(long, env = "TRAINLINT_NO_CACHE", value_parser = FalseyValueParser::new(), help_heading = "Miscellaneous")]
    pub no_cache: bool,

    /// Cache directory. [default: .trainlint_cache in the root of the project]
    #[arg(long, value_name = "FOLDER", env = "TRAINLINT_CACHE_DIR", help_heading = "Miscellaneous")]
    pub cache_dir: Option<PathBuf>,
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
    pub shell: clap_complete::Shell,
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
    /// The rule id, e.g. `missing-zero-grad`.
    pub id: String,
}

/// What the run is meant for, and where the rest is said: flags of whatever checks scripts.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TargetArgs {
    /// Target GPU, e.g. `rtx4090`, `a100-80g` or `h200`. [default: a GPU with 24 GB]
    #[arg(long, value_name = "NAME", conflicts_with = "gpu_memory", help_heading = "The run")]
    pub gpu: Option<String>,

    /// Memory of the target GPU, e.g. `24GiB`, `24GB`, `32000M` or `1.5T`.
    #[arg(long, value_name = "SIZE", help_heading = "The run")]
    pub gpu_memory: Option<String>,

    /// Override a value of the script, e.g. `batch_size=64`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = set_value, help_heading = "The run")]
    pub set: Vec<(String, Literal)>,

    /// Use only this configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "isolated", help_heading = "Files")]
    pub config: Option<PathBuf>,

    /// Ignore all configuration files.
    #[arg(long, help_heading = "Files")]
    pub isolated: bool,
}

/// What is checked before anything is replayed; flags as in `check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FindingArgs {
    /// Files and folders to check. [default: .]
    pub paths: Vec<PathBuf>,

    /// Check only these rules and groups; `ALL` selects every rule.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub select: Option<Vec<Selector>>,

    /// Minimum confidence of the findings to replay: `high`, `medium` or `low`. [default: medium]
    #[arg(long, value_name = "CONFIDENCE", value_parser = parse_confidence, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,

    /// Also replay notes and low-confidence findings.
    #[arg(long, help_heading = "Rules")]
    pub pedantic: bool,

    #[command(flatten)]
    pub target: TargetArgs,

    /// Number of random samples per expression.
    #[arg(long, value_name = "N", default_value_t = crate::replay::plan::SAMPLES, help_heading = "The replay")]
    pub samples: u64,

    /// Random seed of the samples.
    #[arg(long, value_name = "N", default_value_t = crate::replay::plan::SEED, help_heading = "The replay")]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfirmArgs {
    #[command(flatten)]
    pub findings: FindingArgs,

    #[command(flatten)]
    pub place: WhereArgs,

    /// Output format of the results.
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub output_format: ResultFormat,

    /// Also write an HTML report with a plot of each replay.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Do not show a progress bar.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub findings: FindingArgs,

    /// Output file. [default: stdout]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A plan written by `trainlint plan`.
    pub plan: PathBuf,

    #[command(flatten)]
    pub place: WhereArgs,

    /// Output file. [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Also write an HTML report with a plot of each replay.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Do not show a progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Results written by `trainlint replay`.
    pub result: PathBuf,

    /// Also write an HTML report with a plot of each replay.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Where replays run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhereArgs {
    /// Where to run: `auto` uses an NVIDIA GPU if one is usable, else the CPU.
    #[arg(long, value_name = "WHERE", default_value = "auto", help_heading = "The replay")]
    pub backend: Backend,

    /// On a GPU, compile each expression into its own kernel (requires NVRTC).
    #[arg(long, help_heading = "The replay")]
    pub fused: bool,

    /// Path of the NVRTC library, if `--fused` does not find it.
    #[arg(long, value_name = "FILE", requires = "fused", help_heading = "The replay")]
    pub nvrtc: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// The first item to run.
    #[arg(long, default_value_t = 0)]
    pub from: usize,

    /// Run on the GPU.
    #[arg(long)]
    pub cuda: bool,

    /// Look for a GPU, and run nothing.
    #[arg(long)]
    pub probe: bool,

    /// Tell what the driver says of all GPUs, and run nothing.
    #[arg(long)]
    pub survey: bool,

    /// Where to look for NVRTC.
    #[arg(long)]
    pub nvrtc: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    Auto,
    Cpu,
    Cuda,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// For people.
    Full,
    /// For machines.
    Json,
    /// SARIF 2.1.0, with replay results in the properties of each result.
    Sarif,
}

fn per_file_ignore(text: &str) -> Result<(String, Vec<Selector>), String> {
    let (glob, rules) =
        text.rsplit_once(':').ok_or("write a glob, a colon and rules, such as `tests/**:memory`")?;
    let rules = rules.split(',').map(|rule| Selector::parse(rule.trim())).collect::<Result<_, _>>()?;
    Ok((read_glob(glob)?, rules))
}

/// A reason has to fit into a comment.
fn one_line(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.contains(char::is_control) { Err("a reason is one line".to_owned()) } else { Ok(text.to_owned()) }
}

fn set_value(text: &str) -> Result<(String, Literal), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), parse_value(value.trim())))
        }
        _ => Err("write a name, `=` and a value, such as `batch_size=64`".to_owned()),
    }
}
