//! The rules, by concern. Each concern has a folder: the checkers that follow the rehearsal for it, and the
//! rules that say in words what they saw. A concern names no other one's state.

mod compiled;
mod data;
mod devices;
mod grammar;
mod graphs;
pub mod kernels;
pub mod layers;
pub mod losses;
mod memory;
pub mod modes;
mod modules;
mod names;
mod numbers;
mod optimizer;
mod reproducibility;
mod scaler;
mod shapes;

use crate::facts::{Findings, Script};
use crate::interp::{Checker, Hooks};
use crate::report::Severity;
use crate::source::rationed;
use std::sync::LazyLock;

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

/// So much work is a rule given for one script. A rehearsal ends by its fuel; who asks all that it left behind about all
/// of it again would take the square of that.
const RATION: u64 = 1 << 22;

impl Rule {
    /// Adds what it finds in a script; false where its ration was not enough, and it says nothing.
    pub fn ask(&self, script: &Script, out: &mut Findings) -> bool {
        let (all, for_gpus, unless_bound) = (out.all.len(), out.for_gpus.len(), out.unless_bound.len());
        let done = rationed(RATION, || (self.check)(script, out)).is_some();
        if !done {
            out.all.truncate(all);
            out.for_gpus.truncate(for_gpus);
            out.unless_bound.truncate(unless_bound);
        }
        done
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
    Syntax,
    Suppressions,
}

impl Group {
    pub const ALL: [Group; 13] = [
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
        Group::Syntax,
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
            Group::Syntax => "syntax",
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

/// What belongs together: rules, and the checkers that follow the rehearsal for them.
pub struct Concern {
    pub rules: &'static [&'static Rule],
    pub checkers: &'static [&'static Checker],
}

static CONCERNS: &[&Concern] = &[
    &compiled::CONCERN,
    &data::CONCERN,
    &devices::CONCERN,
    &grammar::CONCERN,
    &graphs::CONCERN,
    &kernels::CONCERN,
    &losses::CONCERN,
    &memory::CONCERN,
    &modes::CONCERN,
    &modules::CONCERN,
    &names::CONCERN,
    &numbers::CONCERN,
    &optimizer::CONCERN,
    &reproducibility::CONCERN,
    &scaler::CONCERN,
    &shapes::CONCERN,
];

/// All rules, sorted by id.
pub fn all() -> &'static [&'static Rule] {
    static SORTED: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
        let mut rules: Vec<&Rule> = CONCERNS.iter().flat_map(|concern| concern.rules).copied().collect();
        rules.sort_by_key(|rule| rule.id);
        rules
    });
    &SORTED
}

/// The handlers of all checkers, for a rehearsal.
pub fn hooks() -> &'static Hooks {
    static HOOKS: LazyLock<Hooks> = LazyLock::new(|| {
        let checkers: Vec<&Checker> = CONCERNS.iter().flat_map(|concern| concern.checkers).copied().collect();
        Hooks::of(&checkers)
    });
    &HOOKS
}
