//! Releases of frameworks: what `trainlint versions` says of a project, what its requirement files make of names
//! that come and go, and that one cause is one finding.

use crate::harness::Project;

const MODERN: &str = "import torch

model = torch.compile(torch.nn.Linear(4, 2))
spectrum = torch.stft(torch.rand(100), 20, return_complex=True)
";

const OLD: &str = "import torch
from torch._six import string_classes

def solve(a, b):
    return torch.gels(b, a)

values = torch.symeig(torch.rand(3, 3))
";

#[test]
fn a_window_is_told_with_what_bounds_it() {
    let project = Project::new().file("setup.py", "").file("requirements.txt", "numpy\ntorch==2.1.0\n");
    let project = project.file("train.py", MODERN);
    let ran = project.run(&["versions", "--output-format", "text"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let expected = ".
  torch: 2.0.1 or newer
    from 2.0.1: `torch.compile`, train.py:3
    pinned: `torch==2.1.0`, requirements.txt:2
";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    assert!(ran.stdout.contains("as a requirement: torch>=2.0.1\n"), "{}", ran.stdout);
}

#[test]
fn a_pin_outside_of_the_window_is_a_conflict() {
    let project = Project::new().file("requirements.txt", "torch==1.4.0\n").file("train.py", MODERN);
    let ran = project.run(&["versions"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("2.0.1 or newer, but the pinned version is outside this range"),
        "{}",
        ran.stdout
    );
}

#[test]
fn no_release_may_have_all() {
    let project = Project::new().file("a/train.py", MODERN).file("a/old.py", OLD).file("setup.py", "");
    let ran = project.run(&["versions", "--output-format", "json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let window = &told["projects"][0]["frameworks"][0];
    assert_eq!((window["name"].as_str(), window["is_empty"].as_bool()), (Some("torch"), Some(true)));
    assert_eq!(window["from"]["name"], "torch.compile");
    assert_eq!(window["to"]["path"], "a/old.py");
    assert_eq!(window["requirement"], serde_json::Value::Null);
}

#[test]
fn parts_that_say_what_they_need_are_told_apart() {
    let project = Project::new().file("setup.py", "").file("new/train.py", MODERN).file("old/train.py", OLD);
    let project =
        project.file("new/requirements.txt", "torch>=2\n").file("old/requirements.txt", "torch==1.1.0\n");
    let ran = project.run(&["versions"]);
    assert!(ran.stdout.contains("new\n  torch: 2.0.1 or newer\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("old\n  torch: up to "), "{}", ran.stdout);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn nothing_used_is_nothing_told() {
    let ran = Project::new().file("a.py", "import os\n").run(&["versions"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "no framework with known releases is used\n"));
}

fn found(project: &Project, rule: &str) -> Vec<String> {
    let ran = project.run(&["check", "--no-cache", "--select", rule, "--output-format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = told["findings"].as_array().unwrap();
    findings.iter().map(std::string::ToString::to_string).collect()
}

const TENSORFLOW_ONE: &str = "import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 784])
w = tf.get_variable('w', [784, 10])
loss = tf.losses.softmax_cross_entropy(tf.one_hot([1], 10), tf.matmul(x, w))
tf.set_random_seed(1)
net = tf.contrib.layers.fully_connected(x, 10)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
";

#[test]
fn a_project_that_lives_in_an_older_release_gets_one_finding() {
    let project = Project::new().file("requirements.txt", "tensorflow>=2.4\n");
    let project = project.file("a.py", TENSORFLOW_ONE).file("b.py", TENSORFLOW_ONE);
    let found = found(&project, "removed-api");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("(requirements.txt:1)"), "{found:#?}");
    assert!(found[0].contains("tensorflow 1.15.5, which has them all"), "{found:#?}");
    assert!(found[0].contains("b.py"), "{found:#?}");
    let pinned = Project::new().file("requirements.txt", "tensorflow==1.15\n").file("a.py", TENSORFLOW_ONE);
    assert_eq!(self::found(&pinned, "removed-api,unknown-api"), Vec::<String>::new());
}

#[test]
fn a_project_that_requires_nothing_gets_one_finding_for_each_framework() {
    let project = || Project::new().file("setup.py", "").file("a.py", TENSORFLOW_ONE);
    let only = found(&project().file("b/c.py", TENSORFLOW_ONE), "removed-api");
    assert_eq!(only.len(), 1, "{only:#?}");
    assert!(only[0].contains("releases after tensorflow 1.15.5 lack"), "{only:#?}");
    assert!(only[0].contains(r#""severity":"warning""#), "{only:#?}");
    // What the project says of itself keeps newer releases away.
    let told = project().file("README.md", "Tested with TensorFlow 1.13.");
    assert_eq!(found(&told, "removed-api"), Vec::<String>::new());
    let caret = "[project]\nname = 'a'\n[tool.poetry.dependencies]\ntensorflow = '^1.13'\n";
    assert_eq!(found(&project().file("pyproject.toml", caret), "removed-api"), Vec::<String>::new());
}

#[test]
fn what_belongs_together_is_bounded_together() {
    let old = "import torch\n\nvalues, vectors = torch.symeig(torch.rand(3, 3), eigenvectors=True)\n";
    let project = |listed: &str| Project::new().file("requirements.txt", listed).file("a.py", old);
    assert_eq!(found(&project("torch\ntorchvision\n"), "removed-api").len(), 1);
    assert_eq!(found(&project("torch>=1.7\n"), "removed-api").len(), 1);
    assert_eq!(found(&project("torch\ntorchvision==0.8.2\n"), "removed-api"), Vec::<String>::new());
    // The newest numpy for Python 3.6 has what later ones lack.
    let alias = "import numpy as np\nimport torch\n\nzeros = torch.from_numpy(np.zeros(3, dtype=np.float))\n";
    let project = |page: &str| Project::new().file("README.md", page).file("a.py", alias);
    assert_eq!(found(&project("Needs Python 3.6."), "removed-api"), Vec::<String>::new());
    assert_eq!(found(&project("Needs Python 3.9."), "removed-api").len(), 1);
}

#[test]
fn what_lies_outside_of_the_index_is_left_alone() {
    for pin in ["torch==0.4.1", "torch>=99"] {
        let project = Project::new().file("requirements.txt", pin);
        let project = project.file("a.py", "import torch\n\ntorch.no_such_name(1)\n");
        assert_eq!(found(&project, "unknown-api"), Vec::<String>::new(), "{pin}");
    }
    let told = Project::new().file("README.md", "Needs PyTorch 0.3.\n");
    let told = told.file("a.py", "import torch\n\ntorch.no_such_name(1)\n");
    assert_eq!(found(&told, "unknown-api"), Vec::<String>::new());
}

#[test]
fn any_of_several_places_may_be_the_one_that_counts() {
    let project = Project::new()
        .file("requirements.txt", "torch==1.4\n")
        .file("Dockerfile", "FROM pytorch/pytorch:2.1.0-cuda\n");
    let project = project.file("a.py", MODERN);
    assert_eq!(found(&project, "unknown-api"), Vec::<String>::new());
    let project = Project::new().file("Dockerfile", "FROM pytorch/pytorch:1.7.1-cuda\n").file("a.py", MODERN);
    let found = found(&project, "unknown-api");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("`torch==1.7.1` (Dockerfile:1)"), "{found:#?}");
}

#[test]
fn a_page_is_too_little_to_hold_against_a_script() {
    let project = Project::new().file("README.md", "Tested with PyTorch 1.4.\n").file("a.py", MODERN);
    assert_eq!(found(&project, "unknown-api,removed-api"), Vec::<String>::new());
}

#[test]
fn a_notebook_says_what_it_installs() {
    let cell = |source: &str| {
        format!(r#"{{"cell_type": "code", "metadata": {{}}, "outputs": [], "source": ["{source}"]}}"#)
    };
    let cells = [
        cell("!pip install torch==1.4.0\\n"),
        cell("import torch\\n"),
        cell("m = torch.compile(torch.nn.Linear(2, 2))\\n"),
    ];
    let text = format!(
        "{{\"cells\": [\n{}\n], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 2}}",
        cells.join(",\n")
    );
    let project = Project::new().file("a.ipynb", text);
    let found = found(&project, "unknown-api");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("`torch==1.4.0` (a.ipynb:2)"), "{found:#?}");
}
