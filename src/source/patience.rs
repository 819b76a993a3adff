//! How long a piece of work may take, and whether anybody still waits for it. Whatever goes on for long asks now and
//! then; where the answer is no, the work unwinds to whoever set the limit. What was half done counts for nothing.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A limit on one piece of work; none by default.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    /// So long each file may keep a thread at work. Time in which others have the machine does not count: what is found
    /// must not depend on them.
    pub per_file: Option<Duration>,
    /// When all of it has to be done.
    pub until: Option<Instant>,
    /// Set when nobody waits any more.
    pub cancelled: Option<Arc<AtomicBool>>,
}

/// A piece of work that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Stopped {
    #[error("took more than {} s to analyze, and was not checked", .0.as_secs())]
    TooLong(Duration),
    #[error("was not checked in time")]
    Late,
    #[error("cancelled")]
    Cancelled,
}

struct Watch {
    began: Instant,
    /// What the thread had worked by then.
    worked: Option<Duration>,
    patience: Patience,
}

thread_local! {
    /// Steps of rehearsals, visits of walks and the like, of all that this thread ever did.
    static WORK: Cell<u64> = const { Cell::new(0) };
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    /// Until when the piece of work that is rationed may go on.
    static RATION: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What unwinds where a ration is used up.
struct UsedUp;

impl Patience {
    fn is_endless(&self) -> bool {
        self.per_file.is_none() && self.until.is_none() && self.cancelled.is_none()
    }

    /// Whether there is time left, and somebody waits.
    pub fn left(&self) -> Result<(), Stopped> {
        if self.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Err(Stopped::Cancelled);
        }
        if self.until.is_some_and(|until| Instant::now() > until) { Err(Stopped::Late) } else { Ok(()) }
    }

    /// Does a piece of work, as long as it may take and somebody waits for it.
    pub fn spend<T>(&self, work: impl FnOnce() -> T) -> Result<T, Stopped> {
        if self.is_endless() {
            return Ok(work());
        }
        let outer =
            WATCH.replace(Some(Watch { began: Instant::now(), worked: worked(), patience: self.clone() }));
        let result = catch_unwind(AssertUnwindSafe(work));
        WATCH.set(outer);
        result.or_else(|payload| match payload.downcast::<Stopped>() {
            Ok(stopped) => Err(*stopped),
            Err(panic) => resume_unwind(panic),
        })
    }
}

impl Watch {
    fn stops(&self) -> Option<Stopped> {
        let too_long = || {
            let passed = |most: &Duration| self.began.elapsed() > *most && self.took() >= *most;
            self.patience.per_file.filter(passed)
        };
        self.patience.left().err().or_else(|| too_long().map(Stopped::TooLong))
    }

    fn took(&self) -> Duration {
        let worked = worked().zip(self.worked).map(|(now, then)| now.saturating_sub(then));
        worked.unwrap_or_else(|| self.began.elapsed())
    }
}

/// How long this thread has had a processor, where the system says so: Linux does, in nanoseconds.
fn worked() -> Option<Duration> {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    said.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Asked by what may go on for long, after so much work and at a place where nothing is half written: unwinds where
/// time is over.
pub fn still_wanted(work: usize) {
    WORK.set(WORK.get() + work as u64);
    if WORK.get() > RATION.get() {
        resume_unwind(Box::new(UsedUp));
    }
    let stopped = WATCH.with_borrow(|watch| watch.as_ref().and_then(Watch::stops));
    if let Some(stopped) = stopped {
        // Not a panic: no hook hears of it.
        resume_unwind(Box::new(stopped));
    }
}

/// Does what may take so much work at most; `None` where that was not enough. A count and not a time: the same text ends
/// at the same place on every machine.
pub fn rationed<T>(work: u64, piece: impl FnOnce() -> T) -> Option<T> {
    let outer = RATION.get();
    RATION.set(outer.min(WORK.get() + work));
    let result = catch_unwind(AssertUnwindSafe(piece));
    RATION.set(outer);
    match result {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<UsedUp>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// So many items are looked through at a time, and counted as so much work.
const ITEMS_A_LOOK: usize = 64;
const WORK_A_LOOK: usize = 4;

/// Goes through items, and counts them as work: whoever looks through all there is for each of many is found out.
pub fn counted<I: Iterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut looked = 0;
    items.inspect(move |_| {
        looked += 1;
        if looked % ITEMS_A_LOOK == 0 {
            still_wanted(WORK_A_LOOK);
        }
    })
}

/// The same of items that were gone through at once.
pub fn looked_through(items: usize) {
    if items >= ITEMS_A_LOOK {
        still_wanted(items / ITEMS_A_LOOK * WORK_A_LOOK);
    }
}

/// How much work this thread has done: a measure of how it grows, which no busy machine changes.
pub fn work_done() -> u64 {
    WORK.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_ever() {
        loop {
            still_wanted(1);
        }
    }

    #[test]
    fn work_ends_when_its_time_is_over_or_nobody_waits() {
        let short = Duration::from_millis(5);
        let limit = Patience { per_file: Some(short), ..Patience::default() };
        assert_eq!(limit.spend(for_ever), Err(Stopped::TooLong(short)));
        let late = Patience { until: Some(Instant::now()), ..Patience::default() };
        assert_eq!(late.spend(for_ever), Err(Stopped::Late));
        let cancelled = Some(Arc::new(AtomicBool::new(true)));
        assert_eq!(Patience { cancelled, ..limit }.spend(for_ever), Err(Stopped::Cancelled));
    }

    #[test]
    fn a_ration_ends_at_the_same_count_and_not_what_comes_after() {
        let begins = work_done();
        assert_eq!(rationed(10, for_ever), None::<()>);
        assert_eq!(work_done() - begins, 11);
        assert_eq!(rationed(40, || counted(0..640).count()), Some(640));
        assert_eq!(rationed(39, || counted(0..640).count()), None);
        let begins = work_done();
        assert_eq!(rationed(10, || rationed(100, for_ever)), Some(None::<()>));
        assert_eq!(work_done() - begins, 11);
        still_wanted(1000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn time_in_which_others_have_the_machine_does_not_count() {
        let limit = Patience { per_file: Some(Duration::from_millis(20)), ..Patience::default() };
        let waits = || {
            std::thread::sleep(Duration::from_millis(100));
            still_wanted(1);
        };
        assert_eq!(limit.spend(waits), Ok(()));
    }

    #[test]
    fn a_limit_is_over_with_its_work_and_one_within_counts_first() {
        let long = Patience { per_file: Some(Duration::from_secs(3600)), ..Patience::default() };
        let none = Patience { per_file: Some(Duration::ZERO), ..Patience::default() };
        let within = long.spend(|| none.spend(for_ever).is_err()).unwrap();
        assert!(within);
        still_wanted(1);
        assert_eq!(Patience::default().spend(|| 7), Ok(7));
    }
}
