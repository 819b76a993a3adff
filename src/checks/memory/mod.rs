//! What fills the memory of the GPU.

mod cache_emptied_in_loop;
mod large_allocation_in_loop;
mod results;
mod size_on_gpu;
mod whole_array_constant;
mod whole_dataset_on_gpu;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &cache_emptied_in_loop::RULE,
        &large_allocation_in_loop::RULE,
        &whole_array_constant::RULE,
        &whole_dataset_on_gpu::RULE,
    ],
    checkers: &[&whole_array_constant::CHECKER],
};
