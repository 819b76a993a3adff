//! The libraries of CUDA: those that builds look for on the machine, their versions, and what
//! `LD_LIBRARY_PATH` puts before the ones that were installed for a build.

use crate::apis::builds::{self, Release};
use crate::engine::doctor::machine::{Distribution, Environment, Framework, Library, Machine};
use crate::engine::doctor::{Check, Status};

const NAME: &str = "libraries";

pub(super) fn judge(machine: &Machine, environment: &Environment, checks: &mut Vec<Check>) {
    for framework in &environment.frameworks {
        let Some(cuda) = framework.built_for() else { continue };
        if framework.package == "tensorflow" && !machine.cards.is_empty() {
            checks.extend(looked_for(machine, environment, framework, &cuda));
        }
        checks.extend(cudnn(environment, framework, &cuda));
    }
    checks.extend(shadowed(machine, environment));
}

/// What a build looks for on the machine and does not find.
fn looked_for(
    machine: &Machine,
    environment: &Environment,
    framework: &Framework,
    cuda: &Release,
) -> Option<Check> {
    let release = framework.release()?;
    let build = builds::build(&framework.package, &release)?;
    let cudnn = build.variants.iter().find_map(|one| one.cudnn.as_deref()).and_then(Release::parse)?;
    // `tensorflow[and-cuda]` finds what it has installed.
    let brings = |name: &str| environment.distributions.iter().any(|one| one.name.starts_with(name));
    let is_found_by_itself = release >= Release::parse("2.14")?;
    let wanted = [runtime(cuda), format!("libcudnn.so.{}", cudnn.major())];
    let packages = ["nvidia-cuda-runtime", "nvidia-cudnn"];
    let missing: Vec<String> = wanted
        .into_iter()
        .zip(packages)
        .filter(|(name, package)| {
            let is_there = machine.libraries.iter().any(|one| one.name == *name);
            !(is_there || is_found_by_itself && brings(package))
        })
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let described = framework.described();
    let check = Check::new(
        NAME,
        Status::Error,
        format!("{} not found: {described} does not use the GPU", missing.join(" and ")),
    )
    .required(format!("it requires CUDA {} and cuDNN {cudnn}", cuda.short()));
    let help = if is_found_by_itself {
        format!("install `tensorflow[and-cuda]=={release}`")
    } else {
        "install them, and add their folder to LD_LIBRARY_PATH".to_owned()
    };
    Some(check.help(help))
}

/// The name that the runtime of a CUDA release is loaded by.
fn runtime(cuda: &Release) -> String {
    match cuda.major() {
        ..=10 => format!("libcudart.so.{}", cuda.short()),
        11 => "libcudart.so.11.0".to_owned(),
        major => format!("libcudart.so.{major}"),
    }
}

/// Whether the cuDNN beside a build is at least the one that it was built with. torch names its own exactly.
fn cudnn(environment: &Environment, framework: &Framework, cuda: &Release) -> Option<Check> {
    if framework.package == "torch" {
        return None;
    }
    let name = format!("nvidia-cudnn-cu{}", cuda.major());
    let installed = environment.distribution(&name)?;
    let build = builds::build(&framework.package, &framework.release()?)?;
    let variant = build
        .variants
        .iter()
        .find(|one| Release::parse(&one.cuda).is_some_and(|one| one.major() == cuda.major()))?;
    let least = Release::parse(variant.cudnn.as_deref()?)?;
    let is = Release::parse(&installed.version)?;
    if is.major() == least.major() && is >= least {
        return None;
    }
    let next = least.major() + 1;
    Some(
        Check::new(
            NAME,
            Status::Error,
            format!("{name} {} with {}", installed.version, framework.described()),
        )
        .required(format!("it requires cuDNN {least} or newer, below {next}"))
        .help(format!("`pip install '{name}>={least},<{next}'`")),
    )
}

/// What `LD_LIBRARY_PATH` puts before libraries that were installed for a build.
fn shadowed(machine: &Machine, environment: &Environment) -> Vec<Check> {
    let mut found = Vec::new();
    for library in machine.libraries.iter().filter(|one| one.is_preferred) {
        let Some((owner, own)) = installed(library, environment) else { continue };
        let (Some(version), Some(wanted)) =
            (library.version.as_deref().and_then(Release::parse), Release::parse(&owner.version))
        else {
            continue;
        };
        // What is in the folder that the wheel itself installed is no other library.
        if library.folder.ends_with(own) || wanted.short() == version.short() {
            continue;
        }
        found.push(
            Check::new(
                NAME,
                Status::Warning,
                format!("LD_LIBRARY_PATH leads to `{}` {version} in `{}`", library.name, library.folder),
            )
            .required(format!("{} {} is installed for this environment", owner.name, owner.version))
            .help("remove the folder from LD_LIBRARY_PATH: the installed builds bring their own CUDA"),
        );
    }
    found
}

/// The distribution that installs a library of the same name, and the folder it does so in.
fn installed<'e>(library: &Library, environment: &'e Environment) -> Option<(&'e Distribution, &'e str)> {
    environment.distributions.iter().find_map(|one| {
        let file = one.libraries.iter().find(|file| file.rsplit('/').next() == Some(&library.name))?;
        Some((one, file.rsplit_once('/').map_or("", |(folder, _)| folder)))
    })
}
