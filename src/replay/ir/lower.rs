//! From the program of a finding to the graph that runs: forward as the framework computes it, then backward
//! from its output to what is learned.

use super::build::Builder;
use super::composed::{Expanded, expand};
use super::graph::{Graph, Id, Origin};
use super::{elementwise, reductions};
use crate::report::replay::{Float, Form, Function, Program, Term};

/// The graph of a valid program, with rows of so many numbers.
pub fn lower(program: &Program, width: usize) -> Graph {
    let expanded = expand(program);
    let mut lowering = Lowering {
        program,
        expanded: &expanded,
        build: Builder::new(program.dtype, width),
        at: Vec::with_capacity(expanded.nodes.len()),
        dtypes: Vec::with_capacity(expanded.nodes.len()),
        inputs: vec![None; program.inputs.len()],
    };
    (0..expanded.nodes.len()).for_each(|node| lowering.forward(node));
    let gradients = lowering.backward();
    if let (Some(claim), Some(claimed)) = (program.claim, expanded.claimed) {
        let gives = lowering.at[claimed as usize];
        // What the output does not depend on has the derivative zero.
        let found = gradients.iter().find(|(input, _)| *input == claim.input).map(|(_, id)| *id);
        let should = found.unwrap_or_else(|| lowering.build.number(0.0));
        return lowering.build.comparing(should, gives);
    }
    let output = lowering.at.get(expanded.output as usize).copied().unwrap_or(Id(0));
    lowering.build.finish(output, gradients)
}

struct Lowering<'a> {
    program: &'a Program,
    expanded: &'a Expanded,
    build: Builder,
    /// The value of each node of the program.
    at: Vec<Id>,
    /// Their types; `None` for numbers of the script, which take the type of what they meet.
    dtypes: Vec<Option<Float>>,
    inputs: Vec<Option<Id>>,
}

impl Lowering<'_> {
    fn forward(&mut self, node: usize) {
        let origin = Origin { node: self.expanded.origins[node], backward: false };
        let dtype = self.dtype_of(node);
        self.build.enter(origin, dtype.unwrap_or(self.program.dtype));
        let value = match &self.expanded.nodes[node] {
            Term::Input(index) => {
                let form = self.program.inputs[*index as usize].form;
                let id = self.build.input(*index, form);
                self.inputs[*index as usize] = Some(id);
                id
            }
            Term::Number(value) => self.build.number(value.value()),
            Term::Apply(function, operands) => {
                let operands: Vec<Id> = operands.iter().map(|operand| self.at[*operand as usize]).collect();
                apply(&mut self.build, *function, &operands)
            }
        };
        self.at.push(value);
        self.dtypes.push(dtype);
    }

    fn dtype_of(&self, node: usize) -> Option<Float> {
        match &self.expanded.nodes[node] {
            Term::Input(_) => Some(self.program.dtype),
            Term::Number(_) => None,
            Term::Apply(Function::ToF16, _) => Some(Float::F16),
            Term::Apply(Function::ToBf16, _) => Some(Float::Bf16),
            Term::Apply(Function::ToF32, _) => Some(Float::F32),
            Term::Apply(_, operands) => {
                operands.iter().filter_map(|operand| self.dtypes[*operand as usize]).reduce(wider)
            }
        }
    }

    /// Which nodes a gradient has to reach.
    fn learned(&self) -> Vec<bool> {
        let mut learned: Vec<bool> = Vec::with_capacity(self.expanded.nodes.len());
        for term in &self.expanded.nodes {
            learned.push(match term {
                Term::Input(index) => self.program.inputs[*index as usize].learned,
                Term::Number(_) | Term::Apply(Function::Detach, _) => false,
                Term::Apply(_, operands) => operands.iter().any(|operand| learned[*operand as usize]),
            });
        }
        learned
    }

    fn backward(&mut self) -> Vec<(u32, Id)> {
        let learned = self.learned();
        let output = self.expanded.output as usize;
        if !learned.get(output).copied().unwrap_or(false) {
            return Vec::new();
        }
        let mut gradients: Vec<Option<Id>> = vec![None; self.expanded.nodes.len()];
        let one = self.build.number(1.0);
        self.gather(&mut gradients, output, one);
        for node in (0..=output).rev().filter(|node| learned[*node]) {
            if let Some(gradient) = gradients[node] {
                self.hand_on(&mut gradients, &learned, node, gradient);
            }
        }
        self.of_inputs(&gradients)
    }

    fn hand_on(&mut self, gradients: &mut [Option<Id>], learned: &[bool], node: usize, gradient: Id) {
        let Term::Apply(function, operands) = &self.expanded.nodes[node] else { return };
        let origin = Origin { node: self.expanded.origins[node], backward: true };
        self.build.enter(origin, self.dtypes[node].unwrap_or(self.program.dtype));
        let values: Vec<Id> = operands.iter().map(|operand| self.at[*operand as usize]).collect();
        let slopes = slopes(&mut self.build, self.program, *function, &values, self.at[node], gradient);
        for (operand, slope) in operands.iter().zip(slopes) {
            let operand = *operand as usize;
            if let Some(slope) = slope.filter(|_| learned[operand]) {
                self.gather(gradients, operand, slope);
            }
        }
    }

    /// Adds to the gradient of a node, in its form and its type.
    fn gather(&mut self, gradients: &mut [Option<Id>], node: usize, slope: Id) {
        let form = self.build.form(self.at[node]);
        let slope = match (form, self.build.form(slope)) {
            (Form::One, Form::Many) => self.build.sum(slope),
            (Form::Many, Form::One) => self.build.fill(slope),
            _ => slope,
        };
        let slope = match self.dtypes[node] {
            Some(dtype) if self.build.value(slope).is_none() => self.build.cast(slope, dtype),
            _ => slope,
        };
        gradients[node] = Some(match gradients[node] {
            Some(before) => self.build.add(before, slope),
            None => slope,
        });
    }

    /// The script may use one input as several nodes.
    fn of_inputs(&mut self, gradients: &[Option<Id>]) -> Vec<(u32, Id)> {
        let mut found: Vec<(u32, Id)> = Vec::new();
        for (node, term) in self.expanded.nodes.iter().enumerate() {
            let (Term::Input(index), Some(gradient)) = (term, gradients[node]) else { continue };
            match found.iter_mut().find(|(known, _)| known == index) {
                Some((_, sum)) => *sum = self.build.add(*sum, gradient),
                None => found.push((*index, gradient)),
            }
        }
        found.retain(|(index, _)| self.program.inputs[*index as usize].learned);
        found
    }
}

/// What an operation on two types gives: the two half types have no room for each other.
fn wider(a: Float, b: Float) -> Float {
    use Float::{Bf16, F16, F32, F64};
    match (a, b) {
        (F64, _) | (_, F64) => F64,
        (F32, _) | (_, F32) | (F16, Bf16) | (Bf16, F16) => F32,
        (same, _) => same,
    }
}

fn apply(build: &mut Builder, function: Function, operands: &[Id]) -> Id {
    let value = match *operands {
        [x] => elementwise::one(build, function, x),
        _ => elementwise::several(build, function, operands),
    };
    let value = value.or_else(|| reductions::forward(build, function, operands));
    // Every function that is not written out has a form above; a test asks for all of them.
    value.unwrap_or_else(|| build.number(f64::NAN))
}

fn slopes(
    build: &mut Builder,
    program: &Program,
    function: Function,
    operands: &[Id],
    result: Id,
    gradient: Id,
) -> Vec<Option<Id>> {
    if let [x] = *operands
        && let Some(slope) = elementwise::slope_of_one(build, function, x, result, gradient)
    {
        return vec![Some(slope)];
    }
    let slopes = elementwise::slopes(build, program.framework, function, operands, result, gradient);
    if slopes.iter().any(Option::is_some) {
        return slopes;
    }
    reductions::slopes(build, function, operands, result, gradient)
}
