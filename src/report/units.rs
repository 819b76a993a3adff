//! Sizes and counts as people write and read them. Knows no framework and no card.

use thiserror::Error;

/// Why a size was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{given}` is not a size: write a number and a unit, such as `24GiB`, `24GB`, `32000M` or `1.5T`")]
pub struct SizeError {
    pub given: String,
}

/// Reads `24GiB`, `24 GB`, `24G`, `32000M`, `1.5T` into bytes.
///
/// `KiB`, `MiB`, `GiB` and `TiB` are powers of 1024; `K`, `KB` and their kin are powers of 1000.
/// A number alone is refused, since nobody means bytes by it.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError { given: text.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?;
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.trim().replace('_', "").parse().map_err(|_| error())?;
    let bytes = number * unit_bytes(unit).ok_or_else(error)?;
    // Past 2^63 a size is a slip of the pen, and the conversion would saturate silently.
    if bytes.is_finite() && (1.0..9.2e18).contains(&bytes) { Ok(bytes.round() as u64) } else { Err(error()) }
}

fn unit_bytes(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let (letter, rest) = unit.split_at(1);
    let power = match letter {
        "b" => return rest.is_empty().then_some(1.0),
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    match rest {
        "" | "b" => Some(1000f64.powi(power)),
        "i" | "ib" => Some(1024f64.powi(power)),
        _ => None,
    }
}

/// `512 B`, `1.2 KiB`, `381 MiB`, `24 GiB`: powers of 1024, as frameworks and drivers print them; three digits or four.
pub fn bytes(count: u64) -> String {
    scaled(count, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// `812`, `3.4 k`, `470 M`, `7 B`: for numbers whose last digits say nothing.
pub fn rounded(count: u64) -> String {
    scaled(count, 1000.0, &["", "k", "M", "B", "T", "P", "E"]).trim_end().to_owned()
}

fn scaled(count: u64, base: f64, units: &[&str]) -> String {
    let mut value = count as f64;
    let mut unit = 0;
    // What would print as a whole `base` is one of the next unit.
    while value >= base - 0.5 && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let digits = if unit > 0 && value < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {}", digits.strip_suffix(".0").unwrap_or(&digits), units[unit])
}

/// `1,000,000`.
pub fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 error`, `2 errors`.
pub fn plural(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// `1st`, `2nd`, `3rd`, `11th`, `21st`.
pub fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("24GiB", 24 << 30),
            ("24 GB", 24_000_000_000),
            ("24g", 24_000_000_000),
            ("32000M", 32_000_000_000),
            ("1.5T", 1_500_000_000_000),
            ("512B", 512),
            ("80Gi", 80 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "24", "GiB", "24XB", "24 GiBs", "-1G", "0G", "1e30T", "é", "24é"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_counted_by_1024() {
        for (count, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KiB"),
            (1_234, "1.2 KiB"),
            (44 << 20, "44 MiB"),
            (54_945_382, "52.4 MiB"),
            (400_000_000, "381 MiB"),
            ((1 << 20) - 1, "1 MiB"),
            (24 << 30, "24 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn counts_have_their_commas() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(count(-12_345), "-12,345");
        assert_eq!(rounded(470_123_456), "470 M");
        assert_eq!(rounded(812), "812");
        assert_eq!(plural(1, "error"), "1 error");
        assert_eq!(plural(1_200, "finding"), "1,200 findings");
    }
    #[test]
    fn ordinals_have_the_ending_of_their_last_word() {
        let numbers = [0, 1, 2, 3, 4, 11, 12, 13, 21, 22, 40, 101, 111, 113];
        let endings = ["th", "st", "nd", "rd", "th", "th", "th", "th", "st", "nd", "th", "st", "th", "th"];
        for (number, ending) in numbers.into_iter().zip(endings) {
            assert_eq!(ordinal(number), format!("{number}{ending}"));
        }
    }
}
