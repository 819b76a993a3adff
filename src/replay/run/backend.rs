//! What runs graphs: the CPU, always there, or a GPU.

use crate::replay::ir::Graph;
use crate::replay::sample::Sampler;
use crate::replay::search::{self, Search};
use crate::replay::step::{Run, TrainingJob};
use crate::replay::witness::Side;
use std::time::Instant;

/// What backends are called in results.
pub const CPU: &str = "cpu";
pub const CUDA: &str = "cuda";

/// Why a backend could not run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub reason: String,
    /// Nothing runs on it any more, until another process begins anew.
    pub lost: bool,
    pub out_of_memory: bool,
}

/// What came out of one sample with given inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub forward_is_bad: bool,
    pub gradient_is_bad: bool,
}

impl Repeated {
    pub fn fails(self, side: Side) -> bool {
        match side {
            Side::Forward => self.forward_is_bad,
            Side::Gradient => self.gradient_is_bad,
        }
    }
}

/// What a card has, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Measured {
    pub total: u64,
    /// While nothing of ours lay there but the context.
    pub free: u64,
    /// What a process takes before it has allocated anything.
    pub context: u64,
    /// The steps in which memory is handed out.
    pub granule: u64,
}

pub trait Backend {
    /// Runs a graph on so many samples, or on as many as there is time for.
    fn search(
        &mut self,
        graph: &Graph,
        sampler: &Sampler,
        samples: u64,
        deadline: Instant,
    ) -> Result<Search, Trouble>;

    /// Runs a graph on one sample, where this is another machine than the CPU, which has run it already.
    fn repeat(&mut self, _: &Graph, _: &[Vec<f64>]) -> Result<Option<Repeated>, Trouble> {
        Ok(None)
    }

    /// Makes runs of a training, all at once; `None` of what it has no kernel for, so that the CPU does it.
    fn train(&mut self, _: &[TrainingJob], _: Instant) -> Result<Option<Vec<Run>>, Trouble> {
        Ok(None)
    }

    /// As messages call it.
    fn name(&self) -> &str;

    /// As results call it.
    fn kind(&self) -> &'static str;

    /// Of a card only.
    fn memory(&mut self) -> Option<Measured> {
        None
    }

    /// What did not go as it was asked to, once.
    fn aside(&mut self) -> Option<String> {
        None
    }
}

/// All threads of this process.
pub struct Cpu;

impl Backend for Cpu {
    fn search(
        &mut self,
        graph: &Graph,
        sampler: &Sampler,
        samples: u64,
        deadline: Instant,
    ) -> Result<Search, Trouble> {
        Ok(search::search(graph, sampler, samples, deadline))
    }

    fn name(&self) -> &str {
        "the CPU"
    }

    fn kind(&self) -> &'static str {
        CPU
    }
}

/// A backend that was there a moment ago: each item hears why, in a process of its own, as it may come back.
pub struct Gone {
    pub reason: String,
}

impl Gone {
    fn trouble(&self) -> Trouble {
        Trouble { reason: self.reason.clone(), lost: true, out_of_memory: false }
    }
}

impl Backend for Gone {
    fn search(&mut self, _: &Graph, _: &Sampler, _: u64, _: Instant) -> Result<Search, Trouble> {
        Err(self.trouble())
    }

    fn repeat(&mut self, _: &Graph, _: &[Vec<f64>]) -> Result<Option<Repeated>, Trouble> {
        Err(self.trouble())
    }

    fn train(&mut self, _: &[TrainingJob], _: Instant) -> Result<Option<Vec<Run>>, Trouble> {
        Err(self.trouble())
    }

    fn name(&self) -> &str {
        "a GPU that is gone"
    }

    fn kind(&self) -> &'static str {
        CUDA
    }
}
