//! (to be written)

pub mod gpus;
pub mod units;
