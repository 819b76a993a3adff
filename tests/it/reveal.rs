//! What the rehearsal knows of values: each `reveal(x)` of `fixtures/reveal` has what is known of `x` beside it,
//! as in `reveal(x)  # reveal: Tensor[64, 10] float32 cpu`. Several ways to a line are told in order, with `|`
//! between them. `UPDATE=1 cargo test reveal` rewrites the marks: read the diff with the question whether it is true.
//! And what `trainlint reveal` says of a line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trainlint::apis::Apis;
use trainlint::interp::Settings;
use trainlint::interp::reveal::revealed_calls;
use trainlint::names::Project;
use trainlint::source::SourceFile;

use crate::findings::root;
use crate::harness::{Project as Folder, Ran};

/// What is known at each line of a script that asks, from 1.
fn known(path: &Path) -> BTreeMap<usize, String> {
    let project = Project::new();
    let file = project.add(SourceFile::read(path).unwrap());
    let revealed = revealed_calls(&project, Apis::builtin(), &Settings::default(), file);
    let mut ways: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for visit in revealed.visits {
        let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for shown in visit.values {
            let line = project.source(file).line_index(shown.place.span.start) + 1;
            lines.entry(line).or_default().push(shown.value);
        }
        for (line, values) in lines {
            let known = ways.entry(line).or_default();
            let values = values.join("; ");
            if !known.contains(&values) {
                known.push(values);
            }
        }
    }
    ways.into_iter().map(|(line, ways)| (line, ways.join(" | "))).collect()
}

/// The script with what is known beside each call that asks.
fn marked(text: &str, known: &BTreeMap<usize, String>) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("  # reveal:").next().unwrap_or(line);
        out.push_str(code.trim_end());
        if code.trim_start().starts_with("reveal(") {
            out.push_str("  # reveal: ");
            out.push_str(known.get(&number).map_or("not reached", String::as_str));
        }
        out.push('\n');
    }
    out
}

fn fixtures() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("fixtures/reveal")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn what_is_known_is_what_the_marks_say() {
    let mut differences = Vec::new();
    let fixtures = fixtures();
    assert!(fixtures.len() >= 60, "there are {} fixtures", fixtures.len());
    for path in fixtures {
        let text = std::fs::read_to_string(&path).unwrap();
        let now = marked(&text, &known(&path));
        if std::env::var_os("UPDATE").is_some() && now != text {
            std::fs::write(&path, &now).unwrap();
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(now.contains("  # reveal: "), "{name} asks nothing");
        let lines = (1..).zip(text.lines().zip(now.lines()));
        let differing = lines.filter(|(_, (before, after))| before != after);
        differences.extend(differing.map(|(number, (before, after))| {
            format!("{name}:{number}\n    the mark: {}\n    is known: {}", before.trim(), after.trim())
        }));
    }
    assert!(differences.is_empty(), "{} differences:\n{}\n", differences.len(), differences.join("\n"));
}

#[test]
fn ways_and_loops_are_told_apart() {
    let known = BTreeMap::from([(2, "int 1 | int 2".to_owned())]);
    let text = "x = 1\nreveal(x)  # reveal: old\n    reveal(x)\n";
    let expected = "x = 1\nreveal(x)  # reveal: int 1 | int 2\n    reveal(x)  # reveal: not reached\n";
    assert_eq!(marked(text, &known), expected);
}

const SCRIPT: &str = "import torch
import torch.nn as nn
from models import build


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 10)

    def forward(self, x):
        return torch.relu(self.fc(x))


def train(net, aux):
    for step in range(100):
        loss = net(torch.randn(4, 20)).mean() + aux
        loss.backward()
        if False:
            print(loss)
    return 1
    print(aux)


train(Net(), build(3))
train(nn.Linear(20, 1), 0)


def unused(scale):
    for _ in ():
        print(scale)
    # nothing
    return (
        torch.zeros(3)
        .unsqueeze(0) * scale
    )
";

fn asked(place: &str, more: &[&str]) -> Ran {
    let project = Folder::new().file("train.py", SCRIPT.replace("import torch\n", "import  torch\n"));
    project.run(&[&["reveal", "--isolated", place], more].concat())
}

#[test]
fn a_line_is_told_for_each_way_to_it() {
    let ran = asked("train.py:17", &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "train.py:17: loss = net(torch.randn(4, 20)).mean() + aux

  from line 25, which calls `train`
  net                                  Net, train, cpu, 210 parameters
  torch.randn(4, 20)                   Tensor[4, 20] float32 cpu, any number
  net(torch.randn(4, 20))              Tensor[4, 10] float32 cpu, graph of `net`, in [0, ∞)
  net(torch.randn(4, 20)).mean()       Tensor[] float32 cpu, graph of `net`, in [0, ∞), a mean
  aux                                  unknown since line 25: the result of `build` is unknown: `models` is not available
  net(torch.randn(4, 20)).mean() + aux  Tensor[..], graph of `net` and others, a mean
  loss =                               Tensor[..], graph of `net` and others, a mean

  from line 26, which calls `train`
";
    assert!(ran.stdout.starts_with(expected.split("  net  ").next().unwrap()), "{}", ran.stdout);
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(&ran.stdout).starts_with(&plain(expected)), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("Linear, train, cpu, float32") && ran.stdout.contains("int 0"),
        "{}",
        ran.stdout
    );
}

#[test]
fn functions_that_nobody_calls_and_chains_over_lines_are_told() {
    let ran = asked("train.py:35", &[]);
    let told =
        ["nothing calls `unused`", "Tensor[1, 3] float32 cpu, all 0", "`scale` is a parameter of `unused`"];
    assert!(told.iter().all(|part| ran.stdout.contains(part)), "{ran:?}");
    // The call of the line above is on that line.
    assert!(!ran.stdout.contains("torch.zeros(3)  "), "{ran:?}");
}

#[test]
fn machines_get_an_object() {
    let ran = asked("train.py:25", &["--output-format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&answer["version"], &answer["line"]), (&1.into(), &25.into()));
    let values = answer["ways"][0]["values"].as_array().unwrap();
    let of = |name: &str| values.iter().find(|value| value["expression"] == name).unwrap();
    assert_eq!(of("Net()")["value"], "Net, train, cpu, 210 parameters");
    assert_eq!(of("build(3)")["unknown_since"]["line"], 25);
    assert_eq!(of("build(3)")["unknown_since"]["column"], 14);
}

#[test]
fn what_is_not_known_is_explained() {
    for (place, why) in [
        ("train.py:4", "there is no code in it"),
        ("train.py:20", "because of its condition, the branch of line 19 is not entered"),
        ("train.py:22", "the script never gets past line 21"),
        ("train.py:31", "because its iterable is empty, the loop of line 30 is not entered"),
        ("train.py:32", "there is no code in it"),
        ("train.py:3", "it neither reads nor assigns a tracked value"),
        ("train.py:99", "train.py has 36 lines, and no line 99"),
        ("other.py:1", "other.py: no such file; check the path"),
        ("train.py", "write `FILE:LINE`, e.g. `train.py:12`"),
    ] {
        let ran = asked(place, &[]);
        assert!(ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(why), "{place}: {ran:?}");
    }
}

#[test]
fn a_script_is_named_that_runs_the_line() {
    let module = "def scale(batch):\n    return batch * 2\n";
    let script = "import torch\nfrom steps import scale\n\nscale(torch.ones(3))\n";
    let project = Folder::new().file("steps.py", module).file("train.py", script).file("other.py", "x = 1\n");
    let asked = |more: &[&str]| project.run(&[&["reveal", "--isolated", "steps.py:2"], more].concat());
    assert!(asked(&[]).stdout.contains("nothing calls `scale`"));
    let ran = asked(&["--from", "train.py"]);
    assert!(ran.stdout.contains("from train.py:4, which calls `scale`"), "{ran:?}");
    assert!(ran.stdout.contains("Tensor[3] float32 cpu, all 2"), "{ran:?}");
    let ran = asked(&["--from", "other.py"]);
    assert!(ran.code == 2 && ran.stderr.contains("leads nowhere in this file"), "{ran:?}");
}
