//! The kernels built by a C++ compiler, loaded into this process and called as a driver would.
#![allow(unsafe_code, reason = "a library in C is called")]

use libloading::Library;
use std::ffi::{OsStr, c_void};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use trainlint::replay::cuda::encode::{Encoded, inputs};
use trainlint::replay::ir::Graph;
use trainlint::replay::sample::Sampler;
use trainlint::replay::search::{Count, Found, Search};

/// Functions of `libm` as C sees them.
macro_rules! given {
    ($real:ty: $($name:ident)*) => {
        [$({ extern "C" fn $name(x: $real) -> $real { libm::$name(x) } $name }),*]
    };
}

/// Threads of a launch: more than one block, so that what a thread does not share shows.
const BLOCKS: u32 = 3;
const THREADS: u32 = 32;

/// The compiler, where there is one.
pub fn compiler() -> Option<&'static str> {
    let answers =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success());
    let found = ["g++", "c++"].into_iter().find(answers);
    if found.is_none() {
        eprintln!("left out: there is neither `g++` nor `c++` to build the kernels with");
    }
    found
}

/// Builds CUDA C for this machine: the text, the flags, the kernels that are called.
pub fn build(
    compiler: &str,
    folder: &Path,
    name: &str,
    text: &str,
    flags: &[&str],
    kernels: &[String],
) -> PathBuf {
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cuda/shim.hpp");
    let mut source = format!("#include {:?}\n{text}\n", shim.display().to_string());
    for kernel in kernels {
        writeln!(source, "HOST({kernel})").unwrap();
    }
    let (path, library) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    std::fs::write(&path, source).unwrap();
    let fixed = [
        "-std=c++14",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-Wall",
        "-Wno-unused-function",
        "-Wno-unused-but-set-variable",
        "-o",
    ];
    let ran = Command::new(compiler).args(fixed).arg(&library).args(flags).arg(&path).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && told.is_empty(),
        "{name}: {}",
        told.chars().take(2000).collect::<String>()
    );
    library
}

type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

/// A library of kernels.
pub struct Kernels(Library);

/// What came out of a launch: what was counted, and every number that was handed in.
#[derive(Debug, PartialEq)]
pub struct Came {
    pub search: Search,
    pub told: Vec<f64>,
}

impl Kernels {
    pub fn open(path: impl AsRef<OsStr>) -> Kernels {
        // SAFETY: what was built above does nothing when it is loaded.
        Kernels(unsafe { Library::new(path.as_ref()) }.unwrap())
    }

    /// Functions of `libm`, in the order of `shim.hpp`.
    pub fn give_functions(&self) {
        let narrow: [extern "C" fn(f32) -> f32; 18] = given!(f32: expf exp2f expm1f logf log2f log10f log1pf sinf cosf
            tanf asinf acosf atanf atanhf sinhf coshf tanhf erff);
        let wide: [extern "C" fn(f64) -> f64; 18] = given!(f64: exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atanh sinh cosh tanh erf);
        extern "C" fn powf(x: f32, y: f32) -> f32 {
            libm::powf(x, y)
        }
        extern "C" fn pow(x: f64, y: f64) -> f64 {
            libm::pow(x, y)
        }
        // SAFETY: the names and types are those of `shim.hpp`.
        unsafe {
            **self.0.get::<*mut [extern "C" fn(f32) -> f32; 18]>(b"given_f32").unwrap() = narrow;
            **self.0.get::<*mut [extern "C" fn(f64) -> f64; 18]>(b"given_f64").unwrap() = wide;
            **self.0.get::<*mut extern "C" fn(f32, f32) -> f32>(b"given_powf").unwrap() = powf;
            **self.0.get::<*mut extern "C" fn(f64, f64) -> f64>(b"given_pow").unwrap() = pow;
        }
    }

    pub fn launch(&self, kernel: &str, arguments: &mut [*mut c_void], blocks: u32, threads: u32) {
        // SAFETY: the arguments are those of the kernel; whoever calls has made them of its parameters.
        unsafe {
            let launch = self.0.get::<Launch>(format!("host_{kernel}")).unwrap();
            launch(arguments.as_mut_ptr(), blocks, threads);
        }
    }

    pub fn interpret(&self, encoded: &Encoded, sampler: &Sampler, width: usize, samples: u32) -> Came {
        let kernel = if encoded.wide { "interpret_f64" } else { "interpret_f32" };
        self.run(kernel, Some(encoded), encoded, sampler, width, samples)
    }

    pub fn fused(&self, kernel: &str, graph: &Graph, sampler: &Sampler, samples: u32) -> Came {
        self.run(kernel, None, &Encoded::of(graph), sampler, graph.width, samples)
    }

    fn run(
        &self,
        kernel: &str,
        code: Option<&Encoded>,
        encoded: &Encoded,
        sampler: &Sampler,
        width: usize,
        samples: u32,
    ) -> Came {
        if encoded.wide {
            self.run_as::<f64>(kernel, code, encoded, sampler, width, samples, |number| number)
        } else {
            self.run_as::<f32>(kernel, code, encoded, sampler, width, samples, |number| number as f32)
        }
    }

    #[allow(clippy::too_many_arguments, reason = "what a kernel is called with")]
    fn run_as<R: Copy + Into<f64>>(
        &self,
        kernel: &str,
        code: Option<&Encoded>,
        encoded: &Encoded,
        sampler: &Sampler,
        width: usize,
        samples: u32,
        narrow: impl Fn(f64) -> R,
    ) -> Came {
        let domains = inputs(&sampler.inputs, width);
        let numbers: Vec<R> = encoded.numbers.iter().map(|number| narrow(*number)).collect();
        let mut told = vec![narrow(0.0); (encoded.told * samples) as usize];
        let mut work = vec![narrow(0.0); (encoded.slots * BLOCKS * THREADS) as usize];
        let mut found = [0, 0, 0, 0, 0, u64::MAX, u64::MAX];
        let mut words: Vec<u64> = vec![domains.as_ptr() as u64, 0, told.as_mut_ptr() as u64];
        words.extend([
            found.as_mut_ptr() as u64,
            sampler.seed,
            0,
            u64::from(samples),
            0,
            u64::from(encoded.told),
        ]);
        if let Some(code) = code {
            words.extend([code.code.as_ptr() as u64, code.code.len() as u64, numbers.as_ptr() as u64]);
            words.extend([code.outputs.as_ptr() as u64, code.outputs.len() as u64, work.as_mut_ptr() as u64]);
        }
        // A smaller argument is the first part of a word, on machines whose least byte comes first.
        let mut arguments: Vec<*mut c_void> =
            words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        self.launch(kernel, &mut arguments, BLOCKS, THREADS);
        let [forward, gradient, ordinary, ordinary_forward, ordinary_gradient, least_forward, least_gradient] =
            found;
        let search = Search {
            all: Count { samples: u64::from(samples), forward, gradient },
            ordinary: Count { samples: ordinary, forward: ordinary_forward, gradient: ordinary_gradient },
            forward: Found::of_word(least_forward),
            gradient: Found::of_word(least_gradient),
        };
        Came { search, told: told.into_iter().map(Into::into).collect() }
    }
}
