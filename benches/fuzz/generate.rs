//! Python that knows what it is about: whatever bytes come, they choose statements that parse, lead back to
//! themselves, grow, and use frameworks in odd ways.

/// Bytes as a source of choices; zeros when they are used up, so that every input ends.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first as usize % limit
    }

    fn one<'b>(&mut self, of: &[&'b str]) -> &'b str {
        of[self.below(of.len())]
    }

    fn is_done(&self) -> bool {
        self.0.is_empty()
    }
}

const NAMES: [&str; 10] = ["x", "y", "f", "g", "A", "B", "model", "opt", "loss", "self"];
const NUMBERS: [&str; 12] =
    ["0", "1", "-1", "3", "0.5", "1e308", "-0.0", "2**63", "10**40", "1_000_000", "0x7fffffff", "1j"];
const ATOMS: [&str; 14] = [
    "None",
    "True",
    "...",
    "'a'",
    "f'{x!r:>{y}}'",
    "b'\\xff'",
    "torch",
    "nn.Linear(3, 3)",
    "torch.zeros(2, 3)",
    "torch.randn(4, requires_grad=True)",
    "model(x)",
    "nn.Sequential()",
    "torch.optim.SGD(model.parameters(), lr=0.1)",
    "DataLoader(x, batch_size=8)",
];
const METHODS: [&str; 18] = [
    "backward",
    "step",
    "zero_grad",
    "detach",
    "item",
    "cuda",
    "to",
    "append",
    "parameters",
    "eval",
    "train",
    "sum",
    "view",
    "reshape",
    "stack",
    "__class__",
    "forward",
    "items",
];
const OPERATORS: [&str; 12] = ["+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "and", "is not"];

pub fn script(bytes: &[u8]) -> String {
    let mut choices = Choices(bytes);
    let mut out =
        String::from("import torch\nimport torch.nn as nn\nfrom torch.utils.data import DataLoader\n");
    while !choices.is_done() && out.len() < 16 << 10 {
        statement(&mut choices, &mut out, 0);
    }
    out
}

fn line(out: &mut String, depth: usize, text: &str) {
    out.push_str(&"  ".repeat(depth));
    out.push_str(text);
    out.push('\n');
}

fn block(choices: &mut Choices<'_>, out: &mut String, depth: usize) {
    for _ in 0..1 + choices.below(3) {
        statement(choices, out, depth);
    }
    if depth > 24 {
        line(out, depth, "pass");
    }
}

fn statement(choices: &mut Choices<'_>, out: &mut String, depth: usize) {
    let deep = depth >= 24;
    let name = choices.one(&NAMES);
    let value = expression(choices, 0);
    match choices.below(if deep { 8 } else { 20 }) {
        0 | 1 => line(out, depth, &format!("{name} = {value}")),
        2 => line(out, depth, &format!("{name} {}= {value}", choices.one(&["+", "*", "@", "//"]))),
        3 => line(out, depth, &value),
        4 => line(out, depth, &format!("{name}.{} = {value}", choices.one(&METHODS))),
        5 => line(out, depth, &format!("{name}[{value}] = {name}")),
        6 => line(
            out,
            depth,
            choices.one(&[
                "pass",
                "break",
                "continue",
                "return x",
                "raise",
                "del x",
                "global y",
                "nonlocal y",
            ]),
        ),
        7 => line(out, depth, &format!("import {0} as {name}\nfrom . import *", choices.one(&NAMES))),
        kind => compound(choices, out, depth, kind, name, &value),
    }
}

fn compound(choices: &mut Choices<'_>, out: &mut String, depth: usize, kind: usize, name: &str, value: &str) {
    let head = match kind {
        8 | 9 => format!("if {value}:"),
        10 | 11 => format!("for {name} in {value}:"),
        12 => format!("while {value}:"),
        13 => format!("with {value} as {name}:"),
        14 => format!("{}def {name}(self, x=y, *y, **f):", choices.one(&["", "async "])),
        15 => format!(
            "class {name}({}, metaclass={}):",
            choices.one(&["nn.Module", "A", "B", "x", "*y"]),
            choices.one(&NAMES)
        ),
        16 => "try:".to_owned(),
        17 => format!("match {value}:"),
        18 => format!("@{value}\n{}def {name}():", "  ".repeat(depth)),
        _ => format!("type {name}[T] = {value}\n{}if 1:", "  ".repeat(depth)),
    };
    line(out, depth, &head);
    if kind == 17 {
        let pattern = choices.one(&["[x, *_]", "{'a': x, **y}", "A(x=1) | None", "_", "1 | 2"]);
        line(out, depth + 1, &format!("case {pattern} if x:"));
        return block(choices, out, depth + 2);
    }
    block(choices, out, depth + 1);
    match kind {
        9 | 11 => {
            line(out, depth, "else:");
            block(choices, out, depth + 1);
        }
        16 => {
            line(
                out,
                depth,
                choices.one(&["except:", "except* ValueError as y:", "finally:", "except (A, B):"]),
            );
            block(choices, out, depth + 1);
        }
        _ => {}
    }
}

fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth > 5 {
        return choices.one(&NAMES).to_owned();
    }
    let inner = |choices: &mut Choices<'_>| expression(choices, depth + 1);
    match choices.below(18) {
        0 | 1 => choices.one(&NAMES).to_owned(),
        2 => choices.one(&NUMBERS).to_owned(),
        3 | 4 => choices.one(&ATOMS).to_owned(),
        5 | 6 => format!("{}.{}()", inner(choices), choices.one(&METHODS)),
        7 => format!("{}({}, x={})", inner(choices), inner(choices), inner(choices)),
        8 => format!("({} {} {})", inner(choices), choices.one(&OPERATORS), inner(choices)),
        9 => format!(
            "[{} for {} in {} if {}]",
            inner(choices),
            choices.one(&NAMES),
            inner(choices),
            inner(choices)
        ),
        10 => format!("{{{}: {}, **{}}}", inner(choices), inner(choices), inner(choices)),
        11 => format!("[{}] * {}", inner(choices), choices.one(&NUMBERS)),
        12 => format!("(lambda x, *y: {})({})", inner(choices), inner(choices)),
        13 => format!("{}[{}:{}, ..., None]", inner(choices), inner(choices), inner(choices)),
        14 => format!("({} if {} else {})", inner(choices), inner(choices), inner(choices)),
        15 => format!("(yield {})", inner(choices)),
        16 => format!("(z := {})", inner(choices)),
        _ => format!(
            "torch.{}({}, {})",
            choices.one(&["cat", "stack", "zeros", "matmul", "where", "einsum"]),
            inner(choices),
            choices.one(&NUMBERS)
        ),
    }
}
