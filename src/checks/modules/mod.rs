//! Modules: how they are constructed, and what they register.

mod aliased_state_dict;
mod construction;
mod foreign_super;
mod forward_called_directly;
mod made_in_forward;
mod missing_super_init;
mod parameter_lost_by_transfer;
mod plain_tensors;
mod put_back;
mod registration;
mod shared_layers;
mod unregistered_submodule;

use crate::checks::Concern;
use crate::facts::Script;
use crate::report::Place;

/// Whether some module has parts that the framework does not know.
pub(super) fn has_unregistered_parts(script: &Script) -> bool {
    script.observed::<registration::UnregisteredParts>().next().is_some()
        || script.observed::<made_in_forward::MadeInForward>().next().is_some()
}

/// Whether a forward makes its layer anew at this place.
pub(super) fn is_made_in_forward(script: &Script, place: Place) -> bool {
    script.observed::<made_in_forward::MadeInForward>().any(|(at, _)| at.place == place)
}

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &aliased_state_dict::RULE,
        &forward_called_directly::RULE,
        &missing_super_init::RULE,
        &parameter_lost_by_transfer::RULE,
        &shared_layers::RULE,
        &unregistered_submodule::RULE,
    ],
    checkers: &[
        &construction::CHECKER,
        &foreign_super::CHECKER,
        &forward_called_directly::CHECKER,
        &made_in_forward::CHECKER,
        &parameter_lost_by_transfer::CHECKER,
        &put_back::CHECKER,
    ],
};
