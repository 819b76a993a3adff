//! Code written by hand where a framework has its own: gradients, kernels, loops over elements.

mod backward_mismatches_forward;
mod device_dependent_result;
mod element_loop_on_gpu;
mod lossy_cast_in_kernel;
mod undersized_output;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &backward_mismatches_forward::RULE,
        &device_dependent_result::RULE,
        &element_loop_on_gpu::RULE,
        &lossy_cast_in_kernel::RULE,
        &undersized_output::RULE,
    ],
    checkers: &[],
};
