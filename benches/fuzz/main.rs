//! Feeds trainlint what nobody wrote, on a stable toolchain: `fuzz [--seconds N] [--seed N] [--target NAME]`. The
//! targets are those of `fuzz/`, where cargo-fuzz steers by coverage; here seeds are edited at random, and scripts
//! are generated. Each target runs in a process of its own, which writes down the case that it is at, so that an
//! abort is traced, too; `--from N --cases 1` runs it again. `--write-seeds FOLDER` writes corpora for cargo-fuzz.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of its own, at the edge: it reads and prints"
)]
#![allow(unreachable_pub, reason = "shared with the targets of cargo-fuzz")]

mod generate;
mod mutate;
mod seeds;
mod targets;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A case that takes longer hangs. Without optimisation all takes far longer.
const HANGS: u64 = if cfg!(debug_assertions) { 120 } else { 10 };

struct Options {
    seconds: u64,
    seed: u64,
    from: u64,
    cases: u64,
    target: Option<String>,
    write_seeds: Option<PathBuf>,
    child: bool,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 60,
        seed: 1,
        from: 0,
        cases: u64::MAX,
        target: None,
        write_seeds: None,
        child: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--child" {
            options.child = true;
            continue;
        }
        let value = args.next()?;
        match arg.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--from" => options.from = value.parse().ok()?,
            "--cases" => options.cases = value.parse().ok()?,
            "--target" => options.target = Some(value),
            "--write-seeds" => options.write_seeds = Some(value.into()),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: fuzz [--seconds N] [--seed N] [--target NAME] [--from N] [--cases N] [--write-seeds FOLDER]"
        );
        return ExitCode::from(2);
    };
    if let Some(folder) = &options.write_seeds {
        seeds::write(folder);
        return ExitCode::SUCCESS;
    }
    let is_meant = |target: &&Target| options.target.as_deref().is_none_or(|name| name == target.name);
    let meant: Vec<&Target> = TARGETS.iter().filter(is_meant).collect();
    let good = match (options.child, &meant[..]) {
        (true, [target]) => run(&options, target),
        (true, _) => false,
        (false, targets) => {
            let share = (options.seconds / targets.len().max(1) as u64).max(1);
            targets
                .iter()
                .fold(!targets.is_empty(), |good, target| supervise(&options, target, share) && good)
        }
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where a child writes down at which case it is.
fn progress(target: &Target) -> PathBuf {
    std::env::temp_dir().join(format!("trainlint-fuzz-{}", target.name))
}

fn supervise(options: &Options, target: &Target, seconds: u64) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let mut command = Command::new(program);
    command.arg("--child").args(["--target", target.name]);
    for (flag, value) in [
        ("--seconds", seconds),
        ("--seed", options.seed),
        ("--from", options.from),
        ("--cases", options.cases),
    ] {
        command.arg(flag).arg(value.to_string());
    }
    let good = command.status().is_ok_and(|status| status.success());
    if !good {
        let at = std::fs::read(progress(target)).unwrap_or_default();
        let at = at.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        println!("{}: FAILED: --target {0} --seed {} --from {at} --cases 1", target.name, options.seed);
    }
    good
}

/// Cases until time is over; the workers that analyse files have as much stack as this.
fn run(options: &Options, target: &'static Target) -> bool {
    let (seed, from, cases) = (options.seed, options.from, options.cases);
    let most = Duration::from_secs(options.seconds);
    let work = move || attack(target, seed, from, cases, most);
    let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(work);
    worker.is_ok_and(|worker| worker.join().unwrap_or(false))
}

fn attack(target: &'static Target, seed: u64, from: u64, cases: u64, most: Duration) -> bool {
    std::panic::set_hook(Box::new(|_| {}));
    let seeds = seeds::of(target.name);
    let file = File::create(progress(target)).unwrap();
    let under_way = watched(target.name);
    let (start, mut number, mut worst) = (Instant::now(), from, (Duration::ZERO, from));
    while start.elapsed() < most && number - from < cases {
        file.write_all_at(&number.to_le_bytes(), 0).unwrap();
        let input = mutate::case(&seeds, target.words, seed, number);
        let began = Instant::now();
        under_way.store(start.elapsed().as_secs() + 1, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        under_way.store(0, Ordering::Relaxed);
        worst = worst.max((began.elapsed(), number));
        if let Err(payload) = outcome {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            println!("{}: case {number} panics: {}", target.name, text.unwrap_or_default());
            println!("{}", String::from_utf8_lossy(&input).escape_debug());
            return false;
        }
        number += 1;
    }
    let (took, at) = worst;
    println!(
        "{}: {} cases, the slowest ({at}) {:.0} ms",
        target.name,
        number - from,
        took.as_secs_f64() * 1e3
    );
    true
}

/// When the case that is under way began; a thread ends the process where one does not come back.
fn watched(name: &'static str) -> &'static AtomicU64 {
    static UNDER_WAY: AtomicU64 = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let began = UNDER_WAY.load(Ordering::Relaxed);
            if began > 0 && start.elapsed().as_secs() > began + HANGS {
                println!("{name}: hangs");
                std::process::exit(1);
            }
        }
    });
    &UNDER_WAY
}
