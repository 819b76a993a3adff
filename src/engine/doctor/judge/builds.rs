//! The builds of the frameworks: whether they are for a GPU, run under the driver, and have code for the cards.

use crate::apis::builds::{self, Build, Release};
use crate::engine::doctor::machine::{Card, Driver, Environment, Framework, Machine};
use crate::engine::doctor::{Check, Status};

pub(super) fn judge(machine: &Machine, environment: &Environment, checks: &mut Vec<Check>) {
    for framework in &environment.frameworks {
        checks.push(build(machine, environment, framework));
        let Some(cuda) = framework.built_for() else { continue };
        let mut seen: Vec<&str> = Vec::new();
        for card in &machine.cards {
            if !seen.contains(&&*card.capability) {
                seen.push(&card.capability);
                checks.extend(code(machine, framework, &cuda, card));
            }
        }
    }
}

/// Whether the build is for a GPU, and runs under the driver.
fn build(machine: &Machine, environment: &Environment, framework: &Framework) -> Check {
    let has_gpu = !machine.cards.is_empty() || machine.driver.listed > 0;
    let described = framework.described();
    if framework.is_cpu && has_gpu {
        // Where another framework has the GPU, this may well be on purpose.
        let is_alone = !environment.frameworks.iter().any(|one| one.cuda.is_some());
        let status = if is_alone { Status::Error } else { Status::Warning };
        let check =
            Check::new("build", status, format!("{described} is a CPU-only build; this machine has a GPU"));
        return Check { help: install(framework, machine), ..check };
    }
    let Some(cuda) = framework.built_for() else {
        let kind = if framework.is_cpu { " (CPU only)" } else { "" };
        return Check::new("build", Status::Ok, format!("{described}{kind}"));
    };
    if runs_under(&cuda, &machine.driver) != Some(false) {
        return Check::new("build", Status::Ok, described);
    }
    let check =
        Check::new("build", Status::Error, format!("{described} with {}", machine.driver.described()));
    let least =
        builds::driver_for(&cuda).map(|driver| format!("CUDA {cuda} requires driver {driver} or newer"));
    let help = match install(framework, machine) {
        Some(command) => format!("update the driver, or {command}"),
        None => "update the driver, or install a build for an older CUDA".to_owned(),
    };
    Check { required: least, ..check }.help(help)
}

/// Whether a driver runs programs of a CUDA release: from 11 on all of its major version. `None` if unknown.
pub(in crate::engine::doctor) fn runs_under(cuda: &Release, driver: &Driver) -> Option<bool> {
    if let Some(version) = driver.cuda() {
        let is_family = cuda.major() >= 11;
        return Some(if is_family { version.major() >= cuda.major() } else { version >= cuda.short() });
    }
    let least = Release::parse(builds::driver_for(cuda)?)?;
    Some(Release::parse(driver.version.as_ref()?)? >= least)
}

/// What is wrong with the code that a build has for a card.
fn code(machine: &Machine, framework: &Framework, cuda: &Release, card: &Card) -> Option<Check> {
    let capability = card.capability()?;
    let release = framework.release()?;
    let has = has_code(framework, &release, cuda, &capability)?;
    let described = framework.described();
    let about = format!("{} (compute capability {capability})", card.name);
    if has == Has::Code
        || has == Has::Ptx && machine.driver.cuda().is_none_or(|driver| driver >= cuda.short())
    {
        return Some(Check::new("code", Status::Ok, format!("{described} has code for {about}")));
    }
    let check = Check::new("code", Status::Error, format!("{described} has no code for {about}"));
    if has == Has::Ptx {
        return Some(
            Check { found: format!("{described} has only PTX for {about}"), ..check }
                .required(format!("a driver for CUDA {} or newer has to compile it", cuda.short()))
                .help("update the driver"),
        );
    }
    let knows = builds::generation(&capability).and_then(|one| Some((&*one.name, one.first.as_deref()?)));
    let required = knows.map(|(name, first)| format!("{name} requires CUDA {first} or newer"));
    let required = required
        .filter(|_| knows.and_then(|(_, first)| Release::parse(first)).is_some_and(|first| first > *cuda));
    let help =
        install(framework, machine).or_else(|| other(&framework.package, &release, &capability, machine));
    Some(Check { required, help, ..check })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Code,
    /// The driver has to make code of it.
    Ptx,
    Nothing,
}

/// What a build has for a card, as it says itself, as is written down, or as its CUDA can have; `None` if unknown.
fn has_code(framework: &Framework, release: &Release, cuda: &Release, card: &Release) -> Option<Has> {
    if !framework.code.is_empty() {
        return Some(said(&framework.code, card));
    }
    if let Some(code) = builds::code(&framework.package, release, cuda) {
        let runs = code.has.iter().filter_map(|has| Release::parse(has));
        let is_native = runs.into_iter().any(|has| has.major() == card.major() && has <= *card);
        return Some(match (is_native, code.runs_on(card)) {
            (true, _) => Has::Code,
            (false, true) => Has::Ptx,
            (false, false) => Has::Nothing,
        });
    }
    // Of a major version alone the first release may know less than the one that was built with.
    let is_known = builds::generation(card)?.is_known_to(cuda) || !cuda.says(2);
    // What is known to the toolkit need not be in the build.
    (!is_known).then_some(Has::Nothing)
}

/// `sm_80` runs on cards of its major version, `compute_80` on all from there on.
fn said(names: &[String], card: &Release) -> Has {
    let number = |name: &str| {
        let (major, minor) = name.split_at_checked(name.len().checked_sub(1)?)?;
        Release::parse(&format!("{major}.{minor}"))
    };
    let mut has = Has::Nothing;
    for name in names {
        if let Some(one) = name.strip_prefix("sm_").and_then(number)
            && one.major() == card.major()
            && one <= *card
        {
            return Has::Code;
        }
        if name.strip_prefix("compute_").and_then(number).is_some_and(|one| one <= *card) {
            has = Has::Ptx;
        }
    }
    has
}

/// How to get the same release for this machine, if there is such a build.
pub(in crate::engine::doctor) fn install(framework: &Framework, machine: &Machine) -> Option<String> {
    let release = framework.release()?;
    match &*framework.package {
        "torch" => {
            let build = builds::build("torch", &release)?;
            let cuda = newest(build, &release, machine)?;
            (framework.built_for().as_ref() != Some(&cuda)).then(|| wheel(&release, &cuda))
        }
        "tensorflow" if framework.is_cpu && release >= Release::parse("2.14")? => {
            Some(format!("install `tensorflow[and-cuda]=={release}`"))
        }
        "jax" if framework.is_cpu => {
            let major = machine.driver.cuda().map_or(12, |cuda| cuda.major().clamp(12, 13));
            Some(format!("install `jax[cuda{major}]`"))
        }
        _ => None,
    }
}

fn wheel(release: &Release, cuda: &Release) -> String {
    format!(
        "install the build for CUDA {cuda}: `pip install torch=={release} --index-url https://download.pytorch.org/whl/{}`",
        cuda.tag()
    )
}

/// The newest CUDA of a build that runs here.
fn newest(build: &Build, release: &Release, machine: &Machine) -> Option<Release> {
    let fits = |cuda: &Release| {
        runs_under(cuda, &machine.driver) != Some(false)
            && machine.cards.iter().filter_map(Card::capability).all(|card| {
                builds::code(&build.package, release, cuda).map_or_else(
                    || builds::generation(&card).is_none_or(|one| one.is_known_to(cuda)),
                    |code| code.runs_on(&card),
                )
            })
    };
    build.cuda().rev().filter_map(Release::parse).find(fits)
}

/// The nearest release whose builds have code for a card: the first after this one, else the last before it.
fn other(package: &str, release: &Release, card: &Release, machine: &Machine) -> Option<String> {
    let runs = |cuda: &&String| {
        Release::parse(cuda).is_some_and(|cuda| runs_under(&cuda, &machine.driver) != Some(false))
    };
    let fitting = builds::all().code.iter().filter(|code| code.package == package && code.runs_on(card));
    let fitting = fitting.filter_map(|code| {
        let cuda = code.cuda.iter().rfind(runs)?;
        Some((Release::parse(&code.since)?, Release::parse(&code.until)?, cuda))
    });
    let all: Vec<(Release, Release, &String)> = fitting.collect();
    let later = all.iter().filter(|(since, ..)| since > release).min_by(|a, b| a.0.cmp(&b.0));
    if let Some((since, _, cuda)) = later {
        return Some(format!("install {package} {since} or newer for CUDA {cuda}"));
    }
    let (_, until, cuda) = all.iter().max_by(|a, b| a.1.cmp(&b.1))?;
    Some(format!("install {package} {until} or older for CUDA {cuda}"))
}
