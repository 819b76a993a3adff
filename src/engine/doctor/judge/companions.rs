//! torchvision and torchaudio beside torch: releases that belong together, builds for one CUDA.

use super::setups::at;
use crate::apis::builds::{self, Release};
use crate::engine::doctor::written::{List, Package, Setup};
use crate::engine::doctor::{Check, Status};

pub(super) fn judge(setup: &Setup, list: &List) -> Vec<Check> {
    let Some(torch) = list.package("torch").or_else(|| list.package("pytorch")) else { return Vec::new() };
    let companions = ["torchvision", "torchaudio"].into_iter().filter_map(|name| list.package(name));
    let found = companions.filter_map(|one| release(setup, torch, one).or_else(|| cuda(setup, torch, one)));
    found.collect()
}

/// The release of another torch.
fn release(setup: &Setup, torch: &Package, one: &Package) -> Option<Check> {
    let (own, other) = (torch.release.as_ref()?, one.release.as_ref()?);
    let build = builds::build("torch", own)?;
    let wanted = if one.name == "torchvision" { &build.torchvision } else { &build.torchaudio };
    let wanted = Release::parse(wanted.as_ref()?)?;
    // Before 0.4 torchvision took any torch.
    let is_loose = one.name == "torchvision" && Release::parse("0.4").is_some_and(|first| *other < first);
    if other.starts_with(&wanted) || is_loose {
        return None;
    }
    let check =
        Check::new("wheel", Status::Error, format!("{} {other} does not belong to torch {own}", one.name));
    Some(at(
        setup,
        one.line,
        check
            .required(format!("torch {own} requires {} {wanted}", one.name))
            .help("install releases that belong together"),
    ))
}

/// A build for another CUDA, by what follows the `+` of both versions.
fn cuda(setup: &Setup, torch: &Package, one: &Package) -> Option<Check> {
    let (own, other) = (torch.local.as_deref()?, one.local.as_deref()?);
    let is_tag = |tag: &str| tag == "cpu" || Release::of_tag(tag).is_some();
    if own == other || !is_tag(own) || !is_tag(other) {
        return None;
    }
    let check = Check::new("wheel", Status::Error, format!("`{}` beside `{}`", one.text, torch.text));
    Some(at(setup, one.line, check.required("builds for one CUDA").help(format!("use `+{own}` for both"))))
}
