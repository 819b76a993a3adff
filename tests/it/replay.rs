//! Plans from file to verdict, through the program itself.

use crate::findings::root;
use crate::harness::{Project, Ran};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};
use trainlint::checks::{self, Replayed, Rule};
use trainlint::replay::outcome::Verdict;
use trainlint::replay::{plan, process, run};

const PLAN: &str = r#"{
  "schema": "trainlint-replay/1", "tool": "by hand", "seed": 7,
  "limits": { "item_seconds": 60, "total_seconds": 120 },
  "items": [
    { "rule": "unsafe-log", "at": { "path": "train.py", "line": 9, "column": 5 }, "message": "zero has no logarithm",
      "expr": { "dtype": "float32", "framework": "torch", "width": 4, "samples": 20000,
        "inputs": [ { "name": "p", "form": "many", "low": "0x0000000000000000", "high": "0x3ff0000000000000", "learned": true } ],
        "nodes": [ ["input", 0], ["log", 0], ["mean", 1] ],
        "spots": { "1": { "path": "train.py", "line": 9, "column": 12, "text": "p.log()" } },
        "repaired": [ ["input", 0], ["number", "0x3eb0c6f7a0b5ed8d"], ["clamp-min", 0, 1], ["log", 2], ["mean", 3] ] } },
    { "rule": "unsafe-exponential", "at": { "path": "train.py", "line": 10, "column": 5 }, "message": "an exponential",
      "expr": { "dtype": "float32", "framework": "torch", "width": 1, "samples": 20000,
        "inputs": [ { "name": "x", "form": "one", "low": "0xfff0000000000000", "high": "0x0000000000000000", "learned": true } ],
        "nodes": [ ["input", 0], ["exp", 0] ] } },
    { "rule": "whole-dataset-on-gpu", "at": { "path": "train.py", "line": 11, "column": 5 }, "message": "all of it",
      "memory": { "what": "the dataset", "least": 200000000000, "capacity": 80000000000, "card": "a100-80g" } }
  ]
}"#;

#[test]
fn a_plan_runs_and_its_results_are_shown() {
    let project = Project::new().file("plan.json", PLAN);
    let ran = project.run(&["replay", "plan.json", "-o", "result.json"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    let results: Value = serde_json::from_str(&project.text("result.json")).unwrap();
    let verdicts: Vec<&str> =
        results["items"].as_array().unwrap().iter().map(|item| item["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["confirmed", "not-reproduced", "confirmed"]);
    let first = &results["items"][0]["expr"];
    assert_eq!(first["repaired"]["forward"], 0);
    assert_eq!(first["witness"]["inputs"][0]["numbers"][0]["bits"], "0x00000000");
    let shown = project.run(&["report", "result.json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for line in [
        "train.py:9:5 unsafe-log: zero has no logarithm",
        "  CONFIRMED (exact)",
        "    witness: p = [0, …] (0x00000000)",
        "    first failure: the log, (0) gives -inf, at train.py:9:12 `p.log()`",
        "    with the repair: 0 of 20,000",
        "  NOT REPRODUCED (exact)",
        "  CONFIRMED (capacity)",
    ] {
        assert!(shown.stdout.contains(line), "{line} is not in\n{}", shown.stdout);
    }
    assert!(shown.stdout.ends_with("2 confirmed, 1 not reproduced, 0 inconclusive (seed 7)\n"));
}

#[test]
fn the_same_plan_gives_the_same_results() {
    let project = Project::new().file("plan.json", PLAN);
    let without_times = || {
        // What is free on a GPU is another number each time.
        let ran = project.run(&["replay", "plan.json", "--backend", "cpu"]);
        let mut results: Value = serde_json::from_str(&ran.stdout).unwrap();
        results["seconds"].take();
        for item in results["items"].as_array_mut().unwrap() {
            item["seconds"].take();
        }
        results
    };
    assert_eq!(without_times(), without_times());
}

#[test]
fn a_bad_plan_is_refused_with_the_place_in_it() {
    let broken = PLAN.replacen("[\"log\", 0]", "[\"log\", 5]", 1);
    let project = Project::new().file("plan.json", broken);
    let ran = project.run(&["replay", "plan.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let expected = "error: plan.json is not a valid plan: at `$.items[0].expr.nodes[1]`: operand 5 does not \
                    come before node 1\n";
    assert_eq!(ran.stderr, expected);
    assert_eq!(project.run(&["report", "plan.json"]).code, 2);
    assert_eq!(project.run(&["replay", "missing.json"]).code, 2);
}

#[test]
fn a_script_that_has_changed_is_named() {
    let script = "import torch\nmodel = torch.nn.Linear(4, 1)\nfor x, y in loader:\n    (y / model(x)).mean().backward()\n";
    let project = Project::new().file("train.py", script);
    let made = project.run(&["plan", "--samples", "1000", "-o", "plan.json"]);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    let ran = project.run(&["replay", "plan.json", "-o", "result.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(
        project.text("result.json").contains("\"verdict\":\"confirmed\""),
        "{}",
        project.text("result.json")
    );
    let project = project.file("train.py", format!("{script}# another line\n"));
    let ran = project.run(&["replay", "plan.json", "-o", "result.json"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (0, "warning: train.py has changed since the plan was written\n")
    );
}

#[test]
fn who_insists_on_a_gpu_is_told_that_there_is_none() {
    let project = Project::new().file("plan.json", PLAN);
    let mut command = project.command(&["replay", "plan.json", "--backend", "cuda"]);
    // A machine with a GPU shows none.
    let ran = Ran::of(command.env("CUDA_VISIBLE_DEVICES", "-1").output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
    assert!(ran.stderr.contains("--backend cpu"), "{ran:?}");
}

/// A process that hangs, and one that dies, cost the item that they are at; another goes on with the rest.
#[cfg(unix)]
#[test]
fn a_process_that_fails_costs_one_item() {
    let bytes = PLAN.replace("\"item_seconds\": 60", "\"item_seconds\": 0.2").into_bytes();
    let plan = plan::read(&bytes).unwrap();
    let command = |from: usize| {
        Ok(match from {
            0 => {
                let mut command = Command::new("sleep");
                command.arg("60");
                command
            }
            1 => Command::new("false"),
            from => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_trainlint"));
                command.args(["replay-worker", "--from", &from.to_string()]);
                command
            }
        })
    };
    let outcomes = process::supervise(&plan, &bytes, Duration::ZERO, command, &|| {}).unwrap();
    let verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    assert_eq!(verdicts, [Verdict::Inconclusive, Verdict::Inconclusive, Verdict::Confirmed]);
    let reasons: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome.reason.as_deref()).collect();
    assert!(reasons[0].starts_with("ended after 2."), "{reasons:?}");
    assert!(reasons[1].contains("exit status: 1"), "{reasons:?}");
}

/// A card on which nothing fits, so that demands are too large for it.
const SMALL_CARD: &str = "--gpu-memory=1MB";

/// What is replayed of a rule's faulty fixtures: each thing once, however many scripts say it.
fn replayed_in_fixtures(rule: &Rule) -> Value {
    let folder = root().join("fixtures").join(rule.id);
    let ran = Command::new(env!("CARGO_BIN_EXE_trainlint"))
        .args(["plan", "--isolated", "--pedantic", "--samples", "8000", SMALL_CARD, "--select", rule.id])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}: {}", rule.id, String::from_utf8_lossy(&ran.stderr));
    let mut plan: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mut seen = BTreeSet::new();
    let is_new = |item: &Value| {
        let (expr, step) = (&item["expr"], &item["step"]);
        let work = [&expr["nodes"], &expr["inputs"], &step["script"], &step["repaired"], &item["memory"]];
        seen.insert(serde_json::to_string(&work).unwrap())
    };
    plan["items"].as_array_mut().unwrap().retain(is_new);
    plan["limits"] = serde_json::json!({ "item_seconds": 300, "total_seconds": 3000 });
    plan
}

fn verdicts(plan: &Value) -> Vec<(String, Verdict, Vec<String>)> {
    let plan = plan::read(&serde_json::to_vec(plan).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let deadline = || Instant::now() + Duration::from_secs(300);
    let run = |item| run::run(item, plan.seed, deadline(), &mut run::Cpu).outcome;
    let outcomes = plan.items.iter().map(run);
    outcomes.map(|outcome| (outcome.path, outcome.verdict, outcome.facts)).collect()
}

/// The repaired expressions in the place of those that fail.
fn repaired(plan: &Value) -> Value {
    let mut plan = plan.clone();
    plan["items"].as_array_mut().unwrap().retain_mut(|item| {
        if let Some(nodes) = item["expr"].get("repaired").cloned() {
            item["expr"]["nodes"] = nodes;
            item["expr"].as_object_mut().unwrap().remove("spots");
            return true;
        }
        false
    });
    plan
}

/// What a framework does then is no question.
const KNOWN_BEFOREHAND: [&str; 3] = ["non-scalar-backward", "retained-graph", "undetached-hidden-state"];

/// Every rule that says that it is replayed: what it finds in its own fixtures is confirmed, or measured where it
/// could come out one way only; its repairs are not reproduced. And every other rule has nothing to replay.
#[test]
fn findings_are_confirmed_and_their_repairs_are_not() {
    let mut wrong = Vec::new();
    for rule in checks::all() {
        let plan = replayed_in_fixtures(rule);
        let items = plan["items"].as_array().unwrap().len();
        if (items > 0) != (rule.replayed != Replayed::Nothing) {
            wrong.push(format!("{}: {items} items, and it says {:?}", rule.id, rule.replayed));
        }
        for (path, verdict, facts) in verdicts(&plan) {
            let fits = match rule.replayed {
                Replayed::Memory => matches!(verdict, Verdict::Confirmed | Verdict::Measured),
                _ if KNOWN_BEFOREHAND.contains(&rule.id) => verdict == Verdict::Measured,
                _ => verdict == Verdict::Confirmed,
            };
            if !fits {
                wrong.push(format!("{} in {path}: {verdict:?} {facts:#?}", rule.id));
            }
        }
        for (path, verdict, facts) in verdicts(&repaired(&plan)) {
            if verdict != Verdict::NotReproduced {
                wrong.push(format!("{} repaired in {path}: {verdict:?} {facts:#?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_and_sarif_tell_what_came_out() {
    let script = "import torch\nmodel = torch.nn.Linear(4, 1)\nfor x, y in loader:\n    (y / model(x)).mean().backward()\n";
    let project = Project::new().file("train.py", script);
    let ran =
        project.run(&["confirm", "--samples", "4000", "--output-format", "sarif", "--html", "out.html"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let replay = results.iter().map(|one| &one["properties"]["replay"]).find(|one| one.is_object()).unwrap();
    assert_eq!(
        (&replay["verdict"], &replay["expr"]["repaired"]["forward"]),
        (&"confirmed".into(), &0.into())
    );
    let page = project.text("out.html");
    assert!(page.contains("<svg") && page.contains("unsafe-division"), "{page}");
    let painted = project.run(&["confirm", "--samples", "4000", "--color", "always"]).stdout;
    assert!(painted.contains("\u{1b}[1;31mCONFIRMED\u{1b}[0m"), "{painted}");
    let full = project.run(&["confirm", "--samples", "4000"]);
    for part in ["┌─ train.py:4", "= CONFIRMED (exact)", "with the repair: 0 of 4,000"] {
        assert!(full.stdout.contains(part), "{part} is not in\n{}", full.stdout);
    }
}

#[test]
fn a_script_without_findings_confirms_nothing() {
    let project = Project::new().file("train.py", "import torch\n");
    let ran = project.run(&["confirm"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("0 replayed in"), "{ran:?}");
    let plan = project.run(&["plan"]);
    assert!(plan::read(plan.stdout.as_bytes()).is_ok(), "{plan:?}");
}
