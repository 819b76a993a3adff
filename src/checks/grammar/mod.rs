//! What Python does not run: scripts that are none, and contexts that are never entered.

mod bare_hooks;
mod invalid_syntax;
mod mismatched_arguments;
mod mismatched_unpacking;
mod skipped_context;
mod super_arguments;
mod tried;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &invalid_syntax::RULE,
        &mismatched_arguments::RULE,
        &mismatched_unpacking::RULE,
        &skipped_context::RULE,
    ],
    checkers: &[&mismatched_arguments::CHECKER, &mismatched_unpacking::CHECKER],
};
