//! The driver: whether there is one, and whether it shows cards.

use crate::engine::doctor::machine::Machine;
use crate::engine::doctor::{Check, Status};

const NAME: &str = "driver";

pub(super) fn judge(machine: &Machine, checks: &mut Vec<Check>) {
    checks.push(check(machine));
    let folders = machine.variables.get("LD_LIBRARY_PATH").map(String::as_str).unwrap_or_default();
    if let Some(stubs) =
        folders.split(':').find(|folder| folder.ends_with("/stubs") || folder.ends_with("/stubs/"))
    {
        checks.push(
            Check::new(
                NAME,
                Status::Warning,
                format!("LD_LIBRARY_PATH contains `{stubs}`, whose `libcuda` is a stub to link with"),
            )
            .help("remove that folder from LD_LIBRARY_PATH"),
        );
    }
}

fn check(machine: &Machine) -> Check {
    let driver = &machine.driver;
    let Some(reason) = &driver.reason else {
        let status = if machine.cards.is_empty() { Status::Note } else { Status::Ok };
        return Check::new(NAME, status, driver.described());
    };
    let hidden =
        machine.variables.get("CUDA_VISIBLE_DEVICES").filter(|value| matches!(value.trim(), "" | "-1"));
    if let Some(value) = hidden.filter(|_| driver.is_broken) {
        return Check::new(
            NAME,
            Status::Error,
            format!("CUDA_VISIBLE_DEVICES is `{value}`, which hides all GPUs"),
        )
        .help("unset it, or list the GPUs to use, e.g. `CUDA_VISIBLE_DEVICES=0`");
    }
    if driver.is_broken {
        let check = Check::new(NAME, Status::Error, format!("{}: {reason}", driver.described()));
        return Check { help: driver.help.clone(), ..check };
    }
    if driver.version.is_some() || driver.listed > 0 {
        return Check::new(
            NAME,
            Status::Error,
            format!("{} is loaded, but its library is not visible here", driver.described()),
        )
        .help("start the container with `--gpus all`, or request a GPU from the scheduler");
    }
    let check = Check::new(NAME, Status::Note, reason.clone());
    let has_cuda = machine
        .environment
        .as_ref()
        .is_some_and(|environment| environment.frameworks.iter().any(|one| one.cuda.is_some()));
    if has_cuda { check.help("training runs on the CPU here") } else { check }
}
