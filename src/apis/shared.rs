//! What the tables say that is of no single entry: packages, roles, names, and words that texts are searched for.

use super::model::Role;
use ustr::Ustr;

/// What files say about packages as a whole.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Shared {
    pub packages: Vec<Ustr>,
    pub frameworks: Vec<Ustr>,
    pub pure: Vec<Ustr>,
    /// Packages whose instances record what they are told.
    pub trackers: Vec<Ustr>,
    /// A module prefix that is another name of a second; a last `*` stands for one more part.
    pub same: Vec<(Ustr, Ustr)>,
    pub roles: Vec<(Role, Vec<Ustr>)>,
    /// Attributes that say it of what is called, too.
    pub called: Vec<(Role, Vec<Ustr>)>,
    pub names: Vec<(Role, Vec<Ustr>)>,
    /// The classes that stand for a role when nothing more is known.
    pub classes: Vec<(Role, Vec<Ustr>)>,
    /// Methods whose name alone says that the receiver is a tensor.
    pub tensor_methods: Vec<Ustr>,
    /// Texts that say that a script orders its samples itself, that it gives each process a part of them.
    pub shuffling: Vec<Ustr>,
    pub sharing: Vec<Ustr>,
    /// Texts that say that a model brings its inputs to its GPUs itself; names of such inputs.
    pub scattering: Vec<Ustr>,
    pub inputs: Vec<Ustr>,
    /// Parts of names of what computes losses, in lower case; names of operations with a pole.
    pub losses: Vec<Ustr>,
    /// What the labels are called that a loss is given.
    pub labels: Vec<Ustr>,
    pub poles: Vec<Ustr>,
    /// Classes of losses that say what they expect.
    pub criteria: Vec<Ustr>,
    /// Layers with weights, by the names that functions mention.
    pub learning: Vec<Ustr>,
    /// Arguments that give a model the weights of an earlier training.
    pub pretrained: Vec<Ustr>,
    /// Texts that say that a file is run by a test runner, and how packages of tests begin.
    pub testing: Vec<Ustr>,
    pub suites: Vec<Ustr>,
    /// Texts that draw random numbers.
    pub drawing: Vec<Ustr>,
    /// Names of functions that make tensors on a device of their choice.
    pub making: Vec<Ustr>,
    /// What makes random numbers.
    pub random: Vec<Ustr>,
    /// What a name stands for that a file uses and never binds.
    pub usual: Vec<(Ustr, Ustr)>,
    /// What fixes write, by what it is for.
    pub repairs: Vec<(Ustr, Ustr)>,
    /// Functions that make tensors on the CPU, if nobody says where.
    pub makers: Vec<Ustr>,
    /// Attributes and functions that the training protocol is about: a function without any of them does not matter.
    pub protocol: Vec<Ustr>,
    /// Texts of which a file must hold one to be worth rehearsing.
    pub trigger: Vec<Ustr>,
    /// Packages whose operations bring their operands to one device by themselves.
    pub copying: Vec<Ustr>,
    /// Decorators that leave a function as it is.
    pub transparent: Vec<Ustr>,
    /// Exceptions that work on a device raises when it fails.
    pub failures: Vec<Ustr>,
    /// Constants that are NaN.
    pub nans: Vec<Ustr>,
}

impl Shared {
    pub(crate) fn extend(&mut self, other: Shared) {
        self.packages.extend(other.packages);
        self.frameworks.extend(other.frameworks);
        self.pure.extend(other.pure);
        self.trackers.extend(other.trackers);
        self.same.extend(other.same);
        self.roles.extend(other.roles);
        self.called.extend(other.called);
        self.names.extend(other.names);
        self.classes.extend(other.classes);
        self.tensor_methods.extend(other.tensor_methods);
        self.makers.extend(other.makers);
        self.shuffling.extend(other.shuffling);
        self.losses.extend(other.losses);
        self.labels.extend(other.labels);
        self.scattering.extend(other.scattering);
        self.inputs.extend(other.inputs);
        self.poles.extend(other.poles);
        self.criteria.extend(other.criteria);
        self.sharing.extend(other.sharing);
        self.learning.extend(other.learning);
        self.pretrained.extend(other.pretrained);
        self.testing.extend(other.testing);
        self.suites.extend(other.suites);
        self.drawing.extend(other.drawing);
        self.making.extend(other.making);
        self.random.extend(other.random);
        self.usual.extend(other.usual);
        self.repairs.extend(other.repairs);
        self.protocol.extend(other.protocol);
        self.trigger.extend(other.trigger);
        self.copying.extend(other.copying);
        self.transparent.extend(other.transparent);
        self.failures.extend(other.failures);
        self.nans.extend(other.nans);
    }
}
