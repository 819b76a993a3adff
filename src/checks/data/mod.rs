//! Loaders: the order of samples, the share of each process, and what workers do.

mod augmentations;
mod augmented_evaluation_data;
mod cuda_in_worker;
mod double_normalization;
mod dropped_evaluation_samples;
mod duplicated_iterable_data;
mod equal_datasets;
mod full_dataset_batch;
mod generators;
mod kept_across_folds;
mod leaked_test_data;
mod loader_built_in_loop;
mod loader_restarted_every_step;
mod loaders;
mod missing_distributed_sampler;
mod missing_set_epoch;
mod order;
mod processes;
mod reshuffled_parts;
mod reused_key;
mod shared_worker_seed;
mod shuffle_with_sampler;
mod tf_data_order;
mod train_data_as_test_data;
mod unshuffled_training_data;
mod whole_reads;
mod workers;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &augmented_evaluation_data::RULE,
        &cuda_in_worker::RULE,
        &double_normalization::RULE,
        &dropped_evaluation_samples::RULE,
        &duplicated_iterable_data::RULE,
        &full_dataset_batch::RULE,
        &leaked_test_data::RULE,
        &loader_built_in_loop::RULE,
        &loader_restarted_every_step::RULE,
        &missing_distributed_sampler::RULE,
        &missing_set_epoch::RULE,
        &reused_key::RULE,
        &shared_worker_seed::RULE,
        &shuffle_with_sampler::RULE,
        &tf_data_order::RULE,
        &train_data_as_test_data::RULE,
        &unshuffled_training_data::RULE,
    ],
    checkers: &[
        &augmentations::CHECKER,
        &double_normalization::CHECKER,
        &dropped_evaluation_samples::CHECKER,
        &duplicated_iterable_data::CHECKER,
        &kept_across_folds::CHECKER,
        &leaked_test_data::CHECKER,
        &loader_restarted_every_step::CHECKER,
        &order::CHECKER,
        &processes::CHECKER,
        &reshuffled_parts::CHECKER,
        &reused_key::CHECKER,
        &shuffle_with_sampler::CHECKER,
        &tf_data_order::CHECKER,
        &train_data_as_test_data::CHECKER,
        &workers::CHECKER,
    ],
};
