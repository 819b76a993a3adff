//! A check of one file says what a check of the whole project says of that file.

use crate::findings::{Finding, findings_in};
use crate::fixtures::folders;
use crate::harness::Project;
use std::path::PathBuf;

const MODEL: &str = "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(8, 2)\n\n    def forward(self, x):\n        return self.fc(x)\n";
const ENGINE: &str = "import torch\n\n\ndef run(model, batches):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for x, y in batches:\n        loss = torch.nn.functional.cross_entropy(model(x), y)\n        loss.backward()\n        optimizer.step()\n";
/// Names no framework, and trains with one.
const ENTRY: &str =
    "from engine import run\nfrom model import Net\nfrom data import batches\n\nrun(Net(), batches())\n";
const DATA: &str = "import torch\n\n\ndef batches():\n    for _ in range(10):\n        yield torch.randn(4, 8), torch.randint(0, 2, (4,))\n";

fn project() -> Project {
    Project::new()
        .file("model.py", MODEL)
        .file("engine.py", ENGINE)
        .file("data.py", DATA)
        .file("entry.py", ENTRY)
        .file("other.py", "print('nothing')\n")
}

fn json(project: &Project, paths: &[&str]) -> serde_json::Value {
    let ran = project.run(&[&["check", "--no-cache", "--output-format", "json"], paths].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn one_file_says_what_the_project_says_of_it() {
    let project = project();
    let (whole, one) = (json(&project, &["."]), json(&project, &["engine.py"]));
    let found = whole["findings"].as_array().unwrap();
    assert!(found.iter().any(|finding| finding["rule"] == "missing-zero-grad"), "{whole}");
    assert_eq!(whole["findings"], one["findings"]);
    assert_eq!(json(&project, &["model.py"])["findings"].as_array().unwrap().len(), 0);
}

#[test]
fn every_file_of_the_fixtures_says_what_its_project_says() {
    let shown = |finding: &Finding| (finding.path.clone(), finding.line, finding.rule.clone());
    for name in folders("fixtures/projects") {
        let folder = PathBuf::from("fixtures/projects").join(name);
        let mut all: Vec<_> = findings_in(&[folder]).iter().map(shown).collect();
        all.sort();
        let mut paths: Vec<PathBuf> = all.iter().map(|(path, ..)| PathBuf::from(path)).collect();
        paths.dedup();
        for path in paths {
            let mut one: Vec<_> = findings_in(std::slice::from_ref(&path)).iter().map(shown).collect();
            one.sort();
            let of_file: Vec<_> = all.iter().filter(|(at, ..)| path.ends_with(at)).cloned().collect();
            assert_eq!(one, of_file, "{}", path.display());
        }
    }
}

#[test]
fn a_long_file_of_models_is_read_where_one_lacks_what_the_others_have() {
    let whole = "        super().__init__()\n";
    let class = |name: &str, first: &str| {
        let layers: String =
            (0..60).map(|at| format!("        self.layer_{at} = nn.Linear(width, width)\n")).collect();
        format!(
            "\n\nclass {name}(nn.Module):\n    def __init__(self, width):\n{first}{layers}\n    def forward(self, x):\n        return self.layer_0(x)\n"
        )
    };
    let text =
        |first: &str| format!("from torch import nn\n{}{}", class("Right", whole), class("Other", first));
    let project = Project::new().file("right.py", text(whole)).file("models.py", text(""));
    let found = json(&project, &["."]);
    let rules: Vec<_> = found["findings"].as_array().unwrap().iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["missing-super-init"], "{found}");
}
