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
    pub fn new(step: Step, place: Place, range: Option<Interval>) -> Rc<Recipe> {
        let before = step.before();
        if before < MOST_STEPS {
            return Rc::new(Recipe { step, place, range, steps: before + 1 });
        }
        let step = step.anew();
        let steps = step.before() + 1;
        Rc::new(Recipe { step, place, range, steps })
    }
}

impl Step {
    /// How many steps there are before it.
    fn before(&self) -> u32 {
        let of = |tensor: &Tensor| tensor.recipe.as_ref().map_or(1, |recipe| recipe.steps);
        match self {
            Step::Same(tensor) => of(tensor),
            Step::Apply(_, operands) => operands
                .iter()
                .map(|operand| match operand {
                    Ingredient::Tensor(tensor) => of(tensor),
                    Ingredient::Number(_) => 1,
                })
                .sum(),
        }
    }

    /// With operands of which is not known how they were made. One that is used twice stays one.
    fn anew(self) -> Step {
        let mut known: Vec<(Rc<Tensor>, Rc<Tensor>)> = Vec::new();
        let mut bare = |tensor: Rc<Tensor>| match known.iter().find(|(whole, _)| Rc::ptr_eq(whole, &tensor)) {
            Some((_, bare)) => bare.clone(),
            None => {
                let bare = Rc::new(Tensor { recipe: None, ..(*tensor).clone() });
                known.push((tensor, bare.clone()));
                bare
            }
        };
        match self {
            Step::Same(tensor) => Step::Same(bare(tensor)),
            Step::Apply(function, operands) => {
                let operands = operands.into_iter().map(|operand| match operand {
                    Ingredient::Tensor(tensor) => Ingredient::Tensor(bare(tensor)),
                    number @ Ingredient::Number(_) => number,
                });
                Step::Apply(function, operands.collect())
            }
        }
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
