//! Training and evaluation: modes of modules, and passes that need no gradients.

mod always_on_dropout;
mod dropout;
mod evaluations;
mod gathered;
mod held_out;
mod inference;
mod missing_eval_mode;
mod missing_no_grad;
mod missing_training_flag;
mod scores;
mod stretches;
mod stuck_in_eval;
mod teachers;
mod turns;

pub use evaluations::modes_of_evaluations;
pub use turns::modes_of_trainings;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &always_on_dropout::RULE,
        &missing_eval_mode::RULE,
        &missing_no_grad::RULE,
        &missing_training_flag::RULE,
        &stuck_in_eval::RULE,
    ],
    checkers: &[&dropout::CHECKER, &gathered::CHECKER, &missing_training_flag::CHECKER, &scores::CHECKER],
};
