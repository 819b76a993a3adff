//! Plans of strangers: whatever is in them, reading and running them neither panics nor goes on for ever. Plans are
//! changed at random, the same way each time: bytes of the text, values anywhere in the JSON, and whole programs.
//!
//! `cargo test --release --test it plans -- --ignored --nocapture` goes on for as many seconds as `SECONDS` says.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trainlint::replay::html;
use trainlint::replay::outcome::{Device, Results, SCHEMA};
use trainlint::replay::plan::{self, Plan, Work};
use trainlint::replay::run::{Cpu, run};
use trainlint::replay::sample::philox;
use trainlint::replay::text;
use trainlint::report::replay::{Call, Function};

/// Texts of numbers in bits, and names, which mean something in places.
const TEXTS: [&str; 24] = [
    "0x7ff8000000000000",
    "0x7ff0000000000000",
    "0xfff0000000000000",
    "0x8000000000000000",
    "0x0000000000000001",
    "0x7fefffffffffffff",
    "0x3ff0000000000000",
    "0x41cdcd6500000000",
    "0x",
    "",
    "one",
    "many",
    "float16",
    "bfloat16",
    "float64",
    "jax",
    "tensorflow",
    "sgd",
    "rmsprop",
    "cut",
    "unowned",
    "freed",
    "squares",
    "\u{1b}[2J\0<script>",
];

const SEEDS: [&str; 3] = [
    r#"{ "schema": "trainlint-replay/1", "tool": "by hand", "seed": 7,
      "limits": { "item_seconds": 1, "total_seconds": 120 },
      "sources": [ { "path": "train.py", "sha256": "00ff" } ],
      "items": [ { "rule": "unsafe-log", "at": { "path": "train.py", "line": 9, "column": 5 }, "message": "zero",
        "expr": { "dtype": "float32", "framework": "torch", "width": 4, "samples": 2000,
          "inputs": [
            { "name": "p", "form": "many", "low": "0x0000000000000000", "high": "0x3ff0000000000000", "learned": true },
            { "name": "y", "form": "one", "low": "0x0000000000000000", "high": "0x3ff0000000000000", "whole": true, "learned": false } ],
          "nodes": [ ["input", 0], ["log", 0], ["input", 1], ["mul", 1, 2], ["mean", 3] ],
          "spots": { "1": { "path": "train.py", "line": 9, "column": 9, "text": "torch.log(p)" } },
          "repaired": [ ["input", 0], ["number", "0x3eb0c6f7a0b5ed8d"], ["clamp-min", 0, 1], ["log", 2], ["mean", 3] ] } } ] }"#,
    r#"{ "schema": "trainlint-replay/1", "tool": "by hand", "seed": 7,
      "items": [ { "rule": "missing-zero-grad", "at": { "path": "train.py", "line": 7, "column": 5 }, "message": "again",
        "step": { "optimizer": "sgd", "learning_rate": "0x3f847ae147ae147b", "momentum": "0x3feccccccccccccd", "weight_decay": "0x3f847ae147ae147b",
          "script": { "round": [["backward", 1], ["clip", 1], ["step", 4], ["schedule", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"],
            "divisor": 4, "elements": 1, "modes": { "dropout": "0x3fe0000000000000", "learns_in_training": true, "evaluated_in_training": false } },
          "repaired": { "round": [["clear", 1], ["backward", 1], ["step", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] } } } ] }"#,
    r#"{ "schema": "trainlint-replay/1", "tool": "by hand", "seed": 18446744073709551615,
      "items": [
        { "rule": "large", "at": { "path": "train.py", "line": 7, "column": 5 }, "message": "all",
          "memory": { "what": "the dataset", "least": 200000000000, "each_step": 4096, "steps": 100000, "samples": 64, "wasted": false, "capacity": 80000000000, "card": "a100-80g" } },
        { "rule": "softmax", "at": { "path": "train.py", "line": 8, "column": 5 }, "message": "twice",
          "step": {
            "script": { "round": [["clear", 1], ["scaled-backward", 1], ["unscale", 1], ["scaled-step", 1], ["update", 1]], "layers": ["learns", "cut", "unowned"],
              "loss": { "classes": { "framework": "torch", "form": "many", "nodes": [["input", 0], ["softmax", 0], ["input", 1], ["cross-entropy", 1, 2]] } } },
            "repaired": { "round": [["clear", 1], ["backward", 1], ["step", 1], ["build", 3]], "layers": ["learns", "learns", "learns"], "carries": "kept",
              "loss": { "classes": { "framework": "torch", "form": "many", "nodes": [["input", 0], ["input", 1], ["cross-entropy", 0, 1]] } } } } } ] }"#,
];

/// What is drawn, by a number and how many were drawn before.
struct Dice {
    number: u32,
    drawn: u32,
}

impl Dice {
    fn word(&mut self) -> u64 {
        self.drawn += 1;
        let random = philox([11, 13], [self.number, self.drawn, 0, 0]);
        u64::from(random[0]) << 32 | u64::from(random[1])
    }

    fn below(&mut self, count: usize) -> usize {
        (self.word() % count.max(1) as u64) as usize
    }
}

fn bytes(dice: &mut Dice, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len());
        let end = (at + dice.below(60)).min(bytes.len());
        match dice.below(4) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, b"[]{}\",:0-e.\\\xff"[dice.below(13)]),
            _ => {
                let copy = bytes[at..end].to_vec();
                let into = dice.below(bytes.len());
                bytes.splice(into..into, copy);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn number(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => json!(0),
        1 => json!(1),
        2 => json!(dice.below(300)),
        3 => json!(1_u64 << 32),
        4 => json!((1_u64 << 32) - 1),
        5 => json!(1_u64 << 63),
        6 => json!(u64::MAX),
        7 => json!(-1),
        8 => json!(f64::MAX),
        _ => json!(0.5),
    }
}

fn text_of(dice: &mut Dice) -> Value {
    match dice.below(3) {
        0 => json!(Function::ALL[dice.below(Function::ALL.len())].name()),
        1 => json!(format!("{:#018x}", dice.word())),
        _ => json!(TEXTS[dice.below(TEXTS.len())]),
    }
}

/// A valid program of random functions, as long as one may be, or a little longer.
fn program(dice: &mut Dice) -> Value {
    let mut nodes = vec![json!(["input", 0]), json!(["input", 1]), json!(["number", "0x3f50624dd2f1a9fc"])];
    let length = [4, 12, 60, 255, 257][dice.below(5)];
    while nodes.len() < length {
        let function = Function::ALL[dice.below(Function::ALL.len())];
        // Most of what was there a moment ago, so that functions stand in each other.
        let near = 1 + dice.below(nodes.len().min(8));
        let mut node = vec![json!(function.name())];
        node.extend((0..function.arity()).map(|_| json!(nodes.len() - 1 - dice.below(near))));
        nodes.push(Value::Array(node));
    }
    Value::Array(nodes)
}

fn round(dice: &mut Dice) -> Value {
    let count = [1, 5, 40, 256, 257][dice.below(5)];
    let mut act = || {
        let every = [1, 1, 2, 65_536][dice.below(4)];
        json!([Call::ALL[dice.below(Call::ALL.len())].name(), every])
    };
    (0..count).map(|_| act()).collect()
}

/// Every value below this one, by the way to it.
fn ways(value: &Value, way: &str, found: &mut Vec<String>) {
    found.push(way.to_owned());
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, one)| ways(one, &format!("{way}/{at}"), found));
        }
        Value::Object(map) => map.iter().for_each(|(key, one)| ways(one, &format!("{way}/{key}"), found)),
        _ => {}
    }
}

/// What may stand there, by the name of the place; sizes from the least to more than is allowed.
fn fitting(dice: &mut Dice, place: &str, value: &Value) -> Option<Value> {
    let one_of = |dice: &mut Dice, all: &[&str]| Some(json!(all[dice.below(all.len())]));
    match place {
        "nodes" | "repaired" if value.is_array() => Some(program(dice)),
        "round" => Some(round(dice)),
        "form" => one_of(dice, &["one", "many"]),
        "dtype" => one_of(dice, &["float16", "bfloat16", "float32", "float64"]),
        "framework" => one_of(dice, &["torch", "tensorflow", "jax"]),
        "optimizer" => one_of(dice, &["sgd", "adam", "adamw", "rmsprop"]),
        "low" | "high" | "learning_rate" | "momentum" | "weight_decay" | "dropout" => {
            one_of(dice, &TEXTS[..8])
        }
        "layers" => Some((0..3).map(|_| json!(["learns", "cut", "unowned"][dice.below(3)])).collect()),
        "carries" => one_of(dice, &["freed", "kept", "held"]),
        "loss" => one_of(dice, &["squares", "all-pairs"]),
        "width" => Some(json!([1, 2, 16, 17][dice.below(4)])),
        "samples" | "divisor" | "elements" | "least" | "steps" | "each_step" | "capacity" | "seed" => {
            Some(json!([0, 1, 3, 65_536, 1 << 32, u64::MAX][dice.below(6)]))
        }
        _ => None,
    }
}

fn change(dice: &mut Dice, plan: &mut Value) {
    let mut all = Vec::new();
    ways(plan, "", &mut all);
    let wild = dice.below(4) == 0;
    if !wild {
        all.retain(|way| plan.pointer(way).is_some_and(|value| fitting(dice, place(way), value).is_some()));
    }
    if all.is_empty() {
        return;
    }
    let way = &all[dice.below(all.len())];
    let Some(value) = plan.pointer_mut(way) else { return };
    match fitting(dice, place(way), value).filter(|_| !wild) {
        Some(made) => *value = made,
        None => break_off(dice, value),
    }
}

fn place(way: &str) -> &str {
    way.rsplit('/').next().unwrap_or_default()
}

/// Something else in its place, or more, or less.
fn break_off(dice: &mut Dice, value: &mut Value) {
    match (&mut *value, dice.below(6)) {
        (Value::Array(list), 0..3) if !list.is_empty() => {
            let one = list[dice.below(list.len())].clone();
            let times = [1, 2, 300][dice.below(3)];
            list.extend(std::iter::repeat_n(one, times));
        }
        (Value::Array(list), 3) if !list.is_empty() => drop(list.remove(dice.below(list.len()))),
        (Value::Object(map), 0..4) if !map.is_empty() => {
            let keys: Vec<String> = map.keys().cloned().collect();
            map.remove(&keys[dice.below(keys.len())]);
        }
        (Value::Number(_), 0..4) => *value = number(dice),
        (Value::String(_), 0..4) => *value = text_of(dice),
        (Value::Bool(flag), _) => *flag = !*flag,
        (_, 4) => *value = Value::Null,
        _ => *value = if dice.below(2) == 0 { number(dice) } else { text_of(dice) },
    }
}

fn mutated(number: u32) -> Vec<u8> {
    let mut dice = Dice { number, drawn: 0 };
    let seed = SEEDS[dice.below(SEEDS.len())];
    if dice.below(8) == 0 {
        return bytes(&mut dice, seed);
    }
    let mut plan: Value = serde_json::from_str(seed).unwrap();
    for _ in 0..1 + dice.below(3) {
        change(&mut dice, &mut plan);
    }
    plan.to_string().into_bytes()
}

/// What is spent on the items of one plan, and how much more may pass before one says that it hangs.
struct Patience {
    item: Duration,
    beyond: Duration,
}

/// Reads a plan, and runs what is accepted; gives how many items were run.
fn survive(number: u32, patience: &Patience) -> usize {
    let bytes = mutated(number);
    let start = Instant::now();
    let read = plan::read(&bytes);
    assert!(start.elapsed() < patience.beyond, "plan {number} was read for {:?}", start.elapsed());
    let Ok(plan) = read else { return 0 };
    // What is accepted comes back from a file as it is.
    assert_eq!(plan::read(&plan::write(&plan)).as_ref(), Ok(&plan), "plan {number}");
    let items: Vec<_> = plan
        .items
        .iter()
        .take(4)
        .map(|item| {
            let start = Instant::now();
            let ran = run(item, plan.seed, start + patience.item, &mut Cpu);
            let kind = match item.work {
                Work::Expr(_) => "expr",
                Work::Step(_) => "step",
                Work::Memory(_) => "memory",
            };
            let took = start.elapsed();
            assert!(took < patience.item + patience.beyond, "plan {number}: its {kind} took {took:?}");
            ran.outcome
        })
        .collect();
    let count = items.len();
    show(number, &plan, items);
    count
}

/// What came out can be written, read and shown, and commands no terminal.
fn show(number: u32, plan: &Plan, items: Vec<trainlint::replay::outcome::Outcome>) {
    let results = Results {
        schema: SCHEMA.to_owned(),
        tool: String::new(),
        plan: String::new(),
        seed: plan.seed,
        device: Device { backend: "cpu".to_owned(), name: "the CPU".to_owned() },
        seconds: 0.0,
        items,
    };
    let json = serde_json::to_string(&results).unwrap();
    serde_json::from_str::<Results>(&json).unwrap_or_else(|error| panic!("plan {number}: {error} in {json}"));
    assert!(!text::text(&results, false).contains('\u{1b}'), "plan {number}");
    assert!(!html::page(&results).contains("<script>"), "plan {number}");
}

#[test]
fn changed_plans_are_refused_or_run() {
    let patience = Patience { item: Duration::from_millis(20), beyond: Duration::from_secs(60) };
    let ran: usize = (0..400).map(|number| survive(number, &patience)).sum();
    assert!(ran > 100, "only {ran} items were run: most plans are refused");
}

#[test]
#[ignore = "as long as `SECONDS` says"]
fn changed_plans_are_refused_or_run_for_long() {
    let seconds = std::env::var("SECONDS").ok().and_then(|told| told.parse().ok()).unwrap_or(60);
    let end = Instant::now() + Duration::from_secs(seconds);
    let patience = Patience { item: Duration::from_millis(200), beyond: Duration::from_secs(20) };
    let (mut ran, mut number) = (0, 1_000);
    while Instant::now() < end {
        ran += survive(number, &patience);
        number += 1;
    }
    println!("{} plans, of which {ran} items were run, in {seconds} s", number - 1_000);
}
