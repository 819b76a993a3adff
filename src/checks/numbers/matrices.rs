//! Operations that a replay writes out by hand: the deviation of one number, and what is computed of a matrix, on
//! one of two rows and two columns, step by step as the factorisation goes.

use super::operations::{operand, operand_text};
use crate::facts::Script;
use crate::report::replay::{Domain, Form, Framework, Function, Program};
use crate::report::{Place, Span};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Tree};
use crate::values::{Hazard, Solver};

/// Numbers of a matrix are drawn up to this size. Beyond it rounding in single precision takes away the jitter
/// that the repair adds, as it does in the script.
const LARGEST: f64 = 8.0;
/// What the help of the finding says to add.
const JITTER: f64 = 1e-4;
/// Methods and attributes that exchange rows and columns.
const TRANSPOSED: [&str; 6] = ["t", "T", "mT", "H", "transpose", "adjoint"];

/// The deviation of a single number, and the same with all numbers counted.
pub(super) fn deviation(script: &Script, hazard: &Hazard) -> Program {
    let name = written(script, hazard).unwrap_or_else(|| "number".to_owned());
    let of = |correction: f64| {
        let mut program = Program::default();
        let number = program.input(name.clone(), Form::One, Domain::REAL, true);
        let correction = program.number(correction);
        program.apply(Function::Std, &[number, correction], Some(hazard.place));
        program
    };
    Program { repaired: Some(Box::new(of(0.0))), ..of(1.0) }
}

/// A matrix that is factorised. Of the products of features with themselves the repair adds to the diagonal;
/// of others nothing is known that would keep them from being singular.
pub(super) fn factorisation(script: &Script, hazard: &Hazard, solver: Solver) -> Option<Program> {
    let places = [operand(script, hazard), hazard.made_at];
    let features = places.into_iter().flatten().find_map(|place| multiplied_with_itself(script, place));
    let name = features.clone().or_else(|| written(script, hazard)).unwrap_or_else(|| "matrix".to_owned());
    let of = |jitter: Option<f64>| {
        let framework = Framework::of(hazard.what.map_or("", |what| what.as_str()));
        let program = Program { framework, ..Program::default() };
        let mut writer = MatrixWriter { program, place: hazard.place };
        let mut matrix = writer.matrix(&name);
        if features.is_some() {
            matrix = writer.squared(matrix);
        }
        if let Some(jitter) = jitter {
            matrix = writer.with_diagonal(matrix, jitter);
        }
        writer.solved(matrix, solver).map(|()| writer.program)
    };
    let repaired = features.as_ref().and_then(|_| of(Some(JITTER))).map(Box::new);
    Some(Program { repaired, ..of(None)? })
}

/// The operand as it is written.
fn written(script: &Script, hazard: &Hazard) -> Option<String> {
    operand(script, hazard).and_then(|place| operand_text(script, place, hazard))
}

/// What is multiplied where a matrix was made of one and the same: `x.t() @ x`, `x @ x.T`.
fn multiplied_with_itself(script: &Script, place: Place) -> Option<String> {
    let module = script.project.module(place.file);
    let ExprKind::Binary { op: BinaryOp::MatMul, left, right } =
        module.tree.expr(module.expr_at(place.span)?).kind
    else {
        return None;
    };
    let text = |span: Span| module.source.text.get(span.range());
    let of = |expr: ExprId| text(module.tree.expr(expr).span);
    let turned = |expr: ExprId| of(transposed(&module.tree, expr)?);
    let features = match (turned(left), turned(right)) {
        (Some(features), None) if of(right) == Some(features) => features,
        (None, Some(features)) if of(left) == Some(features) => features,
        _ => return None,
    };
    Some(features.to_owned())
}

/// What is transposed, by a method or an attribute.
fn transposed(tree: &Tree, expr: ExprId) -> Option<ExprId> {
    let attribute = match &tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => *callee,
        _ => expr,
    };
    match &tree.expr(attribute).kind {
        ExprKind::Attribute { base, name, .. } if TRANSPOSED.contains(&name.as_str()) => Some(*base),
        _ => None,
    }
}

/// Row by row.
type Matrix = [[u32; 2]; 2];

struct MatrixWriter {
    program: Program,
    place: Place,
}

impl MatrixWriter {
    fn apply(&mut self, function: Function, operands: &[u32]) -> u32 {
        self.program.apply(function, operands, Some(self.place))
    }

    fn matrix(&mut self, name: &str) -> Matrix {
        let domain = Domain::closed(-LARGEST, LARGEST);
        [0, 1].map(|row| {
            [0, 1]
                .map(|column| self.program.input(format!("{name}[{row}, {column}]"), Form::One, domain, true))
        })
    }

    /// The products of its columns.
    fn squared(&mut self, of: Matrix) -> Matrix {
        let mut product = |i: usize, j: usize| {
            let above = self.apply(Function::Mul, &[of[0][i], of[0][j]]);
            let below = self.apply(Function::Mul, &[of[1][i], of[1][j]]);
            self.apply(Function::Add, &[above, below])
        };
        [[product(0, 0), product(0, 1)], [product(1, 0), product(1, 1)]]
    }

    fn with_diagonal(&mut self, of: Matrix, value: f64) -> Matrix {
        let value = self.program.number(value);
        let first = self.apply(Function::Add, &[of[0][0], value]);
        let last = self.apply(Function::Add, &[of[1][1], value]);
        [[first, of[0][1]], [of[1][0], last]]
    }

    fn solved(&mut self, of: Matrix, solver: Solver) -> Option<()> {
        match solver {
            Solver::Cholesky => self.cholesky(of),
            Solver::Inverse => self.inverse(of),
            Solver::LogDeterminant => self.log_determinant(of),
            // That of a singular matrix is zero, and its gradient is one that the frameworks make up.
            Solver::Determinant => return None,
        }
        Some(())
    }

    fn cholesky(&mut self, [[a, _], [b, c]]: Matrix) {
        let first = self.apply(Function::Sqrt, &[a]);
        let below = self.apply(Function::Div, &[b, first]);
        let square = self.apply(Function::Square, &[below]);
        let rest = self.apply(Function::Sub, &[c, square]);
        let last = self.apply(Function::Sqrt, &[rest]);
        let sum = self.apply(Function::Add, &[first, below]);
        self.apply(Function::Add, &[sum, last]);
    }

    /// The larger of the first column is the pivot: the rows, what is left of the second, and whether they were
    /// exchanged.
    fn eliminated(&mut self, [[a, b], [c, d]]: Matrix) -> Eliminated {
        let sizes = [a, c].map(|one| self.apply(Function::Abs, &[one]));
        let exchanged = self.apply(Function::Gt, &[sizes[1], sizes[0]]);
        let mut chosen = |then, otherwise| self.apply(Function::Where, &[exchanged, then, otherwise]);
        let [pivot, beside, below, corner] = [chosen(c, a), chosen(d, b), chosen(a, c), chosen(b, d)];
        let factor = self.apply(Function::Div, &[below, pivot]);
        let share = self.apply(Function::Mul, &[factor, beside]);
        let left = self.apply(Function::Sub, &[corner, share]);
        Eliminated { pivot, beside, factor, left, exchanged }
    }

    /// The sum of its numbers: the columns of the unit matrix, solved for one after the other.
    fn inverse(&mut self, of: Matrix) {
        let Eliminated { pivot, beside, factor, left, .. } = self.eliminated(of);
        let (zero, one) = (self.program.number(0.0), self.program.number(1.0));
        let mut sum = None;
        for (above, below) in [(one, zero), (zero, one)] {
            let share = self.apply(Function::Mul, &[factor, above]);
            let rest = self.apply(Function::Sub, &[below, share]);
            let last = self.apply(Function::Div, &[rest, left]);
            let share = self.apply(Function::Mul, &[beside, last]);
            let rest = self.apply(Function::Sub, &[above, share]);
            let first = self.apply(Function::Div, &[rest, pivot]);
            let both = self.apply(Function::Add, &[first, last]);
            sum = Some(sum.map_or(both, |sum| self.apply(Function::Add, &[sum, both])));
        }
    }

    fn log_determinant(&mut self, of: Matrix) {
        let Eliminated { pivot, left, exchanged, .. } = self.eliminated(of);
        let product = self.apply(Function::Mul, &[pivot, left]);
        let negated = self.apply(Function::Neg, &[product]);
        let determinant = self.apply(Function::Where, &[exchanged, negated, product]);
        self.apply(Function::Log, &[determinant]);
    }
}

struct Eliminated {
    pivot: u32,
    beside: u32,
    factor: u32,
    left: u32,
    exchanged: u32,
}
