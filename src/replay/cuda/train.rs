//! Runs of a training on the device: all of them in one launch, a block each, and so many rounds at a time that a GPU
//! which also draws a screen is not held up.

use super::driver::{Buffer, Context, Module};
use super::training_jobs::{STATE, TrainingJobs, run_of};
use super::{STEP_PTX, encode};
use crate::replay::run::Trouble;
use crate::replay::step::{BATCH, ROUNDS, Run, TrainingJob};
use std::time::{Duration, Instant};

const THREADS: u32 = 128;
/// What a launch should take, and how many rounds the first one has.
const LAUNCH: Duration = Duration::from_millis(100);
const FIRST: u32 = 4;
/// The kernel evaluates after the last round.
const END: u32 = ROUNDS + 1;

/// The kernel, on the device.
pub(crate) struct Trainer {
    context: &'static Context,
    module: Module<'static>,
}

/// What a launch is called with.
struct Buffers {
    runs: Buffer<'static, [u32; 31]>,
    acts: Buffer<'static, [u32; 2]>,
    code: Buffer<'static, encode::Instruction>,
    numbers: Buffer<'static, f64>,
    states: Buffer<'static, f64>,
    work: Buffer<'static, f64>,
}

impl Buffers {
    fn of(context: &'static Context, training_jobs: &TrainingJobs) -> Result<Buffers, Trouble> {
        let work = training_jobs.slots as usize * BATCH * training_jobs.runs.len();
        Ok(Buffers {
            runs: Buffer::of(context, &training_jobs.runs)?,
            acts: Buffer::of(context, &training_jobs.acts)?,
            code: Buffer::of(context, &training_jobs.code)?,
            numbers: Buffer::of(context, &training_jobs.numbers)?,
            states: Buffer::of(context, &training_jobs.states)?,
            work: Buffer::new(context, work)?,
        })
    }
}

impl Trainer {
    pub(crate) fn load(context: &'static Context) -> Result<Trainer, Trouble> {
        Ok(Trainer { context, module: Module::load(context, STEP_PTX.as_bytes())? })
    }

    /// Makes all runs, or none when there is no time for them.
    pub(crate) fn train(
        &self,
        training_jobs: &[TrainingJob],
        encoded: &TrainingJobs,
        deadline: Instant,
    ) -> Result<Vec<Run>, Trouble> {
        let kernel = self.module.kernel("train")?;
        let buffers = Buffers::of(self.context, encoded)?;
        let (mut done, mut pace) = (0, FIRST);
        while done < END {
            if Instant::now() >= deadline {
                return Err(out_of_time(done));
            }
            let end = (done + pace).min(END);
            let mut arguments = [
                buffers.runs.address(),
                buffers.acts.address(),
                buffers.code.address(),
                buffers.numbers.address(),
                buffers.states.address(),
                buffers.work.address(),
                u64::from(encoded.slots),
                u64::from(done),
                u64::from(end),
            ];
            let start = Instant::now();
            self.module.launch(kernel, encoded.runs.len() as u32, THREADS, &mut arguments)?;
            pace = next_pace(end - done, start.elapsed());
            done = end;
        }
        let states = buffers.states.read()?;
        Ok(training_jobs.iter().zip(states.chunks(STATE)).map(|(job, state)| run_of(job, state)).collect())
    }
}

fn out_of_time(done: u32) -> Trouble {
    let reason = format!("out of time after {} of {ROUNDS} rounds", done.min(ROUNDS));
    Trouble { reason, lost: false, out_of_memory: false }
}

/// As many rounds as the next launch may have, so that it takes its time and no more.
fn next_pace(rounds: u32, took: Duration) -> u32 {
    let factor = LAUNCH.as_secs_f64() / took.as_secs_f64().max(1e-6);
    ((f64::from(rounds) * factor.min(8.0)) as u32).clamp(1, END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_grow_to_their_time_and_no_further() {
        assert_eq!(next_pace(FIRST, Duration::from_micros(10)), FIRST * 8);
        assert_eq!(next_pace(32, LAUNCH), 32);
        assert_eq!(next_pace(32, LAUNCH * 4), 8);
        assert_eq!(next_pace(1, Duration::from_secs(9)), 1);
        assert_eq!(next_pace(200, Duration::from_micros(1)), END);
    }
}
