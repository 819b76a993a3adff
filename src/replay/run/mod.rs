//! Running one item of a plan on this machine, and judging what came out.
//!
//! A verdict needs a replay that could have gone either way: what follows from arithmetic alone is reported as a
//! number, and confirms nothing.

use crate::replay::histogram::histogram;
use crate::replay::ir::{Graph, lower};
use crate::replay::outcome::{
    Compared, Counts, Differ, Drawn, Evidence, Expression, Figure, First, Outcome, Picture, Row, Shown,
    Verdict,
};
use crate::replay::plan::{Expr, Item, Spot, Work};
use crate::replay::sample::{LARGEST, Sampler};
use crate::replay::search::{Count, Found, Search, Trace};
use crate::replay::witness::{Failure, Side, Witness, first_failure};
use crate::replay::{memory, step};
use crate::report::replay::{Domain, Float, Function, Program, Term};
use std::time::Instant;

mod backend;

pub use backend::{Backend, CPU, CUDA, Cpu, Gone, Measured, Repeated, Trouble};

/// The verdict on an item, and what it rests on.
pub struct Judged {
    pub verdict: Verdict,
    pub evidence: Option<Evidence>,
    /// The kind of what computed it.
    pub backend: Option<&'static str>,
    pub reason: Option<String>,
    pub expr: Option<Expression>,
    pub facts: Vec<String>,
    pub picture: Option<Picture>,
}

impl Judged {
    pub fn inconclusive(reason: impl Into<String>) -> Judged {
        Judged {
            verdict: Verdict::Inconclusive,
            evidence: None,
            backend: None,
            reason: Some(reason.into()),
            expr: None,
            facts: Vec::new(),
            picture: None,
        }
    }

    pub fn of(self, item: &Item, seconds: f64) -> Outcome {
        Outcome {
            rule: item.rule.clone(),
            path: item.at.path.clone(),
            line: item.at.line,
            column: item.at.column,
            message: item.message.clone(),
            verdict: self.verdict,
            evidence: self.evidence,
            backend: self.backend.map(str::to_owned),
            reason: self.reason,
            expr: self.expr,
            facts: self.facts,
            picture: self.picture,
            seconds,
        }
    }
}

/// An outcome, and whether its backend can go on.
pub struct Ran {
    pub outcome: Outcome,
    pub lost: bool,
}

/// Runs an item until the deadline.
pub fn run(item: &Item, seed: u64, deadline: Instant, backend: &mut dyn Backend) -> Ran {
    let start = Instant::now();
    let judged = match &item.work {
        Work::Expr(expr) => run_expr(expr, seed, deadline, backend),
        Work::Step(step) => step::judge(step, seed, deadline, backend),
        Work::Memory(memory) => Ok(memory::judge(memory, backend.memory())),
    };
    let lost = judged.as_ref().is_err_and(|trouble| trouble.lost);
    let judged = judged.unwrap_or_else(|trouble| Judged::inconclusive(trouble.reason));
    Ran { outcome: judged.of(item, start.elapsed().as_secs_f64()), lost }
}

fn run_expr(expr: &Expr, seed: u64, deadline: Instant, backend: &mut dyn Backend) -> Result<Judged, Trouble> {
    let graph = lower(&expr.program, expr.width);
    let sampler = Sampler::new(seed, &expr.program.inputs);
    let found = backend.search(&graph, &sampler, expr.samples, half_way(deadline))?;
    let (witness, repeated) = match drawn_witness(expr, &sampler, &found) {
        Some(witness) => {
            let (witness, repeated) = settled(expr, &graph, witness, half_way(deadline), backend)?;
            (Some(witness), repeated)
        }
        None => (None, None),
    };
    let repaired = expr.program.repaired.as_deref().filter(|_| witness.is_some());
    let repaired = repaired.map(|program| {
        let graph = lower(program, expr.width);
        backend.search(&graph, &sampler, expr.samples, half_way(deadline)).map(|found| counts(found.all))
    });
    let repaired = repaired.transpose()?;
    let again = witness.as_ref().map(|witness| again(&graph, witness, repeated, backend.name()));
    let (verdict, reason) = verdict(expr, &found, again);
    // What differs did not fail in any operation.
    let failing = witness.as_ref().filter(|_| graph.compared.is_none());
    let failure = failing.and_then(|witness| first_failure(&graph, witness));
    let picture = failure.as_ref().and_then(|failure| histogram(&graph, &sampler, failure, deadline));
    let machines = format!("the witness was computed again on {} and on the CPU", backend.name());
    let mut facts: Vec<String> = repeated.map(|_| machines).into_iter().collect();
    facts.extend(backend.aside());
    Ok(Judged {
        verdict,
        evidence: (verdict != Verdict::Inconclusive).then_some(Evidence::Exact),
        backend: Some(backend.kind()),
        reason,
        facts,
        picture,
        expr: Some(Expression {
            dtype: expr.program.dtype.name().to_owned(),
            inputs: drawn(&expr.program),
            counts: counts(found.all),
            ordinary: counts(found.ordinary),
            witness: witness.as_ref().map(|witness| shown(&expr.program, &graph, witness)),
            failure: failure.map(|failure| first(expr, &failure)),
            repaired,
            compared: compared(&expr.program, &graph, witness.as_ref()),
        }),
    })
}

/// What is cut short leaves time for what comes after it.
fn half_way(deadline: Instant) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / 2
}

/// The witness as small as it becomes, and what the backend says of it. A small one may lie at a threshold, between
/// two functions that differ in the last place; then the one that was drawn has to do.
fn settled(
    expr: &Expr,
    graph: &Graph,
    drawn: Witness,
    deadline: Instant,
    backend: &mut dyn Backend,
) -> Result<(Witness, Option<Repeated>), Trouble> {
    let shrunk = drawn.clone().shrunk(graph, &expr.program.inputs, deadline);
    let repeated = backend.repeat(graph, &shrunk.inputs)?;
    if repeated.is_none_or(|repeated| repeated.fails(drawn.side)) {
        return Ok((shrunk, repeated));
    }
    let repeated = backend.repeat(graph, &drawn.inputs)?;
    Ok((drawn, repeated))
}

/// The witness is computed anew before it counts: twice on the CPU, and on the backend where that is another
/// machine. What speaks against it is given.
fn again(graph: &Graph, witness: &Witness, repeated: Option<Repeated>, name: &str) -> Result<(), String> {
    let here = witness.fails(graph) && witness.fails(graph);
    match (here, repeated.map(|repeated| repeated.fails(witness.side))) {
        (true, Some(true) | None) => Ok(()),
        (true, Some(false)) => Err(format!("the witness fails on the CPU, and not on {name}")),
        (false, Some(true)) => Err(format!("the witness fails on {name}, and not on the CPU")),
        (false, _) => Err("the witness did not fail again".to_owned()),
    }
}

fn verdict(expr: &Expr, found: &Search, again: Option<Result<(), String>>) -> (Verdict, Option<String>) {
    let cut = found.all.samples < expr.samples;
    match again {
        Some(Ok(())) => (Verdict::Confirmed, None),
        Some(Err(reason)) => (Verdict::Inconclusive, Some(reason)),
        None if cut => {
            let (done, of) = (found.all.samples, expr.samples);
            (Verdict::Inconclusive, Some(format!("out of time after {done} of {of} samples")))
        }
        None => (Verdict::NotReproduced, None),
    }
}

/// A result that is not finite says more than a gradient.
fn drawn_witness(expr: &Expr, sampler: &Sampler, found: &Search) -> Option<Witness> {
    let (side, Found { sample, .. }) = match (found.forward, found.gradient) {
        (Some(found), _) => (Side::Forward, found),
        (None, Some(found)) => (Side::Gradient, found),
        (None, None) => return None,
    };
    let rows = sampler.sample(sample, expr.width).into_iter();
    let inputs = rows.map(|row| row.into_iter().map(f64::from).collect()).collect();
    Some(Witness { side, inputs })
}

fn counts(count: Count) -> Counts {
    Counts { samples: count.samples, forward: count.forward, gradient: count.gradient }
}

fn drawn(program: &Program) -> Vec<Drawn> {
    let one = |input: &crate::report::replay::Input| Drawn {
        name: input.name.clone(),
        domain: domain(input.domain),
    };
    program.inputs.iter().map(one).collect()
}

/// A domain in words; what has no bound is drawn up to a size that is said.
fn domain(domain: Domain) -> String {
    let (low, high) = (domain.low.value(), domain.high.value());
    let kind = if domain.whole { "integers" } else { "values" };
    let open = if domain.low_open { "above" } else { "from" };
    match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let to = if domain.high_open { "below" } else { "to" };
            format!("{kind} {open} {low} {to} {high}")
        }
        (true, false) => format!("{kind} {open} {low} to {LARGEST}"),
        (false, true) => format!("{kind} from -{LARGEST} to {high}"),
        (false, false) => format!("{kind} from -{LARGEST} to {LARGEST}"),
    }
}

fn row(name: &str, numbers: &[f64], dtype: Float) -> Row {
    Row { name: name.to_owned(), numbers: numbers.iter().map(|one| Figure::new(*one, dtype)).collect() }
}

fn shown(program: &Program, graph: &Graph, witness: &Witness) -> Shown {
    let trace = Trace::of(graph, &witness.inputs);
    let inputs = program.inputs.iter().zip(&witness.inputs);
    let bad = graph.gradients.iter().find(|(_, id)| trace.is_bad(*id));
    Shown {
        inputs: inputs.map(|(input, numbers)| row(&input.name, numbers, program.dtype)).collect(),
        result: row("result", trace.of_node(graph.output), graph.node(graph.output).dtype),
        gradient: bad.map(|(input, id)| {
            row(&program.inputs[*input as usize].name, trace.of_node(*id), graph.node(*id).dtype)
        }),
    }
}

fn compared(program: &Program, graph: &Graph, witness: Option<&Witness>) -> Option<Compared> {
    let (pair, claim) = (graph.compared?, program.claim?);
    let differ = witness.map(|witness| {
        let trace = Trace::of(graph, &witness.inputs);
        let row = |name: &str, id| row(name, trace.of_node(id), graph.node(id).dtype);
        Differ { should: row("should", pair.should), gives: row("gives", pair.gives) }
    });
    Some(Compared { input: program.inputs[claim.input as usize].name.clone(), differ })
}

fn first(expr: &Expr, failure: &Failure) -> First {
    let dtype = expr.program.dtype;
    let node = failure.origin.node as usize;
    // Plain arithmetic is part of nothing.
    let function = match &expr.program.nodes[node].term {
        Term::Apply(function, _) if *function > Function::Square => Some(function.name()),
        _ => None,
    };
    let spot: Option<&Spot> = expr.spots.get(node).and_then(Option::as_ref);
    First {
        operation: failure.operation.to_owned(),
        part_of: function.map(str::to_owned),
        backward: failure.origin.backward,
        path: spot.map(|spot| spot.path.clone()),
        line: spot.map(|spot| spot.line),
        column: spot.map(|spot| spot.column),
        text: spot.map(|spot| spot.text.clone()).filter(|text| !text.is_empty()),
        operands: failure.operands.iter().map(|one| Figure::new(*one, dtype)).collect(),
        result: Figure::new(failure.result, dtype),
        fails_from: failure.threshold.map(|threshold| Figure::new(threshold.bad, dtype)),
    }
}

#[cfg(test)]
mod tests;
