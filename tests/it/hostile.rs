//! Scripts that no one should write: each ends soon, without a panic, and with a word where one is due.

use crate::findings::root;
use crate::harness::Project;
use std::time::{Duration, Instant};
use trainlint::engine::{self, Request, Silent, configs::Origin};
use trainlint::render;

const HEAD: &str = "import torch\nimport torch.nn as nn\n";

/// A hundred times what any of these takes without optimisation, so that a busy machine does not matter; what
/// grows as a power of its input takes hours. How fast it is, the benchmark says.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

fn survives(what: &str, script: &str) {
    let project = Project::new().file("a.py", format!("{HEAD}{script}\n"));
    let start = Instant::now();
    let ran = project.run(&["check", "--isolated", "--exit-zero"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{what}");
    assert!(start.elapsed() < PATIENCE, "{what}: {:?}", start.elapsed());
}

#[test]
fn deep_and_long_expressions_end() {
    survives("brackets", &format!("x = {}1{}", "[".repeat(50_000), "]".repeat(50_000)));
    survives("unclosed brackets", &format!("x = {}", "(".repeat(50_000)));
    survives("calls in calls", &format!("{}1{}", "torch.relu(".repeat(10_000), ")".repeat(10_000)));
    survives("a chain of calls", &format!("x = torch.zeros(1){}", ".exp()".repeat(20_000)));
    survives("a sum", &format!("x = 1{}", " + torch.zeros(1)".repeat(20_000)));
    survives("lambdas", &format!("x = {}1", "lambda: ".repeat(20_000)));
}

#[test]
fn values_that_double_end() {
    let doubling = |line: &str| line.repeat(200);
    survives("tuples", &format!("a = 0\n{}torch.save(a)\nprint(a == (a, a))", doubling("a = (a, a)\n")));
    survives("lists", &format!("a = [0]\n{}torch.save(a)", doubling("a = [a, a]\n")));
    survives("sums of lists", &format!("a = [0]\n{}", doubling("a = a + a\n")));
    survives("numbers", &format!("n = 2\n{}x = torch.zeros(n)", doubling("n = n * n\n")));
    let partials = doubling("p = partial(p, p, p)\n");
    survives("partials", &format!("from functools import partial\np = print\n{partials}p()\ntorch.save(p)"));
    let wide = "l = [l, l, l, l] * 64\n".repeat(3);
    survives("wide lists", &format!("l = [1] * 256\n{wide}{}", doubling("torch.save(l)\n")));
    survives("models", &format!("m = nn.Linear(1, 1)\n{}m.cuda()", "m = nn.Sequential(m, m)\n".repeat(40)));
}

#[test]
fn what_leads_back_to_itself_ends() {
    survives("a class of itself", "class A(A): pass\nclass B(C): pass\nclass C(B): pass\nA(); B(); C()");
    survives("functions", "def f(x): return f(f(x) + g(x))\ndef g(x): return f(x) + g(x)\nf(torch.zeros(1))");
    survives("decorators", "def d(f): return d\n@d\n@d\ndef g(x): return g\ng(1)(2)(3)");
    survives("generators", "def g():\n  yield from g()\nfor x in g(): x.backward()");
    survives("attributes", "m = nn.Module()\nm.m = m\nm.cuda()\nl = []\nl.append(l)\ntorch.save(l)\nm(m)");
    survives(
        "a progress bar around itself",
        "l = torch.utils.data.DataLoader([1])\nfor e in range(3):\n  l = tqdm(l)\n  for x in l: x.sum().backward()",
    );
    survives(
        "an iterable of itself",
        "class A:\n  def __init__(s): s.iterable = s\nfor x in tqdm(A()): x.sum().backward()",
    );
    survives("a loop without an end", "while True:\n  while True:\n    x = [x, x]");
    survives(
        "defaults of dataclasses",
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n  a: 'A' = field(default_factory=lambda: A())\nA().a.a.a",
    );
    survives(
        "two modules",
        "class A(nn.Module):\n  def __init__(s):\n    s.b = B()\nclass B(nn.Module):\n  def __init__(s):\n    s.a = A()\nA().cuda()",
    );
}

/// A function whose loops lie in each other, with a step of training in the innermost.
fn nested(name: &str, levels: usize, inside: &str) -> String {
    let indent = |level: usize| "  ".repeat(level);
    let loops = (0..levels).map(|level| format!("{}for i{level} in range(3):\n", indent(level + 1)));
    let step =
        ["opt.zero_grad()", "loss = F.cross_entropy(model(x), y)", "loss.backward()", "opt.step()", inside];
    let step = step.map(|line| format!("{}{line}\n", indent(levels + 1)));
    format!("def {name}(model, opt, x, y):\n{}{}", loops.collect::<String>(), step.concat())
}

#[test]
fn loops_in_loops_end() {
    let head = "import torch.nn.functional as F\n";
    let script = "model = nn.Linear(8, 4)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nx = torch.randn(16, 8)\ny = torch.randint(0, 4, (16,))\n";
    let call = "f(model, opt, x, y)";
    survives("loops", &format!("{head}{}{script}{call}", nested("f", 30, "pass")));
    let called = nested("g", 14, "pass") + &nested("f", 14, "g(model, opt, x, y)");
    survives("loops that call loops", &format!("{head}{called}{script}{call}"));
    let chain = (1..8).map(|at| nested(&format!("f{at}"), 4, &format!("f{}(model, opt, x, y)", at - 1)));
    let chain = nested("f0", 4, "pass") + &chain.collect::<String>();
    survives("a chain of calls in loops", &format!("{head}{chain}{script}f7(model, opt, x, y)"));
}

#[test]
fn thousands_of_names_end() {
    let each = |line: &dyn Fn(usize) -> String| (0..5_000).map(line).collect::<String>();
    survives("names", &each(&|at| format!("v{at} = {at}\n")));
    survives("keys", &format!("d = {{}}\n{}", each(&|at| format!("d['k{at}'] = {at}\n"))));
    survives("keywords", &format!("f({})", each(&|at| format!("a{at}=1,"))));
    survives("branches", &each(&|at| format!("if u{at}: v{at} = 1\n")));
    let options = each(&|at| format!("p.add_argument('--a{at}', default={at})\n"));
    survives("options", &format!("import argparse\np = argparse.ArgumentParser()\n{options}p.parse_args()"));
}

#[test]
fn files_that_are_no_scripts_are_named_and_passed_over() {
    let large = format!("{HEAD}{}", "# a comment\n".repeat((16 << 20) / 12));
    let project = Project::new()
        .file("large.py", large)
        .file("types.ipynb", r#"{"cells": [{"cell_type": "code", "source": 5}, null, 3], "metadata": []}"#)
        .file("deep.ipynb", format!("{{\"cells\":{}", "[".repeat(50_000)))
        .file("a.py", "import torch\nfrom b import *\nfrom a import *\nimport b\nx = b.x\n")
        .file("b.py", "import torch\nfrom a import *\nimport a\nx = a.x\ny = zz\n");
    let ran = project.run(&["check", "--isolated", "."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("large.py: has "), "{ran:?}");
    assert!(!ran.stderr.contains("internal error"), "{ran:?}");
}

#[test]
fn yaml_that_unfolds_without_end_ends() {
    let line = |at: usize| format!("b{at}: &a{} [{}]\n", at + 1, vec![format!("*a{at}"); 9].join(","));
    let bomb = format!("a: &a0 [x, x]\n{}", (0..30).map(line).collect::<String>());
    let script = "import torch, yaml, json\nc = yaml.safe_load(open('bomb.yaml'))\nd = json.load(open('deep.json'))\ntorch.zeros(c['a'])\n";
    let project =
        Project::new().file("bomb.yaml", bomb).file("deep.json", "[".repeat(50_000)).file("a.py", script);
    assert_eq!(project.run(&["check", "--isolated"]).code, 0);
}

#[test]
fn settings_that_can_not_be_read_say_where() {
    for (name, text) in [("garbage.toml", "\u{1}[[["), ("tables.toml", "apis = [\"my.toml\"]\n")] {
        let project = Project::new().file(name, text).file("my.toml", "[[[").file("a.py", "import torch\n");
        let ran = project.run(&["check", "--config", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name}: {ran:?}");
        let place = if name == "garbage.toml" { "garbage.toml" } else { "my.toml" };
        assert!(ran.stderr.contains(place) && ran.stderr.contains('1'), "{name}: {ran:?}");
    }
}

#[test]
fn real_rehearsals_give_the_same_bytes_on_any_number_of_threads() {
    let bytes = |threads| {
        let request = Request {
            cwd: root().to_path_buf(),
            paths: vec!["fixtures".into()],
            origin: Origin::Isolated,
            threads,
            ..Request::default()
        };
        let outcome = engine::check(&request, &Silent).unwrap();
        assert!(outcome.findings.len() > 20);
        render::findings(&outcome, render::Format::Json, false)
    };
    let alone = bytes(1);
    (0..3).for_each(|_| assert!(bytes(4) == alone, "four threads give other bytes than one"));
}
