//! The graphs against PyTorch's numbers, against central differences, and against known faults.

mod edges;
mod slopes;
mod torch;

use super::eval::Machine;
use super::{Graph, Id, lower};
use crate::report::replay::Program;

pub(crate) const WIDTH: usize = 4;

pub(crate) struct Ran {
    pub output: Vec<f64>,
    pub gradients: Vec<(u32, Vec<f64>)>,
}

/// Runs a program on one sample.
pub(crate) fn run(program: &Program, inputs: &[Vec<f64>]) -> Ran {
    let graph = lower(program, WIDTH);
    if graph.is_wide() { run_as::<f64>(&graph, inputs) } else { run_as::<f32>(&graph, inputs) }
}

fn run_as<R: super::Real>(graph: &Graph, inputs: &[Vec<f64>]) -> Ran {
    let mut machine = Machine::<R>::new(graph, 1);
    machine.run(|input, lane, out| out.fill(R::of(inputs[input as usize][lane])));
    let of = |id: Id| machine.of(id, 0).into_iter().map(R::wide).collect();
    Ran {
        output: of(graph.output),
        gradients: graph.gradients.iter().map(|(input, id)| (*input, of(*id))).collect(),
    }
}
