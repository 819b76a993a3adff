//! The files that set something up, each as a list of what belongs together.

use super::commands::{dependency, expanded, requirement, run};
use super::image::image;
use super::{Kind, List, Said, Setup};
use std::collections::BTreeMap;

/// Gives the text of a file that is named in another.
type Find<'f> = &'f dyn Fn(&str) -> Option<String>;
pub(super) type Reader = fn(&str, Find<'_>) -> Vec<Setup>;

/// How a file is read.
pub(super) fn reader(path: &str) -> Option<Reader> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let is_yaml = ends(&[".yml", ".yaml"]);
    let is_job =
        path.contains(".github/workflows/") || path.contains(".circleci/") || name == ".gitlab-ci.yml";
    let is_list = ends(&[".txt", ".in"]) && (name.contains("requirement") || folder == "requirements");
    Some(match () {
        () if name.starts_with("dockerfile") || ends(&["dockerfile", "containerfile"]) => dockerfile,
        () if is_list => requirements,
        () if is_yaml && is_job => job,
        () if is_yaml && (name.contains("env") || name.contains("conda")) => environment,
        () if ends(&[".sh", ".bash", ".slurm", ".sbatch", ".job", ".pbs"]) => script,
        () => return None,
    })
}

/// Lines that end in a backslash go on; comments between them are left out, as Docker does.
fn joined(text: &str) -> Vec<(u32, String)> {
    let mut lines: Vec<(u32, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        if goes_on && (trimmed.starts_with('#') || trimmed.is_empty()) {
            continue;
        }
        let part = trimmed.strip_suffix('\\');
        match lines.last_mut().filter(|_| goes_on) {
            Some((_, joined)) => {
                joined.push(' ');
                joined.push_str(part.unwrap_or(trimmed));
            }
            None => lines.push((at, part.unwrap_or(trimmed).to_owned())),
        }
        goes_on = part.is_some();
    }
    lines
}

/// A setup for each stage, with what it takes over from the stage that it begins with.
fn dockerfile(text: &str, find: Find<'_>) -> Vec<Setup> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<(Option<String>, Setup)> = Vec::new();
    for (at, line) in joined(text) {
        let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = expanded(rest.trim(), &values);
        match instruction.to_ascii_uppercase().as_str() {
            "FROM" => {
                let words: Vec<&str> =
                    rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                let name = words.first().copied().unwrap_or_default();
                let alias = words.get(2).map(|alias| (*alias).to_owned());
                let base = stages.iter().find(|(known, _)| known.as_deref() == Some(name));
                let mut setup = base.map_or_else(Setup::default, |(_, base)| base.clone());
                setup.kind = Kind::Dockerfile;
                if base.is_none() {
                    let image = image(name);
                    setup.python = image.python.clone().map(|it| Said { it, line: at });
                    setup.image = Some(Said { it: image, line: at });
                }
                stages.push((alias, setup));
            }
            "ARG" | "ENV" => {
                for pair in rest.split_whitespace() {
                    if let Some((name, value)) = pair.split_once('=') {
                        values.insert(name.to_owned(), value.trim_matches(['"', '\'']).to_owned());
                    }
                }
                if let Some((name, value)) = rest.split_once(' ').filter(|(name, _)| !name.contains('=')) {
                    values.insert(name.to_owned(), value.trim().to_owned());
                }
            }
            "RUN" => {
                if let Some((_, setup)) = stages.last_mut() {
                    run(&rest, at, setup, find);
                }
            }
            _ => {}
        }
    }
    stages.into_iter().map(|(_, setup)| setup).collect()
}

fn requirements(text: &str, _: Find<'_>) -> Vec<Setup> {
    let mut list = List::default();
    for (at, line) in joined(text) {
        requirement(&line, at, &mut list);
    }
    vec![Setup { kind: Kind::Requirements, lists: vec![list], ..Setup::default() }]
}

/// Channels and dependencies of conda, and below `pip` requirements.
fn environment(text: &str, _: Find<'_>) -> Vec<Setup> {
    let mut setup = Setup { kind: Kind::Conda, ..Setup::default() };
    let mut packages = List { is_conda: true, ..List::default() };
    let mut pip = List::default();
    let mut key = String::new();
    let mut pip_indent = None;
    for (at, line) in (1..).zip(text.lines()) {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.split(" #").next().unwrap_or_default().trim();
        let Some(item) = trimmed.strip_prefix("- ") else {
            if indent == 0 && trimmed.ends_with(':') {
                key = trimmed.trim_end_matches(':').to_owned();
                pip_indent = None;
            }
            continue;
        };
        let item = item.trim().trim_matches(['"', '\'']);
        if pip_indent.is_some_and(|pip| indent <= pip) {
            pip_indent = None;
        }
        match (&*key, pip_indent) {
            ("channels", _) => packages.channels.push(item.to_owned()),
            ("dependencies", Some(_)) => requirement(item, at, &mut pip),
            ("dependencies", None) if item == "pip:" => pip_indent = Some(indent),
            ("dependencies", None) => dependency(item, at, &mut setup, &mut packages),
            _ => {}
        }
    }
    setup.lists = vec![packages, pip];
    vec![setup]
}

/// A script of the shell, which a cluster may run.
fn script(text: &str, find: Find<'_>) -> Vec<Setup> {
    let mut setup = Setup::default();
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for (at, line) in joined(text) {
        if let Some(option) = line.strip_prefix("#SBATCH").or(line.strip_prefix("#PBS")) {
            if ["gres=gpu", "gpus", "ngpus"].iter().any(|word| option.contains(word)) {
                setup.gpu.get_or_insert(at);
            }
            continue;
        }
        let assigned = line.trim_start_matches("export ").split_once('=');
        if let Some((name, value)) = assigned.filter(|(name, _)| !name.contains(char::is_whitespace)) {
            values.insert(name.to_owned(), value.trim_matches(['"', '\'']).to_owned());
        }
        run(&expanded(&line, &values), at, &mut setup, find);
    }
    vec![setup]
}

/// Commands of a job. What stands for values of its matrix is not known.
fn job(text: &str, find: Find<'_>) -> Vec<Setup> {
    let mut setup = Setup::default();
    for (at, line) in joined(text) {
        let line = line.trim_start_matches("- ").trim_start();
        let line = line.strip_prefix("run:").unwrap_or(line);
        if !line.starts_with('#') {
            run(&expanded(line, &BTreeMap::new()), at, &mut setup, find);
        }
    }
    // Which steps run together is not known.
    (setup.gpu, setup.python, setup.compiles) = (None, None, None);
    vec![setup]
}
