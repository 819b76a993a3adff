//! What came out of a plan, as plain data and as JSON.

use crate::report::replay::Float;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "trainlint-result/1";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Results {
    pub schema: String,
    pub tool: String,
    /// The SHA-256 of the plan's bytes.
    pub plan: String,
    pub seed: u64,
    pub device: Device,
    pub seconds: f64,
    pub items: Vec<Outcome>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Device {
    /// `cpu` or `cuda`.
    pub backend: String,
    pub name: String,
}

/// What came out of one item.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    pub rule: String,
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub verdict: Verdict,
    pub evidence: Option<Evidence>,
    /// What computed it, `cpu` or `cuda`; `None` of what is arithmetic, and of what did not run.
    #[serde(default)]
    pub backend: Option<String>,
    /// Why there is no verdict.
    pub reason: Option<String>,
    pub expr: Option<Expression>,
    /// Sentences with what was measured, of replays that are no expressions.
    #[serde(default)]
    pub facts: Vec<String>,
    /// What there is to see of it.
    #[serde(default)]
    pub picture: Option<Picture>,
    pub seconds: f64,
}

/// What a page draws. All numbers are finite.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Picture {
    /// Numbers over numbers, and a line that they should stay below.
    Lines { x: String, y: String, lines: Vec<Line>, limit: Option<Limit> },
    /// How often numbers of a size were drawn, and how many of them failed.
    Bars { x: String, bars: Vec<Bar> },
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    pub name: String,
    pub points: Vec<[f64; 2]>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Limit {
    pub name: String,
    pub value: f64,
}

/// Samples with numbers from `low` to below `high`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Bar {
    pub low: f64,
    pub high: f64,
    pub count: u64,
    pub failed: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Confirmed,
    NotReproduced,
    /// It could come out one way only, and so is a number and no proof.
    Measured,
    Inconclusive,
}

impl Verdict {
    pub const ALL: &[Verdict] =
        &[Verdict::Confirmed, Verdict::NotReproduced, Verdict::Measured, Verdict::Inconclusive];

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "CONFIRMED",
            Verdict::NotReproduced => "NOT REPRODUCED",
            Verdict::Measured => "MEASURED",
            Verdict::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// What stands behind a verdict.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The script's own expression ran, operation by operation under the framework's rules.
    Exact,
    /// A demand was compared with a capacity.
    Capacity,
    /// A model of ours ran in the place of the script's.
    StandIn,
}

impl Evidence {
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Exact => "exact",
            Evidence::Capacity => "capacity",
            Evidence::StandIn => "on a stand-in model",
        }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Expression {
    pub dtype: String,
    /// The inputs, and what they were drawn from.
    pub inputs: Vec<Drawn>,
    pub counts: Counts,
    /// Of samples that are drawn as data usually is.
    pub ordinary: Counts,
    pub witness: Option<Shown>,
    pub failure: Option<First>,
    /// The same samples with the proposed repair.
    pub repaired: Option<Counts>,
    /// What was compared, where counts are of results that differ and not of numbers that are not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
}

/// A derivative beside what the script gives for it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Compared {
    /// The input that it is taken in.
    pub input: String,
    /// Of the witness, where they differ.
    pub differ: Option<Differ>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Differ {
    pub should: Row,
    pub gives: Row,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Drawn {
    pub name: String,
    pub domain: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub samples: u64,
    /// How many results were not finite.
    pub forward: u64,
    /// How many samples had a gradient that was not finite.
    pub gradient: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Shown {
    pub inputs: Vec<Row>,
    pub result: Row,
    /// The gradient that is not finite, by the input that it belongs to.
    pub gradient: Option<Row>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub numbers: Vec<Figure>,
}

/// A number in decimal digits and in the bits of its type.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Figure {
    pub decimal: String,
    pub bits: String,
}

impl Figure {
    pub fn new(value: f64, dtype: Float) -> Figure {
        let narrow = value as f32;
        let (decimal, bits) = match dtype {
            Float::F16 => (decimal(value), format!("{:#06x}", f16::from_f32(narrow).to_bits())),
            Float::Bf16 => (decimal(value), format!("{:#06x}", bf16::from_f32(narrow).to_bits())),
            Float::F32 => (narrow_decimal(narrow), format!("{:#010x}", narrow.to_bits())),
            Float::F64 => (wide_decimal(value), format!("{:#018x}", value.to_bits())),
        };
        Figure { decimal, bits }
    }
}

/// Four digits are what a half type tells apart.
fn decimal(value: f64) -> String {
    let short: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    wide_decimal(short)
}

fn narrow_decimal(value: f32) -> String {
    if is_plain(f64::from(value)) { format!("{value}") } else { format!("{value:e}") }
}

fn wide_decimal(value: f64) -> String {
    if is_plain(value) { format!("{value}") } else { format!("{value:e}") }
}

/// Whether it is short without an exponent.
fn is_plain(value: f64) -> bool {
    let size = value.abs();
    !value.is_finite() || size == 0.0 || (1e-4..1e7).contains(&size)
}

/// The operation that failed first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct First {
    pub operation: String,
    /// The function of the framework that it is part of, where that is another.
    pub part_of: Option<String>,
    pub backward: bool,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// What is written there.
    pub text: Option<String>,
    pub operands: Vec<Figure>,
    pub result: Figure,
    /// The first operand with which it fails, where there is such a bound.
    pub fails_from: Option<Figure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_exact() {
        let of = |value, dtype| {
            let figure = Figure::new(value, dtype);
            (figure.decimal, figure.bits)
        };
        let pair = |decimal: &str, bits: &str| (decimal.to_owned(), bits.to_owned());
        assert_eq!(of(0.0, Float::F32), pair("0", "0x00000000"));
        assert_eq!(of(f64::from(88.722_84_f32), Float::F32), pair("88.72284", "0x42b17218"));
        assert_eq!(of(f64::from(1e-20_f32), Float::F32), pair("1e-20", "0x1e3ce508"));
        assert_eq!(of(11.09375, Float::F16), pair("11.094", "0x498c"));
        assert_eq!(of(f64::NAN, Float::F64), pair("NaN", "0x7ff8000000000000"));
    }
}
