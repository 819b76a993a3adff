//! What calls give: one function for each transfer, on shapes, dtypes, devices, ranges and graphs. Knows arithmetic,
//! no framework. What containers, datasets and modules give is not arithmetic: their functions are the interpreter's.

pub mod build;
pub mod dims;
mod distributions;
mod draws;

mod batched;
mod convert;
mod elementwise;
mod encodings;
mod enlarged;
mod environments;
pub(super) mod factory;
mod images;
mod index;
mod layers;
mod layout;
mod masks;
mod ops;
mod ranges;
mod reduce;
mod results;
mod shape;
mod tables;
mod windows;

pub use build::{device_named, device_of, dtype_of, ints_of};
pub(crate) use convert::tensor_type_device;
pub(crate) use images::statistics;
pub use index::{Misplaced, index, misplaced_index, slice_len, turned_around};
pub(super) use layers::held_by_packed;
pub use layers::{activation, activation_name, leaves_out_last, softmax_axis, softmax_axis_size};
pub(crate) use layout::turned;
pub use masks::{compare_by_operator as compare, invert};
pub use ops::{binary, negate};
pub use ranges::range;
pub use windows::exceeding_window;

use super::{Interp, Invocation};
use crate::apis::{Slot, Transfer};
use crate::values::{Device, DeviceForm, Int, Value};

type Function = for<'p, 'a> fn(&mut Interp<'p>, &Invocation<'a>) -> Value;

/// What the transfer of the entry's `gives` makes of the call. The caller adds the entry's range and mark afterwards.
pub fn apply(interp: &mut Interp, call: &Invocation) -> Value {
    match call.gives {
        Some(apply) => function(apply.verb)(interp, call),
        None => Value::Unknown,
    }
}

fn unknown(_interp: &mut Interp, _call: &Invocation) -> Value {
    Value::Unknown
}

/// One function for each transfer; a transfer without one does not compile.
macro_rules! functions {
    ($($transfer:ident => $function:expr,)*) => {
        fn function(transfer: Transfer) -> Function {
            match transfer { $(Transfer::$transfer => $function,)* }
        }
    };
}

functions! {
    ActionSpace => environments::action_space,
    Activated => batched::activated,
    ActivationLayer => |interp, call| interp.activation(&call.operand(Slot::Inputs), &call.operand(Slot::Activation), call.place),
    AddedWeight => |interp, call| interp.parameter(call, &call.operand(Slot::Trainable)),
    ApplyFunction => |interp, call| interp.applied_function(call),
    Arange => factory::arange,
    Argmax => reduce::argmax,
    ArrayFactory => factory::array_factory,
    ArrayIdentity => factory::array_identity,
    ArrayLike => elementwise::like,
    ArrayOf => factory::array_of,
    ArrayRange => factory::array_range,
    ArrayUnknown => factory::array_unknown,
    AsTensor => convert::as_tensor,
    Asking => factory::asking_for_gradients,
    Attended => layers::attention_heads,
    Attention => layers::attention,
    AttentionPair => layers::attention_pair,
    BorderedKeras => enlarged::bordered,
    Bool => convert::truth,
    Broadcast => elementwise::broadcast,
    Bunch => tables::bunch,
    CallResult => |interp, call| interp.call_result(call),
    Cast => convert::cast,
    Cat => shape::cat,
    Children => |interp, call| interp.children(call, false),
    Chosen => draws::chosen,
    Chunk => shape::chunk,
    ClassIndices => tables::class_indices,
    ClassTable => tables::class_table,
    Cloned => elementwise::cloned,
    ClosureResult => unknown,
    Compare => masks::compare,
    CompiledOptimizer => |interp, call| interp.compiled_optimizer(call),
    Compose => |interp, call| interp.composed(call),
    ConcatDatasets => |interp, call| interp.dataset_of(call, "datasets"),
    Conv => windows::conv,
    ConvKeras => windows::conv_keras,
    ConvTranspose => windows::conv_transpose,
    ConvTransposeKeras => enlarged::conv_transpose,
    CopyModule => |interp, call| interp.by_the_language("copy.deepcopy", call),
    DatasetArrays => |interp, call| interp.arrays(call),
    DatasetBatch => |interp, call| interp.stream_batch(call),
    DatasetCached => super::pipelines::dataset_reordered,
    DatasetFiltered => super::pipelines::dataset_filtered,
    DatasetFlatMap => super::pipelines::dataset_flat_map,
    DatasetJoined => super::pipelines::dataset_joined,
    DatasetLoaded => super::pipelines::dataset_loaded,
    DatasetMap => |interp, call| interp.dataset_map(call),
    DatasetOf => super::pipelines::dataset_of_one,
    DatasetRead => super::pipelines::dataset_read,
    DatasetRows => |interp, call| interp.dataset_rows(call),
    DatasetSame => elementwise::same,
    DatasetShuffled => super::pipelines::dataset_reordered,
    DatasetSkip => super::pipelines::dataset_cut,
    DatasetSlices => |interp, call| interp.dataset_slices(call),
    DatasetTake => super::pipelines::dataset_cut,
    DatasetZip => super::pipelines::dataset_zip,
    DeepCopy => |interp, call| interp.by_the_language("copy.deepcopy", call),
    Deepspeed => unknown,
    CriterionResult => reduce::criterion_result,
    Dense => layers::dense,
    DerivativeOf => |interp, call| interp.derivative_of(call),
    Derived => elementwise::derived,
    Detach => convert::detach,
    Device => convert::device,
    DictOf => |interp, call| interp.unknown_dict(call),
    DistOf => distributions::of_each,
    DistRsample => distributions::redrawn,
    DistSample => distributions::drawn,
    DrawnSamples => tables::drawn_samples,
    Dtype => convert::dtype,
    EachStep => |interp, call| interp.each_step(call),
    Either => |interp, call| interp.either_result(call),
    Embedding => layers::embedding,
    Dummies => tables::dummies,
    Encoded => encodings::encoded,
    Enumerate => |interp, call| interp.paired("enumerate", call),
    Expand => shape::expand,
    Factory => factory::factory,
    FactoryLike => factory::factory_like,
    File => unknown,
    Flatten => shape::flatten,
    Float => |_, _| Value::Float(None),
    Folds => tables::folds,
    FromData => factory::from_data,
    Gather => shape::gather,
    Generated => encodings::generated,
    Generator => unknown,
    GlobalPool => windows::global_pool,
    GlobalPoolKeras => batched::global_pool,
    Grad => unknown,
    Gradients => |interp, call| interp.gradients(call),
    Grid => shape::grid,
    History => |interp, call| interp.history(call),
    Identity => factory::identity,
    ImageResized => images::resized,
    ImageTensor => images::tensor,
    Index => index::select,
    InnerResult => |interp, call| interp.inner_result(call),
    Instance => |interp, call| interp.instance_made_elsewhere(call),
    InstanceInEval => |interp, call| interp.instance_in_eval(call),
    InstanceRestored => |interp, call| interp.instance_restored(call),
    Int => |_, _| Value::of_int(Int::Unknown),
    IsFloatingPoint => convert::is_floating_point,
    IsTensor => convert::is_tensor,
    Item => convert::item,
    Iterable => |interp, call| interp.iterable(call),
    LabelledStream => |interp, call| interp.labelled_stream(call),
    LayerOf => |interp, call| interp.layer_of_model(call),
    Layered => layers::layered,
    LayersOf => |interp, call| interp.layers_of_model(call),
    LegacyTensor => factory::legacy,
    Len => convert::len,
    Like => elementwise::like,
    Linear => layers::linear,
    LinearWeight => layers::linear_weight,
    ListOf => elementwise::list_of,
    Loader => |interp, call| interp.loader(call.api, call),
    Loss => reduce::loss,
    Managed => |interp, call| interp.managed(call),
    ManagedDevice => |interp, call| interp.managed_device(call),
    ManagedDeviceName => |_, _| Value::Device(Device::Accelerator, DeviceForm::Unsure),
    ManagedFirst => |interp, call| interp.managed_several(call),
    ManagedPair => |interp, call| interp.managed_several(call),
    Mapped => |interp, call| interp.mapped(call),
    MappedTree => super::trees::mapped_tree,
    Matmul => layers::matmul,
    MatmulTurned => layers::matmul_turned,
    MaxPair => elementwise::max_pair,
    Merge => batched::merge,
    MinPair => elementwise::min_pair,
    ModeFlag => |interp, call| interp.mode_flag(call),
    ModelOutput => unknown,
    ModelOutputOf => |interp, call| interp.model_output(call),
    ModuleOptimizers => |interp, call| interp.module_optimizers(call),
    ModuleResult => |interp, call| interp.module_result(call),
    Modules => |interp, call| interp.modules_below(call, false),
    Moved => |interp, call| interp.moved(call),
    NamedChildren => |interp, call| interp.children(call, true),
    NamedModules => |interp, call| interp.modules_below(call, true),
    NamedParameters => |interp, call| interp.named_parameters(call),
    Ndim => convert::ndim,
    NewFactory => factory::new_factory,
    NewTensor => factory::new_tensor,
    None => |_, _| Value::None,
    NormOfGradients => reduce::norm_of_gradients,
    Normal => draws::normal,
    Numel => convert::numel,
    Numpy => convert::numpy,
    OnGpu => convert::truth_of_device,
    OnGpuAs => convert::is_on_gpu,
    OneHot => elementwise::one_hot,
    OpaqueModule => |interp, call| crate::interp::heads::model_made_elsewhere(interp, call),
    OptionalReduce => reduce::optional_reduce,
    Outcomes => environments::outcomes,
    Pad => layers::pad,
    Packed => layers::packed,
    PaddedPair => layers::padded_pair,
    ParamGroups => |interp, call| interp.param_groups(call),
    Parameter => |interp, call| interp.parameter(call, &call.nth(1)),
    Parameters => |interp, call| interp.all_parameters(call),
    Permute => shape::permute,
    Permuted => draws::permuted,
    PixelShuffle => enlarged::shuffled,
    Place => convert::place,
    Pool => windows::pool,
    PoolKeras => windows::pool_keras,
    Randint => draws::randint,
    RandomKey => draws::random_key,
    RandomKeys => draws::random_keys,
    Range => |interp, call| interp.by_the_language("range", call),
    Record => |interp, call| interp.recorded_arguments(call),
    Recurrent => layers::recurrent,
    RecurrentCell => layers::recurrent_cell,
    RecurrentKeras => batched::recurrent,
    Reduce => reduce::reduce,
    ReducePair => reduce::reduce_pair,
    Repeat => shape::repeat,
    ReplicaResult => |interp, call| interp.replica_result(call),
    Reshape => shape::reshape,
    Reversed => elementwise::like,
    ShapedAs => shape::shaped_as,
    ReshapeBatched => batched::reshape,
    Same => elementwise::same,
    Scaled => |interp, call| interp.scaled(call),
    Scanned => |interp, call| interp.scanned(call),
    Itself => elementwise::itself,
    Sequential => unknown,
    Shape => convert::shape,
    Size => convert::size,
    Sort => reduce::sort,
    Sparse => factory::sparse,
    Split => shape::split,
    SplitArrays => tables::split_arrays,
    SplitDataset => |interp, call| interp.split(call),
    Squeeze => shape::squeeze,
    Stack => shape::stack,
    StackedLayers => super::assembled::stacked_layers,
    Standardized => images::standardized,
    StateDict => |interp, call| interp.state_dict(call),
    Str => |_, _| Value::Str(None),
    SumOf => elementwise::sum_of,
    SymbolicInput => super::assembled::symbolic_input,
    SymbolicModel => super::assembled::symbolic_model,
    Table => tables::table,
    TableColumn => tables::table_column,
    TableRows => tables::table_rows,
    TakeSamples => |interp, call| interp.taken(call),
    TensorDataset => |interp, call| interp.dataset_of(call, "tensors"),
    To => convert::to,
    TokenIds => encodings::token_ids,
    Tolist => convert::to_list,
    Topk => reduce::top_k,
    Traced => |interp, call| interp.traced(&call.nth(0)),
    Transformed => tables::transformed,
    Transpose => shape::transpose,
    TupleOf => elementwise::tuple_of,
    Turned => elementwise::turned,
    Unbind => shape::unbind,
    Unflatten => shape::unflatten,
    Unfold => shape::unfold,
    Unknown => unknown,
    Unrecorded => elementwise::unrecorded,
    Unsqueeze => shape::unsqueeze,
    Upsample => layers::upsample,
    UpsampleKeras => enlarged::upsample,
    Variable => convert::variable,
    View => shape::reshape,
    Where => elementwise::choose,
    Wrap => |interp, call| interp.wrap(call),
    Zip => |interp, call| interp.paired("zip", call),
}
