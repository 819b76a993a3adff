//! The list of rules. A rule asks `facts` and reports; it walks nothing itself.

use crate::report::Severity;

/// One kind of mistake.
#[derive(Debug)]
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
    /// The page, in Markdown.
    pub page: &'static str,
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

const fn rule(id: &'static str, group: Group, severity: Severity, summary: &'static str) -> Rule {
    Rule { id, summary, group, severity, since: "0.1.0", page: "" }
}

static RULES: [Rule; 10] = [
    rule("device-mismatch", Group::Device, Severity::Error, "an operation mixes tensors of two devices"),
    rule("full-dataset-batch", Group::Memory, Severity::Warning, "one batch is the whole dataset"),
    rule(
        "misplaced-zero-grad",
        Group::Gradients,
        Severity::Error,
        "gradients are cleared before they are applied",
    ),
    rule("missing-no-grad", Group::Memory, Severity::Warning, "evaluation records a graph that nobody walks"),
    rule(
        "missing-zero-grad",
        Group::Gradients,
        Severity::Error,
        "gradients are never cleared between optimizer steps",
    ),
    rule(
        "non-scalar-backward",
        Group::Gradients,
        Severity::Error,
        "backward is called on a tensor of many numbers",
    ),
    rule("retained-graph", Group::Memory, Severity::Error, "graphs of earlier steps are kept alive"),
    rule(
        "softmax-before-cross-entropy",
        Group::Losses,
        Severity::Error,
        "the loss normalises what is normalised already",
    ),
    rule("unsafe-division", Group::Numerics, Severity::Warning, "a divisor can become zero"),
    rule("whole-dataset-on-gpu", Group::Memory, Severity::Warning, "the whole dataset lives on the GPU"),
];

/// Every rule that looks at scripts, sorted by id.
pub fn all() -> &'static [Rule] {
    &RULES
}
