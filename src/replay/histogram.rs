//! What the operation that failed first was given, over all samples: by size, from far below zero to far above.

use super::ir::Graph;
use super::outcome::{Bar, Picture};
use super::sample::Sampler;
use super::search::Trace;
use super::witness::Failure;
use std::time::Instant;

const SAMPLES: u64 = 6_000;
/// Sizes are told apart by powers of four, from the first to the last of these.
const LEAST: i32 = -8;
const MOST: i32 = 8;
const BASE: f64 = 4.0;

/// Samples by the operand of a failure, and how many of them fail; none where there is no time for it.
pub(crate) fn histogram(
    graph: &Graph,
    sampler: &Sampler,
    failure: &Failure,
    deadline: Instant,
) -> Option<Picture> {
    let operand = failure.operand?;
    let side = (MOST - LEAST + 1) as usize;
    let mut bars = vec![(0_u64, 0_u64); 2 * side + 1];
    for sample in 0..SAMPLES {
        if Instant::now() >= deadline {
            return None;
        }
        let rows = sampler.sample(sample, graph.width).into_iter();
        let inputs: Vec<Vec<f64>> = rows.map(|row| row.into_iter().map(f64::from).collect()).collect();
        let trace = Trace::of(graph, &inputs);
        let failed = trace.forward_is_bad(graph) || trace.bad_gradient(graph).is_some();
        // Of a row the number that is nearest to what failed.
        let target = failure.operands.first().copied().unwrap_or(0.0);
        let far = |value: &f64| (value - target).abs();
        let nearest = trace.of_node(operand).iter().filter(|value| value.is_finite());
        let Some(value) = nearest.min_by(|a, b| far(a).total_cmp(&far(b))) else { continue };
        let bar = &mut bars[place(*value, side)];
        bar.0 += 1;
        bar.1 += u64::from(failed);
    }
    let used = |bar: &(u64, u64)| bar.0 > 0;
    let (first, last) = (bars.iter().position(used)?, bars.iter().rposition(used)?);
    let bars = (first..=last).map(|index| {
        let (low, high) = ends(index, side);
        Bar { low, high, count: bars[index].0, failed: bars[index].1 }
    });
    Some(Picture::Bars { x: format!("what the {} is given", failure.operation), bars: bars.collect() })
}

/// Zero in the middle, negative numbers below it.
fn place(value: f64, side: usize) -> usize {
    if value == 0.0 {
        return side;
    }
    let size = (value.abs().log2() / BASE.log2()).floor().clamp(f64::from(LEAST), f64::from(MOST));
    let steps = (size as i32 - LEAST) as usize + 1;
    if value > 0.0 { side + steps } else { side - steps }
}

fn ends(index: usize, side: usize) -> (f64, f64) {
    let size = |steps: usize| BASE.powi(LEAST + steps as i32 - 1);
    match index.cmp(&side) {
        std::cmp::Ordering::Equal => (0.0, 0.0),
        std::cmp::Ordering::Greater => (size(index - side), size(index - side + 1)),
        std::cmp::Ordering::Less => (-size(side - index + 1), -size(side - index)),
    }
}
