//! Confirming findings by running them: what a rule attached to a finding becomes a plan, a plan runs on the
//! CPU or a GPU, and what came out is a verdict. Knows plain data from `report`, and no rule.

#[cfg(feature = "gpu")]
pub mod cuda;
mod histogram;
pub mod html;
pub mod ir;
mod memory;
pub mod outcome;
pub mod plan;
pub mod process;
pub mod run;
pub mod sample;
pub mod search;
pub mod step;
pub mod text;
pub mod witness;
