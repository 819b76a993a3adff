//! Which files are checked, and under which settings.

use crate::harness::Project;
use trainlint::engine::config::{KEYS, TARGET_KEYS, schema};
use trainlint::engine::settings::DEFAULT_EXCLUDE;

fn rules(outcome: &trainlint::engine::Outcome) -> Vec<&'static str> {
    outcome.findings.iter().map(|finding| finding.rule).collect()
}

const BOTH: &str = "import torch\nBAD_GRADIENT\nBAD_DIVISION\n";

#[test]
fn the_walk_leaves_out_what_is_ignored_or_excluded() {
    let project = Project::new()
        .file(".gitignore", "generated/\n")
        .file("pyproject.toml", "[tool.trainlint]\nextend-exclude = [\"legacy\", \"data/*.py\"]\n")
        .file("b.py", "")
        .file("a.ipynb", "{}")
        .file("c.pyi", "")
        .file("notes.txt", "")
        .file("generated/g.py", "")
        .file(".venv/lib/v.py", "")
        .file("legacy/l.py", "")
        .file("data/d.py", "")
        .file("data/deep/e.py", "");
    assert_eq!(project.listed(&[]), ["a.ipynb", "b.py", "data/deep/e.py"]);
    assert_eq!(project.listed(&["b.py", ".", "./b.py"]), ["a.ipynb", "b.py", "data/deep/e.py"]);
    assert_eq!(project.listed(&["legacy/l.py", ".venv"]), [".venv/lib/v.py", "legacy/l.py"]);
    assert_eq!(project.listed(&["--force-exclude", "legacy/l.py", ".venv", "b.py"]), ["b.py"]);
    assert_eq!(project.listed(&["--exclude", "data,*.ipynb"]), [".venv/lib/v.py", "b.py"]);
}

#[test]
fn the_closest_file_wins() {
    let project = Project::new()
        .file("pyproject.toml", "[tool.trainlint]\nignore = [\"numerics\"]\n")
        .file("a.py", BOTH)
        .file("sub/trainlint.toml", "select = [\"numerics\"]\n")
        .file("sub/pyproject.toml", "[tool.other]\n")
        .file("sub/deep/b.py", BOTH);
    assert_eq!(rules(&project.rehearse(&project.request(2))), ["missing-zero-grad", "unsafe-division"]);
    let mut isolated = project.request(2);
    isolated.origin = trainlint::engine::configs::Origin::Isolated;
    assert_eq!(rules(&project.rehearse(&isolated)).len(), 4);
    let mut fixed = project.request(2);
    fixed.origin = trainlint::engine::configs::Origin::File("sub/trainlint.toml".into());
    assert_eq!(rules(&project.rehearse(&fixed)), ["unsafe-division", "unsafe-division"]);
}

#[test]
fn a_file_extends_another_and_overrules_it() {
    let project = Project::new()
        .file("base/trainlint.toml", "ignore = [\"gradients\"]\npedantic = true\n[values]\nn = 1\n")
        .file(
            "trainlint.toml",
            "extend = \"base/trainlint.toml\"\nextend-select = [\"missing-zero-grad\"]\n[values]\nn = 2\n",
        )
        .file("a.py", BOTH);
    let shown = project.run(&["check", "--show-settings"]).stdout;
    assert!(shown.starts_with("# from base/trainlint.toml, trainlint.toml\n"), "{shown}");
    assert!(shown.contains("\"missing-zero-grad\"") && !shown.contains("misplaced-zero-grad"), "{shown}");
    assert!(shown.contains("pedantic = true\n") && shown.contains("values.n = Int(2)\n"), "{shown}");

    let circle = Project::new().file("trainlint.toml", "extend = \"./trainlint.toml\"").run(&["check"]);
    assert_eq!(circle.code, 2);
    assert!(circle.stderr.contains("`extend` leads back to"), "{circle:?}");
}

#[test]
fn a_wrong_configuration_stops_the_run_with_its_place() {
    let project = Project::new()
        .file("pyproject.toml", "[tool.trainlint]\nselect = []\nignroe = []\n")
        .file("a.py", "");
    let ran = project.run(&["check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.ends_with("pyproject.toml:3:1: unknown key `ignroe`; did you mean `ignore`?\n"),
        "{ran:?}"
    );
}

#[test]
fn files_can_be_freed_of_rules() {
    let project = Project::new()
        .file(
            "trainlint.toml",
            "[per-file-ignores]\n\"tests/**\" = [\"ALL\"]\n\"demo_*.py\" = [\"gradients\"]\n",
        )
        .file("tests/a/b.py", BOTH)
        .file("x/demo_1.py", BOTH);
    assert_eq!(rules(&project.rehearse(&project.request(1))), ["unsafe-division"]);
}

#[test]
fn comments_silence_and_are_reported_when_they_do_not() {
    let script = "import torch\n\
        BAD_DIVISION  # trainlint: ignore[unsafe-division]\n\
        x = 1  # trainlint: ignore[retained-graph]\n\
        y = 1  # trainlint: ignore[retained-graf]\n";
    let project = Project::new().file("a.py", script).file("b.py", format!("{script}ENDLESS\n"));
    let outcome = project.rehearse(&project.request(1));
    assert_eq!(outcome.suppressed, 2);
    let messages: Vec<&str> = outcome.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`ignore[retained-graph]` suppresses nothing",
            "unknown rule `retained-graf`: this comment suppresses nothing",
        ]
    );
    assert_eq!(outcome.findings[1].help, ["did you mean `retained-graph`?"]);
}

#[test]
fn the_page_on_configuration_names_every_key() {
    let page = include_str!("../../docs/configuration.md");
    for key in KEYS.iter().chain(TARGET_KEYS).chain(DEFAULT_EXCLUDE) {
        assert!(page.contains(&format!("`{key}`")), "docs/configuration.md does not explain `{key}`");
    }
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let read = trainlint::engine::config::parse_pyproject("pyproject.toml".as_ref(), block);
        assert!(matches!(read, Ok(Some(_))), "{read:?}\n{block}");
    }
}

#[test]
fn the_schema_of_the_configuration_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/trainlint.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, schema()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == schema(), "trainlint.schema.json is not current: run `UPDATE=1 cargo test`");
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    let keys = |pointer: &str| -> Vec<String> {
        let mut keys: Vec<String> =
            value.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys("/properties"), KEYS, "the schema and the keys that are read");
    assert_eq!(keys("/properties/target/properties"), TARGET_KEYS);
}

/// A folder that asks for any release of a package is not held to what the folders above it ask for.
#[test]
fn the_closest_requirements_decide() {
    let script = "import torch\nfrom torch import nn\nmodel = torch.compile(nn.Linear(3, 1))\n";
    let project = Project::new()
        .file("requirements.txt", "torch==1.13.1\n")
        .file("old/train.py", script)
        .file("new/train.py", script)
        .file("new/requirements.txt", "torch\ntqdm\n");
    let ran = project.run(&["check", "--isolated", "--exit-zero", "--output-format", "concise"]);
    let found: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("unknown-api")).collect();
    assert_eq!(found.len(), 1, "{ran:?}");
    assert!(found[0].starts_with("old/train.py:3:"), "{found:?}");
}
