//! The life of a gradient scaler: scale, unscale, step, update.

mod backward_under_autocast;
mod clip_before_unscale;
mod half_model_with_scaler;
mod half_precision_without_scaler;
mod scaled_gradients;
mod scaler_not_updated;
mod step_bypasses_scaler;

use crate::checks::Concern;

pub(super) use scaled_gradients::{Gradients, ScalingRun, ScalingState, ask_scaling, reads_scale};

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &backward_under_autocast::RULE,
        &clip_before_unscale::RULE,
        &half_model_with_scaler::RULE,
        &half_precision_without_scaler::RULE,
        &scaler_not_updated::RULE,
        &step_bypasses_scaler::RULE,
    ],
    checkers: &[
        &backward_under_autocast::CHECKER,
        &half_model_with_scaler::CHECKER,
        &half_precision_without_scaler::CHECKER,
    ],
};
