//! Frameworks that compile a model and own its training.

mod bypassed_strategy;
mod trainable_without_recompile;

use crate::checks::Concern;

pub(super) static CONCERN: Concern =
    Concern { rules: &[&bypassed_strategy::RULE, &trainable_without_recompile::RULE], checkers: &[] };
