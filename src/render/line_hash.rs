//! The hashes by which GitHub recognises a line when the code around it moves: of the hundred
//! characters from its start on, without spaces and tabs. The action that uploads SARIF computes
//! the same (`src/fingerprints.ts` in github/codeql-action) and complains where they differ.

use std::collections::HashMap;

const WINDOW: usize = 100;
const FACTOR: u64 = 37;

/// `hash:occurrence` of each line, the first at 0.
pub(crate) fn line_hashes(text: &str) -> Vec<String> {
    let mut rolling = Rolling::new();
    let mut after_return = false;
    for unit in text.encode_utf16() {
        if unit == u16::from(b' ') || unit == u16::from(b'\t') || (after_return && unit == LINE_FEED) {
            after_return = false;
            continue;
        }
        after_return = unit == u16::from(b'\r');
        rolling.take(if after_return { LINE_FEED } else { unit });
    }
    rolling.take(u16::MAX);
    rolling.flush();
    rolling.hashes
}

const LINE_FEED: u16 = b'\n' as u16;

struct Rolling {
    window: [u16; WINDOW],
    /// Whether a line begins at this place of the window.
    starts: [bool; WINDOW],
    at: usize,
    hash: u64,
    /// What the character that leaves the window was multiplied with.
    leaving: u64,
    at_start: bool,
    seen: HashMap<u64, u32>,
    hashes: Vec<String>,
}

impl Rolling {
    fn new() -> Rolling {
        Rolling {
            window: [0; WINDOW],
            starts: [false; WINDOW],
            at: 0,
            hash: 0,
            leaving: (0..WINDOW).fold(1, |product: u64, _| product.wrapping_mul(FACTOR)),
            at_start: true,
            seen: HashMap::new(),
            hashes: Vec::new(),
        }
    }

    fn take(&mut self, unit: u16) {
        self.finish_line();
        self.starts[self.at] = std::mem::replace(&mut self.at_start, unit == LINE_FEED);
        self.push(unit);
    }

    /// The lines that are shorter than the window at the end of the text.
    fn flush(&mut self) {
        for _ in 0..WINDOW {
            self.finish_line();
            self.push(0);
        }
    }

    fn push(&mut self, unit: u16) {
        let left = u64::from(std::mem::replace(&mut self.window[self.at], unit));
        let entered = self.hash.wrapping_mul(FACTOR).wrapping_add(u64::from(unit));
        self.hash = entered.wrapping_sub(self.leaving.wrapping_mul(left));
        self.at = (self.at + 1) % WINDOW;
    }

    fn finish_line(&mut self) {
        if std::mem::take(&mut self.starts[self.at]) {
            let count = self.seen.entry(self.hash).or_insert(0);
            *count += 1;
            self.hashes.push(format!("{:x}:{count}", self.hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expectations are those of `src/fingerprints.test.ts` in github/codeql-action.
    #[test]
    fn hashes_are_those_of_the_uploading_action() {
        assert_eq!(line_hashes(""), ["c129715d7a2bc9a3:1"]);
        let four = ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"];
        assert_eq!(line_hashes(" a\nb\n  \t\tc\n d"), four);
        let seven = [
            "e9496ae3ebfced30:1",
            "fb7c023a8b9ccb3f:1",
            "ce8ba1a563dcdaca:1",
            "e20e36e16fcb0cc8:1",
            "b3edc88f2938467e:1",
            "c8e28b0b4002a3a0:1",
            "c129715d7a2bc9a3:1",
        ];
        assert_eq!(line_hashes(" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n"), seven);
        assert_eq!(line_hashes(" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n"), seven);
        let repeated = line_hashes(&"Lorem ipsum dolor sit amet.\n".repeat(10));
        assert_eq!(repeated[5..8], ["a7f2ff13bc495cf2:6", "a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1"]);
    }
}
