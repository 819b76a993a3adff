//! Trainings of a plan, as strict as the rest: a stand-in is never larger than ours is, whatever a stranger says.

use super::{Read, bits, named, nodes, wrong};
use crate::replay::plan::wire;
use crate::report::replay::{
    Act, Call, Carried, Domain, Form, Framework, LAYERS, Layer, Loss, Modes, Number, Optimizer, Program,
    Step, Training,
};

/// What `facts` writes is a tenth of it.
const MOST_ACTS: usize = 256;
const MOST_EVERY: u32 = 1 << 16;

pub(super) fn step(path: &str, step: wire::Step) -> Read<Step> {
    let number = |name: &str, told: Option<String>, most: f64| match told {
        None => Ok(None),
        Some(told) => within(&format!("{path}.{name}"), &told, most).map(Some),
    };
    let optimizer = match step.optimizer {
        None => None,
        Some(told) => Some(named(&format!("{path}.optimizer"), &told, Optimizer::ALL, Optimizer::name)?),
    };
    let step = Step {
        optimizer,
        learning_rate: number("learning_rate", step.learning_rate, 1e9)?,
        momentum: number("momentum", step.momentum, 1e9)?,
        weight_decay: number("weight_decay", step.weight_decay, 1e9)?,
        script: training(&format!("{path}.script"), step.script)?,
        repaired: training(&format!("{path}.repaired"), step.repaired)?,
    };
    // Both run on the same data.
    if std::mem::discriminant(&task(&step.script.loss)) != std::mem::discriminant(&task(&step.repaired.loss))
    {
        return wrong(format!("{path}.repaired.loss"), "it learns something else than `script`");
    }
    Ok(step)
}

/// What a loss is learned from: numbers, one class, or several.
fn task(loss: &Loss) -> Option<Option<()>> {
    match loss {
        Loss::Squares | Loss::AllPairs => None,
        Loss::Classes(program) => {
            Some(program.inputs.iter().any(|input| input.form == Form::Many).then_some(()))
        }
    }
}

fn within(path: &str, told: &str, most: f64) -> Read<Number> {
    let number = bits(path, told)?;
    if !(0.0..=most).contains(&number.value()) {
        return wrong(path, format!("{} is not between 0 and {most}", number.value()));
    }
    Ok(number)
}

fn training(path: &str, training: wire::Training) -> Read<Training> {
    if training.round.is_empty() || training.round.len() > MOST_ACTS {
        return wrong(
            format!("{path}.round"),
            format!("a round has 1 to {MOST_ACTS} calls, not {}", training.round.len()),
        );
    }
    let acts = training.round.into_iter().enumerate();
    let round = acts
        .map(|(index, (told, every))| act(&format!("{path}.round[{index}]"), &told, every))
        .collect::<Read<_>>()?;
    let Ok(divisor @ 1..=MOST_EVERY) = u32::try_from(training.divisor) else {
        return wrong(format!("{path}.divisor"), format!("{} is not in 1 to {MOST_EVERY}", training.divisor));
    };
    let carries = match training.carries {
        None => None,
        Some(told) => Some(named(&format!("{path}.carries"), &told, Carried::ALL, Carried::name)?),
    };
    Ok(Training {
        round,
        divisor,
        loss: loss(&format!("{path}.loss"), training.loss)?,
        layers: layers(&format!("{path}.layers"), &training.layers)?,
        modes: modes(&format!("{path}.modes"), training.modes)?,
        carries,
        elements: training.elements.max(1),
    })
}

fn act(path: &str, told: &str, every: u32) -> Read<Act> {
    if !(1..=MOST_EVERY).contains(&every) {
        return wrong(path, format!("every {every} rounds is not in 1 to {MOST_EVERY}"));
    }
    Ok(Act { call: named(path, told, Call::ALL, Call::name)?, every })
}

fn layers(path: &str, told: &[String]) -> Read<[Layer; LAYERS]> {
    let layers = told.iter().enumerate();
    let layers: Vec<Layer> = layers
        .map(|(index, told)| named(&format!("{path}[{index}]"), told, Layer::ALL, Layer::name))
        .collect::<Read<_>>()?;
    match <[Layer; LAYERS]>::try_from(layers) {
        Ok(layers) => Ok(layers),
        Err(layers) => wrong(path, format!("the stand-in has {LAYERS} layers, not {}", layers.len())),
    }
}

fn modes(path: &str, told: Option<wire::Modes>) -> Read<Modes> {
    let Some(told) = told else { return Ok(Modes::default()) };
    let dropout = within(&format!("{path}.dropout"), &told.dropout, 1.0)?;
    if dropout.value() >= 1.0 {
        return wrong(format!("{path}.dropout"), "nothing is left where all is dropped");
    }
    Ok(Modes {
        dropout: Some(dropout),
        learns_in_training: told.learns_in_training,
        evaluated_in_training: told.evaluated_in_training,
    })
}

fn loss(path: &str, told: wire::Loss) -> Read<Loss> {
    let told = match told {
        wire::Loss::Squares => return Ok(Loss::Squares),
        wire::Loss::AllPairs => return Ok(Loss::AllPairs),
        wire::Loss::Classes(told) => told,
    };
    let form = named(&format!("{path}.classes.form"), &told.form, Form::ALL, Form::name)?;
    let framework =
        named(&format!("{path}.classes.framework"), &told.framework, Framework::ALL, Framework::name)?;
    let mut program = Program { framework, ..Program::default() };
    program.input("output", form, Domain::REAL, true);
    program.input("target", form, Domain::LABEL, false);
    program.nodes = nodes(&format!("{path}.classes.nodes"), &told.nodes, program.inputs.len())?;
    Ok(Loss::Classes(Box::new(program)))
}
