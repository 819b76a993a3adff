//! Where tensors are, and of which dtype: operands of one operation that do not fit.

mod array_for_tensor;
mod brought_back;
mod cpu_tensor_in_forward;
mod device_compared_to_string;
mod device_mismatch;
mod dtype_mismatch;
mod dtypes;
mod fetching;
mod forwards;
mod handlers;
mod joined;
mod kept_numbers;
mod late_visible_devices;
mod meetings;
mod shuffling;
mod stranded;
mod subtracted_mask;
mod swallowed_gpu_error;
mod unconvertible_tensor;
mod unsynchronized_timing;

use crate::checks::Concern;

pub(super) static CONCERN: Concern = Concern {
    rules: &[
        &array_for_tensor::RULE,
        &cpu_tensor_in_forward::RULE,
        &device_compared_to_string::RULE,
        &device_mismatch::RULE,
        &dtype_mismatch::RULE,
        &late_visible_devices::RULE,
        &subtracted_mask::RULE,
        &swallowed_gpu_error::RULE,
        &unconvertible_tensor::RULE,
        &unsynchronized_timing::RULE,
    ],
    checkers: &[
        &array_for_tensor::CHECKER,
        &brought_back::CHECKER,
        &device_compared_to_string::CHECKER,
        &dtypes::CHECKER,
        &forwards::CHECKER,
        &handlers::CHECKER,
        &joined::CHECKER,
        &kept_numbers::CHECKER,
        &late_visible_devices::CHECKER,
        &meetings::CHECKER,
        &shuffling::CHECKER,
        &stranded::CHECKER,
        &subtracted_mask::CHECKER,
        &unconvertible_tensor::CHECKER,
        &unsynchronized_timing::CHECKER,
    ],
};
