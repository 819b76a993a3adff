//! What the services that review code run: the scripts of the action of GitHub, of the component of GitLab and of
//! the example for reviewdog, with the variables and files that their runners give them.
#![cfg(unix)]

use crate::findings::root;
use crate::harness::{Project, Ran};
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const HELPER: &str = "def clear(optimizer):\n    optimizer.zero_grad()\n";
const BROKEN: &str = "def clear(optimizer):\n    pass\n";

fn script(extra: &str) -> String {
    format!(
        "import torch\nfrom torch import nn\nfrom helper import clear\n\nmodel = nn.Linear(20, 2)\n\
         optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in train_loader:\n    clear(optimizer)\n    \
         loss = nn.functional.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n{extra}"
    )
}

/// A pull request: what the target has, with an old finding, and a commit on top that breaks the helper.
fn pull_request() -> Project {
    let old = "total = 0\nfor x, y in train_loader:\n    optimizer.zero_grad()\n    loss = model(x).mean()\n    \
               loss.backward()\n    optimizer.step()\n    total += loss\n";
    let project = Project::new()
        .file("a b/helper.py", HELPER)
        .file("a b/train.py", script(old))
        .file("run/bin/.keep", "")
        .file(".gitignore", "run/\n");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trainlint"), project.path("run/bin/trainlint")).unwrap();
    git(&project, &["init", "--quiet", "--initial-branch", "main"]);
    commit(&project);
    git(&project, &["checkout", "--quiet", "-b", "change"]);
    project.write("a b/helper.py", BROKEN);
    commit(&project);
    // As GitHub checks a pull request out: merged into its target.
    git(&project, &["checkout", "--quiet", "-b", "merged", "main"]);
    git(&project, &["merge", "--quiet", "--no-ff", "--message", "merge", "change"]);
    project
}

fn git(project: &Project, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]);
    let command = command.args(args).current_dir(project.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(project: &Project) {
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message", "as it is"]);
}

/// `cargo test` asks for no other program: without these, what needs them is not tested.
fn has_programs() -> bool {
    ["git", "bash"].iter().all(|program| Command::new(program).arg("--version").output().is_ok())
}

/// Runs a script as a runner does: in the checkout, with nothing of the tester's but the path.
fn shell(project: &Project, program: &[&str], env: &[(String, String)]) -> Ran {
    let path = format!("{}:{}", project.path("run/bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(project.root()).env_clear().env("PATH", path);
    Ran::of(command.envs(env.iter().cloned()).output().unwrap())
}

/// A step of the action, with these inputs and what a runner sets in a pull request.
fn step(project: &Project, name: &str, inputs: &[(&str, &str)], runner: &[(&str, &str)]) -> Ran {
    let text = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let documents = Yaml::load_from_str(&text).unwrap();
    let action = &documents[0];
    let input = |key: &str| {
        let given = inputs.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        given.unwrap_or_else(|| action["inputs"][key]["default"].as_str().unwrap().to_owned())
    };
    let steps = action["runs"]["steps"].as_vec().unwrap();
    let step = steps.iter().find(|step| step["name"].as_str() == Some(name)).unwrap();
    let mut env: Vec<(String, String)> =
        runner.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    for (key, value) in step["env"].as_mapping().unwrap() {
        let value = value.as_str().unwrap();
        let expression = value.strip_prefix("${{ ").and_then(|value| value.strip_suffix(" }}")).unwrap();
        let value = match expression.strip_prefix("inputs.") {
            Some(name) => input(name),
            None => {
                runner.iter().find(|(name, _)| *name == expression).map_or("", |(_, value)| value).to_owned()
            }
        };
        env.push((key.as_str().unwrap().to_owned(), value));
    }
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    env.push(("GITHUB_ACTION_PATH".to_owned(), text(root())));
    env.push(("RUNNER_TEMP".to_owned(), text(&project.path("run/temp"))));
    env.push(("GITHUB_OUTPUT".to_owned(), text(&project.path("run/output"))));
    env.push(("GITHUB_STEP_SUMMARY".to_owned(), text(&project.path("run/summary"))));
    std::fs::create_dir_all(project.path("run/temp/trainlint")).unwrap();
    let _ = std::os::unix::fs::symlink(project.path("run/bin"), project.path("run/temp/trainlint/bin"));
    // `shell: bash` is this to GitHub.
    let script = step["run"].as_str().unwrap();
    shell(project, &["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], &env)
}

fn check(project: &Project, inputs: &[(&str, &str)]) -> Ran {
    let sha = git(project, &["rev-parse", "HEAD"]);
    let runner = [
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_BASE_REF", "main"),
        ("GITHUB_SHA", sha.as_str()),
        ("GITHUB_ACTIONS", "true"),
    ];
    step(project, "Check", inputs, &runner)
}

/// A program that stands for one that is not to be run.
fn stub(project: &Project, name: &str, script: &str) {
    let path = format!("run/bin/{name}");
    project.write(&path, &format!("#!/bin/sh\n{script}\n"));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path(&path), executable).unwrap();
}

#[test]
fn the_action_annotates_what_a_pull_request_brings() {
    if !has_programs() {
        return;
    }
    let project = pull_request();
    let ran = check(&project, &[]);
    assert_eq!((ran.code, ran.stdout.matches("::error ").count()), (1, 1), "{ran:?}");
    assert!(ran.stdout.starts_with("::error file=a b/train.py,line=11,"), "{ran:?}");
    assert_eq!(ran.stdout.matches("::warning ").count(), 0, "the old finding: {ran:?}");
    assert!(project.read("run/summary").contains("missing-zero-grad"));
    let sarif = project.path("run/temp/trainlint.sarif");
    assert_eq!(project.read("run/output"), format!("sarif={}\n", sarif.display()));
    assert_eq!(results(&project), 1);
    let all = check(&project, &[("diff-base", "none")]);
    assert_eq!((all.code, all.stdout.matches("::warning ").count()), (1, 1), "{all:?}");
    let named = check(&project, &[("diff-base", "HEAD"), ("paths", "a b\n")]);
    assert_eq!((named.code, named.stdout.as_str()), (0, ""), "{named:?}");
}

fn results(project: &Project) -> usize {
    let log: Value = serde_json::from_str(&project.read("run/temp/trainlint.sarif")).unwrap();
    log["runs"][0]["results"].as_array().unwrap().len()
}

#[test]
fn the_action_needs_no_history_but_the_target() {
    if !has_programs() {
        return;
    }
    let origin = pull_request();
    let url = format!("file://{}", origin.root().display());
    for (depth, reachable) in [("2", true), ("1", true), ("1", false)] {
        let clone = Project::new().file("run/bin/.keep", "");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trainlint"), clone.path("run/bin/trainlint")).unwrap();
        git(&clone, &["init", "--quiet"]);
        git(&clone, &["remote", "add", "origin", &url]);
        git(&clone, &["fetch", "--quiet", "--depth", depth, "origin", "merged"]);
        git(&clone, &["checkout", "--quiet", "FETCH_HEAD"]);
        if !reachable {
            git(&clone, &["remote", "set-url", "origin", "file:///nowhere"]);
        }
        let ran = check(&clone, &[]);
        if reachable {
            assert_eq!((ran.code, ran.stdout.matches("::error ").count()), (1, 1), "depth {depth}: {ran:?}");
            assert_eq!(ran.stdout.matches("::warning ").count(), 0, "depth {depth}: {ran:?}");
        } else {
            assert_eq!(ran.code, 2, "{ran:?}");
            assert!(ran.stderr.contains("add `fetch-depth: 2` to actions/checkout"), "{ran:?}");
        }
    }
}

#[test]
fn the_action_takes_its_inputs_for_what_they_are() {
    if !has_programs() {
        return;
    }
    let project = pull_request();
    let scanned = check(&project, &[("code-scanning", "true")]);
    assert_eq!((scanned.code, results(&project)), (0, 2), "code scanning has to see all: {scanned:?}");
    assert!(!scanned.stdout.contains("::error"), "{scanned:?}");
    let evil = check(
        &project,
        &[("args", "--pedantic $(touch run/evil) `touch run/evil`"), ("paths", "$(touch run/evil)")],
    );
    assert!(evil.code == 2 && !project.path("run/evil").exists(), "{evil:?}");
    let flag = check(&project, &[("paths", "--fix")]);
    assert!(flag.stderr.contains("--fix does not exist"), "a path is no flag: {flag:?}");
    let ran = project.run(&["check", "--write-baseline", "known.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let known =
        check(&project, &[("baseline", "known.json"), ("diff-base", "none"), ("min-confidence", "high")]);
    assert_eq!((known.code, known.stdout.as_str()), (0, ""), "{known:?}");
    let wrong = check(&project, &[("min-confidence", "hihg")]);
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `high`?"), "{wrong:?}");
}

#[test]
fn the_action_installs_releases_and_nothing_else_by_number() {
    if !has_programs() {
        return;
    }
    let project = pull_request();
    stub(&project, "python3", "echo \"$@\"");
    let install = |version: &str, reference: &str| {
        step(&project, "Install trainlint", &[("version", version)], &[("github.action_ref", reference)])
    };
    let end = |ran: &Ran| {
        ran.stdout.trim_end().rsplit_once(" --target ").unwrap().1.split_once(' ').unwrap().1.to_owned()
    };
    assert_eq!(end(&install("1.2.3", "main")), "--only-binary :all: trainlint==1.2.3");
    assert_eq!(end(&install("", "v0.4.0")), "--only-binary :all: trainlint==0.4.0");
    assert_eq!(end(&install("", "main")), root().to_str().unwrap());
    for wrong in ["1.0 --index-url https://example.org", "@ https://example.org/x.whl", "latest"] {
        let ran = install(wrong, "main");
        assert!(ran.code == 2 && ran.stdout.contains("the number of a release"), "{ran:?}");
    }
}

/// The script of GitLab's component with these inputs, run as a runner does.
fn gitlab(project: &Project, inputs: &[(&str, &str)], runner: &[(&str, &str)]) -> Ran {
    let text = std::fs::read_to_string(root().join("templates/check.yml")).unwrap();
    let documents = Yaml::load_from_str(&text).unwrap();
    let declared = documents[0]["spec"]["inputs"].as_mapping().unwrap();
    let value = |name: &str| {
        let given = inputs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let default = || &documents[0]["spec"]["inputs"][name]["default"];
        given.unwrap_or_else(|| {
            default().as_bool().map_or_else(|| default().as_str().unwrap().to_owned(), |is| is.to_string())
        })
    };
    let job = &documents[1]["trainlint"];
    let mut env: Vec<(String, String)> =
        runner.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    env.push(("CI_PROJECT_DIR".to_owned(), project.root().to_str().unwrap().to_owned()));
    for (key, text) in job["variables"].as_mapping().unwrap() {
        let mut text = text.as_str().unwrap().replace("$CI_PROJECT_DIR", project.root().to_str().unwrap());
        for (name, _) in declared {
            let name = name.as_str().unwrap();
            let said = format!("$[[ inputs.{name} ]]");
            if text.contains(&said) {
                text = text.replace(&said, &value(name));
            }
        }
        assert!(!text.contains("$[["), "an input that is not declared: {text}");
        env.push((key.as_str().unwrap().to_owned(), text));
    }
    let lines = ["before_script", "script"].into_iter().flat_map(|part| job[part].as_vec().unwrap());
    let script = lines.map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n");
    assert!(!script.contains("$[["), "an input in a script is a command of whoever writes it");
    shell(project, &["sh", "-e", "-c", &script], &env)
}

#[test]
fn the_component_of_gitlab_reports_what_a_merge_request_brings() {
    if !has_programs() {
        return;
    }
    let project = pull_request();
    stub(&project, "python3", "echo \"$@\" > run/installed");
    let base = git(&project, &["rev-parse", "HEAD^1"]);
    let merge_request = [("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str())];
    let version = ("version", "0.1.0");
    let entries = || -> usize {
        let report: Value = serde_json::from_str(&project.read("trainlint-quality.json")).unwrap();
        report.as_array().unwrap().len()
    };
    let ran = gitlab(&project, &[version], &merge_request);
    assert_eq!((ran.code, entries()), (1, 1), "{ran:?}");
    assert!(project.read("run/installed").ends_with("--only-binary :all: trainlint==0.1.0\n"));
    assert!(project.read("trainlint-junit.xml").contains("failures=\"1\""));
    assert!(project.path(".trainlint_cache/findings").exists());
    let all = gitlab(&project, &[version, ("only-new", "false"), ("paths", "a b\n")], &merge_request);
    assert_eq!((all.code, entries()), (1, 2), "{all:?}");
    let branch =
        gitlab(&project, &[version, ("args", "--pedantic --gpu h200"), ("allow-findings", "true")], &[]);
    assert_eq!((branch.code, entries()), (4, 2), "{branch:?}");
    let evil =
        gitlab(&project, &[version, ("args", "$(touch run/evil) *"), ("paths", "`touch run/evil`")], &[]);
    assert!(evil.code == 2 && !project.path("run/evil").exists(), "{evil:?}");
}

#[test]
fn reviewdog_gets_findings_and_hears_of_failures() {
    if !has_programs() {
        return;
    }
    let text = std::fs::read_to_string(root().join("integrations/reviewdog.yml")).unwrap();
    let documents = Yaml::load_from_str(&text).unwrap();
    let steps = documents[0]["jobs"]["trainlint"]["steps"].as_vec().unwrap();
    let step = steps
        .iter()
        .find(|step| step.as_mapping_get("name").and_then(Yaml::as_str) == Some("Review"))
        .unwrap();
    let project = pull_request();
    stub(&project, "reviewdog", "echo \"$@\"; cat > run/read");
    let script = step["run"].as_str().unwrap();
    let run = || shell(&project, &["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], &[]);
    let ran = run();
    assert!(ran.code == 0 && ran.stdout.starts_with("-f=rdjson -reporter=github-pr-review"), "{ran:?}");
    let read: Value = serde_json::from_str(&project.read("run/read")).unwrap();
    assert_eq!(read["diagnostics"].as_array().unwrap().len(), 2);
    project.write("trainlint.toml", "selct = []\n");
    assert_eq!(run().code, 2, "a failure is no review without findings");
}
