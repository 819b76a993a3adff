//! What keeps Python from running a script at all.

mod invalid_syntax;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern { rules: &[&invalid_syntax::RULE], checkers: &[] };
