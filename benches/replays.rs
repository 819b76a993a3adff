//! How fast the CPU backend replays, on one thread: samples a second of an expression with its gradient, beside the
//! same arithmetic compiled as a loop over numbers that are there already, and beside the drawing of the numbers
//! alone. `replays SAMPLES` prints one line of JSON.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of its own, at the edge: it measures and prints"
)]

use serde_json::{Value, json};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trainlint::replay::plan::{self, Work};
use trainlint::replay::run::{self, Cpu};
use trainlint::replay::sample::Sampler;

/// The mean of the squared differences of two rows of four numbers.
const NODES: &str = r#"[["input", 0], ["input", 1], ["sub", 0, 1], ["mul", 2, 2], ["mean", 3]]"#;
const WIDTH: usize = 4;
/// So many samples fit into the fastest cache.
const RESIDENT: usize = 256;

fn plan_of(samples: u64) -> Vec<u8> {
    let input = |name: &str, learned: bool| {
        json!({ "name": name, "form": "many", "learned": learned,
                "low": "0xfff0000000000000", "high": "0x7ff0000000000000" })
    };
    let nodes: Value = serde_json::from_str(NODES).unwrap_or_default();
    let expr = json!({ "dtype": "float32", "framework": "torch", "width": WIDTH, "samples": samples,
                       "inputs": [input("a", true), input("b", false)], "nodes": nodes });
    let at = json!({ "path": "train.py", "line": 1, "column": 1 });
    let item = json!({ "rule": "unsafe-root", "at": at, "message": "", "expr": expr });
    let limits = json!({ "item_seconds": 600, "total_seconds": 600 });
    let plan = json!({ "schema": "trainlint-replay/1", "tool": "replays", "seed": 7, "limits": limits, "items": [item] });
    plan.to_string().into_bytes()
}

/// The same forward and gradient as the compiler makes them, so often.
fn compiled(rounds: u64) -> f32 {
    let row =
        |by: usize| -> Vec<f32> { (0..RESIDENT * WIDTH).map(|at| (at * by % 17) as f32 / 8.0).collect() };
    let (a, b) = (row(3), row(5));
    let mut gradient = vec![0.0_f32; RESIDENT * WIDTH];
    let mut sum = 0.0;
    for _ in 0..rounds {
        let (a, b) = (black_box(&a), black_box(&b));
        for sample in 0..RESIDENT {
            let mut loss = 0.0;
            for at in sample * WIDTH..(sample + 1) * WIDTH {
                let difference = a[at] - b[at];
                loss += difference * difference;
                gradient[at] = 2.0 * difference / WIDTH as f32;
            }
            sum += loss / WIDTH as f32;
        }
        black_box(&mut gradient);
    }
    sum
}

/// Millions of samples in a second.
fn rate(samples: u64, took: Duration) -> f64 {
    samples as f64 / took.as_secs_f64() / 1e6
}

fn main() -> ExitCode {
    let samples: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1 << 20);
    let plan = match plan::read(&plan_of(samples)) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let Some(Work::Expr(expr)) = plan.items.first().map(|item| &item.work) else { return ExitCode::FAILURE };
    let Ok(one) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return ExitCode::FAILURE };

    let start = Instant::now();
    let deadline = start + Duration::from_secs(600);
    one.install(|| black_box(run::run(&plan.items[0], plan.seed, deadline, &mut Cpu)));
    let replayed = rate(samples, start.elapsed());

    let sampler = Sampler::new(plan.seed, &expr.program.inputs);
    let start = Instant::now();
    for sample in 0..samples {
        let mode = sampler.mode(sample);
        for input in 0..2 {
            (0..WIDTH).for_each(|place| {
                black_box(sampler.draw(sample, mode, input, place));
            });
        }
    }
    let drawn = rate(samples, start.elapsed());

    let rounds = samples.div_ceil(RESIDENT as u64) * 16;
    let start = Instant::now();
    black_box(compiled(rounds));
    let limit = rate(rounds * RESIDENT as u64, start.elapsed());

    let share = 100.0 * replayed / limit;
    println!(
        "{}",
        json!({ "samples": samples, "replayed": replayed, "drawn": drawn, "compiled": limit, "share": share })
    );
    ExitCode::SUCCESS
}
