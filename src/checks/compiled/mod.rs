//! Frameworks and engines that own a training: they compile models, run them on many devices, and keep what they
//! build.

mod bypassed_strategy;
mod model_built_in_loop;
mod predict_in_loop;
mod raw_backward;
mod step_outputs_never_cleared;
mod trainable_without_recompile;
mod training;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &bypassed_strategy::RULE,
        &model_built_in_loop::RULE,
        &predict_in_loop::RULE,
        &raw_backward::RULE,
        &step_outputs_never_cleared::RULE,
        &trainable_without_recompile::RULE,
    ],
    checkers: &[
        &bypassed_strategy::CHECKER,
        &model_built_in_loop::CHECKER,
        &predict_in_loop::CHECKER,
        &raw_backward::CHECKER,
        &step_outputs_never_cleared::CHECKER,
    ],
};
