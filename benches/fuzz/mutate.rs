//! Random edits of seeds. A case is named by the seed of the run and its number alone, so that it can be made again.

/// xorshift64: all that is asked of it is that a seed gives the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Bits that are likely to send a reader somewhere new, whatever it reads.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\x1b[2J",
    b"\r",
    b"\r\n",
    b"\n",
    b"\t",
    b"\\",
    b"'",
    b"\"\"\"",
    b"#",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b"-1",
    b"9223372036854775808",
    b"1e999",
    b" ",
];

/// The input with this number.
pub fn case(seeds: &[Vec<u8>], words: &[&str], seed: u64, number: u64) -> Vec<u8> {
    let mixed = (seed << 32).wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = Random(mixed);
    random.below(1);
    if seeds.is_empty() {
        return (0..64 + random.below(960)).map(|_| random.below(256) as u8).collect();
    }
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(6) {
        edit(&mut input, seeds, words, &mut random);
    }
    input
}

fn edit(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + 1 + random.below(60)).min(input.len());
    match random.below(8) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => drop(input.drain(at..end)),
        2 => drop(input.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        3 | 4 if !words.is_empty() => {
            let word = words[random.below(words.len())];
            input.splice(at..at, word.bytes());
        }
        5 => {
            let copy: Vec<u8> = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            let times = 1 + random.below(8);
            input.splice(to..to, copy.repeat(times));
        }
        6 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => drop(input.splice(at..end, lines(input, random))),
    }
}

/// A line of the input, to be put elsewhere.
fn lines(input: &[u8], random: &mut Random) -> Vec<u8> {
    let lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() { Vec::new() } else { lines[random.below(lines.len())].to_vec() }
}
