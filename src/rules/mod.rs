//! The list of rules. A rule asks `facts` and reports; it walks nothing itself.

mod always_on_dropout;
mod backward_arity;
mod backward_mismatches_forward;
mod backward_without_step;
mod bce_under_autocast;
mod broadcast_loss;
mod bypassed_strategy;
mod cache_emptied_in_loop;
mod checkpoint_without_reentrant_choice;
mod clip_before_unscale;
mod cpu_tensor_in_forward;
mod cuda_in_worker;
mod detached_loss;
mod device_dependent_result;
mod device_mismatch;
mod dropped_result;
mod dtype_mismatch;
mod element_loop_on_gpu;
mod exhausted_parameters;
mod full_dataset_batch;
mod graph_broken_in_forward;
mod keras_logits_mismatch;
mod large_allocation_in_loop;
mod loader_built_in_loop;
mod log_of_softmax;
mod lossy_cast_in_kernel;
mod matrix_inverse_in_loss;
mod misplaced_clipping;
mod misplaced_zero_grad;
mod missing_distributed_sampler;
mod missing_eval_mode;
mod missing_no_grad;
mod missing_set_epoch;
mod missing_super_init;
mod missing_zero_grad;
mod model_built_in_loop;
mod nan_through_where;
mod needless_retain_graph;
mod nll_without_log_softmax;
mod non_scalar_backward;
mod one_class_softmax;
mod optimizer_built_in_loop;
mod parameters_replaced_after_optimizer;
mod raw_backward;
mod removed_api;
mod retained_graph;
mod scaler_not_updated;
mod scheduler_before_optimizer;
mod shared_worker_seed;
mod sigmoid_mismatch;
mod single_sample_statistics;
mod softmax_before_cross_entropy;
mod step_bypasses_scaler;
mod stuck_in_eval;
mod swallowed_gpu_error;
mod trainable_without_recompile;
mod undersized_output;
mod undetached_hidden_state;
mod unknown_api;
mod unregistered_submodule;
mod unsafe_arccos;
mod unsafe_division;
mod unsafe_exponential;
mod unsafe_log;
mod unsafe_power;
mod unsafe_root;
mod unscaled_accumulation;
mod unshuffled_training_data;
mod vanishing_epsilon;
mod whole_array_constant;
mod whole_dataset_on_gpu;
mod wrong_target_dtype;

use crate::facts::{Findings, Script};
use crate::report::Severity;

/// One kind of mistake.
pub struct Rule {
    /// Kebab-case name of the fault.
    pub id: &'static str,
    /// What is wrong, in one line.
    pub summary: &'static str,
    pub group: Group,
    /// The usual severity; a finding may be milder.
    pub severity: Severity,
    /// The version that brought the rule.
    pub since: &'static str,
    /// What `trainlint confirm` runs of its findings.
    pub replayed: Replayed,
    /// The page, in Markdown.
    pub page: &'static str,
    /// Asks and reports.
    pub check: fn(&Script, &mut Findings),
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What can be run to see a finding happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replayed {
    /// The computation that ends in the loss.
    Expression,
    /// A training step, on a model of ours in the place of the script's.
    Step,
    /// A demand for memory against what a card has.
    Memory,
    /// The finding is argued from the script alone, or says what a framework does.
    Nothing,
}

/// What a rule is about; a name that `select` and `ignore` take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    Memory,
    Gradients,
    Numerics,
    Losses,
    Data,
    Device,
    Distributed,
    Tensorflow,
    Kernels,
    Speed,
    Reproducibility,
    Suppressions,
}

impl Group {
    pub const ALL: [Group; 12] = [
        Group::Memory,
        Group::Gradients,
        Group::Numerics,
        Group::Losses,
        Group::Data,
        Group::Device,
        Group::Distributed,
        Group::Tensorflow,
        Group::Kernels,
        Group::Speed,
        Group::Reproducibility,
        Group::Suppressions,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Group::Memory => "memory",
            Group::Gradients => "gradients",
            Group::Numerics => "numerics",
            Group::Losses => "losses",
            Group::Data => "data",
            Group::Device => "device",
            Group::Distributed => "distributed",
            Group::Tensorflow => "tensorflow",
            Group::Kernels => "kernels",
            Group::Speed => "speed",
            Group::Reproducibility => "reproducibility",
            Group::Suppressions => "suppressions",
        }
    }
}

/// The page of a rule, compiled in.
macro_rules! page {
    ($id:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $id, ".md"))
    };
}
use page;

static RULES: &[&Rule] = &[
    &always_on_dropout::RULE,
    &backward_arity::RULE,
    &backward_mismatches_forward::RULE,
    &backward_without_step::RULE,
    &bce_under_autocast::RULE,
    &broadcast_loss::RULE,
    &bypassed_strategy::RULE,
    &cache_emptied_in_loop::RULE,
    &checkpoint_without_reentrant_choice::RULE,
    &clip_before_unscale::RULE,
    &cpu_tensor_in_forward::RULE,
    &cuda_in_worker::RULE,
    &detached_loss::RULE,
    &device_dependent_result::RULE,
    &device_mismatch::RULE,
    &dropped_result::RULE,
    &dtype_mismatch::RULE,
    &element_loop_on_gpu::RULE,
    &exhausted_parameters::RULE,
    &full_dataset_batch::RULE,
    &graph_broken_in_forward::RULE,
    &keras_logits_mismatch::RULE,
    &large_allocation_in_loop::RULE,
    &loader_built_in_loop::RULE,
    &log_of_softmax::RULE,
    &lossy_cast_in_kernel::RULE,
    &matrix_inverse_in_loss::RULE,
    &misplaced_clipping::RULE,
    &misplaced_zero_grad::RULE,
    &missing_distributed_sampler::RULE,
    &missing_eval_mode::RULE,
    &missing_no_grad::RULE,
    &missing_set_epoch::RULE,
    &missing_super_init::RULE,
    &missing_zero_grad::RULE,
    &model_built_in_loop::RULE,
    &nan_through_where::RULE,
    &needless_retain_graph::RULE,
    &nll_without_log_softmax::RULE,
    &non_scalar_backward::RULE,
    &one_class_softmax::RULE,
    &optimizer_built_in_loop::RULE,
    &parameters_replaced_after_optimizer::RULE,
    &raw_backward::RULE,
    &removed_api::RULE,
    &retained_graph::RULE,
    &scaler_not_updated::RULE,
    &scheduler_before_optimizer::RULE,
    &shared_worker_seed::RULE,
    &sigmoid_mismatch::RULE,
    &single_sample_statistics::RULE,
    &softmax_before_cross_entropy::RULE,
    &step_bypasses_scaler::RULE,
    &stuck_in_eval::RULE,
    &swallowed_gpu_error::RULE,
    &trainable_without_recompile::RULE,
    &undersized_output::RULE,
    &undetached_hidden_state::RULE,
    &unknown_api::RULE,
    &unregistered_submodule::RULE,
    &unsafe_arccos::RULE,
    &unsafe_division::RULE,
    &unsafe_exponential::RULE,
    &unsafe_log::RULE,
    &unsafe_power::RULE,
    &unsafe_root::RULE,
    &unscaled_accumulation::RULE,
    &unshuffled_training_data::RULE,
    &vanishing_epsilon::RULE,
    &whole_array_constant::RULE,
    &whole_dataset_on_gpu::RULE,
    &wrong_target_dtype::RULE,
];

/// All rules, sorted by id.
pub fn all() -> &'static [&'static Rule] {
    RULES
}
