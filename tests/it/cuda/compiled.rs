//! The kernels under NVIDIA's compiler, which needs neither a GPU nor a driver. `.ci/kernels` installs it and says
//! where it is; without that, what can be checked is that the PTX belongs to its source.

use super::programs;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use trainlint::replay::cuda::nvrtc::Nvrtc;
use trainlint::replay::cuda::{INTERPRETER, INTERPRETER_PTX, STEP, STEP_PTX, fused};
use trainlint::replay::ir::lower;
use trainlint::replay::plan::hash;
use trainlint::report::replay::{Float, Program};

/// The oldest that knows all we write; its PTX runs on every driver since.
const MADE_BY: (i32, i32) = (11, 8);
const LOWEST: &str = "compute_60";
/// Turing, Hopper, Blackwell.
const GPUS: [&str; 3] = ["sm_75", "sm_90", "sm_120"];

fn said(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        eprintln!("left out: {variable} does not say where NVIDIA's compiler is; `.ci/kernels` installs it");
    }
    path
}

/// What the binary holds: a name, the source, and the PTX of it.
const KERNELS: [(&str, &str, &str); 2] =
    [("interpreter", INTERPRETER, INTERPRETER_PTX), ("step", STEP, STEP_PTX)];

fn with_its_source(name: &str, source: &str, ptx: &str) -> String {
    format!(
        "// NVRTC 11.8 made this of `{name}.cu` and what comes before it: {}\n{ptx}",
        hash(source.as_bytes())
    )
}

#[test]
fn the_ptx_belongs_to_its_source() {
    for (name, source, ptx) in KERNELS {
        let first = ptx.lines().next().unwrap_or_default();
        assert!(
            first.ends_with(&hash(source.as_bytes())),
            "`{name}` has changed since its PTX was made: `UPDATE=1 .ci/kernels` makes it anew"
        );
    }
}

#[test]
fn nvrtc_makes_the_same_ptx() {
    let Some(path) = said("TRAINLINT_NVRTC_11_8") else { return };
    let nvrtc = Nvrtc::open(&path).unwrap();
    assert_eq!(nvrtc.version, MADE_BY, "{}", path.display());
    for (name, source, known) in KERNELS {
        let made = String::from_utf8(nvrtc.compile(source, LOWEST).unwrap()).unwrap();
        let ptx = with_its_source(name, source, &made);
        if std::env::var_os("UPDATE").is_some() {
            let file = format!("src/replay/cuda/kernels/{name}.ptx");
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), ptx).unwrap();
            continue;
        }
        assert!(ptx == known, "NVRTC makes another PTX of `{name}`: `UPDATE=1 .ci/kernels` writes it");
    }
}

/// The assembler of the newest toolkit stands for what drivers do with PTX that is older than they are.
#[test]
fn the_ptx_is_assembled_for_every_gpu() {
    let Some(ptxas) = said("TRAINLINT_PTXAS") else { return };
    let folder = tempfile::TempDir::new().unwrap();
    for (name, _, ptx) in KERNELS {
        let file = folder.path().join(name);
        std::fs::write(&file, ptx).unwrap();
        for gpu in GPUS {
            let ran = Command::new(&ptxas)
                .args(["--gpu-name", gpu, "-o", "/dev/null"])
                .arg(&file)
                .output()
                .unwrap();
            assert!(ran.status.success(), "{name} for {gpu}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
}

#[test]
fn nvrtc_compiles_generated_kernels() {
    let Some(path) = said("TRAINLINT_NVRTC") else { return };
    let nvrtc = Nvrtc::open(&path).unwrap();
    let sources = |programs: Vec<(String, Program)>| -> BTreeMap<String, String> {
        programs.into_iter().map(|(name, program)| (fused::source(&lower(&program, 4)), name)).collect()
    };
    // What replays run, for each GPU; and every function in f32 and f64 for one of them, as the half types are
    // f32 that is rounded.
    let mut whole = programs::fixtures();
    whole.extend(programs::random(8));
    let mut all: Vec<(String, String, &str)> = Vec::new();
    for (source, name) in sources(whole) {
        all.extend(GPUS.map(|gpu| (source.clone(), name.clone(), gpu)));
    }
    let mut functions = programs::functions();
    functions.retain(|(_, program)| matches!(program.dtype, Float::F32 | Float::F64));
    let single = sources(functions).into_iter().zip(GPUS.iter().cycle());
    all.extend(single.map(|((source, name), gpu)| (source, name, *gpu)));
    all.extend(GPUS.map(|gpu| (STEP.to_owned(), "the kernel that trains".to_owned(), gpu)));
    all.par_iter().for_each(|(source, name, gpu)| {
        let image = nvrtc.compile(source, gpu).unwrap_or_else(|told| panic!("{name} for {gpu}: {told}"));
        assert!(image.starts_with(b"\x7fELF"), "{name} for {gpu}");
    });
}
