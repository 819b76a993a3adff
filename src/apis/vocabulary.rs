//! The closed lists of words that tables may use. A word that is not here is refused by the loader;
//! the interpreter gives each its meaning.

use super::model::{Mark, Role, Verb};

/// A word of a closed list: how many operands it takes, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub name: &'static str,
    pub min: usize,
    pub max: usize,
    pub meaning: &'static str,
}

const fn word(name: &'static str, min: usize, max: usize, meaning: &'static str) -> Word {
    Word { name, min, max, meaning }
}

/// Any number of operands.
const MANY: usize = usize::MAX;

/// What a call may give, sorted.
pub const TRANSFERS: &[Word] = &[
    word("activation-layer", 2, 2, "inputs activation: a Keras activation given by name"),
    word("arange", 3, 6, "start end step [dtype device requires_grad]: one dimension, counted"),
    word("argmax", 2, 3, "x dim [keepdim]: int64, no graph"),
    word("attention", 3, 3, "q k v: shape of q with the last dimension of v"),
    word("attention-pair", 3, 3, "q k v: the result of attention, and weights of unknown shape"),
    word("bool", 0, MANY, "a Python bool"),
    word("broadcast", 2, MANY, "x y ...: elementwise on several, shapes broadcast"),
    word("call-result", 1, 2, "f [args]: what calling f with these gives"),
    word("cast", 2, 2, "x dtype: the same numbers in another dtype"),
    word("cat", 2, 2, "tensors dim: joined along a dimension"),
    word("children", 1, 1, "self: the submodules"),
    word("chunk", 3, 3, "x n dim: a tuple of n parts"),
    word("closure-result", 1, 1, "closure: what the closure gives, else None"),
    word("compare", 1, 2, "x [y]: a bool tensor, broadcast, no graph"),
    word("concat-datasets", 1, 1, "datasets: a dataset of all their samples"),
    word("conv", 7, 7, "x out_channels kernel_size stride padding dilation rank"),
    word(
        "conv-keras",
        6,
        6,
        "inputs filters kernel_size strides padding rank: channels last, padding by name",
    ),
    word("conv-transpose", 8, 8, "x out_channels kernel_size stride padding output_padding dilation rank"),
    word("copy-module", 1, 1, "module: another module with the same layers, no gradients wanted"),
    word(
        "dataset-arrays",
        0,
        0,
        "((x_train, y_train), (x_test, y_test)), of the sizes in the entry's `dataset`",
    ),
    word("dataset-batch", 2, 2, "self n: a dataset of batches"),
    word("dataset-map", 2, 2, "self f: a dataset of what f gives"),
    word("dataset-same", 1, 1, "self: the same samples (shuffle, prefetch, cache, repeat)"),
    word("dataset-slices", 1, 1, "x: a dataset of slices along the first dimension"),
    word("dense", 2, 3, "inputs units [activation]: last dimension becomes units"),
    word(
        "derived",
        1,
        MANY,
        "x ...: a tensor computed from these (or from a sequence of them), on their device and in their graph; shape unknown",
    ),
    word("detach", 1, 1, "x: the same numbers, no graph"),
    word("device", 1, 1, "x: the device a tensor is on, or that a name says"),
    word("dict-of", 0, MANY, "a dict (of the keyword arguments, if a `**` parameter is named)"),
    word("dist-rsample", 1, 2, "x [shape]: a sample that keeps the graph of the parameters"),
    word("dist-sample", 1, 2, "x [shape]: a sample without graph"),
    word("dtype", 1, 1, "x: the dtype of a tensor"),
    word("embedding", 3, 3, "x num_embeddings embedding_dim: a dimension more"),
    word("enumerate", 1, 1, "x: pairs of a counter and an element"),
    word("expand", 2, 2, "x sizes: a view of these sizes, -1 keeps one"),
    word("factory", 1, 4, "size [dtype device requires_grad]: a new tensor"),
    word("factory-like", 1, 4, "x [dtype device requires_grad]: a new tensor of x's shape, dtype and device"),
    word("file", 0, 1, "an open file"),
    word("flatten", 3, 3, "x start end: dimensions start to end become one"),
    word("float", 0, MANY, "a Python float"),
    word(
        "from-data",
        1,
        4,
        "data [dtype device requires_grad]: a new tensor of Python numbers or arrays, no graph",
    ),
    word("gather", 3, 3, "x dim index: the shape of index, numbers of x"),
    word("generator", 0, 1, "a random generator"),
    word(
        "global-pool",
        3,
        3,
        "x output_size rank: the last `rank` dimensions become output_size; None keeps one",
    ),
    word("grad", 1, 1, "x: the gradient that x has accumulated"),
    word("gradients", 2, 3, "target sources [create_graph]: a tuple of gradients; nothing is accumulated"),
    word("index", 2, 3, "x index [dim]: picked along a dimension"),
    word("int", 0, MANY, "a Python int"),
    word("item", 1, 1, "x: a Python number out of a tensor"),
    word("iterable", 1, 1, "x: the same iterable (progress bars)"),
    word("keras-input", 1, 2, "shape [batch_size]: a symbolic tensor with a batch dimension in front"),
    word("keras-model", 2, 2, "inputs outputs: a model from symbolic tensors"),
    word("keras-sequential", 1, 1, "layers: a model that calls its layers in order"),
    word(
        "legacy-tensor",
        3,
        3,
        "data dtype device: `torch.FloatTensor(3, 4)` by sizes, or from one sequence of numbers",
    ),
    word("len", 1, 1, "x: the first dimension, or the number of elements"),
    word("like", 1, 1, "x: elementwise; shape, dtype, device and graph of x, new numbers"),
    word("linear", 2, 2, "x out_features: last dimension becomes out_features"),
    word("linear-weight", 2, 2, "x weight: last dimension becomes the first of weight"),
    word("list-of", 1, 1, "x: a list of the elements"),
    word("loader", 2, 2, "dataset batch_size: batches of a dataset"),
    word("loss", 3, 3, "x y reduction: a scalar unless reduction is 'none'"),
    word("managed", 1, 1, "args: the same values, a tuple when several, now in an engine's care"),
    word("matmul", 2, 2, "x y: matrix product, batched"),
    word("max-pair", 2, 2, "x y: elementwise, the larger"),
    word("min-pair", 2, 2, "x y: elementwise, the smaller"),
    word("modules", 1, 1, "self: the module and all below it"),
    word("moved", 1, 4, "self [args device dtype]: a module in place, to a device or dtype; gives itself"),
    word("named-children", 1, 1, "self: pairs of a name and a submodule"),
    word("named-modules", 1, 1, "self: pairs of a name and a module, itself and all below"),
    word("named-parameters", 1, 1, "self: pairs of a name and a parameter"),
    word("ndim", 1, 1, "x: how many dimensions"),
    word(
        "new-factory",
        2,
        5,
        "x size [dtype device requires_grad]: a new tensor of this size, else with dtype and device of x",
    ),
    word("none", 0, 0, "None"),
    word("numel", 1, 1, "x: how many numbers, a Python int"),
    word("numpy", 1, 1, "x: a numpy array, no graph"),
    word("one-hot", 2, 2, "x num_classes: a dimension more"),
    word("opaque-module", 0, 0, "a module whose layers are unknown, that learns"),
    word(
        "optional-reduce",
        2,
        3,
        "x dim [keepdim]: a scalar; (values, indices) when dim is given; elementwise with dim when that is a tensor (max, min)",
    ),
    word(
        "pad",
        2,
        3,
        "x padding [rank]: the trailing dimensions grow, innermost first; an integer pads all of `rank`",
    ),
    word("padded-pair", 1, 1, "x: what x packs, and int64 lengths"),
    word("parameter", 1, 2, "data [requires_grad]: a leaf that learns, data's shape and device"),
    word("parameters", 1, 1, "self: the parameters of a module"),
    word("permute", 2, 2, "x dims: dimensions in another order"),
    word("place", 2, 2, "x device: a tensor on this device; an integer counts CUDA devices"),
    word("pool", 5, 5, "x kernel_size stride padding rank"),
    word("pool-keras", 5, 5, "inputs pool_size strides padding rank: channels last, padding by name"),
    word(
        "randint",
        3,
        6,
        "low high size [dtype device requires_grad]: integers; with high left out, from zero to low",
    ),
    word(
        "recurrent",
        5,
        6,
        "x hidden_size num_layers batch_first bidirectional [kind]: output and state ('lstm' has a pair)",
    ),
    word("recurrent-cell", 2, 3, "x hidden_size [kind]: the state ('lstm' gives a pair)"),
    word("reduce", 1, 3, "x [dim keepdim]: dimensions removed, all without dim"),
    word("reduce-pair", 2, 3, "x dim [keepdim]: (values, indices)"),
    word("repeat", 2, 2, "x sizes: tiled"),
    word("reshape", 2, 2, "x shape: one -1 is filled in"),
    word("same", 1, 1, "x: the same value"),
    word("self", 0, 1, "the receiver itself, changed in place"),
    word("sequential", 1, 1, "x: the children called in order"),
    word("shape", 1, 1, "x: the sizes, a tuple"),
    word("size", 1, 2, "x [dim]: the sizes, or one"),
    word("sort", 2, 2, "x dim: (values, indices) of x's shape"),
    word("split", 3, 3, "x size dim: a tuple of parts of this size"),
    word("split-dataset", 2, 2, "dataset lengths: a tuple of datasets; lengths below one are fractions"),
    word("squeeze", 1, 2, "x [dim]: dimensions of one removed"),
    word("stack", 2, 2, "tensors dim: joined along a new dimension"),
    word("state-dict", 1, 1, "self: tensors of a module or optimizer by name, no graph"),
    word("str", 0, MANY, "a Python str"),
    word("sum-of", 1, 1, "x: the sum of a Python iterable"),
    word("take-samples", 1, 2, "dataset [indices]: fewer samples of a dataset"),
    word("tensor-dataset", 1, 1, "tensors: a dataset of rows, as long as the first dimension"),
    word(
        "to",
        2,
        4,
        "x args [device dtype]: a tensor on another device, in another dtype, or both, as the arguments say",
    ),
    word("tolist", 1, 1, "x: nested lists of Python numbers"),
    word("topk", 3, 3, "x k dim: (values, indices), k long"),
    word("transpose", 3, 3, "x a b: two dimensions swapped"),
    word("tuple-of", 1, MANY, "x ...: a tuple of these"),
    word("unbind", 2, 2, "x dim: a tuple along a dimension"),
    word("unflatten", 3, 3, "x dim sizes: one dimension becomes several"),
    word("unfold", 4, 4, "x dim size step: windows"),
    word("unknown", 0, MANY, "nothing is known"),
    word("unsqueeze", 2, 2, "x dim: a dimension of one more"),
    word("upsample", 2, 3, "x size [scale_factor]: the trailing dimensions grow"),
    word("variable", 1, 2, "data [requires_grad]: the tensor itself, as a leaf where requires_grad is true"),
    word("view", 2, MANY, "x shape ...: the same numbers in this shape"),
    word("where", 3, 3, "c x y: x where c holds, else y"),
    word("wrap", 1, 1, "module: the module itself, wrapped"),
    word("zip", 1, 1, "args: tuples of elements"),
];

/// Functions on intervals, sorted.
pub const RANGES: &[Word] = &[
    word("abs", 1, 1, "|x|"),
    word("add", 2, 2, "x + y"),
    word("ceil-at", 2, 2, "x high: min(x, high)"),
    word("clamp", 3, 3, "x low high; None is no bound"),
    word("div", 2, 2, "x / y"),
    word("elu", 1, 2, "x [alpha]: not under -alpha"),
    word("exp", 1, 1, "above zero"),
    word("floor-at", 2, 2, "x low: max(x, low)"),
    word("log", 1, 1, "natural logarithm"),
    word("log1p", 1, 1, "log(1 + x)"),
    word("max", 2, 2, "the larger of two"),
    word("mean", 1, 1, "inside the bounds of x"),
    word("min", 2, 2, "the smaller of two"),
    word("mul", 2, 2, "x * y"),
    word("neg", 1, 1, "-x"),
    word("optional-max", 2, 2, "x dim: of x, or the larger of two where dim is a tensor"),
    word("optional-min", 2, 2, "x dim: of x, or the smaller of two where dim is a tensor"),
    word("pow", 2, 2, "x to the power y"),
    word("prod", 1, 1, "product of elements: not negative if x is not"),
    word("reciprocal", 1, 1, "1 / x"),
    word("relu", 1, 1, "max(x, 0)"),
    word("same", 1, 1, "the bounds of x"),
    word("scaled", 1, 1, "x, or zero, times something positive (dropout)"),
    word("sqrt", 1, 1, "square root"),
    word("square", 1, 1, "x * x"),
    word("sub", 2, 2, "x - y"),
    word("sum", 1, 1, "sum of elements: keeps the sign and whether zero is possible"),
    word("union", 2, MANY, "of any of them"),
];

/// Parts of the training protocol that an engine may own.
pub const OWNED: &[&str] = &["backward", "step", "clear", "device", "eval", "loop"];

pub const VERBS: &[(&str, Verb, usize, usize)] = &[
    ("backward", Verb::Backward, 1, 4),
    ("step", Verb::Step, 1, 2),
    ("walk", Verb::Walk, 1, 4),
    ("clear", Verb::Clear, 1, 1),
    ("train", Verb::Train, 1, 2),
    ("eval", Verb::Eval, 1, 1),
    ("requires-grad", Verb::RequiresGrad, 2, 2),
    ("detach", Verb::Detach, 1, 1),
    ("move", Verb::Move, 2, 2),
    ("call", Verb::Call, 1, MANY),
    ("fit", Verb::Fit, 1, 3),
    ("compile", Verb::Compile, 2, 3),
    ("add-layer", Verb::AddLayer, 2, 2),
    ("grad-mode", Verb::GradMode, 1, 1),
    ("add-params", Verb::AddParams, 2, 2),
    ("spawn", Verb::Spawn, 1, 2),
    ("zero", Verb::Zero, 1, 1),
    ("register", Verb::Register, 3, 3),
    ("unknown", Verb::Unknown, 1, 1),
];

pub const ROLES: &[(&str, Role)] = &[
    ("tensor", Role::Tensor),
    ("parameter", Role::Parameter),
    ("module", Role::Module),
    ("optimizer", Role::Optimizer),
    ("scheduler", Role::Scheduler),
    ("loader", Role::Loader),
    ("dataset", Role::Dataset),
    ("scaler", Role::Scaler),
    ("device", Role::Device),
    ("engine", Role::Engine),
    ("array", Role::Array),
    ("function", Role::Function),
];

pub const MARKS: &[(&str, Mark)] = &[
    ("softmax", Mark::Softmax),
    ("log-softmax", Mark::LogSoftmax),
    ("sigmoid", Mark::Sigmoid),
    ("log-sigmoid", Mark::LogSigmoid),
];

pub const CONTEXTS: &[&str] =
    &["no-grad", "enable-grad", "set-grad", "accumulate", "device", "transparent", "result"];

pub const EXPECTATIONS: &[&str] =
    &["logits", "binary-logits", "probabilities", "log-probabilities", "anything"];

/// Keys of an entry.
pub const ENTRY_KEYS: &[&str] = &[
    "also", "params", "gives", "range", "mark", "effects", "context", "loss", "role", "is", "weights",
    "call", "owns", "makes", "dataset", "property", "source",
];

/// Keys of a file that are no entries.
pub const FILE_KEYS: &[&str] = &[
    "packages",
    "base",
    "frameworks",
    "pure",
    "same",
    "roles",
    "names",
    "telling",
    "protocol",
    "transparent",
];
