//! Whether there is a GPU to run on. Asked of the driver's library itself, before cudarc is asked for anything:
//! that one panics where the library is missing.
#![allow(unsafe_code, reason = "a driver is a C library")]

use libloading::Library;
use serde::{Deserialize, Serialize};

/// PTX of CUDA 11.8 is what the binary holds.
const OLDEST: i32 = 11_080;

#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];
/// The last two are where WSL and NixOS keep it, which loaders do not always know.
#[cfg(not(windows))]
const NAMES: &[&str] =
    &["libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"];

/// Why nothing can run on a GPU, and what to do about it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct NoGpu {
    /// «no NVIDIA driver was found»
    pub reason: String,
    pub help: String,
    /// A driver is there, and something is wrong with it: worth a word to those who did not insist on a GPU.
    pub broken: bool,
}

impl NoGpu {
    pub fn new(reason: impl Into<String>, help: impl Into<String>) -> NoGpu {
        NoGpu { reason: reason.into(), help: help.into(), broken: true }
    }
}

/// Asks for the library, its version, its readiness and its devices, in this order. Gives the version, as
/// `1000 * major + 10 * minor`.
pub(crate) fn probe() -> Result<i32, NoGpu> {
    let library = open()?;
    let version = version(library)?;
    if version < OLDEST {
        let reason = format!("the NVIDIA driver is for CUDA {}", dotted(version));
        return Err(NoGpu::new(reason, format!("replays need CUDA {}: update the driver", dotted(OLDEST))));
    }
    ready(library).map(|_| version)
}

/// The version of the driver's library, where there is one, and how many devices it shows.
pub(crate) fn survey() -> (Option<i32>, Result<usize, NoGpu>) {
    let library = match open() {
        Ok(library) => library,
        Err(none) => return (None, Err(none)),
    };
    (version(library).ok(), ready(library))
}

/// Initialises the driver, and counts its devices, of which there is one at least.
fn ready(library: &Library) -> Result<usize, NoGpu> {
    // SAFETY: `CUresult cuInit(unsigned int)`, from the reference of the driver API.
    let init = unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"cuInit\0") };
    // SAFETY: it takes flags by value, of which there are none yet.
    let code = init.map(|init| unsafe { init(0) }).map_err(|error| strange(&error))?;
    if code != 0 {
        return Err(refused(code));
    }
    let mut devices = 0;
    // SAFETY: `CUresult cuDeviceGetCount(int *)`.
    let count = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> u32>(b"cuDeviceGetCount\0") };
    // SAFETY: it writes one number to where it is shown, which lives on.
    let code = count.map(|count| unsafe { count(&raw mut devices) }).map_err(|error| strange(&error))?;
    match (code, devices) {
        (0, 1..) => Ok(usize::try_from(devices).unwrap_or_default()),
        (0, _) => Err(refused(100)),
        (code, _) => Err(refused(code)),
    }
}

/// As people write it.
pub(crate) fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The library stays loaded as long as the process lives.
fn open() -> Result<&'static Library, NoGpu> {
    let mut told = String::new();
    for name in NAMES {
        // SAFETY: the driver's library runs nothing of its own when it is loaded, but what NVIDIA made it run.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(Box::leak(Box::new(library))),
            Err(error) if told.is_empty() => told = error.to_string(),
            Err(_) => {}
        }
    }
    let help = if cfg!(target_feature = "crt-static") {
        "this build loads no libraries: on a machine with an NVIDIA GPU take the one for glibc".to_owned()
    } else {
        format!(
            "on a machine with an NVIDIA GPU install its driver, and start containers with `--gpus all` ({told})"
        )
    };
    Err(NoGpu { broken: false, ..NoGpu::new("no NVIDIA driver was found", help) })
}

/// Answers before anything is initialised.
fn version(library: &Library) -> Result<i32, NoGpu> {
    let mut version = 0;
    // SAFETY: `CUresult cuDriverGetVersion(int *)`.
    let ask = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> u32>(b"cuDriverGetVersion\0") };
    // SAFETY: it writes one number to where it is shown, which lives on.
    let code = ask.map(|ask| unsafe { ask(&raw mut version) }).map_err(|error| strange(&error))?;
    if code == 0 { Ok(version) } else { Err(refused(code)) }
}

fn strange(error: &libloading::Error) -> NoGpu {
    NoGpu::new(
        "the driver's library is none of NVIDIA's",
        format!("see which `libcuda.so.1` is found first ({error})"),
    )
}

/// What a driver means by a code, in the words of its reference, and what helps.
pub(crate) fn refused(code: u32) -> NoGpu {
    let (reason, help) = match code {
        2 => ("the GPU has no memory left for another process", "see with `nvidia-smi` what takes it"),
        34 => (
            "the library that was found is a stub to link with, and no driver",
            "take folders named `stubs` out of LD_LIBRARY_PATH",
        ),
        46 => (
            "all GPUs are taken: they serve one process at a time",
            "wait, or ask the scheduler for one (`srun --gres=gpu:1`)",
        ),
        100 => (
            "there is a driver, but it shows no GPU",
            "look at CUDA_VISIBLE_DEVICES, and at what `nvidia-smi -L` lists; ask the scheduler for a GPU, or start the \
             container with `--gpus all`",
        ),
        802 => (
            "the GPUs are not ready, as their fabric is not set up",
            "start `nvidia-fabricmanager`, in the version of the driver",
        ),
        803 => (
            "the driver's library and its kernel module have different versions",
            "reboot after an update of the driver; in a container remove the `libcuda` of the image",
        ),
        804 => (
            "this GPU is not supported by the forward compatibility package",
            "take `/usr/local/cuda/compat` out of LD_LIBRARY_PATH",
        ),
        999 => (
            "the driver does not start, and gives no reason",
            "see `nvidia-smi` and the log of the kernel; `modprobe nvidia_uvm` or a reboot often helps",
        ),
        _ => ("the driver does not start", "see what `nvidia-smi` says"),
    };
    NoGpu::new(format!("{reason} (CUDA error {code})"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_its_code_and_a_way_on() {
        for code in [2, 34, 46, 100, 802, 803, 804, 999, 1] {
            let refused = refused(code);
            assert!(refused.reason.ends_with(&format!("(CUDA error {code})")), "{refused:?}");
            assert!(!refused.help.is_empty() && refused.broken, "{refused:?}");
        }
    }

    #[test]
    fn versions_are_dotted() {
        assert_eq!(
            (dotted(11_080), dotted(12_090), dotted(13_000)),
            ("11.8".into(), "12.9".into(), "13.0".into())
        );
    }
}
