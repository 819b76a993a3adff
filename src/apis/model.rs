//! The typed entries of the API tables: plain data, shared by the build script and the library.

use serde::{Deserialize, Serialize};
use ustr::Ustr;

use super::effects::Verb;
use super::needs::Need;
use super::numbers::{Computed, PoleKind, RangeFunction};
use super::transfers::Transfer;

/// One function, method or class of a framework.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Api {
    /// Canonical qualified name, `torch.Tensor.sum` for a method.
    pub name: Ustr,
    /// In order; a default that is no literal stands as none. Of a method the first is the receiver, of a class the first is the first of `__init__` after `self`.
    pub params: Box<[ParamSpec]>,
    /// What a call evaluates to. Of a class: what a call of an *instance* evaluates to.
    pub gives: Option<Apply<Transfer>>,
    /// The interval of the numbers in the result.
    pub range: Option<RangeSpec>,
    /// `root x`: where the operation has a pole, if its range does not say so.
    pub pole: Option<Apply<PoleKind>>,
    /// `softmax input`: the function that a replay computes, if its range does not say so.
    pub computes: Option<Apply<Computed>>,
    /// The normalisation that the result has been through.
    pub mark: Option<Mark>,
    pub effects: Box<[EffectSpec]>,
    /// What the call needs of the shapes that it is given.
    pub needs: Box<[Apply<Need>]>,
    pub context: Option<Context>,
    pub loss: Option<LossSpec>,
    pub class: Option<Box<ClassSpec>>,
    pub dataset: Option<Box<DatasetSpec>>,
    /// Read without parentheses (`tensor.shape`): `gives` is of the receiver, `self`.
    pub property: bool,
    /// A metric that is no mean over samples: of all of them it is not the mean of what it is of each batch.
    pub pooled: Option<Pooled>,
    /// The backward pass needs the first operand as it was.
    pub saves_input: bool,
    /// The backward pass needs the result as it was.
    pub saves_result: bool,
    /// Address of the page that says so.
    pub source: Box<str>,
}

impl Api {
    /// The transfer that says what a call gives.
    pub fn transfer(&self) -> Option<Transfer> {
        self.gives.as_ref().map(|apply| apply.verb)
    }

    /// Whether a call has an effect.
    pub fn does(&self, verb: Verb) -> bool {
        self.effects.iter().any(|effect| effect.verb == verb)
    }

    /// The function that the interval of the result is.
    pub fn range_function(&self) -> Option<RangeFunction> {
        match &self.range {
            Some(RangeSpec::Of(apply)) => Some(apply.verb),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamSpec {
    pub name: Ustr,
    pub kind: ParamKind,
    /// What it is where it is left out, as far as a literal says that.
    pub default: Option<Literal>,
    pub may_be_left_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamKind {
    Plain,
    /// `*args`
    Star,
    /// after a bare `*`
    KeywordOnly,
    /// `**kwargs`
    DoubleStar,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Ustr),
}

/// A word of a vocabulary, which stands for a function of the interpreter, and what it is applied to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apply<W> {
    pub verb: W,
    pub args: Box<[Operand]>,
}

/// An argument of a transfer or an effect: a parameter by name, or a quoted literal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operand {
    Param(Ustr),
    Literal(Literal),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RangeSpec {
    /// `[0, 1]`, `(0, inf)`, with `(` and `)` for an end that is never reached.
    Interval { low: f64, low_open: bool, high: f64, high_open: bool },
    /// `abs input`, `clamp input min max`: a named range function.
    Of(Apply<RangeFunction>),
}

/// What a value has been through, as far as losses care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mark {
    Softmax,
    LogSoftmax,
    Sigmoid,
    LogSigmoid,
    /// None: what a layer gives, or an activation that does not make probabilities.
    Raw,
}

/// A verb of the training protocol and what it acts on.
pub type EffectSpec = Apply<Verb>;

/// What `with api(...)` or `@api(...)` puts in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Context {
    NoGrad,
    EnableGrad,
    /// `set-grad flag`
    SetGrad(Operand),
    /// `accumulate`: the framework decides when steps and clears are real.
    Accumulate,
    /// `device x`: allocations land there.
    Device(Operand),
    /// `strategy x`: what is made here has a copy on each of the strategy's devices.
    Strategy(Operand),
    /// `recording`: operations are written down, to be walked; the `as` target is the call's result.
    Recording,
    /// `failing`: an error is expected.
    Failing,
    /// `traced`: the function is recorded once as a graph.
    Traced,
    /// `autocast device enabled dtype`: operations choose their dtypes by themselves.
    Autocast(Operand, Operand, Operand),
    /// Others that change nothing we follow.
    Transparent,
    /// The `as` target is the call's result (`open`, `scale_loss`).
    Result,
}

/// The arguments of a loss, and what it expects of its input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossSpec {
    pub input: Ustr,
    pub target: Ustr,
    pub expects: Expects,
    /// How numbers of the input meet those of the target, where they do so one by one.
    pub pairs: Option<Pairs>,
    /// The axis of the classes, where the target may hold the index of a class.
    pub classes: Option<i64>,
    /// What the target's shape has to be, in frameworks that let a last axis of one be left out.
    pub targets: Option<Targets>,
    /// The way back fails where the target has another dtype than the input.
    pub strict: bool,
    /// The target may be on another device than the input.
    pub apart: bool,
    /// In older releases the arguments came the other way round.
    pub turned: bool,
    /// How the target says which of several classes is right.
    pub labels: Option<Labels>,
    /// The same loss of labels of the other kind.
    pub sibling: Option<Ustr>,
}

/// How a target says which of several classes is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Labels {
    /// By the index of the class.
    Indices,
    /// By a number for each class.
    OneHot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Targets {
    /// That of the input.
    Equal,
    /// That of the input without its last axis, whose indices they are.
    Indices,
    /// One that the input can be broadcast with.
    Broadcast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pairs {
    /// Shapes that differ are broadcast.
    Broadcast,
    /// Shapes that differ are refused.
    Equal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expects {
    /// Applies a softmax itself.
    Logits,
    /// Applies a sigmoid itself.
    BinaryLogits,
    /// Of classes that exclude each other.
    Probabilities,
    /// Each for itself.
    BinaryProbabilities,
    /// Logarithms of the probabilities of classes.
    LogProbabilities,
    /// The logarithm of a distribution, against another distribution.
    LogDistribution,
    /// Logits where the parameter is true, else probabilities (`from_logits`).
    LogitsIf(Ustr),
    BinaryLogitsIf(Ustr),
    /// Any numbers (MSE).
    Anything,
}

impl Expects {
    /// The parameter that decides what is expected.
    pub fn flag(&self) -> Option<Ustr> {
        match self {
            Expects::LogitsIf(name) | Expects::BinaryLogitsIf(name) => Some(*name),
            _ => None,
        }
    }
}

/// What a class makes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassSpec {
    pub role: Option<Role>,
    /// Bases, by qualified name: methods and roles are inherited.
    pub is: Box<[Ustr]>,
    /// A layer: how many numbers it learns; `None` unknown, zero for an activation.
    pub weights: Option<Weights>,
    /// What a layer calls its own parameters, in the order in which it registers them; empty where nobody said.
    pub parameters: Box<[ParameterSpec]>,
    /// A layer whose instance call is this function, on the call's arguments and then the constructor's.
    pub call: Option<Ustr>,
    /// The parameters of an instance call, where `call` names no function.
    pub call_params: Box<[ParamSpec]>,
    /// What constructing evaluates to, where that is not simply an instance (`torch.nn.Parameter(data)`).
    pub makes: Option<Apply<Transfer>>,
    /// Whether a layer does something else in training than in evaluation.
    pub mode_dependent: Option<ModeDependence>,
    /// Whether a call of an instance draws at random what it does to a sample.
    pub draws: Option<Draws>,
    /// The parameter of an instance call by which a layer learns that it trains; where nobody says so, it does not.
    pub told: Option<Ustr>,
    /// In which order a sampler goes through a dataset, or a dataset holds its samples.
    pub order: Option<Order>,
    /// The steps of an optimizer are as long as the gradients are large.
    pub proportional: bool,
    /// Parts of the training protocol that the framework does by itself: `backward`, `step`, `clear`, `device`, `eval`, `loop`;
    /// `fields`: it makes constructors of the annotated names in the bodies of subclasses.
    pub owns: Box<[Ustr]>,
    /// Methods of a subclass that give a loss, which the framework walks.
    pub walks: Box<[Ustr]>,
    /// Attributes that are false where a subclass goes back through its losses itself.
    pub walks_while: Box<[Ustr]>,
    /// Methods of a subclass that the framework calls for each batch of each epoch.
    pub each_batch: Box<[Ustr]>,
    /// Those that it calls when each epoch ends.
    pub epoch_end: Box<[Ustr]>,
    /// Those that it calls without arguments.
    pub bare_hooks: Box<[Ustr]>,
    /// Those that it calls on an instance before any other, in their order.
    pub called_first: Box<[Ustr]>,
    /// Those that give the batches which it trains on.
    pub trains_on: Box<[Ustr]>,
    /// Those that give the batches which it scores a model on.
    pub scores_on: Box<[Ustr]>,
    /// Those that it hands more to than it did in older releases.
    pub handed: Box<[Handed]>,
    /// An optimizer keeps something from step to step: always, or where the parameter is not zero.
    pub remembers: Option<Operand>,
    /// How many steps a schedule is made for, or keeps its rate: a sum of products, as of weights; empty where nobody said.
    pub lasts: Box<[Box<[Operand]>]>,
    /// What a schedule multiplies the rate by after that.
    pub decays: Option<Operand>,
}

/// How a framework calls a method of a subclass since one of its releases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handed {
    pub method: Ustr,
    /// By position.
    pub positional: Box<[Ustr]>,
    /// By name.
    pub named: Box<[Ustr]>,
    pub since: (u64, u64),
}

/// A parameter of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterSpec {
    pub name: Ustr,
    /// Arguments of the constructor that have to be true for it.
    pub when: Box<[Ustr]>,
    pub dims: Box<[Dim]>,
}

/// A dimension of a layer's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dim {
    /// `_`: of some size.
    Unknown,
    /// As large as an argument of the constructor.
    Of(Ustr),
    /// `*shape`: one dimension for each item of an argument, one alone for a number.
    Each(Ustr),
}

/// In which order samples come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// One after the other, as the dataset holds them.
    Sequential,
    Random,
    /// Each process has a part of its own, shuffled where this parameter is true.
    Shared(Ustr),
    /// A dataset that holds the samples of one class after those of another.
    ByClass,
    /// A dataset that decides itself what comes next.
    Stream,
}

/// When a layer's mode matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModeDependence {
    Always,
    Never,
    /// Where this parameter of the constructor is true, or not zero.
    If(Ustr),
    /// The same, if there are several of what the other one counts: it acts between them.
    Between(Ustr, Ustr),
}

/// When a metric of all samples is not the mean of what it is of each batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pooled {
    Always,
    /// Not where this parameter says that all classes are counted together, which makes an accuracy of it.
    UnlessMicro(Ustr),
}

/// When a transform does something else to each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draws {
    Always,
    /// Only whether it does anything is drawn, with the probability that this parameter of the constructor is.
    Whether(Ustr),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Weights {
    None,
    /// Learns, number not said.
    Some,
    /// A sum of products of parameter names and integers, `in_features*out_features + out_features`.
    Sum(Box<[Box<[Operand]>]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    Tensor,
    Parameter,
    Module,
    /// Computes a loss.
    Criterion,
    Optimizer,
    Scheduler,
    Loader,
    Dataset,
    Scaler,
    Device,
    /// Owns the loop or parts of it (accelerator, trainer, engine).
    Engine,
    /// numpy arrays
    Array,
    Function,
    Sampler,
    /// Of random numbers.
    Generator,
}

/// A dataset whose size everybody knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatasetSpec {
    /// `(value of the parameter `by`, samples)`; one entry with no value when it does not depend on it.
    pub samples: Box<[(Option<Literal>, i64)]>,
    pub by: Option<Ustr>,
    /// Shape of a sample as the loader gives it.
    pub sample: Box<[i64]>,
    pub bytes_per_element: i64,
    /// Labels stand in a column.
    pub column: bool,
    /// A sample is an image of any size and the index of its class.
    pub labelled: bool,
    /// A sample, and a batch, is an instance of this class, which holds a tensor for each of its parameters.
    pub record: Option<Ustr>,
}
