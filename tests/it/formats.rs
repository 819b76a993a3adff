//! The formats that services read: the fields that their specifications demand, and what must
//! not be lost on the way.

use crate::harness::Project;
use serde_json::Value;
use std::collections::HashSet;
use trainlint::engine::{Outcome, Problem};
use trainlint::render::{Format, findings, step_summary};
use trainlint::report::{Applicability, Edit, Fix};

const NOTEBOOK: &str = r#"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
    {"cell_type": "markdown", "source": ["words"]},
    {"cell_type": "code", "source": [
        "import torch\n",
        "eps = BECAUSE\n",
        "loss = BAD_DIVISION"]}
]}"#;

/// A script in a folder of a repository, a notebook, and a file that could not be read.
fn outcome() -> (Project, Outcome) {
    let script =
        "import torch\neps = BECAUSE\n\ndef f():\n    'naïve 😀'; BAD_GRADIENT\n    x = 1; BAD_DIVISION\n";
    let project = Project::new()
        .file(".git/HEAD", "")
        .file("sub/a b/train.py", script)
        .file("sub/note.ipynb", NOTEBOOK);
    let request = project.request_in("sub", 1);
    let mut outcome = project.rehearse(&request);
    let path = "bad.py".to_owned();
    outcome.problems.push(Problem { path, message: "is not UTF-8".to_owned(), fatal: false });
    let place = outcome.findings[0].place;
    outcome.findings[0].fix = Some(Fix {
        title: "clear the gradients".to_owned(),
        applicability: Applicability::Unsafe,
        edits: vec![Edit { place, text: "opt.zero_grad()".to_owned() }],
    });
    (project, outcome)
}

fn text(format: Format) -> String {
    String::from_utf8(findings(&outcome().1, format, false)).unwrap()
}

fn json(format: Format) -> Value {
    serde_json::from_str(&text(format)).unwrap()
}

#[test]
fn grouped_names_a_file_once() {
    let expected = "\
a b/train.py
  5:16  error[missing-zero-grad] BAD_GRADIENT breaks the run
  6:12  warning[unsafe-division] BAD_DIVISION breaks the run

note.ipynb
  cell 2:3:8  warning[unsafe-division] BAD_DIVISION breaks the run

";
    assert_eq!(text(Format::Grouped), expected);
}

#[test]
fn json_lines_are_the_findings_of_json() {
    let lines: Vec<Value> =
        text(Format::JsonLines).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), json(Format::Json)["findings"]);
}

#[test]
fn sarif_has_what_code_scanning_asks_for() {
    let log = json(Format::Sarif);
    let run = &log["runs"][0];
    assert_eq!((&log["version"], &run["columnKind"]), (&"2.1.0".into(), &"unicodeCodePoints".into()));
    assert_eq!(run["automationDetails"]["id"], "trainlint/");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        for (pointer, longest) in
            [("/id", 255), ("/name", 255), ("/shortDescription/text", 1024), ("/fullDescription/text", 1024)]
        {
            let said = rule.pointer(pointer).and_then(Value::as_str).unwrap();
            assert!(!said.is_empty() && said.len() <= longest, "{pointer} of {rule}");
        }
        assert!(!rule["help"]["markdown"].as_str().unwrap().starts_with('#'), "{rule}");
        assert!(
            ["error", "warning", "recommendation"]
                .map(Value::from)
                .contains(&rule["properties"]["problem.severity"])
        );
        assert!(["high", "medium", "low"].map(Value::from).contains(&rule["properties"]["precision"]));
        let home = format!("/rules/{}.md", rule["id"].as_str().unwrap());
        let address = rule.get("helpUri").is_none_or(|uri| uri.as_str().unwrap().ends_with(&home));
        assert!(address, "{rule}");
    }
    let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
    let place = &notification["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!((&place["uri"], &place["uriBaseId"]), (&"sub/bad.py".into(), &"%SRCROOT%".into()));
    for result in run["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
}

#[test]
fn a_result_of_sarif_tells_the_way_and_the_place() {
    let log = json(Format::Sarif);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let expected = serde_json::json!({
        "ruleId": "missing-zero-grad",
        "ruleIndex": results[0]["ruleIndex"],
        "level": "error",
        "message": {"text": "BAD_GRADIENT breaks the run.\n[set here](1)\nevery step\nhelp: remove it"},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": "sub/a%20b/train.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 5, "startColumn": 16, "endLine": 5, "endColumn": 28},
            },
            "logicalLocations": [{"fullyQualifiedName": "f", "kind": "function"}],
        }],
        "relatedLocations": [{
            "id": 1,
            "physicalLocation": {
                "artifactLocation": {"uri": "sub/a%20b/train.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 14},
            },
            "message": {"text": "set here"},
        }],
        "codeFlows": results[0]["codeFlows"],
        "partialFingerprints": results[0]["partialFingerprints"],
        "fixes": [{
            "description": {"text": "Clear the gradients."},
            "artifactChanges": [{
                "artifactLocation": {"uri": "sub/a%20b/train.py", "uriBaseId": "%SRCROOT%"},
                "replacements": [{
                    "deletedRegion": {"startLine": 5, "startColumn": 16, "endLine": 5, "endColumn": 28},
                    "insertedContent": {"text": "opt.zero_grad()"},
                }],
            }],
        }],
        "properties": {"confidence": "high"},
    });
    assert_eq!(results[0], expected);
    let steps = results[0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    let lines: Vec<_> =
        steps.iter().map(|step| &step["location"]["physicalLocation"]["region"]["startLine"]).collect();
    assert_eq!(lines, [2, 5], "from where it began to where it goes wrong");
}

#[test]
fn sarif_points_at_the_line_of_the_notebook_file_and_names_the_cell() {
    let log = json(Format::Sarif);
    let result = &log["runs"][0]["results"][2];
    let place = &result["locations"][0];
    assert_eq!(place["physicalLocation"]["region"], serde_json::json!({"startLine": 6, "endLine": 6}));
    assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], "cell 2");
    assert!(result["message"]["text"].as_str().unwrap().starts_with("Cell 2, line 3: BAD_DIVISION breaks"));
}

#[test]
fn fingerprints_stay_when_lines_move_and_tell_copies_apart() {
    let prints = |script: &str| -> Vec<String> {
        let project = Project::new().file("train.py", script);
        let outcome = project.rehearse(&project.request(1));
        let log: Value = serde_json::from_slice(&findings(&outcome, Format::Sarif, false)).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        let own = |result: &Value| result["partialFingerprints"]["trainlint/v1"].as_str().unwrap().to_owned();
        results.iter().map(own).collect()
    };
    let before = prints("import torch\nx = BAD_DIVISION\nx = BAD_DIVISION\n");
    let after = prints("import torch\nimport os\n\n\nx =  BAD_DIVISION  # why\nx = BAD_DIVISION\n");
    assert_eq!(before, after);
    assert_eq!(before.iter().collect::<HashSet<_>>().len(), 2);
}

#[test]
fn github_gets_the_worst_first_and_no_more_than_it_shows() {
    let expected = "\
::error file=sub/a b/train.py,line=5,endLine=5,col=16,endColumn=28,title=missing-zero-grad::\
BAD_GRADIENT breaks the run%0Aa b/train.py:2:7: set here%0Aevery step%0Ahelp: remove it
::warning file=sub/a b/train.py,line=6,endLine=6,col=12,endColumn=24,title=unsafe-division::\
BAD_DIVISION breaks the run%0Aa b/train.py:2:7: set here%0Aevery step%0Ahelp: remove it
::warning file=sub/note.ipynb,line=6,title=unsafe-division (cell 2%2C line 3)::\
BAD_DIVISION breaks the run%0Anote.ipynb:cell 2:2:7: set here%0Aevery step%0Ahelp: remove it
";
    assert_eq!(text(Format::Github), expected);
    let script = format!("import torch\n{}BAD_GRADIENT\n", "BAD_DIVISION\n".repeat(13));
    let project = Project::new().file("train.py", script);
    let outcome = project.rehearse(&project.request(1));
    let shown = String::from_utf8(findings(&outcome, Format::Github, false)).unwrap();
    assert!(shown.starts_with("::error file=train.py,line=15,"), "{shown}");
    assert_eq!(shown.matches("::warning ").count(), 10);
    let rest = "::group::3 findings beyond GitHub's annotation limit\n\
                train.py:12:1: warning[unsafe-division] BAD_DIVISION breaks the run\n";
    assert!(shown.contains(rest) && shown.ends_with("::endgroup::\n"), "{shown}");
}

#[test]
fn the_summary_of_a_step_is_a_table_with_links() {
    let (_project, outcome) = outcome();
    let table = step_summary(&outcome, Some("https://example.org/o/r/blob/abc"));
    let row = "| error | `missing-zero-grad` | \
               [a b/train.py:5:16](https://example.org/o/r/blob/abc/sub/a%20b/train.py#L5) | \
               BAD_GRADIENT breaks the run |\n";
    assert!(table.contains(row), "{table}");
    assert!(step_summary(&outcome, None).contains("| note.ipynb:cell 2:3:8 |"));
}

/// <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>
#[test]
fn gitlab_has_the_fields_that_it_demands() {
    let report = json(Format::Gitlab);
    let entries = report.as_array().unwrap();
    let mut seen = HashSet::new();
    for entry in entries {
        assert!(seen.insert(entry["fingerprint"].as_str().unwrap()), "{entry}");
        assert!(
            ["info", "minor", "major", "critical", "blocker"].map(Value::from).contains(&entry["severity"])
        );
        assert!(entry["location"]["lines"]["begin"].is_u64());
    }
    assert_eq!(entries[0]["description"], "missing-zero-grad: BAD_GRADIENT breaks the run");
    assert_eq!(entries[0]["check_name"], "missing-zero-grad");
    assert_eq!(entries[2]["description"], "unsafe-division: cell 2, line 3: BAD_DIVISION breaks the run");
    assert_eq!(
        entries[2]["location"],
        serde_json::json!({"path": "sub/note.ipynb", "lines": {"begin": 6, "end": 6}})
    );
}

/// `proto/rdf/jsonschema/DiagnosticResult.json` in reviewdog/reviewdog.
#[test]
fn rdjson_counts_bytes() {
    let report = json(Format::Rdjson);
    assert_eq!((&report["source"]["name"], &report["severity"]), (&"trainlint".into(), &"ERROR".into()));
    let first = &report["diagnostics"][0];
    let range = serde_json::json!({"start": {"line": 5, "column": 20}, "end": {"line": 5, "column": 32}});
    assert_eq!(first["location"], serde_json::json!({"path": "sub/a b/train.py", "range": range}));
    assert_eq!(first["suggestions"], serde_json::json!([{"range": range, "text": "opt.zero_grad()"}]));
    assert_eq!(first["code"]["value"], "missing-zero-grad");
    assert_eq!(first["related_locations"][0]["message"], "set here");
    let third = &report["diagnostics"][2];
    assert_eq!(third["location"]["range"], serde_json::json!({"start": {"line": 6}, "end": {"line": 6}}));
    assert!(third["message"].as_str().unwrap().starts_with("cell 2, line 3: "));
}

/// `junit-10.xsd` of jenkinsci/xunit-plugin, which refuses attributes that it does not know.
#[test]
fn junit_fails_a_case_for_each_finding() {
    let report = text(Format::Junit);
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="trainlint" tests="4" failures="3" errors="1">
  <testsuite name="sub/a b/train.py" file="sub/a b/train.py" tests="2" failures="2" errors="0">
    <testcase name="missing-zero-grad at 5:16" classname="sub/a b/train">
      <failure message="BAD_GRADIENT breaks the run" type="error">sub/a b/train.py:5:16
"#;
    assert!(report.starts_with(expected), "{report}");
    assert!(report.contains(r#"<testcase name="unsafe-division at cell 2:3:8""#), "{report}");
    assert!(report.contains(r#"<error message="is not UTF-8" type="unreadable"/>"#), "{report}");
    let clean = Project::new().file("train.py", "import torch\n");
    let clean = clean.rehearse(&clean.request(1));
    let report = String::from_utf8(findings(&clean, Format::Junit, false)).unwrap();
    assert!(report.contains(r#"tests="1" failures="0""#), "{report}");
}

#[test]
fn several_reports_come_from_one_run() {
    let project = Project::new().file("train.py", "import torch\n").file(".git/HEAD", "");
    let args =
        ["check", "--report", "sarif=out/a.sarif", "--report", "junit=out/b.xml", "--output-format", "json"];
    let ran = project.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(serde_json::from_str::<Value>(&ran.stdout).is_ok(), "{ran:?}");
    assert!(serde_json::from_str::<Value>(&project.read("out/a.sarif")).is_ok());
    assert!(project.read("out/b.xml").starts_with("<?xml"));
    let refused = project.run(&["check", "--report", "sarif=train.py/x"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("the report can't be written"), "{refused:?}");
}

#[test]
fn a_step_of_github_gets_its_summary() {
    let project = Project::new().file("train.py", "import torch\n");
    let mut command = project.command(&["check", "--output-format", "github"]);
    let output = command.env("GITHUB_STEP_SUMMARY", "summary.md").output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert_eq!(project.read("summary.md"), "### trainlint\n\nno findings in 1 file\n");
}
