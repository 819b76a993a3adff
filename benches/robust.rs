//! Feeds trainlint broken files: every prefix of real ones, and random edits of them.
//! `robust [--files N] [--step N] [--edits N] [--seed N] [--max-bytes N] [--slow-ms N] PATHS`
//! runs one child process a file, so that an abort or a stack overflow costs one file and is
//! traced to its case; panics are caught and named. Exits 1 if anything failed or was slow.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of its own, at the edge: it reads and prints"
)]

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trainlint::engine::{self, Request, configs::Origin};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The seam: whatever trainlint does with one text, as if it came through a pipe. Nothing else here
/// knows the library. A panic inside a rehearsal is caught there, so it is raised again.
fn analyse_text(path: &Path, text: &str) -> usize {
    let request = Request {
        cwd: path.parent().unwrap_or(Path::new("/")).to_path_buf(),
        stdin: Some((path.to_path_buf(), text.as_bytes().to_vec())),
        origin: Origin::Isolated,
        threads: 1,
        ..Request::default()
    };
    match engine::check(&request, &engine::Silent) {
        Ok(outcome) => {
            match outcome.problems.iter().find(|problem| problem.message.contains("internal error")) {
                Some(problem) => panic!("{}", problem.message),
                None => outcome.findings.len(),
            }
        }
        Err(error) => panic!("no run: {error}"),
    }
}

#[derive(Clone)]
struct Options {
    files: usize,
    step: usize,
    edits: usize,
    seed: u64,
    max_bytes: u64,
    slow: Duration,
    hang: Duration,
    child: bool,
    trace: bool,
    paths: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: robust [--files N] [--step N] [--edits N] [--seed N] [--max-bytes N] [--slow-ms N] \
             [--hang-s N] PATHS"
        );
        return ExitCode::from(2);
    };
    let good = if options.child { attack_on_a_small_stack(options) } else { supervise(&options) };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Option<Options> {
    let mut options = Options {
        files: 50,
        step: 1,
        edits: 10_000,
        seed: 1,
        max_bytes: 16 << 10,
        slow: Duration::from_millis(250),
        hang: Duration::from_secs(10),
        child: false,
        trace: false,
        paths: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next()?.parse::<u64>().ok();
        match arg.as_str() {
            "--files" => options.files = number()? as usize,
            "--step" => options.step = (number()? as usize).max(1),
            "--edits" => options.edits = number()? as usize,
            "--seed" => options.seed = number()?,
            "--max-bytes" => options.max_bytes = number()?,
            "--slow-ms" => options.slow = Duration::from_millis(number()?),
            "--hang-s" => options.hang = Duration::from_secs(number()?),
            "--child" => options.child = true,
            "--trace" => options.trace = true,
            _ if arg.starts_with("--") => return None,
            _ => options.paths.push(PathBuf::from(arg)),
        }
    }
    (!options.paths.is_empty()).then_some(options)
}

/// Runs a child a file and gathers what they print; the edits are shared out evenly.
fn supervise(options: &Options) -> bool {
    let files = chosen(options);
    let share = options.edits.div_ceil(files.len().max(1));
    let mut good = !files.is_empty();
    for (number, file) in files.iter().enumerate() {
        print!("[{}/{}] {} ", number + 1, files.len(), file.display());
        let _ = std::io::stdout().flush();
        if run_child(options, file, share, false) {
            continue;
        }
        good = false;
        println!("  failed; the case that was under way:");
        run_child(options, file, share, true);
    }
    println!("{} files, {}", files.len(), if good { "nothing failed" } else { "FAILED" });
    good
}

/// With `trace` the child names every case before it runs it, and the last name is printed.
fn run_child(options: &Options, file: &Path, edits: usize, trace: bool) -> bool {
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    let mut command = Command::new(program);
    command.arg("--child").arg("--step").arg(options.step.to_string());
    command.arg("--edits").arg(edits.to_string()).arg("--seed").arg(options.seed.to_string());
    command.arg("--slow-ms").arg(options.slow.as_millis().to_string());
    command.arg("--hang-s").arg(options.hang.as_secs().to_string());
    if trace {
        command.arg("--trace").stderr(Stdio::piped());
    }
    let Ok(child) = command.arg(file).spawn() else {
        return false;
    };
    if trace { last_case(child) } else { finish(child) }
}

fn finish(mut child: Child) -> bool {
    child.wait().is_ok_and(|status| {
        if status.code().is_none() {
            println!("  killed by a signal: {status}");
        }
        status.success()
    })
}

fn last_case(child: Child) -> bool {
    let Ok(output) = child.wait_with_output() else {
        return false;
    };
    let log = String::from_utf8_lossy(&output.stderr);
    let case = log.lines().rev().find(|line| line.starts_with("case "));
    println!("  {}", case.unwrap_or("before the first case"));
    output.status.success()
}

/// Spread over the tree, so that one package cannot fill the sample.
fn chosen(options: &Options) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &options.paths {
        for entry in ignore::WalkBuilder::new(path).standard_filters(false).build().flatten() {
            let fits = entry
                .metadata()
                .is_ok_and(|data| data.is_file() && (200..=options.max_bytes).contains(&data.len()));
            if fits && entry.path().extension().is_some_and(|extension| extension == "py") {
                files.push(entry.into_path());
            }
        }
    }
    files.sort();
    let stride = files.len().div_ceil(options.files.max(1)).max(1);
    files.into_iter().step_by(stride).collect()
}

/// What one file went through.
struct Attack<'a> {
    options: &'a Options,
    path: &'a Path,
    under_way: UnderWay,
    cases: usize,
    panics: usize,
    slow: usize,
    worst: Duration,
    worst_case: String,
    total: Duration,
}

/// The workers that analyse files have 2 MiB of stack, so the attack has no more.
fn attack_on_a_small_stack(options: Options) -> bool {
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || attack(&options));
    worker.is_ok_and(|worker| worker.join().unwrap_or(false))
}

fn attack(options: &Options) -> bool {
    let Some(path) = options.paths.first() else {
        return false;
    };
    let Ok(bytes) = std::fs::read(path) else {
        println!("unreadable");
        return true;
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    std::panic::set_hook(Box::new(|_| {}));
    let mut attack = Attack {
        options,
        path,
        under_way: UnderWay::default(),
        cases: 0,
        panics: 0,
        slow: 0,
        worst: Duration::ZERO,
        worst_case: String::new(),
        total: Duration::ZERO,
    };
    attack.under_way.watch(options.hang);
    attack.one("whole file", &text);
    attack.prefixes(&text);
    attack.edits(&text);
    println!(
        "{} cases, {:.1} s, slowest {:.1} ms ({}), {} slow, {} panics",
        attack.cases,
        attack.total.as_secs_f64(),
        attack.worst.as_secs_f64() * 1e3,
        attack.worst_case,
        attack.slow,
        attack.panics
    );
    attack.panics == 0 && attack.slow == 0
}

impl Attack<'_> {
    fn one(&mut self, name: &str, text: &str) {
        if self.options.trace {
            eprintln!("case {name}");
        }
        let start = Instant::now();
        self.under_way.set(Some((name.to_owned(), start)));
        let outcome = catch_unwind(AssertUnwindSafe(|| analyse_text(self.path, text)));
        let took = start.elapsed();
        self.under_way.set(None);
        self.cases += 1;
        self.total += took;
        if took > self.worst {
            self.worst = took;
            self.worst_case = name.to_owned();
        }
        if took > self.options.slow {
            self.slow += 1;
            println!("  slow: {name}: {:.0} ms", took.as_secs_f64() * 1e3);
        }
        if let Err(payload) = outcome {
            self.panics += 1;
            println!("  panic: {name}: {}", message(&*payload));
        }
    }

    fn prefixes(&mut self, text: &str) {
        for (count, (at, _)) in text.char_indices().enumerate() {
            if count % self.options.step == 0 {
                self.one(&format!("prefix of {at} bytes"), &text[..at]);
            }
        }
    }

    /// A case is named by its seed alone: the same seed makes the same edits again.
    fn edits(&mut self, text: &str) {
        for number in 0..self.options.edits {
            let seed = self.options.seed.wrapping_add(number as u64);
            let edited = edited(text, seed);
            self.one(&format!("edit with seed {seed}"), &edited);
        }
    }
}

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The case that is under way and when it began, for the thread that watches over it.
#[derive(Clone, Default)]
struct UnderWay(Arc<Mutex<Option<(String, Instant)>>>);

impl UnderWay {
    fn set(&self, case: Option<(String, Instant)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = case;
    }

    /// Ends the process when a case does not come back: nothing can stop a thread.
    fn watch(&self, limit: Duration) {
        let case = Arc::clone(&self.0);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let case = case.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((name, start)) = &*case
                    && start.elapsed() > limit
                {
                    println!("  hangs: {name}");
                    std::process::exit(1);
                }
            }
        });
    }
}

/// Bits of Python that are likely to send an analysis somewhere new.
const PIECES: [&str; 32] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "\"\"\"",
    "'",
    "\\\n",
    "\n",
    "\t",
    "    ",
    "*",
    "**",
    "@",
    "lambda: ",
    "def f(self, x):\n",
    "class A(A):\n",
    "for i in x:\n",
    "with x as y:\n",
    "return ",
    "yield ",
    "await ",
    "self.self = self\n",
    "x = x\n",
    "1e999",
    "0x",
    "\u{feff}",
    "é𝒳",
];

fn edited(text: &str, seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        edit(&mut chars, &mut random);
    }
    chars.into_iter().collect()
}

fn edit(chars: &mut Vec<char>, random: &mut Random) {
    let at = random.below(chars.len() + 1);
    let length = 1 + random.below(60);
    let end = (at + length).min(chars.len());
    match random.below(6) {
        0 | 1 => drop(chars.drain(at..end)),
        2 | 3 => drop(chars.splice(at..at, PIECES[random.below(PIECES.len())].chars())),
        4 => {
            let copy: Vec<char> = chars[at..end].to_vec();
            let to = random.below(chars.len() + 1);
            drop(chars.splice(to..to, copy));
        }
        _ => drop_line(chars, at),
    }
}

/// A missing line is what half-typed code looks like most often.
fn drop_line(chars: &mut Vec<char>, at: usize) {
    let start = chars[..at].iter().rposition(|&char| char == '\n').map_or(0, |newline| newline + 1);
    let end = chars[at..].iter().position(|&char| char == '\n').map_or(chars.len(), |length| at + length);
    chars.drain(start..end);
}

/// xorshift64: all that is asked of it is that a seed gives the same edits everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
