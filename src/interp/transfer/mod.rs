//! What calls give: one function a verb of the tables' `gives`, on shapes, dtypes, devices, ranges and graphs.
//! Knows arithmetic, no framework. What containers, datasets and modules give is not arithmetic, and not here.

pub mod build;
pub mod dims;

mod convert;
mod elementwise;
mod factory;
mod index;
mod layers;
mod ops;
mod ranges;
mod reduce;
mod shape;

pub use build::{device_of, dtype_of, ints_of};
pub use index::{index, slice_len};
pub use ops::{binary, compare, invert, negate};
pub use ranges::{range, range_functions};

use super::{Interp, Invocation};
use crate::values::{Int, Value};

type Transfer = for<'p, 'a> fn(&mut Interp<'p>, &Invocation<'a>) -> Value;

/// Applies the verb of the entry's `gives`. The caller adds the entry's range and mark afterwards.
/// The quoted word `'array'` among the operands makes the result one that NumPy holds.
pub fn apply(interp: &mut Interp, verb: &str, call: &Invocation) -> Value {
    let Ok(at) = VERBS.binary_search_by_key(&verb, |(name, _)| name) else { return Value::Unknown };
    let value = (VERBS[at].1)(interp, call);
    if build::word(call, "array") { build::as_arrays(value) } else { value }
}

/// The verbs that [`apply`] knows.
pub fn verbs() -> impl Iterator<Item = &'static str> {
    VERBS.iter().map(|(name, _)| *name)
}

/// Sorted by name.
static VERBS: &[(&str, Transfer)] = &[
    ("arange", factory::arange),
    ("argmax", reduce::argmax),
    ("attention", layers::attention),
    ("bool", |_, _| Value::Bool(None)),
    ("broadcast", elementwise::broadcast),
    ("cast", convert::cast),
    ("cat", shape::cat),
    ("chunk", shape::chunk),
    ("compare", elementwise::compare),
    ("conv", layers::conv),
    ("conv-transpose", layers::conv_transpose),
    ("dense", layers::linear),
    ("detach", convert::detach),
    ("device", convert::device),
    ("dtype", convert::dtype),
    ("embedding", layers::embedding),
    ("expand", shape::expand),
    ("factory", factory::factory),
    ("factory-like", factory::factory_like),
    ("flatten", shape::flatten),
    ("flatten-rest", layers::flatten_rest),
    ("float", |_, _| Value::Float(None)),
    ("from-data", factory::from_data),
    ("gather", shape::gather),
    ("global-pool", layers::global_pool),
    ("index", index::select),
    ("int", |_, _| Value::of_int(Int::Unknown)),
    ("item", convert::item),
    ("len", convert::len),
    ("like", elementwise::like),
    ("linear", layers::linear),
    ("linspace", factory::linspace),
    ("list-of", elementwise::list_of),
    ("loss", reduce::loss),
    ("matmul", layers::matmul),
    ("max-pair", elementwise::max_pair),
    ("min-pair", elementwise::min_pair),
    ("none", |_, _| Value::None),
    ("norm", reduce::norm),
    ("numel", convert::numel),
    ("numpy", convert::numpy),
    ("one-hot", elementwise::one_hot),
    ("permute", shape::permute),
    ("place", convert::place),
    ("pool", layers::pool),
    ("rank", convert::rank),
    ("recurrent", layers::recurrent),
    ("reduce", reduce::reduce),
    ("reduce-pair", reduce::reduce_pair),
    ("repeat", shape::repeat),
    ("reshape", shape::reshape),
    ("same", elementwise::same),
    ("self", elementwise::itself),
    ("shape", convert::shape),
    ("size", convert::size),
    ("sort", reduce::sort),
    ("split", shape::split),
    ("squeeze", shape::squeeze),
    ("stack", shape::stack),
    ("str", |_, _| Value::Str(None)),
    ("sum-of", elementwise::sum_of),
    ("to", convert::to),
    ("to-list", convert::to_list),
    ("topk", reduce::top_k),
    ("transpose", shape::transpose),
    ("unbind", shape::unbind),
    ("unknown", |_, _| Value::Unknown),
    ("unsqueeze", shape::unsqueeze),
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
