//! Running a graph on the CPU, for a block of samples at once: one loop an operation, over numbers that lie
//! side by side.

use super::float::Real;
use super::graph::{Graph, Id, Op, Reduce};
use crate::report::replay::Form;

/// The values of all nodes for a block of samples.
pub struct Machine<'a, R> {
    graph: &'a Graph,
    values: Vec<R>,
    /// Where the values of a node start.
    starts: Vec<usize>,
    block: usize,
}

impl<'a, R: Real> Machine<'a, R> {
    pub fn new(graph: &'a Graph, block: usize) -> Machine<'a, R> {
        let mut starts = Vec::with_capacity(graph.nodes.len());
        let mut end = 0;
        for node in &graph.nodes {
            starts.push(end);
            end += block * lanes(graph, node.form);
        }
        Machine { graph, values: vec![R::ZERO; end], starts, block }
    }

    /// Computes all nodes; `inputs` fills the numbers of an input, one lane of the block at a time.
    pub fn run(&mut self, mut inputs: impl FnMut(u32, usize, &mut [R])) {
        for index in 0..self.graph.nodes.len() {
            let node = self.graph.nodes[index];
            // Operands come before what uses them, so that they lie in the first part.
            let (before, rest) = self.values.split_at_mut(self.starts[index]);
            let known = Known { graph: self.graph, values: before, starts: &self.starts, block: self.block };
            let lanes = lanes(self.graph, node.form);
            for lane in 0..lanes {
                let out = &mut rest[lane * self.block..(lane + 1) * self.block];
                match node.op {
                    Op::Input(input) => inputs(input, lane, out),
                    op => known.compute(op, lane, out),
                }
                for value in out {
                    *value = value.rounded(node.dtype);
                }
            }
        }
    }

    /// The numbers of a node, in one lane of the block.
    pub fn lane(&self, id: Id, lane: usize) -> &[R] {
        let known =
            Known { graph: self.graph, values: &self.values, starts: &self.starts, block: self.block };
        known.lane(id, lane)
    }

    /// The numbers of a node for one sample of the block.
    pub fn of(&self, id: Id, sample: usize) -> Vec<R> {
        let lanes = lanes(self.graph, self.graph.node(id).form);
        (0..lanes).map(|lane| self.lane(id, lane)[sample]).collect()
    }
}

fn lanes(graph: &Graph, form: Form) -> usize {
    match form {
        Form::One => 1,
        Form::Many => graph.width,
    }
}

/// What is computed already.
struct Known<'a, R> {
    graph: &'a Graph,
    values: &'a [R],
    starts: &'a [usize],
    block: usize,
}

impl<'a, R: Real> Known<'a, R> {
    /// A single number stands in every lane.
    fn lane(&self, id: Id, lane: usize) -> &'a [R] {
        let lane = if self.graph.node(id).form == Form::Many { lane } else { 0 };
        let start = self.starts[id.index()] + lane * self.block;
        &self.values[start..start + self.block]
    }

    fn compute(&self, op: Op, lane: usize, out: &mut [R]) {
        match op {
            Op::Input(_) => {}
            Op::Const(value) => out.fill(R::of(value.value())),
            Op::Unary(op, x) => {
                for (out, x) in out.iter_mut().zip(self.lane(x, lane)) {
                    *out = R::unary(op, *x);
                }
            }
            Op::Binary(op, x, y) => {
                let operands = self.lane(x, lane).iter().zip(self.lane(y, lane));
                for (out, (x, y)) in out.iter_mut().zip(operands) {
                    *out = R::binary(op, *x, *y);
                }
            }
            Op::Where(condition, then, otherwise) => {
                let choices = self.lane(then, lane).iter().zip(self.lane(otherwise, lane));
                let conditions = self.lane(condition, lane).iter().zip(choices);
                for (out, (condition, (then, otherwise))) in out.iter_mut().zip(conditions) {
                    // NaN is not zero, and counts as true.
                    *out = if *condition == R::ZERO { *otherwise } else { *then };
                }
            }
            Op::Reduce(op, x) => self.reduce(op, x, out),
            Op::Fill(x) => out.copy_from_slice(self.lane(x, 0)),
        }
    }

    fn reduce(&self, op: Reduce, x: Id, out: &mut [R]) {
        out.copy_from_slice(self.lane(x, 0));
        let lanes = lanes(self.graph, self.graph.node(x).form);
        for lane in 1..lanes {
            for (sum, x) in out.iter_mut().zip(self.lane(x, lane)) {
                *sum = R::joined(op, *sum, *x);
            }
        }
        if op == Reduce::Mean {
            let count = R::of(lanes as f64);
            out.iter_mut().for_each(|sum| *sum = R::binary(super::graph::Binary::Div, *sum, count));
        }
    }
}
