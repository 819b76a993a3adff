//! Results are taken over from earlier runs where nothing has changed, and nowhere else.

use crate::harness::Project;
use std::sync::Mutex;
use trainlint::engine::analysis::{analyse, source};
use trainlint::engine::cache::Place;
use trainlint::engine::{Outcome, Request, Silent, check_with};
use trainlint::render::{Format, findings};

const HELPER: &str = "def clear(optimizer):\n    optimizer.zero_grad()\n";

fn script(imports: &str, clear: &str) -> String {
    format!(
        "import torch\nfrom torch import nn\n{imports}\n\nmodel = nn.Linear(20, 2)\n\
         optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in train_loader:\n    {clear}\n    \
         loss = nn.functional.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n"
    )
}

/// Two scripts, of which one needs a helper.
fn project() -> Project {
    Project::new()
        .file("pyproject.toml", "")
        .file("helper.py", HELPER)
        .file("train.py", script("from helper import clear", "clear(optimizer)"))
        .file("other.py", script("", "optimizer.zero_grad()"))
}

fn request(project: &Project, threads: usize) -> Request {
    let place = Place { folder: project.root().join("cache"), is_named: true, build: "one".to_owned() };
    Request { cache: Some(place), ..project.request(threads) }
}

/// What a run finds, and the names of the scripts that it rehearsed for it.
fn run_as(request: &Request) -> (Outcome, Vec<String>) {
    let rehearsed = Mutex::new(Vec::new());
    let outcome = check_with(request, &Silent, &|project, file, settings| {
        let name = source(project, file).path.file_name().unwrap().to_string_lossy().into_owned();
        rehearsed.lock().unwrap().push(name);
        analyse(project, file, settings)
    });
    let mut rehearsed = rehearsed.into_inner().unwrap();
    rehearsed.sort();
    (outcome.unwrap(), rehearsed)
}

fn run(project: &Project) -> (Vec<String>, Vec<String>) {
    let (outcome, rehearsed) = run_as(&request(project, 2));
    let found = findings(&outcome, Format::Concise, false);
    let lines = String::from_utf8(found)
        .unwrap()
        .lines()
        .map(|line| line.split(']').next().unwrap().to_owned())
        .collect();
    (lines, rehearsed)
}

const NONE: [&str; 0] = [];

fn first_of(lines: &[String]) -> &str {
    lines.first().map_or("", |line| line.split(": ").next().unwrap())
}

#[test]
fn a_second_run_rehearses_nothing_and_says_the_same() {
    let project = project().file("bad.py", script("", "pass")).file("note.ipynb", NOTEBOOK);
    let (first, rehearsed) = run_as(&request(&project, 2));
    assert_eq!(rehearsed, ["bad.py", "helper.py", "note.ipynb", "other.py", "train.py"]);
    let stored = std::fs::read(project.root().join("cache/findings")).unwrap();
    let (second, rehearsed) = run_as(&request(&project, 1));
    assert_eq!(rehearsed, NONE);
    assert_eq!(first.findings.len(), 2, "{:?}", first.findings);
    for format in [Format::Full, Format::Json, Format::Sarif] {
        assert_eq!(findings(&first, format, false), findings(&second, format, false));
    }
    assert_eq!(first.files, second.files);
    assert!(project.read("cache/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
    assert_eq!(project.read("cache/.gitignore"), "*\n");
    std::fs::remove_dir_all(project.root().join("cache")).unwrap();
    run_as(&request(&project, 1));
    let again = std::fs::read(project.root().join("cache/findings")).unwrap();
    assert!(stored == again, "the number of threads changes no byte");
}

const NOTEBOOK: &str = r#"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
    {"cell_type": "code", "source": ["import torch\n", "model = torch.nn.Linear(2, 2)\n",
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n", "for x, y in train_loader:\n",
        "    loss = model(x).mean()\n", "    loss.backward()\n", "    optimizer.step()"]}
]}"#;

#[test]
fn a_changed_helper_changes_what_its_callers_say() {
    let project = project();
    assert_eq!(run(&project).0, NONE);
    project.write("helper.py", "def clear(optimizer):\n    pass\n");
    let (found, rehearsed) = run(&project);
    assert_eq!(rehearsed, ["train.py"], "and not the script that does not need it");
    assert_eq!((found.len(), first_of(&found)), (1, "train.py:11:5"), "{found:?}");
    project.write("helper.py", HELPER);
    assert_eq!(run(&project).0, NONE);
}

#[test]
fn a_helper_of_a_helper_counts() {
    let project = project().file("deep/__init__.py", "").file("deep/inner.py", HELPER);
    project.write("helper.py", "from deep.inner import clear\n");
    assert_eq!(run(&project).0, NONE);
    project.write("deep/inner.py", "def clear(optimizer):\n    pass\n");
    let (found, rehearsed) = run(&project);
    assert!(rehearsed.contains(&"train.py".to_owned()), "{rehearsed:?}");
    assert_eq!(first_of(&found), "train.py:11:5");
}

#[test]
fn where_an_import_leads_counts() {
    let project = project();
    project.remove("helper.py");
    assert_eq!(run(&project).0, NONE, "what can't be read may have cleared");
    project.write("helper.py", "def clear(optimizer):\n    pass\n");
    assert_eq!(first_of(&run(&project).0), "train.py:11:5");
    // A package comes before a module of the same name.
    project.write("helper/__init__.py", HELPER);
    assert_eq!(run(&project).0, NONE);
    project.remove("helper/__init__.py");
    assert_eq!(first_of(&run(&project).0), "train.py:11:5");
}

#[test]
fn modules_of_a_folder_count() {
    let project = project().file("tools/clearing.py", HELPER);
    project.write("train.py", &script("from tools import clearing", "clearing.clear(optimizer)"));
    assert_eq!(run(&project).0, NONE);
    assert_eq!(run(&project).1, NONE);
    project.write("tools/clearing.py", "def clear(optimizer):\n    pass\n");
    assert_eq!(first_of(&run(&project).0), "train.py:11:5");
}

#[test]
fn configuration_files_and_settings_count() {
    let text = "import yaml\nimport torch\nconfig = yaml.safe_load(open('run.yaml'))\nx = torch.zeros(config['n'], 1024, 1024)\n\
                data = torch.utils.data.TensorDataset(x)\nloader = torch.utils.data.DataLoader(data, batch_size=4)\n\
                model = torch.nn.Linear(1024, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n\
                for (b,) in loader:\n    optimizer.zero_grad()\n    model(b).mean().backward()\n    optimizer.step()\n";
    let project = Project::new().file("pyproject.toml", "").file("train.py", text).file("run.yaml", "n: 4\n");
    assert_eq!(run(&project).1, ["train.py"]);
    assert_eq!(run(&project).1, NONE);
    project.write("run.yaml", "n: 8\n");
    assert_eq!(run(&project).1, ["train.py"]);
    project.remove("run.yaml");
    assert_eq!(run(&project).1, ["train.py"]);
    project.write("requirements.txt", "torch==1.8.0\n");
    assert_eq!(run(&project).1, ["train.py"]);
    let mut stated = request(&project, 1);
    stated.overrides.values = vec![("n".to_owned(), trainlint::apis::Literal::Int(3))];
    assert_eq!(run_as(&stated).1, ["train.py"]);
    assert_eq!(run_as(&stated).1, NONE);
    assert_eq!(run(&project).1, NONE, "both settings are remembered");
    let mut other = request(&project, 1);
    other.cache = other.cache.map(|place| Place { build: "two".to_owned(), ..place });
    assert_eq!(run_as(&other).1, ["train.py"]);
}

#[test]
fn selection_and_comments_are_no_matter_of_the_cache() {
    let project = project().file("bad.py", script("", "pass"));
    assert_eq!(run(&project).0.len(), 1);
    project.write("trainlint.toml", "ignore = [\"missing-zero-grad\"]\n");
    let (found, rehearsed) = run(&project);
    assert_eq!((found.len(), rehearsed.len()), (0, 0));
    project.write("trainlint.toml", "");
    let silenced = script("", "pass")
        .replace("optimizer.step()", "optimizer.step()  # trainlint: ignore[missing-zero-grad]");
    project.write("bad.py", &silenced);
    assert_eq!(run(&project).0, NONE);
    let (outcome, rehearsed) = run_as(&request(&project, 1));
    assert_eq!((outcome.suppressed, rehearsed.len()), (1, 0));
}

#[test]
fn scripts_that_are_not_asked_for_stay_remembered() {
    let project = project().file("bad.py", script("", "pass"));
    run(&project);
    let mut one = request(&project, 1);
    one.paths = vec!["other.py".into()];
    project.write("other.py", &script("", "optimizer.zero_grad(); x = 1"));
    assert_eq!(run_as(&one).1, ["other.py"]);
    assert_eq!(run(&project).1, NONE);
    project.remove("bad.py");
    project.write("other.py", &script("", "optimizer.zero_grad()"));
    run(&project);
    let stored = std::fs::read(project.root().join("cache/findings")).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("bad.py"), "what is gone is forgotten");
}

#[test]
fn a_broken_cache_is_no_cache() {
    let project = project();
    run(&project);
    project.write("cache/findings", "nonsense");
    assert_eq!(run(&project).1.len(), 3);
    assert_eq!(run(&project).1, NONE);
    // A folder where the file should be: nothing can be written.
    project.remove("cache/findings");
    std::fs::create_dir(project.root().join("cache/findings")).unwrap();
    assert_eq!(run(&project).1.len(), 3);
    let mut nowhere = request(&project, 1);
    nowhere.cache = nowhere.cache.map(|place| Place { folder: "/proc/nowhere".into(), ..place });
    assert_eq!(run_as(&nowhere).1.len(), 3);
}

#[test]
fn runs_beside_each_other_do_no_harm() {
    let project = project();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(run(&project).0, NONE));
        }
    });
    assert_eq!(run(&project).1, NONE);
    let left = std::fs::read_dir(project.root().join("cache")).unwrap().count();
    assert_eq!(left, 3, "no temporary files are left");
}

#[test]
fn the_command_line_remembers_in_the_root_of_the_project() {
    let project = project().file("sub/bad.py", script("", "pass"));
    let mut command = project.command(&["check"]);
    let output = command.current_dir(project.root().join("sub")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(project.read(".trainlint_cache/CACHEDIR.TAG").contains("cache of trainlint"));
    assert_eq!(project.run(&["clean"]).stdout, "removed .trainlint_cache\n");
    assert_eq!(project.run(&["clean"]).stdout, ".trainlint_cache: there is no cache\n");
    project.run(&["check", "--no-cache"]);
    assert!(!project.root().join(".trainlint_cache").exists());
    project.run(&["check", "--cache-dir", "kept"]);
    assert!(
        project.root().join("kept/findings").exists() && !project.root().join(".trainlint_cache").exists()
    );
    let refused = project.run(&["clean", "--cache-dir", "sub"]);
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (2, "error: sub is not a trainlint cache and was not removed\n")
    );
    let off = project.command(&["check"]).env("TRAINLINT_NO_CACHE", "1").output().unwrap();
    assert_eq!(off.status.code(), Some(1));
    assert!(!project.root().join(".trainlint_cache").exists());
}
