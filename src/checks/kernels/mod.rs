//! Code written by hand where a framework has its own: gradients, kernels, loops over elements.

mod backward_arity;
mod backward_mismatches_forward;
mod backward_returns;
mod custom_gradient;
mod device_branches;
mod device_dependent_result;
mod element_accesses;
mod element_loop_on_gpu;
mod gradient_replay;
mod lossy_cast_in_kernel;
mod undersized_output;

use crate::checks::Concern;
use crate::facts::Script;
use crate::report::replay::Replay;

/// Replays of the gradients of custom autograd functions that are derivatives: none of them reproduces anything.
pub fn replays_of_derivatives(script: &Script) -> Vec<Replay> {
    let all = script.observed::<custom_gradient::CustomGradient>();
    let right = all.filter(|(_, gradient)| gradient.is_derivative);
    right.filter_map(|(_, gradient)| gradient_replay::replay(gradient)).collect()
}

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &backward_arity::RULE,
        &backward_mismatches_forward::RULE,
        &device_dependent_result::RULE,
        &element_loop_on_gpu::RULE,
        &lossy_cast_in_kernel::RULE,
        &undersized_output::RULE,
    ],
    checkers: &[
        &backward_returns::CHECKER,
        &custom_gradient::CHECKER,
        &device_branches::CHECKER,
        &element_accesses::CHECKER,
    ],
};
