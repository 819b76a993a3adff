//! How the work on a script grows with the script: at most a little more than in proportion, or it is stopped by
//! fuel. Counted in steps and visits, never in time. docs/limits.md says of each kind what bounds it.

use crate::findings::root;
use crate::harness::Project;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trainlint::apis::index::Pins;
use trainlint::engine::analysis::FileReport;
use trainlint::engine::{self, settings::Ready};
use trainlint::facts::{Findings, Script};
use trainlint::report::FileId;
use trainlint::source::work_done;
use trainlint::{checks, interp, names};

const HEAD: &str = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n";
const TRAINED: &str = "model = nn.Linear(8, 4)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nloader = torch.utils.data.DataLoader(ds, batch_size=8, shuffle=True)\n";
const STEP: &str = "for x, y in loader:\n    opt.zero_grad()\n    loss = F.cross_entropy(model(x), y)\n    loss.backward()\n    opt.step()\n";

/// A tenth of what a rehearsal gets, so that what fuel stops is stopped at sizes that a test can afford.
const FUEL: u32 = 40_000;
/// All that walks and timelines may add to it: a multiple, whatever the script.
const MOST_WORK: u64 = 40 * FUEL as u64;
const FEW: usize = 75;
const MANY: usize = 4 * FEW;

struct Kind {
    name: &'static str,
    write: fn(usize) -> String,
}

/// The same line so often, with its number for `#`.
fn each(n: usize, line: &str) -> String {
    (0..n).map(|at| line.replace('#', &at.to_string())).collect()
}

fn with(before: &str, n: usize, line: &str, after: &str) -> String {
    format!("{before}{}{after}", each(n, line))
}

macro_rules! kinds {
    ($($name:literal => |$n:ident| $text:expr;)*) => {
        &[$(Kind { name: $name, write: |$n| $text }),*]
    };
}

const KINDS: &[Kind] = kinds! {
    "assignments" => |n| each(n, "v# = torch.zeros(1)\n");
    "branches" => |n| each(n, "if u#: v# = 1\n");
    "branches that write a dictionary" => |n| with("d = {}\n", n, "if u#: d['k#'] = #\n", "");
    "branches that write attributes" => |n| with("m = nn.Module()\n", n, "if u#: m.a# = #\n", "");
    "branches that append" => |n| with("l = []\n", n, "if u#: l.append(#)\n", "");
    "branches that append layers" => |n| with("l = nn.ModuleList()\n", n, "if u: l.append(nn.Linear(4, 4))\n", "");
    "branches that drop keys" => |n| with(&format!("d = {{{}}}\n", each(n, "'k#': #, ")), n, "if u#: del d['k#']\n", "");
    "cases of one branch" => |n| with("if u == 'a': v = 0\n", n, "elif u == 'a#': v = #\n", "else: v = 1\n");
    "returns" => |n| with("def f(x):\n", n, "    if x == #: return torch.zeros(#)\n", "f(u)\n");
    "breaks" => |n| with("for i in u:\n", n, "    if x == #: break\n    y# = torch.zeros(1)\n", "");
    "handlers" => |n| each(n, "try:\n    v# = f()\nexcept Exception:\n    v# = 1\n");
    "guarded imports" => |n| each(n, "try:\n    import m#\nexcept ImportError:\n    m# = None\n");
    "star imports" => |n| with("", n, "from u# import *\n", "y = foo(torch.zeros(2))\n");
    "names of star imports" => |n| with(&each(n, "from u# import *\n"), n, "y# = foo#(3)\n", "");
    "loops" => |n| each(n, "for i in u: v# = i\n");
    "training loops" => |n| format!("{TRAINED}{}", STEP.repeat(n));
    "training loops without clearing" => |n| format!("{TRAINED}{}", STEP.replace("    opt.zero_grad()\n", "").repeat(n));
    "trainings" => |n| with("", n, "model = nn.Linear(8, 4)\nopt# = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x, y in loader:\n    opt#.zero_grad()\n    F.cross_entropy(model(x), y).backward()\n    opt#.step()\n", "");
    "groups of an optimizer" => |n| with(TRAINED, n, "opt.add_param_group({'params': nn.Linear(2, 2).parameters()})\n", "for x, y in loader:\n    F.cross_entropy(model(x), y).backward()\n    opt.step()\n");
    "optimizers of a stack" => |n| with(&format!("m = nn.Sequential({})\n", each(n, "nn.Linear(4, 4), ")), n, "o# = torch.optim.SGD(m.parameters(), lr=0.1)\n", "x.sum().backward()\n");
    "optimizers of one loop" => |n| with(&with("m = nn.Linear(8, 4)\n", n, "o# = torch.optim.SGD(m.parameters(), lr=0.1)\n", "for x, y in loader:\n    F.cross_entropy(m(x), y).backward()\n"), n, "    o#.step()\n", "");
    "training functions" => |n| each(n, "def train#(model, loader, opt):\n    for x, y in loader:\n        loss = F.cross_entropy(model(x), y)\n        loss.backward()\n        opt.step()\n");
    "clauses" => |n| format!("x = [1 {}]\n", each(n, "for i# in range(3) "));
    "conditions of a clause" => |n| format!("x = [1 for i in range(3) {}]\n", each(n, "if u# "));
    "dimensions" => |n| with("x = torch.zeros(2)\n", n, "x = torch.stack([x, x])\n", "");
    "layers of a stack" => |n| format!("m = nn.Sequential({})\nx = m(torch.zeros(2, 4))\n", each(n, "nn.Linear(4, 4), "));
    "layers that are appended" => |n| with("l = nn.ModuleList()\n", n, "l.append(nn.Linear(4, 4))\n", "x = torch.zeros(2, 4)\nfor m in l: x = m(x)\n");
    "layers behind each other" => |n| with(&each(n, "m# = nn.Linear(4, 4)\n"), n, "x = m#(x)\n", "x.sum().backward()\n");
    "layers of a class" => |n| format!("class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n{}    def forward(self, x):\n{}        return x\nm = M()\nm(torch.zeros(2, 4)).sum().backward()\n", each(n, "        self.l# = nn.Linear(4, 4)\n"), each(n, "        x = self.l#(x)\n"));
    "layers of Keras" => |n| with("import keras\nx = i = keras.Input((4,))\n", n, "x = keras.layers.Dense(4)(x)\n", "m = keras.Model(i, x)\nm.compile('sgd', 'mse')\nm.fit(x, y)\n");
    "layers of a stack of Keras" => |n| with("import keras\nm = keras.Sequential()\n", n, "m.add(keras.layers.Dense(4))\n", "m.compile('sgd', 'mse')\nm.fit(x, y)\n");
    "parameters" => |n| format!("p = [{}]\nopt = torch.optim.SGD(p, lr=0.1)\nsum(p).backward()\nopt.step()\n", each(n, "nn.Parameter(torch.zeros(1)), "));
    "losses" => |n| with(&format!("{TRAINED}for x, y in loader:\n    loss = 0\n"), n, "    loss = loss + F.cross_entropy(model(x), y)\n", "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n");
    "sums" => |n| with("x = torch.zeros(3, requires_grad=True)\n", n, "x = x + x\n", "x.sum().backward()\n");
    "poles" => |n| with("x = torch.zeros(3, requires_grad=True)\n", n, "x = torch.log(x) / x.sum()\n", "x.sum().backward()\n");
    "findings" => |n| each(n, "torch.zeros(3, requires_grad=True).backward()\n");
    "functions" => |n| with(&each(n, "def f#(x):\n    return x + 1\n"), n, "f#(torch.zeros(1))\n", "");
    "functions that call two" => |n| with("def f0(x): return x\n", n, "def g#(x): return h#(x) + h#(x)\ndef h#(x): return g#(x) + g#(x)\n", "g0(torch.zeros(1))\n");
    "classes" => |n| each(n, "class M#(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 4)\n    def forward(self, x):\n        return self.l(x)\n");
    "bases" => |n| with("class M0(nn.Module): pass\nM = M0\n", n, "class M(M): pass\n", "M().foo\n");
    "copies of copies" => |n| with("import copy\nx = nn.Linear(2, 2)\n", n, "x = [copy.deepcopy(x), copy.deepcopy(x)]\n", "");
    "keys" => |n| with("d = {}\n", n, "d['k#'] = torch.zeros(1)\n", "for k in d: print(d[k])\n");
    "texts" => |n| with("s = 'a'\n", n, "s = s + s\n", "print(s)\n");
    "numbers" => |n| with("i = 2\n", n, "i = i * i\n", "torch.zeros(i)\n");
    "options" => |n| with(&with("import argparse\np = argparse.ArgumentParser()\n", n, "p.add_argument('--a#', default=#)\n", "a = p.parse_args()\n"), n, "if a.a#: v# = a.a#\n", "");
    "parameters of a function" => |n| format!("def f({}):\n    return a0\nf()\n", each(n, "a#=#, "));
    "yields" => |n| with(&format!("{TRAINED}def f(x):\n"), n, "    yield model(x)\n", "for z in f(u): z.backward()\n");
    "graphs that are kept" => |n| with(&format!("{TRAINED}h = torch.zeros(3)\nfor x, y in loader:\n"), n, "    h = model(h + x)\n    h.sum().backward(retain_graph=True)\n", "");
    "forwards without gradients" => |n| with(TRAINED, n, "with torch.no_grad():\n    x = model(x)\n", STEP);
    "forwards in evaluation mode" => |n| with(&format!("{TRAINED}{STEP}model.eval()\n"), n, "(model(x).argmax(1) == y).sum()\n", "");
    "calls of fit" => |n| with("import keras\nm = keras.Sequential([keras.layers.Dense(4)])\nm.compile('sgd', 'mse')\n", n, "m.fit(x#, y#)\n", "");
    "layers of a stack that learns" => |n| format!("m = nn.Sequential({})\nm(torch.zeros(2, 4)).sum().backward()\n", each(n, "nn.Linear(4, 4), nn.ReLU(), "));
    "contexts" => |n| each(n, "with torch.no_grad():\n    x = torch.zeros(1)\n");
    "decorators" => |n| with("def d(f): return f\n", n, "@d\n", "def f(): pass\nf()\n");
    "suppressions" => |n| each(n, "x# = 1  # trainlint: ignore[missing-zero-grad]\n");
    "brackets" => |n| format!("x = {}1{}\n", "[".repeat(n), "]".repeat(n));
};

/// The work on a script, and whether fuel ended it.
fn work(script: &str) -> (u64, bool) {
    let project = Project::new().file("a.py", format!("{HEAD}{script}"));
    let (total, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let analyse = |project: &names::Project, file: FileId, settings: &Ready| {
        let before = work_done();
        let given = interp::Settings { fuel: Some(FUEL), ..interp::Settings::default() };
        let rehearsal = interp::rehearse(project, settings.tables(), checks::hooks(), &given, file);
        let pins = Pins::default();
        let script = Script {
            project,
            file,
            apis: settings.tables(),
            rehearsal: &rehearsal,
            memory: 1 << 34,
            card: "a card",
            pins: &pins,
            asked: Default::default(),
            found: OnceCell::new(),
            used: OnceCell::new(),
            valid: OnceCell::new(),
            descents: OnceCell::new(),
            statements: Default::default(),
            timelines: Default::default(),
            names: OnceCell::new(),
        };
        let mut findings = Findings::default();
        let unasked = checks::all().iter().filter(|rule| !rule.ask(&script, &mut findings)).count();
        ended.store(rehearsal.out_of_fuel || unasked > 0, Ordering::Relaxed);
        total.store(work_done() - before, Ordering::Relaxed);
        FileReport::default()
    };
    engine::check_with(&project.request(1), &engine::Silent, &analyse).unwrap();
    (total.into_inner(), ended.into_inner())
}

#[test]
fn work_grows_in_proportion_or_is_stopped() {
    let mut wrong = Vec::new();
    for Kind { name, write } in KINDS {
        let ((few, _), (many, ended)) = (work(&write(FEW)), work(&write(MANY)));
        // Work is counted in lots.
        let in_proportion = many <= 6 * few + 1_000;
        let is_stopped = || ended || work(&write(4 * MANY)).1;
        if many > MOST_WORK || !(in_proportion || is_stopped()) {
            wrong.push(format!("{name}: {few} of {FEW}, {many} of {MANY}, stopped: {ended}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_documentation_names_each_kind_of_growth() {
    let page = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let missing: Vec<&str> =
        KINDS.iter().map(|kind| kind.name).filter(|name| !page.contains(&format!("| {name} |"))).collect();
    assert!(missing.is_empty(), "docs/limits.md says nothing of {missing:?}");
    assert!(KINDS.len() >= 40);
}
