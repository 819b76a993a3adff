//! From what the rehearsal followed to a loss to a program that can be replayed: the steps between the numbers
//! that nothing is known of and the loss, and the same with the guard that the finding proposes.

use super::matrices;
use crate::facts::Script;
use crate::report::Place;
use crate::report::replay::{Domain, Float, Form, Framework, Function, Number, Program, Term};
use crate::values::recipe::Step;
use crate::values::{DType, End, Graph, Hazard, HazardKind, Ingredient, Interval, Recipe, Source, Tensor};
use std::rc::Rc;

/// Names of inputs are the code that makes them, as long as it is short.
const MOST_NAME: usize = 32;
/// How far from a pole a guard holds, where single precision is computed with, and where half is.
const GUARD: f64 = 1e-6;
/// (The gradient of a quotient is a million at 1e-3, which it does not hold.)
const HALF_GUARD: f64 = 1e-2;

/// What is replayed of a hazard: the computation of the loss where it is followed from there on, else that
/// of the operation alone. What else is unsafe on the way is taken as repaired, so that a failure is this one.
pub(super) fn of(script: &Script, loss: &Rc<Tensor>, hazard: &Hazard) -> Option<Program> {
    match hazard.kind {
        HazardKind::Inverse(solver) => return matrices::factorisation(script, hazard, solver),
        HazardKind::StandardDeviation => return Some(matrices::deviation(script, hazard)),
        _ => {}
    }
    let pole = hazard.recipe.as_ref()?;
    let hazards = loss.hazards.as_deref().unwrap_or_default();
    let is_own = |one: &Hazard| one.recipe.as_ref().is_some_and(|recipe| Rc::ptr_eq(recipe, pole));
    let build = |whole: bool, guarded: bool| {
        let unsafe_ones: Vec<&Hazard> = hazards.iter().filter(|one| guarded || !is_own(one)).collect();
        let mut writer = ProgramWriter::new(script, unsafe_ones);
        let output = if whole { writer.tensor(loss)? } else { writer.recipe(pole)? };
        writer.finish(output, hazard)
    };
    let reaches = loss.recipe().is_some_and(|recipe| holds(recipe, pole));
    let of_loss = reaches.then(|| build(true, false)).flatten();
    let whole = of_loss.is_some();
    if hazard.chosen.is_some() && !whole {
        // The value alone says nothing of a choice that leaves it out.
        return None;
    }
    let mut program = of_loss.or_else(|| build(false, false))?;
    program.repaired = build(whole, true).filter(|repaired| !is_same(repaired, &program)).map(Box::new);
    Some(program)
}

/// Whether one computation is part of another.
fn holds(recipe: &Rc<Recipe>, part: &Rc<Recipe>) -> bool {
    let inside = |tensor: &Tensor| tensor.recipe().is_some_and(|recipe| holds(recipe, part));
    Rc::ptr_eq(recipe, part)
        || match &recipe.step {
            Step::Same(tensor) => inside(tensor),
            Step::Apply(_, operands) => {
                operands.iter().any(|operand| matches!(operand, Ingredient::Tensor(tensor) if inside(tensor)))
            }
        }
}

struct ProgramWriter<'a> {
    script: &'a Script<'a>,
    program: Program,
    /// The operations that are written as they should be.
    guarded: Vec<&'a Hazard>,
    known: Vec<(Rc<Recipe>, u32)>,
    leaves: Vec<(Rc<Tensor>, u32)>,
    forms: Vec<Form>,
    learned: Vec<bool>,
    dtype: Option<Float>,
}

impl<'a> ProgramWriter<'a> {
    fn new(script: &'a Script<'a>, guarded: Vec<&'a Hazard>) -> ProgramWriter<'a> {
        ProgramWriter {
            script,
            program: Program::default(),
            guarded,
            known: Vec::new(),
            leaves: Vec::new(),
            forms: Vec::new(),
            learned: Vec::new(),
            dtype: None,
        }
    }

    /// What comes after the output was asked for by nobody.
    fn finish(mut self, output: u32, hazard: &Hazard) -> Option<Program> {
        self.program.nodes.truncate(output as usize + 1);
        // Where a guard is lost, it is known what is computed in, also where autocast chose it.
        let lost_in = hazard.lost_epsilon.map(|lost_epsilon| float(Some(lost_epsilon.dtype)));
        self.program.dtype = lost_in.or(self.dtype).unwrap_or_default();
        self.learned[output as usize].then_some(self.program)
    }

    fn tensor(&mut self, tensor: &Rc<Tensor>) -> Option<u32> {
        let Some(recipe) = tensor.recipe() else { return self.leaf(tensor) };
        let node = self.recipe(recipe)?;
        let cut = self.learned[node as usize] && matches!(tensor.graph, Graph::None);
        Some(if cut { self.apply(Function::Detach, &[node], None) } else { node })
    }

    fn recipe(&mut self, recipe: &Rc<Recipe>) -> Option<u32> {
        if let Some((_, node)) = self.known.iter().find(|(known, _)| Rc::ptr_eq(known, recipe)) {
            return Some(*node);
        }
        let node = match &recipe.step {
            Step::Same(tensor) => self.tensor(tensor)?,
            Step::Apply(function, operands) => {
                let mut nodes = Vec::with_capacity(operands.len());
                for operand in operands {
                    nodes.push(self.ingredient(operand)?);
                }
                let one = operands.iter().any(is_one);
                if mixes(*function) && !one && nodes.iter().all(|node| self.is_one(*node)) {
                    // A row that was summed up already: what is left are samples, which are not replayed as one.
                    return None;
                }
                let is_this =
                    |one: &&&Hazard| one.recipe.as_ref().is_some_and(|pole| Rc::ptr_eq(pole, recipe));
                match self.guarded.iter().find(is_this).copied() {
                    Some(hazard) => self.guard(*function, &nodes, hazard, recipe.place),
                    None => self.apply(*function, &nodes, Some(recipe.place)),
                }
            }
        };
        self.known.push((recipe.clone(), node));
        Some(node)
    }

    fn ingredient(&mut self, operand: &Ingredient) -> Option<u32> {
        match operand {
            Ingredient::Tensor(tensor) => self.tensor(tensor),
            Ingredient::Number(value) => Some(self.number(*value)),
        }
    }

    fn is_one(&self, node: u32) -> bool {
        self.forms[node as usize] == Form::One
    }

    fn number(&mut self, value: f64) -> u32 {
        self.forms.push(Form::One);
        self.learned.push(false);
        self.program.number(value)
    }

    fn apply(&mut self, function: Function, operands: &[u32], place: Option<Place>) -> u32 {
        let many = operands.iter().any(|operand| !self.is_one(*operand)) && !reduces(function);
        self.forms.push(if many { Form::Many } else { Form::One });
        let learned = operands.iter().any(|operand| self.learned[*operand as usize]);
        let ends = function == Function::Detach || (Function::Lt..=Function::IsNan).contains(&function);
        self.learned.push(learned && !ends);
        self.program.apply(function, operands, place)
    }

    /// A value that nothing is known of but its numbers.
    fn leaf(&mut self, tensor: &Rc<Tensor>) -> Option<u32> {
        if let Some((_, node)) = self.leaves.iter().find(|(known, _)| Rc::ptr_eq(known, tensor)) {
            return Some(*node);
        }
        let point = tensor.range.and_then(|range| range.as_point()).filter(|_| !tensor.learned);
        if let Some(value) = point {
            return Some(self.number(value));
        }
        let learned = tensor.learned && !matches!(tensor.graph, Graph::None);
        let form = if tensor.rank() == Some(0) { Form::One } else { Form::Many };
        let node = self.program.input(self.name(tensor), form, domain(tensor)?, learned);
        self.forms.push(form);
        self.learned.push(learned);
        self.leaves.push((tensor.clone(), node));
        self.settle(tensor);
        Some(node)
    }

    /// Whose rules hold, and the type that is computed in: of what is learned.
    fn settle(&mut self, tensor: &Tensor) {
        if let Some(what) = tensor.what {
            self.program.framework = Framework::of(what.as_str());
        }
        let dtype = float(tensor.dtype);
        if tensor.learned {
            // The narrowest of what is learned would round the others, which they are not.
            self.dtype =
                Some(self.dtype.map_or(dtype, |known| if known == dtype { known } else { Float::F32 }));
        }
    }

    fn name(&self, tensor: &Tensor) -> String {
        let written = tensor.made.and_then(|made| {
            let text = self.script.project.module(made.file).source.text.get(made.span.range())?;
            (text.len() <= MOST_NAME && !text.contains('\n')).then(|| text.to_owned())
        });
        let otherwise = || match (tensor.source, tensor.what) {
            (_, Some(what)) => what.rsplit('.').next().unwrap_or("input").to_owned(),
            (Source::Data, _) => "data".to_owned(),
            (Source::Unknown, _) if !tensor.learned => "data".to_owned(),
            _ => "input".to_owned(),
        };
        let name = written.unwrap_or_else(otherwise);
        let taken = self.program.inputs.iter().filter(|input| input.name.starts_with(&name)).count();
        if taken == 0 { name } else { format!("{name} ({})", taken + 1) }
    }

    /// The operation as the finding says that it should be.
    fn guard(&mut self, function: Function, nodes: &[u32], hazard: &Hazard, place: Place) -> u32 {
        match hazard.kind {
            HazardKind::LogOfShare => {
                let stable = self.logarithm_of_share(nodes[0], place);
                return stable.unwrap_or_else(|| self.apply(function, nodes, Some(place)));
            }
            HazardKind::WrittenOut | HazardKind::Inverse(_) | HazardKind::PairwiseBroadcast => {
                return self.apply(function, nodes, Some(place));
            }
            _ => {}
        }
        let half = matches!(self.dtype, Some(Float::F16));
        let guard = if half { HALF_GUARD } else { GUARD };
        let mut nodes = nodes.to_vec();
        let at = usize::from(function == Function::Div && nodes.len() == 2);
        let operand = nodes[at];
        nodes[at] = match function {
            Function::Div | Function::Reciprocal if hazard.range.crosses_zero() => {
                let size = self.apply(Function::Abs, &[operand], None);
                self.held(size, guard)
            }
            Function::Div | Function::Reciprocal | Function::Log | Function::Log2 | Function::Log10 => {
                self.held(operand, guard)
            }
            Function::Sqrt | Function::Rsqrt | Function::Pow => self.held(operand, guard),
            Function::Log1p => self.held(operand, guard - 1.0),
            Function::Acos | Function::Asin | Function::Atanh => {
                let below = self.held(operand, guard - 1.0);
                let bound = self.number(1.0 - guard);
                self.apply(Function::ClampMax, &[below, bound], None)
            }
            _ => operand,
        };
        self.apply(function, &nodes, Some(place))
    }

    /// `log(softmax(x))` and `log(1 - sigmoid(x))` in their stable forms.
    fn logarithm_of_share(&mut self, share: u32, place: Place) -> Option<u32> {
        let of = |node: u32| match &self.program.nodes[node as usize].term {
            Term::Apply(function, operands) => Some((*function, operands.clone())),
            _ => None,
        };
        match of(share)? {
            (Function::Softmax, operands) => Some(self.apply(Function::LogSoftmax, &operands, Some(place))),
            (Function::Sigmoid, operands) => Some(self.apply(Function::LogSigmoid, &operands, Some(place))),
            (Function::Sub, operands) => {
                let (Function::Sigmoid, inner) = of(operands[1])? else { return None };
                let one = Term::Number(Number::new(1.0));
                (self.program.nodes[operands[0] as usize].term == one).then_some(())?;
                let negated = self.apply(Function::Neg, &inner, None);
                Some(self.apply(Function::LogSigmoid, &[negated], Some(place)))
            }
            _ => None,
        }
    }

    fn held(&mut self, operand: u32, least: f64) -> u32 {
        let bound = self.number(least);
        self.apply(Function::ClampMin, &[operand, bound], None)
    }
}

fn is_one(operand: &Ingredient) -> bool {
    match operand {
        Ingredient::Tensor(tensor) => tensor.rank() == Some(0),
        Ingredient::Number(_) => false,
    }
}

fn float(dtype: Option<DType>) -> Float {
    match dtype {
        Some(DType::Float16) => Float::F16,
        Some(DType::BFloat16) => Float::Bf16,
        Some(DType::Float64) => Float::F64,
        _ => Float::F32,
    }
}

/// Whether a repair changed nothing.
fn is_same(repaired: &Program, program: &Program) -> bool {
    repaired.nodes.len() == program.nodes.len()
        && repaired.nodes.iter().zip(&program.nodes).all(|(one, other)| one.term == other.term)
}

/// Functions that make one number of a row.
fn reduces(function: Function) -> bool {
    let shares = matches!(function, Function::Softmax | Function::LogSoftmax | Function::Normalize);
    function >= Function::Sum && !shares && function != Function::LayerNorm
}

/// Functions of a row that mean something else of a single number.
fn mixes(function: Function) -> bool {
    let plain = matches!(function, Function::Sum | Function::Mean | Function::Amax | Function::Amin);
    function >= Function::Sum && function < Function::Mse && !plain
}

/// What the numbers of a tensor are drawn from. Of data that nothing is known of, as data usually is prepared;
/// of what is learned nothing is assumed.
fn domain(tensor: &Tensor) -> Option<Domain> {
    let range = match tensor.range {
        Some(range) => range,
        // Weights lie where data is prepared to lie, unless they have been told otherwise.
        None if tensor.learned && tensor.source != Source::Parameter => return None,
        None => Interval::closed(-1.0, 1.0),
    };
    let whole = matches!(tensor.dtype, Some(dtype) if !dtype.is_float());
    Some(Domain {
        low: Number::new(range.low),
        high: Number::new(range.high),
        low_open: range.low_end == End::Open,
        high_open: range.high_end == End::Open,
        whole,
    })
}
