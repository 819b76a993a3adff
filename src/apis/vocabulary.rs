//! The closed lists of words that tables may use. A word that is not here is refused by the loader;
//! the interpreter gives each its meaning.

use super::model::{Labels, Mark, Order, Pairs, Role, Targets};

/// Parts of the training protocol that an engine may own.
pub(crate) const OWNED: &[&str] = &[
    "attributes",
    "backward",
    "build",
    "step",
    "clear",
    "cells",
    "constructing",
    "device",
    "eval",
    "fields",
    "graph",
    "hiding",
    "loop",
    "session",
    "setup",
];

pub(crate) const ROLES: &[(&str, Role)] = &[
    ("tensor", Role::Tensor),
    ("parameter", Role::Parameter),
    ("module", Role::Module),
    ("criterion", Role::Criterion),
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

pub(crate) const ORDERS: &[(&str, Order)] = &[
    ("sequential", Order::Sequential),
    ("random", Order::Random),
    ("by-class", Order::ByClass),
    ("stream", Order::Stream),
];

pub(crate) const MARKS: &[(&str, Mark)] = &[
    ("softmax", Mark::Softmax),
    ("log-softmax", Mark::LogSoftmax),
    ("sigmoid", Mark::Sigmoid),
    ("log-sigmoid", Mark::LogSigmoid),
    ("raw", Mark::Raw),
];

pub(crate) const CONTEXTS: &[&str] = &[
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
    "failing",
];

pub(crate) const EXPECTATIONS: &[&str] = &[
    "logits",
    "binary-logits",
    "probabilities",
    "binary-probabilities",
    "log-probabilities",
    "log-distribution",
    "anything",
];

/// How a loss may pair its input with its target.
pub(crate) const PAIRS: &[(&str, Pairs)] = &[("broadcast", Pairs::Broadcast), ("equal", Pairs::Equal)];

/// How the target of a loss may say which class is right.
pub(crate) const LABELS: &[(&str, Labels)] = &[("indices", Labels::Indices), ("one-hot", Labels::OneHot)];

/// What shape a loss may want of its target.
pub(crate) const TARGETS: &[(&str, Targets)] =
    &[("broadcast", Targets::Broadcast), ("equal", Targets::Equal), ("indices", Targets::Indices)];

/// Keys of an entry.
pub(crate) const ENTRY_KEYS: &[&str] = &[
    "also",
    "params",
    "gives",
    "range",
    "pole",
    "computes",
    "mark",
    "effects",
    "needs",
    "context",
    "loss",
    "role",
    "is",
    "weights",
    "parameters",
    "call",
    "owns",
    "makes",
    "mode_dependent",
    "draws",
    "told",
    "order",
    "proportional",
    "dataset",
    "property",
    "remembers",
    "lasts",
    "decays",
    "pooled",
    "saves_input",
    "saves_result",
    "source",
    "walks",
    "walks_while",
    "each_batch",
    "epoch_end",
    "bare_hooks",
    "called_first",
    "trains_on",
    "scores_on",
    "handed",
];

/// Those of them that only classes have.
pub(crate) const CLASS_KEYS: &[&str] = &[
    "role",
    "is",
    "weights",
    "call",
    "each_batch",
    "epoch_end",
    "bare_hooks",
    "called_first",
    "trains_on",
    "scores_on",
    "handed",
    "owns",
    "makes",
    "mode_dependent",
    "draws",
    "told",
    "order",
    "proportional",
    "walks",
    "lasts",
];

/// Keys of a file that are no entries.
pub(crate) const FILE_KEYS: &[&str] = &[
    "packages",
    "base",
    "frameworks",
    "pure",
    "trackers",
    "same",
    "roles",
    "names",
    "tensor_methods",
    "makers",
    "protocol",
    "failures",
    "nans",
    "trigger",
    "transparent",
    "losses",
    "criteria",
    "poles",
    "shuffling",
    "sharing",
    "scattering",
    "inputs",
    "learning",
    "pretrained",
    "testing",
    "suites",
    "drawing",
    "making",
    "random",
    "usual",
    "repairs",
];
