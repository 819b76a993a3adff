//! What the commands that replay findings take.

use super::{ShownArgs, TargetArgs};
use clap::ValueEnum;
use std::path::PathBuf;

/// What is checked before anything is replayed; flags as in `check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FindingArgs {
    /// Files and folders to check; `-` reads a script from stdin. [default: .]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    pub shown: ShownArgs,

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
    #[arg(short, long, alias = "output", value_name = "FILE", help_heading = "Output")]
    pub output_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A plan written by `trainlint plan`; `-` reads it from stdin.
    pub plan: PathBuf,

    #[command(flatten)]
    pub place: WhereArgs,

    /// Output file. [default: stdout]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub output_file: Option<PathBuf>,

    /// Also write an HTML report with a plot of each replay.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Do not show a progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Results written by `trainlint replay`; `-` reads them from stdin.
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
