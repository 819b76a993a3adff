//! Computations that a script writes itself: loops over single numbers, buffers that are too small, casts on
//! the way, branches on the device, and functions with a gradient of their own.

use super::{Places, Script};
use crate::report::Place;
use crate::trace::{At, Counted, Diverging, ElementWrite, LoopId, OwnGradient, Sight};
use crate::values::formula::Function;
use crate::values::{DType, Device, Formula, Int};

/// A loop over fewer numbers than this is done before anybody notices.
const NOTICEABLE: i64 = 64;
/// Reading numbers one by one, without writing any, is worth a word from so many on.
const MANY: i64 = 1024;
/// What is scaled by this much, or by more, before it is cut was meant to be counted.
const QUANTISED: f64 = 16.0;

pub struct ElementLoop {
    pub at: At,
    pub times: Option<i64>,
    /// What says how often the loop runs.
    pub counted: Vec<Place>,
    pub device: Device,
    pub writes: bool,
}

pub struct ShortBuffer {
    pub at: At,
    /// One past the last index, and the size of the dimension, where both are known.
    pub sizes: Option<(i64, i64)>,
    /// A test keeps the rest from being written.
    pub guarded: bool,
    pub made: Option<Place>,
    pub counted: Option<Place>,
}

pub struct LossyCast {
    pub at: At,
    /// The buffer's own dtype, where that is what cuts.
    pub buffer: Option<DType>,
    pub made: Option<Place>,
}

impl<'a> Script<'a> {
    /// Loops that compute a tensor on the GPU number by number.
    pub fn element_loops(&self) -> Vec<ElementLoop> {
        let mut found = Vec::new();
        let mut seen: Vec<LoopId> = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::ElementWrite(write) = sight else { continue };
            let computed = write.single && write.formula.as_ref().is_some_and(|formula| !formula.is_number());
            if computed && is_on_gpu(write.target.device) {
                found.extend(element_loop(at, &write.counts, write.target.device, true, &mut seen));
            }
        }
        for (at, sight) in self.sightings() {
            let Sight::ElementRead(read) = sight else { continue };
            let whole = times(&read.counts).zip(read.target.numel().known());
            let many = whole.is_some_and(|(times, numel)| times >= MANY && times == numel);
            if many && is_on_gpu(read.target.device) {
                found.extend(element_loop(at, &read.counts, read.target.device, false, &mut seen));
            }
        }
        found
    }

    /// Buffers that hold fewer numbers than a loop has for them.
    pub fn short_buffers(&self) -> Vec<ShortBuffer> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::ElementWrite(write) = sight else { continue };
            if write.target.numbers.as_ref().is_none_or(|numbers| numbers.buffer.is_none()) {
                continue;
            }
            let Some((reach, size)) = write.reaches.iter().find(|(reach, size)| is_beyond(reach, size))
            else {
                continue;
            };
            let left_out = write.guarded && !self.drops_the_rest(write, size);
            if left_out || !seen.insert(at.place) {
                continue;
            }
            found.push(ShortBuffer {
                at: at.clone(),
                sizes: reach.known().zip(size.known()),
                guarded: write.guarded,
                made: self.made_of(write),
                counted: write.counts.first().map(|count| count.place),
            });
        }
        found
    }

    /// Where the buffer was made that a write goes into, through views of it.
    fn made_of(&self, write: &ElementWrite) -> Option<Place> {
        let buffer = write.target.numbers.as_ref()?.buffer?;
        Some(self.rehearsal.heap.get(buffer).site)
    }

    /// A computation whose results are written as long as the buffer has room: the rest is never computed.
    fn drops_the_rest(&self, write: &ElementWrite, size: &Int) -> bool {
        let kept_under_its_size = write.within.iter().any(|bound| bound.sub(size) == Int::Known(0));
        let computed = write.formula.as_ref().is_some_and(|formula| !formula.operands().is_empty());
        kept_under_its_size && computed && write.single
    }

    /// Numbers that are cut to integers although their results are floats.
    pub fn lossy_casts(&self) -> Vec<LossyCast> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::ElementWrite(write) = sight else { continue };
            let Some(formula) = write.formula.as_ref().filter(|_| write.single && !write.counts.is_empty())
            else {
                continue;
            };
            let Some(into) = write.target.dtype else { continue };
            let cut = formula.is(Function::Truncate) && formula.operands().iter().all(is_arithmetic);
            let by_value = cut && into.is_float();
            let by_buffer = !into.is_float()
                && into != DType::Bool
                && write.dtype.is_some_and(DType::is_float)
                && is_arithmetic(formula);
            if (by_value || by_buffer) && seen.insert(at.place) {
                let buffer = if by_buffer { Some(into) } else { None };
                found.push(LossyCast { at: at.clone(), buffer, made: self.made_of(write) });
            }
        }
        found
    }

    /// Branches on the device whose ways compute different functions of the same inputs.
    pub fn diverging_ways(&self) -> Vec<(&'a At, &'a Diverging)> {
        let mut seen = Places::default();
        let diverging = |(at, sight): (&'a At, &'a Sight)| match sight {
            Sight::Diverging(diverging) => Some((at, &**diverging)),
            _ => None,
        };
        self.sightings().filter_map(diverging).filter(|(at, _)| seen.insert(at.place)).collect()
    }

    /// Functions whose gradient is not the slope of what they compute.
    pub fn wrong_gradients(&self) -> Vec<(&'a At, &'a OwnGradient)> {
        let mut seen = Places::default();
        let wrong = self.own_gradients().filter(|(_, own)| !own.is_slope);
        wrong.filter(|(at, _)| seen.insert(at.place)).collect()
    }

    /// All gradients that a script computes itself, as far as they can be compared with the slope.
    pub fn own_gradients(&self) -> impl Iterator<Item = (&'a At, &'a OwnGradient)> {
        self.sightings().filter_map(|(at, sight)| match sight {
            Sight::OwnGradient(own) => Some((at, &**own)),
            _ => None,
        })
    }
}

fn element_loop(
    at: &At,
    counts: &[Counted],
    device: Device,
    writes: bool,
    seen: &mut Vec<LoopId>,
) -> Option<ElementLoop> {
    let outermost = counts.iter().filter_map(|count| count.over).min()?;
    let times = times(counts);
    if times.is_some_and(|times| times < NOTICEABLE) || seen.contains(&outermost) {
        return None;
    }
    seen.push(outermost);
    let counted = counts.iter().map(|count| count.place).collect();
    Some(ElementLoop { at: at.clone(), times, counted, device, writes })
}

/// How often the body of the innermost loop runs.
fn times(counts: &[Counted]) -> Option<i64> {
    counts.iter().try_fold(1_i64, |product, count| product.checked_mul(count.times.known()?))
}

/// Put there by the script: what a framework places by itself it may place elsewhere.
fn is_on_gpu(device: Device) -> bool {
    matches!(device, Device::Cuda(_) | Device::Accelerator)
}

fn is_beyond(reach: &Int, size: &Int) -> bool {
    reach.sub(size).known().is_some_and(|excess| excess > 0)
}

/// Sums, products and the like, on a scale on which a fraction matters.
fn is_arithmetic(formula: &Formula) -> bool {
    fn is_plain(formula: &Formula) -> bool {
        !formula.is(Function::Other)
            && !formula.is(Function::Truncate)
            && formula.operands().iter().all(is_plain)
    }
    let coarse = formula.constants().iter().any(|number| *number >= QUANTISED);
    !formula.operands().is_empty() && is_plain(formula) && !coarse
}
