//! A plan runs in a process of its own, one item after the other. An item that hangs, crashes or eats the memory
//! costs its own verdict only: the process is ended, and another one goes on with the next item.

use super::outcome::Outcome;
use super::plan::{Item, Plan};
use super::run::{Backend, Judged, run};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// An item that looks at the clock itself ends within its limit; one that does not is ended so much later.
const GRACE: Duration = Duration::from_secs(2);
/// A backend may take so long to get ready: drivers load code for their GPU the first time.
pub const START: Duration = Duration::from_secs(30);

/// What the process says on its stdout, a line each.
#[derive(Debug, Deserialize, Serialize)]
enum Said {
    Started(usize),
    Done(Box<Outcome>),
    /// The backend is of no use any more: another process has to go on.
    Lost,
}

/// The part of the process: runs the items of a plan from `first` on, and tells what came out.
pub fn work(plan: &Plan, first: usize, backend: &mut dyn Backend, out: &mut dyn Write) -> io::Result<()> {
    for (index, item) in plan.items.iter().enumerate().skip(first) {
        tell(out, &Said::Started(index))?;
        let deadline = Instant::now() + Duration::from_secs_f64(plan.limits.item_seconds);
        let ran = run(item, plan.seed, deadline, backend);
        tell(out, &Said::Done(Box::new(ran.outcome)))?;
        if ran.lost {
            return tell(out, &Said::Lost);
        }
    }
    Ok(())
}

/// What a process says on its stdout before it ends, if it does so in time.
pub fn answer(mut command: Command) -> io::Result<Option<Vec<u8>>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (sender, bytes) = channel();
    if let Some(mut stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.read_to_end(&mut bytes).map(|_| bytes);
            // Nobody listens after the time is up.
            let _ = sender.send(read);
        });
    }
    let said = bytes.recv_timeout(START).ok().and_then(Result::ok);
    let _ = child.kill();
    let _ = child.wait();
    Ok(said)
}

fn tell(out: &mut dyn Write, said: &Said) -> io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Runs a plan in processes that `command` makes: each is told the first item of those left, and reads the
/// plan's bytes from its stdin. Before its first item it may take a while beyond the limits. `done` is called for
/// each item that has an outcome.
pub fn supervise(
    plan: &Plan,
    bytes: &[u8],
    patience: Duration,
    command: impl Fn(usize) -> io::Result<Command>,
    done: &dyn Fn(),
) -> io::Result<Vec<Outcome>> {
    let end = Instant::now() + Duration::from_secs_f64(plan.limits.total_seconds);
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(plan.items.len());
    while outcomes.len() < plan.items.len() {
        if Instant::now() >= end {
            let left = plan.items[outcomes.len()..].iter();
            let late = |item: &Item| Judged::inconclusive("no time was left for it").of(item, 0.0);
            outcomes.extend(left.map(late));
            break;
        }
        let worker = Worker::start(command(outcomes.len())?, bytes)?;
        worker.follow(plan, end, patience, &mut outcomes, done);
    }
    Ok(outcomes)
}

struct Worker {
    child: Child,
    lines: Receiver<Said>,
}

impl Worker {
    fn start(mut command: Command, bytes: &[u8]) -> io::Result<Worker> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let bytes = bytes.to_vec();
            // A process that ends early does not read on, which its exit tells.
            thread::spawn(move || stdin.write_all(&bytes));
        }
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let Ok(said) = serde_json::from_str(&line) else { break };
                    if sender.send(said).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Worker { child, lines })
    }

    /// Takes what the process gives until it is through, or has to be ended; then the item that it was at has an
    /// outcome, too.
    fn follow(
        mut self,
        plan: &Plan,
        end: Instant,
        patience: Duration,
        outcomes: &mut Vec<Outcome>,
        done: &dyn Fn(),
    ) {
        let limit = Duration::from_secs_f64(plan.limits.item_seconds) + GRACE;
        let mut since = Instant::now();
        let mut allowed = limit + patience;
        while outcomes.len() < plan.items.len() {
            let until = end.min(since + allowed);
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Said::Started(_)) => {
                    since = Instant::now();
                    allowed = limit;
                }
                Ok(Said::Done(outcome)) => {
                    outcomes.push(*outcome);
                    done();
                    since = Instant::now();
                }
                Ok(Said::Lost) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let spent = since.elapsed().as_secs_f64();
                    let reason = format!("ended after {spent:.1} s without a result");
                    outcomes.push(self.lost(plan, outcomes.len(), spent, reason));
                    done();
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let spent = since.elapsed().as_secs_f64();
                    let status = self.child.wait().ok();
                    let reason = format!("its process ended with {}", describe(status));
                    outcomes.push(self.lost(plan, outcomes.len(), spent, reason));
                    done();
                    return;
                }
            }
        }
        // It has nothing more to do, or can do nothing more.
        self.end();
    }

    fn lost(&mut self, plan: &Plan, index: usize, seconds: f64, reason: String) -> Outcome {
        self.end();
        Judged::inconclusive(reason).of(&plan.items[index], seconds)
    }

    /// Ends the process, whatever it is at; one that has ended already is as good.
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn describe(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "no status".to_owned(), |status| status.to_string())
}
