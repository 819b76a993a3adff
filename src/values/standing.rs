//! Which tensors have the shape of which, whatever that is: what is computed of each number for itself has it still,
//! and what is summed along an axis has lost that axis.

use super::int::Int;
use super::tensor::Tensor;
use crate::apis::Transfer;
use crate::report::Place;

/// How the shape of a tensor stands to that of one that it was computed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where that one was made, and in which pass of a loop; `None` where its shape has been changed.
    root: Option<(Place, u32)>,
    lost: Option<Lost>,
}

/// An axis that is no longer there: a reduction without `keepdim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    pub axis: i64,
    /// Where it was reduced.
    pub at: Place,
}

impl Standing {
    /// In a shape of its own, which no other tensor is known to have.
    pub const RESHAPED: Standing = Standing { root: None, lost: None };

    /// Of what comes in here.
    pub fn of_input(place: Place) -> Standing {
        Standing { root: Some((place, 0)), lost: None }
    }
}

impl Tensor {
    /// How what is computed of each number for itself stands.
    pub fn standing_of_each(&self) -> Standing {
        self.standing.unwrap_or(Standing { root: self.made.map(|made| (made, self.created)), lost: None })
    }

    /// How a tensor stands that was made here: what only moves or casts another one has its shape still, and what is in a
    /// new shape is the first of it.
    pub fn standing_here(&self, input: Option<&Tensor>, by: Option<Transfer>) -> Option<Standing> {
        let keeps = by.is_some_and(|transfer| transfer.keeps_layout() || transfer.converts());
        match input.filter(|_| keeps) {
            Some(input) => Some(input.standing_of_each()),
            None => self.standing.filter(|standing| *standing != Standing::RESHAPED),
        }
    }

    /// How a tensor stands of which this axis was reduced here.
    pub fn without_axis(&self, axis: i64, at: Place) -> Standing {
        match self.standing_of_each() {
            Standing { root: Some(root), lost: None } => {
                Standing { root: Some(root), lost: Some(Lost { axis, at }) }
            }
            _ => Standing::RESHAPED,
        }
    }

    /// The axis that this has lost and the other has still, if the axes of both no longer lie above each other: all but
    /// the first move on by one. Axes of one size fit all the same. What is `expanded` has an axis less for sure.
    pub fn lost_beside(&self, other: &Tensor, expanded: bool) -> Option<Lost> {
        let (mine, theirs) = (self.standing?, other.standing_of_each());
        let lost =
            mine.lost.filter(|_| mine.root.is_some() && mine.root == theirs.root && theirs.lost.is_none())?;
        let Some(shape) = &other.shape else {
            // A layer that makes the last size has a batch before it.
            let of_batch = lost.axis >= 1 && other.learned && other.last.is_some();
            return (expanded || of_batch).then_some(lost).filter(|lost| lost.axis != 0);
        };
        let rank = shape.len();
        let axis = if lost.axis < 0 {
            rank.checked_sub(lost.axis.unsigned_abs() as usize)?
        } else {
            lost.axis as usize
        };
        let moved = shape.get(..=axis)?.windows(2);
        // Of two sizes that nobody knows both may be the same, as those of a matrix of all pairs.
        let fits = |pair: &[Int]| match pair {
            [Int::Known(1), _] => true,
            [Int::Unknown, Int::Unknown] => !expanded,
            pair => pair[0] == pair[1],
        };
        (self.rank() == Some(rank - 1) && !moved.into_iter().all(fits)).then_some(lost)
    }
}
