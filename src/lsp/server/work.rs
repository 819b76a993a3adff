//! Which document is checked next, for how long, and what becomes of it. One that takes long waits until no other is
//! due, and makes room for each that comes.

use super::super::Checked;
use super::super::analyst::{Done, Job};
use super::{LONGEST, Server};
use crate::source::Patience;
use gen_lsp_types::MessageType;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The document that is being checked.
pub(super) struct Busy {
    pub uri: String,
    pub edits: u64,
    /// Something else has changed since, so that the result will not count.
    pub is_outdated: bool,
    /// Tells the check that nobody waits for it.
    cancelled: Arc<AtomicBool>,
}

impl Busy {
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn outdate(&mut self) {
        self.is_outdated = true;
        self.cancel();
    }
}

impl Server {
    /// The document that is checked next: one that took long only where no other is due.
    fn next_due(&mut self) -> Option<String> {
        let quick = self.due.iter().rposition(|uri| !self.slow.contains(uri));
        let at = quick.or(self.due.len().checked_sub(1))?;
        Some(self.due.remove(at))
    }

    /// A check that takes long ends where another document waits; it begins again when all others are done.
    fn make_room(&self) {
        if let Some(busy) = self.busy.as_ref().filter(|busy| self.slow.contains(&busy.uri))
            && self.due.iter().any(|uri| !self.slow.contains(uri))
        {
            busy.cancel();
        }
    }

    pub(super) fn give_work(&mut self) {
        self.make_room();
        while self.busy.is_none() {
            let Some(uri) = self.next_due() else { return };
            let Some(document) = self.documents.get(&uri) else { continue };
            let (edits, path) = (document.edits, document.path.clone());
            match path.as_deref().and_then(|path| self.request(path)) {
                Some(mut request) => {
                    let cancelled = Arc::new(AtomicBool::new(false));
                    let most = if self.slow.contains(&uri) { LONGEST } else { self.host.quick };
                    request.patience = patience(most, &cancelled);
                    self.analyst.give(Job { uri: uri.clone(), edits, request });
                    self.busy = Some(Busy { uri, edits, is_outdated: false, cancelled });
                }
                None => {
                    let path = path.unwrap_or_default();
                    self.settle(&uri, Checked::nothing(path, edits));
                }
            }
        }
    }

    pub(super) fn done(&mut self, done: Done) {
        let busy = self.busy.take();
        let is_outdated = busy.as_ref().is_some_and(|busy| busy.is_outdated);
        let was_cancelled = busy.is_some_and(|busy| busy.cancelled.load(Ordering::Relaxed));
        let Some(document) = self.documents.get(&done.uri) else { return };
        // A newer text waits for its turn already, or for being saved.
        if document.edits != done.edits {
            return;
        }
        let took_long = done.result.as_ref().is_ok_and(|outcome| outcome.files.stopped > 0);
        let is_new = took_long && !was_cancelled && self.slow.insert(done.uri.clone());
        if !took_long {
            self.slow.remove(&done.uri);
        }
        if is_outdated || is_new || (took_long && was_cancelled) {
            // Behind what has made it so.
            if !self.due.contains(&done.uri) {
                self.due.insert(0, done.uri);
            }
            return;
        }
        let path = document.path.clone().unwrap_or_default();
        let mut checked = Checked::nothing(path.clone(), done.edits);
        checked.source = self.memory.library.held(&path);
        match done.result {
            Ok(outcome) => {
                let said: Vec<_> =
                    outcome.problems.iter().map(|one| format!("{}: {}", one.path, one.message)).collect();
                self.complain(&said.join("\n"), MessageType::Warning);
                checked.outcome = outcome;
            }
            Err(why) => self.complain(&why.to_string(), MessageType::Error),
        }
        self.settle(&done.uri, checked);
    }
}

pub(crate) fn patience(most: Duration, cancelled: &Arc<AtomicBool>) -> Patience {
    Patience { per_file: None, until: Some(Instant::now() + most), cancelled: Some(cancelled.clone()) }
}
