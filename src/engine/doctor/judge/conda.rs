//! PyTorch's own channel of conda: `cudatoolkit` chose the build up to torch 1.12, `pytorch-cuda` from 1.13 on
//! (<https://pytorch.org/get-started/previous-versions>).

use super::setups::{at, listed};
use crate::apis::builds::{Build, Release};
use crate::engine::doctor::written::{List, Package, Setup};
use crate::engine::doctor::{Check, Status};

/// From this release on `pytorch-cuda` chooses the build.
const CHANGED: &str = "1.13";

/// Whether PyTorch's channel is asked, and no other before it.
fn is_of_pytorch(list: &List) -> bool {
    let place = |name: &str| list.channels.iter().position(|channel| channel == name);
    place("pytorch").is_some_and(|own| place("conda-forge").is_none_or(|other| own < other))
}

fn is_new(release: &Release) -> bool {
    Release::parse(CHANGED).is_some_and(|changed| *release >= changed)
}

/// A build that there is not.
pub(super) fn build(setup: &Setup, list: &List, torch: &Package, known: &Build) -> Option<Check> {
    let release = torch.release.as_ref()?;
    let chooser = if is_new(release) { "pytorch-cuda" } else { "cudatoolkit" };
    let chosen = list.package(chooser)?;
    let cuda = chosen.release.as_ref()?.short();
    if !is_of_pytorch(list) || known.may_have(&cuda) {
        return None;
    }
    let all: Vec<&str> = known.cuda().collect();
    let check = Check::new("conda", Status::Error, format!("torch {release} was not built for CUDA {cuda}"));
    let last = all.last().copied().unwrap_or_default();
    Some(at(
        setup,
        chosen.line,
        check
            .required(format!("it was built for CUDA {}", listed(&all)))
            .help(format!("use `{chooser}={last}`, or a release that was built for CUDA {cuda}")),
    ))
}

pub(super) fn judge(setup: &Setup, list: &List) -> Vec<Check> {
    if !list.is_conda || !is_of_pytorch(list) {
        return Vec::new();
    }
    let torch = list.package("pytorch");
    let release = torch.and_then(|torch| torch.release.as_ref());
    let (toolkit, chooser) = (list.package("cudatoolkit"), list.package("pytorch-cuda"));
    let mut found = Vec::new();
    if let (Some(release), Some(toolkit), None) = (release.filter(|one| is_new(one)), toolkit, chooser) {
        let cuda = toolkit.release.as_ref().map_or_else(|| "11.8".to_owned(), |one| one.short().to_string());
        found.push(at(
            setup,
            toolkit.line,
            Check::new(
                "conda",
                Status::Warning,
                format!("`{}` does not choose the build of pytorch {release}", toolkit.text),
            )
            .required(format!("pytorch {CHANGED} and newer require `pytorch-cuda`"))
            .help(format!("replace it with `pytorch-cuda={cuda}`, and add the channel `nvidia`")),
        ));
    }
    if let Some(chooser) = chooser {
        if let Some(release) = release.filter(|one| !is_new(one)) {
            found.push(at(
                setup,
                chooser.line,
                Check::new("conda", Status::Error, format!("`{}` with pytorch {release}", chooser.text))
                    .required(format!("pytorch before {CHANGED} requires `cudatoolkit`"))
                    .help("replace it with `cudatoolkit`"),
            ));
        } else if !list.channels.iter().any(|channel| channel == "nvidia") {
            found.push(at(
                setup,
                chooser.line,
                Check::new(
                    "conda",
                    Status::Warning,
                    format!("`{}` without the channel `nvidia`", chooser.text),
                )
                .required("the channel that has its libraries")
                .help("add the channel `nvidia`"),
            ));
        }
    }
    found
}
