//! What `check` takes, and what other commands that check have in common with it.

use super::super::overrides::Said;
use super::super::reports::Report;
use crate::apis::Literal;
use crate::engine::config::{parse_confidence, parse_severity, parse_value, read_glob};
use crate::engine::selection::Selector;
use crate::render::Format;
use crate::report::{Confidence, Severity};
use clap::builder::FalseyValueParser;
use std::path::PathBuf;

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

    /// Write what would go to stdout to a file instead.
    #[arg(short, long, value_name = "FILE", env = "TRAINLINT_OUTPUT_FILE", help_heading = "Output")]
    pub output_file: Option<PathBuf>,

    /// Show the number of findings per rule instead of the findings (human-readable formats only).
    #[arg(long, help_heading = "Output")]
    pub statistics: bool,

    /// Explain which training steps could not be judged, and why (human-readable formats only).
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Print findings and errors only: no summary, warnings or progress bar.
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// List the files that would be checked, and exit.
    #[arg(long, conflicts_with = "show_settings", help_heading = "Output")]
    pub show_files: bool,

    /// Show the effective settings for the first path, and exit.
    #[arg(long, help_heading = "Output")]
    pub show_settings: bool,

    /// Exit with 0 even if there are findings; failures still exit with 2.
    #[arg(long, help_heading = "Output")]
    pub exit_zero: bool,

    /// Exit with 1 only for findings of at least this severity: `note`, `warning` or `error`.
    #[arg(long, value_name = "SEVERITY", value_parser = parse_severity, conflicts_with = "exit_zero", help_heading = "Output")]
    pub fail_on: Option<Severity>,

    /// Check again whenever a file changes, until interrupted.
    #[arg(short, long, conflicts_with_all = ["fix", "fix_only", "diff", "write_baseline", "add_ignore", "show_files",
          "show_settings", "stdin_filename"], help_heading = "Output")]
    pub watch: bool,

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

    /// List the rules whose findings were fixed, file by file.
    #[arg(long, help_heading = "Fixes")]
    pub show_fixes: bool,

    /// Rules and groups whose fixes may be applied. [default: ALL]
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Fixes")]
    pub fixable: Option<Vec<Selector>>,

    /// Rules and groups whose fixes are shown, but never applied.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Fixes")]
    pub unfixable: Vec<Selector>,

    /// Exit with 1 if anything was fixed, even if no finding remains.
    #[arg(long, conflicts_with = "exit_zero", help_heading = "Fixes")]
    pub exit_non_zero_on_fix: bool,

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

    #[command(flatten)]
    pub shown: ShownArgs,

    /// Rules and groups to check in addition to those selected.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub extend_select: Vec<Selector>,

    /// Rules and groups to disable.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub ignore: Vec<Selector>,

    /// Rules and groups to disable in matching files, e.g. `tests/**:memory,unsafe-division`.
    #[arg(long, value_name = "GLOB:RULES", value_parser = per_file_ignore, help_heading = "Rules")]
    pub per_file_ignores: Vec<(String, Vec<Selector>)>,

    /// Report findings in spite of comments that suppress them.
    #[arg(long, conflicts_with = "add_ignore", help_heading = "Rules")]
    pub ignore_suppressions: bool,

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
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ShownArgs {
    /// Check only these rules and groups; `ALL` selects every rule.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = Selector::parse, help_heading = "Rules")]
    pub select: Option<Vec<Selector>>,

    /// Minimum confidence of the findings to show: `high`, `medium` or `low`. [default: medium]
    #[arg(long, value_name = "CONFIDENCE", value_parser = parse_confidence, help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,

    /// Minimum severity of the findings to show: `note`, `warning` or `error`. [default: warning]
    #[arg(long, value_name = "SEVERITY", value_parser = parse_severity, help_heading = "Rules")]
    pub min_severity: Option<Severity>,

    /// Also show notes and low-confidence findings.
    #[arg(long, help_heading = "Rules")]
    pub pedantic: bool,
}

// As above.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CacheArgs {
    /// Do not read or write the cache.
    #[arg(long, env = "TRAINLINT_NO_CACHE", value_parser = FalseyValueParser::new(), help_heading = "Miscellaneous")]
    pub no_cache: bool,

    /// Cache directory. [default: .trainlint_cache in the root of the project]
    #[arg(long, value_name = "FOLDER", env = "TRAINLINT_CACHE_DIR", help_heading = "Miscellaneous")]
    pub cache_dir: Option<PathBuf>,
}

/// What the run is meant for, and where the rest is said: flags of whatever checks scripts.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TargetArgs {
    /// Target GPU, e.g. `rtx4090`, `a100-80g` or `h200`. [default: a GPU with 24 GiB]
    #[arg(long, value_name = "NAME", conflicts_with = "gpu_memory", help_heading = "The run")]
    pub gpu: Option<String>,

    /// Memory of the target GPU, e.g. `24GiB`, `24GB`, `32000M` or `1.5T`.
    #[arg(long, value_name = "SIZE", help_heading = "The run")]
    pub gpu_memory: Option<String>,

    /// Override a value of the script, e.g. `batch_size=64`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = set_value, help_heading = "The run")]
    pub set: Vec<(String, Literal)>,

    /// Use only this configuration file, or set one key over all files, e.g. `min-severity="error"`; can be repeated.
    #[arg(long, value_name = "FILE|KEY=VALUE", value_parser = Said::parse, help_heading = "Files")]
    pub config: Vec<Said>,

    /// Ignore all configuration files.
    #[arg(long, help_heading = "Files")]
    pub isolated: bool,
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
