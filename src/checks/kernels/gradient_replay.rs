//! A function with a gradient of its own as a program: what its forward computes, and what its backward gives, to
//! be compared with the derivative.

use super::custom_gradient::CustomGradient;
use crate::report::replay::{Claim, Domain, Float, Form, Framework, Function, Program, Replay};
use crate::values::Formula;
use crate::values::formula::{self, Input, Term};

/// Is what the backward gives the derivative of the forward, times what comes in? `None` where one of them
/// holds a function that no replay has.
pub(super) fn replay(own: &CustomGradient) -> Option<Replay> {
    // As `torch.autograd.gradcheck` asks for: rounding is no difference then.
    let program = Program { dtype: Float::F64, framework: Framework::Torch, ..Program::default() };
    let mut writer = GradientWriter { program, known: Vec::new(), learned: own.input };
    let input = writer.input(own.input);
    let gives = writer.formula(&own.gradient)?;
    let forward = writer.formula(&own.forward)?;
    let incoming = writer.input(own.incoming);
    let mut program = writer.program;
    program.apply(Function::Mul, &[forward, incoming], None);
    program.claim = Some(Claim { input, node: gives });
    Some(Replay::Program(program))
}

struct GradientWriter {
    program: Program,
    /// Inputs by their ids, and their nodes.
    known: Vec<(u32, u32)>,
    learned: Input,
}

impl GradientWriter {
    fn input(&mut self, input: Input) -> u32 {
        if let Some((_, node)) = self.known.iter().find(|(id, _)| *id == input.id) {
            return *node;
        }
        let name = if input.name.is_empty() { "input" } else { input.name.as_str() };
        let node = self.program.input(name, Form::One, Domain::REAL, input.id == self.learned.id);
        self.known.push((input.id, node));
        node
    }

    fn formula(&mut self, formula: &Formula) -> Option<u32> {
        Some(match formula.term() {
            Term::Input(input) => self.input(*input),
            Term::Number(value) => self.program.number(*value),
            Term::Some => return None,
            Term::Apply(function, operands) => {
                let function = function_of(*function)?;
                let operands =
                    operands.iter().map(|operand| self.formula(operand)).collect::<Option<Vec<u32>>>()?;
                (operands.len() == function.arity()).then(|| self.program.apply(function, &operands, None))?
            }
        })
    }
}

fn function_of(function: formula::Function) -> Option<Function> {
    use formula::Function as F;
    Some(match function {
        F::Abs => Function::Abs,
        F::Add => Function::Add,
        F::Cos => Function::Cos,
        F::Div => Function::Div,
        F::Exp => Function::Exp,
        F::Log => Function::Log,
        F::Log1p => Function::Log1p,
        F::Max => Function::Max,
        F::Min => Function::Min,
        F::Mul => Function::Mul,
        F::Neg => Function::Neg,
        F::Pow => Function::Pow,
        F::Relu => Function::Relu,
        F::Sigmoid => Function::Sigmoid,
        F::Sin => Function::Sin,
        F::Sqrt => Function::Sqrt,
        F::Sub => Function::Sub,
        F::Tanh => Function::Tanh,
        F::Other | F::Truncate => return None,
    })
}
