//! What a loss expects, and what it is given.

mod addends;
mod all_pairs;
mod attention;
mod bce_under_autocast;
mod broadcast_loss;
mod broadcasting;
mod gathered_samples;
mod heads;
mod ignored_reduction;
mod keras_logits_mismatch;
mod label_encoding_mismatch;
mod last_index;
mod misaveraged_loss;
mod misaveraged_metric;
mod misused_kl_divergence;
mod nll_without_log_softmax;
mod one_class_softmax;
mod probabilities_as_classes;
mod sigmoid_mismatch;
mod softmax_before_cross_entropy;
mod softmax_removal;
mod swapped_loss_arguments;
mod taught;
mod threshold;
mod wrong_softmax_axis;
mod wrong_target_dtype;

use crate::checks::Concern;

pub use broadcasting::meetings;
pub use heads::{heads, replay_of_heads};

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &bce_under_autocast::RULE,
        &broadcast_loss::RULE,
        &ignored_reduction::RULE,
        &keras_logits_mismatch::RULE,
        &label_encoding_mismatch::RULE,
        &misaveraged_loss::RULE,
        &misaveraged_metric::RULE,
        &misused_kl_divergence::RULE,
        &nll_without_log_softmax::RULE,
        &one_class_softmax::RULE,
        &probabilities_as_classes::RULE,
        &sigmoid_mismatch::RULE,
        &softmax_before_cross_entropy::RULE,
        &swapped_loss_arguments::RULE,
        &wrong_softmax_axis::RULE,
        &wrong_target_dtype::RULE,
    ],
    checkers: &[
        &all_pairs::CHECKER,
        &attention::CHECKER,
        &bce_under_autocast::CHECKER,
        &gathered_samples::CHECKER,
        &ignored_reduction::CHECKER,
        &misaveraged_loss::CHECKER,
        &misaveraged_metric::CHECKER,
        &misused_kl_divergence::CHECKER,
        &one_class_softmax::CHECKER,
        &probabilities_as_classes::CHECKER,
        &softmax_before_cross_entropy::CHECKER,
        &threshold::CHECKER,
        &wrong_softmax_axis::CHECKER,
    ],
};
