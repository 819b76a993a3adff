//! Shapes that an operation is given, and those that it takes.

mod faults;
mod fits;
mod fractions;
mod losses;
mod misfits;
mod needs;
mod shape_mismatch;

use crate::checks::Concern;

pub(super) static CONCERN: Concern =
    Concern { rules: &[&shape_mismatch::RULE], checkers: &[&fractions::CHECKER, &misfits::CHECKER] };
