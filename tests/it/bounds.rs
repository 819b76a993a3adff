//! What strangers put beside and into scripts is data: it hangs no run, is believed nowhere, starts no program and
//! steers no terminal. What grows is stopped by a count.

use crate::harness::{Project, Ran};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::{Command, Stdio};

const UNCLEARED: &str = "\
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
";

const CLEAN: &str = "import torch\n";

fn pipe(project: &Project, name: &str) {
    assert!(Command::new("mkfifo").arg(project.path(name)).status().unwrap().success());
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn pipes_and_devices_beside_scripts_are_not_read() {
    let project = Project::new().file("train.py", UNCLEARED).file(".trainlint_cache/a", "");
    pipe(&project, "requirements.txt");
    pipe(&project, "poetry.lock");
    pipe(&project, ".trainlint_cache/findings");
    symlink("/dev/zero", project.path("environment.yml")).unwrap();
    symlink("/dev/zero", project.path("uv.lock")).unwrap();
    let ran = project.run(&["check"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    pipe(&project, "baseline.json");
    let ran = project.run(&["check", "--baseline", "baseline.json"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("the baseline can't be read"), "{ran:?}");
    pipe(&project, "trainlint.toml");
    let ran = project.run(&["check", "--config", "trainlint.toml"]);
    assert!(ran.code == 2 && ran.stderr.contains("trainlint.toml"), "{ran:?}");
}

#[test]
fn stdin_without_end_is_refused() {
    let zeros = Stdio::from(File::open("/dev/zero").unwrap());
    let ran = Ran::of(Project::new().command(&["check", "-"]).stdin(zeros).output().unwrap());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("stdin can't be read"), "{ran:?}");
}

#[test]
fn numbers_of_files_outside_the_project_come_out_in_no_message() {
    let outside = Project::new().file("secret.json", "{\"n\": 271828}");
    let script = |path: &str| {
        format!(
            "import json\nimport torch\nn = json.load(open('{path}'))['n']\nprint(n)\nloss = torch.zeros(n).backward()\n"
        )
    };
    let secret = outside.path("secret.json");
    let project = Project::new()
        .file("pyproject.toml", "")
        .file("inside.json", "{\"n\": 271828}")
        .file("a.py", script(secret.to_str().unwrap()))
        .file("b.py", script("link.json"))
        .file("c.py", script("inside.json"))
        .file("d.py", script(&format!("..{}", secret.display())));
    symlink(&secret, project.path("link.json")).unwrap();
    let known = |place: &str| project.run(&["reveal", "--isolated", place]).stdout.contains("271828");
    assert!(known("c.py:4"));
    assert!(!known("a.py:4") && !known("b.py:4") && !known("d.py:4"));
}

/// A folder as a checkout makes it: each file anew, with the same bytes.
fn checked_out(project: &Project, folder: &str) {
    let (here, away) = (project.path(folder), project.path("away"));
    fs::create_dir(&away).unwrap();
    for entry in fs::read_dir(&here).unwrap() {
        let entry = entry.unwrap();
        fs::write(away.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    fs::remove_dir_all(&here).unwrap();
    fs::rename(away, here).unwrap();
}

#[test]
fn a_cache_that_came_with_a_repository_is_not_believed() {
    let project = Project::new().file("pyproject.toml", "").file("train.py", UNCLEARED);
    let store = || fs::metadata(project.path(".trainlint_cache/findings")).unwrap().ino();
    project.run(&["check"]);
    let first = store();
    project.run(&["check"]);
    assert_eq!(store(), first, "what is remembered is not written again");
    checked_out(&project, ".trainlint_cache");
    let planted = store();
    assert_eq!(project.run(&["check"]).code, 1);
    assert_ne!(store(), planted, "the run believed what it found");
    // The user says that a folder is to be trusted.
    project.run(&["check", "--cache-dir", "kept"]);
    checked_out(&project, "kept");
    let kept = || fs::metadata(project.path("kept/findings")).unwrap().ino();
    let brought = kept();
    project.run(&["check", "--cache-dir", "kept"]);
    assert_eq!(kept(), brought);
}

#[test]
fn a_cache_writes_through_no_link_and_takes_only_its_own_away() {
    let outside = Project::new();
    let project =
        Project::new().file("pyproject.toml", "").file("train.py", CLEAN).file(".trainlint_cache/mine", "x");
    symlink(outside.path("new"), project.path(".trainlint_cache/.gitignore")).unwrap();
    project.run(&["check"]);
    assert!(!outside.path("new").exists(), "a file was made through a link");
    let ran = project.run(&["clean"]);
    assert_eq!(ran.stdout, "removed the cache in .trainlint_cache; other files in it were kept\n");
    let left: Vec<_> = fs::read_dir(project.path(".trainlint_cache")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let linked = Project::new().file("pyproject.toml", "").file("train.py", CLEAN);
    symlink(outside.root(), linked.path(".trainlint_cache")).unwrap();
    linked.run(&["check"]);
    assert!(!outside.path("findings").exists(), "a cache was written through a link");
}

fn git(project: &Project, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]);
    let output =
        command.args(args).current_dir(project.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    assert!(output.unwrap().status.success(), "git {args:?}");
}

/// Makes a repository of a project, with all of it committed.
fn commit(project: &Project) {
    git(project, &["init", "--quiet"]);
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message", "as it is"]);
}

#[test]
fn git_starts_nothing_that_the_repository_names() {
    if !has_git() {
        return;
    }
    let project = Project::new().file("train.py", UNCLEARED).file(".gitattributes", "*.py filter=own\n");
    let git = |args: &[&str]| git(&project, args);
    commit(&project);
    let mark = |name: &str| format!("touch {}; cat", project.path(name).display());
    let program = project.path("program");
    fs::write(&program, format!("#!/bin/sh\n{}\n", mark("started"))).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&["config", "filter.own.clean", &mark("filtered")]);
    git(&["config", "core.fsmonitor", program.to_str().unwrap()]);
    fs::create_dir_all(project.path(".git/hooks")).unwrap();
    fs::copy(&program, project.path(".git/hooks/post-index-change")).unwrap();
    let more = project.text("train.py") + "# more\n";
    fs::write(project.path("train.py"), more).unwrap();
    let mut command = project.command(&["check", "--diff-base", "HEAD"]);
    let ran = Ran::of(command.env("PATH", std::env::var("PATH").unwrap_or_default()).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(!project.path("started").exists(), "a monitor or a hook ran");
    assert!(!project.path("filtered").exists(), "a filter ran");
}

const FORMATS: [&str; 10] =
    ["full", "concise", "grouped", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson"];

#[test]
fn names_of_files_steer_no_terminal() {
    let name = "a\u{1b}[2J\u{202e}b\nc.py";
    let project = Project::new().file(name, UNCLEARED).file("torn\u{1b}[2J.py", b"import torch\n\xff\xfe\n");
    for format in FORMATS {
        let ran = project.run(&["check", "--no-cache", "--output-format", format]);
        let text = ran.stdout + &ran.stderr;
        assert!(!text.contains('\u{1b}'), "{format}: {text:?}");
        if !matches!(format, "json" | "json-lines" | "sarif" | "gitlab" | "rdjson") {
            assert!(!text.contains('\u{202e}') && !text.contains("b\nc.py"), "{format}: {text:?}");
        }
    }
}

#[test]
fn a_path_says_nothing_to_the_runner_of_github() {
    let mut project = Project::new();
    for number in 0..12 {
        project = project.file(&format!("::stop-commands::{number}##[x]`.py"), UNCLEARED);
    }
    for format in ["github", "concise", "grouped"] {
        let text = project.run(&["check", "--no-cache", "--output-format", format]).stdout;
        let spoken = |line: &&str| line.trim_start().starts_with("::stop");
        assert_eq!(text.lines().find(spoken), None, "{format}");
        let mut plain = text.lines().filter(|line| format == "github" && !line.starts_with("::"));
        assert!(!plain.any(|line| line.contains("##[")), "{text}");
    }
}

#[test]
fn a_file_of_several_names_is_left_alone() {
    let project = Project::new().file("train.py", UNCLEARED);
    fs::hard_link(project.path("train.py"), project.path("other.txt")).unwrap();
    let before = project.text("train.py");
    let ran = project.run(&["check", "--fix"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("train.py: was not written: it has 2 names (hard links)"), "{ran:?}");
    assert_eq!(project.text("train.py"), before);
}

#[test]
fn a_fixed_file_keeps_its_owner() {
    let project = Project::new().file("train.py", UNCLEARED);
    let path = project.path("train.py");
    // Only root may give a file away; others have nothing to test.
    if std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_err() {
        return;
    }
    assert_eq!(project.run(&["check", "--fix"]).code, 0);
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid()), (12345, 23456));
    assert!(project.text("train.py").contains("zero_grad"));
}

#[test]
fn a_link_to_nowhere_is_not_what_was_meant() {
    let project = Project::new();
    symlink("nowhere", project.path("train.py")).unwrap();
    let ran = project.run(&["check", "train.py"]);
    assert_eq!(ran.code, 2);
    assert!(!ran.stderr.contains("did you mean"), "{ran:?}");
}

#[test]
fn a_dash_is_stdout_for_plans() {
    let project = Project::new().file("train.py", UNCLEARED);
    let ran = project.run(&["plan", "-o", "-"]);
    assert!(ran.stdout.starts_with('{'), "{ran:?}");
    assert!(!project.path("-").exists());
}

#[test]
fn fixes_follow_no_link_out_of_the_checked_folders() {
    let outside = Project::new().file("real.py", UNCLEARED);
    let project = Project::new().file("pyproject.toml", "");
    symlink(outside.path("real.py"), project.path("link.py")).unwrap();
    let before = outside.text("real.py");
    let ran = project.run(&["check", "--fix"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("link.py: was not written: it is a link that leads out"), "{ran:?}");
    assert_eq!(outside.text("real.py"), before);
    // Who names the link means what it leads to.
    assert_eq!(project.run(&["check", "--fix", "link.py"]).code, 0);
    assert!(outside.text("real.py").contains("zero_grad"));
}

#[test]
fn a_link_and_what_it_leads_to_are_one_file() {
    let project = Project::new().file("real.py", UNCLEARED);
    symlink(project.path("real.py"), project.path("link.py")).unwrap();
    symlink("nowhere.py", project.path("dangling.py")).unwrap();
    assert_eq!(project.listed(&["."]), ["real.py"]);
    let ran = project.run(&["check", "--fix"]);
    assert!(ran.code == 0 && ran.stdout.contains("fixed 1 finding"), "{ran:?}");
}

#[test]
fn what_a_killed_run_left_behind_is_swept() {
    let project = Project::new()
        .file("train.py", UNCLEARED)
        .file(".trainlint-tmp-AbCdEf", "x")
        .file("sub/clean.py", CLEAN)
        .file("sub/.trainlint-tmp-AbCdEf", "x")
        .file("sub/.trainlint-tmp-GhIjKl", "y")
        .file("sub/.trainlint-tmp-notes.md", "z");
    // As a run holds what it is at work on.
    let held = File::open(project.path("sub/.trainlint-tmp-GhIjKl")).unwrap();
    held.lock().unwrap();
    assert_eq!(project.run(&["check", "--fix"]).code, 0);
    assert!(!project.path(".trainlint-tmp-AbCdEf").exists());
    assert!(!project.path("sub/.trainlint-tmp-AbCdEf").exists(), "nothing was to be fixed there");
    assert!(project.path("sub/.trainlint-tmp-GhIjKl").exists(), "another run is at work on it");
    assert!(project.path("sub/.trainlint-tmp-notes.md").exists(), "it is somebody else's");
}

#[test]
fn an_attempt_to_fix_rehearses_what_changed_and_nothing_else() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use trainlint::engine::{Silent, analysis, fix};
    let mut project = Project::new().file("pyproject.toml", "");
    for number in 0..20 {
        project =
            project.file(&format!("clean{number}.py"), CLEAN).file(&format!("bad{number}.py"), UNCLEARED);
    }
    let analysed = AtomicUsize::new(0);
    let counting = |scripts: &analysis::Project, file, settings: &trainlint::engine::settings::Ready| {
        analysed.fetch_add(1, Ordering::Relaxed);
        analysis::analyse(scripts, file, settings)
    };
    let request = project.request(1);
    let repaired = fix::fix(&request, trainlint::report::Applicability::Safe, &Silent, &counting).unwrap();
    assert_eq!((repaired.fixed.len(), repaired.refused.len()), (20, 0));
    // All once, and the changed ones again.
    assert_eq!(analysed.into_inner(), 40 + 20);
}

#[test]
fn names_are_what_python_takes_them_for() {
    let script =
        "import torch\nx = torch.\u{ff5a}eros(3)\n\u{ff54}orch.zeros(3, requires_grad=True).backward()\n";
    let ran = Project::new().file("a.py", script).run(&["check", "--isolated", "--output-format", "concise"]);
    assert!(!ran.stdout.contains("unknown-api"), "{ran:?}");
    assert!(ran.stdout.contains("a.py:3") && ran.stdout.contains("non-scalar-backward"), "{ran:?}");
}

/// A check that takes longer than it may is given up, and said to be.
#[test]
fn a_check_ends_when_its_time_is_over() {
    use std::time::Duration;
    use trainlint::engine::{Silent, check};
    use trainlint::source::Patience;
    let project = Project::new().file("slow.py", UNCLEARED).file("pyproject.toml", "");
    let mut request = project.request(1);
    request.patience = Patience { per_file: Some(Duration::ZERO), ..Patience::default() };
    let outcome = check(&request, &Silent).unwrap();
    assert_eq!((outcome.files.stopped, outcome.findings.len()), (1, 0));
    assert!(outcome.problems[0].message.contains("was not checked"), "{:?}", outcome.problems);
    assert!(!outcome.problems[0].fatal, "a stranger's file ends no run");
    request.patience = Patience::default();
    assert_eq!(check(&request, &Silent).unwrap().findings.len(), 1);
}

/// How far a rehearsal came: its last words say that a file was followed only in part.
fn is_cut_short(script: &str) -> bool {
    let project = Project::new().file("a.py", format!("import torch\nimport copy\n{script}"));
    let ran = project.run(&["check", "--isolated", "--exit-zero", "--no-cache"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.stdout.contains("only partly analyzed")
}

#[test]
fn copies_of_copies_cost_steps() {
    let line = "x = [copy.deepcopy(x), copy.deepcopy(x)]\n";
    let copies = |around: usize, within: usize| {
        let body = format!("    {line}").repeat(within);
        format!("x = torch.nn.Linear(2, 2)\n{}for i in range(3):\n{body}", line.repeat(around))
    };
    assert!(is_cut_short(&copies(20, 40)));
    assert!(!is_cut_short(&copies(8, 1)));
    let ensemble = "models = [copy.deepcopy(torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(50)])) for _ in range(8)]\n";
    assert!(!is_cut_short(ensemble));
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_ends_with_the_process_that_it_serves() {
    use std::io::Write;
    use std::time::{Duration, Instant};
    let mut editor = Command::new("sleep").arg("600").spawn().unwrap();
    let project = Project::new();
    let mut server =
        project.command(&["server"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let id = editor.id();
    let mut send = |body: String| write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    send(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{\"processId\":{id},\"capabilities\":{{}}}}}}"
    ));
    send("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}".to_owned());
    std::thread::sleep(Duration::from_secs(4));
    assert!(server.try_wait().unwrap().is_none(), "the editor is there");
    editor.kill().unwrap();
    editor.wait().unwrap();
    let since = Instant::now();
    while server.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(60) {
            server.kill().unwrap();
            panic!("the server outlived its editor");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_says_what_is_ignored_may_be_anything() {
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        let project = Project::new()
            .file("train.py", UNCLEARED)
            .file("below/other.py", CLEAN)
            .file(".git/info/attributes", "");
        pipe(&project, name);
        assert_eq!(project.listed(&["."]), ["below/other.py", "train.py"], "{name}");
        assert_eq!(project.listed(&["below"]), ["below/other.py"], "{name} of the folder above");
        fs::remove_file(project.path(name)).unwrap();
        symlink("/dev/zero", project.path(name)).unwrap();
        assert_eq!(project.listed(&["."]), ["below/other.py", "train.py"], "{name}");
        fs::remove_file(project.path(name)).unwrap();
        fs::write(project.path(name), "below/\n").unwrap();
        assert_eq!(project.listed(&["."]), ["train.py"], "{name}");
    }
}

/// What the kernel calls a regular file is none: reading its log waits for the next message.
#[cfg(target_os = "linux")]
#[test]
fn files_of_the_kernel_are_not_read() {
    let names = [
        "requirements.txt",
        "pyproject.toml",
        "environment.yml",
        "trainlint.toml",
        "linked.py",
        "package/__init__.py",
        ".gitignore",
    ];
    for (name, to) in names.iter().flat_map(|name| [(name, "/proc/kmsg"), (name, "/proc/version")]) {
        let script = format!("import package\n{UNCLEARED}");
        let project = Project::new().file("train.py", script).file("package/other.py", CLEAN);
        symlink(to, project.path(name)).unwrap();
        let ran = project.run(&["check", "--no-cache", "train.py"]);
        let is_configuration = name.ends_with(".toml");
        assert!(ran.code == 1 || is_configuration && ran.code == 2, "{name}: {ran:?}");
        assert!(project.run(&["check", "--no-cache", "."]).code != 0, "{name}");
    }
    let project = Project::new();
    symlink("/proc/version", project.path("linked.py")).unwrap();
    let ran = project.run(&["check", "linked.py"]);
    assert!(ran.code == 2 && ran.stderr.contains("is a file of the kernel"), "{ran:?}");
}

#[test]
fn a_cache_that_is_a_link_is_none() {
    let outside = Project::new();
    let project = Project::new().file("pyproject.toml", "").file("train.py", CLEAN);
    symlink(outside.root(), project.path(".trainlint_cache")).unwrap();
    project.run(&["check"]);
    assert_eq!(fs::read_dir(outside.root()).unwrap().count(), 0);
    // Who names a link means what it leads to.
    project.run(&["check", "--cache-dir", ".trainlint_cache"]);
    assert!(outside.path("findings").exists());
}

/// `git -c` takes the first `=` for the end of a name, so such a filter can't be turned off.
#[test]
fn a_filter_with_an_odd_name_starts_nothing() {
    if !has_git() {
        return;
    }
    let project = Project::new().file("train.py", UNCLEARED).file(".gitattributes", "*.py filter=a.b=c\n");
    let git = |args: &[&str]| git(&project, args);
    commit(&project);
    git(&["config", "filter.a.b=c.clean", &format!("touch {}; cat", project.path("filtered").display())]);
    fs::write(project.path("train.py"), project.text("train.py") + "# more\n").unwrap();
    let mut command = project.command(&["check", "--diff-base", "HEAD"]);
    let ran = Ran::of(command.env("PATH", std::env::var("PATH").unwrap_or_default()).output().unwrap());
    assert!(!project.path("filtered").exists(), "a filter ran");
    assert!(ran.code == 2 && ran.stderr.contains("`filter.a.b=c`"), "{ran:?}");
}

#[test]
fn cleaning_leaves_what_somebody_else_put_beside_the_cache() {
    let project = Project::new().file("pyproject.toml", "").file("train.py", CLEAN);
    project.run(&["check"]);
    for name in ["findings-notes.md", "findingsbackup", ".trainlint-tmp-notes.md"] {
        fs::write(project.path(&format!(".trainlint_cache/{name}")), "mine").unwrap();
    }
    fs::write(project.path(".trainlint_cache/.trainlint-tmp-AbCdEf"), "left behind").unwrap();
    assert_eq!(project.run(&["clean"]).code, 0);
    let kept = fs::read_dir(project.path(".trainlint_cache")).unwrap();
    let mut kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept, [".trainlint-tmp-notes.md", "findings-notes.md", "findingsbackup"]);
}

#[test]
fn a_script_that_is_too_large_to_be_parsed_is_named() {
    let table = "TABLE = [\n".to_owned() + &"    0.12345678,\n".repeat((4 << 20) / 16) + "]\n";
    let large = format!("{UNCLEARED}{table}");
    let project = Project::new()
        .file("large.py", &large)
        .file("data.py", &table)
        .file("train.py", format!("from data import TABLE, OTHER\n{UNCLEARED}"));
    let said = "large.py: has 5 MiB, and at most 4 MiB are analyzed; exclude it\n";
    let ran = project.run(&["check", "--no-cache", "--output-format", "concise"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, &*format!("warning: {said}")), "{ran:?}");
    // What only holds numbers, and what is imported and not known, is no reason to complain.
    assert_eq!(ran.stdout.matches(".py:").count(), 1, "{ran:?}");
    assert!(ran.stdout.contains("train.py:8"), "{ran:?}");
    let ran = project.run(&["check", "--no-cache", "large.py"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, &*format!("error: {said}")), "{ran:?}");
    let ran = project.run_with(&["check", "-"], &large);
    assert!(ran.code == 2 && ran.stderr.contains("at most 4 MiB"), "{ran:?}");
}
