//! A progress bar for runs that make people wait, on a terminal and nowhere else.

use crate::engine::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A bar that flashes up and is gone says nothing.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Bar {
    bar: ProgressBar,
    began: Instant,
    /// Still to be shown, once the run turns out to be long.
    waiting: AtomicBool,
}

impl Bar {
    /// Over files.
    pub(crate) fn new(wanted: bool) -> Bar {
        Bar::over("files", wanted)
    }

    pub(crate) fn over(what: &str, wanted: bool) -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:30}} {{pos}}/{{len}} {what}")) {
            bar.set_style(style);
        }
        let waiting = wanted && std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        Bar { bar, began: Instant::now(), waiting: AtomicBool::new(waiting) }
    }
}

impl Progress for Bar {
    fn start(&self, files: usize) {
        self.bar.set_length(files as u64);
    }

    fn step(&self) {
        self.bar.inc(1);
        let late = self.began.elapsed() > PATIENCE;
        if late && self.waiting.swap(false, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
