//! Building a graph: each operation once, with the form and the type that its operands give it.

use super::graph::{Binary, Compared, Graph, Id, Node, Op, Origin, Reduce, Unary};
use crate::report::replay::{Float, Form, Number};
use rustc_hash::FxHashMap;

/// What differs by a smaller share than this is the same, computed in another way.
pub(crate) const TOLERANCE: f64 = 1e-2;
/// And so is what differs by less than this.
const LEAST_DIFFERENCE: f64 = 1e-6;

pub(crate) struct Builder {
    nodes: Vec<Node>,
    width: usize,
    known: FxHashMap<(Op, Float), Id>,
    /// What results are rounded to.
    dtype: Float,
    /// What kernels compute with.
    inner: Float,
    origin: Origin,
}

impl Builder {
    pub(crate) fn new(dtype: Float, width: usize) -> Builder {
        let inner = if dtype == Float::F64 { Float::F64 } else { Float::F32 };
        let origin = Origin { node: 0, backward: false };
        Builder { nodes: Vec::new(), width, known: FxHashMap::default(), dtype, inner, origin }
    }

    pub(crate) fn finish(self, output: Id, gradients: Vec<(u32, Id)>) -> Graph {
        Graph { nodes: self.nodes, width: self.width, output, gradients, compared: None }.trimmed()
    }

    /// A graph that gives NaN where two values differ by more than rounding, and zero elsewhere. Where one of them is
    /// not finite there is nothing to compare.
    pub(crate) fn comparing(mut self, should: Id, gives: Id) -> Graph {
        let difference = self.sub(should, gives);
        let distance = self.unary(Unary::Abs, difference);
        let sizes = [should, gives].map(|one| self.unary(Unary::Abs, one));
        let size = self.binary(Binary::Max, sizes[0], sizes[1]);
        let bound = self.times(size, TOLERANCE);
        let bound = self.plus(bound, LEAST_DIFFERENCE);
        let differs = self.binary(Binary::Gt, distance, bound);
        let (yes, no) = (self.number(f64::NAN), self.number(0.0));
        let output = self.choose(differs, yes, no);
        let compared = Some(Compared { should, gives });
        Graph { nodes: self.nodes, width: self.width, output, gradients: Vec::new(), compared }.trimmed()
    }

    /// What is built from now on belongs to this node of the program, and is rounded to this type.
    pub(crate) fn enter(&mut self, origin: Origin, dtype: Float) {
        self.origin = origin;
        self.dtype = dtype;
    }

    pub(crate) fn form(&self, id: Id) -> Form {
        self.nodes[id.index()].form
    }

    pub(crate) fn dtype(&self, id: Id) -> Float {
        self.nodes[id.index()].dtype
    }

    pub(crate) fn value(&self, id: Id) -> Option<f64> {
        match self.nodes[id.index()].op {
            Op::Const(value) => Some(value.value()),
            _ => None,
        }
    }

    /// The number of places in what a reduction runs over.
    pub(crate) fn count(&self, id: Id) -> f64 {
        match self.form(id) {
            Form::One => 1.0,
            Form::Many => self.width as f64,
        }
    }

    fn push(&mut self, op: Op, form: Form, dtype: Float) -> Id {
        if let Some(id) = self.known.get(&(op, dtype)) {
            return *id;
        }
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(Node { op, form, dtype, origin: self.origin });
        self.known.insert((op, dtype), id);
        id
    }

    pub(crate) fn input(&mut self, index: u32, form: Form) -> Id {
        self.push(Op::Input(index), form, self.dtype)
    }

    /// A number of the script, which kernels take as it is.
    pub(crate) fn number(&mut self, value: f64) -> Id {
        self.push(Op::Const(Number::new(value)), Form::One, self.inner)
    }

    /// A number that a kernel holds in the type of its results.
    pub(crate) fn stored(&mut self, value: f64) -> Id {
        use super::float::Real;
        self.number(value.rounded(self.dtype))
    }

    pub(crate) fn unary(&mut self, op: Unary, x: Id) -> Id {
        let form = self.form(x);
        self.push(Op::Unary(op, x), form, self.dtype)
    }

    pub(crate) fn binary(&mut self, op: Binary, x: Id, y: Id) -> Id {
        let form = self.joined(&[x, y]);
        self.push(Op::Binary(op, x, y), form, self.dtype)
    }

    pub(crate) fn choose(&mut self, condition: Id, then: Id, otherwise: Id) -> Id {
        let form = self.joined(&[condition, then, otherwise]);
        self.push(Op::Where(condition, then, otherwise), form, self.dtype)
    }

    pub(crate) fn reduce(&mut self, op: Reduce, x: Id) -> Id {
        self.push(Op::Reduce(op, x), Form::One, self.dtype)
    }

    pub(crate) fn fill(&mut self, x: Id) -> Id {
        match self.form(x) {
            Form::Many => x,
            Form::One => self.push(Op::Fill(x), Form::Many, self.dtype),
        }
    }

    fn joined(&self, operands: &[Id]) -> Form {
        let many = operands.iter().any(|operand| self.form(*operand) == Form::Many);
        if many { Form::Many } else { Form::One }
    }

    /// What one kernel computes: rounded once, at its end.
    pub(crate) fn fused(&mut self, build: impl FnOnce(&mut Builder) -> Id) -> Id {
        let outer = std::mem::replace(&mut self.dtype, self.inner);
        let result = build(self);
        self.dtype = outer;
        if outer == self.inner { result } else { self.unary(Unary::Copy, result) }
    }

    /// A value in another type.
    pub(crate) fn cast(&mut self, x: Id, to: Float) -> Id {
        if self.dtype(x) == to {
            return x;
        }
        let form = self.form(x);
        self.push(Op::Unary(Unary::Copy, x), form, to)
    }

    /// The frameworks compute some powers as roots, which differ from powers of minus zero.
    pub(crate) fn power(&mut self, base: Id, exponent: Id) -> Id {
        match self.value(exponent) {
            Some(0.5) => self.unary(Unary::Sqrt, base),
            Some(-0.5) => self.unary(Unary::Rsqrt, base),
            _ => self.binary(Binary::Pow, base, exponent),
        }
    }

    pub(crate) fn add(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Add, x, y)
    }

    pub(crate) fn sub(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Sub, x, y)
    }

    pub(crate) fn mul(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Mul, x, y)
    }

    pub(crate) fn div(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Div, x, y)
    }

    pub(crate) fn neg(&mut self, x: Id) -> Id {
        self.unary(Unary::Neg, x)
    }

    pub(crate) fn exp(&mut self, x: Id) -> Id {
        self.unary(Unary::Exp, x)
    }

    pub(crate) fn sum(&mut self, x: Id) -> Id {
        self.reduce(Reduce::Sum, x)
    }

    /// `x + a`
    pub(crate) fn plus(&mut self, x: Id, a: f64) -> Id {
        let a = self.number(a);
        self.add(x, a)
    }

    /// `x * a`
    pub(crate) fn times(&mut self, x: Id, a: f64) -> Id {
        let a = self.number(a);
        self.mul(x, a)
    }

    /// `a - x`
    pub(crate) fn from(&mut self, a: f64, x: Id) -> Id {
        let a = self.number(a);
        self.sub(a, x)
    }

    /// A comparison with a number.
    pub(crate) fn test(&mut self, op: Binary, x: Id, a: f64) -> Id {
        let a = self.number(a);
        self.binary(op, x, a)
    }

    /// Zero where the condition holds.
    pub(crate) fn masked(&mut self, x: Id, condition: Id) -> Id {
        let zero = self.number(0.0);
        self.choose(condition, zero, x)
    }

    /// Zero where the condition does not hold.
    pub(crate) fn only(&mut self, x: Id, condition: Id) -> Id {
        let zero = self.number(0.0);
        self.choose(condition, x, zero)
    }
}
