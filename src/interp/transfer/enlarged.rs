//! Layers that make images larger or smaller without looking at them, those of Keras with the channels last.

use super::build::*;
use super::layers::{activated, int, layer, weighted};
use super::windows::{has_usual_axes, per_axis, spatial};
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::values::*;

/// `upsample-keras x size rank`: each number several times.
pub(crate) fn upsample(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call).filter(|_| has_usual_axes(call)) else {
        return layer(interp, call, |_| None);
    };
    let factors = per_axis(interp, param(call, Slot::Size), rank, &vec![Int::Known(2); rank]);
    layer(interp, call, |shape| spatial(shape, rank, true, None, |axis, size| size.mul(&factors[axis])))
}

/// `conv-transpose-keras x out_channels kernel_size stride padding rank activation`
pub(crate) fn conv_transpose(interp: &mut Interp, call: &Invocation) -> Value {
    let plain = |name: &str| named(call, name).is_none_or(|value| value.as_known_int() == Some(1));
    let usual = has_usual_axes(call) && named(call, "output_padding").is_none() && plain("dilation_rate");
    let Some(rank) = quoted_rank(call).filter(|_| usual) else { return weighted(interp, call, |_| None) };
    let sizes = |slot| param(call, slot);
    let kernel = per_axis(interp, sizes(Slot::KernelSize), rank, &vec![Int::Unknown; rank]);
    let stride = per_axis(interp, sizes(Slot::Stride), rank, &vec![Int::Known(1); rank]);
    let padding = sizes(Slot::Padding).and_then(|padding| padding.as_str().map(str::to_lowercase));
    let channels = int(call, Slot::OutChannels).unwrap_or_default();
    let size = |axis: usize, size: &Int| match padding.as_deref() {
        Some("same") => size.mul(&stride[axis]),
        Some("valid") => {
            let over = kernel[axis].sub(&stride[axis]).known().map(|over| Int::Known(over.max(0)));
            size.mul(&stride[axis]).add(&over.unwrap_or_default())
        }
        _ => Int::Unknown,
    };
    let value = weighted(interp, call, |shape| spatial(shape, rank, true, Some(channels), size));
    activated(call, named(call, "activation"), value)
}

/// `bordered-keras x padding rank word`: a border is added, or with 'cropped' taken away.
pub(crate) fn bordered(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call).filter(|_| has_usual_axes(call)) else {
        return layer(interp, call, |_| None);
    };
    let borders = borders(interp, param(call, Slot::Padding), rank);
    let crops = word(call, "cropped");
    let size = |axis: usize, size: &Int| match (borders.get(axis), crops) {
        (Some(border), true) => size.sub(border),
        (Some(border), false) => size.add(border),
        (None, _) => Int::Unknown,
    };
    layer(interp, call, |shape| spatial(shape, rank, true, None, size))
}

/// `pixel-shuffle x scale_factor word`
pub(crate) fn shuffled(interp: &mut Interp, call: &Invocation) -> Value {
    let factor = int(call, Slot::ScaleFactor).unwrap_or_default();
    let (area, back) = (factor.mul(&factor), word(call, "back"));
    let (grown, shrunk) = (|size: &Int, by: &Int| size.mul(by), |size: &Int, by: &Int| size.div_floor(by));
    layer(interp, call, |shape| {
        let [around @ .., channels, height, width] = shape else { return None };
        let sizes = match back {
            true => [grown(channels, &area), shrunk(height, &factor), shrunk(width, &factor)],
            false => [shrunk(channels, &area), grown(height, &factor), grown(width, &factor)],
        };
        Some(around.iter().cloned().chain(sizes).collect())
    })
}

/// What both borders of each axis are together: one number for all, one for each axis, or both one by one.
fn borders(interp: &Interp, value: Option<Value>, rank: usize) -> Vec<Int> {
    let Some(value) = value else { return Vec::new() };
    let both = |size: &Int| size.mul(&Int::Known(2));
    if let Some(size) = value.as_int() {
        return vec![both(size); rank];
    }
    let Some(Sequence::Exact(items)) = sequence(interp, &value) else { return Vec::new() };
    let border = |item: &Value| match (item.as_int(), ints_of(interp, item).as_deref()) {
        (Some(size), _) => both(size),
        (None, Some([before, after])) => before.add(after),
        _ => Int::Unknown,
    };
    let pair = rank == 1 && items.len() == 2;
    match items.as_slice() {
        [before, after] if pair => {
            let size = |item: &Value| item.as_int().cloned().unwrap_or_default();
            vec![size(before).add(&size(after))]
        }
        items if items.len() == rank => items.iter().map(border).collect(),
        _ => Vec::new(),
    }
}
