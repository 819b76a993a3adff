//! NVIDIA's run-time compiler, from wherever it is found. A wrapper of our own: cudarc's takes no path, gives no
//! code for a given GPU, and panics where the library is missing.
#![allow(unsafe_code, reason = "NVRTC is a C library")]

use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// Names of libraries, the newest first, in folders as Python's packages and toolkits lay them out.
const NAMES: &[&str] = &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];
const IN_PACKAGES: &[&str] = &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];
const IN_TOOLKITS: &[&str] = &["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];

/// What every kernel is compiled with: frameworks run one kernel an operation, so that nothing is contracted
/// across them.
const OPTIONS: &[&str] = &["--fmad=false", "--std=c++14"];

type Program = *mut c_void;
type Sized = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Filled = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

pub struct Nvrtc {
    library: Library,
    pub path: PathBuf,
    /// Such as 12 and 9.
    pub version: (i32, i32),
}

/// Where to look: folders with packages of Python, and folders of toolkits.
pub fn candidates(packages: &[PathBuf], toolkits: &[PathBuf]) -> Vec<PathBuf> {
    let below = |roots: &[PathBuf], folders: &[&str]| -> Vec<PathBuf> {
        let folders = roots.iter().flat_map(|root| folders.iter().map(move |folder| root.join(folder)));
        folders.flat_map(|folder| NAMES.iter().map(move |name| folder.join(name))).collect()
    };
    let mut paths = below(packages, IN_PACKAGES);
    paths.extend(below(toolkits, IN_TOOLKITS));
    paths.retain(|path| path.is_file());
    // What the loader knows by itself.
    paths.extend(NAMES.iter().map(PathBuf::from));
    paths
}

impl Nvrtc {
    /// The first that can be loaded.
    pub fn find(candidates: &[PathBuf]) -> Option<Nvrtc> {
        candidates.iter().find_map(|path| Nvrtc::open(path).ok())
    }

    pub fn open(path: &Path) -> Result<Nvrtc, String> {
        // SAFETY: NVIDIA's library runs nothing when it is loaded.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        let mut nvrtc = Nvrtc { library, path: path.to_owned(), version: (0, 0) };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: `nvrtcResult nvrtcVersion(int *, int *)`.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                nvrtc.symbol("nvrtcVersion")?;
            version(&raw mut major, &raw mut minor);
        }
        nvrtc.version = (major, minor);
        Ok(nvrtc)
    }

    /// A function of the library, by the type that its header gives it.
    unsafe fn symbol<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's.
        unsafe { self.library.get::<T>(name) }.map(|symbol| *symbol).map_err(|error| error.to_string())
    }

    /// Code for one GPU (`sm_90`: a cubin), or for all from one on (`compute_75`: PTX). What goes wrong is told in
    /// the compiler's words.
    pub fn compile(&self, source: &str, architecture: &str) -> Result<Vec<u8>, String> {
        let text = CString::new(source).map_err(|error| error.to_string())?;
        let mut program: Program = ptr::null_mut();
        // SAFETY: signatures as in `nvrtc.h`; all texts outlive the calls, and the program is destroyed once.
        unsafe {
            let create: Create = self.symbol("nvrtcCreateProgram")?;
            let destroy: unsafe extern "C" fn(*mut Program) -> c_int = self.symbol("nvrtcDestroyProgram")?;
            let code =
                create(&raw mut program, text.as_ptr(), c"replay.cu".as_ptr(), 0, ptr::null(), ptr::null());
            if code != 0 {
                return Err(format!("NVRTC takes no program (error {code})"));
            }
            let compiled = self.compile_program(program, architecture);
            destroy(&raw mut program);
            compiled
        }
    }

    unsafe fn compile_program(&self, program: Program, architecture: &str) -> Result<Vec<u8>, String> {
        let own = format!("--gpu-architecture={architecture}");
        let options: Vec<CString> = OPTIONS
            .iter()
            .copied()
            .chain([own.as_str()])
            .filter_map(|option| CString::new(option).ok())
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: as above.
        unsafe {
            let compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int =
                self.symbol("nvrtcCompileProgram")?;
            let code = compile(program, pointers.len() as c_int, pointers.as_ptr());
            if code != 0 {
                let log = self.taken(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
                return Err(format!(
                    "error {code}: {}",
                    String::from_utf8_lossy(&log).trim_end_matches('\0')
                ));
            }
            if architecture.starts_with("sm_") {
                return self.taken(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
            }
            let mut ptx = self.taken(program, "nvrtcGetPTXSize", "nvrtcGetPTX")?;
            // It ends with a zero, which is no part of the text.
            ptx.pop();
            Ok(ptx)
        }
    }

    /// Bytes, by a function that says how many and one that gives them.
    unsafe fn taken(&self, program: Program, size: &str, fill: &str) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: as above; the buffer has the size that was asked for.
        unsafe {
            let size: Sized = self.symbol(size)?;
            let fill: Filled = self.symbol(fill)?;
            if size(program, &raw mut count) != 0 {
                return Err("NVRTC does not give what it compiled".to_owned());
            }
            let mut bytes = vec![0_u8; count];
            match fill(program, bytes.as_mut_ptr().cast()) {
                0 => Ok(bytes),
                code => Err(format!("NVRTC does not give what it compiled (error {code})")),
            }
        }
    }
}
