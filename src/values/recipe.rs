//! How the numbers of a tensor were computed of others, step by step, as far as it is followed: what a replay of
//! a finding is made of. Kept only on what depends on a model.

use super::range::Interval;
use super::tensor::Tensor;
use crate::report::Place;
use crate::report::replay::Function;
use smallvec::SmallVec;
use std::rc::Rc;

/// Longer computations begin anew, with what came before as a given.
const MOST_STEPS: u32 = 48;

/// The last step of a computation; its operands carry those before it.
#[derive(Debug)]
pub struct Recipe {
    pub step: Step,
    /// Of the operation.
    pub place: Place,
    /// What the result could be when it was computed: where it can be something else since, the numbers were
    /// changed, and this says nothing of them.
    range: Option<Interval>,
    steps: u32,
}

#[derive(Debug)]
pub enum Step {
    Apply(Function, SmallVec<[Ingredient; 2]>),
    /// The same numbers under another shape, type or name.
    Same(Rc<Tensor>),
}

#[derive(Clone, Debug)]
pub enum Ingredient {
    Tensor(Rc<Tensor>),
    Number(f64),
}

impl Recipe {
    /// `None` for what is too long to be followed.
    pub fn new(step: Step, place: Place, range: Option<Interval>) -> Option<Rc<Recipe>> {
        let of = |tensor: &Tensor| tensor.recipe.as_ref().map_or(1, |recipe| recipe.steps);
        let before: u32 = match &step {
            Step::Same(tensor) => of(tensor),
            Step::Apply(_, operands) => operands
                .iter()
                .map(|operand| match operand {
                    Ingredient::Tensor(tensor) => of(tensor),
                    Ingredient::Number(_) => 1,
                })
                .sum(),
        };
        (before < MOST_STEPS).then(|| Rc::new(Recipe { step, place, range, steps: before + 1 }))
    }
}

/// A recipe is one computation that was made; another one like it is another.
impl PartialEq for Recipe {
    fn eq(&self, other: &Recipe) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Tensor {
    /// How its numbers were computed, if they still are what was computed.
    pub fn recipe(&self) -> Option<&Rc<Recipe>> {
        self.recipe.as_ref().filter(|recipe| recipe.range == self.range)
    }
}
