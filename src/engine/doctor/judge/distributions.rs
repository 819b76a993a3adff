//! The installed distributions against each other: what is there twice, and what does not fit what requires it.

use crate::apis::builds::Release;
use crate::apis::index::Pins;
use crate::engine::doctor::installed::{name_of, plain};
use crate::engine::doctor::machine::{Distribution, Environment};
use crate::engine::doctor::{Check, Status};
use pep440_rs::{Version, VersionSpecifiers};
use std::collections::BTreeMap;
use std::str::FromStr;

const NAME: &str = "packages";

pub(super) fn judge(environment: &Environment, checks: &mut Vec<Check>) {
    let before = checks.len();
    checks.extend(twice(environment));
    checks.extend(overwritten(environment));
    checks.extend(environment.distributions.iter().flat_map(|one| unmet(one, environment)));
    checks.extend(mixed(environment));
    if checks.len() == before && !environment.frameworks.is_empty() {
        checks.push(Check::new(NAME, Status::Ok, "the installed packages fit each other"));
    }
}

fn is_of_framework(name: &str) -> bool {
    Pins::package(name).is_some() || name.starts_with("jax") || name.starts_with("nvidia-")
}

/// Distributions that install one package.
fn twice(environment: &Environment) -> Vec<Check> {
    let mut carriers: BTreeMap<&str, Vec<&Distribution>> = BTreeMap::new();
    for one in &environment.distributions {
        carriers.entry(Pins::package(&one.name).unwrap_or(&one.name)).or_default().push(one);
    }
    let requires = |a: &Distribution, b: &Distribution| {
        a.requires.iter().any(|required| plain(name_of(required)) == b.name)
    };
    let several = carriers.into_iter().filter(|(package, all)| {
        is_of_framework(package)
            && all.len() > 1
            && !all.iter().any(|a| all.iter().any(|b| a.name != b.name && requires(a, b)))
    });
    several
        .map(|(package, all)| {
            let named: Vec<String> = all.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
            let names: Vec<&str> = all.iter().map(|one| &*one.name).collect();
            Check::new(NAME, Status::Error, format!("{} all install `{package}`", named.join(", ")))
                .required("one of them: files of one overwrite those of another")
                .help(format!("`pip uninstall {}`, then install one", names.join(" ")))
        })
        .collect()
}

/// Libraries that two distributions write to one place.
fn overwritten(environment: &Environment) -> Vec<Check> {
    let mut owners: BTreeMap<&str, Vec<&Distribution>> = BTreeMap::new();
    for one in &environment.distributions {
        for file in &one.libraries {
            owners.entry(file).or_default().push(one);
        }
    }
    let mut found: Vec<Check> = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (file, all) in owners {
        let [first, second, ..] = all[..] else { continue };
        if first.name == second.name || seen.contains(&(&first.name, &second.name)) {
            continue;
        }
        seen.push((&first.name, &second.name));
        let named = format!("{} {} and {} {}", first.name, first.version, second.name, second.version);
        found.push(
            Check::new(NAME, Status::Error, format!("{named} both install `{file}`"))
                .required("one CUDA in an environment: the package installed last is used by all")
                .help(format!("uninstall both, then reinstall the one that is needed with `pip install --force-reinstall {}`", second.name)),
        );
    }
    found
}

/// Requirements of a distribution that what is installed does not meet.
fn unmet(one: &Distribution, environment: &Environment) -> Vec<Check> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for required in &one.requires {
        let name = plain(name_of(required));
        if !is_of_framework(&name) || !is_of_framework(&one.name) {
            continue;
        }
        let wanted = specifiers(&required[name_of(required).len()..]);
        let shown = required.replace([' ', '(', ')'], "");
        let said = format!("{} {} requires {shown}", one.name, one.version);
        let Some(installed) = environment.distribution(&name) else {
            // Other packages may be installed under other names, as conda does.
            if name.starts_with("nvidia-") {
                missing.push(shown);
            }
            continue;
        };
        let (Some(wanted), Ok(version)) = (wanted, Version::from_str(&installed.version)) else { continue };
        if !wanted.contains(&version) {
            found.push(
                Check::new(NAME, Status::Error, format!("{name} {version} is installed"))
                    .required(said)
                    .help(format!("`pip install '{shown}'`, or reinstall both together")),
            );
        }
    }
    if let Some(first) = missing.first() {
        let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        found.push(
            Check::new(NAME, Status::Error, format!("`{first}`{more} not installed"))
                .required(format!("{} {} requires them", one.name, one.version))
                .help(format!("`pip install --force-reinstall {}=={}`", one.name, one.version)),
        );
    }
    found
}

/// `(>=1.2)`, `[extra]==2.0`
fn specifiers(text: &str) -> Option<VersionSpecifiers> {
    let text = match text.trim().strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.1,
        None => text,
    };
    VersionSpecifiers::from_str(text.trim().trim_matches(['(', ')'])).ok().filter(|all| !all.is_empty())
}

/// Builds of torch's companions for another CUDA than torch's.
fn mixed(environment: &Environment) -> Vec<Check> {
    let Some(torch) = environment.framework("torch") else { return Vec::new() };
    let Some(cuda) = torch.built_for() else { return Vec::new() };
    let tagged =
        environment.distributions.iter().filter(|one| one.name.starts_with("torch") && one.name != "torch");
    let other = tagged.filter_map(|one| {
        let tag = one.version.split_once('+')?.1;
        let built = Release::of_tag(tag);
        let differs = tag == "cpu" || built.as_ref().is_some_and(|built| built.short() != cuda.short());
        let what = built.map_or_else(|| "the CPU".to_owned(), |built| format!("CUDA {built}"));
        differs.then(|| {
            Check::new(NAME, Status::Error, format!("{} {} is built for {what}", one.name, one.version))
                .required(format!("{} needs the build for CUDA {}", torch.described(), cuda.short()))
                .help(format!(
                    "reinstall it with `--index-url https://download.pytorch.org/whl/{}`",
                    cuda.tag()
                ))
        })
    });
    other.collect()
}
