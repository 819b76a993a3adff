//! Frameworks and engines that own a training: they compile models, run them on many devices, and keep what they
//! build.

mod bypassed_strategy;
mod conflicting_arguments;
mod missing_history_key;
mod model_built_in_loop;
mod predict_in_loop;
mod raw_backward;
mod side_effect_in_function;
mod step_outputs_never_cleared;
mod traced;
mod trainable_without_recompile;
mod training;
mod unavailable_monitor;
mod variable_in_function;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &bypassed_strategy::RULE,
        &conflicting_arguments::RULE,
        &missing_history_key::RULE,
        &model_built_in_loop::RULE,
        &predict_in_loop::RULE,
        &raw_backward::RULE,
        &side_effect_in_function::RULE,
        &step_outputs_never_cleared::RULE,
        &trainable_without_recompile::RULE,
        &unavailable_monitor::RULE,
        &variable_in_function::RULE,
    ],
    checkers: &[
        &bypassed_strategy::CHECKER,
        &conflicting_arguments::CHECKER,
        &missing_history_key::CHECKER,
        &model_built_in_loop::CHECKER,
        &predict_in_loop::CHECKER,
        &raw_backward::CHECKER,
        &side_effect_in_function::CHECKER,
        &step_outputs_never_cleared::CHECKER,
        &unavailable_monitor::CHECKER,
        &variable_in_function::CHECKER,
    ],
};
