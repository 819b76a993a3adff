//! Whether a run can be repeated.

mod contradictory_determinism;

use crate::checks::Concern;

pub(super) static CONCERN: Concern =
    Concern { rules: &[&contradictory_determinism::RULE], checkers: &[&contradictory_determinism::CHECKER] };
