//! The CUDA backend: graphs run on an interpreter kernel whose PTX is part of the binary, so that a machine needs
//! a driver and nothing else, or as kernels of their own where NVRTC is found. Knows graphs and samples, and no
//! plan.

mod device;
mod driver;
pub mod encode;
pub mod fused;
mod names;
pub mod nvrtc;
mod probe;
mod survey;
mod train;
pub mod training_jobs;

pub use device::{About, Device};
pub use nvrtc::candidates;
pub use probe::NoGpu;
pub use survey::{Seen, Survey, survey};

/// What every kernel text begins with.
pub const PRELUDE: &str = concat!(
    include_str!("kernels/numbers.cuh"),
    include_str!("kernels/samples.cuh"),
    include_str!("kernels/search.cuh"),
);

/// The interpreter kernels, as NVRTC and a C++ compiler take them.
pub const INTERPRETER: &str = concat!(
    include_str!("kernels/numbers.cuh"),
    include_str!("kernels/samples.cuh"),
    include_str!("kernels/search.cuh"),
    include_str!("kernels/machine.cuh"),
    include_str!("kernels/interpreter.cu"),
);

/// The kernel that trains.
pub const STEP: &str = concat!(
    include_str!("kernels/numbers.cuh"),
    include_str!("kernels/samples.cuh"),
    include_str!("kernels/machine.cuh"),
    include_str!("kernels/stand_in.cuh"),
    include_str!("kernels/step.cu"),
);

/// The same as PTX of CUDA 11.8 for `sm_60`, which every later driver translates for its GPU.
pub const INTERPRETER_PTX: &str = include_str!("kernels/interpreter.ptx");
pub const STEP_PTX: &str = include_str!("kernels/step.ptx");
