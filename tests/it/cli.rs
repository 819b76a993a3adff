//! The binary as its users see it: exit codes, streams, pipes.

use crate::harness::Project;
use std::process::Stdio;
use trainlint::cli::manual;

#[test]
fn a_clean_run_exits_with_zero() {
    let project = Project::new().file("train.py", "import torch\n").file("tool.py", "import json\n");
    let ran = project.run(&["check"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "no findings in 1 file (1 without a known framework skipped)\n");
    assert_eq!(Project::new().run(&["check"]).stdout, "no Python files found\n");
}

#[test]
fn machine_formats_have_stdout_to_themselves() {
    let project = Project::new().file("train.py", "import torch\n").file("bad.py", b"import torch\n\xff\n");
    let ran = project.run(&["check", "--output-format", "json", "--color", "always"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["errors"][0]["path"], "bad.py");
    assert!(ran.stderr.contains("bad.py: "), "{ran:?}");
}

#[test]
fn what_can_not_be_read_fails_the_run_only_if_it_was_named() {
    let project = Project::new().file("train.py", "import torch\n").file("bad.py", b"import torch\n\xff\n");
    assert_eq!(project.run(&["check", "."]).code, 0);
    let named = project.run(&["check", "bad.py", "train.py"]);
    assert_eq!(named.code, 2);
    assert_eq!(named.stderr.lines().count(), 1, "{named:?}");
    let alone = Project::new().file("bad.py", b"import torch\n\xff\n").run(&["check"]);
    assert_eq!(alone.code, 2, "{alone:?}");
}

#[test]
fn a_missing_path_is_a_failure_with_a_hint() {
    let project = Project::new().file("src/train.py", "");
    let ran = project.run(&["check", "src/trian.py"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(ran.stderr, "error: src/trian.py does not exist; did you mean src/train.py?\n");
}

#[test]
fn wrong_flags_are_failures_that_teach() {
    let project = Project::new();
    for (args, said) in [
        (&["check", "--select", "missing-zerograd"][..], "did you mean `missing-zero-grad`?"),
        (&["check", "--gpu", "rtx490"], "did you mean `rtx4090`?"),
        (&["check", "--gpu-memory", "24"], "write a number and a unit, such as `24GiB`"),
        (&["check", "--min-confidence", "hihg"], "did you mean `high`?"),
        (&["check", "--set", "batch_size"], "such as `batch_size=64`"),
        (&["check", "--per-file-ignores", "tests"], "such as `tests/**:memory`"),
        (&["check", "--isolated", "--config", "x.toml"], "cannot be used with"),
        (&["check", "--config", "x.toml"], "x.toml: can't be read"),
        (&["check", "--otput-format", "json"], "--output-format"),
        (&["check", "-", "a.py"], "can't be combined"),
        (&["check", "--stdin-filename", "a.py", "b.py"], "give `-` instead"),
        (&["check", "--format", "json"], "tip: `--output-format FORMAT` sets"),
        (&["check", "-s"], "tip: `--quiet` prints findings only"),
        (&["rules", "--json"], "tip: `--output-format json` writes JSON"),
        (&["train.py"], "tip: `trainlint check train.py` checks it"),
        (&["lint"], "tip: `trainlint check` does that"),
        (&["chekc"], "similar subcommand exists: 'check'"),
        (&["check", "--select", "E501"], "`trainlint rules` lists the rules"),
        (&["check", "--gpu", "4090"], "did you mean `rtx4090`?"),
        (&["check", "src/*.py"], "src/*.py does not exist; a folder stands for all scripts in it"),
        (&["explain", "unused-supression"], "did you mean `unused-suppression`?"),
        (&["check", "--min-severity", "eror"], "did you mean `error`?"),
        (
            &["check", "--config", "selct=[]"],
            "`--config selct=[]`: unknown key `selct`; did you mean `select`?",
        ),
        (&["check", "--config", "extend=\"a.toml\""], "can't be set by `--config KEY=VALUE`"),
        (&["check", "--config", "a.toml", "--config", "b.toml"], "names a second file, b.toml"),
        (&["check", "--quiet", "--verbose"], "cannot be used with"),
        (&["check", "--watch", "--fix"], "cannot be used with"),
        (&["config", "min-severty"], "did you mean `min-severity`?"),
    ] {
        let ran = project.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("as a value"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_failure_is_said_once() {
    let ran = Project::new().run(&["check", "--config", "none.toml"]);
    assert_eq!((ran.code, ran.stderr.matches("none.toml").count()), (2, 1), "{ran:?}");
}

#[test]
fn stdin_is_a_script_under_the_name_it_is_given() {
    let project = Project::new().file("sub/trainlint.toml", "pedantic = true\n");
    let ran = project.run_with(&["check", "-", "--stdin-filename", "sub/x.py"], "import torch\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "no findings in 1 file\n"));
    assert_eq!(project.run_with(&["check", "-"], "import torch\n").code, 0);
    let shown = project.run(&["check", "--show-settings", "--stdin-filename", "sub/x.py"]).stdout;
    assert!(shown.contains("pedantic = true"), "{shown}");
}

#[test]
fn rules_are_listed_and_explained() {
    let project = Project::new();
    let list = project.run(&["rules"]);
    assert!(list.stdout.lines().any(|line| line.starts_with("unused-suppression ")), "{list:?}");
    let rules: serde_json::Value =
        serde_json::from_str(&project.run(&["rules", "--output-format", "json"]).stdout).unwrap();
    assert_eq!(rules.as_array().unwrap().len(), list.stdout.lines().count());
    let page = project.run(&["explain", "unused-suppression"]);
    assert!(page.stdout.starts_with("unused-suppression\n\n"), "{page:?}");
    assert!(
        project.run(&["explain", "unused-suppression", "--color", "always"]).stdout.starts_with("\x1b[1m")
    );
    assert_eq!(project.run(&["version"]).stdout, concat!("trainlint ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let project = Project::new();
    let mut child = project
        .command(&["rules", "--output-format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_panic_in_one_file_leaves_the_others_alone() {
    let project =
        Project::new().file("a.py", "import torch\nPANIC\n").file("b.py", "import torch\nBAD_DIVISION\n");
    let outcome = project.rehearse(&project.request(2));
    assert_eq!(outcome.findings.len(), 1);
    assert_eq!(outcome.files.checked, 1);
    let problem = &outcome.problems[0];
    assert!(problem.path == "a.py" && problem.message.contains("the rehearsal fell over"), "{problem:?}");
    assert!(outcome.failed());
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let mut project = Project::new();
    for number in 0..40 {
        let script = format!("import torch\n{}BAD_GRADIENT; BAD_DIVISION\n", "\n".repeat(number % 7));
        project = project.file(&format!("p{}/f{number}.py", number % 3), script);
    }
    let bytes = |threads| {
        let outcome = project.rehearse(&project.request(threads));
        assert_eq!(outcome.findings.len(), 80);
        trainlint::render::findings(&outcome, trainlint::render::Format::Full, false)
    };
    let alone = bytes(1);
    assert_eq!(alone, bytes(4));
    assert_eq!(alone, bytes(4));
}

#[test]
fn the_page_on_the_command_line_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, manual()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == manual(), "docs/cli.md is not current: run `UPDATE=1 cargo test`");
}

#[test]
fn shells_complete_rules_and_the_manual_has_pages() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish", "nushell"] {
        let ran = project.run(&["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("diff-base"), "{shell}: {}", ran.stderr);
        // The other two complete no values.
        let has_rules = ran.stdout.contains("missing-zero-grad");
        assert_eq!(has_rules, ["bash", "zsh", "fish", "nushell"].contains(&shell), "{shell}");
        assert!(!ran.stdout.contains("replay-worker"), "{shell} shows what is hidden");
    }
    let page = project.run(&["man"]).stdout;
    assert!(page.contains(".TH trainlint 1") && page.contains("trainlint\\-check(1)"), "{page}");
    let page = project.run(&["man", "check"]).stdout;
    assert!(page.contains(".TH trainlint-check 1") && page.contains("\\-\\-output\\-format"), "{page}");
    let unknown = project.run(&["man", "chekc"]);
    assert_eq!(
        (unknown.code, unknown.stderr.as_str()),
        (2, "error: there is no command `chekc`; did you mean `check`?\n")
    );
}
