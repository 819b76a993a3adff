//! Names and arguments that a release of a framework does not have.

mod misspelt_attribute;
mod removed_api;
mod unknown_api;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[&misspelt_attribute::RULE, &removed_api::RULE, &unknown_api::RULE],
    checkers: &[&misspelt_attribute::CHECKER],
};
