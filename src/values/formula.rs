//! What a number is computed of: a small tree of operations on inputs, kept beside a tensor where two
//! computations are to be compared. Every number of the tensor is the same function of the numbers in its
//! place. Knows no framework, and no shapes.

mod sample;

pub use sample::{Slope, agree, slopes_agree};

use super::object::ObjId;
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use ustr::Ustr;

/// Longer formulas are forgotten.
const MOST_NODES: u16 = 64;

/// A number as a function of inputs.
#[derive(Clone, Debug)]
pub struct Formula(Rc<Node>);

#[derive(Debug)]
struct Node {
    term: Term,
    nodes: u16,
    /// Its numbers were changed in place, so that it no longer says what they are.
    stale: Cell<bool>,
}

#[derive(Clone, Debug)]
pub enum Term {
    Input(Input),
    Number(f64),
    Apply(Function, SmallVec<[Formula; 2]>),
    /// Some function of the numbers in this place.
    Some,
}

/// A value that was there before what is looked at began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub id: u32,
    pub name: Ustr,
}

/// The functions that are known by what they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Abs,
    Add,
    Cos,
    Div,
    Exp,
    Log,
    Log1p,
    Max,
    Min,
    Mul,
    Neg,
    /// One that is not known.
    Other,
    Pow,
    Relu,
    Sigmoid,
    Sin,
    Sqrt,
    Sub,
    Tanh,
    /// Towards zero, as casts to integers go.
    Truncate,
}

impl Function {
    /// By its name in the tables, for what takes its operands as they are listed.
    pub fn named(name: &str) -> Option<Function> {
        Some(match name {
            "abs" => Function::Abs,
            "add" => Function::Add,
            "ceil-at" | "min" => Function::Min,
            "cos" => Function::Cos,
            "div" => Function::Div,
            "exp" => Function::Exp,
            "floor-at" | "max" => Function::Max,
            "log" => Function::Log,
            "log1p" => Function::Log1p,
            "mul" => Function::Mul,
            "neg" => Function::Neg,
            "pow" => Function::Pow,
            "relu" => Function::Relu,
            "sin" => Function::Sin,
            "sqrt" => Function::Sqrt,
            "sub" => Function::Sub,
            "tanh" => Function::Tanh,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Function::Abs => "abs",
            Function::Add => "+",
            Function::Cos => "cos",
            Function::Div => "/",
            Function::Exp => "exp",
            Function::Log => "log",
            Function::Log1p => "log1p",
            Function::Max => "max",
            Function::Min => "min",
            Function::Mul => "*",
            Function::Neg => "-",
            Function::Other => "…",
            Function::Pow => "**",
            Function::Relu => "relu",
            Function::Sigmoid => "sigmoid",
            Function::Sin => "sin",
            Function::Sqrt => "sqrt",
            Function::Sub => "-",
            Function::Tanh => "tanh",
            Function::Truncate => "int",
        }
    }

    /// Whether it has a slope wherever it has a value.
    fn is_smooth(self) -> bool {
        !matches!(
            self,
            Function::Abs
                | Function::Max
                | Function::Min
                | Function::Other
                | Function::Relu
                | Function::Truncate
        )
    }
}

impl Formula {
    fn new(term: Term, nodes: u16) -> Formula {
        Formula(Rc::new(Node { term, nodes, stale: Cell::new(false) }))
    }

    pub fn input(id: u32, name: Ustr) -> Formula {
        Formula::new(Term::Input(Input { id, name }), 1)
    }

    pub fn number(value: f64) -> Formula {
        Formula::new(Term::Number(value), 1)
    }

    /// Some number in this place.
    pub fn some() -> Formula {
        Formula::new(Term::Some, 1)
    }

    /// A function that is not known, of the numbers in this place.
    pub fn other() -> Formula {
        Formula::new(Term::Apply(Function::Other, SmallVec::new()), 1)
    }

    pub fn apply(function: Function, operands: impl IntoIterator<Item = Formula>) -> Formula {
        let operands: SmallVec<[Formula; 2]> = operands.into_iter().collect();
        let nodes = operands.iter().fold(1_u16, |sum, operand| sum.saturating_add(operand.0.nodes));
        if nodes > MOST_NODES {
            return Formula::other();
        }
        Formula::new(Term::Apply(function, operands), nodes)
    }

    /// The same function of a value that is kept apart from this one.
    pub fn copied(&self) -> Formula {
        if self.0.stale.get() { Formula::some() } else { Formula::new(self.0.term.clone(), self.0.nodes) }
    }

    /// The numbers were changed in place.
    pub fn spoil(&self) {
        self.0.stale.set(true);
    }

    pub fn term(&self) -> &Term {
        &self.0.term
    }

    /// Whether it says for given inputs what the number is.
    pub fn is_known(&self) -> bool {
        !self.0.stale.get()
            && match &self.0.term {
                Term::Some => false,
                Term::Apply(Function::Other, _) => false,
                Term::Apply(_, operands) => operands.iter().all(Formula::is_known),
                _ => true,
            }
    }

    /// Whether it has a slope in its inputs that is known.
    pub fn is_smooth(&self) -> bool {
        match &self.0.term {
            Term::Apply(function, operands) => {
                function.is_smooth() && operands.iter().all(Formula::is_smooth)
            }
            Term::Some => false,
            _ => true,
        }
    }

    /// Whether a function is the last that is applied.
    pub fn is(&self, wanted: Function) -> bool {
        matches!(&self.0.term, Term::Apply(function, _) if *function == wanted)
    }

    pub fn operands(&self) -> &[Formula] {
        match &self.0.term {
            Term::Apply(_, operands) => operands,
            _ => &[],
        }
    }

    /// The numbers that it holds, without signs.
    pub fn constants(&self) -> Vec<f64> {
        match &self.0.term {
            Term::Number(value) => vec![value.abs()],
            _ => self.operands().iter().flat_map(Formula::constants).collect(),
        }
    }

    /// Whether an input is among what it is computed of.
    pub fn uses(&self, input: u32) -> bool {
        match &self.0.term {
            Term::Input(one) => one.id == input,
            _ => self.operands().iter().any(|operand| operand.uses(input)),
        }
    }

    pub fn is_number(&self) -> bool {
        match &self.0.term {
            Term::Number(_) => true,
            Term::Apply(function, operands) => {
                *function != Function::Other && operands.iter().all(Formula::is_number)
            }
            _ => false,
        }
    }

    /// With another formula in the place of one of its parts.
    pub fn replacing(&self, part: &Formula, by: &Formula) -> Formula {
        if Rc::ptr_eq(&self.0, &part.0) {
            return by.clone();
        }
        match &self.0.term {
            Term::Apply(function, operands) => {
                Formula::apply(*function, operands.iter().map(|operand| operand.replacing(part, by)))
            }
            _ => self.clone(),
        }
    }

    /// Whether it is written in the same way.
    pub fn same(&self, other: &Formula) -> bool {
        if Rc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        match (&self.0.term, &other.0.term) {
            (Term::Input(a), Term::Input(b)) => a.id == b.id,
            (Term::Number(a), Term::Number(b)) => a == b,
            (Term::Some, Term::Some) => true,
            (Term::Apply(f, a), Term::Apply(g, b)) => {
                f == g && a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.term {
            Term::Input(input) => f.write_str(&input.name),
            Term::Number(value) => write!(f, "{value}"),
            Term::Some => f.write_str("…"),
            Term::Apply(Function::Other, _) => f.write_str("…"),
            Term::Apply(function, operands) => match operands.as_slice() {
                [one] if *function == Function::Neg => write!(f, "-{}", Operand(one)),
                [one] => write!(f, "{}({one})", function.name()),
                [a, b] if !matches!(function, Function::Max | Function::Min) => {
                    write!(f, "{} {} {}", Operand(a), function.name(), Operand(b))
                }
                several => {
                    write!(f, "{}(", function.name())?;
                    for (index, operand) in several.iter().enumerate() {
                        write!(f, "{}{operand}", if index == 0 { "" } else { ", " })?;
                    }
                    f.write_str(")")
                }
            },
        }
    }
}

/// An operand, in brackets where it is itself one of two.
struct Operand<'a>(&'a Formula);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let infix = match &self.0.0.term {
            Term::Apply(function, operands) => {
                operands.len() == 2 && !matches!(function, Function::Max | Function::Min)
            }
            Term::Number(value) => *value < 0.0,
            _ => false,
        };
        if infix { write!(f, "({})", self.0) } else { write!(f, "{}", self.0) }
    }
}

/// A number that goes through a sequence from its start, one by one: the index of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nth {
    /// The pass of a loop, by its place in the interpreter's list.
    pub count: u32,
    /// What was added to it.
    pub plus: i64,
}

/// What is known of the numbers in a tensor, one by one.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    pub formula: Option<Formula>,
    /// Holds what is written into it from anywhere.
    pub buffer: Option<ObjId>,
    /// The indices of loops by which it was picked out of a whole, outermost dimension first.
    pub at: SmallVec<[Nth; 2]>,
}

impl Numbers {
    pub fn of(formula: Formula) -> Numbers {
        Numbers { formula: Some(formula), ..Numbers::default() }
    }

    /// What is known of either of two.
    pub fn join(a: &Option<Rc<Numbers>>, b: &Option<Rc<Numbers>>) -> Option<Rc<Numbers>> {
        let (a, b) = (a.as_ref()?, b.as_ref()?);
        Numbers::alike(a, b).then(|| a.clone())
    }

    pub fn same(a: &Option<Rc<Numbers>>, b: &Option<Rc<Numbers>>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => Numbers::alike(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    fn alike(a: &Rc<Numbers>, b: &Rc<Numbers>) -> bool {
        let formulas = match (&a.formula, &b.formula) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        Rc::ptr_eq(a, b) || (formulas && a.buffer == b.buffer && a.at.len() == b.at.len())
    }
}
