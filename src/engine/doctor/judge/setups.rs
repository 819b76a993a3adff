//! What a project's files set up: whether what they install was built, belongs together, and uses the GPU that
//! they are for.

use super::builds::runs_under;
use super::{companions, conda, images};
use crate::apis::builds::{self, Build, Release};
use crate::apis::index;
use crate::engine::doctor::machine::Machine;
use crate::engine::doctor::written::{Kind, List, Package, Setup};
use crate::engine::doctor::{Check, Status};
use crate::engine::shown_path;
use std::path::Path;

/// The checks of all files of a project, each said once.
pub(in crate::engine::doctor) fn setups(
    setups: &[Setup],
    machine: Option<&Machine>,
    checks: &mut Vec<Check>,
) {
    let mut found: Vec<Check> = Vec::new();
    for setup in setups {
        let before = found.len();
        for list in &setup.lists {
            for package in &list.packages {
                found.extend(build(setup, list, package));
                found.extend(python(setup, package));
            }
            found.extend(companions::judge(setup, list));
            found.extend(conda::judge(setup, list));
        }
        found.extend(cpu_only(setup));
        found.extend(images::judge(setup, machine));
        found.extend(modules(setup));
        if found.len() == before {
            found.extend(sound(setup));
        }
    }
    for check in found {
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
}

/// A word for a setup in which nothing is wrong, and which says something of frameworks.
fn sound(setup: &Setup) -> Option<Check> {
    let mut named: Vec<String> = Vec::new();
    for (_, package) in setup.packages() {
        let is_of_framework = framework(&package.name).is_some();
        let text = package
            .release
            .as_ref()
            .map_or_else(|| package.name.clone(), |release| format!("{} {release}", package.name));
        if is_of_framework && !named.contains(&text) {
            named.push(text);
        }
    }
    let image =
        setup.image.as_ref().filter(|image| image.it.is_gpu.is_some()).map(|image| image.it.name.clone());
    let modules = setup.modules.iter().map(|one| format!("{} {}", one.it.0, one.it.1));
    let what: Vec<String> = image.into_iter().chain(modules).chain(named).collect();
    (!what.is_empty())
        .then(|| Check { path: Some(setup.path.clone()), ..Check::new("setup", Status::Ok, what.join(", ")) })
}

/// The framework that a distribution carries, or has builds of.
pub(super) fn framework(name: &str) -> Option<&'static str> {
    if name == "jaxlib" { Some("jax") } else { index::Pins::package(name).filter(|one| is_built(one)) }
}

fn is_built(package: &str) -> bool {
    builds::all().build.iter().any(|build| build.package == package)
}

pub(super) fn at(setup: &Setup, line: u32, check: Check) -> Check {
    Check { path: Some(setup.path.clone()), line: Some(line), ..check }
}

/// `11.6`, `10.2 and 11.3`, `10.2, 11.3 and 11.6`
pub(super) fn listed(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A build that there is not.
fn build(setup: &Setup, list: &List, package: &Package) -> Option<Check> {
    let name = framework(&package.name)?;
    let release = package.release.as_ref()?;
    let known = builds::build(name, release)?;
    let (cuda, has) = match name {
        "torch" if list.is_conda => return conda::build(setup, list, package, known),
        "torch" => {
            let cuda = Release::of_tag(list.tag_of(package)?)?;
            let has = known.may_have(&cuda);
            (cuda, has)
        }
        "jax" => {
            let cuda = asked_of_jax(package)?;
            let has = known.cuda().filter_map(Release::parse).any(|one| one.major() == cuda.major());
            (cuda, has)
        }
        _ => return None,
    };
    if has {
        return None;
    }
    Some(at(setup, package.line, missing(list, package, name, &cuda, known)))
}

fn missing(list: &List, package: &Package, name: &str, cuda: &Release, known: &Build) -> Check {
    let release = package.release.as_ref().map(ToString::to_string).unwrap_or_default();
    let all: Vec<&str> = known.cuda().collect();
    // Another index may have a release of the same number, for another CUDA.
    let falls_back = package.local.is_none() && !list.is_only && name == "torch";
    let status = if falls_back { Status::Warning } else { Status::Error };
    let found = format!("{name} {release} was not built for CUDA {cuda}");
    let check =
        Check::new("wheel", status, found).required(format!("it was built for CUDA {}", listed(&all)));
    let last = all.last().copied().and_then(Release::parse);
    let instead = last.filter(|_| name == "torch").map_or_else(
        || {
            format!(
                "install a release of {name} that was built for CUDA {cuda}, or `{name}[cuda{}]`",
                known.cuda().next_back().and_then(|one| one.split('.').next()).unwrap_or_default()
            )
        },
        |last| format!("use the index of `{}`, or a release that was built for CUDA {cuda}", last.tag()),
    );
    let pypi = known.pypi.as_ref().filter(|_| falls_back);
    match pypi {
        Some(pypi) => check.help(format!("pip takes the build for CUDA {pypi} from PyPI instead: {instead}")),
        None => check.help(instead),
    }
}

/// The major version of CUDA in `jax[cuda12_pip]`, or in `jaxlib==0.3.25+cuda11.cudnn82`.
fn asked_of_jax(package: &Package) -> Option<Release> {
    let local = package.local.as_deref();
    let mut named = package.extras.iter().map(String::as_str).chain(local);
    named.find_map(|one| Release::parse(one.strip_prefix("cuda")?))
}

/// A Python that a release has no wheel for.
fn python(setup: &Setup, package: &Package) -> Option<Check> {
    let python = setup.python.as_ref()?;
    let release = package.release.as_ref()?;
    let (_, index) = index::of(index::Pins::package(&package.name)?)?;
    let at_most = index.releases.from(&release.to_string())?;
    let read = Release::parse(index.releases.name(at_most))?;
    if read.short() != release.short() {
        return None;
    }
    let (first, last) = index.releases.python(at_most)?;
    let last = last?;
    let (oldest, newest) = (Release::parse(first)?, Release::parse(last)?);
    let is = python.it.short();
    if (oldest..=newest).contains(&is) {
        return None;
    }
    let check = Check::new(
        "python",
        Status::Error,
        format!("{} {release} has no wheel for Python {is}", package.name),
    );
    Some(at(
        setup,
        package.line,
        check
            .required(format!("it has wheels for Python {first} to {last}"))
            .help("change the Python version, or the release"),
    ))
}

/// Builds for the CPU alone where a GPU is meant.
fn cpu_only(setup: &Setup) -> Vec<Check> {
    let is_for_gpu =
        setup.gpu.is_some() || setup.image.as_ref().is_some_and(|image| image.it.is_gpu == Some(true));
    if !is_for_gpu || setup.kind == Kind::Requirements {
        return Vec::new();
    }
    let has_plugin = setup.packages().any(|(_, one)| one.name.starts_with("jax-cuda"));
    let asks = |one: &Package| {
        one.local.as_deref().is_some_and(|local| local.starts_with("cuda"))
            || one.extras.iter().any(|extra| extra.starts_with("cuda"))
    };
    let asks_for_cuda = setup.packages().any(|(_, one)| framework(&one.name) == Some("jax") && asks(one));
    // An image with a framework in it uses the GPU for that one.
    let has_other = setup.image.as_ref().is_some_and(|image| image.it.carries.is_some());
    let is_cpu = |list: &List, one: &Package| match &*one.name {
        "cpuonly" | "pytorch-cpu" | "tensorflow-cpu" | "intel-tensorflow" => true,
        "jax" if !list.is_conda => !has_plugin && !asks_for_cuda && !has_other,
        "torch" => list.tag_of(one) == Some("cpu"),
        _ => false,
    };
    let found = setup.packages().filter(|(list, one)| is_cpu(list, one));
    let meant = setup.image.as_ref().filter(|image| image.it.is_gpu == Some(true));
    let meant = meant.map_or_else(
        || "the job requests a GPU".to_owned(),
        |image| format!("the image `{}` is for GPUs", image.it.name),
    );
    found
        .map(|(_, one)| {
            let help = if one.name == "jax" { "install `jax[cuda12]`" } else { "install a build for CUDA" };
            let check =
                Check::new("wheel", Status::Warning, format!("`{}` installs a CPU-only build", one.text));
            at(setup, one.line, check.required(meant.clone()).help(help))
        })
        .collect()
}

/// Several releases of CUDA in one job.
fn modules(setup: &Setup) -> Option<Check> {
    let mut cuda = setup.modules.iter().filter(|one| one.it.0 == "cuda");
    let first = cuda.next()?;
    let other = cuda.find(|one| one.it.1 != first.it.1)?;
    let check =
        Check::new("modules", Status::Warning, format!("loads cuda/{} and cuda/{}", first.it.1, other.it.1));
    Some(at(
        setup,
        other.line,
        check.required("the module loaded last is found first").help("load one of them"),
    ))
}

/// Whether a project's pins allow what is installed.
pub(in crate::engine::doctor) fn pins(
    cwd: &Path,
    pins: &index::Pins,
    machine: &Machine,
    checks: &mut Vec<Check>,
) {
    let Some(environment) = &machine.environment else { return };
    for framework in &environment.frameworks {
        let all = pins.all(&framework.package);
        let strong: Vec<_> = all.into_iter().filter(|pin| !pin.origin.is_weak).collect();
        let Some(first) = strong.first() else { continue };
        if strong.iter().any(|pin| pin.allows(&framework.version)) {
            continue;
        }
        let check = Check::new("pins", Status::Warning, format!("{} is installed", framework.described()))
            .required(format!("the project requires `{}`", first.text))
            .help("install what the project requires, or change the requirement");
        let path = shown_path(cwd, &Path::new(&first.origin.base).join(&first.origin.file));
        checks.push(Check { path: Some(path), line: Some(first.origin.line), ..check });
    }
}

/// Whether a driver runs what an image brings.
pub(super) fn driver(
    setup: &Setup,
    cuda: &Release,
    name: &str,
    line: u32,
    machine: &Machine,
) -> Option<Check> {
    if machine.driver.cuda().is_none() || runs_under(cuda, &machine.driver) != Some(false) {
        return None;
    }
    let least = builds::driver_for(cuda)?;
    let check = Check::new("image", Status::Error, format!("`{name}` with {}", machine.driver.described()));
    Some(at(
        setup,
        line,
        check
            .required(format!("CUDA {cuda} requires driver {least} or newer"))
            .help("update the driver, or use an image for an older CUDA"),
    ))
}
