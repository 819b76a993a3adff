//! The numbers that a replay tries: counter-based, so that any backend draws the same bits for the same seed,
//! in any order. Floating point is used only where IEEE 754 leaves no choice.
//!
//! Independent draws never meet where faults lie, so that some samples have a structure: all inputs equal, all
//! places of a row equal, or both; and one number in sixteen is exactly an end of its domain, zero or one.

use crate::report::replay::{Domain, Form, Input};
use smallvec::SmallVec;

/// Numbers without a bound are drawn below this size.
pub const LARGEST: f64 = 1024.0;
/// The sizes of such numbers, as powers of two.
const EXPONENTS: (i32, i32) = (-20, 9);
/// Whole numbers without a bound are so many.
const MOST_WHOLE: f64 = 1000.0;
/// The standard deviation of the sum of four 16-bit numbers: four times `(2**32 - 1) / 12`, its root.
const BELL: f32 = 37_837.0;

/// How a sample is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The same number in all inputs, in all places of a row, or both.
    Alike { inputs: bool, places: bool },
    /// As data and outputs of models usually are: near zero with deviation one, or spread evenly.
    Ordinary,
    /// Of all sizes, with exact ends.
    Wide,
}

/// Draws the inputs of a program.
#[derive(Clone, Debug)]
pub struct Sampler {
    pub seed: u64,
    key: [u32; 2],
    pub inputs: Vec<Input>,
}

impl Sampler {
    pub fn new(seed: u64, inputs: &[Input]) -> Sampler {
        Sampler { seed, key: halves(seed), inputs: inputs.to_vec() }
    }

    pub fn mode(&self, sample: u64) -> Mode {
        let [low, high] = halves(sample);
        match philox(self.key, [low, high, u32::MAX, u32::MAX])[0] % 64 {
            0 => Mode::Alike { inputs: true, places: false },
            1 => Mode::Alike { inputs: false, places: true },
            2 => Mode::Alike { inputs: true, places: true },
            3..19 => Mode::Ordinary,
            _ => Mode::Wide,
        }
    }

    /// One number of one input.
    pub fn draw(&self, sample: u64, mode: Mode, input: u32, place: usize) -> f32 {
        let own = &self.inputs[input as usize];
        let (first, place) = match mode {
            Mode::Alike { inputs, places } => (inputs, if places { 0 } else { place as u32 }),
            _ => (false, place as u32),
        };
        let from = if first { 0 } else { input };
        let [low, high] = halves(sample);
        let random = philox(self.key, [low, high, from, place]);
        let drawn = self.inputs[from as usize].domain;
        let value = if mode == Mode::Ordinary { ordinary(drawn, random) } else { wide(drawn, random) };
        inside(own.domain, value)
    }

    /// All numbers of a sample, by input.
    pub fn sample(&self, sample: u64, width: usize) -> Vec<Vec<f32>> {
        let mode = self.mode(sample);
        let row = |(index, input): (usize, &Input)| {
            let places = if input.form == Form::Many { width } else { 1 };
            (0..places).map(|place| self.draw(sample, mode, index as u32, place)).collect()
        };
        self.inputs.iter().enumerate().map(row).collect()
    }
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Philox 4x32 with ten rounds: Salmon et al., «Parallel random numbers: as easy as 1, 2, 3», SC 2011.
pub fn philox(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let [mut k0, mut k1] = key;
    let [mut a, mut b, mut c, mut d] = counter;
    for _ in 0..10 {
        let first = u64::from(a) * 0xD251_1F53;
        let second = u64::from(c) * 0xCD9E_8D57;
        let [first_low, first_high] = halves(first);
        let [second_low, second_high] = halves(second);
        (a, b, c, d) = (second_high ^ b ^ k0, second_low, first_high ^ d ^ k1, first_low);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

/// Between zero and one, one left out, in steps that are exact.
fn even(random: u32) -> f32 {
    (random >> 8) as f32 / (1_u32 << 24) as f32
}

/// A sum of four even numbers, near enough to a normal distribution.
fn bell(random: [u32; 4]) -> f32 {
    let sum: i32 = random.iter().map(|word| (word >> 16) as i32).sum();
    (sum - 2 * 65_535) as f32 / BELL
}

/// A size whose logarithm is even.
fn size(random: [u32; 4]) -> f32 {
    let (low, high) = EXPONENTS;
    let exponent = low + ((random[1] >> 8) % (high - low + 1) as u32) as i32;
    f32::from_bits((((exponent + 127) as u32) << 23) | (random[2] & 0x7f_ffff))
}

pub fn ends(domain: Domain) -> (f32, f32) {
    (domain.low.value() as f32, domain.high.value() as f32)
}

/// The lowest and the highest number of a domain.
pub fn reached(domain: Domain) -> (f32, f32) {
    let (low, high) = ends(domain);
    let low = if domain.low_open && low.is_finite() { low.next_up() } else { low };
    let high = if domain.high_open && high.is_finite() { high.next_down() } else { high };
    (low, high)
}

fn ordinary(domain: Domain, random: [u32; 4]) -> f32 {
    let (low, high) = ends(domain);
    if domain.whole {
        return whole(low, high, random[0]);
    }
    match (low.is_finite(), high.is_finite()) {
        (true, true) => low + (high - low) * even(random[0]),
        (true, false) => low + bell(random).abs(),
        (false, true) => high - bell(random).abs(),
        (false, false) => bell(random),
    }
}

fn wide(domain: Domain, random: [u32; 4]) -> f32 {
    let (low, high) = ends(domain);
    if domain.whole {
        return whole(low, high, random[0]);
    }
    if random[0].is_multiple_of(16) {
        return special(low, high, random[0] >> 4);
    }
    let size = size(random);
    let signed = if random[3] & 1 == 0 { size } else { -size };
    match (low.is_finite(), high.is_finite()) {
        (true, true) => within(low, high, random, signed),
        (true, false) => low + size,
        (false, true) => high - size,
        (false, false) => signed,
    }
}

/// Towards either end, or towards a zero between them.
fn within(low: f32, high: f32, random: [u32; 4], signed: f32) -> f32 {
    let share = signed.abs() / LARGEST as f32;
    let zero_inside = low < 0.0 && high > 0.0;
    match (random[3] >> 1) % 3 {
        0 => low + (high - low) * share,
        1 => high - (high - low) * share,
        _ if zero_inside => (signed / LARGEST as f32) * if signed < 0.0 { -low } else { high },
        _ => low + (high - low) * even(random[3]),
    }
}

fn whole(low: f32, high: f32, random: u32) -> f32 {
    let (first, count) = whole_numbers(low, high);
    first + (even(random) * count).floor()
}

/// The first of them, and how many there are.
pub fn whole_numbers(low: f32, high: f32) -> (f32, f32) {
    let most = MOST_WHOLE as f32;
    let (low, high) = match (low.is_finite(), high.is_finite()) {
        (true, true) => (low.ceil(), high.floor()),
        (true, false) => (low.ceil(), low.ceil() + most),
        (false, true) => (high.floor() - most, high.floor()),
        (false, false) => (-most, most),
    };
    (low, high - low + 1.0)
}

fn special(low: f32, high: f32, random: u32) -> f32 {
    let fitting = specials(low, high);
    fitting.get(random as usize % fitting.len().max(1)).copied().unwrap_or(low)
}

/// The ends, zero, one and minus one.
pub fn specials(low: f32, high: f32) -> SmallVec<[f32; 6]> {
    let candidates = [low, high, 0.0, 1.0, -1.0, 0.0];
    let fits = |value: &f32| value.is_finite() && (low..=high).contains(value);
    candidates.into_iter().filter(fits).collect()
}

/// The nearest number of a domain.
pub fn inside(domain: Domain, value: f32) -> f32 {
    let (low, high) = reached(domain);
    let value = if domain.whole { value.round() } else { value };
    // A domain that rounding has emptied is its lower end.
    if value > high {
        high.max(low)
    } else if value < low {
        low
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(domain: Domain) -> Input {
        Input { name: "x".to_owned(), form: Form::Many, domain, learned: true }
    }

    /// The vectors of the reference implementation, `kat_vectors` of Random123 1.14.
    #[test]
    fn philox_gives_the_known_answers() {
        let zero = philox([0; 2], [0; 4]);
        assert_eq!(zero, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 2], [u32::MAX; 4]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = philox([0xa409_3822, 0x299f_31d0], [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn numbers_stay_in_their_domain_and_reach_its_ends() {
        let half_open = Domain { low_open: true, ..Domain::UNIT };
        for domain in [Domain::REAL, Domain::NON_NEGATIVE, Domain::UNIT, Domain::LABEL, half_open] {
            let sampler = Sampler::new(7, &[input(domain)]);
            let drawn: Vec<f32> =
                (0..20_000).flat_map(|sample| sampler.sample(sample, 4).remove(0)).collect();
            let (low, high) = ends(domain);
            assert!(
                drawn.iter().all(|value| value.is_finite() && (low..=high).contains(value)),
                "{domain:?}"
            );
            assert_eq!(drawn.contains(&0.0), domain != half_open, "{domain:?}");
            assert!(drawn.contains(&1.0), "{domain:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_does_not() {
        let inputs = [input(Domain::REAL), input(Domain::UNIT)];
        let draw =
            |seed| (0..100).map(|sample| Sampler::new(seed, &inputs).sample(sample, 4)).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn some_samples_are_alike() {
        let sampler = Sampler::new(1, &[input(Domain::REAL), input(Domain::REAL)]);
        let samples: Vec<Vec<Vec<f32>>> = (0..4000).map(|sample| sampler.sample(sample, 4)).collect();
        let equal = samples.iter().filter(|rows| rows[0] == rows[1]).count();
        let constant = samples.iter().filter(|rows| rows[0].iter().all(|value| *value == rows[0][0])).count();
        assert!((60..200).contains(&equal), "{equal}");
        assert!((60..200).contains(&constant), "{constant}");
    }

    #[test]
    fn ordinary_numbers_are_near_zero() {
        let sampler = Sampler::new(3, &[input(Domain::REAL)]);
        let drawn: Vec<f64> = (0..40_000)
            .filter(|sample| sampler.mode(*sample) == Mode::Ordinary)
            .flat_map(|sample| sampler.sample(sample, 4).remove(0))
            .map(f64::from)
            .collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
