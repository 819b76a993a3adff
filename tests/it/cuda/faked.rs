//! The way to a GPU and back on a driver of ours, whose kernels run on the CPU: verdicts are true ones, and what
//! can go wrong with a driver goes wrong on demand.

use super::host::{build, compiler};
use super::steps;
use crate::harness::{Project, Ran};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;
use trainlint::replay::cuda::{INTERPRETER, fused};
use trainlint::replay::ir::lower;
use trainlint::replay::plan::{self, Work};

/// Two expressions that fail, one that cannot, and a demand for memory between them.
pub const PLAN: &str = r#"{
  "schema": "trainlint-replay/1", "tool": "by hand", "seed": 7,
  "limits": { "item_seconds": 1, "total_seconds": 120 },
  "items": [
    { "rule": "unsafe-log", "at": { "path": "train.py", "line": 9, "column": 5 }, "message": "zero has no logarithm",
      "expr": { "dtype": "float32", "framework": "torch", "width": 4, "samples": 16000,
        "inputs": [ { "name": "p", "form": "many", "low": "0x0000000000000000", "high": "0x3ff0000000000000", "learned": true } ],
        "nodes": [ ["input", 0], ["log", 0], ["mean", 1] ],
        "repaired": [ ["input", 0], ["number", "0x3eb0c6f7a0b5ed8d"], ["clamp-min", 0, 1], ["log", 2], ["mean", 3] ] } },
    { "rule": "whole-dataset-on-gpu", "at": { "path": "train.py", "line": 11, "column": 5 }, "message": "all of it",
      "memory": { "what": "the dataset", "least": 200000000000, "capacity": 80000000000, "card": "a100-80g" } },
    { "rule": "unsafe-root", "at": { "path": "train.py", "line": 12, "column": 5 }, "message": "a root",
      "expr": { "dtype": "float64", "framework": "torch", "width": 3, "samples": 16000,
        "inputs": [ { "name": "x", "form": "many", "low": "0x0000000000000000", "high": "0x7ff0000000000000", "learned": true } ],
        "nodes": [ ["input", 0], ["sqrt", 0], ["sum", 1] ] } },
    { "rule": "unsafe-exponential", "at": { "path": "train.py", "line": 10, "column": 5 }, "message": "an exponential",
      "expr": { "dtype": "float16", "framework": "torch", "width": 1, "samples": 16000,
        "inputs": [ { "name": "x", "form": "one", "low": "0xfff0000000000000", "high": "0x0000000000000000", "learned": true } ],
        "nodes": [ ["input", 0], ["exp", 0] ] } }
  ]
}"#;

pub const VERDICTS: [&str; 4] = ["confirmed", "confirmed", "confirmed", "not-reproduced"];

struct Driver {
    folder: TempDir,
    kernels: PathBuf,
}

/// Built once for all tests; none where there is no compiler.
fn driver() -> Option<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(|| compiler().map(Driver::built)).as_ref()
}

impl Driver {
    fn built(compiler: &str) -> Driver {
        let folder = TempDir::new().unwrap();
        // The one kernel that graphs of this plan become is the one of its last item.
        let plan = plan::read(PLAN.as_bytes()).unwrap();
        let Work::Expr(expr) = &plan.items[3].work else { unreachable!() };
        let text = format!(
            "{INTERPRETER}\n{}\n{}",
            fused::kernel(&lower(&expr.program, expr.width), fused::NAME),
            steps::text()
        );
        let names = ["interpret_f32", "interpret_f64", fused::NAME].map(str::to_owned);
        let kernels = build(compiler, folder.path(), "kernels", &text, &["-O2"], &names);
        for (source, library) in [("fakecuda.c", "libcuda.so.1"), ("fakenvrtc.c", "libnvrtc.so.13")] {
            let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/cuda").join(source);
            let soname = format!("-Wl,-soname,{library}");
            let flags = ["-x", "c", "-std=gnu11", "-Wall", "-Wextra", "-shared", "-fPIC", &soname, "-o"];
            let mut command = Command::new("cc");
            let ran = command
                .args(flags)
                .arg(folder.path().join(library))
                .arg(source)
                .arg("-ldl")
                .output()
                .unwrap();
            assert!(
                ran.status.success() && ran.stderr.is_empty(),
                "{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            // Where a true library is installed, each of its names is found here first.
            let (plain, _) = library.rsplit_once('.').unwrap();
            std::fs::hard_link(folder.path().join(library), folder.path().join(plain)).unwrap();
        }
        Driver { folder, kernels }
    }

    /// The compiler beside it. A true one that is installed would be found first.
    fn compiler(&self) -> String {
        self.folder.path().join("libnvrtc.so.13").display().to_string()
    }

    /// Runs trainlint with this driver and a fault.
    fn run(&self, project: &Project, args: &[&str], fault: &str) -> Ran {
        Ran::of(self.command(project, args, fault).output().unwrap())
    }

    fn command(&self, project: &Project, args: &[&str], fault: &str) -> Command {
        let mut command = project.command(args);
        command.env("LD_LIBRARY_PATH", self.folder.path()).env("FAKE_CUDA_KERNELS", &self.kernels);
        command.env("FAKE_CUDA_FAULT", fault).env("FAKE_CUDA_LOG", project.path("processes"));
        command
    }
}

fn project() -> Project {
    Project::new().file("plan.json", PLAN)
}

const REPLAY: [&str; 4] = ["replay", "plan.json", "--backend", "cuda"];

struct Replayed {
    verdicts: Vec<String>,
    reasons: Vec<String>,
    results: Value,
    processes: usize,
}

/// What a run says of each item, which succeeds whatever the verdicts are.
fn replayed(driver: &Driver, fault: &str) -> Replayed {
    replayed_of(driver, &project(), fault)
}

fn replayed_of(driver: &Driver, project: &Project, fault: &str) -> Replayed {
    let ran = driver.run(project, &REPLAY, fault);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    let items = results["items"].as_array().unwrap();
    let texts =
        |field: &str| items.iter().map(|item| item[field].as_str().unwrap_or("").to_owned()).collect();
    Replayed {
        verdicts: texts("verdict"),
        reasons: texts("reason"),
        processes: project.text("processes").lines().count(),
        results,
    }
}

#[test]
fn a_plan_runs_on_the_device_as_on_the_cpu() {
    let Some(driver) = driver() else { return };
    let there = replayed(driver, "");
    assert_eq!(there.verdicts, VERDICTS, "{:?}", there.reasons);
    assert_eq!(there.results["device"]["backend"], "cuda");
    assert_eq!(there.results["device"]["name"], "Fake GPU (sm_90, driver for CUDA 12.4)");
    // One looks, one runs the plan.
    assert_eq!(there.processes, 2);
    let project = project();
    let ran = project.run(&["replay", "plan.json", "--backend", "cpu"]);
    let here: Value = serde_json::from_str(&ran.stdout).unwrap();
    for item in [0, 2, 3] {
        let (there, here) = (&there.results["items"][item]["expr"], &here["items"][item]["expr"]);
        for part in ["counts", "ordinary", "repaired", "witness"] {
            assert_eq!(there[part], here[part], "{part} of item {item}");
        }
    }
    let facts = &there.results["items"][0]["facts"];
    assert_eq!(facts[0], "the witness was computed again on Fake GPU and on the CPU");
    let memory = there.results["items"][1]["facts"].to_string();
    assert!(
        memory.contains(
            "the GPU of this machine has 8 GiB (measured: 7.7 GiB free; a CUDA context takes 300 MiB; the allocation granularity is 2 MiB)"
        ),
        "{memory}"
    );
}

#[test]
fn auto_does_not_look_for_a_device_that_has_nothing_to_do() {
    let Some(driver) = driver() else { return };
    let project = Project::new().file("train.py", "print(1)\n");
    let ran = driver.run(&project, &["confirm"], "init=803");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(!project.path("processes").exists(), "{ran:?}");
    let ran = driver.run(&project, &["confirm", "--backend", "cuda"], "init=803");
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn auto_takes_the_device_and_confirm_uses_it() {
    let Some(driver) = driver() else { return };
    let script = "import torch\nmodel = torch.nn.Linear(4, 1)\nfor x, y in loader:\n    (y / model(x)).mean().backward()\n";
    let project = Project::new().file("train.py", script);
    let ran = driver.run(&project, &["confirm", "--samples", "2000"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stdout.contains("CONFIRMED (exact)"), "{ran:?}");
    assert!(ran.stdout.contains("on Fake GPU (sm_90, driver for CUDA 12.4): 1 confirmed"), "{ran:?}");
}

/// Each with what it says; with `auto` the same plan runs on the CPU, and only what is broken is worth a warning.
#[test]
fn without_a_usable_device_the_reason_is_told() {
    let Some(driver) = driver() else { return };
    for (fault, told) in [
        ("old", "the NVIDIA driver is for CUDA 11.4: replays need CUDA 11.8: update the driver"),
        ("none", "there is a driver, but it shows no GPU (CUDA error 100): look at CUDA_VISIBLE_DEVICES"),
        ("init=34", "is a stub to link with, and no driver (CUDA error 34)"),
        (
            "init=803",
            "the driver's library and its kernel module have different versions (CUDA error 803): reboot",
        ),
        ("init=999", "the driver does not start, and gives no reason (CUDA error 999)"),
        ("context=46", "all GPUs are taken: they serve one process at a time (CUDA error 46)"),
        ("context=2", "the GPU has no memory left for another process (CUDA error 2)"),
        ("module=222", "the GPU reported CUDA_ERROR (222)"),
    ] {
        let ran = driver.run(&project(), &REPLAY, fault);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{fault}: {ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(told), "{fault}: {ran:?}");
        assert!(
            ran.stderr.ends_with("`--backend cpu` draws the same samples without a GPU\n"),
            "{fault}: {ran:?}"
        );
        let ran = driver.run(&project(), &["replay", "plan.json"], fault);
        assert_eq!(ran.code, 0, "{fault}: {ran:?}");
        assert!(ran.stderr.starts_with("warning: replays run on the CPU, as "), "{fault}: {ran:?}");
        let results: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(results["device"]["backend"], "cpu", "{fault}");
        let reason = ran.stderr["warning: replays run on the CPU, as ".len()..].split(": ").next().unwrap();
        assert!(results["device"]["name"].as_str().unwrap().contains(reason), "{fault}: {results}");
    }
}

/// What each fault costs: the item that it hits, and no other.
#[test]
fn a_fault_costs_the_item_that_it_hits() {
    let Some(driver) = driver() else { return };
    // The first item is run, its witness is, and its repair: three launches.
    let illegal = replayed(driver, "illegal=4");
    assert_eq!(illegal.verdicts, ["confirmed", "confirmed", "inconclusive", "not-reproduced"]);
    assert_eq!(
        illegal.reasons[2],
        "the GPU reported CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
    );
    // A context that has faulted answers nothing any more: another process goes on.
    assert_eq!(illegal.processes, 3);

    let killed = replayed(driver, "killed=4");
    assert_eq!(killed.verdicts, illegal.verdicts);
    assert!(killed.reasons[2].starts_with("its process ended with signal: 9"), "{:?}", killed.reasons);
    assert_eq!(killed.processes, 3);

    let hang = replayed(driver, "hang=4");
    assert_eq!(hang.verdicts, illegal.verdicts);
    assert!(hang.reasons[2].starts_with("ended after 3."), "{:?}", hang.reasons);
    assert_eq!(hang.processes, 3);
}

#[test]
fn what_finds_no_memory_costs_its_item_and_no_process() {
    let Some(driver) = driver() else { return };
    let short = replayed(driver, "memory=1");
    assert_eq!(short.verdicts, ["inconclusive", "confirmed", "confirmed", "not-reproduced"]);
    assert_eq!(short.reasons[0], "the GPU ran out of memory");
    assert_eq!(short.processes, 2);
}

/// A training that goes wrong, the same repaired, and one that the CPU has to refuse in its second round.
const TRAININGS: &str = r#"{
  "schema": "trainlint-replay/1", "tool": "by hand", "seed": 7,
  "limits": { "item_seconds": 30, "total_seconds": 120 },
  "items": [
    { "rule": "missing-zero-grad", "at": { "path": "train.py", "line": 7, "column": 5 }, "message": "again",
      "step": { "optimizer": "sgd", "learning_rate": "0x3f847ae147ae147b",
        "script": { "round": [["backward", 1], ["step", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] },
        "repaired": { "round": [["clear", 1], ["backward", 1], ["step", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] } } },
    { "rule": "misplaced-zero-grad", "at": { "path": "train.py", "line": 9, "column": 5 }, "message": "before",
      "step": { "optimizer": "adam",
        "script": { "round": [["backward", 1], ["step", 1], ["clear", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] },
        "repaired": { "round": [["clear", 1], ["backward", 1], ["step", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] } } },
    { "rule": "scaler-not-updated", "at": { "path": "train.py", "line": 10, "column": 5 }, "message": "stale",
      "step": { "optimizer": "adamw",
        "script": { "round": [["clear", 1], ["scaled-backward", 1], ["scaled-step", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] },
        "repaired": { "round": [["clear", 1], ["scaled-backward", 1], ["scaled-step", 1], ["update", 1]], "loss": "squares", "layers": ["learns", "learns", "learns"] } } }
  ]
}"#;

fn trained(driver: &Driver, fault: &str) -> Replayed {
    replayed_of(driver, &Project::new().file("plan.json", TRAININGS), fault)
}

#[test]
fn trainings_run_on_the_device_as_on_the_cpu() {
    let Some(driver) = driver() else { return };
    let there = trained(driver, "");
    assert_eq!(there.verdicts, ["confirmed", "not-reproduced", "confirmed"], "{:?}", there.reasons);
    assert_eq!(there.processes, 2);
    let project = Project::new().file("plan.json", TRAININGS);
    let here = project.run(&["replay", "plan.json", "--backend", "cpu"]);
    let here: Value = serde_json::from_str(&here.stdout).unwrap();
    for item in 0..3 {
        let (there, here) = (&there.results["items"][item], &here["items"][item]);
        assert_eq!((there["backend"].as_str(), here["backend"].as_str()), (Some("cuda"), Some("cpu")));
        let mut facts = there["facts"].as_array().unwrap().clone();
        let told = facts.pop().unwrap();
        assert_eq!(told, "the runs were made on Fake GPU; frozen weights were compared on the CPU");
        assert_eq!(&facts, here["facts"].as_array().unwrap());
        assert_eq!(points(there), points(here));
    }
}

/// How many points each curve has.
fn points(item: &Value) -> Vec<usize> {
    let lines = item["picture"]["lines"].as_array().unwrap();
    lines.iter().map(|line| line["points"].as_array().unwrap().len()).collect()
}

#[test]
fn a_fault_in_a_training_costs_that_training() {
    let Some(driver) = driver() else { return };
    for (fault, told) in
        [("illegal=2", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"), ("killed=2", "its process ended with signal: 9")]
    {
        let faulty = trained(driver, fault);
        assert_eq!(faulty.verdicts, ["inconclusive", "inconclusive", "inconclusive"], "{fault}");
        assert!(faulty.reasons.iter().all(|reason| reason.contains(told)), "{:?}", faulty.reasons);
        // One looks; each of the others comes to its second launch, and no further.
        assert_eq!(faulty.processes, 4, "{fault}");
    }
    let short = trained(driver, "memory=3");
    assert_eq!(short.verdicts, ["inconclusive", "not-reproduced", "confirmed"]);
    assert_eq!((short.reasons[0].as_str(), short.processes), ("the GPU ran out of memory", 2));
}

/// The last item alone, which is the one whose kernel was built.
fn last_item() -> Project {
    let mut plan: Value = serde_json::from_str(PLAN).unwrap();
    let items = plan["items"].as_array_mut().unwrap();
    items.drain(..3);
    Project::new().file("plan.json", plan.to_string())
}

#[test]
fn with_a_compiler_graphs_become_kernels_of_their_own() {
    let Some(driver) = driver() else { return };
    let compiler = driver.compiler();
    let args = [REPLAY.as_slice(), &["--fused", "--nvrtc", &compiler]].concat();
    let ran = driver.run(&last_item(), &args, "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(results["device"]["name"], "Fake GPU (sm_90, driver for CUDA 12.4, NVRTC 12.9)");
    assert_eq!(results["items"][0]["verdict"], "not-reproduced", "{results}");
    assert_eq!(results["items"][0]["expr"]["counts"]["samples"], 16_000);
    // Any graph becomes this kernel here, so that the first item, whose result it is not, is clean.
    let ran = driver.run(&project(), &args, "");
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(results["items"][0]["verdict"], "not-reproduced", "the interpreter ran: {results}");
}

#[test]
fn what_the_compiler_refuses_is_interpreted_and_told() {
    let Some(driver) = driver() else { return };
    let compiler = driver.compiler();
    let args = [REPLAY.as_slice(), &["--fused", "--nvrtc", &compiler]].concat();
    let project = project();
    let mut command = driver.command(&project, &args, "");
    let ran = Ran::of(command.env("FAKE_NVRTC_LOG", "1").output().unwrap());
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(results["items"][0]["verdict"], "confirmed", "{results}");
    let facts = results["items"][0]["facts"].to_string();
    assert!(
        facts.contains("made no kernel of it, so that it was interpreted (error 6: it was refused)"),
        "{facts}"
    );
}

#[test]
fn without_a_compiler_graphs_are_interpreted() {
    let Some(driver) = driver() else { return };
    let args = [REPLAY.as_slice(), &["--fused", "--nvrtc", "nowhere/libnvrtc.so"]].concat();
    let ran = driver.run(&last_item(), &args, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.starts_with("warning: no NVRTC was found for `--fused`"), "{ran:?}");
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(results["items"][0]["verdict"], "not-reproduced");
}

/// What the doctor is told of the driver and its cards.
fn surveyed(driver: &Driver, fault: &str) -> (i32, Value, String) {
    let project = Project::new().file(".git/HEAD", "");
    let ran = driver.run(&project, &["doctor", "--output-format", "json"], fault);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let checks = said["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "driver").unwrap()["found"].as_str().unwrap();
    (ran.code, said["machine"].clone(), found.to_owned())
}

#[test]
fn the_doctor_asks_the_driver_of_all_cards() {
    let Some(driver) = driver() else { return };
    let (code, machine, found) = surveyed(driver, "");
    assert_eq!(code, 0, "{machine}");
    assert!(found.starts_with("NVIDIA driver") && found.ends_with("(CUDA 12.4)"), "{found}");
    let card = &machine["cards"][0];
    assert_eq!((card["name"].as_str(), card["capability"].as_str()), (Some("Fake GPU"), Some("9.0")));
    let all = card["memory"].as_u64().unwrap();
    assert!(all == 8 << 30 && card["free"].as_u64().unwrap() < all, "{card}");
    // A driver that is too old for replays is told of all the same.
    assert_eq!(surveyed(driver, "old").1["driver"]["cuda"], "11.4");
}

#[test]
fn the_doctor_tells_what_is_wrong_with_a_driver() {
    let Some(driver) = driver() else { return };
    for (fault, says) in [
        ("none", "it shows no GPU"),
        ("init=803", "different versions (CUDA error 803)"),
        ("context=46", "all GPUs are taken"),
    ] {
        let (code, _, found) = surveyed(driver, fault);
        assert!(code == 1 && found.contains(says), "{fault}: {found}");
    }
}
