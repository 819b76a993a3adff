//! What people and machines get to see of findings.

use crate::harness::Project;
use trainlint::engine::Outcome;
use trainlint::render::{Format, findings, statistics, summary};

fn rehearse(project: Project) -> (Project, Outcome) {
    let outcome = project.rehearse(&project.request(1));
    (project, outcome)
}

fn text(outcome: &Outcome, format: Format, color: bool) -> String {
    String::from_utf8(findings(outcome, format, color)).unwrap()
}

#[test]
fn full_shows_the_code_and_what_explains_it() {
    let script = "import torch\n\neps = BECAUSE\n\n\nloss = x / BAD_DIVISION\n";
    let (_project, outcome) = rehearse(Project::new().file("a/train.py", script));
    let expected = "\
warning[unsafe-division]: BAD_DIVISION breaks the run
  ┌─ a/train.py:6:12
  │
3 │ eps = BECAUSE
  │       ------- set here
  ·
6 │ loss = x / BAD_DIVISION
  │            ^^^^^^^^^^^^
  │
  = every step
  = help: remove it

";
    assert_eq!(text(&outcome, Format::Full, false), expected);
    assert!(
        text(&outcome, Format::Full, true).contains("\x1b[0m\x1b[1m\x1b[38;5;11mwarning[unsafe-division]")
    );
}

#[test]
fn full_counts_the_lines_of_a_notebook_by_cell() {
    let notebook = r#"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "source": ["import torch\n", "eps = BECAUSE"]},
        {"cell_type": "code", "source": ["\n", "loss = BAD_DIVISION"]}
    ]}"#;
    let (_project, outcome) = rehearse(Project::new().file("train.ipynb", notebook));
    let shown = text(&outcome, Format::Full, false);
    assert!(shown.contains("┌─ train.ipynb:cell 2:2:8\n"), "{shown}");
    assert!(shown.contains("2 │ loss = BAD_DIVISION\n"), "{shown}");
    assert!(shown.contains("┌─ train.ipynb:cell 1:2:7\n"), "{shown}");
    assert!(
        text(&outcome, Format::Concise, false)
            .starts_with("train.ipynb:cell 2:2:8: warning[unsafe-division] ")
    );
}

#[test]
fn full_survives_awkward_text() {
    let long = format!("import torch\nx = '{}' + BAD_DIVISION\n", "é".repeat(2000));
    let (_project, outcome) = rehearse(Project::new().file("long.py", long));
    let shown = text(&outcome, Format::Full, false);
    assert!(shown.contains("= at long.py:2:2010, in a line too long to show\n"), "{shown}");
    assert!(shown.len() < 500, "{shown}");

    let (_project, outcome) =
        rehearse(Project::new().file("esc.py", "import torch\r\n'\x1b[2J\u{85}'; BAD_DIVISION\r\n"));
    let shown = text(&outcome, Format::Full, false);
    assert!(!shown.contains('\x1b') && !shown.contains('\u{85}') && !shown.contains('\r'), "{shown:?}");
    assert!(shown.contains("esc.py:2:10"), "{shown}");
}

#[test]
fn concise_has_one_line_a_finding() {
    let (_project, outcome) =
        rehearse(Project::new().file("train.py", "import torch\nBAD_GRADIENT; BAD_DIVISION\n"));
    let expected = "\
train.py:2:1: error[missing-zero-grad] BAD_GRADIENT breaks the run
train.py:2:15: warning[unsafe-division] BAD_DIVISION breaks the run
";
    assert_eq!(text(&outcome, Format::Concise, false), expected);
}

#[test]
fn json_has_every_field() {
    let (_project, outcome) =
        rehearse(Project::new().file("train.py", "import torch\nBECAUSE\nBAD_GRADIENT\nMERE_NOTE\n"));
    let value: serde_json::Value = serde_json::from_slice(&findings(&outcome, Format::Json, true)).unwrap();
    let expected = serde_json::json!({
        "version": 1,
        "findings": [{
            "rule": "missing-zero-grad", "path": "train.py", "line": 3, "column": 1, "end_line": 3, "end_column": 13,
            "cell": null, "severity": "error", "confidence": "high", "message": "BAD_GRADIENT breaks the run",
            "notes": ["every step"], "help": "remove it",
            "related": [{
                "path": "train.py", "line": 2, "column": 1, "end_line": 2, "end_column": 8, "cell": null,
                "message": "set here",
            }],
            "fix": null,
        }],
        "hidden": 1,
        "suppressed": 0,
        "known": 0,
        "files": {"checked": 1, "skipped": 0, "incomplete": 0},
        "coverage": { "training_steps": 0, "by_contract": [], "not_judged": [] },
        "errors": [],
    });
    assert_eq!(value, expected);
}

#[test]
fn the_summary_says_what_is_not_shown() {
    let script = "import torch\nBAD_GRADIENT\nBAD_DIVISION\nMERE_NOTE\nMERE_GUESS\nENDLESS\n";
    let (_project, outcome) = rehearse(
        Project::new()
            .file("a.py", script)
            .file("b.py", "import torch\nBAD_DIVISION # trainlint: ignore[unsafe-division]\n"),
    );
    assert_eq!(
        summary(&outcome, false),
        "found 1 error and 1 warning in 1 of 2 files; 2 findings hidden (`--pedantic` shows notes and low-confidence findings); \
         1 suppressed by comments; 1 file only partly analyzed\n"
    );
    let counted = "1  missing-zero-grad  gradients are never zeroed between optimizer steps\n\
                   1  unsafe-division    a denominator in the loss can be zero\n";
    assert_eq!(statistics(&outcome, false), counted);
}

#[test]
fn ten_thousand_findings_are_shown_at_once() {
    let script = format!("import torch\n{}", "x = BAD_DIVISION\n".repeat(10_000));
    let (_project, outcome) = rehearse(Project::new().file("many.py", script));
    let began = std::time::Instant::now();
    let shown = findings(&outcome, Format::Full, true);
    assert_eq!(outcome.findings.len(), 10_000);
    assert!(shown.len() > 1_000_000);
    // A quadratic renderer takes minutes; a good one far less than this on any machine.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

const SCRIPT: &str = "\
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
";

#[cfg(unix)]
#[test]
fn what_is_shown_of_files_steers_no_terminal() {
    let script =
        format!("import torch\nx = \"\u{1b}[2J\u{202e}\"\ny = {{\"k\u{1b}[2J\": 1}}\nprint(x, y)\n{SCRIPT}");
    let project = Project::new()
        .file("a\u{1b}[2J\u{202e}b\nc.py", &script)
        .file("::stop-commands::/train.py", &script)
        .file("train.py", &script);
    let runs: [&[&str]; 6] = [
        &["check", "--show-files"],
        &["check", "--show-settings"],
        &["reveal", "train.py:2"],
        &["reveal", "train.py:4"],
        &["reveal", "a\u{1b}[2J\u{202e}b\nc.py:4"],
        &["reveal", "::stop-commands::/train.py:4"],
    ];
    for args in runs {
        let ran = project.run(args);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{args:?}: {ran:?}");
        assert!(!ran.stdout.lines().any(|line| line.trim_start().starts_with("::")), "{args:?}: {ran:?}");
    }
    // What is applied needs each byte of a file; names are quoted as git quotes them.
    let diff = project.run(&["check", "--diff"]).stdout;
    let names: Vec<&str> = diff.lines().filter(|line| line.starts_with("--- ")).collect();
    let quoted = r#"--- "a/a\033[2J\342\200\256b\012c.py""#;
    assert_eq!(names, ["--- a/::stop-commands::/train.py", quoted, "--- a/train.py"]);
}
