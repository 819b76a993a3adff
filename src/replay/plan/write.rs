//! A plan as JSON.

use super::wire::{self, Cell};
use super::{Expr, Item, Memory, Plan, SCHEMA, Spot, Work};
use crate::report::replay::{Claim, Form, Input, Loss, Number, Program, Step, Term, Training};

pub fn write(plan: &Plan) -> Vec<u8> {
    let wire = wire::Plan {
        schema: SCHEMA.to_owned(),
        tool: concat!("trainlint ", env!("CARGO_PKG_VERSION")).to_owned(),
        seed: plan.seed,
        sources: plan
            .sources
            .iter()
            .map(|source| wire::Source { path: source.path.clone(), sha256: source.sha256.clone() })
            .collect(),
        limits: Some(wire::Limits {
            item_seconds: plan.limits.item_seconds,
            total_seconds: plan.limits.total_seconds,
        }),
        items: plan.items.iter().map(item).collect(),
    };
    // Plain structs with string keys serialise, and a `Vec` can be written to.
    let mut bytes = serde_json::to_vec(&wire).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn item(item: &Item) -> wire::Item {
    let (mut one, mut step, mut memory) = (None, None, None);
    match &item.work {
        Work::Expr(work) => one = Some(expr(work)),
        Work::Step(work) => step = Some(self::step(work)),
        Work::Memory(work) => memory = Some(self::memory(work)),
    }
    wire::Item {
        rule: item.rule.clone(),
        at: spot(&item.at),
        message: item.message.clone(),
        expr: one,
        step,
        memory,
    }
}

fn spot(spot: &Spot) -> wire::Spot {
    wire::Spot { path: spot.path.clone(), line: spot.line, column: spot.column, text: spot.text.clone() }
}

fn expr(expr: &Expr) -> wire::Expr {
    let program = &expr.program;
    let spots = expr.spots.iter().enumerate();
    wire::Expr {
        dtype: program.dtype.name().to_owned(),
        framework: program.framework.name().to_owned(),
        width: expr.width,
        samples: expr.samples,
        inputs: program.inputs.iter().map(input).collect(),
        nodes: nodes(program),
        spots: spots.filter_map(|(node, at)| Some((node as u32, spot(at.as_ref()?)))).collect(),
        repaired: program.repaired.as_deref().map(nodes),
        claim: program.claim.map(|Claim { input, node }| wire::Claim { input, node }),
    }
}

fn input(input: &Input) -> wire::Input {
    let domain = input.domain;
    wire::Input {
        name: input.name.clone(),
        form: input.form.name().to_owned(),
        low: bits(domain.low),
        high: bits(domain.high),
        low_open: domain.low_open,
        high_open: domain.high_open,
        whole: domain.whole,
        learned: input.learned,
    }
}

fn nodes(program: &Program) -> Vec<Vec<Cell>> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let one = |term: &Term| match term {
        Term::Input(index) => vec![text("input"), Cell::Index(*index)],
        Term::Number(value) => vec![text("number"), Cell::Text(bits(*value))],
        Term::Apply(function, operands) => std::iter::once(text(function.name()))
            .chain(operands.iter().map(|one| Cell::Index(*one)))
            .collect(),
    };
    program.nodes.iter().map(|node| one(&node.term)).collect()
}

fn bits(number: Number) -> String {
    format!("{:#018x}", number.bits())
}

fn step(step: &Step) -> wire::Step {
    wire::Step {
        optimizer: step.optimizer.map(|optimizer| optimizer.name().to_owned()),
        learning_rate: step.learning_rate.map(bits),
        momentum: step.momentum.map(bits),
        weight_decay: step.weight_decay.map(bits),
        script: training(&step.script),
        repaired: training(&step.repaired),
    }
}

fn training(training: &Training) -> wire::Training {
    let modes = training.modes;
    wire::Training {
        round: training.round.iter().map(|act| (act.call.name().to_owned(), act.every)).collect(),
        divisor: training.divisor.into(),
        loss: match &training.loss {
            Loss::Squares => wire::Loss::Squares,
            Loss::AllPairs => wire::Loss::AllPairs,
            Loss::Classes(program) => wire::Loss::Classes(wire::Head {
                framework: program.framework.name().to_owned(),
                form: program.inputs.first().map_or(Form::Many, |input| input.form).name().to_owned(),
                nodes: nodes(program),
            }),
        },
        layers: training.layers.iter().map(|layer| layer.name().to_owned()).collect(),
        modes: modes.dropout.map(|dropout| wire::Modes {
            dropout: bits(dropout),
            learns_in_training: modes.learns_in_training,
            evaluated_in_training: modes.evaluated_in_training,
        }),
        carries: training.carries.map(|carries| carries.name().to_owned()),
        elements: training.elements,
    }
}

fn memory(memory: &Memory) -> wire::Memory {
    let demand = &memory.demand;
    wire::Memory {
        what: demand.what.clone(),
        least: demand.least,
        each_step: demand.each_step,
        steps: demand.steps,
        samples: demand.samples,
        wasted: demand.wasted,
        capacity: memory.capacity,
        card: memory.card.clone(),
    }
}
