//! Images on their way to a network: of libraries they are arrays with the channels last, or with none, and become
//! tensors with the channels first.

use super::build::*;
use super::dims::Dims;
use super::layers::layer;
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::values::*;
use std::rc::Rc;

/// `image-tensor x dtype`: refuses tensors, so that what a transform made of something unknown is an image on the CPU.
pub(crate) fn tensor(interp: &mut Interp, call: &Invocation) -> Value {
    let before = first(interp, call);
    let here = call.layer.unwrap_or(call.place);
    let made = super::convert::as_tensor(interp, call);
    match made.as_tensor() {
        // Of what nobody knows it is the image that some file holds, byte by byte.
        Some(tensor) if quoted_dtype(call) == Some(DType::UInt8) => {
            let shape = before.shape.as_deref().and_then(channels_first).map(Rc::from);
            let images = before.images.or(Some(here));
            let kept = Tensor { graph: Graph::None, device: Device::Cpu, images, ..(**tensor).clone() };
            Value::tensor(kept.with_shape(shape.filter(|_| before.is_array)))
        }
        Some(tensor) if before.is_array => {
            let shape = before.shape.as_deref().and_then(channels_first).map(Rc::from);
            let is_scaled = before.dtype == Some(DType::UInt8);
            let images = before.images.map(|read| if is_scaled { here } else { read });
            Value::tensor(Tensor { images, ..(**tensor).clone().with_shape(shape) })
        }
        Some(tensor) => {
            Value::tensor(Tensor { graph: Graph::None, device: Device::Cpu, ..(**tensor).clone() })
        }
        None => made,
    }
}

fn channels_first(shape: &[Int]) -> Option<Dims> {
    match shape {
        [height, width] => Some(vec![Int::Known(1), height.clone(), width.clone()]),
        [height, width, channels] => Some(vec![channels.clone(), height.clone(), width.clone()]),
        _ => None,
    }
}

/// `image-resized x size word`: what is not known may be an image of another library, and stays one.
pub(crate) fn resized(interp: &mut Interp, call: &Invocation) -> Value {
    if call.nth(0).is_unknown() {
        return Value::Unknown;
    }
    let last = first(interp, call).is_array;
    let by_edge = word(call, "edge");
    let size = param(call, Slot::Size).and_then(|size| ints_of(interp, &size));
    let resized = layer(interp, call, |shape| {
        let at = if last { 0 } else { shape.len().checked_sub(2)? };
        let mut sizes = shape.to_vec();
        let square = shape.get(at)? == shape.get(at + 1)? && !shape[at].is_unknown();
        let (height, width) = match size.as_deref()? {
            [height, width] => (height.clone(), width.clone()),
            [side] if square || !by_edge => (side.clone(), side.clone()),
            _ => (Int::Unknown, Int::Unknown),
        };
        (sizes[at], sizes[at + 1]) = (height, width);
        Some(sizes)
    });
    match resized.as_tensor() {
        Some(tensor) => Value::tensor(Tensor { is_array: last, ..(**tensor).clone() }),
        None => resized,
    }
}

/// `standardized x mean std`: each channel less its mean, divided by its deviation.
pub(crate) fn standardized(interp: &mut Interp, call: &Invocation) -> Value {
    let standardized = super::elementwise::like(interp, call);
    let Some(tensor) = standardized.as_tensor() else { return standardized };
    let range =
        first(interp, call).range.zip(statistics(interp, call)).map(|(range, (means, deviations))| {
            let channels = means.iter().zip(&deviations);
            let each =
                channels.map(|(mean, by)| range.sub(&Interval::point(*mean)).div(&Interval::point(*by)));
            each.reduce(|all, one| all.join(&one))
        });
    // As single precision holds them.
    let range = range.flatten().map(|range| range.rounded(|end| f64::from(end as f32)));
    Value::tensor(Tensor { range, ..(**tensor).clone() })
}

/// The means and deviations of the channels, as many of the one as of the other.
pub(crate) fn statistics(interp: &Interp, call: &Invocation) -> Option<(Vec<f64>, Vec<f64>)> {
    let numbers = |at: usize| match sequence(interp, &call.nth(at)) {
        Some(Sequence::Exact(items)) => items.iter().map(Value::as_num).collect::<Option<Vec<f64>>>(),
        Some(Sequence::Any(..)) => None,
        None => call.nth(at).as_num().map(|number| vec![number]),
    };
    let (means, deviations) = (numbers(1)?, numbers(2)?);
    (means.len() == deviations.len() && !means.is_empty()).then_some((means, deviations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_come_first() {
        let dims = |sizes: &[i64]| -> Dims { sizes.iter().map(|size| Int::Known(*size)).collect() };
        assert_eq!(channels_first(&dims(&[28, 30])), Some(dims(&[1, 28, 30])));
        assert_eq!(channels_first(&dims(&[28, 30, 3])), Some(dims(&[3, 28, 30])));
        assert_eq!(channels_first(&dims(&[28])), None);
    }
}
