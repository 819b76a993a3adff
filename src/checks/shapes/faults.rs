//! In which way shapes do not fit, as plain data.

use crate::values::{Int, Lost, Shape, Turned};
use std::rc::Rc;

/// What of a shape that arrived is not as the operation needs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// A tensor in a list that is asked for its only number, and has more.
    Several,
    /// A size along an axis, and the size that a layer was made for.
    Size { gets: Int, wants: Int, unit: &'static str },
    /// So many axes, and those that fit.
    Rank { gets: usize, wants: Vec<usize> },
    /// The last sizes, and what they have to be.
    Trailing { wants: Vec<Int> },
    /// The inner sizes of a matrix product.
    Product { left: Shape, right: Shape, gets: Int, wants: Int },
    /// So many numbers cannot be laid out so.
    Count { wanted: Vec<Int> },
    /// Samples of so many numbers, laid out in rows of another length that does not divide them.
    Rows { sample: i64, row: i64 },
    /// Dimensions that are to become one do not follow each other in memory.
    Scattered(Rc<Turned>),
    /// Two sizes that meet number by number.
    Broadcast { left: Shape, right: Shape, axis: usize, gets: Int, wants: Int },
    /// What an axis of a tensor was reduced to, without that axis, meets the tensor number by number.
    Reduced(Lost),
    /// Two tensors that are joined, along another axis.
    Join { left: Shape, right: Shape, axis: Option<usize> },
    /// A tensor without dimensions, which cannot be joined along one.
    Scalar,
    /// An axis that there is not.
    Axis { axis: i64, rank: usize },
    /// Axes are turned around, of which there are more or fewer.
    Axes { gets: usize, rank: usize },
    /// A number is not a multiple of another.
    Multiple { number: i64, of: i64 },
    /// A window is larger than what it slides over.
    Window { window: Int, room: Int },
    /// More indices than axes.
    Indices { indices: usize, rank: usize },
    /// An index behind the end of an axis.
    Bounds { index: i64, axis: usize, size: i64 },
    /// The state that a recurrent layer starts from.
    State { gets: Shape, wants: Vec<Int> },
    /// So many numbers for the channels of an image, which has another number of them.
    PerChannel { numbers: i64, channels: i64 },
    /// Targets of a loss over classes.
    Classes { target: Shape, wants: Vec<Int>, indices: bool },
    /// Targets of a loss that wants both shapes the same.
    Pairs { target: Shape },
}
