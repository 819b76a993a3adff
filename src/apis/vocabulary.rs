//! The closed lists of words that tables may use. A word that is not here is refused by the loader;
//! the interpreter gives each its meaning.

use super::model::{Mark, Order, Pairs, Role, Verb};
pub use super::transfers::TRANSFERS;

/// A word of a closed list: how many operands it takes, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub name: &'static str,
    pub min: usize,
    pub max: usize,
    pub meaning: &'static str,
}

pub(super) const fn word(name: &'static str, min: usize, max: usize, meaning: &'static str) -> Word {
    Word { name, min, max, meaning }
}

/// Any number of operands.
pub(super) const MANY: usize = usize::MAX;

/// Functions on intervals, sorted.
pub const RANGES: &[Word] = &[
    word("abs", 1, 1, "|x|"),
    word("add", 2, 2, "x + y"),
    word("any", 1, MANY, "any number, where any of them can be any; else not known"),
    word("ceil-at", 2, 2, "x high: min(x, high)"),
    word("chosen", 3, 3, "mask x y: of x where the mask holds, else of y"),
    word("clamp", 3, 3, "x low high; None is no bound"),
    word("clip", 5, 5, "x low high low high: as clamp, bounds under either of two names"),
    word("cos", 1, 1, "cosine"),
    word("div", 2, 2, "x / y"),
    word("elu", 1, 2, "x [alpha]: not under -alpha"),
    word("exp", 1, 1, "above zero"),
    word("expm1", 1, 1, "exp(x) - 1"),
    word("filled", 3, 3, "x mask value: of x where the mask does not hold, else of the value"),
    word("floor-at", 2, 2, "x low: max(x, low)"),
    word("largest", 1, 1, "of x, some of which it is, and none is larger"),
    word("leaky", 2, 2, "x slope: below zero the slope times x"),
    word("log", 1, 1, "natural logarithm"),
    word("log10", 1, 1, "logarithm to the base 10"),
    word("log1p", 1, 1, "log(1 + x)"),
    word("log2", 1, 1, "logarithm to the base 2"),
    word("logsumexp", 1, 1, "log of the sum of exp(x): not under x"),
    word("max", 2, 2, "the larger of two"),
    word("mean", 1, 1, "inside the bounds of x"),
    word("min", 2, 2, "the smaller of two"),
    word("mul", 2, 2, "x * y"),
    word("neg", 1, 1, "-x"),
    word("norm", 1, 1, "not negative, and zero only where numbers below zero were cut off"),
    word("normalized", 0, 1, "order: the numbers of vectors of length one"),
    word("optional-max", 2, 2, "x dim: of x, or the larger of two where dim is a tensor"),
    word("optional-min", 2, 2, "x dim: of x, or the smaller of two where dim is a tensor"),
    word("padded", 2, 2, "x padding: of x, and of zero unless the padding is zero"),
    word("pow", 2, 2, "x to the power y"),
    word("prod", 1, 1, "product of elements: not negative if x is not"),
    word("product", 2, 3, "x y [bias]: sums of products; any number where one of them is learned"),
    word("quotient-or-zero", 2, 2, "x / y, and zero where y is"),
    word("reciprocal", 1, 1, "1 / x"),
    word("relu", 1, 1, "max(x, 0)"),
    word("same", 1, 1, "the bounds of x"),
    word("scaled", 1, 1, "x, or zero, times something positive (dropout)"),
    word("scattered", 2, 3, "x src [value]: of x and of what was put into it"),
    word("share", 1, 1, "a softmax or sigmoid of x: rounding reaches zero and one where x is large"),
    word("sin", 1, 1, "sine"),
    word("sqrt", 1, 1, "square root"),
    word("square", 1, 1, "x * x"),
    word("sub", 2, 2, "x - y"),
    word("sum", 1, 1, "sum of elements: keeps the sign and whether zero is possible"),
    word("tanh", 1, 1, "hyperbolic tangent"),
    word("union", 2, MANY, "of any of them"),
];

/// Where operations, or their gradients, are not finite; an entry whose `range` is `div`, `exp`, `log`, `log1p`,
/// `pow`, `reciprocal` or `sqrt` has that pole without saying so.
pub const POLES: &[Word] = &[
    word("arc", 1, 1, "x at one and minus one, and outside"),
    word("cholesky", 1, 1, "a matrix x that is not positive definite"),
    word("determinant", 1, 1, "the gradient where the matrix x has no inverse"),
    word(
        "deviation",
        1,
        4,
        "x [dim] [unbiased] [correction]: the gradient where all of x is equal; one number",
    ),
    word("diagonal", 1, 1, "none, and a matrix that the result is added to has an inverse"),
    word("div", 2, 2, "x y: y at zero"),
    word("finite", 1, 1, "none, and what is not finite in x is replaced"),
    word("inverse", 1, 1, "a matrix x that has no inverse"),
    word("log", 1, 1, "x at zero, and below"),
    word("log-determinant", 1, 1, "a matrix x that has no inverse"),
    word("moments", 1, 1, "in training, one number in x for each channel"),
    word("none", 1, 1, "its own code leaves x at the pole out"),
    word("norm", 1, 1, "the gradient where all of x is zero"),
    word("root", 1, 1, "the gradient where x is zero; x below zero"),
    word("rsqrt", 1, 1, "x at zero, and below"),
    word("variance", 1, 4, "x [dim] [unbiased] [correction]: one number"),
];

/// What a replay computes, for entries whose `range` or `mark` does not say it, sorted.
pub const COMPUTED: &[Word] = &[
    word("acos", 1, 1, "the inverse of the cosine"),
    word("amax", 1, 1, "the largest element"),
    word("amin", 1, 1, "the smallest element"),
    word("asin", 1, 1, "the inverse of the sine"),
    word("atan", 1, 1, "the inverse of the tangent"),
    word("atanh", 1, 1, "the inverse of the hyperbolic tangent"),
    word("bce", 2, 2, "binary cross entropy of probabilities"),
    word("bce-with-logits", 2, 2, "binary cross entropy of logits"),
    word("cosh", 1, 1, "the hyperbolic cosine"),
    word("cosine-similarity", 3, 3, "x y epsilon"),
    word("erf", 1, 1, "the error function"),
    word("exp2", 1, 1, "two to the power x"),
    word("expm1", 1, 1, "e to the power x, less one"),
    word("gelu", 1, 1, "x times its share of a normal distribution"),
    word("huber", 3, 3, "x y delta"),
    word("l1", 2, 2, "the mean of |x - y|"),
    word("log10", 1, 1, "the logarithm to base ten"),
    word("log2", 1, 1, "the logarithm to base two"),
    word("logsumexp", 1, 1, "the logarithm of a sum of powers"),
    word("mse", 2, 2, "the mean of (x - y) ** 2"),
    word("norm", 2, 2, "x p: of order one or two"),
    word("normalize", 3, 3, "x p epsilon: divided by its norm"),
    word("rsqrt", 1, 1, "one over the square root"),
    word("sign", 1, 1, "minus one, zero or one"),
    word("silu", 1, 1, "x times its sigmoid"),
    word("sinh", 1, 1, "the hyperbolic sine"),
    word("smooth-l1", 3, 3, "x y beta"),
    word("softplus", 3, 3, "x beta threshold: by default a smooth relu"),
    word("std", 3, 3, "x unbiased correction"),
    word("tan", 1, 1, "the tangent"),
    word("var", 3, 3, "x unbiased correction"),
];

/// Parts of the training protocol that an engine may own.
pub const OWNED: &[&str] = &[
    "attributes",
    "backward",
    "step",
    "clear",
    "constructing",
    "device",
    "eval",
    "graph",
    "loop",
    "session",
    "setup",
];

pub const VERBS: &[(&str, Verb, usize, usize)] = &[
    ("backward", Verb::Backward, 1, 4),
    ("step", Verb::Step, 1, 3),
    ("schedule", Verb::Schedule, 1, 2),
    ("unscale", Verb::Unscale, 2, 2),
    ("update-scale", Verb::UpdateScale, 1, 1),
    ("read-scale", Verb::ReadScale, 1, 1),
    ("clip", Verb::Clip, 1, 2),
    ("walk", Verb::Walk, 1, 4),
    ("clear", Verb::Clear, 1, 1),
    ("train", Verb::Train, 1, 2),
    ("eval", Verb::Eval, 1, 1),
    ("requires-grad", Verb::RequiresGrad, 2, 2),
    ("detach", Verb::Detach, 1, 1),
    ("drop", Verb::Drop, 1, 2),
    ("move", Verb::Move, 2, 2),
    ("call", Verb::Call, 1, MANY),
    ("fit", Verb::Fit, 1, 3),
    ("compile", Verb::Compile, 2, 4),
    ("add-layer", Verb::AddLayer, 2, 2),
    ("default-device", Verb::DefaultDevice, 1, 1),
    ("grad-mode", Verb::GradMode, 1, 1),
    ("add-params", Verb::AddParams, 2, 2),
    ("spawn", Verb::Spawn, 1, 2),
    ("zero", Verb::Zero, 1, 1),
    ("register", Verb::Register, 3, 3),
    ("set-epoch", Verb::SetEpoch, 1, 1),
    ("replicate", Verb::Replicate, 1, 1),
    ("seed", Verb::Seed, 1, 1),
    ("start-method", Verb::StartMethod, 1, 1),
    ("worker-info", Verb::WorkerInfo, 0, 0),
    ("train-batch", Verb::TrainBatch, 1, 2),
    ("trainable", Verb::Trainable, 2, 2),
    ("copy", Verb::Copy, 1, 2),
    ("update", Verb::Update, 2, 2),
    ("differentiate", Verb::Differentiate, 1, 1),
    ("clear-session", Verb::ClearSession, 0, 0),
    ("refuse-autocast", Verb::RefuseAutocast, 1, 1),
    ("default-dtype", Verb::DefaultDType, 1, 1),
    ("empty", Verb::Empty, 1, 1),
    ("restore", Verb::Restore, 1, 1),
    ("exhaust", Verb::Exhaust, 1, 1),
    ("recompute", Verb::Recompute, 1, 1),
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
    ("sampler", Role::Sampler),
    ("generator", Role::Generator),
];

pub const ORDERS: &[(&str, Order)] = &[
    ("sequential", Order::Sequential),
    ("random", Order::Random),
    ("by-class", Order::ByClass),
    ("stream", Order::Stream),
];

pub const MARKS: &[(&str, Mark)] = &[
    ("softmax", Mark::Softmax),
    ("log-softmax", Mark::LogSoftmax),
    ("sigmoid", Mark::Sigmoid),
    ("log-sigmoid", Mark::LogSigmoid),
    ("raw", Mark::Raw),
];

pub const CONTEXTS: &[&str] = &[
    "no-grad",
    "enable-grad",
    "set-grad",
    "accumulate",
    "device",
    "autocast",
    "transparent",
    "result",
    "strategy",
    "traced",
    "recording",
];

pub const EXPECTATIONS: &[&str] = &[
    "logits",
    "binary-logits",
    "probabilities",
    "binary-probabilities",
    "log-probabilities",
    "log-distribution",
    "anything",
];

/// How a loss may pair its input with its target.
pub const PAIRS: &[(&str, Pairs)] = &[("broadcast", Pairs::Broadcast), ("equal", Pairs::Equal)];

/// Keys of an entry.
pub const ENTRY_KEYS: &[&str] = &[
    "also",
    "params",
    "gives",
    "range",
    "pole",
    "computes",
    "mark",
    "effects",
    "context",
    "loss",
    "role",
    "is",
    "weights",
    "call",
    "owns",
    "makes",
    "modal",
    "order",
    "proportional",
    "dataset",
    "property",
    "remembers",
    "source",
    "walks",
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
    "failures",
    "telltale",
    "transparent",
    "shuffling",
    "sharing",
    "testing",
    "suites",
    "drawing",
    "making",
    "random",
    "usual",
];
