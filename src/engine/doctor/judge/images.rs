//! The CUDA that an image, conda or a module brings, against what is installed over it: TensorFlow looks for its
//! CUDA and cuDNN there, code of one's own is compiled with it, and a driver has to run it.

use super::setups::{at, driver, framework};
use crate::apis::builds::{self, Release};
use crate::engine::doctor::machine::Machine;
use crate::engine::doctor::written::{Package, Setup};
use crate::engine::doctor::{Check, Status};

/// Where CUDA comes from, and in which release.
struct Toolkit {
    name: String,
    cuda: Release,
    cudnn: Option<Release>,
    lacks_cudnn: bool,
    line: u32,
}

pub(super) fn judge(setup: &Setup, machine: Option<&Machine>) -> Vec<Check> {
    let mut found = Vec::new();
    let toolkit = toolkit(setup);
    if let Some(toolkit) = &toolkit {
        found.extend(setup.packages().filter_map(|(_, one)| tensorflow(setup, one, toolkit)));
        found.extend(
            setup
                .packages()
                .filter_map(|(list, one)| older(setup, list.tag.is_some() || list.is_conda, one, toolkit)),
        );
        let is_image = setup.image.as_ref().is_some_and(|image| image.line == toolkit.line);
        if let Some(machine) = machine.filter(|machine| is_image && !machine.cards.is_empty()) {
            found.extend(driver(setup, &toolkit.cuda, &toolkit.name, toolkit.line, machine));
        }
    }
    found.extend(compiler(setup));
    found
}

fn toolkit(setup: &Setup) -> Option<Toolkit> {
    let image = setup.image.as_ref().and_then(|image| {
        let cuda = image.it.cuda.clone()?;
        let (cudnn, lacks_cudnn) = (image.it.cudnn.clone(), image.it.lacks_cudnn && !setup.has_cudnn);
        Some(Toolkit { name: image.it.name.clone(), cuda, cudnn, lacks_cudnn, line: image.line })
    });
    let package = |name: &str| {
        setup.packages().find(|(list, one)| list.is_conda && one.name == name).map(|(_, one)| one)
    };
    let conda = package("cudatoolkit").and_then(|one| {
        let cudnn = package("cudnn").and_then(|one| one.release.clone());
        let (name, cuda) = (one.text.clone(), one.release.clone()?);
        Some(Toolkit { name, cuda, cudnn, lacks_cudnn: false, line: one.line })
    });
    let module = |name: &str| setup.modules.iter().rfind(|one| one.it.0 == name);
    let loaded = module("cuda").map(|one| Toolkit {
        name: format!("cuda/{}", one.it.1),
        cuda: one.it.1.clone(),
        cudnn: module("cudnn").map(|one| one.it.1.clone()),
        lacks_cudnn: false,
        line: one.line,
    });
    conda.or(image).or(loaded).filter(|toolkit| toolkit.cuda.says(2))
}

/// TensorFlow that looks for another CUDA, or another cuDNN.
fn tensorflow(setup: &Setup, package: &Package, toolkit: &Toolkit) -> Option<Check> {
    if framework(&package.name) != Some("tensorflow")
        || package.name.contains("cpu")
        || package.extras.iter().any(|extra| extra == "and-cuda")
    {
        return None;
    }
    let release = package.release.as_ref()?;
    // Before 2.1 there was a distribution of its own for GPUs.
    if package.name == "tensorflow" && Release::parse("2.1").is_some_and(|first| *release < first) {
        return None;
    }
    let variant = builds::build("tensorflow", release)?.variants.first()?;
    let cuda = Release::parse(&variant.cuda)?;
    let cudnn = variant.cudnn.as_deref().and_then(Release::parse)?;
    let wanted = format!("it was built with CUDA {cuda} and cuDNN {cudnn}");
    // From 11 on a major version is loaded by one name.
    let fits =
        toolkit.cuda.major() == cuda.major() && (cuda.major() > 10 || toolkit.cuda.short() == cuda.short());
    let found = if !fits {
        format!("`{}` brings CUDA {}", toolkit.name, toolkit.cuda)
    } else if let Some(has) = toolkit.cudnn.as_ref().filter(|has| has.major() != cudnn.major()) {
        format!("`{}` brings cuDNN {has}", toolkit.name)
    } else if toolkit.lacks_cudnn {
        format!("`{}` has no cuDNN", toolkit.name)
    } else {
        return None;
    };
    let bundled = Release::parse("2.14").is_some_and(|first| *release >= first);
    let help = if bundled {
        format!("install `tensorflow[and-cuda]=={release}`")
    } else {
        format!("use CUDA {cuda} with cuDNN {}, e.g. `tensorflow/tensorflow:{release}-gpu`", cudnn.major())
    };
    let check = Check::new(
        "image",
        Status::Error,
        format!("{found}: {} {release} does not use the GPU", package.name),
    );
    Some(at(setup, package.line, check.required(wanted).help(help)))
}

/// torch from PyPI that was built for a CUDA of another age than the one that was chosen around it.
fn older(setup: &Setup, is_chosen: bool, package: &Package, toolkit: &Toolkit) -> Option<Check> {
    if package.name != "torch" || is_chosen || package.local.is_some() || toolkit.cuda.major() < 11 {
        return None;
    }
    let release = package.release.as_ref()?;
    let build = builds::build("torch", release)?;
    let pypi = Release::parse(build.pypi.as_ref()?).filter(|pypi| pypi.major() < 11)?;
    let check =
        Check::new("wheel", Status::Warning, format!("torch {release} on PyPI was built for CUDA {pypi}"))
            .required("it has no code for Ampere GPUs and newer (A100, RTX 30)");
    let other = build.cuda().filter_map(Release::parse).rfind(|cuda| cuda.major() >= 11);
    let check = match other {
        Some(cuda) => check.help(format!(
            "add `--extra-index-url https://download.pytorch.org/whl/{}`, and `+{}` to the version",
            cuda.tag(),
            cuda.tag()
        )),
        None => check.help("install a newer release"),
    };
    Some(at(setup, package.line, check))
}

/// Code of one's own, and no compiler for it.
fn compiler(setup: &Setup) -> Option<Check> {
    let image = setup.image.as_ref().filter(|image| image.it.lacks_compiler)?;
    let line = setup.compiles.filter(|_| setup.has_kernels)?;
    let check = Check::new("image", Status::Error, format!("`{}` has no CUDA compiler", image.it.name))
        .required("`setup.py` builds CUDA extensions")
        .help("use the `devel` variant of the image");
    Some(at(setup, line, check))
}
