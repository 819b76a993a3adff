//! Where the physical lines of a text begin. Python ends them at a line feed; form
//! feeds and the Unicode line separators do not.

/// Starts of lines, in order; the first is 0.
#[derive(Clone, Debug)]
pub(super) struct LineIndex {
    starts: Box<[u32]>,
    len: usize,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let starts = std::iter::once(0).chain(ends.map(|end| end as u32 + 1)).collect();
        LineIndex { starts, len: text.len() }
    }

    /// The line that holds the offset, from 0.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= offset) - 1
    }

    /// Where a line begins; past the last line, the end of the text.
    pub(super) fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.len, |&start| start as usize)
    }
}
