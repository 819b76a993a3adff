//! Releases as numbers with dots between them, of which any count may be said: `12`, `12.1`, `525.60.13`.

use std::fmt;

/// Compares number by number; what is not said counts as zero.
#[derive(Clone, Debug, Eq)]
pub struct Release {
    numbers: Vec<u32>,
}

impl Release {
    /// The numbers that a text begins with. `2.5.1` of `2.5.1+cu121`, `2.6.0` of `2.6.0rc1`.
    pub fn parse(text: &str) -> Option<Release> {
        let text = text.trim().trim_start_matches('v');
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let numbers: Vec<u32> = text[..end].split('.').map_while(|number| number.parse().ok()).collect();
        (!numbers.is_empty()).then_some(Release { numbers })
    }

    /// `11.8` of `cu118`, `9.2` of `cu92`: the last digit is the minor version.
    pub fn of_tag(tag: &str) -> Option<Release> {
        let digits = tag.strip_prefix("cu")?;
        let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
        Some(Release { numbers: vec![major.parse().ok()?, minor.parse().ok()?] })
    }

    /// `cu118` of `11.8`.
    pub fn tag(&self) -> String {
        format!("cu{}{}", self.major(), self.minor())
    }

    pub fn major(&self) -> u32 {
        self.numbers.first().copied().unwrap_or_default()
    }

    pub fn minor(&self) -> u32 {
        self.numbers.get(1).copied().unwrap_or_default()
    }

    /// Whether all numbers of the other one are said here first.
    pub fn starts_with(&self, other: &Release) -> bool {
        self.numbers.starts_with(&other.numbers)
    }

    /// The first two numbers.
    pub fn short(&self) -> Release {
        Release { numbers: vec![self.major(), self.minor()] }
    }

    /// Whether at least so many numbers are said.
    pub fn says(&self, count: usize) -> bool {
        self.numbers.len() >= count
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Release) -> bool {
        self.cmp(other).is_eq()
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Release) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Release) -> std::cmp::Ordering {
        let count = self.numbers.len().max(other.numbers.len());
        let padded = |release: &Release| {
            let mut numbers = release.numbers.clone();
            numbers.resize(count, 0);
            numbers
        };
        padded(self).cmp(&padded(other))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}
