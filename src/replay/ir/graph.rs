//! The graph that backends run: primitive operations in single static assignment, on one number or on a short
//! row of numbers a sample. It holds forward and gradient alike, so that a backend knows one set of operations.

use crate::report::replay::{Float, Form, Number};

/// A node, by its place in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u32);

impl Id {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atanh,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    IsNan,
    /// The same number, rounded to the type of the node.
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    Sum,
    Mean,
    Prod,
    Max,
    Min,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Input(u32),
    Const(Number),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// Where the first is not zero the second, else the third.
    Where(Id, Id, Id),
    /// Accumulated in what is computed with, and rounded once.
    Reduce(Reduce, Id),
    /// One number in each place of a row.
    Fill(Id),
}

impl Op {
    pub fn operands(&self) -> impl Iterator<Item = Id> {
        let list = match *self {
            Op::Input(_) | Op::Const(_) => [None; 3],
            Op::Unary(_, a) | Op::Reduce(_, a) | Op::Fill(a) => [Some(a), None, None],
            Op::Binary(_, a, b) => [Some(a), Some(b), None],
            Op::Where(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        list.into_iter().flatten()
    }

    fn renumbered(self, to: &[Id]) -> Op {
        let at = |id: Id| to[id.index()];
        match self {
            Op::Input(_) | Op::Const(_) => self,
            Op::Unary(op, a) => Op::Unary(op, at(a)),
            Op::Reduce(op, a) => Op::Reduce(op, at(a)),
            Op::Fill(a) => Op::Fill(at(a)),
            Op::Binary(op, a, b) => Op::Binary(op, at(a), at(b)),
            Op::Where(a, b, c) => Op::Where(at(a), at(b), at(c)),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Const(_) => "number",
            Op::Unary(op, _) => op.name(),
            Op::Binary(op, ..) => op.name(),
            Op::Where(..) => "where",
            Op::Reduce(op, _) => op.name(),
            Op::Fill(_) => "fill",
        }
    }
}

impl Unary {
    pub fn name(self) -> &'static str {
        match self {
            Unary::Neg => "negation",
            Unary::Abs => "abs",
            Unary::Sign => "sign",
            Unary::Exp => "exp",
            Unary::Exp2 => "exp2",
            Unary::Expm1 => "expm1",
            Unary::Log => "log",
            Unary::Log2 => "log2",
            Unary::Log10 => "log10",
            Unary::Log1p => "log1p",
            Unary::Sqrt => "sqrt",
            Unary::Rsqrt => "rsqrt",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Tan => "tan",
            Unary::Asin => "asin",
            Unary::Acos => "acos",
            Unary::Atan => "atan",
            Unary::Atanh => "atanh",
            Unary::Sinh => "sinh",
            Unary::Cosh => "cosh",
            Unary::Tanh => "tanh",
            Unary::Erf => "erf",
            Unary::IsNan => "isnan",
            Unary::Copy => "rounding",
        }
    }
}

impl Binary {
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "addition",
            Binary::Sub => "subtraction",
            Binary::Mul => "multiplication",
            Binary::Div => "division",
            Binary::Pow => "pow",
            Binary::Max => "max",
            Binary::Min => "min",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
        }
    }
}

impl Reduce {
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Sum => "sum",
            Reduce::Mean => "mean",
            Reduce::Prod => "product",
            Reduce::Max => "max",
            Reduce::Min => "min",
        }
    }
}

/// Where a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The node of the program.
    pub node: u32,
    /// It belongs to the gradient of that node.
    pub backward: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub op: Op,
    pub form: Form,
    /// What the result is rounded to.
    pub dtype: Float,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// How many numbers there are in a row.
    pub width: usize,
    pub output: Id,
    /// Gradients of what is learned, by the number of the input.
    pub gradients: Vec<(u32, Id)>,
    /// What is compared, where the output only marks with NaN that the two differ.
    pub compared: Option<Compared>,
}

/// A derivative, and what the script gives for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    pub should: Id,
    pub gives: Id,
}

impl Graph {
    /// Whether everything is computed in f64.
    pub fn is_wide(&self) -> bool {
        self.nodes.iter().any(|node| node.dtype == Float::F64)
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// Without what nobody asks for. Inputs stay: samples are drawn for all of them.
    pub fn trimmed(mut self) -> Graph {
        let mut live = vec![false; self.nodes.len()];
        live[self.output.index()] = true;
        for (_, gradient) in &self.gradients {
            live[gradient.index()] = true;
        }
        for one in self.compared.iter().flat_map(|pair| [pair.should, pair.gives]) {
            live[one.index()] = true;
        }
        for index in (0..self.nodes.len()).rev() {
            let node = &self.nodes[index];
            live[index] |= matches!(node.op, Op::Input(_));
            if live[index] {
                node.op.operands().for_each(|operand| live[operand.index()] = true);
            }
        }
        let mut moved = vec![Id(0); self.nodes.len()];
        let mut kept = Vec::new();
        for (index, node) in self.nodes.iter().enumerate().filter(|(index, _)| live[*index]) {
            moved[index] = Id(kept.len() as u32);
            kept.push(Node { op: node.op.renumbered(&moved), ..*node });
        }
        self.nodes = kept;
        self.output = moved[self.output.index()];
        for (_, gradient) in &mut self.gradients {
            *gradient = moved[gradient.index()];
        }
        if let Some(pair) = &mut self.compared {
            *pair = Compared { should: moved[pair.should.index()], gives: moved[pair.gives.index()] };
        }
        self
    }
}
