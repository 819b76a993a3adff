//! What SECURITY.md promises, watched from outside: whatever trainlint asks of the system goes through strace. Skipped
//! with a word where there is no strace, or where it may not watch.

use crate::harness::Project;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCRIPT: &str = "\
import os
os.system('touch ran')
open('ran', 'w').write('x')
__import__('socket').create_connection(('example.org', 80))
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
";

/// The calls that would break a promise, and those by which files come to be.
const WATCHED: &str = "trace=%network,%process,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,truncate,chmod,fchmodat,chown,fchownat";

fn strace(project: &Project) -> Option<Command> {
    let mut command = Command::new("strace");
    command.args(["--follow-forks", "--string-limit=400", "-e", WATCHED, "-o"]).arg(log_of(project));
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    assert!(works || std::env::var_os("TRAINLINT_NEEDS_STRACE").is_none(), "strace can't watch here");
    if !works {
        println!("skipped: strace is not installed, or may not watch");
    }
    works.then_some(command)
}

/// Beside the project, which a check would walk through.
fn log_of(project: &Project) -> PathBuf {
    project.root().with_extension("strace")
}

/// The calls of a run, with what they were given and came to.
fn calls(project: &Project, args: &[&str]) -> Option<Vec<String>> {
    let mut command = strace(project)?;
    command.arg(env!("CARGO_BIN_EXE_trainlint")).args(args).current_dir(project.root());
    // Who has no home is looked up by the system, which may ask a service of the machine.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nowhere");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
    let text = std::fs::read_to_string(log_of(project)).unwrap();
    std::fs::remove_file(log_of(project)).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

fn called(line: &str) -> &str {
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    call.split('(').next().unwrap_or_default()
}

/// The first path of a call, in quotes.
fn path(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

/// What was started, but for trainlint itself.
fn started(calls: &[String]) -> BTreeSet<String> {
    let execs = calls.iter().filter(|line| called(line).starts_with("execve") && !line.contains("= -1 "));
    let programs = execs.filter_map(|line| path(line)).map(|path| Path::new(path).file_name().unwrap());
    programs.map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "trainlint").collect()
}

/// Where files were made, changed or removed, and it worked.
fn written(calls: &[String]) -> Vec<String> {
    let opens = |line: &&String| {
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
        !called(line).starts_with("open") || writes
    };
    let is_file = |line: &&String| {
        let call = called(line);
        let process = ["exec", "clone", "fork", "vfork", "wait", "exit", "kill", "+++", "---", "<..."];
        !process.iter().any(|one| call.starts_with(one)) && !line.contains("= -1 ") && path(line).is_some()
    };
    calls.iter().filter(is_file).filter(opens).filter_map(|line| Some(path(line)?.to_owned())).collect()
}

fn is_network(line: &str) -> bool {
    ["socket", "connect", "bind", "listen", "accept", "sendto", "sendmsg", "recvfrom"].contains(&called(line))
}

#[test]
fn a_check_opens_no_connection_starts_nothing_and_writes_into_its_cache_only() {
    let project = Project::new().file("pyproject.toml", "").file("train.py", SCRIPT);
    let Some(calls) = calls(&project, &["check"]) else { return };
    assert!(calls.len() > 10, "{calls:?}");
    let network: Vec<_> = calls.iter().filter(|line| is_network(line)).collect();
    assert!(network.is_empty(), "{network:?}");
    assert_eq!(started(&calls), BTreeSet::new());
    let cache = project.path(".trainlint_cache");
    let inside = |path: &String| Path::new(path).starts_with(&cache) || path.starts_with("/dev/");
    let outside: Vec<_> = written(&calls).into_iter().filter(|path| !inside(path)).collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(!project.path("ran").exists(), "the script ran");
    assert!(cache.join("findings").exists());
}

#[test]
fn without_a_cache_nothing_is_written_and_fixes_change_what_was_asked_for() {
    let project =
        Project::new().file("pyproject.toml", "").file("a/train.py", SCRIPT).file("b/train.py", SCRIPT);
    let Some(calls) = calls(&project, &["check", "--no-cache"]) else { return };
    let written_at_all: Vec<_> =
        written(&calls).into_iter().filter(|path| !path.starts_with("/dev/")).collect();
    assert!(written_at_all.is_empty(), "{written_at_all:?}");
    let calls = self::calls(&project, &["check", "--no-cache", "--fix", "a"]).unwrap();
    assert!(!calls.iter().any(|line| is_network(line)));
    assert_eq!(started(&calls), BTreeSet::new());
    let inside = |path: &String| Path::new(path).starts_with(project.path("a")) || path.starts_with("/dev/");
    let outside: Vec<_> = written(&calls).into_iter().filter(|path| !inside(path)).collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(
        project.text("a/train.py").contains("zero_grad") && !project.text("b/train.py").contains("zero_grad")
    );
}

#[test]
fn a_change_is_compared_by_git_and_nothing_else() {
    let project = Project::new().file("pyproject.toml", "").file("train.py", SCRIPT);
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]);
        command.args(args).current_dir(project.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !(git(&["init", "--quiet"]) && git(&["add", "--all"]) && git(&["commit", "--quiet", "-m", "as it is"]))
    {
        println!("skipped: there is no git");
        return;
    }
    project.write("train.py", &SCRIPT.replace("lr=0.1", "lr=0.2"));
    let Some(calls) = calls(&project, &["check", "--no-cache", "--diff-base", "HEAD"]) else { return };
    assert_eq!(started(&calls), BTreeSet::from(["git".to_owned()]));
    assert!(!calls.iter().any(|line| is_network(line)));
}

#[test]
fn the_page_names_the_test_of_each_promise() {
    let page = std::fs::read_to_string(crate::findings::root().join("SECURITY.md")).unwrap();
    let tests = page.split('`').filter_map(|part| part.strip_prefix("tests/it/")).collect::<BTreeSet<_>>();
    assert!(tests.contains("promises.rs") && tests.contains("bounds.rs"), "{tests:?}");
    for test in tests {
        assert!(crate::findings::root().join("tests/it").join(test).exists(), "there is no {test}");
    }
}
