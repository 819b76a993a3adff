//! Integers and sizes: known, a polynomial over named symbols (`2·B·len(data)`), or unknown.

use smallvec::SmallVec;
use std::rc::Rc;

/// A quantity with a name and no number, such as the length of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

type Monomial = SmallVec<[Symbol; 2]>;

type Terms = SmallVec<[(Monomial, i64); 2]>;

/// A sum of products, sorted by monomial, without zero coefficients. The empty monomial is the constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poly {
    terms: Terms,
    /// One of its numbers is one that the user may change.
    given: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Int {
    Known(i64),
    /// Known as long as the user does not change it from outside: what is computed of it is no surer.
    Given(i64),
    Sum(Rc<Poly>),
    #[default]
    Unknown,
}

/// Longer sums are forgotten: nothing asks about them, and they would grow without bound in loops.
const MOST_TERMS: usize = 4;
const MOST_FACTORS: usize = 4;

impl Poly {
    /// Whether it is more than zero whatever its symbols stand for, which are sizes and so not less than one.
    pub fn is_positive(&self) -> bool {
        self.terms.iter().all(|(_, coefficient)| *coefficient > 0)
    }
}

impl Int {
    pub fn symbol(symbol: Symbol) -> Int {
        let monomial = Monomial::from_slice(&[symbol]);
        Int::Sum(Rc::new(Poly { terms: SmallVec::from_vec(vec![(monomial, 1)]), given: false }))
    }

    pub fn known(&self) -> Option<i64> {
        match self {
            Int::Known(value) | Int::Given(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it rests on a number that the user may change from outside.
    pub fn is_given(&self) -> bool {
        match self {
            Int::Given(_) => true,
            Int::Sum(poly) => poly.given,
            Int::Known(_) | Int::Unknown => false,
        }
    }

    /// The same number, which the user may change from outside.
    pub fn given(self) -> Int {
        match self {
            Int::Known(value) => Int::Given(value),
            Int::Sum(poly) => Int::Sum(Rc::new(Poly { given: true, ..(*poly).clone() })),
            other => other,
        }
    }

    /// Whether it is another number than a second one, whatever the symbols stand for, which are sizes and so not
    /// less than one. What the user may change, and what is not known, is not surely anything.
    pub fn surely_differs(&self, other: &Int) -> bool {
        if self.is_given() || other.is_given() {
            return false;
        }
        match self.sub(other) {
            Int::Known(difference) => difference != 0,
            Int::Sum(poly) => {
                poly.terms.iter().all(|(_, c)| *c > 0) || poly.terms.iter().all(|(_, c)| *c < 0)
            }
            Int::Given(_) | Int::Unknown => false,
        }
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Int::Unknown)
    }

    /// The symbols it is made of, when it is exactly one symbol.
    pub fn as_symbol(&self) -> Option<Symbol> {
        match self {
            Int::Sum(poly) => match poly.terms.as_slice() {
                [(monomial, 1)] if monomial.len() == 1 => Some(monomial[0]),
                _ => None,
            },
            _ => None,
        }
    }

    /// The symbols that it is made of.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        let terms = match self {
            Int::Sum(poly) => &poly.terms[..],
            _ => &[],
        };
        terms.iter().flat_map(|(monomial, _)| monomial.iter().copied())
    }

    fn terms(&self) -> Option<Terms> {
        match self {
            Int::Known(0) | Int::Given(0) => Some(SmallVec::new()),
            Int::Known(value) | Int::Given(value) => {
                Some(SmallVec::from_vec(vec![(Monomial::new(), *value)]))
            }
            Int::Sum(poly) => Some(poly.terms.clone()),
            Int::Unknown => None,
        }
    }

    fn from_terms(mut terms: Terms, given: bool) -> Int {
        terms.retain(|(_, coefficient)| *coefficient != 0);
        let number = |value: i64| if given { Int::Given(value) } else { Int::Known(value) };
        match terms.as_slice() {
            [] => number(0),
            [(monomial, value)] if monomial.is_empty() => number(*value),
            _ if terms.len() > MOST_TERMS => Int::Unknown,
            _ => Int::Sum(Rc::new(Poly { terms, given })),
        }
    }

    /// What is computed of two numbers, as sure as they are; `None` where one of them is no number.
    pub fn of_numbers(&self, other: &Int, compute: impl FnOnce(i64, i64) -> Option<i64>) -> Option<Int> {
        let (a, b) = (self.known()?, other.known()?);
        let Some(result) = compute(a, b) else { return Some(Int::Unknown) };
        Some(if self.is_given() || other.is_given() { Int::Given(result) } else { Int::Known(result) })
    }

    pub fn add(&self, other: &Int) -> Int {
        if let Some(sum) = self.of_numbers(other, i64::checked_add) {
            return sum;
        }
        let (Some(mut terms), Some(others)) = (self.terms(), other.terms()) else { return Int::Unknown };
        for (monomial, coefficient) in others {
            if insert(&mut terms, monomial, coefficient).is_none() {
                return Int::Unknown;
            }
        }
        Int::from_terms(terms, self.is_given() || other.is_given())
    }

    pub fn neg(&self) -> Int {
        self.mul(&Int::Known(-1))
    }

    pub fn sub(&self, other: &Int) -> Int {
        self.add(&other.neg())
    }

    pub fn mul(&self, other: &Int) -> Int {
        if let Some(product) = self.of_numbers(other, i64::checked_mul) {
            return product;
        }
        let (Some(left), Some(right)) = (self.terms(), other.terms()) else { return Int::Unknown };
        let mut terms = SmallVec::new();
        for (first, a) in &left {
            for (second, b) in &right {
                let mut monomial = first.clone();
                monomial.extend_from_slice(second);
                monomial.sort_unstable();
                let Some(product) = a.checked_mul(*b) else { return Int::Unknown };
                if monomial.len() > MOST_FACTORS || insert(&mut terms, monomial, product).is_none() {
                    return Int::Unknown;
                }
            }
        }
        Int::from_terms(terms, self.is_given() || other.is_given())
    }

    /// `self // other`, when that is exact or both are known.
    pub fn div_floor(&self, other: &Int) -> Int {
        if let Some(quotient) = self.of_numbers(other, i64::checked_div_euclid) {
            return quotient;
        }
        let given = self.is_given() || other.is_given();
        match (self, other) {
            (Int::Sum(poly), Int::Known(b) | Int::Given(b))
                if *b != 0 && poly.terms.iter().all(|(_, c)| c % b == 0) =>
            {
                Int::from_terms(poly.terms.iter().map(|(m, c)| (m.clone(), c / b)).collect(), given)
            }
            _ if self == other && !self.is_unknown() => Int::Known(1),
            (Int::Sum(_), Int::Sum(_)) => self.div_monomial(other),
            _ => Int::Unknown,
        }
    }

    /// Divides by a single product of symbols that every term contains.
    fn div_monomial(&self, other: &Int) -> Int {
        let (Some(terms), Some(divisor)) = (self.terms(), other.terms()) else { return Int::Unknown };
        let [(factors, scale)] = divisor.as_slice() else { return Int::Unknown };
        let mut result = SmallVec::new();
        for (monomial, coefficient) in terms {
            let mut rest = monomial.clone();
            for factor in factors {
                let Some(at) = rest.iter().position(|symbol| symbol == factor) else { return Int::Unknown };
                rest.remove(at);
            }
            if coefficient % scale != 0 || insert(&mut result, rest, coefficient / scale).is_none() {
                return Int::Unknown;
            }
        }
        Int::from_terms(result, self.is_given() || other.is_given())
    }

    pub fn modulo(&self, other: &Int) -> Int {
        self.of_numbers(other, i64::checked_rem_euclid).unwrap_or_default()
    }

    pub fn join(&self, other: &Int) -> Int {
        match (self, other) {
            _ if self == other => self.clone(),
            (Int::Known(a), Int::Given(b)) | (Int::Given(a), Int::Known(b)) if a == b => Int::Given(*a),
            _ => Int::Unknown,
        }
    }

    /// As a formula, `2·batch + 1`, with names for the symbols; `None` where nothing is known.
    pub fn written(&self, name: impl Fn(Symbol) -> String) -> Option<String> {
        let mut text = String::new();
        // Symbols come before the constant, as people write it.
        for (monomial, coefficient) in self.terms()?.iter().rev() {
            let mut factors: Vec<String> = monomial.iter().map(|symbol| name(*symbol)).collect();
            if coefficient.unsigned_abs() != 1 || factors.is_empty() {
                factors.insert(0, coefficient.unsigned_abs().to_string());
            }
            text.push_str(match (text.is_empty(), *coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            text.push_str(&factors.join("·"));
        }
        Some(if text.is_empty() { "0".to_owned() } else { text })
    }
}

fn insert(terms: &mut SmallVec<[(Monomial, i64); 2]>, monomial: Monomial, coefficient: i64) -> Option<()> {
    match terms.binary_search_by(|(known, _)| known.cmp(&monomial)) {
        Ok(at) => terms[at].1 = terms[at].1.checked_add(coefficient)?,
        Err(at) => terms.insert(at, (monomial, coefficient)),
    }
    Some(())
}

impl From<i64> for Int {
    fn from(value: i64) -> Int {
        Int::Known(value)
    }
}

/// The product of sizes, as of a shape.
pub fn product<'a>(sizes: impl IntoIterator<Item = &'a Int>) -> Int {
    sizes.into_iter().fold(Int::Known(1), |all, size| all.mul(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_add_multiply_and_divide() {
        let batch = Int::symbol(Symbol(0));
        let length = Int::symbol(Symbol(1));
        let product = batch.mul(&length).mul(&Int::Known(6));
        assert_eq!(product.div_floor(&Int::Known(3)), batch.mul(&length).mul(&Int::Known(2)));
        assert_eq!(product.div_floor(&batch), length.mul(&Int::Known(6)));
        assert_eq!(batch.add(&batch).sub(&batch), batch);
        assert_eq!(batch.sub(&batch), Int::Known(0));
        assert_eq!(batch.add(&Int::Known(1)).div_floor(&length), Int::Unknown);
        assert_eq!(batch.div_floor(&batch), Int::Known(1));
        assert_ne!(batch, length);
    }

    #[test]
    fn what_is_computed_of_a_given_number_is_no_surer() {
        let (batch, given) = (Int::symbol(Symbol(0)), Int::Given(64));
        assert_eq!(given.mul(&Int::Known(2)), Int::Given(128));
        assert_eq!(given.mul(&Int::Known(2)).known(), Some(128));
        assert!(batch.mul(&given).is_given() && !batch.mul(&Int::Known(2)).is_given());
        assert_eq!(batch.mul(&given).div_floor(&batch), given);
        assert_eq!(given.join(&Int::Known(64)), given);
        assert_eq!(given.join(&Int::Known(63)), Int::Unknown);
    }

    #[test]
    fn sizes_differ_surely_or_not() {
        let (batch, length) = (Int::symbol(Symbol(0)), Int::symbol(Symbol(1)));
        assert!(Int::Known(400).surely_differs(&Int::Known(576)));
        assert!(!Int::Known(400).surely_differs(&Int::Given(576)));
        assert!(!Int::Known(400).surely_differs(&Int::Unknown));
        assert!(batch.mul(&Int::Known(2)).surely_differs(&batch));
        assert!(!batch.surely_differs(&length) && !batch.surely_differs(&Int::Known(3)));
        assert!(!batch.mul(&Int::Known(2)).surely_differs(&Int::Known(2)));
        assert!(batch.add(&Int::Known(1)).surely_differs(&batch));
    }

    #[test]
    fn formulas_are_written_as_people_write_them() {
        let name = |symbol: Symbol| ["batch", "length"][symbol.0 as usize].to_owned();
        let batch = Int::symbol(Symbol(0));
        let length = Int::symbol(Symbol(1));
        let written = |int: &Int| int.written(name).unwrap_or_default();
        assert_eq!(
            written(&batch.mul(&length).mul(&Int::Known(2)).sub(&Int::Known(1))),
            "2·batch·length - 1"
        );
        assert_eq!(written(&batch.neg().add(&Int::Known(3))), "-batch + 3");
        assert_eq!((written(&Int::Known(0)), written(&Int::Known(-7))), ("0".to_owned(), "-7".to_owned()));
        assert_eq!(Int::Unknown.written(name), None);
    }

    #[test]
    fn overflow_is_unknown() {
        assert_eq!(Int::Known(i64::MAX).add(&Int::Known(1)), Int::Unknown);
        assert_eq!(Int::Known(i64::MIN).div_floor(&Int::Known(-1)), Int::Unknown);
        assert_eq!(Int::Known(7).modulo(&Int::Known(0)), Int::Unknown);
    }
}
