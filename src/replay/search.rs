//! The CPU backend: all samples of a program, in parallel, and what came out of them that is not finite.

use super::ir::eval::Machine;
use super::ir::{Graph, Id, Op, Real};
use super::sample::{Mode, Sampler};
use crate::report::replay::Form;
use rayon::prelude::*;
use std::time::Instant;

/// So many samples are computed side by side, as long as their numbers fit a cache.
const MOST_BLOCK: usize = 256;
const LEAST_BLOCK: usize = 8;
const CACHED_NUMBERS: usize = 1 << 16;
/// And so many are one piece of work, after which the time is looked at; of a large graph fewer.
const MOST_PIECE: u64 = 1 << 14;
const LEAST_PIECE: u64 = 64;
const PIECE_NUMBERS: u64 = 1 << 22;

/// How often something was not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub samples: u64,
    pub forward: u64,
    pub gradient: u64,
}

impl Count {
    fn add(self, other: Count) -> Count {
        Count {
            samples: self.samples + other.samples,
            forward: self.forward + other.forward,
            gradient: self.gradient + other.gradient,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.forward == 0 && self.gradient == 0
    }
}

/// A sample, and the size of its largest number: the smallest is the witness, whatever the order of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    size: u32,
    pub sample: u64,
}

impl Found {
    /// From a size and a sample in one word, as backends look for the least; `None` where nothing was found.
    pub fn of_word(word: u64) -> Option<Found> {
        (word != u64::MAX).then_some(Found { size: (word >> 32) as u32, sample: word & 0xffff_ffff })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    pub all: Count,
    /// Those of them that are drawn as data usually is.
    pub ordinary: Count,
    pub forward: Option<Found>,
    pub gradient: Option<Found>,
}

impl Search {
    pub fn join(self, other: Search) -> Search {
        Search {
            all: self.all.add(other.all),
            ordinary: self.ordinary.add(other.ordinary),
            forward: least(self.forward, other.forward),
            gradient: least(self.gradient, other.gradient),
        }
    }
}

fn least(a: Option<Found>, b: Option<Found>) -> Option<Found> {
    a.into_iter().chain(b).min()
}

/// Runs a graph on so many samples, or on as many as there is time for.
pub fn search(graph: &Graph, sampler: &Sampler, samples: u64, deadline: Instant) -> Search {
    if graph.is_wide() {
        search_as::<f64>(graph, sampler, samples, deadline)
    } else {
        search_as::<f32>(graph, sampler, samples, deadline)
    }
}

fn search_as<R: Real>(graph: &Graph, sampler: &Sampler, samples: u64, deadline: Instant) -> Search {
    let numbers = (graph.nodes.len() * graph.width).max(1) as u64;
    let size = (PIECE_NUMBERS / numbers).clamp(LEAST_PIECE, MOST_PIECE);
    (0..samples.div_ceil(size))
        .into_par_iter()
        .filter(|_| Instant::now() < deadline)
        .map_init(
            || Block::<R>::new(graph),
            |block, piece| block.piece(sampler, piece * size, samples.min((piece + 1) * size)),
        )
        .reduce(Search::default, Search::join)
}

struct Block<'a, R> {
    graph: &'a Graph,
    machine: Machine<'a, R>,
    modes: Vec<Mode>,
    sizes: Vec<u32>,
}

impl<'a, R: Real> Block<'a, R> {
    fn new(graph: &'a Graph) -> Block<'a, R> {
        let numbers = graph.nodes.len() * graph.width;
        let block = (CACHED_NUMBERS / numbers.max(1)).clamp(LEAST_BLOCK, MOST_BLOCK);
        let machine = Machine::new(graph, block);
        Block { graph, machine, modes: vec![Mode::Wide; block], sizes: vec![0; block] }
    }

    fn piece(&mut self, sampler: &Sampler, start: u64, end: u64) -> Search {
        let block = self.sizes.len();
        (start..end).step_by(block).fold(Search::default(), |sum, first| {
            sum.join(self.run(sampler, first, (end - first).min(block as u64) as usize))
        })
    }

    fn run(&mut self, sampler: &Sampler, first: u64, count: usize) -> Search {
        let (modes, sizes) = (&mut self.modes, &mut self.sizes);
        for (index, mode) in modes.iter_mut().enumerate() {
            *mode = sampler.mode(first + index as u64);
        }
        sizes.fill(0);
        self.machine.run(|input, lane, out| {
            for (index, out) in out.iter_mut().enumerate() {
                let value = sampler.draw(first + index as u64, modes[index], input, lane);
                sizes[index] = sizes[index].max(value.abs().to_bits());
                *out = R::of(f64::from(value));
            }
        });
        self.count(first, count)
    }

    fn count(&self, first: u64, count: usize) -> Search {
        let output = self.bad(std::iter::once(self.graph.output));
        let gradients = self.bad(self.graph.gradients.iter().map(|(_, id)| *id));
        let mut search = Search::default();
        for index in 0..count {
            let one = Count {
                samples: 1,
                forward: u64::from(output[index]),
                gradient: u64::from(gradients[index]),
            };
            search.all = search.all.add(one);
            if self.modes[index] == Mode::Ordinary {
                search.ordinary = search.ordinary.add(one);
            }
            let found = Found { size: self.sizes[index], sample: first + index as u64 };
            search.forward = least(search.forward, output[index].then_some(found));
            search.gradient = least(search.gradient, gradients[index].then_some(found));
        }
        search
    }

    /// For each sample of the block, whether a number of these nodes is not finite.
    fn bad(&self, nodes: impl Iterator<Item = Id>) -> Vec<bool> {
        let mut bad = vec![false; self.sizes.len()];
        for id in nodes {
            let lanes = if self.graph.node(id).form == Form::Many { self.graph.width } else { 1 };
            for lane in 0..lanes {
                for (bad, value) in bad.iter_mut().zip(self.machine.lane(id, lane)) {
                    *bad |= !value.is_finite();
                }
            }
        }
        bad
    }
}

/// The values of all nodes for one sample.
pub struct Trace {
    pub values: Vec<Vec<f64>>,
}

impl Trace {
    pub fn of(graph: &Graph, inputs: &[Vec<f64>]) -> Trace {
        if graph.is_wide() { Trace::run::<f64>(graph, inputs) } else { Trace::run::<f32>(graph, inputs) }
    }

    fn run<R: Real>(graph: &Graph, inputs: &[Vec<f64>]) -> Trace {
        let mut machine = Machine::<R>::new(graph, 1);
        machine.run(|input, lane, out| out.fill(R::of(inputs[input as usize][lane])));
        let of = |index: usize| machine.of(Id(index as u32), 0).into_iter().map(R::wide).collect();
        Trace { values: (0..graph.nodes.len()).map(of).collect() }
    }

    pub fn of_node(&self, id: Id) -> &[f64] {
        &self.values[id.index()]
    }

    pub fn is_bad(&self, id: Id) -> bool {
        self.of_node(id).iter().any(|value| !value.is_finite())
    }

    pub fn forward_is_bad(&self, graph: &Graph) -> bool {
        self.is_bad(graph.output)
    }

    /// The first gradient that is not finite.
    pub fn bad_gradient(&self, graph: &Graph) -> Option<Id> {
        graph.gradients.iter().map(|(_, id)| *id).find(|id| self.is_bad(*id))
    }

    /// A number of a node at a place of the row.
    pub fn at(&self, id: Id, place: usize) -> f64 {
        let row = self.of_node(id);
        row[place.min(row.len() - 1)]
    }
}

/// Whether a node is a number that the script says.
pub fn is_number(graph: &Graph, id: Id) -> bool {
    matches!(graph.node(id).op, Op::Const(_))
}
