//! Names and arguments that a release of a framework does not have.

mod behavior_changed;
mod conflicting_requirements;
mod deprecated_api;
mod method_keywords;
mod misspelt_attribute;
mod misspelt_method;
mod removed_api;
mod unknown_api;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &behavior_changed::RULE,
        &conflicting_requirements::RULE,
        &deprecated_api::RULE,
        &misspelt_attribute::RULE,
        &removed_api::RULE,
        &unknown_api::RULE,
    ],
    checkers: &[
        &behavior_changed::CHECKER,
        &deprecated_api::CHECKER,
        &method_keywords::CHECKER,
        &misspelt_attribute::CHECKER,
        &misspelt_method::CHECKER,
    ],
};
