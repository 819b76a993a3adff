//! A training step as the script makes it, in the order of its calls, for a small model of ours in place of the
//! script's; and the same as the finding says that it should be.

use super::{Number, Program};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `None` where the script's is not known, or none that the stand-in has.
    pub optimizer: Option<Optimizer>,
    /// As the script says; `None` for the default of the optimizer.
    pub learning_rate: Option<Number>,
    pub momentum: Option<Number>,
    pub weight_decay: Option<Number>,
    pub script: Training,
    pub repaired: Training,
}

/// What is done in each round of a training loop, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Training {
    pub round: Vec<Act>,
    /// What a loss is divided by before its backward pass.
    pub divisor: u32,
    pub loss: Loss,
    /// What becomes of the layers of the stand-in, from its input on.
    pub layers: [Layer; LAYERS],
    pub modes: Modes,
    /// What a round carries over into the next has its graph still.
    pub carries: Option<Carried>,
    /// How many numbers the loss is that `backward` is called on.
    pub elements: u64,
}

pub const LAYERS: usize = 3;

impl Default for Training {
    fn default() -> Training {
        Training {
            round: vec![Act::always(Call::Clear), Act::always(Call::Backward), Act::always(Call::Step)],
            divisor: 1,
            loss: Loss::Squares,
            layers: [Layer::Learns; LAYERS],
            modes: Modes::default(),
            carries: None,
            elements: 1,
        }
    }
}

/// A call, and in which rounds it is made: in each, or in every so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    pub call: Call,
    pub every: u32,
}

impl Act {
    pub const fn always(call: Call) -> Act {
        Act { call, every: 1 }
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        pub const ALL: &[Self] = &[$(Self::$variant,)*];

        /// The name that plans use.
        pub fn name(self) -> &'static str {
            match self { $(Self::$variant => $name,)* }
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Clears what the optimizer owns.
    Clear,
    /// Takes a batch, and walks the graph of its loss.
    Backward,
    /// The same with a loss that a scaler multiplied.
    ScaledBackward,
    /// Divides the gradients by the scale.
    Unscale,
    Clip,
    Step,
    /// A step through the scaler.
    ScaledStep,
    /// The scaler chooses its next scale.
    Update,
    /// The schedule goes on to its next rate.
    Schedule,
    /// The optimizer is built anew.
    Build,
}

impl Call {
    names! {
        Clear "clear",
        Backward "backward",
        ScaledBackward "scaled-backward",
        Unscale "unscale",
        Clip "clip",
        Step "step",
        ScaledStep "scaled-step",
        Update "update",
        Schedule "schedule",
        Build "build",
    }

    pub fn is_backward(self) -> bool {
        matches!(self, Call::Backward | Call::ScaledBackward)
    }

    pub fn is_step(self) -> bool {
        matches!(self, Call::Step | Call::ScaledStep)
    }
}

/// What the stand-in learns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// One number a sample, by the mean of squares.
    Squares,
    /// The same over the pairs of all predictions with all targets of a batch.
    AllPairs,
    /// Classes, by a program: its first input are the numbers of the last layer, the second is the target, one
    /// number for each class.
    Classes(Box<Program>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    #[default]
    Learns,
    /// The graph ends behind it: neither it nor what is before it gets gradients.
    Cut,
    /// No optimizer has it.
    Unowned,
}

impl Layer {
    names! {
        Learns "learns",
        Cut "cut",
        Unowned "unowned",
    }
}

/// Which mode a model with dropout is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// The share of numbers that are dropped; `None` where the model has nothing that minds its mode.
    pub dropout: Option<Number>,
    /// It learns in training mode.
    pub learns_in_training: bool,
    /// It is evaluated in training mode.
    pub evaluated_in_training: bool,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes { dropout: None, learns_in_training: true, evaluated_in_training: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carried {
    /// A backward pass frees the graph that the next round comes to.
    Freed,
    /// It keeps it, so that the next round goes through all of them.
    Kept,
    /// Something that outlives the round holds it.
    Held,
}

impl Carried {
    names! {
        Freed "freed",
        Kept "kept",
        Held "held",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Optimizer {
    Sgd,
    Adam,
    AdamW,
    RmsProp,
}

impl Optimizer {
    names! {
        Sgd "sgd",
        Adam "adam",
        AdamW "adamw",
        RmsProp "rmsprop",
    }
}
