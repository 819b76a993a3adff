//! `trainlint doctor` on recorded environments: `tests/machines/*.toml` have files of a machine and of a project,
//! what the driver says, and the checks that have to come out. Sound ones have none.

use crate::findings::root;
use crate::harness::Project;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trainlint::engine::doctor::{Card, Driver, Machine, Places, Report, Status, examine, look};
use trainlint::render;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Recorded {
    /// What it shows.
    about: String,
    /// Each warning and error: its status, its name, its place if it has one, and how its text begins.
    expect: Vec<String>,
    /// What the driver says; without it the machine is not looked at.
    driver: Option<Driver>,
    cards: Vec<Card>,
    variables: BTreeMap<String, String>,
    /// Distributions as `name==version`, each with what it requires.
    packages: BTreeMap<String, Vec<String>>,
    /// Files of the machine.
    machine: BTreeMap<String, String>,
    project: BTreeMap<String, String>,
}

const PACKAGES: &str = "opt/env/lib/python3.10/site-packages";

fn all() -> Vec<(String, Recorded)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join("tests/machines"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|one| one == "toml"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let recorded = toml::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), recorded)
    };
    paths.iter().map(read).collect()
}

/// Lays the files out, and looks at them.
fn laid_out(recorded: &Recorded) -> (Project, Option<Machine>) {
    let mut project = Project::new().file("project/.git/HEAD", "");
    for (path, text) in &recorded.project {
        project = project.file(&format!("project/{path}"), text);
    }
    for (path, text) in &recorded.machine {
        project = project.file(&format!("machine/{}", path.trim_start_matches('/')), text);
    }
    for (name, requires) in &recorded.packages {
        let (name, version) = name.split_once("==").unwrap();
        let requires: String = requires.iter().map(|one| format!("Requires-Dist: {one}\n")).collect();
        let text =
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}\nA description\n");
        let folder = format!("{}-{version}.dist-info", name.replace('-', "_"));
        project = project.file(&format!("machine/{PACKAGES}/{folder}/METADATA"), text);
    }
    let Some(driver) = &recorded.driver else { return (project, None) };
    // As virtual environments have it.
    #[cfg(unix)]
    if !recorded.packages.is_empty() {
        std::os::unix::fs::symlink("lib", project.path("machine/opt/env/lib64")).unwrap();
    }
    let places = Places {
        root: project.path("machine"),
        environment: Some(PathBuf::from("/opt/env")),
        variables: recorded.variables.clone(),
    };
    let mut machine = look(&places);
    let (version, listed) = (machine.driver.version.take(), machine.driver.listed);
    machine.driver = Driver { version, listed, ..driver.clone() };
    machine.cards.clone_from(&recorded.cards);
    (project, Some(machine))
}

fn report(project: &Path, machine: Option<Machine>) -> Report {
    examine(project, &[], machine).unwrap()
}

/// `error build found; required; help`
fn problems(report: &Report) -> Vec<String> {
    let text = render::doctor(report);
    let lines = text.lines().filter(|line| !line.starts_with("ok ") && !line.starts_with("note "));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn sound_environments_pass_and_broken_ones_are_named() {
    let recorded = all();
    assert!(recorded.len() >= 20, "{}", recorded.len());
    let mut wrong = Vec::new();
    for (name, recorded) in &recorded {
        assert!(!recorded.about.is_empty(), "{name}");
        let (project, machine) = laid_out(recorded);
        let report = report(&project.path("project"), machine);
        let found = problems(&report);
        let fits = found.len() == recorded.expect.len()
            && found.iter().zip(&recorded.expect).all(|(found, expected)| found.starts_with(expected));
        if !fits {
            wrong.push(format!(
                "{name} ({}):\n  {}",
                recorded.about,
                render::doctor(&report).replace('\n', "\n  ")
            ));
        }
        assert_eq!(report.has_problem(), !found.is_empty(), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_machine_that_was_written_down_is_judged_alike() {
    for (name, recorded) in all() {
        let (project, machine) = laid_out(&recorded);
        let Some(machine) = machine else { continue };
        let there = report(&project.path("project"), Some(machine));
        let text = serde_json::to_string(&there).unwrap();
        let project = project.file("project/../there.json", &text);
        let machine: Machine = serde_json::from_value(
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["machine"].clone(),
        )
        .unwrap();
        assert_eq!(report(&project.path("project"), Some(machine)).checks, there.checks, "{name}");
        let mut command =
            project.command(&["doctor", "--machine", "../there.json", "--output-format", "json"]);
        let ran = crate::harness::Ran::of(command.current_dir(project.path("project")).output().unwrap());
        let said: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        assert_eq!(
            said["checks"],
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["checks"],
            "{name}"
        );
        assert_eq!(ran.code, i32::from(there.has_problem()), "{name}");
    }
}

#[test]
fn every_line_is_one_line_and_says_what_to_do() {
    for (name, recorded) in all() {
        let (project, machine) = laid_out(&recorded);
        for check in report(&project.path("project"), machine).checks {
            assert!(!check.found.contains('\n') && !check.found.ends_with('.'), "{name}: {check:?}");
            let is_problem = check.status >= Status::Warning;
            assert!(!is_problem || check.help.is_some(), "{name}: {check:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_an_error() {
    let project = Project::new().file("a.json", "{}").file("b.json", "no json");
    for (args, says) in [
        (&["--machine", "a.json"][..], "describes no machine"),
        (&["--machine", "b.json"], "is not JSON"),
        (&["--machine", "c.json"], "can't be read"),
        (&["--environment", "none"], "is not a folder"),
        (&["--project-only", "a.json"], "is not a folder"),
    ] {
        let ran = project.run(&[&["doctor"], args].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}

#[test]
fn a_project_alone_says_nothing_of_the_machine() {
    let project = Project::new().file("requirements.txt", "torch==2.5.1\ntorchvision==0.20.1\n");
    let ran = project.run(&["doctor", "--project-only"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "ok       setup          requirements.txt: torch 2.5.1\n"),
        "{ran:?}"
    );
    let ran = Project::new().run(&["doctor", "--project-only"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing to check\n"), "{ran:?}");
}

#[test]
fn the_page_shows_what_is_said() {
    let (_, recorded) = all().into_iter().find(|(name, _)| name == "broken-page").unwrap();
    let (project, machine) = laid_out(&recorded);
    let said = render::doctor(&report(&project.path("project"), machine));
    let path = root().join("docs/doctor.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (_, after) = rest.split_once("```\n").unwrap();
    let wanted = format!("{before}```text\n{said}```\n{after}");
    if page != wanted && std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    } else {
        assert_eq!(page, wanted, "docs/doctor.md is not current: run `UPDATE=1 cargo test`");
    }
}
