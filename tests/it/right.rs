//! The other way that replays can come out: scripts that are right. What they do is followed as it is in faulty
//! ones, becomes the same kind of replay, and is not reproduced.

use crate::findings::root;
use crate::harness::Project;
use serde_json::Value;
use std::cell::OnceCell;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use trainlint::apis::index::Pins;
use trainlint::engine::analysis::FileReport;
use trainlint::engine::{self, settings::Settings};
use trainlint::facts::{Repair, Script};
use trainlint::replay::outcome::{Outcome, Verdict};
use trainlint::replay::{plan, run};
use trainlint::report::replay::{Node, Program, Replay};
use trainlint::report::{FileId, Place};
use trainlint::trace::{Effect, visits};
use trainlint::{interp, names};

/// What can be replayed of the scripts of a project, each thing once, with the script that it was first seen in.
fn replays(project: &Project, of: impl Fn(&Script) -> Vec<Replay> + Sync) -> Vec<(String, Replay)> {
    let found = Mutex::new(Vec::new());
    let analyse = |project: &names::Project, file: FileId, settings: &Settings| {
        let rehearsal = interp::rehearse(project, settings.tables(), &interp::Settings::default(), file);
        let pins = Pins::default();
        let script = Script {
            project,
            file,
            rehearsal: &rehearsal,
            memory: 1 << 34,
            card: "a card",
            pins: &pins,
            missing: OnceCell::new(),
        };
        let path = project.source(file).path.display().to_string();
        found.lock().unwrap().extend(of(&script).into_iter().map(|replay| (path.clone(), replay)));
        FileReport::default()
    };
    engine::check_with(&project.request(1), &engine::Silent, &analyse).unwrap();
    let mut distinct: Vec<(String, Replay)> = Vec::new();
    for (path, replay) in found.into_inner().unwrap() {
        if distinct.iter().all(|(_, other)| *other != replay) {
            distinct.push((path, replay));
        }
    }
    distinct
}

fn judged(replay: Replay) -> Outcome {
    let work = match replay {
        Replay::Step(step) => plan::Work::Step(step),
        Replay::Program(program) => plan::Work::Expr(plan::Expr {
            program: Program {
                nodes: program.nodes.into_iter().map(|node| Node { place: None, ..node }).collect(),
                ..program
            },
            spots: Vec::new(),
            width: plan::WIDTH,
            samples: 8000,
        }),
        Replay::Memory(demand) => panic!("{demand:?}"),
    };
    let item = plan::Item { rule: String::new(), at: plan::Spot::default(), message: String::new(), work };
    run::run(&item, plan::SEED, Instant::now() + Duration::from_secs(300), &mut run::Cpu).outcome
}

/// None of them happens; gives how many there were.
fn nothing_is_reproduced(replays: Vec<(String, Replay)>) -> usize {
    let count = replays.len();
    for (path, replay) in replays {
        let told = format!("{replay:#?}");
        let outcome = judged(replay);
        assert_eq!(outcome.verdict, Verdict::NotReproduced, "{path}: {:#?} {told}", outcome.facts);
    }
    count
}

/// How many steps a file makes, and what the rounds around them are replayed as.
fn orders(script: &Script, repair: Repair) -> (usize, Vec<Replay>) {
    let (mut steps, mut schedules) = (Vec::new(), Vec::new());
    for entry in &script.rehearsal.entries {
        let wanted = |effect: &Effect| matches!(effect, Effect::Step { .. } | Effect::Schedule { .. });
        for visit in visits(&entry.nodes, wanted) {
            let is_step = matches!(visit.event.effect, Effect::Step { .. });
            if is_step { &mut steps } else { &mut schedules }.push(visit.event.place);
        }
    }
    let of = |step: &Place| match repair {
        Repair::Schedule => schedules.iter().find_map(|place| script.replay_of_schedule(*step, *place)),
        _ => script.replay_of_order(*step, repair),
    };
    (steps.len(), steps.iter().filter_map(of).collect())
}

/// Scripts that were put right by our own fixes: their rounds are what the repair would make of them, or as good.
#[test]
fn the_order_of_fixed_scripts_is_not_reproduced() {
    let rules = [
        ("clip-before-unscale", Repair::Unscale),
        ("misplaced-clipping", Repair::Clip),
        ("misplaced-zero-grad", Repair::Clear),
        ("missing-zero-grad", Repair::Clear),
        ("scaler-not-updated", Repair::Update),
        ("scheduler-before-optimizer", Repair::Schedule),
        ("step-bypasses-scaler", Repair::StepByScaler),
    ];
    let seen = Mutex::new(0);
    for (rule, repair) in rules {
        let replays = replays(&fixed(rule), |script| {
            let (steps, orders) = orders(script, repair);
            *seen.lock().unwrap() += steps;
            orders
        });
        nothing_is_reproduced(replays);
    }
    let seen = seen.into_inner().unwrap();
    assert!(seen >= 20, "{seen}");
}

/// Gradients that a script computes itself, and that are right.
#[test]
fn gradients_that_are_derivatives_are_not_reproduced() {
    let right = |script: &Script| {
        let right = script.own_gradients().filter(|(_, own)| own.is_slope);
        right.filter_map(|(_, own)| script.replay_of_gradient(own)).collect()
    };
    let count = nothing_is_reproduced(replays(&fixtures("backward-mismatches-forward", "ok_"), right));
    assert!(count >= 9, "{count}");
}

/// The fixtures of a rule with such names.
fn fixtures(rule: &str, prefix: &str) -> Project {
    let mut project = Project::new();
    for entry in std::fs::read_dir(root().join("fixtures").join(rule)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        if name.starts_with(prefix) && path.is_file() {
            project = project.file(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    project
}

/// The faulty fixtures of a rule that a fix puts right, as it leaves them.
fn fixed(rule: &str) -> Project {
    let project = fixtures(rule, "bad_");
    let flags = ["--isolated", "--exit-zero", "--fix", "--unsafe-fixes", "--select", rule];
    let ran = project.run(&[&["check"][..], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let left =
        project.run(&["check", "--isolated", "--exit-zero", "--select", rule, "--output-format", "json"]);
    let left: Value = serde_json::from_str(&left.stdout).unwrap();
    for finding in left["findings"].as_array().unwrap() {
        // What no fix puts right is of no use here; several findings may be in one.
        let _ = std::fs::remove_file(project.root().join(finding["path"].as_str().unwrap()));
    }
    project
}
