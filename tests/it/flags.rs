//! Flags and commands that say what is shown, what fails a run, and where it goes.

use crate::harness::Project;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// An error (softmax twice), a warning (a graph that is kept) and a safe fix.
const SCRIPT: &str = "import torch\nfrom torch import nn\n\nmodel = nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=1))\n\
    criterion = nn.CrossEntropyLoss()\noptimizer = torch.optim.Adam(model.parameters())\ntotal = 0\n\
    for x, y in loader:\n    optimizer.zero_grad()\n    loss = criterion(model(x), y)\n    loss.backward()\n    \
    optimizer.step()\n    total += loss\n";

fn project() -> Project {
    Project::new().file("train.py", SCRIPT)
}

fn concise(project: &Project, args: &[&str]) -> (i32, Vec<String>) {
    let ran = project.run(&[&["check", "--output-format", "concise", "--quiet"], args].concat());
    let label = |line: &str| line.split(' ').nth(1).unwrap_or_default().to_owned();
    (ran.code, ran.stdout.lines().map(label).collect())
}

#[test]
fn severities_are_shown_changed_and_fail_the_run_as_asked() {
    let project = project();
    let softmax = "error[softmax-before-cross-entropy]".to_owned();
    let graph = "warning[retained-graph]".to_owned();
    assert_eq!(concise(&project, &[]), (1, vec![softmax.clone(), graph.clone()]));
    assert_eq!(concise(&project, &["--min-severity", "error"]), (1, vec![softmax.clone()]));
    let others = ["--ignore", "softmax-before-cross-entropy"];
    assert_eq!(concise(&project, &[&others[..], &["--fail-on", "error"]].concat()), (0, vec![graph]));
    let raised = concise(&project, &["--config", "severity.memory=\"error\"", "--fail-on", "error"]);
    assert_eq!(raised, (1, vec![softmax.clone(), "error[retained-graph]".to_owned()]));
    project.write("trainlint.toml", "[severity]\nALL = \"error\"\nretained-graph = \"note\"\n");
    assert_eq!(concise(&project, &[]), (1, vec![softmax]));
    let summary = project.run(&["check", "--min-severity", "error", "--isolated"]).stdout;
    assert!(summary.contains("; 1 finding below the minimum severity or confidence"), "{summary}");
}

#[test]
fn keys_of_the_command_line_are_over_those_of_files_and_below_flags() {
    let project = project();
    project.write("trainlint.toml", "ignore = [\"memory\"]\n");
    assert_eq!(concise(&project, &[]).1.len(), 1);
    assert_eq!(concise(&project, &["--config", "extend-select=[\"memory\"]"]).1.len(), 2);
    let flag = ["--config", "select=[\"memory\"]", "--select", "losses"];
    assert_eq!(concise(&project, &flag).1, ["error[softmax-before-cross-entropy]"]);
    let shown = project.run(&["check", "--show-settings", "--config", "target.gpu=\"h100\""]).stdout;
    assert!(shown.contains("target = \"h100\" (80 GiB)"), "{shown}");
}

#[test]
fn output_goes_where_it_is_sent_and_quiet_says_findings_only() {
    let project = project();
    let ran = project.run(&["check", "-o", "out/report.txt", "--color", "always"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let report = project.text("out/report.txt");
    assert!(report.contains("found 1 error and 1 warning") && !report.contains('\x1b'), "{report}");
    let json = project.run(&["check", "--output-file", "a.json", "--output-format", "json"]);
    assert_eq!((json.code, json.stdout.as_str()), (1, ""));
    assert!(serde_json::from_str::<serde_json::Value>(&project.text("a.json")).is_ok());
    let quiet = project.run(&["check", "-q", "--set", "no_such_name=1"]);
    assert!(!quiet.stdout.contains("found 1 error") && quiet.stderr.is_empty(), "{quiet:?}");
}

#[test]
fn a_value_that_no_script_has_is_told() {
    let project = Project::new().file("a.py", "import torch\nbatch_size = 3\n");
    let warned = |name: &str| project.run(&["check", "--set", name]).stderr;
    assert_eq!(warned("batch_size=4"), "");
    assert_eq!(warned("cfg.batch-size=4"), "");
    let near =
        "warning: `batch_szie` has no effect: no analyzed script has this name; did you mean `batch_size`?\n";
    assert_eq!(warned("batch_szie=4"), near);
    assert!(warned("learning_rate=4").ends_with("; values that can be set: batch_size\n"));
}

#[test]
fn fixes_are_limited_listed_and_counted() {
    let project = project();
    let kept = project.run(&[
        "check",
        "--fix",
        "--unfixable",
        "retained-graph",
        "--exit-non-zero-on-fix",
        "--exit-zero",
    ]);
    assert_eq!(kept.code, 2, "two flags that contradict each other: {kept:?}");
    let kept = project.run(&["check", "--diff", "--unfixable", "memory"]);
    assert_eq!((kept.code, kept.stdout.as_str()), (0, ""), "{kept:?}");
    assert_eq!(project.run(&["check", "--diff", "--fixable", "losses"]).code, 0);
    assert_eq!(project.run(&["check", "--diff", "--fixable", "memory"]).code, 1);
    let fixed =
        project.run(&["check", "--fix", "--show-fixes", "--ignore", "losses", "--exit-non-zero-on-fix"]);
    assert_eq!(fixed.code, 1, "{fixed:?}");
    assert!(fixed.stdout.ends_with("fixed 1 finding\n  train.py: 1 retained-graph\n"), "{}", fixed.stdout);
}

#[test]
fn suppressions_name_groups_and_may_be_passed_over() {
    let group = SCRIPT.replace("total += loss", "total += loss  # trainlint: ignore[memory]");
    let noqa = SCRIPT.replace("total += loss", "total += loss  # noqa: F401, retained-graph");
    let others = SCRIPT.replace("total += loss", "total += loss  # noqa: too-many-lines, E501");
    let typo = SCRIPT.replace("total += loss", "total += loss  # trainlint: ignore[memori]");
    let project = Project::new().file("a.py", group).file("b.py", noqa);
    assert_eq!(concise(&project, &[]).1.len(), 2, "one each");
    assert_eq!(concise(&project, &["--ignore-suppressions"]).1.len(), 4);
    let project = Project::new().file("c.py", others);
    assert_eq!(concise(&project, &[]).1.len(), 2);
    let project = Project::new().file("d.py", typo);
    assert!(project.run(&["check"]).stdout.contains("did you mean `memory`?"));
}

#[test]
fn groups_and_keys_are_explained() {
    let project = Project::new();
    let group = project.run(&["rule", "memory"]).stdout;
    assert!(group.lines().any(|line| line.starts_with("retained-graph ")), "{group}");
    let page = project.run(&["rule", "retained-graph", "--output-format", "json"]).stdout;
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert!(page[0]["page"].as_str().unwrap().starts_with("# retained-graph"), "{page}");
    let keys = project.run(&["config"]).stdout;
    for key in trainlint::engine::config::KEYS {
        assert!(keys.lines().any(|line| line.starts_with(&format!("{key} "))), "{key}");
    }
    assert!(project.run(&["config", "target.gpu"]).stdout.contains("\"rtx4090\""));
    assert!(
        project.run(&["config", "min-severity"]).stdout.contains("value: \"error\", \"warning\", \"note\"")
    );
}

#[test]
fn a_first_configuration_is_written_once() {
    let project = Project::new().file("train.py", SCRIPT);
    let ran = project.run(&["init"]);
    assert!(ran.stdout.starts_with("wrote trainlint.toml;"), "{ran:?}");
    assert_eq!(project.run(&["check", "--show-settings"]).code, 0);
    assert!(project.run(&["init"]).stderr.contains("trainlint.toml exists already"));
    let project = Project::new().file("pyproject.toml", "[project]\nname = \"x\"");
    assert_eq!(project.run(&["init"]).code, 0);
    assert!(project.text("pyproject.toml").starts_with("[project]\nname = \"x\"\n\n[tool.trainlint]\n"));
    assert!(project.run(&["check", "--show-settings"]).stdout.starts_with("# from pyproject.toml\n"));
    assert!(project.run(&["init"]).stderr.contains("has a section `[tool.trainlint]` already"));
}

#[test]
fn a_first_configuration_excludes_what_git_calls_vendored() {
    let git = |project: &Project, args: &[&str]| {
        Command::new("git")
            .args(args)
            .current_dir(project.root())
            .output()
            .is_ok_and(|ran| ran.status.success())
    };
    let project = Project::new()
        .file(".gitattributes", "third_party/** linguist-vendored\n")
        .file("third_party/a/x.py", "")
        .file("third_party/y.py", "")
        .file("own.py", "");
    if !git(&project, &["init", "--quiet"]) || !git(&project, &["add", "--all"]) {
        return;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    assert!(project.command(&["init"]).env("PATH", path).status().unwrap().success());
    let text = project.text("trainlint.toml");
    assert!(text.contains("extend-exclude = [\"./third_party\"]"), "{text}");
    assert_eq!(project.listed(&[]), ["own.py"]);
}

#[test]
fn changes_are_those_of_the_repository_of_the_path() {
    let git = |project: &Project, args: &[&str]| {
        let name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", "repo"];
        Command::new("git")
            .args(name)
            .args(args)
            .current_dir(project.root())
            .output()
            .is_ok_and(|ran| ran.status.success())
    };
    let project = Project::new().file("repo/train.py", "import torch\n");
    let is_set = git(&project, &["init", "--quiet"])
        && git(&project, &["add", "--all"])
        && git(&project, &["commit", "--quiet", "--message", "one"]);
    if !is_set {
        return;
    }
    project.write("repo/train.py", SCRIPT);
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = |asked: &str| {
        let args = ["check", "--output-format", "concise", "-q", "--diff-base", "HEAD", asked];
        crate::harness::Ran::of(project.command(&args).env("PATH", &path).output().unwrap())
    };
    let found = ran("repo");
    assert_eq!((found.code, found.stdout.lines().count()), (1, 2), "{found:?}");
    assert!(found.stdout.starts_with("repo/train.py:"), "{found:?}");
    project.write("other/a.py", SCRIPT);
    assert!(ran("other").stderr.contains("`--diff-base` needs a git repository"), "{:?}", ran("other"));
}

#[test]
fn plans_and_results_come_through_pipes() {
    let project = project();
    let plan = project.run(&["plan", "--samples", "64"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    let piped = project.run_with(&["plan", "-", "--samples", "64"], SCRIPT);
    assert!(piped.code == 0 && piped.stdout.contains("softmax-before-cross-entropy"), "{piped:?}");
    let result = project.run_with(&["replay", "-", "--backend", "cpu"], &plan.stdout);
    assert_eq!(result.code, 0, "{}", result.stderr);
    let report = project.run_with(&["report", "-"], &result.stdout);
    assert!(report.code == 0 && report.stdout.contains("retained-graph"), "{report:?}");
}

/// Ended by the test, as a user would.
struct Watch(std::process::Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_change_is_noticed_while_watching() {
    let project = project();
    let mut command = project.command(&["check", "--watch", "--output-format", "concise", "--no-cache"]);
    let mut watch = Watch(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("found")).collect();
    assert_eq!(first.len(), 2);
    let mut told = BufReader::new(watch.0.stderr.take().unwrap());
    let mut waiting = String::new();
    told.read_line(&mut waiting).unwrap();
    assert_eq!(waiting, "watching for changes; stop with Ctrl-C\n");
    project.write("train.py", &SCRIPT.replace("total += loss", "total += loss.item()"));
    let second: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("found")).collect();
    assert_eq!(second.iter().filter(|line| line.starts_with("train.py")).count(), 1, "{second:?}");
}
