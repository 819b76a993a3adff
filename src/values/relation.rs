//! How a tensor stands to another one that it was made of, where a later operation on both asks.

use super::graph::Graph;
use super::hazard::LostEpsilon;
use super::range::{End, Interval};
use super::recipe::{Ingredient, Step};
use super::tensor::Tensor;
use crate::report::replay::Function;
use crate::syntax::CompareOp;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub enum Relation {
    /// A mask: it holds where the numbers of another tensor compare so to a number.
    Compared { subject: Rc<Tensor>, op: CompareOp, number: f64 },
    /// Such a mask times a number: the height where it holds, and zero where it does not.
    Lifting { subject: Rc<Tensor>, op: CompareOp, number: f64, height: f64 },
    /// A mask that depends on what a model makes, in a way that is not followed.
    Judged,
    /// The same, of one tensor alone.
    JudgedBy(Rc<Tensor>),
    /// Two tensors were subtracted, which may be equal.
    Difference,
    /// A gradient: all of it is zero where rectifiers cut off what it comes through.
    Gradient,
    /// The largest or the smallest numbers of another tensor.
    Extreme(Extreme, Rc<Tensor>),
    /// Where the largest numbers of another tensor are.
    PlaceOfLargest(Rc<Tensor>),
    /// A moment of another tensor's numbers.
    Moment(Moment, Rc<Tensor>),
    /// A product of matrices or vectors.
    Product(Rc<[Factor; 2]>),
    /// Zero but for a diagonal.
    Diagonal,
    /// A matrix to which a diagonal was added.
    Regular,
    /// One but for the zeros of a diagonal, which keep what is multiplied with it from counting itself.
    Hollow,
    /// Rows of zeros, each with a single one.
    OneHot,
    /// Rows of zeros, each with a single number of another tensor.
    Picked(Rc<Tensor>),
    /// The same several times: each row has its like.
    Repeated,
    /// Not one tensor but a structure of them, any part of which is like the whole.
    Tree,
    /// A guard of its numbers was lost to rounding.
    LostEpsilon(LostEpsilon),
    /// The numbers that backward comes through to are from this interval, whatever was put in for the others.
    Followed(Interval),
}

/// Which numbers of all are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Largest,
    Smallest,
}

/// Squares and means of numbers, as far as a variance is made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Square,
    Mean,
    MeanOfSquares,
    SquareOfMean,
}

/// One side of a product: a tensor, or the lengths of its vectors.
#[derive(Clone, Debug)]
pub struct Factor {
    of: Rc<Tensor>,
    lengths: bool,
}

impl Factor {
    fn new(tensor: &Tensor) -> Factor {
        let tensor = under_any_shape(tensor);
        match applied(tensor, Function::Norm2) {
            Some([Ingredient::Tensor(of)]) => Factor { of: alone(under_any_shape(of)), lengths: true },
            _ => Factor { of: alone(tensor), lengths: false },
        }
    }
}

impl Relation {
    /// What a product of matrices or vectors is made of.
    pub fn of_factors(a: &Tensor, b: &Tensor) -> Relation {
        Relation::Product(Rc::new([Factor::new(a), Factor::new(b)]))
    }

    /// The squares of a tensor.
    pub fn square_of(tensor: &Rc<Tensor>) -> Rc<Relation> {
        match tensor.relation.as_deref() {
            Some(Relation::Moment(Moment::Mean, of)) => {
                Rc::new(Relation::Moment(Moment::SquareOfMean, of.clone()))
            }
            _ => Rc::new(Relation::Moment(Moment::Square, alone(tensor))),
        }
    }

    /// The mean of a tensor, along whatever axes.
    pub fn mean_of(tensor: &Rc<Tensor>) -> Rc<Relation> {
        match tensor.relation.as_deref() {
            Some(Relation::Moment(Moment::Square, of)) => {
                Rc::new(Relation::Moment(Moment::MeanOfSquares, of.clone()))
            }
            // The mean of a mean is one of more numbers: a blur goes along one axis after the other.
            Some(mean @ Relation::Moment(Moment::Mean | Moment::MeanOfSquares, _)) => Rc::new(mean.clone()),
            _ => Rc::new(Relation::Moment(Moment::Mean, alone(tensor))),
        }
    }

    /// What is left of an interval where a mask holds, or where it does not. `None` in place of an interval
    /// where the mask may say something that is not followed.
    pub fn narrowed(mask: Option<&Relation>, of: &Rc<Tensor>, holds: bool) -> Option<Interval> {
        let range = of.range?;
        match mask {
            Some(Relation::Compared { subject, op, number }) if is_same(subject, of) => {
                compared(&range, *op, *number, holds)
            }
            Some(Relation::Compared { subject, .. }) if !subject.learned => Some(range),
            Some(Relation::Compared { subject, .. } | Relation::JudgedBy(subject))
                if is_apart(subject, of) =>
            {
                Some(range)
            }
            None | Some(Relation::OneHot) => Some(range),
            _ if !of.learned => Some(range),
            _ => None,
        }
    }

    /// The mask that holds where this one does not.
    pub fn inverted(&self) -> Option<Relation> {
        Some(match self {
            Relation::Compared { subject, op, number } => match opposite(*op) {
                Some(op) => Relation::Compared { subject: subject.clone(), op, number: *number },
                None => Relation::Judged,
            },
            Relation::OneHot => return None,
            other => other.clone(),
        })
    }

    /// What is left of numbers that are multiplied with rows of which all but one are zero.
    pub fn of_product(a: &Rc<Tensor>, b: &Rc<Tensor>) -> Option<Relation> {
        let is_one_hot = |tensor: &Tensor| matches!(tensor.relation.as_deref(), Some(Relation::OneHot));
        match (is_one_hot(a), is_one_hot(b)) {
            (true, false) => Some(Relation::Picked(alone(b))),
            (false, true) => Some(Relation::Picked(alone(a))),
            _ => None,
        }
    }
}

/// A tensor without what it stands in a relation to, which would keep all before it alive.
fn alone(tensor: &Tensor) -> Rc<Tensor> {
    Rc::new(Tensor { relation: None, recipe: None, ..tensor.clone() })
}

/// The same numbers before they were brought into another shape.
fn under_any_shape(tensor: &Tensor) -> &Tensor {
    let mut tensor = tensor;
    while let Some(Step::Same(before)) = tensor.recipe().map(|recipe| &recipe.step) {
        tensor = before;
    }
    tensor
}

/// What a function was applied to last.
fn applied(tensor: &Tensor, function: Function) -> Option<&[Ingredient]> {
    match &tensor.recipe()?.step {
        Step::Apply(last, operands) if *last == function => Some(operands),
        _ => None,
    }
}

/// What is multiplied in a product, be it one of matrices, number by number, or added up.
fn factors(tensor: &Tensor) -> Option<[Factor; 2]> {
    let tensor = under_any_shape(tensor);
    if let Some(Relation::Product(factors)) = tensor.relation.as_deref() {
        return Some((**factors).clone());
    }
    let tensor = match applied(tensor, Function::Sum) {
        Some([Ingredient::Tensor(summed)]) => under_any_shape(summed),
        _ => tensor,
    };
    match applied(tensor, Function::Mul)? {
        [Ingredient::Tensor(a), Ingredient::Tensor(b)] => Some([Factor::new(a), Factor::new(b)]),
        _ => None,
    }
}

/// The same numbers, by where they were made: a copy that was moved or detached keeps them.
fn is_same(a: &Rc<Tensor>, b: &Rc<Tensor>) -> bool {
    Rc::ptr_eq(a, b) || (a.made.is_some() && a.made == b.made && a.created == b.created && a.range == b.range)
}

/// What a tensor is with its small numbers replaced by larger ones: `x.clamp(min=0)`, `relu(x)`.
fn cut_off(tensor: &Tensor) -> Option<&Rc<Tensor>> {
    let operands = [Function::ClampMin, Function::Relu, Function::Max].into_iter();
    match operands.filter_map(|function| applied(tensor, function)).next()? {
        [Ingredient::Tensor(of)] | [Ingredient::Tensor(of), Ingredient::Number(_)] => Some(of),
        _ => None,
    }
}

/// The same numbers, be they negated twice in two places.
fn is_equal(a: &Rc<Tensor>, b: &Rc<Tensor>) -> bool {
    let negated = |tensor| match applied(tensor, Function::Neg) {
        Some([Ingredient::Tensor(of)]) => Some(of),
        _ => None,
    };
    is_same(a, b) || negated(a).zip(negated(b)).is_some_and(|(a, b)| is_same(a, b))
}

impl Tensor {
    /// `x + (clipped - x).detach()`: a constant made of the same numbers takes them where they are wanted, and gradients
    /// go past it.
    pub fn is_corrected_by(self: &Rc<Tensor>, constant: &Rc<Tensor>) -> bool {
        let is_constant = matches!(constant.graph, Graph::None) && !matches!(self.graph, Graph::None);
        is_constant && self.made.is_some() && is_made_of(constant, self)
    }
}

/// Whether a tensor is given, not computed, and another is not computed of it: labels beside predictions.
fn is_apart(given: &Rc<Tensor>, other: &Rc<Tensor>) -> bool {
    given.recipe.is_none() && given.made.is_some() && !is_made_of(other, given)
}

fn is_made_of(tensor: &Rc<Tensor>, given: &Rc<Tensor>) -> bool {
    let of_operand = |operand: &Ingredient| match operand {
        Ingredient::Tensor(operand) => is_made_of(operand, given),
        Ingredient::Number(_) => false,
    };
    Rc::ptr_eq(tensor, given)
        || tensor.made == given.made
        || tensor.recipe.as_ref().is_some_and(|recipe| match &recipe.step {
            Step::Same(same) => is_made_of(same, given),
            Step::Apply(_, operands) => operands.iter().any(of_operand),
        })
}

impl Tensor {
    /// What is left where another tensor is subtracted, for one of them is the other's largest or smallest numbers, or
    /// they are both of a third.
    pub fn less_its_extreme(self: &Rc<Tensor>, other: &Rc<Tensor>) -> Option<Interval> {
        let above = Interval::REAL.relu();
        match (self.extreme(), other.extreme()) {
            (_, Some((Extreme::Largest, of))) if is_same(of, self) => Some(above.neg()),
            (_, Some((Extreme::Smallest, of))) if is_same(of, self) => Some(above),
            (Some((Extreme::Largest, a)), Some((Extreme::Smallest, b))) if is_same(a, b) => Some(above),
            (Some((Extreme::Smallest, a)), Some((Extreme::Largest, b))) if is_same(a, b) => Some(above.neg()),
            _ if cut_off(other).is_some_and(|of| is_equal(of, self)) => Some(above.neg()),
            _ => None,
        }
    }

    /// Whether this over another tensor is a cosine: a product of vectors over the product of their lengths, which may
    /// have a small number beside it.
    pub fn makes_cosine_with(&self, lengths: &Tensor) -> bool {
        let lengths = match applied(lengths, Function::Add) {
            Some([Ingredient::Tensor(lengths), Ingredient::Number(_)]) => lengths,
            _ => lengths,
        };
        let (Some([a, b]), Some([c, d])) = (factors(self), factors(lengths)) else { return false };
        let of = |length: &Factor, vector: &Factor| {
            length.lengths && !vector.lengths && is_same(&length.of, &vector.of)
        };
        of(&c, &a) && of(&d, &b) || of(&c, &b) && of(&d, &a)
    }

    /// What is left where a number is added to those that compare so.
    pub fn lifted_by(self: &Rc<Tensor>, mask: &Tensor) -> Option<Interval> {
        let (subject, op, number, height) = match mask.relation.as_deref()? {
            Relation::Compared { subject, op, number } => (subject, *op, *number, 1.0),
            Relation::Lifting { subject, op, number, height } => (subject, *op, *number, *height),
            _ => return None,
        };
        let range = self.range.filter(|_| is_same(subject, self))?;
        let lifted = compared(&range, op, number, true)?.add(&Interval::point(height));
        Some(lifted.join(&compared(&range, op, number, false)?))
    }

    fn extreme(&self) -> Option<(Extreme, &Rc<Tensor>)> {
        match self.relation.as_deref() {
            Some(Relation::Extreme(extreme, of)) => Some((*extreme, of)),
            _ => None,
        }
    }

    /// Whether this is the mean of the squares of what the other is the square of the mean of.
    pub fn makes_variance_with(&self, other: &Tensor) -> bool {
        match (self.relation.as_deref(), other.relation.as_deref()) {
            (
                Some(Relation::Moment(Moment::MeanOfSquares, x)),
                Some(Relation::Moment(Moment::SquareOfMean, y)),
            ) => is_same(x, y),
            _ => false,
        }
    }

    /// What it is that is picked at these places.
    pub fn picked_from(&self, other: &Rc<Tensor>) -> Option<Rc<Relation>> {
        match self.relation.as_deref() {
            Some(Relation::PlaceOfLargest(of)) if is_same(of, other) => {
                Some(Rc::new(Relation::Extreme(Extreme::Largest, other.clone())))
            }
            _ => None,
        }
    }

    /// What numbers are picked from that are left of a sum along this axis, which is that of rows with a single one.
    pub fn picked_by_sum(&self, axis: Option<f64>) -> Option<&Rc<Tensor>> {
        match self.relation.as_deref() {
            Some(Relation::Picked(of)) if axis.is_some_and(|axis| axis == -1.0 || axis >= 1.0) => Some(of),
            _ => None,
        }
    }

    /// Whether it stands for a structure of tensors.
    pub fn is_tree(&self) -> bool {
        matches!(self.relation.as_deref(), Some(Relation::Tree))
    }

    /// The interval of its squares or sizes.
    pub fn of_squares(&self, squares: Interval) -> Interval {
        let may_vanish = matches!(self.relation.as_deref(), Some(Relation::Difference | Relation::Gradient));
        if may_vanish { squares.reaching() } else { squares }
    }

    pub fn lost_epsilon(&self) -> Option<LostEpsilon> {
        match self.relation.as_deref() {
            Some(Relation::LostEpsilon(lost_epsilon)) => Some(*lost_epsilon),
            _ => None,
        }
    }
}

fn opposite(op: CompareOp) -> Option<CompareOp> {
    Some(match op {
        CompareOp::Less => CompareOp::GreaterEq,
        CompareOp::GreaterEq => CompareOp::Less,
        CompareOp::Greater => CompareOp::LessEq,
        CompareOp::LessEq => CompareOp::Greater,
        CompareOp::Eq => CompareOp::NotEq,
        CompareOp::NotEq => CompareOp::Eq,
        _ => return None,
    })
}

/// Those numbers of an interval that compare so.
fn compared(range: &Interval, op: CompareOp, number: f64, holds: bool) -> Option<Interval> {
    let op = if holds { Some(op) } else { opposite(op) };
    let above = |end: End| Interval { low: number, low_end: end, ..Interval::REAL };
    let below = |end: End| Interval { high: number, high_end: end, ..Interval::REAL };
    let bound = match op {
        Some(CompareOp::Greater) => above(End::Open),
        Some(CompareOp::GreaterEq) => above(End::Reached),
        Some(CompareOp::Less) => below(End::Open),
        Some(CompareOp::LessEq) => below(End::Reached),
        Some(CompareOp::Eq) => Interval::point(number),
        Some(CompareOp::NotEq) if range.low == number => above(End::Open),
        Some(CompareOp::NotEq) if range.high == number => below(End::Open),
        // A number inside an interval is taken out: what is left is no interval.
        _ => return None,
    };
    Some(range.meet(&bound).unwrap_or(*range))
}
