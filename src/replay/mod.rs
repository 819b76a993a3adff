//! Confirming findings by running them: what a rule attached to a finding becomes a plan, a plan runs on the
//! CPU or a GPU, and what came out is a verdict. Knows plain data from `report`, and no rule.

pub mod ir;
