//! Tensors in words: `Tensor[batch, 10] float32 cuda, graph of `model`, in [0, ∞)`. What is not known of one
//! is left out; a size that is not known is `?`, a shape `..`.

use super::words::{Words, device_name};
use crate::apis::Mark;
use crate::report::Confidence;
use crate::values::*;
use std::fmt::Write;

impl Words<'_> {
    pub(super) fn tensor(&self, tensor: &Tensor) -> String {
        let kind = if tensor.is_array { "Array" } else { "Tensor" };
        let mut text = format!("{kind}[{}]", self.shape(tensor));
        if let Some(dtype) = tensor.dtype {
            let _ = write!(text, " {}", dtype.name());
        }
        if let Some(cast) = tensor.cast.filter(|cast| tensor.dtype != Some(*cast)) {
            let _ = write!(text, " ({} under autocast)", cast.name());
        }
        if tensor.device != Device::Unknown && !tensor.is_array {
            let _ = write!(text, " {}", device_name(tensor.device));
        }
        if tensor.is_parameter() {
            text.push_str(", parameter");
        }
        text.push_str(&self.graph(&tensor.graph));
        if let Some(range) = &tensor.range {
            let _ = write!(text, ", {}", interval(range));
        }
        if let Some(mark) = tensor.mark.and_then(|(mark, _)| mark_name(mark)) {
            let _ = write!(text, ", {mark}");
        }
        if tensor.averaged {
            text.push_str(", a mean");
        }
        match tensor.scaled {
            Scaled::No => {}
            Scaled::By(scaler) => {
                let _ = write!(text, ", scaled by {}", self.name(scaler));
            }
            Scaled::Maybe => text.push_str(", perhaps scaled"),
        }
        text.push_str(&self.detachments(tensor));
        if tensor.confidence == Confidence::Low {
            text.push_str(", a guess");
        }
        text
    }

    fn shape(&self, tensor: &Tensor) -> String {
        let size = |size: &Int| if size.is_unknown() { "?".to_owned() } else { self.int(size) };
        match (&tensor.shape, &tensor.last) {
            (Some(shape), _) => shape.iter().map(size).collect::<Vec<_>>().join(", "),
            (None, Some(last)) => format!(".., {}", size(last)),
            (None, None) => "..".to_owned(),
        }
    }

    fn graph(&self, graph: &Graph) -> String {
        let nodes = match graph {
            Graph::None => return String::new(),
            Graph::Unknown => return ", graph ?".to_owned(),
            Graph::Live(nodes) => nodes,
        };
        let mut text = if nodes.maybe { ", perhaps graph" } else { ", graph" }.to_owned();
        match (nodes.leaves.is_empty(), nodes.others && !nodes.own) {
            (true, _) if nodes.own => text.push_str(" of tensors that require it"),
            (true, _) => text.push_str(" of others"),
            (false, others) => {
                let more = if others { " and others" } else { "" };
                let _ = write!(text, " of {}{more}", self.all_names(&nodes.leaves));
            }
        }
        if nodes.oldest < self.since {
            text.push_str(" from before this iteration");
        }
        text
    }

    /// Where a graph was left behind on the way to this tensor.
    fn detachments(&self, tensor: &Tensor) -> String {
        let mut text = String::new();
        for point in tensor.detach_points.iter().flat_map(|detach_points| detach_points.iter()) {
            let line = self.project.source(point.place.file).locate(point.place.span.start).line;
            let _ = match self.all_names(&point.lost) {
                names if names.is_empty() => write!(text, ", cut in line {line}"),
                names => write!(text, ", cut from {names} in line {line}"),
            };
        }
        text
    }
}

/// An interval: `~` before an end that only rounding reaches, `singly` after one that no two numbers reach at once.
fn interval(range: &Interval) -> String {
    if *range == Interval::REAL {
        return "any number".to_owned();
    }
    if let Some(point) = range.as_point() {
        return format!("all {}", written(point));
    }
    let length = match range.length {
        Length::Any => "",
        Length::Unit => ", unit vectors",
        Length::UnitProducts => ", products of unit vectors",
    };
    let end = |value: f64, end: End| match end {
        End::Underflow | End::Rounded => format!("~{}", written(value)),
        End::Touched => format!("{} singly", written(value)),
        End::Open | End::Reached => written(value),
    };
    let open = if range.low_end == End::Open { '(' } else { '[' };
    let close = if range.high_end == End::Open { ')' } else { ']' };
    let (low, high) = (end(range.low, range.low_end), end(range.high, range.high_end));
    format!("in {open}{low}, {high}{close}{length}")
}

/// With as many digits as single precision has, where it is one of its numbers.
fn written(value: f64) -> String {
    // A negative zero is a zero.
    let text = match value + 0.0 {
        f64::INFINITY => "∞".to_owned(),
        f64::NEG_INFINITY => "-∞".to_owned(),
        single if f64::from(single as f32) == single => format!("{:?}", single as f32),
        double => format!("{double:?}"),
    };
    text.trim_end_matches(".0").to_owned()
}

fn mark_name(mark: Mark) -> Option<&'static str> {
    Some(match mark {
        Mark::Softmax => "softmax",
        Mark::LogSoftmax => "log-softmax",
        Mark::Sigmoid => "sigmoid",
        Mark::LogSigmoid => "log-sigmoid",
        Mark::Raw => return None,
    })
}
