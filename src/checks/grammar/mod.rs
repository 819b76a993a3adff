//! What Python does not run, or not as it is written: scripts that are none, contexts that are never entered, options
//! that are always true.

mod always_true_option;
mod bare_hooks;
mod brought;
mod framework_arguments;
mod handed_hooks;
mod hidden_attribute;
mod invalid_syntax;
mod mismatched_arguments;
mod mismatched_unpacking;
mod missing_attribute;
mod missing_option;
mod module_reads;
mod option_uses;
mod skipped_context;
mod slips;
mod super_arguments;
mod tried;
mod tuple_for_tensor;
mod undefined_import;
mod undefined_name;
mod untyped_option;
mod unwrapped;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &always_true_option::RULE,
        &invalid_syntax::RULE,
        &mismatched_arguments::RULE,
        &mismatched_unpacking::RULE,
        &missing_attribute::RULE,
        &skipped_context::RULE,
        &undefined_import::RULE,
        &undefined_name::RULE,
        &untyped_option::RULE,
    ],
    checkers: &[
        &always_true_option::CHECKER,
        &framework_arguments::CHECKER,
        &hidden_attribute::CHECKER,
        &mismatched_arguments::CHECKER,
        &mismatched_unpacking::CHECKER,
        &missing_attribute::CHECKER,
        &tuple_for_tensor::CHECKER,
        &untyped_option::CHECKER,
        &unwrapped::CHECKER,
    ],
};
