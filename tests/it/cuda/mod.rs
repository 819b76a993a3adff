//! The CUDA backend without a GPU: its kernels built by a C++ compiler, and its driver path on a driver of ours.

mod bits;
mod compiled;
mod faked;
mod gpu;
mod host;
mod programs;
mod steps;
