//! Computation graphs: what backpropagates where, what is detached, and what is kept alive for too long.

mod backward_through_freed_graph;
mod checkpoint_without_reentrant_choice;
mod constant_loss_term;
mod debugging_left_on;
mod detached_loss;
mod detachment;
mod dropped;
mod dropped_result;
mod graph_broken_in_forward;
mod immutable;
mod inplace_between_backwards;
mod inplace_on_saved_tensor;
mod leaf_modified_in_place;
mod missing_detach;
mod misused_tape;
mod needless_retain_graph;
mod non_scalar_backward;
mod rebound;
mod resets;
mod retained_graph;
mod retention;
mod undetached_hidden_state;

use crate::checks::Concern;

pub(super) use detachment::{Why, broken_graphs, detached_losses};

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &backward_through_freed_graph::RULE,
        &checkpoint_without_reentrant_choice::RULE,
        &constant_loss_term::RULE,
        &debugging_left_on::RULE,
        &detached_loss::RULE,
        &dropped_result::RULE,
        &graph_broken_in_forward::RULE,
        &inplace_between_backwards::RULE,
        &inplace_on_saved_tensor::RULE,
        &leaf_modified_in_place::RULE,
        &missing_detach::RULE,
        &misused_tape::RULE,
        &needless_retain_graph::RULE,
        &non_scalar_backward::RULE,
        &retained_graph::RULE,
        &undetached_hidden_state::RULE,
    ],
    checkers: &[
        &checkpoint_without_reentrant_choice::CHECKER,
        &constant_loss_term::CHECKER,
        &debugging_left_on::CHECKER,
        &dropped::CHECKER,
        &immutable::CHECKER,
        &inplace_between_backwards::CHECKER,
        &inplace_on_saved_tensor::CHECKER,
        &leaf_modified_in_place::CHECKER,
        &missing_detach::CHECKER,
        &misused_tape::CHECKER,
        &rebound::CHECKER,
        &resets::CHECKER,
        &retention::CHECKER,
    ],
};
