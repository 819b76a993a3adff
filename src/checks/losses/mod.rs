//! What a loss expects, and what it is given.

mod bce_under_autocast;
mod broadcast_loss;
mod keras_logits_mismatch;
mod nll_without_log_softmax;
mod one_class_softmax;
mod sigmoid_mismatch;
mod softmax_before_cross_entropy;
mod wrong_target_dtype;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &bce_under_autocast::RULE,
        &broadcast_loss::RULE,
        &keras_logits_mismatch::RULE,
        &nll_without_log_softmax::RULE,
        &one_class_softmax::RULE,
        &sigmoid_mismatch::RULE,
        &softmax_before_cross_entropy::RULE,
        &wrong_target_dtype::RULE,
    ],
    checkers: &[&bce_under_autocast::CHECKER],
};
