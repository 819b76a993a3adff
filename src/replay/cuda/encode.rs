//! A graph as the interpreter kernel reads it: words for instructions, inputs and outputs, laid out as the structs
//! of `interpreter.cu` and `samples.cuh`.

use super::names;
use crate::replay::ir::{Graph, Id, Op};
use crate::replay::sample;
use crate::report::replay::{Form, Input};

/// Where an operand lies, beside its place.
const NUMBER: u32 = 1 << 31;
const MANY: u32 = 1 << 30;

/// What an instruction does.
const INPUT: u32 = 0;
const UNARY: u32 = 1;
const BINARY: u32 = 2;
const CHOICE: u32 = 3;
const REDUCTION: u32 = 4;
/// The number of the unary operation that hands its operand on.
const COPY: u32 = 24;

/// What is known of the domain of an input.
const LOW_BOUND: u32 = 1;
const HIGH_BOUND: u32 = 2;
const WHOLE: u32 = 4;
const SPECIALS: usize = 6;

pub type Instruction = [u32; 8];
pub type InputWords = [u32; 17];
pub type Output = [u32; 3];

#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// Computed in f64.
    pub wide: bool,
    pub code: Vec<Instruction>,
    pub numbers: Vec<f64>,
    pub outputs: Vec<Output>,
    /// How many values a thread holds at once.
    pub slots: u32,
    /// How many numbers come out for each sample.
    pub told: u32,
}

impl Encoded {
    /// A graph that hands in its output and its gradients.
    pub fn of(graph: &Graph) -> Encoded {
        let gradients = graph.gradients.iter().map(|(_, id)| (*id, true));
        let outputs: Vec<(Id, bool)> = std::iter::once((graph.output, false)).chain(gradients).collect();
        Encoded::telling(graph, &outputs)
    }

    /// A graph that hands in these nodes, each as a result or as a gradient.
    pub fn telling(graph: &Graph, outputs: &[(Id, bool)]) -> Encoded {
        let mut encoder = Encoder::new(graph, outputs);
        (0..graph.nodes.len()).for_each(|index| encoder.node(index));
        let words = |(id, gradient): &(Id, bool)| {
            let lanes = lanes(graph, *id);
            [encoder.at[id.index()], lanes, u32::from(*gradient)]
        };
        let outputs: Vec<Output> = outputs.iter().map(words).collect();
        Encoded {
            wide: graph.is_wide(),
            told: outputs.iter().map(|[_, lanes, _]| lanes).sum(),
            outputs,
            code: encoder.code,
            numbers: encoder.numbers,
            slots: encoder.slots,
        }
    }
}

pub fn lanes(graph: &Graph, id: Id) -> u32 {
    match graph.node(id).form {
        Form::One => 1,
        Form::Many => graph.width as u32,
    }
}

struct Encoder<'a> {
    graph: &'a Graph,
    code: Vec<Instruction>,
    numbers: Vec<f64>,
    /// Nodes as operands.
    at: Vec<u32>,
    /// The last node that reads each; those that are handed in are read after all.
    last: Vec<usize>,
    /// Places of single values and of rows that nobody reads any more.
    free: [Vec<u32>; 2],
    slots: u32,
}

impl<'a> Encoder<'a> {
    fn new(graph: &'a Graph, outputs: &[(Id, bool)]) -> Encoder<'a> {
        let mut last: Vec<usize> = (0..graph.nodes.len()).collect();
        for (index, node) in graph.nodes.iter().enumerate() {
            node.op.operands().for_each(|operand| last[operand.index()] = index);
        }
        outputs.iter().for_each(|(id, _)| last[id.index()] = usize::MAX);
        Encoder {
            graph,
            code: Vec::new(),
            numbers: Vec::new(),
            at: Vec::new(),
            last,
            free: [Vec::new(), Vec::new()],
            slots: 0,
        }
    }

    fn node(&mut self, index: usize) {
        let node = self.graph.nodes[index];
        if let Op::Const(value) = node.op {
            self.at.push(NUMBER | self.numbers.len() as u32);
            self.numbers.push(value.value());
            return;
        }
        let place = self.place(node.form);
        let (kind, op, operands) = self.operation(node.op);
        let lanes = lanes(self.graph, Id(index as u32));
        let (dtype, _) = names::float(node.dtype);
        self.code.push([kind, op, place, lanes, dtype, operands[0], operands[1], operands[2]]);
        self.at.push(if node.form == Form::Many { MANY | place } else { place });
        // Only now, so that no result lies where its own operands do.
        node.op.operands().chain([Id(index as u32)]).for_each(|id| self.release(id, index));
    }

    fn place(&mut self, form: Form) -> u32 {
        let wanted = if form == Form::Many { self.graph.width as u32 } else { 1 };
        self.free[form as usize].pop().unwrap_or_else(|| {
            self.slots += wanted;
            self.slots - wanted
        })
    }

    fn release(&mut self, id: Id, index: usize) {
        let at = self.at[id.index()];
        if self.last[id.index()] == index && at & NUMBER == 0 {
            // An operand may stand twice in one operation.
            self.last[id.index()] = usize::MAX;
            self.free[self.graph.node(id).form as usize].push(at & !MANY);
        }
    }

    fn operation(&self, op: Op) -> (u32, u32, [u32; 3]) {
        let at = |id: Id| self.at[id.index()];
        match op {
            Op::Input(index) => (INPUT, 0, [index, 0, 0]),
            Op::Unary(op, x) => (UNARY, names::unary(op).0, [at(x), 0, 0]),
            Op::Binary(op, x, y) => (BINARY, names::binary(op).0, [at(x), at(y), 0]),
            Op::Where(condition, then, otherwise) => (CHOICE, 0, [at(condition), at(then), at(otherwise)]),
            Op::Reduce(op, x) => (REDUCTION, names::reduce(op).0, [at(x), lanes(self.graph, x), 0]),
            // Numbers have their place already, and no instruction.
            Op::Fill(x) => (UNARY, COPY, [at(x), 0, 0]),
            Op::Const(_) => (UNARY, COPY, [0; 3]),
        }
    }
}

/// All inputs with their domains, prepared as far as the host can.
pub fn inputs(inputs: &[Input], width: usize) -> Vec<InputWords> {
    let mut start = 0;
    let one = |input: &Input| {
        let lanes = if input.form == Form::Many { width as u32 } else { 1 };
        start += lanes;
        input_words(input, start - lanes, lanes)
    };
    inputs.iter().map(one).collect()
}

fn input_words(input: &Input, start: u32, lanes: u32) -> InputWords {
    let domain = input.domain;
    let (low, high) = sample::ends(domain);
    let (least, most) = sample::reached(domain);
    let (first, count) = sample::whole_numbers(low, high);
    let flag = |holds: bool, flag: u32| if holds { flag } else { 0 };
    let flags =
        flag(low.is_finite(), LOW_BOUND) | flag(high.is_finite(), HIGH_BOUND) | flag(domain.whole, WHOLE);
    let specials = sample::specials(low, high);
    let numbers = [low, high, least, most, most.max(least), first, count];
    let mut words = [0; 17];
    words[..3].copy_from_slice(&[start, lanes, flags]);
    words[3..10].copy_from_slice(&numbers.map(f32::to_bits));
    words[10] = specials.len().min(SPECIALS) as u32;
    for (word, special) in words[11..].iter_mut().zip(specials) {
        *word = special.to_bits();
    }
    words
}
