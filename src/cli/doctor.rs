//! `trainlint doctor`: looks at the machine, and says what does not fit. The driver is asked in a process of its own.

use super::args::ListFormat;
use super::output::Output;
use super::{CLEAN, FINDINGS, backend};
use crate::engine::doctor::{Machine, Places, VARIABLES, examine, look};
use crate::render;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Folders of projects to check. [default: .]
    pub paths: Vec<PathBuf>,

    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: ListFormat,

    /// Python environment to check. [default: the active one, `.venv` in the project, or that of `python3`]
    #[arg(long, value_name = "FOLDER")]
    pub environment: Option<PathBuf>,

    /// Check the machine described in FILE instead of this one: output of `trainlint doctor --output-format json` there.
    #[arg(long, value_name = "FILE", conflicts_with = "environment")]
    pub machine: Option<PathBuf>,

    /// Check only what the project sets up, not this machine.
    #[arg(long, conflicts_with_all = ["environment", "machine"])]
    pub project_only: bool,
}

pub(crate) fn run(args: &DoctorArgs, output: &Output) -> anyhow::Result<u8> {
    let cwd = std::env::current_dir().context("the working folder can't be found")?;
    let machine = match (&args.machine, args.project_only) {
        (Some(file), _) => Some(recorded(file)?),
        (None, true) => None,
        (None, false) => Some(this_machine(args, &cwd)?),
    };
    let report = examine(&cwd, &args.paths, machine)?;
    let text = match args.output_format {
        ListFormat::Json => render::doctor_json(&report),
        ListFormat::Text => render::doctor(&report).into_bytes(),
    };
    output.out(&text)?;
    Ok(if report.has_problem() { FINDINGS } else { CLEAN })
}

/// A machine that was written down: alone, or as part of a report.
fn recorded(file: &Path) -> anyhow::Result<Machine> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("{shown} can't be read"))?;
    let said: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
    let machine = said.get("machine").unwrap_or(&said);
    if !machine.get("driver").is_some_and(serde_json::Value::is_object) {
        bail!("{shown} describes no machine: write it with `trainlint doctor --output-format json`");
    }
    serde_json::from_value(machine.clone()).with_context(|| format!("{shown} describes no machine"))
}

fn this_machine(args: &DoctorArgs, cwd: &Path) -> anyhow::Result<Machine> {
    let folder = args.paths.first().map_or_else(|| cwd.to_owned(), |path| cwd.join(path));
    let environment = match &args.environment {
        Some(environment) => {
            let environment = cwd.join(environment);
            if !environment.is_dir() {
                bail!("{} is not a folder", environment.display());
            }
            Some(environment)
        }
        None => environment(&folder),
    };
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let variables: BTreeMap<String, String> = VARIABLES.iter().filter_map(variable).collect();
    let root = PathBuf::from(if cfg!(windows) { "" } else { "/" });
    let mut machine = look(&Places { root, environment, variables });
    ask_driver(&mut machine)?;
    Ok(machine)
}

fn ask_driver(machine: &mut Machine) -> anyhow::Result<()> {
    let (version, listed) = (machine.driver.version.take(), machine.driver.listed);
    match backend::surveyed()? {
        Some(said) => (machine.driver, machine.cards) = (said.driver, said.cards),
        None => {
            machine.driver.reason = Some("the process that asks the driver hung or crashed".to_owned());
            machine.driver.help = Some("check whether `nvidia-smi` works".to_owned());
            machine.driver.is_broken = version.is_some();
        }
    }
    (machine.driver.version, machine.driver.listed) = (version, listed);
    Ok(())
}

/// The environment that is active, that of the project, or that of the first `python3` that a shell finds.
fn environment(folder: &Path) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().find_map(std::env::var_os).map(PathBuf::from);
    let own = || [".venv", "venv"].map(|name| folder.join(name)).into_iter().find(|one| one.is_dir());
    let found = || {
        let paths = std::env::var_os("PATH")?;
        let mut programs = std::env::split_paths(&paths).map(|folder| folder.join("python3"));
        let program = programs.find(|program| program.is_file())?;
        Some(program.canonicalize().ok()?.parent()?.parent()?.to_owned())
    };
    active.or_else(own).or_else(found)
}
