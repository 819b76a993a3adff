//! A plan from JSON, which may come from anybody: everything is looked at before anything runs, and what is
//! wrong is named by its place in the file.

mod steps;

use super::wire::{self, Cell};
use super::{Expr, Item, Limits, Memory, Plan, SCHEMA, SourceHash, Spot, Work};
use crate::report::replay::{
    Claim, Demand, Domain, Float, Form, Framework, Function, Input, Node, Number, Program, Term,
};
use std::fmt::Display;
use thiserror::Error;

/// More than any plan of a project needs; a file beyond this is not one.
pub const MOST_BYTES: u64 = 64 << 20;
const MOST_ITEMS: usize = 10_000;
const MOST_INPUTS: usize = 32;
const MOST_NODES: usize = 256;
const MOST_WIDTH: usize = 16;
const MOST_SAMPLES: u64 = 1 << 32;
const MOST_TEXT: usize = 4_000;
const MOST_SECONDS: f64 = 86_400.0;

/// What is wrong with a plan, and where in the file.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("at `{path}`: {message}")]
pub struct PlanError {
    pub path: String,
    pub message: String,
}

type Read<T> = Result<T, PlanError>;

fn wrong<T>(path: impl Display, message: impl Into<String>) -> Read<T> {
    Err(PlanError { path: path.to_string(), message: message.into() })
}

pub fn read(bytes: &[u8]) -> Read<Plan> {
    check_schema(bytes)?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let wire: wire::Plan = match serde_path_to_error::deserialize(&mut reader) {
        Ok(wire) => wire,
        Err(error) => return wrong(format!("$.{}", error.path()), error.inner().to_string()),
    };
    if let Err(error) = reader.end() {
        return wrong("$", error.to_string());
    }
    if wire.items.len() > MOST_ITEMS {
        return wrong("$.items", format!("{} items are more than {MOST_ITEMS}", wire.items.len()));
    }
    let items = wire.items.into_iter().enumerate();
    Ok(Plan {
        seed: wire.seed,
        sources: wire
            .sources
            .into_iter()
            .map(|source| SourceHash { path: source.path, sha256: source.sha256 })
            .collect(),
        limits: limits(wire.limits)?,
        items: items.map(|(index, one)| item(&format!("$.items[{index}]"), one)).collect::<Read<_>>()?,
    })
}

fn check_schema(bytes: &[u8]) -> Read<()> {
    let header: wire::Header = match serde_json::from_slice(bytes) {
        Ok(header) => header,
        Err(error) if error.is_data() => {
            return wrong("$.schema", format!("a plan begins with `\"schema\": \"{SCHEMA}\"` ({error})"));
        }
        Err(error) => return wrong("$", format!("this is not JSON: {error}")),
    };
    if header.schema == SCHEMA {
        return Ok(());
    }
    let told = shown(&header.schema);
    wrong(
        "$.schema",
        format!("`{told}` is not `{SCHEMA}`, the one that this version reads: make the plan anew"),
    )
}

/// What a stranger wrote, short and without control characters.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(60).collect()
}

fn limits(limits: Option<wire::Limits>) -> Read<Limits> {
    let Some(limits) = limits else { return Ok(Limits::default()) };
    for (name, seconds) in [("item_seconds", limits.item_seconds), ("total_seconds", limits.total_seconds)] {
        if !(seconds > 0.0 && seconds <= MOST_SECONDS) {
            return wrong(
                format!("$.limits.{name}"),
                format!("{seconds} seconds are not above 0 and at most {MOST_SECONDS}"),
            );
        }
    }
    Ok(Limits { item_seconds: limits.item_seconds, total_seconds: limits.total_seconds })
}

fn item(path: &str, item: wire::Item) -> Read<Item> {
    let at = spot(&format!("{path}.at"), item.at)?;
    let rule = text(&format!("{path}.rule"), item.rule)?;
    let message = text(&format!("{path}.message"), item.message)?;
    let work = match (item.expr, item.step, item.memory) {
        (Some(one), None, None) => Work::Expr(expr(&format!("{path}.expr"), one)?),
        (None, Some(one), None) => Work::Step(Box::new(steps::step(&format!("{path}.step"), one)?)),
        (None, None, Some(one)) => Work::Memory(memory(&format!("{path}.memory"), one)?),
        _ => return wrong(path, "an item has exactly one of `expr`, `step` and `memory`"),
    };
    Ok(Item { rule, at, message, work })
}

fn text(path: &str, text: String) -> Read<String> {
    if text.len() > MOST_TEXT {
        return wrong(path, format!("{} bytes of text are more than {MOST_TEXT}", text.len()));
    }
    Ok(text)
}

fn spot(path: &str, spot: wire::Spot) -> Read<Spot> {
    Ok(Spot {
        path: text(path, spot.path)?,
        line: spot.line,
        column: spot.column,
        text: text(path, spot.text)?,
    })
}

fn expr(path: &str, expr: wire::Expr) -> Read<Expr> {
    if !(1..=MOST_WIDTH).contains(&expr.width) {
        return wrong(
            format!("{path}.width"),
            format!("a row has 1 to {MOST_WIDTH} numbers, not {}", expr.width),
        );
    }
    if !(1..=MOST_SAMPLES).contains(&expr.samples) {
        return wrong(format!("{path}.samples"), format!("{} is not in 1 to {MOST_SAMPLES}", expr.samples));
    }
    if expr.inputs.len() > MOST_INPUTS {
        return wrong(format!("{path}.inputs"), format!("more than {MOST_INPUTS} inputs"));
    }
    let dtype = named(&format!("{path}.dtype"), &expr.dtype, Float::ALL, Float::name)?;
    let framework = named(&format!("{path}.framework"), &expr.framework, Framework::ALL, Framework::name)?;
    let inputs = expr.inputs.into_iter().enumerate();
    let inputs: Vec<Input> =
        inputs.map(|(index, one)| input(&format!("{path}.inputs[{index}]"), one)).collect::<Read<_>>()?;
    let nodes_of = |name: &str, list: &[Vec<Cell>]| nodes(&format!("{path}.{name}"), list, inputs.len());
    let own = nodes_of("nodes", &expr.nodes)?;
    let repaired = match &expr.repaired {
        None => None,
        Some(list) => {
            let nodes = nodes_of("repaired", list)?;
            Some(Box::new(Program { dtype, framework, inputs: inputs.clone(), nodes, ..Program::default() }))
        }
    };
    let mut spots = vec![None; own.len()];
    for (node, one) in expr.spots {
        let at = format!("{path}.spots.{node}");
        match spots.get_mut(node as usize) {
            Some(place) => *place = Some(spot(&at, one)?),
            None => return wrong(at, format!("there are only {} nodes", own.len())),
        }
    }
    let claim = expr.claim.map(|one| claim(&format!("{path}.claim"), one, &inputs, own.len())).transpose()?;
    if claim.is_some() && repaired.is_some() {
        return wrong(format!("{path}.repaired"), "a `claim` has no repair to run beside it");
    }
    let program = Program { dtype, framework, inputs, nodes: own, claim, repaired };
    Ok(Expr { program, spots, width: expr.width, samples: expr.samples })
}

fn claim(path: &str, claim: wire::Claim, inputs: &[Input], nodes: usize) -> Read<Claim> {
    if !inputs.get(claim.input as usize).is_some_and(|input| input.learned) {
        return wrong(format!("{path}.input"), format!("{} is no input that is learned", claim.input));
    }
    if claim.node as usize >= nodes {
        return wrong(format!("{path}.node"), format!("there are only {nodes} nodes"));
    }
    Ok(Claim { input: claim.input, node: claim.node })
}

/// One of a list, by its name.
fn named<T: Copy>(path: &str, told: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Read<T> {
    match all.iter().find(|one| name(**one) == told) {
        Some(one) => Ok(*one),
        None => {
            let names: Vec<String> = all.iter().map(|one| format!("`{}`", name(*one))).collect();
            wrong(path, format!("`{}` is none of {}", shown(told), names.join(", ")))
        }
    }
}

fn bits(path: &str, told: &str) -> Read<Number> {
    let digits = told.strip_prefix("0x").filter(|digits| digits.len() == 16);
    let digits = digits.filter(|digits| digits.bytes().all(|one| one.is_ascii_hexdigit()));
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(bits) => Ok(Number::new(f64::from_bits(bits))),
        None => wrong(
            path,
            format!("`{}` is not the bits of an f64, such as `0x3ff0000000000000` for 1", shown(told)),
        ),
    }
}

fn input(path: &str, input: wire::Input) -> Read<Input> {
    let form = named(&format!("{path}.form"), &input.form, Form::ALL, Form::name)?;
    let low = bits(&format!("{path}.low"), &input.low)?;
    let high = bits(&format!("{path}.high"), &input.high)?;
    let (from, to) = (low.value(), high.value());
    if from.is_nan() || to.is_nan() || from > to || from == f64::INFINITY || to == f64::NEG_INFINITY {
        return wrong(path, format!("{from} to {to} holds no number"));
    }
    let domain =
        Domain { low, high, low_open: input.low_open, high_open: input.high_open, whole: input.whole };
    let name = text(&format!("{path}.name"), input.name)?;
    Ok(Input { name, form, domain, learned: input.learned })
}

fn nodes(path: &str, list: &[Vec<Cell>], inputs: usize) -> Read<Vec<Node>> {
    if list.is_empty() || list.len() > MOST_NODES {
        return wrong(path, format!("a program has 1 to {MOST_NODES} nodes, not {}", list.len()));
    }
    let term = |(index, cells): (usize, &Vec<Cell>)| {
        let path = format!("{path}[{index}]");
        Ok(Node { term: term(&path, cells, index, inputs)?, place: None })
    };
    list.iter().enumerate().map(term).collect()
}

fn term(path: &str, cells: &[Cell], index: usize, inputs: usize) -> Read<Term> {
    let Some((Cell::Text(head), rest)) = cells.split_first() else {
        return wrong(path, "a node begins with `input`, `number` or the name of a function");
    };
    match (head.as_str(), rest) {
        ("input", [Cell::Index(input)]) if (*input as usize) < inputs => Ok(Term::Input(*input)),
        ("input", _) => wrong(path, format!("`input` takes the number of one of {inputs} inputs")),
        ("number", [Cell::Text(told)]) => Ok(Term::Number(bits(path, told)?)),
        ("number", _) => wrong(path, "`number` takes the bits of an f64 in quotes"),
        (name, operands) => applied(path, name, operands, index),
    }
}

fn applied(path: &str, name: &str, operands: &[Cell], index: usize) -> Read<Term> {
    let Some(function) = Function::named(name) else {
        return wrong(path, format!("`{}` is no function of this version", shown(name)));
    };
    if operands.len() != function.arity() {
        let (wanted, given) = (function.arity(), operands.len());
        return wrong(path, format!("`{name}` takes {wanted} operands, and {given} are given"));
    }
    let operand = |cell: &Cell| match cell {
        Cell::Index(operand) if (*operand as usize) < index => Ok(*operand),
        Cell::Index(operand) => wrong(path, format!("operand {operand} does not come before node {index}")),
        Cell::Text(_) => wrong(path, "operands are numbers of nodes"),
    };
    Ok(Term::Apply(function, operands.iter().map(operand).collect::<Read<_>>()?))
}

fn memory(path: &str, memory: wire::Memory) -> Read<Memory> {
    if memory.capacity == 0 {
        return wrong(format!("{path}.capacity"), "a card has memory");
    }
    let demand = Demand {
        what: text(&format!("{path}.what"), memory.what)?,
        least: memory.least,
        each_step: memory.each_step,
        steps: memory.steps,
        samples: memory.samples,
        wasted: memory.wasted,
    };
    Ok(Memory { demand, capacity: memory.capacity, card: text(&format!("{path}.card"), memory.card)? })
}
