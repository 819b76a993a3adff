//! What calls give: one function a verb of the tables' `gives`, on shapes, dtypes, devices, ranges and graphs.
//! Knows arithmetic, no framework. What containers, datasets and modules give is not arithmetic, and not here.

pub mod build;
pub mod dims;

mod batched;
mod convert;
mod elementwise;
pub(super) mod factory;
mod index;
mod layers;
mod ops;
mod ranges;
mod reduce;
mod results;
mod shape;
mod tables;
mod windows;

pub use build::{device_named, device_of, dtype_of, ints_of};
pub use index::{index, slice_len};
pub use layers::{activation, activation_name, softmax_axis_size};
pub use ops::{binary, compare, invert, negate};
pub use ranges::{range, range_functions};

use super::{Interp, Invocation};
use crate::values::{Int, Value};

type Transfer = for<'p, 'a> fn(&mut Interp<'p>, &Invocation<'a>) -> Value;

/// Applies the verb of the entry's `gives`. The caller adds the entry's range and mark afterwards.
pub fn apply(interp: &mut Interp, verb: &str, call: &Invocation) -> Value {
    match VERBS.binary_search_by_key(&verb, |(name, _)| name) {
        Ok(at) => (VERBS[at].1)(interp, call),
        Err(_) => Value::Unknown,
    }
}

/// The verbs that [`apply`] knows.
pub fn verbs() -> impl Iterator<Item = &'static str> {
    VERBS.iter().map(|(name, _)| *name)
}

/// Sorted by name.
static VERBS: &[(&str, Transfer)] = &[
    ("activated", batched::activated),
    ("arange", factory::arange),
    ("argmax", reduce::argmax),
    ("array-factory", factory::array_factory),
    ("array-of", factory::array_of),
    ("array-range", factory::array_range),
    ("array-unknown", factory::array_unknown),
    ("as-tensor", factory::as_tensor),
    ("asking", factory::asking_for_gradients),
    ("attention", layers::attention),
    ("attention-pair", layers::attention_pair),
    ("bool", convert::truth),
    ("broadcast", elementwise::broadcast),
    ("bunch", tables::bunch),
    ("cast", convert::cast),
    ("cat", shape::cat),
    ("chunk", shape::chunk),
    ("compare", elementwise::compare),
    ("conv", windows::conv),
    ("conv-keras", windows::conv_keras),
    ("conv-transpose", windows::conv_transpose),
    ("dense", layers::dense),
    ("derived", elementwise::derived),
    ("detach", convert::detach),
    ("device", convert::device),
    ("dist-rsample", factory::redrawn),
    ("dist-sample", factory::drawn),
    ("drawn-samples", tables::drawn_samples),
    ("dtype", convert::dtype),
    ("embedding", layers::embedding),
    ("expand", shape::expand),
    ("factory", factory::factory),
    ("factory-like", factory::factory_like),
    ("file", |_, _| Value::Unknown),
    ("flatten", shape::flatten),
    ("float", |_, _| Value::Float(None)),
    ("from-data", factory::from_data),
    ("gather", shape::gather),
    ("generator", |_, _| Value::Unknown),
    ("global-pool", windows::global_pool),
    ("global-pool-keras", batched::global_pool),
    ("index", index::select),
    ("int", |_, _| Value::of_int(Int::Unknown)),
    ("item", convert::item),
    ("layered", layers::layered),
    ("legacy-tensor", factory::legacy),
    ("len", convert::len),
    ("like", elementwise::like),
    ("linear", layers::linear),
    ("linear-weight", layers::linear_weight),
    ("list-of", elementwise::list_of),
    ("loss", reduce::loss),
    ("matmul", layers::matmul),
    ("max-pair", elementwise::max_pair),
    ("merge", batched::merge),
    ("min-pair", elementwise::min_pair),
    ("ndim", convert::ndim),
    ("new-factory", factory::new_factory),
    ("none", |_, _| Value::None),
    ("numel", convert::numel),
    ("numpy", convert::numpy),
    ("one-hot", elementwise::one_hot),
    ("optional-reduce", reduce::optional_reduce),
    ("pad", layers::pad),
    ("padded-pair", layers::padded_pair),
    ("permute", shape::permute),
    ("place", convert::place),
    ("pool", windows::pool),
    ("pool-keras", windows::pool_keras),
    ("randint", factory::randint),
    ("recurrent", layers::recurrent),
    ("recurrent-cell", layers::recurrent_cell),
    ("recurrent-keras", batched::recurrent),
    ("reduce", reduce::reduce),
    ("reduce-pair", reduce::reduce_pair),
    ("repeat", shape::repeat),
    ("reshape", shape::reshape),
    ("reshape-batched", batched::reshape),
    ("same", elementwise::same),
    ("self", elementwise::itself),
    ("shape", convert::shape),
    ("size", convert::size),
    ("sort", reduce::sort),
    ("sparse", factory::sparse),
    ("split", shape::split),
    ("split-arrays", tables::split_arrays),
    ("squeeze", shape::squeeze),
    ("stack", shape::stack),
    ("str", |_, _| Value::Str(None)),
    ("sum-of", elementwise::sum_of),
    ("table", tables::table),
    ("table-column", tables::table_column),
    ("table-rows", tables::table_rows),
    ("to", convert::to),
    ("tolist", convert::to_list),
    ("topk", reduce::top_k),
    ("transpose", shape::transpose),
    ("tuple-of", elementwise::tuple_of),
    ("unbind", shape::unbind),
    ("unflatten", shape::unflatten),
    ("unfold", shape::unfold),
    ("unknown", |_, _| Value::Unknown),
    ("unsqueeze", shape::unsqueeze),
    ("upsample", layers::upsample),
    ("variable", convert::variable),
    ("view", shape::reshape),
    ("where", elementwise::choose),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_sorted() {
        assert!(VERBS.is_sorted_by_key(|(name, _)| *name));
    }
}
