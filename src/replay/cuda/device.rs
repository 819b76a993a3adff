//! The backend itself: graphs into buffers, samples in launches that are short enough for a GPU that also draws a
//! screen, and what was counted back.

use super::driver::{Buffer, Context, Kernel, Module};
use super::encode::{self, Encoded};
use super::nvrtc::Nvrtc;
use super::probe::{NoGpu, dotted, probe};
use super::train::Trainer;
use super::training_jobs::TrainingJobs;
use super::{INTERPRETER_PTX, fused};
use crate::replay::ir::Graph;
use crate::replay::run::{Backend, CUDA, Measured, Repeated, Trouble};
use crate::replay::sample::Sampler;
use crate::replay::search::{Count, Found, Search};
use crate::replay::step::{Run, TrainingJob};
use crate::report::replay::Form;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const THREADS: u32 = 128;
/// Of each multiprocessor at once.
const BLOCKS: u32 = 8;
/// The values of all threads together take no more than this.
const WORK_BYTES: u64 = 256 << 20;
/// What a launch should take, and how many samples it begins and ends with.
const LAUNCH: Duration = Duration::from_millis(100);
const FEWEST: u64 = 1 << 14;
const MOST: u64 = 1 << 26;

/// What was found, as the driver tells it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct About {
    pub name: String,
    pub capability: (u32, u32),
    /// `1000 * major + 10 * minor`
    pub driver: i32,
    /// The version of the compiler that makes kernels of graphs, where one was asked for and found.
    pub nvrtc: Option<(i32, i32)>,
}

impl About {
    /// «NVIDIA H200 (sm_90, driver for CUDA 12.9)»
    pub fn described(&self) -> String {
        let (major, minor) = self.capability;
        let compiler =
            self.nvrtc.map_or_else(String::new, |(major, minor)| format!(", NVRTC {major}.{minor}"));
        format!("{} (sm_{major}{minor}, driver for CUDA {}{compiler})", self.name, dotted(self.driver))
    }
}

pub struct Device {
    // It lives as long as the process, which runs one plan.
    context: &'static Context,
    interpreter: Module<'static>,
    nvrtc: Option<Nvrtc>,
    about: About,
    /// Free bytes and all, before anything of ours lay there but the context.
    room: (u64, u64),
    blocks: u32,
    prepared: Option<(Graph, Prepared)>,
    /// Loaded for the first training.
    trainer: Option<Trainer>,
    aside: Option<String>,
}

/// A graph that is ready to run.
struct Prepared {
    encoded: Encoded,
    kernel: Kernel,
    /// Holds the kernel, where it is not one of the interpreter.
    module: Option<Module<'static>>,
    code: Buffer<'static, encode::Instruction>,
    outputs: Buffer<'static, encode::Output>,
    numbers: Reals,
}

/// Numbers in the type that a graph is computed in.
enum Reals {
    Narrow(Buffer<'static, f32>),
    Wide(Buffer<'static, f64>),
}

impl Reals {
    fn of(context: &'static Context, wide: bool, numbers: &[f64]) -> Result<Reals, Trouble> {
        if wide {
            return Buffer::of(context, numbers).map(Reals::Wide);
        }
        let narrow: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
        Buffer::of(context, &narrow).map(Reals::Narrow)
    }

    fn room(context: &'static Context, wide: bool, count: usize) -> Result<Reals, Trouble> {
        match wide {
            true => Buffer::new(context, count).map(Reals::Wide),
            false => Buffer::new(context, count).map(Reals::Narrow),
        }
    }

    fn address(&self) -> u64 {
        match self {
            Reals::Narrow(buffer) => buffer.address(),
            Reals::Wide(buffer) => buffer.address(),
        }
    }
}

/// The samples of a launch.
struct Span<'a> {
    sampler: &'a Sampler,
    first: u64,
    count: u64,
    /// Numbers in place of drawn ones.
    given: Option<&'a Reals>,
    given_lanes: u32,
}

impl Device {
    /// The first GPU, after a look at whether there is one. With compilers to try, graphs become kernels of their
    /// own.
    pub fn open(compilers: &[PathBuf]) -> Result<Device, NoGpu> {
        let driver = probe()?;
        let context: &'static Context = Box::leak(Box::new(Context::open()?));
        Device::on(context, driver, Nvrtc::find(compilers)).map_err(|trouble| {
            NoGpu::new(
                trouble.reason,
                "see what `nvidia-smi` says, and whether another process takes the GPU",
            )
        })
    }

    fn on(context: &'static Context, driver: i32, nvrtc: Option<Nvrtc>) -> Result<Device, Trouble> {
        let room = context.memory()?;
        let interpreter = Module::load(context, INTERPRETER_PTX.as_bytes())?;
        let about = About {
            name: context.name()?,
            capability: context.capability()?,
            driver,
            nvrtc: nvrtc.as_ref().map(|nvrtc| nvrtc.version),
        };
        let blocks = context.processors()?.max(1) * BLOCKS;
        Ok(Device {
            context,
            interpreter,
            nvrtc,
            about,
            room,
            blocks,
            prepared: None,
            trainer: None,
            aside: None,
        })
    }

    /// What is here.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What has to be tried out to be known of the memory.
    fn weigh(&self) -> Result<Measured, Trouble> {
        let (free, total) = self.room;
        let context = self.context.price_of_a_context()?;
        Ok(Measured { total, free, context, granule: self.context.granule()? })
    }

    fn prepare(&mut self, graph: &Graph) -> Result<(), Trouble> {
        if self.prepared.as_ref().is_some_and(|(known, _)| known == graph) {
            return Ok(());
        }
        // What was there is freed first.
        self.prepared = None;
        let context = self.context;
        let module = self.compiled(graph)?;
        let mut encoded = Encoded::of(graph);
        if module.is_some() {
            // Its values are in registers.
            encoded.slots = 0;
        }
        let kernel = match &module {
            Some(module) => module.kernel(fused::NAME)?,
            None => self.interpreter.kernel(if encoded.wide { "interpret_f64" } else { "interpret_f32" })?,
        };
        let prepared = Prepared {
            kernel,
            module,
            code: Buffer::of(context, &encoded.code)?,
            outputs: Buffer::of(context, &encoded.outputs)?,
            numbers: Reals::of(context, encoded.wide, &encoded.numbers)?,
            encoded,
        };
        self.prepared = Some((graph.clone(), prepared));
        Ok(())
    }

    /// A kernel for this graph alone; without a compiler, or where it does not know this GPU, there is none.
    fn compiled(&mut self, graph: &Graph) -> Result<Option<Module<'static>>, Trouble> {
        let Some(nvrtc) = &self.nvrtc else { return Ok(None) };
        let (major, minor) = self.about.capability;
        match nvrtc.compile(&fused::source(graph), &format!("sm_{major}{minor}")) {
            Ok(image) => Module::load(self.context, &image).map(Some),
            Err(told) => {
                self.aside = Some(format!("NVRTC made no kernel of it, so that it was interpreted ({told})"));
                Ok(None)
            }
        }
    }

    /// So many threads that their values find room.
    fn geometry(&self, encoded: &Encoded, count: u64) -> u32 {
        let each = u64::from(encoded.slots.max(1)) * if encoded.wide { 8 } else { 4 } * u64::from(THREADS);
        let most = (WORK_BYTES / each).min(count.div_ceil(u64::from(THREADS)));
        u64::from(self.blocks).min(most).max(1) as u32
    }

    /// Room for the values of so many blocks, or of fewer where memory is short.
    fn work(&self, encoded: &Encoded, blocks: u32) -> Result<(Reals, u32), Trouble> {
        let mut blocks = blocks;
        loop {
            let count = encoded.slots as usize * (blocks * THREADS) as usize;
            match Reals::room(self.context, encoded.wide, count) {
                Err(trouble) if trouble.out_of_memory && blocks > 1 => blocks /= 2,
                other => return other.map(|work| (work, blocks)),
            }
        }
    }

    /// Runs a graph over samples until the deadline; gives what was counted, and of how many.
    fn run(&mut self, graph: &Graph, span: &Span, deadline: Instant) -> Result<Search, Trouble> {
        self.prepare(graph)?;
        let Some((_, prepared)) = &self.prepared else { return Ok(Search::default()) };
        let encoded = &prepared.encoded;
        let inputs = Buffer::of(self.context, &encode::inputs(&span.sampler.inputs, graph.width))?;
        let found = Buffer::of(self.context, &[0, 0, 0, 0, 0, u64::MAX, u64::MAX])?;
        let (work, blocks) = self.work(encoded, self.geometry(encoded, span.count))?;
        let module = prepared.module.as_ref().unwrap_or(&self.interpreter);
        let (mut done, mut pace) = (0, FEWEST);
        while done < span.count && Instant::now() < deadline {
            let count = pace.min(span.count - done);
            let mut arguments = vec![
                inputs.address(),
                span.given.map_or(0, Reals::address),
                0,
                found.address(),
                span.sampler.seed,
                span.first + done,
                count,
                u64::from(span.given_lanes),
                u64::from(encoded.told),
            ];
            if prepared.module.is_none() {
                let outputs = [prepared.outputs.address(), encoded.outputs.len() as u64];
                arguments.extend([prepared.code.address(), encoded.code.len() as u64]);
                arguments.push(prepared.numbers.address());
                arguments.extend(outputs);
                arguments.push(work.address());
            }
            let start = Instant::now();
            module.launch(prepared.kernel, blocks, THREADS, &mut arguments)?;
            done += count;
            pace = next_pace(count, start.elapsed());
        }
        Ok(counted(&found.read()?, done))
    }
}

/// As many samples as the next launch may have, so that it takes its time and no more; never many more than the
/// last.
fn next_pace(count: u64, took: Duration) -> u64 {
    let factor = LAUNCH.as_secs_f64() / took.as_secs_f64().max(1e-6);
    ((count as f64 * factor.min(8.0)) as u64).clamp(FEWEST, MOST)
}

fn counted(found: &[u64], samples: u64) -> Search {
    let [forward, gradient, ordinary, ordinary_forward, ordinary_gradient, least_forward, least_gradient] =
        *found
    else {
        return Search::default();
    };
    Search {
        all: Count { samples, forward, gradient },
        ordinary: Count { samples: ordinary, forward: ordinary_forward, gradient: ordinary_gradient },
        forward: Found::of_word(least_forward),
        gradient: Found::of_word(least_gradient),
    }
}

impl Backend for Device {
    fn search(
        &mut self,
        graph: &Graph,
        sampler: &Sampler,
        samples: u64,
        deadline: Instant,
    ) -> Result<Search, Trouble> {
        let span = Span { sampler, first: 0, count: samples, given: None, given_lanes: 0 };
        self.run(graph, &span, deadline)
    }

    fn repeat(&mut self, graph: &Graph, inputs: &[Vec<f64>]) -> Result<Option<Repeated>, Trouble> {
        let numbers: Vec<f64> = inputs.iter().flatten().copied().collect();
        let given = Reals::of(self.context, graph.is_wide(), &numbers)?;
        // Nothing is drawn; the sampler says how the inputs lie.
        let sampler = Sampler::new(0, &shapes(inputs));
        let given_lanes = numbers.len() as u32;
        let span = Span { sampler: &sampler, first: 0, count: 1, given: Some(&given), given_lanes };
        let search = self.run(graph, &span, Instant::now() + Duration::from_secs(1))?;
        Ok((search.all.samples == 1).then_some(Repeated {
            forward_is_bad: search.all.forward > 0,
            gradient_is_bad: search.all.gradient > 0,
        }))
    }

    fn train(
        &mut self,
        training_jobs: &[TrainingJob],
        deadline: Instant,
    ) -> Result<Option<Vec<Run>>, Trouble> {
        let Some(encoded) = TrainingJobs::of(training_jobs) else { return Ok(None) };
        let trainer = match self.trainer.take() {
            Some(trainer) => trainer,
            None => Trainer::load(self.context)?,
        };
        self.trainer.insert(trainer).train(training_jobs, &encoded, deadline).map(Some)
    }

    fn name(&self) -> &str {
        &self.about.name
    }

    fn kind(&self) -> &'static str {
        CUDA
    }

    fn memory(&mut self) -> Option<Measured> {
        self.weigh().ok()
    }

    fn aside(&mut self) -> Option<String> {
        self.aside.take()
    }
}

/// Inputs of which only the number of lanes counts.
fn shapes(inputs: &[Vec<f64>]) -> Vec<crate::report::replay::Input> {
    let one = |row: &Vec<f64>| crate::report::replay::Input {
        name: String::new(),
        form: if row.len() == 1 { Form::One } else { Form::Many },
        domain: crate::report::replay::Domain::REAL,
        learned: false,
    };
    inputs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_grow_to_their_time_and_no_further() {
        assert_eq!(next_pace(FEWEST, Duration::from_micros(10)), FEWEST * 8);
        assert_eq!(next_pace(1 << 20, LAUNCH), 1 << 20);
        assert_eq!(next_pace(1 << 20, LAUNCH * 4), 1 << 18);
        assert_eq!(next_pace(FEWEST, Duration::from_secs(9)), FEWEST);
        assert_eq!(next_pace(MOST, Duration::from_micros(1)), MOST);
    }
}
