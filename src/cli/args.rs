//! Every flag, once: parsing, `--help` and `docs/cli.md` come from these definitions.

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

/// Reads Python training scripts, rehearses them, and reports what would waste the GPU run.
///
/// Nothing is executed, and nothing goes over the network.
#[derive(Debug, Parser)]
#[command(name = "trainlint", version, max_term_width = 100, propagate_version = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// When to colour the output.
    ///
    /// `auto` colours on a terminal, and heeds NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM.
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
    /// Check scripts, and run what the findings are about, to see them happen.
    Confirm(Box<ConfirmArgs>),
    /// Write what can be run of the findings into a plan, for `trainlint replay` on another machine.
    Plan(Box<PlanArgs>),
    /// Run a plan, and write what came out.
    Replay(ReplayArgs),
    /// Show what came out of a plan.
    Report(ReportArgs),
    /// The process in which a plan runs.
    #[command(hide = true)]
    ReplayWorker(WorkerArgs),
    /// List the rules.
    Rules(RulesArgs),
    /// Show the page of a rule.
    Explain(ExplainArgs),
    /// Show what is known of the values of a line, and what is not, and since where.
    ///
    /// A line that is reached on several ways is shown for each where they differ; of a loop's passes the last
    /// one counts.
    Reveal(RevealArgs),
    /// Show the releases of the frameworks that have all that a project uses, and what it asks for.
    ///
    /// A folder that says what it asks for is a project of its own. Exits with 1 where no release has all, or none of
    /// those that are asked for.
    Versions(VersionsArgs),
    /// Check what an editor holds: the language server, over stdin and stdout.
    Server(ServerArgs),
    /// Remove what was kept of earlier runs.
    Clean(CleanArgs),
    /// Write what a shell needs to complete commands, flags and rules.
    Completions(CompletionsArgs),
    /// Write a page of the manual.
    Man(ManArgs),
    /// Print the version.
    Version,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct CheckArgs {
    /// Files and folders to check; `-` reads a script from stdin. [default: .]
    pub paths: Vec<PathBuf>,

    /// How to write the findings.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "full",
        ignore_case = true,
        env = "TRAINLINT_OUTPUT_FORMAT",
        help_heading = "Output"
    )]
    pub output_format: Format,

    /// Write the findings to a file, too; may be given several times, such as `sarif=out.sarif`.
    #[arg(long, value_name = "FORMAT=PATH", value_parser = Report::parse, help_heading = "Output")]
    pub report: Vec<Report>,

    /// Count the findings of each rule instead of listing them (formats for people only).
    #[arg(long, help_heading = "Output")]
    pub statistics: bool,

    /// Say of each training step that was not judged what would have to be known (formats for people only).
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// List the files that would be checked, and stop.
    #[arg(long, conflicts_with = "show_settings", help_heading = "Output")]
    pub show_files: bool,

    /// Show the settings in force for the first path, and stop.
    #[arg(long, help_heading = "Output")]
    pub show_settings: bool,

    /// Exit with 0 although there are findings; failures still exit with 2.
    #[arg(long, help_heading = "Output")]
    pub exit_zero: bool,

    /// Never draw a progress bar.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,

    /// Put the safe fixes into the files, and report what is left.
    #[arg(long, help_heading = "Fixes")]
    pub fix: bool,

    /// Fix what is unsafe, too, with `--fix`, `--fix-only` or `--diff`: read what such a fix changes.
    #[arg(long, help_heading = "Fixes")]
    pub unsafe_fixes: bool,

    /// Put the fixes into the files, and neither report what is left nor fail because of it.
    #[arg(long, help_heading = "Fixes")]
    pub fix_only: bool,

    /// Write what would be fixed to stdout as a unified diff, and leave the files as they are.
    #[arg(long, help_heading = "Fixes")]
    pub diff: bool,

    /// Report only what this file does not know; `--write-baseline` writes it. `baseline` in the configuration
    /// says the same.
    #[arg(long, value_name = "FILE", help_heading = "Adoption")]
    pub baseline: Option<PathBuf>,

    /// Write everything that is found into a file, as known from now on, and exit with 0.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "fix_only", "diff"], help_heading = "Adoption")]
    pub write_baseline: Option<PathBuf>,

    /// Report only what lies on lines that changed since a revision of git, and what else the change has caused.
    ///
    /// Counts from the last commit that the revision and the working tree have in common.
    #[arg(long, value_name = "REV", conflicts_with_all = ["write_baseline", "fix", "fix_only", "diff", "stdin_filename"], help_heading = "Adoption")]
    pub diff_base: Option<String>,

    /// Write a comment that ignores it beside each finding, with a reason if one is given.
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = one_line, conflicts_with_all = ["write_baseline", "fix", "fix_only", "diff", "stdin_filename"],
          help_heading = "Adoption")]
    pub add_ignore: Option<String>,

    /// Rules and groups to check, and no others; `ALL` for every rule.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub select: Option<Vec<Selector>>,

    /// Rules and groups to check on top of those selected.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub extend_select: Vec<Selector>,

    /// Rules and groups to leave out.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub ignore: Vec<Selector>,

    /// Rules and groups to leave out in some files, such as `tests/**:memory,unsafe-division`.
    #[arg(long, value_name = "GLOB:RULES", value_parser = per_file_ignore, help_heading = "Rules")]
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,

    /// The least confidence of a finding that is shown: `high`, `medium` or `low`. [default: medium]
    #[arg(long, value_name = "CONFIDENCE", value_parser = parse_confidence, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,

    /// Show notes and findings of low confidence, too.
    #[arg(long, help_heading = "Rules")]
    pub pedantic: bool,

    #[command(flatten)]
    pub target: TargetArgs,

    /// Names and globs to leave out, instead of the usual ones.
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', value_parser = read_glob, help_heading = "Files")]
    pub exclude: Option<Vec<String>>,

    /// Names and globs to leave out, on top of those excluded.
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', value_parser = read_glob, help_heading = "Files")]
    pub extend_exclude: Vec<String>,

    /// Leave out excluded files even where they are named on the command line.
    #[arg(long, help_heading = "Files")]
    pub force_exclude: bool,

    /// The name that a script from stdin goes by.
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub stdin_filename: Option<PathBuf>,

    /// Number of threads; 0 for as many as the machine has.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Miscellaneous")]
    pub threads: usize,

    #[command(flatten)]
    pub cache: CacheArgs,
}

// No documentation: it would take the place of that of the command that this is part of.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CacheArgs {
    /// Neither use results of earlier runs nor keep those of this one.
    #[arg(long, env = "TRAINLINT_NO_CACHE", value_parser = FalseyValueParser::new(), help_heading = "Miscellaneous")]
    pub no_cache: bool,

    /// Where results are kept. [default: .trainlint_cache in the root of the project]
    #[arg(long, value_name = "FOLDER", env = "TRAINLINT_CACHE_DIR", help_heading = "Miscellaneous")]
    pub cache_dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// The cache to remove. [default: .trainlint_cache in the root of the project]
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
    /// The command that the page is about; trainlint itself without one.
    pub command: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// How to write the list.
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
    /// The line, such as `train.py:12`; in a notebook the cell goes before it, as in `train.ipynb:3:12`.
    #[arg(value_name = "FILE:LINE", value_parser = question)]
    pub place: Question,

    /// How to write what is known.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,

    #[command(flatten)]
    pub target: TargetArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionsArgs {
    /// Files and folders to look at. [default: .]
    pub paths: Vec<PathBuf>,

    /// How to write what is known.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The id of the rule, such as `missing-zero-grad`.
    pub id: String,
}

/// What the run is meant for, and where the rest is said: flags of whatever checks scripts.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TargetArgs {
    /// The card that the run is meant for, such as `rtx4090`, `a100-80g` or `h200`. [default: a card of 24 GB]
    #[arg(long, value_name = "NAME", conflicts_with = "gpu_memory", help_heading = "The run")]
    pub gpu: Option<String>,

    /// The memory of the card that the run is meant for, such as `24GiB`, `24GB`, `32000M` or `1.5T`.
    #[arg(long, value_name = "SIZE", help_heading = "The run")]
    pub gpu_memory: Option<String>,

    /// Say what a value is, over what the script says, such as `batch_size=64`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = set_value, help_heading = "The run")]
    pub set: Vec<(String, Literal)>,

    /// Use this configuration file, and no other.
    #[arg(long, value_name = "FILE", conflicts_with = "isolated", help_heading = "Files")]
    pub config: Option<PathBuf>,

    /// Use no configuration file.
    #[arg(long, help_heading = "Files")]
    pub isolated: bool,
}

/// What is checked before anything is replayed; flags as in `check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FindingArgs {
    /// Files and folders to check. [default: .]
    pub paths: Vec<PathBuf>,

    /// Rules and groups to check, and no others; `ALL` for every rule.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub select: Option<Vec<Selector>>,

    /// The least confidence of a finding that is replayed: `high`, `medium` or `low`. [default: medium]
    #[arg(long, value_name = "CONFIDENCE", value_parser = parse_confidence, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,

    /// Replay notes and findings of low confidence, too.
    #[arg(long, help_heading = "Rules")]
    pub pedantic: bool,

    #[command(flatten)]
    pub target: TargetArgs,

    /// Samples that are drawn for each expression.
    #[arg(long, value_name = "N", default_value_t = crate::replay::plan::SAMPLES, help_heading = "The replay")]
    pub samples: u64,

    /// What the samples are drawn from: the same seed gives the same ones.
    #[arg(long, value_name = "N", default_value_t = crate::replay::plan::SEED, help_heading = "The replay")]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfirmArgs {
    #[command(flatten)]
    pub findings: FindingArgs,

    #[command(flatten)]
    pub place: WhereArgs,

    /// How to write what came out.
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub output_format: ResultFormat,

    /// Write a page with a picture of each replay, too.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Never draw a progress bar.
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub findings: FindingArgs,

    /// The file to write; stdout without it.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The plan, as `trainlint plan` wrote it.
    pub plan: PathBuf,

    #[command(flatten)]
    pub place: WhereArgs,

    /// The file to write; stdout without it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write a page with a picture of each replay, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Never draw a progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// What came out of a plan, as `trainlint replay` wrote it.
    pub result: PathBuf,

    /// Write a page with a picture of each replay, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Where replays run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhereArgs {
    /// Where to run: `auto` takes an NVIDIA GPU if there is one that can be used, else the CPU.
    #[arg(long, value_name = "WHERE", default_value = "auto", help_heading = "The replay")]
    pub backend: Backend,

    /// On a GPU, compile each expression into a kernel of its own, which needs NVRTC.
    #[arg(long, help_heading = "The replay")]
    pub fused: bool,

    /// The library of NVRTC, where `--fused` does not find it.
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
    /// SARIF 2.1.0, with what came out of each replay in the properties of its result.
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
