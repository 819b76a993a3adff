//! Where replays run: a GPU, if a process that looked for one says so, else the CPU. This process never opens the
//! driver.

use super::args::{Backend as Wished, WhereArgs, WorkerArgs};
use super::output::Output;
use super::{CLEAN, NO_GPU};
use crate::engine::doctor::Machine;
use crate::replay::outcome::Device;
use crate::replay::plan::Plan;
use crate::replay::process;
use crate::replay::run::{Backend, Cpu};
use anyhow::Context;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What was decided.
pub(crate) struct Chosen {
    pub device: Device,
    cuda: bool,
    compilers: Vec<PathBuf>,
}

/// Chooses, or gives the exit code for those who insisted on a GPU and have none.
pub(crate) fn choose(args: &WhereArgs, plan: &Plan, output: &Output) -> anyhow::Result<Result<Chosen, u8>> {
    // Nothing runs where there is nothing to run, so that only who insists on a GPU waits for a look at it.
    let is_idle = args.backend == Wished::Auto && plan.items.is_empty();
    if args.backend == Wished::Cpu || is_idle {
        return Ok(Ok(on_cpu(None)));
    }
    let compilers = if args.fused { compilers(args) } else { Vec::new() };
    let refusal = match cuda::ask(&compilers)? {
        Ok(told) => {
            if args.fused && !told.has_compiler {
                output.complain(
                    "warning",
                    "no NVRTC was found for `--fused`: give its path with `--nvrtc`, or \
                                            `pip install nvidia-cuda-nvrtc-cu12`; graphs are interpreted",
                );
            }
            let device = Device { backend: "cuda".to_owned(), name: told.name };
            return Ok(Ok(Chosen { device, cuda: true, compilers }));
        }
        Err(refusal) => refusal,
    };
    let whole = format!("{}: {}", refusal.reason, refusal.help);
    if args.backend == Wished::Cuda {
        output.complain("error", &format!("{whole}; `--backend cpu` draws the same samples without a GPU"));
        return Ok(Err(NO_GPU));
    }
    if refusal.broken {
        output.complain("warning", &format!("replays run on the CPU, as {whole}"));
    }
    Ok(Ok(on_cpu(Some(&refusal.reason))))
}

fn on_cpu(why: Option<&str>) -> Chosen {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let why = why.map_or_else(String::new, |why| format!("; {why}"));
    let name = format!("the CPU ({threads} threads{why})");
    Chosen { device: Device { backend: "cpu".to_owned(), name }, cuda: false, compilers: Vec::new() }
}

impl Chosen {
    /// The process that runs a plan from this item on.
    pub(crate) fn command(&self, from: usize) -> anyhow::Result<Command> {
        let mut command = worker()?;
        command.arg("--from").arg(from.to_string());
        if self.cuda {
            command.arg("--cuda");
        }
        for compiler in &self.compilers {
            command.arg("--nvrtc").arg(compiler);
        }
        Ok(command)
    }

    /// How long it may take until the first item begins.
    pub(crate) fn patience(&self) -> Duration {
        if self.cuda { process::START } else { Duration::ZERO }
    }
}

fn worker() -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("the running executable can't be found")?;
    let mut command = Command::new(program);
    command.arg("replay-worker");
    Ok(command)
}

/// What a worker was told to run on.
pub(crate) fn of_worker(args: &WorkerArgs) -> Box<dyn Backend> {
    if args.cuda { cuda::open(&args.nvrtc) } else { Box::new(Cpu) }
}

/// Tells on stdout what is here.
pub(crate) fn probe(args: &WorkerArgs, output: &Output) -> anyhow::Result<u8> {
    output.out(&serde_json::to_vec(&cuda::look(&args.nvrtc))?)?;
    Ok(CLEAN)
}

/// Tells on stdout what the driver says of all GPUs.
pub(crate) fn survey(output: &Output) -> anyhow::Result<u8> {
    output.out(&serde_json::to_vec(&cuda::survey())?)?;
    Ok(CLEAN)
}

/// A machine of which no more is known than what a process that asked the driver says; `None` where that one hung
/// or crashed.
pub(crate) fn surveyed() -> anyhow::Result<Option<Machine>> {
    let mut command = worker()?;
    command.arg("--survey");
    let bytes = process::answer(command)?;
    Ok(bytes.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok()))
}

/// Where NVRTC may be: what was said, the packages of an environment of Python, toolkits, the loader's folders.
fn compilers(args: &WhereArgs) -> Vec<PathBuf> {
    let said: Vec<PathBuf> = args.nvrtc.iter().cloned().collect();
    if !said.is_empty() {
        return said;
    }
    let roots = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().filter_map(std::env::var_os).map(PathBuf::from).collect()
    };
    let libraries = roots(&["VIRTUAL_ENV", "CONDA_PREFIX"]).into_iter().map(|root| root.join("lib"));
    let versions = libraries.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut packages: Vec<PathBuf> = versions.map(|one| one.path().join("site-packages")).collect();
    packages.sort();
    let mut toolkits = roots(&["CUDA_HOME", "CUDA_PATH"]);
    toolkits.push(PathBuf::from("/usr/local/cuda"));
    cuda::candidates(&packages, &toolkits)
}

/// What a process that looked for a GPU said.
struct Told {
    name: String,
    has_compiler: bool,
}

/// Why there is none.
struct Refusal {
    reason: String,
    help: String,
    broken: bool,
}

#[cfg(feature = "gpu")]
mod cuda {
    use super::{Refusal, Told, worker};
    use crate::engine::doctor::{Card, Driver, Machine};
    use crate::replay::cuda::{About, Device, NoGpu, candidates as nvrtc_candidates, survey as cuda_survey};
    use crate::replay::process;
    use crate::replay::run::{Backend, Gone};
    use std::path::PathBuf;

    pub(crate) fn ask(compilers: &[PathBuf]) -> anyhow::Result<Result<Told, Refusal>> {
        let mut command = worker()?;
        command.arg("--probe");
        for compiler in compilers {
            command.arg("--nvrtc").arg(compiler);
        }
        let bytes = process::answer(command)?;
        let said: Option<Result<About, NoGpu>> =
            bytes.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        Ok(match said {
            Some(Ok(about)) => Ok(Told { name: about.described(), has_compiler: about.nvrtc.is_some() }),
            Some(Err(none)) => Err(Refusal { reason: none.reason, help: none.help, broken: none.broken }),
            None => Err(Refusal {
                reason: "the process that looks for a GPU hung or crashed".to_owned(),
                help: "check whether `nvidia-smi` works".to_owned(),
                broken: true,
            }),
        })
    }

    pub(crate) fn look(compilers: &[PathBuf]) -> Result<About, NoGpu> {
        Device::open(compilers).map(|device| device.about().clone())
    }

    pub(crate) fn survey() -> Machine {
        let said = cuda_survey();
        let mut driver = Driver { cuda: said.cuda, ..Driver::default() };
        if let Some(none) = said.none {
            driver.is_broken = none.broken;
            (driver.reason, driver.help) = (Some(none.reason), Some(none.help));
        }
        let cards = said.cards.into_iter().map(|seen| Card {
            name: seen.name,
            capability: seen.capability,
            memory: seen.memory,
            free: Some(seen.free),
        });
        Machine { driver, cards: cards.collect(), ..Machine::default() }
    }

    pub(crate) fn open(compilers: &[PathBuf]) -> Box<dyn Backend> {
        match Device::open(compilers) {
            Ok(device) => Box::new(device),
            Err(none) => Box::new(Gone { reason: none.reason }),
        }
    }

    pub(crate) fn candidates(packages: &[PathBuf], toolkits: &[PathBuf]) -> Vec<PathBuf> {
        nvrtc_candidates(packages, toolkits)
    }
}

#[cfg(not(feature = "gpu"))]
mod cuda {
    use super::{Refusal, Told};
    use crate::engine::doctor::{Driver, Machine};
    use crate::replay::run::{Backend, Gone};
    use std::path::PathBuf;

    const REASON: &str = "this build of trainlint has no GPU support";

    pub fn ask(_: &[PathBuf]) -> anyhow::Result<Result<Told, Refusal>> {
        let help = "build it with the feature `gpu`, which is on by default".to_owned();
        Ok(Err(Refusal { reason: REASON.to_owned(), help, broken: false }))
    }

    pub fn survey() -> Machine {
        let driver = Driver { reason: Some(REASON.to_owned()), ..Driver::default() };
        Machine { driver, ..Machine::default() }
    }

    pub fn look(_: &[PathBuf]) -> Result<(), &'static str> {
        Err(REASON)
    }

    pub fn open(_: &[PathBuf]) -> Box<dyn Backend> {
        Box::new(Gone { reason: REASON.to_owned() })
    }

    pub fn candidates(_: &[PathBuf], _: &[PathBuf]) -> Vec<PathBuf> {
        Vec::new()
    }
}
