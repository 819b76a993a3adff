//! Formulas are compared by what they give: at points where both have a value, exactly enough.

use super::{Formula, Function, Input, Term};

/// A value, and how it grows with one of the inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    pub value: f64,
    pub slope: f64,
}

/// So many points are looked at, half of them where all inputs are above zero.
const POINTS: u32 = 12;
/// Fewer points than this, where both have values, say nothing.
const ENOUGH: usize = 4;
/// Two functions may meet at one point in so many; those that are the same on one side of zero meet at half.
const MEETING: usize = 6;
/// What differs by less is the same, computed in another way.
const TOLERANCE: f64 = 1e-2;

/// Whether two formulas give the same numbers: everywhere, nowhere, or `None` for here and there.
pub fn agree(a: &Formula, b: &Formula) -> Option<bool> {
    if !a.is_known() || !b.is_known() {
        return None;
    }
    verdict((0..POINTS).filter_map(|point| {
        let at = |input: Input| Slope { value: sample(input.id, point), slope: 0.0 };
        Some((a.at(&at)?.value, b.at(&at)?.value))
    }))
}

/// Whether a gradient is how much a formula grows with one of its inputs, times the gradient that came in.
pub fn slopes_agree(forward: &Formula, input: u32, gradient: &Formula, incoming: u32) -> Option<bool> {
    if !forward.is_known() || !forward.is_smooth() || !gradient.is_known() {
        return None;
    }
    verdict((0..POINTS).filter_map(|point| {
        let at =
            |one: Input| Slope { value: sample(one.id, point), slope: f64::from(u8::from(one.id == input)) };
        let wanted = forward.at(&at)?.slope * sample(incoming, point);
        Some((wanted, gradient.at(&at)?.value))
    }))
}

fn verdict(pairs: impl Iterator<Item = (f64, f64)>) -> Option<bool> {
    let alike: Vec<bool> = pairs
        .filter(|(a, b)| a.is_finite() && b.is_finite())
        .map(|(a, b)| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(TOLERANCE))
        .collect();
    if alike.len() < ENOUGH {
        return None;
    }
    let same = alike.iter().filter(|same| **same).count();
    if same == alike.len() {
        Some(true)
    } else if same * MEETING <= alike.len() {
        Some(false)
    } else {
        None
    }
}

/// A number for an input at a point: scattered, and nowhere special.
fn sample(input: u32, point: u32) -> f64 {
    let seed = f64::from(input + 1) * 0.754_877_666 + f64::from(point + 1) * 0.569_840_291;
    let unit = seed.fract();
    let size = 0.3 + 2.1 * unit;
    let negative = point % 2 == 1 && (input + point / 2).is_multiple_of(2);
    if negative { -size } else { size }
}

impl Formula {
    /// Its value and slope; `None` where it has none.
    fn at(&self, inputs: &impl Fn(Input) -> Slope) -> Option<Slope> {
        match self.term() {
            Term::Input(input) => Some(inputs(*input)),
            Term::Number(value) => Some(Slope { value: *value, slope: 0.0 }),
            Term::Some => None,
            Term::Apply(function, operands) => {
                let first = operands.first()?.at(inputs)?;
                let second = match operands.get(1) {
                    Some(operand) => Some(operand.at(inputs)?),
                    None => None,
                };
                let result = of_function(*function, first, second)?;
                (result.value.is_finite() && result.slope.is_finite()).then_some(result)
            }
        }
    }
}

fn of_function(function: Function, x: Slope, y: Option<Slope>) -> Option<Slope> {
    let chain = |value: f64, slope: f64| Slope { value, slope: slope * x.slope };
    Some(match function {
        Function::Abs => chain(x.value.abs(), x.value.signum()),
        Function::Cos => chain(x.value.cos(), -x.value.sin()),
        Function::Exp => chain(x.value.exp(), x.value.exp()),
        Function::Log => chain(x.value.ln(), 1.0 / x.value),
        Function::Log1p => chain(x.value.ln_1p(), 1.0 / (1.0 + x.value)),
        Function::Neg => chain(-x.value, -1.0),
        Function::Relu => chain(x.value.max(0.0), f64::from(u8::from(x.value > 0.0))),
        Function::Sigmoid => {
            let value = 1.0 / (1.0 + (-x.value).exp());
            chain(value, value * (1.0 - value))
        }
        Function::Sin => chain(x.value.sin(), x.value.cos()),
        Function::Sqrt => chain(x.value.sqrt(), 0.5 / x.value.sqrt()),
        Function::Tanh => chain(x.value.tanh(), 1.0 - x.value.tanh().powi(2)),
        // What is cut off depends on numbers that nobody chose.
        Function::Truncate | Function::Other => return None,
        two => of_two(two, x, y?),
    })
}

fn of_two(function: Function, x: Slope, y: Slope) -> Slope {
    match function {
        Function::Add => Slope { value: x.value + y.value, slope: x.slope + y.slope },
        Function::Sub => Slope { value: x.value - y.value, slope: x.slope - y.slope },
        Function::Mul => Slope { value: x.value * y.value, slope: x.slope * y.value + x.value * y.slope },
        Function::Div => Slope {
            value: x.value / y.value,
            slope: (x.slope * y.value - x.value * y.slope) / (y.value * y.value),
        },
        Function::Max => {
            if x.value >= y.value {
                x
            } else {
                y
            }
        }
        Function::Min => {
            if x.value <= y.value {
                x
            } else {
                y
            }
        }
        Function::Pow => power(x, y),
        // The others have one operand.
        _ => Slope { value: f64::NAN, slope: f64::NAN },
    }
}

fn power(x: Slope, y: Slope) -> Slope {
    let value = x.value.powf(y.value);
    let by_base = y.value * x.value.powf(y.value - 1.0) * x.slope;
    let by_exponent = if y.slope == 0.0 { 0.0 } else { value * x.value.ln() * y.slope };
    Slope { value, slope: by_base + by_exponent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ustr::Ustr;

    fn x() -> Formula {
        Formula::input(0, Ustr::from("x"))
    }

    fn gradient() -> Formula {
        Formula::input(1, Ustr::from("grad"))
    }

    fn two(function: Function, a: Formula, b: Formula) -> Formula {
        Formula::apply(function, [a, b])
    }

    #[test]
    fn the_same_numbers_may_be_computed_in_several_ways() {
        let doubled = two(Function::Mul, x(), Formula::number(2.0));
        assert_eq!(agree(&doubled, &two(Function::Add, x(), x())), Some(true));
        assert_eq!(agree(&doubled, &two(Function::Add, x(), Formula::number(1.0))), Some(false));
        assert_eq!(agree(&doubled, &Formula::some()), None);
        let absolute = Formula::apply(Function::Abs, [x()]);
        assert_eq!(agree(&absolute, &x()), None);
    }

    #[test]
    fn gradients_are_slopes_times_what_comes_in() {
        let square = two(Function::Mul, x(), x());
        let right = two(Function::Mul, two(Function::Mul, Formula::number(2.0), x()), gradient());
        let halved = two(Function::Mul, x(), gradient());
        assert_eq!(slopes_agree(&square, 0, &right, 1), Some(true));
        assert_eq!(slopes_agree(&square, 0, &halved, 1), Some(false));
        let root = Formula::apply(Function::Sqrt, [x()]);
        let of_root = two(Function::Div, gradient(), two(Function::Mul, Formula::number(2.0), root.clone()));
        assert_eq!(slopes_agree(&root, 0, &of_root, 1), Some(true));
        let cube = two(Function::Pow, x(), Formula::number(3.0));
        let of_cube = two(Function::Mul, two(Function::Mul, Formula::number(3.0), square), gradient());
        assert_eq!(slopes_agree(&cube, 0, &of_cube, 1), Some(true));
    }

    #[test]
    fn what_was_changed_in_place_says_nothing() {
        let input = x();
        let doubled = two(Function::Mul, input.clone(), Formula::number(2.0));
        let kept = input.copied();
        input.spoil();
        assert_eq!(agree(&doubled, &x()), None);
        assert_eq!(agree(&kept, &x()), Some(true));
    }

    #[test]
    fn formulas_read_like_python() {
        let sum = two(Function::Add, x(), Formula::number(1.0));
        assert_eq!(two(Function::Mul, sum, Formula::number(2.0)).to_string(), "(x + 1) * 2");
        assert_eq!(Formula::apply(Function::Exp, [x()]).to_string(), "exp(x)");
    }
}
