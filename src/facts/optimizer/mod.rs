//! What happens to each optimizer of a script: one timeline of typed events, automata over it, and the questions
//! that rules and replays ask of them. Knows no words of findings.

mod automaton;
mod backward_without_step;
mod gradients;
mod misplaced_zero_grad;
mod missing_zero_grad;
mod powerset;
mod projection;
mod replaced_parameters;
mod scaled_gradients;
mod scaler_rules;
mod scheduler_before_optimizer;
mod step_order;
mod timeline;
mod unscaled_accumulation;
mod view;

pub use backward_without_step::{Unapplied, Unstepped};
pub use misplaced_zero_grad::{ClearedEarly, Misplaced};
pub use missing_zero_grad::UnclearedStep;
pub use replaced_parameters::{Abandoned, ReplacedPart};
pub use scaler_rules::{BypassedScaler, IdleClipping, ScaledClipping, Stale, StaleScale, UnscaledBackward};
pub use scheduler_before_optimizer::EarlySchedule;
pub use timeline::Timelines;
pub use unscaled_accumulation::FullSize;
