//! The thread that checks: one job after another, while the server goes on answering.

use crate::engine::{self, Outcome, Panicked, Request, RunError, guarded};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::thread;
use thiserror::Error;

/// A document to check.
pub(crate) struct Job {
    pub uri: String,
    /// Of the document, so that a result can be told from one of another text.
    pub edits: u64,
    pub request: Request,
}

pub(crate) struct Done {
    pub uri: String,
    pub edits: u64,
    pub result: Result<Outcome, Failure>,
}

/// Why there are no findings of a document.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Panic(#[from] Panicked),
}

pub(crate) struct Analyst {
    jobs: Sender<Job>,
    pub done: Receiver<Done>,
}

impl Analyst {
    pub(crate) fn start() -> std::io::Result<Analyst> {
        let (jobs, todo) = unbounded::<Job>();
        let (finished, done) = unbounded();
        // Ends when the server drops its side of either channel.
        thread::Builder::new().name("analyst".to_owned()).spawn(move || {
            for job in todo {
                if finished.send(check(job)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Analyst { jobs, done })
    }

    pub(crate) fn give(&self, job: Job) {
        // The thread lives as long as this does: it catches what panics.
        let _ = self.jobs.send(job);
    }
}

fn check(job: Job) -> Done {
    let result = guarded(|| engine::check(&job.request, &engine::Silent));
    let result = result.map_err(Failure::from).and_then(|checked| checked.map_err(Failure::from));
    Done { uri: job.uri, edits: job.edits, result }
}
