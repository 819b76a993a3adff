//! Whatever happens to a project, a run with the results of earlier runs says what a run without them says.

use crate::harness::Project;
use std::collections::HashSet;
use std::path::PathBuf;
use trainlint::engine::cache::Place;
use trainlint::engine::{Outcome, Request, Silent, check};
use trainlint::render::{Format, findings};

const CLEARS: &str = "def clear(optimizer):\n    optimizer.zero_grad()\n";
const DOES_NOT: &str = "def clear(optimizer):\n    pass\n";

/// A script that needs a helper, and a value of a configuration file.
fn script(imports: &str, clear: &str) -> String {
    format!(
        "import torch\nimport yaml\nfrom torch import nn\n{imports}\n\nconfig = yaml.safe_load(open('run.yaml'))\n\
         data = torch.zeros(config['n'], 1024, 1024).cuda()\nmodel = nn.Linear(20, 2)\n\
         optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in train_loader:\n    {clear}\n    \
         loss = nn.functional.cross_entropy(model(x), y)\n    loss.backward()\n    optimizer.step()\n\
         torch.linalg.lu_solve(x, y, model)\n"
    )
}

/// A file, and what it may hold; nothing is no file.
type Fluid = (&'static str, Vec<Option<String>>);

/// Parts of a project in which a change of one file means something to the others.
fn worlds() -> [Vec<Fluid>; 3] {
    let held = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
    let may_lack = |texts: &[&str]| [held(texts), vec![None]].concat();
    let scripts = |ways: &[(&str, &str)]| -> Vec<Fluid> {
        let texts: Vec<_> = ways.iter().map(|(imports, clear)| Some(script(imports, clear))).collect();
        vec![("train.py", texts.clone()), ("sub/again.py", texts)]
    };
    let inner = may_lack(&[DOES_NOT, CLEARS]);
    let helpers = scripts(&[
        ("from helper import clear", "clear(optimizer)"),
        ("from helper import *", "clear(optimizer)"),
        ("import helper.inner as h", "h.clear(optimizer)"),
    ]);
    let helpers = helpers.into_iter().chain([
        ("helper.py", may_lack(&[DOES_NOT, "from deep.inner import clear\n", CLEARS])),
        (
            "helper/__init__.py",
            may_lack(&[CLEARS, "from .inner import clear\n", "from deep.inner import *\n"]),
        ),
        ("helper/inner.py", inner.clone()),
        ("sub/helper.py", inner.clone()),
        ("src/helper.py", inner.clone()),
        ("deep/__init__.py", may_lack(&["", "from . import inner\n"])),
        ("deep/inner.py", inner.clone()),
        ("sub/pyproject.toml", may_lack(&[""])),
    ]);
    let tools = scripts(&[
        ("from tools import clearing", "clearing.clear(optimizer)"),
        ("import tools.clearing", "tools.clearing.clear(optimizer)"),
        ("from tools import *", "clear(optimizer)"),
    ]);
    let tools = tools.into_iter().chain([
        ("tools/__init__.py", may_lack(&["", "from .clearing import clear\n", "from . import clearing\n"])),
        ("tools/clearing.py", [inner.clone(), held(&["from .deep import clear\n"])].concat()),
        ("tools/deep.py", inner.clone()),
        ("src/tools/clearing.py", inner),
        ("pyproject.toml", may_lack(&[""])),
    ]);
    let said = scripts(&[("", "optimizer.zero_grad()"), ("", "pass")]);
    let said = said.into_iter().chain([
        ("run.yaml", may_lack(&["n: 4\n", "n: 40000\n"])),
        ("sub/run.yaml", may_lack(&["n: 40000\n"])),
        ("requirements.txt", may_lack(&["torch==1.8.0\n", "torch==2.5.0\n"])),
        ("pyproject.toml", may_lack(&["", "[project]\ndependencies = [\"torch==1.9.0\"]\n"])),
        ("sub/pyproject.toml", may_lack(&[""])),
        (
            "trainlint.toml",
            may_lack(&["pedantic = true\n", "[values]\nn = 7\n", "[target]\nmemory = \"80GiB\"\n"]),
        ),
    ]);
    [helpers.collect(), tools.collect(), said.collect()]
}

/// Numbers that look random, and are the same in each run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn change(project: &Project, dice: &mut Dice, files: &[Fluid]) -> String {
    let (path, texts) = &files[dice.below(files.len())];
    match &texts[dice.below(texts.len())] {
        Some(text) => project.write(path, text),
        None if project.path(path).exists() => project.remove(path),
        None => {}
    }
    (*path).to_owned()
}

fn said(request: &Request) -> (String, Outcome) {
    let outcome = check(request, &Silent).unwrap();
    let text = String::from_utf8(findings(&outcome, Format::Json, false)).unwrap();
    (text, outcome)
}

/// Changes a project again and again; gives what was found on the way.
fn live(seed: u64, files: &[Fluid]) -> HashSet<String> {
    let mut dice = Dice(seed);
    let project = Project::new();
    for (path, texts) in files {
        if let Some(text) = &texts[0] {
            project.write(path, text);
        }
    }
    let mut different = HashSet::new();
    for step in 0..40 {
        let changed: Vec<String> = (0..=dice.below(2)).map(|_| change(&project, &mut dice, files)).collect();
        let mut fresh = project.request(1 + dice.below(2));
        fresh.paths = [&["."][..], &["."], &["train.py"], &["sub", "train.py"]][dice.below(4)]
            .iter()
            .map(PathBuf::from)
            .collect();
        let place = Place { folder: project.root().join("cache"), is_named: true, build: "one".to_owned() };
        let cached = Request { cache: Some(place), ..fresh.clone() };
        let ((kept, _), (anew, outcome)) = (said(&cached), said(&fresh));
        assert_eq!(kept, anew, "seed {seed}, step {step}, after a change of {changed:?}");
        if !outcome.findings.is_empty() {
            different.insert(anew);
        }
    }
    different
}

#[test]
fn nothing_that_is_taken_over_is_stale() {
    for (world, files) in worlds().iter().enumerate() {
        let different: HashSet<String> = (0..4).flat_map(|seed| live(seed, files)).collect();
        assert!(different.len() > 8, "the changes of world {world} matter: {}", different.len());
    }
}
