//! Adopting trainlint in a repository with many findings: only what is new is reported.

use crate::harness::{Project, Ran};
use serde_json::Value;
use std::process::Command;

/// Two findings of `retained-graph` and two of `missing-zero-grad`, in functions named after the number.
fn script(number: usize) -> String {
    format!(
        "import torch\nfrom torch import nn\n\nmodel = nn.Linear(20, 2)\n\n\n\
         def fit_{number}(loader, optimizer):\n    history = []\n    total = 0\n    for x, y in loader:\n        \
         loss_{number} = nn.functional.cross_entropy(model(x), y)\n        loss_{number}.backward()\n        \
         optimizer.step()\n        total += loss_{number}\n        history.append(loss_{number})\n    return total, history\n\n\n\
         def again_{number}(loader):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for x, y in loader:\n        \
         loss = nn.functional.cross_entropy(model(x), y)\n        loss.backward()\n        optimizer.step()  # number {number}\n\n\n\
         optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfit_{number}(train_loader, optimizer)\nagain_{number}(train_loader)\n"
    )
}

const NEW: &str = "\n\ndef fresh(loader):\n    fresh_model = nn.Linear(4, 2)\n    adam = torch.optim.Adam(fresh_model.parameters())\n    for x, y in loader:\n        fresh_loss = nn.functional.cross_entropy(fresh_model(x), y)\n        fresh_loss.backward()\n        adam.step()\n\n\nfresh(train_loader)\n";

fn repository() -> Project {
    let mut project = Project::new();
    for number in 0..25 {
        project = project.file(&format!("p{}/train_{number}.py", number % 5), script(number));
    }
    project
}

/// `cargo test` asks for no other program: without git, what needs it is not tested.
fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn git(project: &Project, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]);
    let output = command
        .args(args)
        .current_dir(project.root())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn commit(project: &Project) {
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message", "as it is"]);
}

/// The places of the findings, and how many were known.
fn found(ran: &Ran) -> (Vec<String>, u64) {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let place = |one: &Value| {
        format!("{}:{} {}", one["path"].as_str().unwrap(), one["line"], one["rule"].as_str().unwrap())
    };
    (report["findings"].as_array().unwrap().iter().map(place).collect(), report["known"].as_u64().unwrap())
}

fn check(project: &Project, args: &[&str]) -> (Vec<String>, u64) {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = project.command(&[&["check", "--output-format", "json"], args].concat());
    found(&Ran::of(command.env("PATH", path).output().unwrap()))
}

/// Moves code up and down, renames files and a function, and adds one mistake.
fn shuffle(project: &Project) {
    for number in 0..25 {
        let from = format!("p{}/train_{number}.py", number % 5);
        let mut text = project.read(&from);
        let to = match number % 3 {
            0 => format!("moved/to_{number}.py"),
            _ => from.clone(),
        };
        if number % 2 == 0 {
            text = text.replace("import torch\n", "\"\"\"What this is.\"\"\"\n\nimport torch\n\nSEED = 1\n");
            text =
                text.replace("    history = []\n", "    history = []  # of losses\n\n    print('start')\n");
        }
        if number == 7 {
            text = text.replace("again_7", "renamed");
        }
        if number == 11 {
            text.push_str(NEW);
        }
        project.remove(&from);
        project.write(&to, &text);
    }
}

#[test]
fn of_a_hundred_known_findings_and_a_new_one_the_new_one_is_reported() {
    let project = repository();
    let (before, _) = check(&project, &[]);
    assert_eq!(before.len(), 100, "{before:#?}");
    let ran = project.run(&["check", "--write-baseline", "known.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "wrote a baseline of 100 findings to known.json\n"));
    assert_eq!(check(&project, &["--baseline", "known.json"]), (Vec::new(), 100));
    project.write("trainlint.toml", "baseline = \"known.json\"\n");
    assert_eq!(check(&project, &["p1"]), (Vec::new(), 20));
    assert_eq!(check(&project, &["--isolated", "p1"]).1, 0);
    project.remove("trainlint.toml");

    shuffle(&project);
    let (news, known) = check(&project, &["--baseline", "known.json"]);
    assert_eq!((news, known), (vec!["p1/train_11.py:39 missing-zero-grad".to_owned()], 100));
}

#[test]
fn of_a_change_what_it_brings_is_reported() {
    if !has_git() {
        return;
    }
    let project = repository();
    git(&project, &["init", "--quiet"]);
    commit(&project);
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (Vec::new(), 100));
    shuffle(&project);
    let new = vec!["p1/train_11.py:39 missing-zero-grad".to_owned()];
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (new.clone(), 100));
    commit(&project);
    assert_eq!(
        check(&project, &["--diff-base", "HEAD~1", "p1"]),
        (new, check(&project, &["p1"]).0.len() as u64 - 1)
    );
    assert_eq!(check(&project, &["--diff-base", "HEAD"]).0.len(), 0);
}

#[test]
fn what_a_change_breaks_elsewhere_is_reported_and_what_it_touches() {
    if !has_git() {
        return;
    }
    let helper = "def clear(optimizer):\n    optimizer.zero_grad()\n";
    let train = "import torch\nfrom torch import nn\nfrom helper import clear\n\nmodel = nn.Linear(20, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\ntotal = 0\nfor x, y in train_loader:\n    clear(optimizer)\n    loss = nn.functional.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n    total += loss\n";
    let project = Project::new().file("helper.py", helper).file("train.py", train);
    git(&project, &["init", "--quiet"]);
    commit(&project);
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (Vec::new(), 1));
    project.write("helper.py", "def clear(optimizer):\n    pass\n");
    assert_eq!(
        check(&project, &["--diff-base", "HEAD"]),
        (vec!["train.py:12 missing-zero-grad".to_owned()], 1)
    );
    project.write("helper.py", helper);
    project.write("train.py", &train.replace("total += loss", "total  += loss"));
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (vec!["train.py:13 retained-graph".to_owned()], 0));
}

#[test]
fn a_revision_that_can_not_be_had_is_a_clear_failure() {
    if !has_git() {
        return;
    }
    let project = Project::new().file("train.py", script(0));
    let run = |project: &Project, revision: &str| {
        let mut command = project.command(&["check", "--diff-base", revision]);
        let command = command.env("PATH", std::env::var("PATH").unwrap_or_default());
        Ran::of(command.env("GIT_CEILING_DIRECTORIES", project.root().parent().unwrap()).output().unwrap())
    };
    let outside = run(&project, "HEAD");
    assert_eq!(outside.code, 2, "{outside:?}");
    assert!(outside.stderr.starts_with("error: `--diff-base` needs a git repository"), "{outside:?}");
    git(&project, &["init", "--quiet"]);
    commit(&project);
    let unknown = run(&project, "--nonsense");
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let unknown = run(&project, "nonsense");
    assert!(unknown.stderr.starts_with("error: git does not know revision `nonsense`"), "{unknown:?}");
}

#[test]
fn a_clone_that_lacks_the_commit_in_common_is_a_clear_failure() {
    if !has_git() {
        return;
    }
    let origin = repository();
    git(&origin, &["init", "--quiet", "--initial-branch", "main"]);
    commit(&origin);
    git(&origin, &["checkout", "--quiet", "-b", "change"]);
    shuffle(&origin);
    commit(&origin);
    git(&origin, &["checkout", "--quiet", "main"]);
    origin.remove("p2/train_2.py");
    commit(&origin);
    let clone = Project::new();
    git(&clone, &["init", "--quiet"]);
    git(&clone, &["remote", "add", "origin", &format!("file://{}", origin.root().display())]);
    git(&clone, &["fetch", "--quiet", "--depth", "1", "origin", "main", "change"]);
    git(&clone, &["checkout", "--quiet", "origin/change"]);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = clone.command(&["check", "--diff-base", "origin/main"]);
    let ran = Ran::of(command.env("PATH", path).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("this clone is shallow, fetch more of its history"), "{ran:?}");
    git(&clone, &["fetch", "--quiet", "--unshallow", "origin"]);
    let new = vec!["p1/train_11.py:39 missing-zero-grad".to_owned()];
    assert_eq!(check(&clone, &["--diff-base", "origin/main"]).0, new);
}

#[test]
fn a_renamed_file_is_known_where_it_alone_is_asked_for() {
    if !has_git() {
        return;
    }
    let project = Project::new().file("old name.py", script(0));
    git(&project, &["init", "--quiet"]);
    commit(&project);
    std::fs::create_dir(project.path("sub")).unwrap();
    git(&project, &["mv", "old name.py", "sub/ü.py"]);
    // As a hook names what is staged.
    for asked in ["sub/ü.py", "sub", "./sub/../sub"] {
        assert_eq!(check(&project, &["--diff-base", "HEAD", asked]), (Vec::new(), 4), "{asked}");
    }
}

#[test]
fn what_is_in_a_submodule_is_known_there() {
    if !has_git() {
        return;
    }
    let inner = Project::new().file("train.py", script(1));
    git(&inner, &["init", "--quiet"]);
    commit(&inner);
    let project = Project::new().file("train.py", script(0));
    git(&project, &["init", "--quiet"]);
    let url = inner.root().to_str().unwrap();
    git(&project, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib/inner"]);
    commit(&project);
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (Vec::new(), 8));
    let text = project.read("lib/inner/train.py");
    project
        .write("lib/inner/train.py", &format!("import os\n{}{NEW}", text.replace("total += ", "total +=  ")));
    let (news, known) = check(&project, &["--diff-base", "HEAD"]);
    let expected = ["lib/inner/train.py:15 retained-graph", "lib/inner/train.py:40 missing-zero-grad"];
    assert_eq!((news, known), (expected.map(str::to_owned).to_vec(), 7));
}

#[test]
fn a_notebook_that_was_run_and_saved_anew_has_no_news() {
    if !has_git() {
        return;
    }
    let cells: Vec<String> = script(2).split_inclusive('\n').map(str::to_owned).collect();
    let mut notebook = serde_json::json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": cells},
    ]});
    let project = Project::new().file("note.ipynb", serde_json::to_string_pretty(&notebook).unwrap());
    git(&project, &["init", "--quiet"]);
    commit(&project);
    notebook["cells"][0]["execution_count"] = 7.into();
    notebook["cells"][0]["outputs"] =
        serde_json::json!([{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]);
    project.write("note.ipynb", &notebook.to_string());
    assert_eq!(check(&project, &["--diff-base", "HEAD"]), (Vec::new(), 4));
    // A line more, which makes another of the line before: it was the last, and had no end.
    let source = notebook["cells"][0]["source"].as_array_mut().unwrap();
    source.push("for x, y in train_loader: model(x).mean().backward(); optimizer.step()".into());
    project.write("note.ipynb", &notebook.to_string());
    let (news, known) = check(&project, &["--diff-base", "HEAD"]);
    assert_eq!((news.len(), known), (1, 4), "{news:?}");
}

#[test]
fn a_base_that_can_not_be_checked_is_no_obstacle() {
    if !has_git() {
        return;
    }
    let project = Project::new().file("train.py", script(0)).file("trainlint.toml", "selct = []\n");
    git(&project, &["init", "--quiet"]);
    commit(&project);
    project.write("trainlint.toml", "");
    let mut command = project.command(&["check", "--diff-base", "HEAD", "--output-format", "concise"]);
    let ran = Ran::of(command.env("PATH", std::env::var("PATH").unwrap_or_default()).output().unwrap());
    let said = "warning: the base revision can't be analyzed: trainlint.toml:1:1: unknown key `selct`";
    assert!(ran.stderr.starts_with(said), "{ran:?}");
    assert_eq!((ran.code, ran.stdout.matches("train.py:").count()), (1, 4), "{ran:?}");
}

#[test]
fn a_second_copy_of_a_known_mistake_is_news() {
    let project = Project::new().file("train.py", script(0));
    let ran = project.run(&["check", "--write-baseline", "known.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    project.write("copy.py", &script(0));
    let (news, known) = check(&project, &["--baseline", "known.json"]);
    assert_eq!((news.len(), known), (4, 4), "{news:?}");
    assert!(news.iter().all(|one| one.starts_with("copy.py:")), "the copy, not the original: {news:?}");
}

#[test]
fn a_baseline_is_sorted_and_has_a_version() {
    let project = repository();
    project.run(&["check", "--write-baseline", "known.json"]);
    let text = project.read("known.json");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(&lines[..3], ["{", "  \"version\": 1,", "  \"findings\": ["]);
    assert_eq!(lines.len(), 100 + 5, "one finding a line: {text}");
    let mut paths: Vec<Value> = serde_json::from_str::<Value>(&text).unwrap()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].clone())
        .collect();
    let written = paths.clone();
    paths.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    assert_eq!(written, paths);
    for (text, said) in [("{}", "is not a baseline"), ("{\"version\": 2}", "is a baseline of version 2")] {
        project.write("bad.json", text);
        let ran = project.run(&["check", "--baseline", "bad.json"]);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{ran:?}");
    }
    let ran = project.run(&["check", "--baseline", "none.json"]);
    assert!(ran.code == 2 && ran.stderr.contains("`--write-baseline` creates one"), "{ran:?}");
}

#[test]
fn comments_are_written_beside_the_findings() {
    let windows = script(0).replace('\n', "\r\n");
    let split = script(1)
        .replace("history.append(loss_1)", "history.append(\n            loss_1,  # of one batch\n        )");
    let cells: Vec<String> = script(2).split_inclusive('\n').map(str::to_owned).collect();
    let notebook = serde_json::json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "markdown", "source": ["words"]},
        {"cell_type": "code", "outputs": [1.0], "source": cells},
    ]});
    let project = Project::new()
        .file("split.py", &split)
        .file("note.ipynb", serde_json::to_string_pretty(&notebook).unwrap());
    project.write("windows.py", &windows);
    let ran = project.run(&["check", "--add-ignore=known before"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ignored 12 findings in 3 files\n"), "{ran:?}");
    let after = project.run(&["check"]);
    assert_eq!(
        (after.code, after.stdout.as_str()),
        (0, "no findings in 3 files; 12 suppressed by comments; 6 training steps judged\n")
    );
    let written = project.read("windows.py");
    let line = "total += loss_0  # trainlint: ignore[retained-graph] -- known before\r\n";
    assert!(written.contains(line) && !written.replace("\r\n", "").contains('\n'), "{written}");
    let written = project.read("split.py");
    assert!(
        written.contains("history.append(  # trainlint: ignore[retained-graph] -- known before\n"),
        "{written}"
    );
    assert!(project.read("note.ipynb").contains(
        "optimizer.step()  # number 2  # trainlint: ignore[missing-zero-grad] -- known before\\n\""
    ));
    let again = project.run(&["check", "--add-ignore"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "ignored 0 findings in 0 files\n"));
    let refused = project.run(&["check", "--add-ignore=two\nlines"]);
    assert!(refused.code == 2 && refused.stderr.contains("a reason is one line"), "{refused:?}");
}

#[test]
fn comments_for_a_hundred_findings_change_nothing_else() {
    let project = repository();
    let texts = || -> Vec<String> {
        (0..25).map(|number| project.read(&format!("p{}/train_{number}.py", number % 5))).collect()
    };
    let before = texts();
    let ran = project.run(&["check", "--add-ignore"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ignored 100 findings in 25 files\n"), "{ran:?}");
    let written = texts();
    assert_eq!(project.run(&["check"]).code, 0);
    assert_eq!(project.run(&["check", "--add-ignore"]).stdout, "ignored 0 findings in 0 files\n");
    assert_eq!(texts(), written);
    let without = |text: &String| -> String {
        text.split_inclusive('\n')
            .map(|line| {
                line.split_once("  # trainlint: ignore[")
                    .map_or(line.to_owned(), |(code, _)| format!("{code}\n"))
            })
            .collect()
    };
    assert_eq!(written.iter().map(without).collect::<Vec<_>>(), before);
}

#[test]
fn a_list_that_is_there_grows() {
    let joined = "optimizer.step(); total += loss_0  # trainlint: ignore[retained-graph] why\n";
    let text = script(0).replace("optimizer.step()\n        total += loss_0\n", joined);
    let project = Project::new().file("train.py", &text);
    let ran = project.run(&["check", "--add-ignore"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let written = project.read("train.py");
    let line = "total += loss_0  # trainlint: ignore[retained-graph, missing-zero-grad] why\n";
    assert!(written.contains(line), "{written}");
}
