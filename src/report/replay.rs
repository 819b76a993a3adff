//! What can be replayed of a finding, as plain data: a number as a function of inputs, a training step, or a
//! demand for memory. Rules attach it; who runs it, and how, is not known here.
//!
//! A rule that knows what reached the loss builds a [`Program`] node by node and hands it over with
//! [`Diagnostic::replay`](super::Diagnostic::replay):
//!
//! ```
//! use trainlint::report::replay::{Domain, Form, Function, Program, Replay};
//!
//! // loss = (target / prediction).mean(), with a prediction that can be anything
//! let mut program = Program::default();
//! let target = program.input("target", Form::Many, Domain::UNIT, false);
//! let prediction = program.input("prediction", Form::Many, Domain::REAL, true);
//! let ratio = program.apply(Function::Div, &[target, prediction], None);
//! program.apply(Function::Mean, &[ratio], None);
//! let replay = Replay::Program(program);
//! # assert!(matches!(replay, Replay::Program(_)));
//! ```
//!
//! The output is the last node. Operands come before what uses them. Numbers such as an epsilon are operands,
//! too ([`Program::number`]). `None` in the place of a node is fine: it only costs the message its line.

mod step;

pub use step::*;

use super::Place;
use serde::{Deserialize, Serialize};

/// What is run to see a finding happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    Program(Program),
    Step(Box<Step>),
    Memory(Demand),
}

impl Replay {
    /// Every place of a script that it names.
    pub fn places_mut(&mut self) -> Box<dyn Iterator<Item = &mut Place> + '_> {
        match self {
            Replay::Program(program) => program.places_mut(),
            Replay::Step(_) | Replay::Memory(_) => Box::new(std::iter::empty()),
        }
    }
}

/// A number that is computed of inputs, one sample at a time. The sum of the output is what `backward` starts
/// from, so that a program need not end in one number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// What inputs are, and what results are rounded to.
    pub dtype: Float,
    pub framework: Framework,
    pub inputs: Vec<Input>,
    pub nodes: Vec<Node>,
    /// What is asked, where it is not whether a number or a gradient stays finite.
    pub claim: Option<Claim>,
    /// The same with the repair that the finding proposes: run with the same samples.
    pub repaired: Option<Box<Program>>,
}

/// A gradient that the script computes itself: is it the derivative of the output?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The input, which is learned, that the derivative is taken in.
    pub input: u32,
    /// The node that gives what the script says it is.
    pub node: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As the script calls it, for messages.
    pub name: String,
    pub form: Form,
    pub domain: Domain,
    /// Something that is learned stands behind it, so that its gradient counts.
    pub learned: bool,
}

/// How many numbers there are in one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Form {
    One,
    /// Along the dimension that reductions such as `sum` and `softmax` run over: classes, or features.
    #[default]
    Many,
}

impl Form {
    pub const ALL: &[Form] = &[Form::One, Form::Many];

    pub fn name(self) -> &'static str {
        match self {
            Form::One => "one",
            Form::Many => "many",
        }
    }
}

/// The numbers that an input can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    pub low: Number,
    pub high: Number,
    /// The ends are only approached.
    pub low_open: bool,
    pub high_open: bool,
    /// Whole numbers only, such as labels.
    pub whole: bool,
}

impl Domain {
    /// Anything finite, such as the output of a linear layer.
    pub const REAL: Domain = Domain::closed(f64::NEG_INFINITY, f64::INFINITY);
    /// What comes out of a relu or a square.
    pub const NON_NEGATIVE: Domain = Domain::closed(0.0, f64::INFINITY);
    /// What comes out of a sigmoid: rounding reaches both ends.
    pub const UNIT: Domain = Domain::closed(0.0, 1.0);
    /// Zero or one.
    pub const LABEL: Domain = Domain { whole: true, ..Domain::UNIT };

    pub const fn closed(low: f64, high: f64) -> Domain {
        Domain {
            low: Number::new(low),
            high: Number::new(high),
            low_open: false,
            high_open: false,
            whole: false,
        }
    }
}

/// A number by its bits, so that all of them compare and none is lost on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Number(u64);

impl Number {
    pub const fn new(value: f64) -> Number {
        Number(value.to_bits())
    }

    pub const fn value(self) -> f64 {
        f64::from_bits(self.0)
    }

    pub const fn bits(self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Float {
    F16,
    Bf16,
    #[default]
    F32,
    F64,
}

impl Float {
    pub const ALL: &[Float] = &[Float::F16, Float::Bf16, Float::F32, Float::F64];

    pub fn name(self) -> &'static str {
        match self {
            Float::F16 => "float16",
            Float::Bf16 => "bfloat16",
            Float::F32 => "float32",
            Float::F64 => "float64",
        }
    }
}

/// Whose rules hold where a function has no slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Framework {
    #[default]
    Torch,
    TensorFlow,
    Jax,
}

impl Framework {
    pub const ALL: &[Framework] = &[Framework::Torch, Framework::TensorFlow, Framework::Jax];

    pub fn name(self) -> &'static str {
        match self {
            Framework::Torch => "torch",
            Framework::TensorFlow => "tensorflow",
            Framework::Jax => "jax",
        }
    }

    /// Whose rules an API follows, by its name.
    pub fn of(api: &str) -> Framework {
        match api.split('.').next() {
            Some("tensorflow" | "keras" | "tf_keras") => Framework::TensorFlow,
            Some("jax") => Framework::Jax,
            _ => Framework::Torch,
        }
    }
}

/// One value, and where the script computes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub term: Term,
    pub place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    /// By its place in the list of inputs.
    Input(u32),
    Number(Number),
    /// The operands by their places in the list of nodes.
    Apply(Function, Vec<u32>),
}

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $arity:literal,)*) => {
        /// What is computed, as the framework computes it. Arithmetic and what is applied number by number
        /// keeps the form of its operands; what is named under «reductions» runs over all numbers of a sample.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Function { $($(#[$doc])* $variant,)* }

        impl Function {
            pub const ALL: &[Function] = &[$(Function::$variant,)*];

            /// The name that plans and messages use.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name,)* }
            }

            pub fn named(name: &str) -> Option<Function> {
                match name { $($name => Some(Function::$variant),)* _ => None }
            }

            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self { $(Function::$variant => $arity,)* }
            }
        }
    };
}

functions! {
    // Arithmetic.
    Add "add" 2,
    Sub "sub" 2,
    Mul "mul" 2,
    Div "div" 2,
    Pow "pow" 2,
    Neg "neg" 1,
    Reciprocal "reciprocal" 1,
    Square "square" 1,
    // One number each.
    Abs "abs" 1,
    Sign "sign" 1,
    Exp "exp" 1,
    Exp2 "exp2" 1,
    Expm1 "expm1" 1,
    Log "log" 1,
    Log2 "log2" 1,
    Log10 "log10" 1,
    Log1p "log1p" 1,
    Sqrt "sqrt" 1,
    Rsqrt "rsqrt" 1,
    Sin "sin" 1,
    Cos "cos" 1,
    Tan "tan" 1,
    Asin "asin" 1,
    Acos "acos" 1,
    Atan "atan" 1,
    Atanh "atanh" 1,
    Sinh "sinh" 1,
    Cosh "cosh" 1,
    Tanh "tanh" 1,
    Erf "erf" 1,
    Sigmoid "sigmoid" 1,
    LogSigmoid "log-sigmoid" 1,
    Softplus "softplus" 1,
    Relu "relu" 1,
    Silu "silu" 1,
    Gelu "gelu" 1,
    /// The same number, where no gradient passes.
    Detach "detach" 1,
    /// Rounded to another type, and computed with from there on; results are of the widest type of their operands.
    ToF16 "to-f16" 1,
    ToBf16 "to-bf16" 1,
    ToF32 "to-f32" 1,
    /// NaN, infinity and minus infinity become the three numbers.
    NanToNum "nan-to-num" 4,
    // Choices.
    Max "max" 2,
    Min "min" 2,
    /// `clamp(min=…)` with a number: its gradient passes at the bound.
    ClampMin "clamp-min" 2,
    ClampMax "clamp-max" 2,
    /// Condition, then, otherwise.
    Where "where" 3,
    Lt "lt" 2,
    Le "le" 2,
    Gt "gt" 2,
    Ge "ge" 2,
    Eq "eq" 2,
    Ne "ne" 2,
    IsNan "isnan" 1,
    // Reductions.
    Sum "sum" 1,
    Mean "mean" 1,
    Prod "prod" 1,
    Amax "amax" 1,
    Amin "amin" 1,
    /// The operand, and what is taken from the count: 1, or 0 for `unbiased=False`.
    Var "var" 2,
    Std "std" 2,
    /// The sum of absolute numbers.
    Norm1 "norm1" 1,
    /// The root of the sum of squares.
    Norm2 "norm2" 1,
    LogSumExp "logsumexp" 1,
    Softmax "softmax" 1,
    LogSoftmax "log-softmax" 1,
    /// Two operands and the epsilon.
    CosineSimilarity "cosine-similarity" 3,
    /// The operand and the epsilon, as in `F.normalize(x, eps=1e-12)`.
    Normalize "normalize" 2,
    /// The operand and the epsilon.
    LayerNorm "layer-norm" 2,
    // Losses: the prediction, then the target; means over the sample.
    Mse "mse" 2,
    L1 "l1" 2,
    /// The third operand is `delta`.
    Huber "huber" 3,
    /// The third operand is `beta`.
    SmoothL1 "smooth-l1" 3,
    /// Of probabilities, with `log` held above -100.
    Bce "bce" 2,
    BceWithLogits "bce-with-logits" 2,
    /// Of logits, and the target as one number for each class.
    CrossEntropy "cross-entropy" 2,
    /// Of logarithms of probabilities, and the target as one number for each class.
    Nll "nll" 2,
    /// The input is a logarithm, the target a probability: the sum over the sample.
    KlDiv "kl-div" 2,
    /// Of the logarithm of a rate.
    PoissonNll "poisson-nll" 2,
    /// The input, the target, the variance, and the epsilon below it.
    GaussianNll "gaussian-nll" 4,
}

impl Program {
    /// An input; gives its node.
    pub fn input(&mut self, name: impl Into<String>, form: Form, domain: Domain, learned: bool) -> u32 {
        let index = self.inputs.len() as u32;
        self.inputs.push(Input { name: name.into(), form, domain, learned });
        self.push(Term::Input(index), None)
    }

    fn places_mut(&mut self) -> Box<dyn Iterator<Item = &mut Place> + '_> {
        let own = self.nodes.iter_mut().filter_map(|node| node.place.as_mut());
        let repaired = self.repaired.iter_mut().flat_map(|program| program.places_mut());
        Box::new(own.chain(repaired))
    }

    /// A number that the script says; gives its node.
    pub fn number(&mut self, value: f64) -> u32 {
        self.push(Term::Number(Number::new(value)), None)
    }

    /// What a function gives; gives its node.
    pub fn apply(&mut self, function: Function, operands: &[u32], place: Option<Place>) -> u32 {
        self.push(Term::Apply(function, operands.to_vec()), place)
    }

    fn push(&mut self, term: Term, place: Option<Place>) -> u32 {
        self.nodes.push(Node { term, place });
        self.nodes.len() as u32 - 1
    }
}

/// Bytes that the run needs on the GPU at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// What takes them, in the words of the message: «the whole dataset».
    pub what: String,
    /// What is needed at least, by arithmetic; what stays from step to step not counted.
    pub least: u64,
    /// What stays behind at each step, and how many steps there are; `None` where nothing grows.
    pub each_step: Option<u64>,
    pub steps: Option<u64>,
    /// It is `least` for so many samples at once, and less for fewer.
    pub samples: Option<u64>,
    /// Nothing ever uses it, so that it is worth telling where it fits, too.
    pub wasted: bool,
}

impl Demand {
    /// Of what does not grow.
    pub fn of(what: impl Into<String>, least: u64) -> Demand {
        Demand { what: what.into(), least, each_step: None, steps: None, samples: None, wasted: false }
    }

    /// What fits and does not grow is no finding about a card.
    pub fn is_idle(&self, capacity: u64) -> bool {
        self.each_step.is_none() && self.least <= capacity && !self.wasted
    }
}
