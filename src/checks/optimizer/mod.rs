//! The life of an optimizer: what is cleared, accumulated, clipped and stepped, in which order.

mod backward_without_step;
mod exhausted_parameters;
mod forgotten_arm;
mod frozen_in_optimizer;
mod gradients;
mod left_by_another;
mod misplaced_clipping;
mod misplaced_zero_grad;
mod missing_scheduler_step;
mod missing_zero_grad;
mod optimizer_built_in_loop;
mod optimizers_in_use;
mod parameters_replaced_after_optimizer;
mod partial_accumulation_lost;
mod repairs;
mod schedule_drives_replaced_optimizer;
mod scheduler_before_optimizer;
mod scheduler_granularity;
mod step_without_backward;
mod swapped_gradients;
mod unscaled_accumulation;

use crate::checks::Concern;

pub(super) use exhausted_parameters::SpentIterator;
pub(super) use parameters_replaced_after_optimizer::{abandoned_models, replaced_parts};

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &backward_without_step::RULE,
        &exhausted_parameters::RULE,
        &frozen_in_optimizer::RULE,
        &misplaced_clipping::RULE,
        &misplaced_zero_grad::RULE,
        &missing_scheduler_step::RULE,
        &missing_zero_grad::RULE,
        &optimizer_built_in_loop::RULE,
        &parameters_replaced_after_optimizer::RULE,
        &partial_accumulation_lost::RULE,
        &schedule_drives_replaced_optimizer::RULE,
        &scheduler_before_optimizer::RULE,
        &scheduler_granularity::RULE,
        &step_without_backward::RULE,
        &swapped_gradients::RULE,
        &unscaled_accumulation::RULE,
    ],
    checkers: &[
        &exhausted_parameters::CHECKER,
        &parameters_replaced_after_optimizer::CHECKER,
        &swapped_gradients::CHECKER,
    ],
};
