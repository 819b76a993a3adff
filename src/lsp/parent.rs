//! The editor's process. One that was killed says nothing, and what else holds its pipe keeps the server's open.

use crossbeam_channel::{Receiver, never, tick};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the process is looked for.
const EVERY: Duration = Duration::from_secs(3);

/// A process that the server ends with.
pub(super) struct Parent {
    /// What is there while it runs; none where it can't be looked for.
    entry: Option<PathBuf>,
    pub beats: Receiver<Instant>,
}

impl Parent {
    /// Of the parameters that a client begins with.
    pub(super) fn of(params: &Value) -> Parent {
        let id = params.get("processId").and_then(Value::as_u64);
        let entry = id.map(|id| PathBuf::from(format!("/proc/{id}")));
        // What is not there at first is told of another machine, or of a system without such entries.
        let entry = entry.filter(|entry| entry.exists());
        let beats = if entry.is_some() { tick(EVERY) } else { never() };
        Parent { entry, beats }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| !entry.exists())
    }
}
