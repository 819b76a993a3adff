//! Modules: how they are constructed, and what they register.

mod construction;
mod missing_super_init;
mod parameter_lost_by_transfer;
mod registration;
mod unregistered_submodule;

use crate::checks::Concern;
use crate::facts::Script;

/// Whether some module has parts that the framework does not know.
pub(super) fn has_unregistered_parts(script: &Script) -> bool {
    script.observed::<registration::UnregisteredParts>().next().is_some()
}

pub(super) static CONCERN: Concern = Concern {
    rules: &[&missing_super_init::RULE, &parameter_lost_by_transfer::RULE, &unregistered_submodule::RULE],
    checkers: &[&construction::CHECKER, &parameter_lost_by_transfer::CHECKER],
};
