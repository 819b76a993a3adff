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
use trainlint::engine::{self, settings::Ready};
use trainlint::facts::{Repair, Script};
use trainlint::replay::outcome::{Outcome, Verdict};
use trainlint::replay::{plan, run};
use trainlint::report::replay::{Loss, Node, Program, Replay};
use trainlint::report::{FileId, Place};
use trainlint::trace::{Effect, visits};
use trainlint::{checks, interp, names};

/// What can be replayed of the scripts of a project, and the script that it is of.
fn replays(project: &Project, of: impl Fn(&Script) -> Vec<Replay> + Sync) -> Vec<(String, Replay)> {
    let found = Mutex::new(Vec::new());
    let analyse = |project: &names::Project, file: FileId, settings: &Ready| {
        let rehearsal =
            interp::rehearse(project, settings.tables(), checks::hooks(), &interp::Settings::default(), file);
        let pins = Pins::default();
        let script = Script {
            project,
            file,
            apis: settings.tables(),
            rehearsal: &rehearsal,
            memory: 1 << 34,
            card: "a card",
            pins: &pins,
            asked: Default::default(),
            found: OnceCell::new(),
            used: OnceCell::new(),
            descents: OnceCell::new(),
            valid: OnceCell::new(),
            statements: Default::default(),
            timelines: Default::default(),
            names: OnceCell::new(),
        };
        let path = project.source(file).path.display().to_string();
        found.lock().unwrap().extend(of(&script).into_iter().map(|replay| (path.clone(), replay)));
        FileReport::default()
    };
    engine::check_with(&project.request(1), &engine::Silent, &analyse).unwrap();
    found.into_inner().unwrap()
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

/// None of them happens; each thing is run once, however many scripts do it. Gives how many there were.
fn nothing_is_reproduced(replays: Vec<(String, Replay)>) -> usize {
    let (mut distinct, mut wrong): (Vec<&Replay>, _) = (Vec::new(), Vec::new());
    for (path, replay) in &replays {
        if distinct.contains(&replay) {
            continue;
        }
        distinct.push(replay);
        let outcome = judged(replay.clone());
        if outcome.verdict != Verdict::NotReproduced {
            wrong.push(format!("{path}: {:?} {:#?}", outcome.verdict, outcome.facts));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    replays.len()
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

/// Losses over classes that get what they expect.
#[test]
fn losses_that_fit_are_not_reproduced() {
    let rules = [
        "keras-logits-mismatch",
        "nll-without-log-softmax",
        "one-class-softmax",
        "sigmoid-mismatch",
        "softmax-before-cross-entropy",
    ];
    let heads = |script: &Script| {
        checks::losses::heads(script)
            .into_iter()
            .map(|one| checks::losses::replay_of_heads(script, one))
            .collect()
    };
    let mut seen = 0;
    for rule in rules {
        seen += nothing_is_reproduced(replays(&fixed(rule), heads));
        seen += nothing_is_reproduced(replays(&fixtures(rule, "ok_"), heads));
    }
    assert!(seen >= 10, "{seen}");
}

/// Predictions that meet their own targets.
#[test]
fn losses_of_pairs_are_not_reproduced() {
    let squares = |script: &Script| {
        let meetings = checks::losses::meetings(script).into_iter();
        meetings.map(|loss| script.replay_of_loss(loss, Loss::Squares)).collect()
    };
    assert!(nothing_is_reproduced(replays(&fixtures("broadcast-loss", "ok_"), squares)) >= 1);
}

/// Models that are evaluated in evaluation mode, and trained in training mode.
#[test]
fn modes_of_fixed_scripts_are_not_reproduced() {
    let evaluated = |script: &Script| {
        let modes = checks::modes::modes_of_evaluations(script).into_iter();
        modes.map(|modes| script.replay_of_mode(modes)).collect()
    };
    assert!(nothing_is_reproduced(replays(&fixed("missing-eval-mode"), evaluated)) >= 1);
    let trained = |script: &Script| {
        let modes = checks::modes::modes_of_trainings(script).into_iter();
        modes.map(|modes| script.replay_of_mode(modes)).collect()
    };
    assert!(nothing_is_reproduced(replays(&fixed("stuck-in-eval"), trained)) >= 1);
}

/// Layers that gradients reach, and that an optimizer has; of faulty scripts the same question finds others.
#[test]
fn layers_that_learn_are_not_reproduced() {
    let rules = [
        "detached-loss",
        "exhausted-parameters",
        "graph-broken-in-forward",
        "parameters-replaced-after-optimizer",
        "unregistered-submodule",
    ];
    let layers = |script: &Script| {
        let layers = checks::layers::layers(script).into_iter();
        layers.map(|layers| script.replay_of_layers(layers)).collect()
    };
    let mut seen = 0;
    for rule in rules {
        let faulty = replays(&fixtures(rule, "bad_"), layers).into_iter();
        let missed = faulty.filter(|(_, replay)| is_right(replay)).map(|(path, _)| path).collect::<Vec<_>>();
        assert!(missed.len() <= ELSEWHERE, "{missed:?}");
        seen += nothing_is_reproduced(replays(&fixed(rule), layers));
        seen += nothing_is_reproduced(replays(&fixtures(rule, "ok_"), layers));
    }
    assert!(seen >= 20, "{seen}");
}

/// Generators that are used up where no optimizer is built.
const ELSEWHERE: usize = 6;

fn is_right(replay: &Replay) -> bool {
    matches!(replay, Replay::Step(step) if step.script == step.repaired)
}

/// Gradients that a script computes itself, and that are right.
#[test]
fn gradients_that_are_derivatives_are_not_reproduced() {
    let right = fixtures("backward-mismatches-forward", "ok_");
    let count = nothing_is_reproduced(replays(&right, checks::kernels::replays_of_derivatives));
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
