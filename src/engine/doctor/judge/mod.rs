//! What is right and wrong about a machine: one file for each thing that may be.

mod builds;
mod companions;
mod conda;
mod distributions;
mod driver;
mod images;
mod libraries;
mod memory;
mod setups;

pub(super) use setups::{pins, setups};

use super::machine::{Environment, Machine};
use super::{Check, Status};

pub(super) fn machine(machine: &Machine, checks: &mut Vec<Check>) {
    driver::judge(machine, checks);
    memory::judge(machine, checks);
    if let Some(environment) = &machine.environment {
        checks.push(about(environment));
        builds::judge(machine, environment, checks);
        libraries::judge(machine, environment, checks);
        distributions::judge(environment, checks);
    }
}

fn about(environment: &Environment) -> Check {
    let python = environment.python.as_ref().map_or(String::new(), |python| format!(" (Python {python})"));
    let status = if environment.frameworks.is_empty() { Status::Note } else { Status::Ok };
    let lacks = if environment.frameworks.is_empty() { ", without torch, TensorFlow and JAX" } else { "" };
    Check::new("environment", status, format!("`{}`{python}{lacks}", environment.path))
}
