//! Windows that slide over the spatial axes: the sizes that convolution and pooling give.

use super::build::*;
use super::dims::{Dims, div_ceil};
use super::layers::{activated, int, layer, weighted};
use crate::apis::{Slot, Transfer};
use crate::interp::{Interp, Invocation};
use crate::values::*;

/// A window that slides over the spatial axes, a size for each axis.
struct Window {
    kernel: Dims,
    stride: Dims,
    padding: Padding,
    dilation: Dims,
}

enum Padding {
    Sizes(Dims),
    /// As much as keeps the size, divided by the stride.
    Same,
}

impl Window {
    /// As the operands say, without a dilation.
    fn read(interp: &Interp, call: &Invocation, rank: usize, stride: &Dims) -> Window {
        Window {
            kernel: per_axis(interp, param(call, Slot::KernelSize), rank, &vec![Int::Unknown; rank]),
            stride: per_axis(interp, param(call, Slot::Stride), rank, stride),
            padding: padding(interp, param(call, Slot::Padding), rank),
            dilation: vec![Int::Known(1); rank],
        }
    }

    fn dilated(mut self, interp: &Interp, dilation: Option<Value>) -> Window {
        let rank = self.kernel.len();
        self.dilation = per_axis(interp, dilation, rank, &vec![Int::Known(1); rank]);
        self
    }

    /// `dilation * (kernel - 1) + 1`
    fn span(&self, axis: usize) -> Int {
        self.dilation[axis].mul(&self.kernel[axis].sub(&Int::Known(1))).add(&Int::Known(1))
    }

    /// The number of places where the window fits.
    fn positions(&self, axis: usize, size: &Int, round_up: bool) -> Int {
        let stride = &self.stride[axis];
        let Padding::Sizes(padding) = &self.padding else { return div_ceil(size, stride) };
        let room = size.add(&padding[axis].mul(&Int::Known(2))).sub(&self.span(axis));
        if room.known().is_some_and(|room| room < 0) {
            return Int::Unknown;
        }
        let steps = match (round_up, stride) {
            (_, Int::Known(1)) => room,
            (true, _) => div_ceil(&room, stride),
            (false, _) => room.div_floor(stride),
        };
        // A window that would begin behind the end is left out.
        let behind = |steps: &Int| steps.mul(stride).sub(size).known().is_none_or(|over| over >= 0);
        match round_up && behind(&steps) {
            true => steps.known().map_or(Int::Unknown, |_| steps),
            false => steps.add(&Int::Known(1)),
        }
    }

    /// Whether there is no padding along an axis.
    fn is_bare(&self, axis: usize) -> bool {
        matches!(&self.padding, Padding::Sizes(sizes) if sizes[axis] == Int::Known(0))
    }

    /// The size that a transposed convolution gives.
    fn spread(&self, axis: usize, size: &Int, more: &Int) -> Int {
        let stride = &self.stride[axis];
        let Padding::Sizes(padding) = &self.padding else { return size.mul(stride) };
        let steps = size.sub(&Int::Known(1)).mul(stride);
        let inner = steps.sub(&padding[axis].mul(&Int::Known(2))).add(&self.span(axis));
        inner.add(more)
    }
}

/// A window that is larger than what a call slides it over, padding included: the window, and the room for it.
pub fn exceeding_window(interp: &Interp, call: &Invocation) -> Option<(Int, Int)> {
    let (rank, input) = (quoted_rank(call)?, first(interp, call));
    let (shape, pools) = (input.shape.as_ref()?, call.gives?.verb == Transfer::Pool);
    let kernel = per_axis(interp, param(call, Slot::KernelSize), rank, &vec![Int::Unknown; rank]);
    let stride = if pools { kernel } else { vec![Int::Known(1); rank] };
    let dilation = if pools { named(call, "dilation") } else { param(call, Slot::Dilation) };
    let window = Window::read(interp, call, rank, &stride).dilated(interp, dilation);
    let Padding::Sizes(padding) = &window.padding else { return None };
    if flag(named(call, "ceil_mode")) != Some(false) {
        return None;
    }
    let first = shape.len().checked_sub(rank)?;
    (0..rank).find_map(|axis| {
        let room = shape[first + axis].add(&padding[axis].mul(&Int::Known(2)));
        let span = window.span(axis);
        room.sub(&span).known().is_some_and(|left| left < 0).then_some((span, room))
    })
}

/// One size for each spatial axis: given for all at once, one by one, or by default.
pub(super) fn per_axis(interp: &Interp, value: Option<Value>, rank: usize, default: &Dims) -> Dims {
    let Some(value) = value else { return default.clone() };
    match ints_of(interp, &value) {
        Some(sizes) if sizes.len() == 1 => vec![sizes[0].clone(); rank],
        Some(sizes) if sizes.len() == rank => sizes,
        _ => vec![Int::Unknown; rank],
    }
}

fn padding(interp: &Interp, value: Option<Value>, rank: usize) -> Padding {
    let name = value.as_ref().and_then(Value::as_str).map(str::to_lowercase);
    match name.as_deref() {
        Some("same") => Padding::Same,
        Some("valid") => Padding::Sizes(vec![Int::Known(0); rank]),
        _ => Padding::Sizes(per_axis(interp, value, rank, &vec![Int::Known(0); rank])),
    }
}

/// Applies a function to the spatial sizes of `[N, C, …]` or `[C, …]`, or `[N, …, C]` with the channels last.
pub(super) fn spatial(
    shape: &[Int],
    rank: usize,
    last: bool,
    channels: Option<Int>,
    size: impl Fn(usize, &Int) -> Int,
) -> Option<Dims> {
    // Where channels come last, there is always a batch.
    let batch = shape.len().checked_sub(rank + 1).filter(|batch| *batch == 1 || *batch == 0 && !last)?;
    let (channel, first) = if last { (batch + rank, batch) } else { (batch, batch + 1) };
    let mut sizes = shape.to_vec();
    if let Some(channels) = channels {
        sizes[channel] = channels;
    }
    for axis in 0..rank {
        sizes[first + axis] = size(axis, &shape[first + axis]);
    }
    Some(sizes)
}

/// `conv x out_channels kernel_size stride padding dilation rank`
pub(crate) fn conv(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call) else { return weighted(interp, call, |_| None) };
    let window = Window::read(interp, call, rank, &vec![Int::Known(1); rank]);
    let window = window.dilated(interp, param(call, Slot::Dilation));
    convolved(interp, call, rank, false, window)
}

/// `conv-keras x out_channels kernel_size stride padding rank activation`: channels come last.
pub(crate) fn conv_keras(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call) else { return weighted(interp, call, |_| None) };
    let window = Window::read(interp, call, rank, &vec![Int::Known(1); rank]);
    let value = convolved(interp, call, rank, true, window.dilated(interp, named(call, "dilation_rate")));
    activated(call, named(call, "activation"), value)
}

/// Whether the axes are as a layer has them that is told nothing.
pub(super) fn has_usual_axes(call: &Invocation) -> bool {
    named(call, "data_format").is_none_or(|format| format.as_str() == Some("channels_last"))
}

fn convolved(interp: &Interp, call: &Invocation, rank: usize, last: bool, window: Window) -> Value {
    let channels = int(call, Slot::OutChannels).unwrap_or_default();
    let usual = !last || has_usual_axes(call);
    let value = weighted(interp, call, |shape| {
        if !usual {
            return None;
        }
        let size = |axis: usize, size: &Int| window.positions(axis, size, false);
        spatial(shape, rank, last, Some(channels.clone()), size)
    });
    if last { value } else { of_batch(interp, call, rank, channels, value) }
}

/// What a convolution gives of something that nobody knows: as many channels as it has, of a batch. It takes a single
/// sample as well, which models are not given as a rule.
fn of_batch(interp: &Interp, call: &Invocation, rank: usize, channels: Int, value: Value) -> Value {
    let Some(output) = value.as_tensor().filter(|_| first(interp, call).shape.is_none()) else {
        return value;
    };
    let spaces = std::iter::repeat_n(Int::Unknown, rank);
    let shape: Dims = [Int::Unknown, channels].into_iter().chain(spaces).collect();
    let confidence = interp.supposed.trust;
    Value::tensor(Tensor { shape: Some(shape.into()), confidence, ..(**output).clone() })
}

/// `conv-transpose x out_channels kernel_size stride padding output_padding dilation rank`
pub(crate) fn conv_transpose(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call) else { return weighted(interp, call, |_| None) };
    let window = Window::read(interp, call, rank, &vec![Int::Known(1); rank]);
    let window = window.dilated(interp, param(call, Slot::Dilation));
    let more = per_axis(interp, param(call, Slot::OutputPadding), rank, &vec![Int::Known(0); rank]);
    let channels = int(call, Slot::OutChannels).unwrap_or_default();
    let value = weighted(interp, call, |shape| {
        let size = |axis: usize, size: &Int| window.spread(axis, size, &more[axis]);
        spatial(shape, rank, false, Some(channels.clone()), size)
    });
    of_batch(interp, call, rank, channels, value)
}

/// `pool x kernel_size stride padding rank`; the stride is the kernel when it is left out.
pub(crate) fn pool(interp: &mut Interp, call: &Invocation) -> Value {
    pooled(interp, call, false)
}

/// `pool-keras x kernel_size stride padding rank`: channels come last.
pub(crate) fn pool_keras(interp: &mut Interp, call: &Invocation) -> Value {
    pooled(interp, call, true)
}

fn pooled(interp: &Interp, call: &Invocation, last: bool) -> Value {
    let Some(rank) = quoted_rank(call) else { return layer(interp, call, |_| None) };
    let kernel = per_axis(interp, param(call, Slot::KernelSize), rank, &vec![Int::Unknown; rank]);
    let window = Window::read(interp, call, rank, &kernel).dilated(interp, named(call, "dilation"));
    let round_up = flag(named(call, "ceil_mode"));
    let usual = !last || has_usual_axes(call);
    let pooled = layer(interp, call, |shape| {
        if !usual {
            return None;
        }
        let size = |axis: usize, size: &Int| match round_up {
            Some(false) => window.positions(axis, size, false),
            // With padding the last window may lie in it altogether, and is left out.
            Some(true) if window.is_bare(axis) => window.positions(axis, size, true),
            _ => Int::Unknown,
        };
        spatial(shape, rank, last, None, size)
    });
    let wanted = flag(named(call, "return_indices"));
    with_indices(interp, call, &first(interp, call), pooled, wanted)
}

fn with_indices(
    interp: &Interp,
    call: &Invocation,
    of: &Tensor,
    pooled: Value,
    wanted: Option<bool>,
) -> Value {
    match wanted {
        Some(false) => pooled,
        None => Value::Unknown,
        Some(true) => {
            let shape = pooled.as_tensor().and_then(|tensor| tensor.shape.clone());
            Value::tuple(vec![pooled, Value::tensor(indices(interp, call.place, of, shape))])
        }
    }
}

/// `global-pool x output_size rank`; without a size everything goes into one place.
pub(crate) fn global_pool(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(rank) = quoted_rank(call) else { return layer(interp, call, |_| None) };
    let wanted = wanted_sizes(interp, param(call, Slot::OutputSize), rank);
    layer(interp, call, |shape| {
        let size = |axis: usize, size: &Int| wanted[axis].clone().unwrap_or_else(|| size.clone());
        spatial(shape, rank, false, None, size)
    })
}

/// `None` for an axis keeps its size.
fn wanted_sizes(interp: &Interp, value: Option<Value>, rank: usize) -> Vec<Option<Int>> {
    let Some(value) = value else { return vec![Some(Int::Known(1)); rank] };
    match sequence(interp, &value) {
        Some(Sequence::Exact(items)) if items.len() == rank => items
            .iter()
            .map(|item| match item.bare() {
                Value::None => None,
                other => Some(other.as_int().cloned().unwrap_or_default()),
            })
            .collect(),
        _ => per_axis(interp, Some(value), rank, &Dims::new()).into_iter().map(Some).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(sizes: &[i64]) -> Dims {
        sizes.iter().map(|size| Int::Known(*size)).collect()
    }

    fn window(kernel: i64, stride: i64, padding: i64, dilation: i64) -> Window {
        Window {
            kernel: dims(&[kernel]),
            stride: dims(&[stride]),
            padding: Padding::Sizes(dims(&[padding])),
            dilation: dims(&[dilation]),
        }
    }

    #[test]
    fn convolutions_give_the_documented_sizes() {
        let out = |w: Window, size: i64| w.positions(0, &Int::Known(size), false);
        assert_eq!(out(window(7, 2, 3, 1), 224), Int::Known(112));
        assert_eq!(out(window(3, 1, 1, 1), 28), Int::Known(28));
        assert_eq!(out(window(5, 1, 0, 1), 28), Int::Known(24));
        assert_eq!(out(window(3, 1, 2, 2), 32), Int::Known(32));
        assert_eq!(out(window(3, 2, 0, 1), 8), Int::Known(3));
        assert_eq!(out(window(5, 1, 0, 1), 3), Int::Unknown);
        assert_eq!(window(3, 2, 0, 1).positions(0, &Int::Known(8), true), Int::Known(4));
    }

    #[test]
    fn convolutions_keep_symbols_where_that_is_exact() {
        let side = Int::symbol(Symbol(0));
        assert_eq!(window(3, 1, 1, 1).positions(0, &side, false), side);
        assert_eq!(window(3, 1, 0, 1).positions(0, &side, false), side.sub(&Int::Known(2)));
        assert_eq!(window(2, 2, 0, 1).positions(0, &side.mul(&Int::Known(2)), false), side);
        assert_eq!(window(3, 2, 1, 1).positions(0, &side, false), Int::Unknown);
        let same = Window { padding: Padding::Same, ..window(3, 2, 0, 1) };
        assert_eq!(same.positions(0, &Int::Known(15), false), Int::Known(8));
    }

    #[test]
    fn transposed_convolutions_grow() {
        let out = |w: Window, size: i64, more: i64| w.spread(0, &Int::Known(size), &Int::Known(more));
        assert_eq!(out(window(4, 2, 1, 1), 16, 0), Int::Known(32));
        assert_eq!(out(window(4, 1, 0, 1), 1, 0), Int::Known(4));
        assert_eq!(out(window(3, 2, 1, 1), 7, 1), Int::Known(14));
    }

    #[test]
    fn spatial_axes_are_found_in_each_layout() {
        let half = |_: usize, size: &Int| size.div_floor(&Int::Known(2));
        let channels = Some(Int::Known(64));
        let batch = Int::symbol(Symbol(0));
        let images: Dims = [batch.clone()].into_iter().chain(dims(&[3, 32, 16])).collect();
        let halved: Dims = [batch].into_iter().chain(dims(&[64, 16, 8])).collect();
        assert_eq!(spatial(&images, 2, false, channels.clone(), half), Some(halved));
        assert_eq!(spatial(&dims(&[3, 32, 16]), 2, false, None, half), Some(dims(&[3, 16, 8])));
        assert_eq!(spatial(&dims(&[1, 32, 16, 3]), 2, true, channels, half), Some(dims(&[1, 16, 8, 64])));
        assert_eq!(spatial(&dims(&[3, 32]), 2, false, None, half), None);
        assert_eq!(spatial(&dims(&[2, 3, 32]), 1, false, None, half), Some(dims(&[2, 3, 16])));
    }
}
