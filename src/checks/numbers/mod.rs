//! Numbers that become NaN or infinite.

mod log_of_softmax;
mod mask_overflow;
mod matrices;
mod matrix_inverse_in_loss;
mod nan_comparison;
mod nan_through_where;
mod operations;
mod oversized_epsilon;
mod programs;
mod single_sample_statistics;
mod unguarded_count;
mod unsafe_arccos;
mod unsafe_division;
mod unsafe_exponential;
mod unsafe_log;
mod unsafe_power;
mod unsafe_root;
mod vanishing_epsilon;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &log_of_softmax::RULE,
        &mask_overflow::RULE,
        &matrix_inverse_in_loss::RULE,
        &nan_comparison::RULE,
        &nan_through_where::RULE,
        &oversized_epsilon::RULE,
        &single_sample_statistics::RULE,
        &unguarded_count::RULE,
        &unsafe_arccos::RULE,
        &unsafe_division::RULE,
        &unsafe_exponential::RULE,
        &unsafe_log::RULE,
        &unsafe_power::RULE,
        &unsafe_root::RULE,
        &vanishing_epsilon::RULE,
    ],
    checkers: &[&mask_overflow::CHECKER, &oversized_epsilon::CHECKER, &single_sample_statistics::CHECKER],
};
