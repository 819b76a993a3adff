//! Functions that the frameworks compose of others: written out before anything is lowered, so that their
//! gradients are those of their parts.

use crate::report::replay::{Framework, Function, Node, Number, Program, Term};

/// Keras holds probabilities so far from zero and one (`keras.backend.epsilon()`).
const KERAS_EPSILON: f64 = 1e-7;

/// A program of functions that are lowered one by one, and where each of its nodes comes from.
pub(crate) struct Expanded {
    pub nodes: Vec<Term>,
    pub origins: Vec<u32>,
    pub output: u32,
    /// The node of a claim.
    pub claimed: Option<u32>,
}

pub(crate) fn expand(program: &Program) -> Expanded {
    let mut writer =
        CompositionWriter { framework: program.framework, nodes: Vec::new(), origins: Vec::new(), origin: 0 };
    let mut moved: Vec<u32> = Vec::new();
    for (index, Node { term, .. }) in program.nodes.iter().enumerate() {
        writer.origin = index as u32;
        let at = match term {
            Term::Apply(function, operands) => {
                let operands: Vec<u32> = operands.iter().map(|operand| moved[*operand as usize]).collect();
                writer.function(*function, &operands)
            }
            other => writer.push(other.clone()),
        };
        moved.push(at);
    }
    let output = moved.last().copied().unwrap_or(0);
    let claimed = program.claim.and_then(|claim| moved.get(claim.node as usize).copied());
    Expanded { nodes: writer.nodes, origins: writer.origins, output, claimed }
}

struct CompositionWriter {
    framework: Framework,
    nodes: Vec<Term>,
    origins: Vec<u32>,
    origin: u32,
}

impl CompositionWriter {
    fn push(&mut self, term: Term) -> u32 {
        self.nodes.push(term);
        self.origins.push(self.origin);
        self.nodes.len() as u32 - 1
    }

    fn number(&mut self, value: f64) -> u32 {
        self.push(Term::Number(Number::new(value)))
    }

    fn apply<const N: usize>(&mut self, function: Function, operands: [u32; N]) -> u32 {
        self.push(Term::Apply(function, operands.to_vec()))
    }

    fn known(&self, node: u32) -> Option<f64> {
        match &self.nodes[node as usize] {
            Term::Number(value) => Some(value.value()),
            _ => None,
        }
    }

    fn function(&mut self, function: Function, operands: &[u32]) -> u32 {
        let written = match *operands {
            [x] => self.of_one(function, x),
            [x, y] => self.of_two(function, x, y),
            [x, y, z] => self.of_three(function, x, y, z),
            _ => None,
        };
        written.unwrap_or_else(|| self.push(Term::Apply(function, operands.to_vec())))
    }

    fn of_one(&mut self, function: Function, x: u32) -> Option<u32> {
        // Only PyTorch gives the norm of nothing a gradient.
        if function != Function::Norm2 || self.framework == Framework::Torch {
            return None;
        }
        let squares = self.apply(Function::Square, [x]);
        let total = self.apply(Function::Sum, [squares]);
        Some(self.apply(Function::Sqrt, [total]))
    }

    fn of_two(&mut self, function: Function, x: u32, y: u32) -> Option<u32> {
        Some(match function {
            Function::Mse => {
                let difference = self.apply(Function::Sub, [x, y]);
                let square = self.apply(Function::Square, [difference]);
                self.apply(Function::Mean, [square])
            }
            Function::L1 => {
                let sizes = self.distances(x, y);
                self.apply(Function::Mean, [sizes])
            }
            Function::CrossEntropy => {
                let logs = self.apply(Function::LogSoftmax, [x]);
                self.likelihood(logs, y)
            }
            Function::Nll => self.likelihood(x, y),
            Function::KlDiv => self.divergence(x, y),
            Function::PoissonNll => {
                let rate = self.apply(Function::Exp, [x]);
                let product = self.apply(Function::Mul, [y, x]);
                let losses = self.apply(Function::Sub, [rate, product]);
                self.apply(Function::Mean, [losses])
            }
            Function::Std if self.framework != Framework::Torch => {
                let variance = self.apply(Function::Var, [x, y]);
                self.apply(Function::Sqrt, [variance])
            }
            Function::Bce if self.framework == Framework::TensorFlow => self.keras_bce(x, y),
            Function::Normalize => self.normalized(x, y),
            Function::LayerNorm => self.layer_norm(x, y),
            _ => return None,
        })
    }

    fn of_three(&mut self, function: Function, x: u32, y: u32, z: u32) -> Option<u32> {
        match function {
            Function::Huber => Some(self.huber(x, y, z)),
            // Without a bend the framework computes the other loss.
            Function::SmoothL1 if self.known(z) == Some(0.0) => self.of_two(Function::L1, x, y),
            Function::SmoothL1 => Some(self.smooth_l1(x, y, z)),
            _ => None,
        }
    }

    fn distances(&mut self, x: u32, y: u32) -> u32 {
        let difference = self.apply(Function::Sub, [x, y]);
        self.apply(Function::Abs, [difference])
    }

    /// Where the target has no share the framework does not look, as it takes one class out.
    fn likelihood(&mut self, logs: u32, target: u32) -> u32 {
        let zero = self.number(0.0);
        let product = self.apply(Function::Mul, [target, logs]);
        let meant = self.apply(Function::Ne, [target, zero]);
        let chosen = self.apply(Function::Where, [meant, product, zero]);
        let total = self.apply(Function::Sum, [chosen]);
        self.apply(Function::Neg, [total])
    }

    fn divergence(&mut self, input: u32, target: u32) -> u32 {
        let zero = self.number(0.0);
        let log = self.apply(Function::Log, [target]);
        let entropy = self.apply(Function::Mul, [target, log]);
        let absent = self.apply(Function::Eq, [target, zero]);
        let entropy = self.apply(Function::Where, [absent, zero, entropy]);
        let cross = self.apply(Function::Mul, [target, input]);
        let losses = self.apply(Function::Sub, [entropy, cross]);
        self.apply(Function::Sum, [losses])
    }

    fn keras_bce(&mut self, p: u32, y: u32) -> u32 {
        let (low, high) = (self.number(KERAS_EPSILON), self.number(1.0 - KERAS_EPSILON));
        let p = self.apply(Function::ClampMax, [p, high]);
        let p = self.apply(Function::ClampMin, [p, low]);
        let one = self.number(1.0);
        let log = self.apply(Function::Log, [p]);
        let first = self.apply(Function::Mul, [y, log]);
        let (q, z) = (self.apply(Function::Sub, [one, p]), self.apply(Function::Sub, [one, y]));
        let log = self.apply(Function::Log, [q]);
        let second = self.apply(Function::Mul, [z, log]);
        let both = self.apply(Function::Add, [first, second]);
        let mean = self.apply(Function::Mean, [both]);
        self.apply(Function::Neg, [mean])
    }

    /// PyTorch holds the norm, TensorFlow the sum of squares above the epsilon.
    fn normalized(&mut self, x: u32, epsilon: u32) -> u32 {
        if self.framework == Framework::TensorFlow {
            let squares = self.apply(Function::Square, [x]);
            let total = self.apply(Function::Sum, [squares]);
            let held = self.apply(Function::Max, [total, epsilon]);
            let inverse = self.apply(Function::Rsqrt, [held]);
            return self.apply(Function::Mul, [x, inverse]);
        }
        let norm = self.function(Function::Norm2, &[x]);
        let held = self.apply(Function::ClampMin, [norm, epsilon]);
        self.apply(Function::Div, [x, held])
    }

    fn layer_norm(&mut self, x: u32, epsilon: u32) -> u32 {
        let zero = self.number(0.0);
        let mean = self.apply(Function::Mean, [x]);
        let centred = self.apply(Function::Sub, [x, mean]);
        let variance = self.apply(Function::Var, [x, zero]);
        let held = self.apply(Function::Add, [variance, epsilon]);
        let inverse = self.apply(Function::Rsqrt, [held]);
        self.apply(Function::Mul, [centred, inverse])
    }

    /// PyTorch's gradient does not look at the side that is not taken, where an infinity would leave NaN behind.
    fn held_below(&mut self, size: u32, bound: u32) -> u32 {
        match self.framework {
            Framework::Torch | Framework::Jax => self.apply(Function::ClampMax, [size, bound]),
            Framework::TensorFlow => size,
        }
    }

    fn huber(&mut self, x: u32, y: u32, delta: u32) -> u32 {
        let half = self.number(0.5);
        let size = self.distances(x, y);
        let held = self.held_below(size, delta);
        let square = self.apply(Function::Square, [held]);
        let near = self.apply(Function::Mul, [square, half]);
        let bend = self.apply(Function::Mul, [delta, half]);
        let past = self.apply(Function::Sub, [size, bend]);
        let far = self.apply(Function::Mul, [delta, past]);
        let is_near = self.apply(Function::Le, [size, delta]);
        let losses = self.apply(Function::Where, [is_near, near, far]);
        self.apply(Function::Mean, [losses])
    }

    fn smooth_l1(&mut self, x: u32, y: u32, beta: u32) -> u32 {
        let half = self.number(0.5);
        let size = self.distances(x, y);
        let held = self.held_below(size, beta);
        let square = self.apply(Function::Square, [held]);
        let scaled = self.apply(Function::Mul, [square, half]);
        let near = self.apply(Function::Div, [scaled, beta]);
        let bend = self.apply(Function::Mul, [beta, half]);
        let far = self.apply(Function::Sub, [size, bend]);
        let is_near = self.apply(Function::Lt, [size, beta]);
        let losses = self.apply(Function::Where, [is_near, near, far]);
        self.apply(Function::Mean, [losses])
    }
}
