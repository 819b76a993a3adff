//! From the findings of a run to a plan: what rules attached, with places as people count.

use super::{Expr, Item, Limits, Memory, Plan, SourceHash, Spot, WIDTH, Work, read, write};
use crate::engine::{Outcome, Sources};
use crate::report::replay::{Node, Program, Replay};
use crate::report::{Diagnostic, Place};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Longer code is not repeated in messages.
const MOST_CODE: usize = 80;

/// How a plan is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub seed: u64,
    pub samples: u64,
    pub limits: Limits,
    /// Memory of the card that the run is meant for, and what it is called.
    pub capacity: u64,
    pub card: String,
}

/// The plan, in the order of the findings; those without a replay have no item.
pub fn make(outcome: &Outcome, settings: &Settings) -> Plan {
    placed(outcome, settings).0
}

/// The same, and for each item the place of its finding in the outcome.
pub fn placed(outcome: &Outcome, settings: &Settings) -> (Plan, Vec<usize>) {
    let mut plan =
        Plan { seed: settings.seed, sources: Vec::new(), limits: settings.limits, items: Vec::new() };
    let (mut sources, mut places) = (BTreeMap::new(), Vec::new());
    for (index, finding) in outcome.findings.iter().enumerate() {
        let Some(replay) = &finding.replay else { continue };
        let Some(item) = item(&outcome.sources, finding, replay, settings) else { continue };
        // A plan is only made of what its readers take.
        let alone = Plan { items: vec![item.clone()], ..plan_without_items(&plan) };
        if read(&write(&alone)).is_err() {
            continue;
        }
        if let Some(shown) = outcome.sources.get(finding.place.file) {
            sources.entry(shown.path.clone()).or_insert_with(|| hash(shown.source.text.as_bytes()));
        }
        plan.items.push(item);
        places.push(index);
    }
    plan.sources = sources.into_iter().map(|(path, sha256)| SourceHash { path, sha256 }).collect();
    (plan, places)
}

fn plan_without_items(plan: &Plan) -> Plan {
    Plan { seed: plan.seed, sources: Vec::new(), limits: plan.limits, items: Vec::new() }
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn item(sources: &Sources, finding: &Diagnostic, replay: &Replay, settings: &Settings) -> Option<Item> {
    let work = match replay {
        Replay::Program(program) => Work::Expr(expr(sources, program, settings)),
        Replay::Step(step) => Work::Step(step.clone()),
        // What fits and does not grow is no finding about this card.
        Replay::Memory(demand) if demand.is_idle(settings.capacity) => return None,
        Replay::Memory(demand) => Work::Memory(Memory {
            demand: demand.clone(),
            capacity: settings.capacity,
            card: settings.card.clone(),
        }),
    };
    let at = spot(sources, finding.place)?;
    Some(Item { rule: finding.rule.to_owned(), at, message: finding.message.clone(), work })
}

fn expr(sources: &Sources, program: &Program, settings: &Settings) -> Expr {
    let spots = program.nodes.iter().map(|node| spot(sources, node.place?)).collect();
    let mut bare = without_places(program);
    // The repair is run on the same samples, and so needs the same inputs.
    let repaired = program.repaired.as_deref().filter(|repaired| repaired.inputs == program.inputs);
    bare.repaired = repaired.map(|repaired| Box::new(without_places(repaired)));
    Expr { program: bare, spots, width: WIDTH, samples: settings.samples }
}

fn without_places(program: &Program) -> Program {
    let bare = |node: &Node| Node { term: node.term.clone(), place: None };
    let nodes = program.nodes.iter().map(bare).collect();
    Program { nodes, inputs: program.inputs.clone(), repaired: None, ..*program }
}

fn spot(sources: &Sources, place: Place) -> Option<Spot> {
    let shown = sources.get(place.file)?;
    let at = shown.source.locate(place.span.start);
    let path = match at.cell {
        Some(cell) => format!("{}:cell {cell}", shown.path),
        None => shown.path.clone(),
    };
    let code = shown.source.text.get(place.span.range()).unwrap_or_default();
    let text = if code.len() <= MOST_CODE && !code.contains('\n') { code.to_owned() } else { String::new() };
    Some(Spot { path, line: at.line, column: at.column, text })
}
