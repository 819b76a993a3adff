//! What IPython adds to Python, removed in place: a cell keeps its length and its lines,
//! so that every offset stays where it was.

use super::logical::{continued_end, is_blank, line_end, scan, skip_indent};
use std::ops::Range;

/// Cell magics that run the cell as Python in the notebook's namespace.
const TRANSPARENT: [&str; 20] = [
    "add_to",
    "autoreload",
    "capture",
    "debug",
    "heat",
    "lprun",
    "memit",
    "memray_flamegraph",
    "mprun",
    "notebook",
    "opts",
    "output",
    "prun",
    "pyinstrument",
    "scalene",
    "snakeviz",
    "tb",
    "time",
    "timeit",
    "wandb",
];

/// Line magics whose argument is a Python statement, with their options that take a word.
const TIMERS: [(&str, &[u8]); 4] = [("time", b""), ("timeit", b"nrp"), ("prun", b"lsTD"), ("memit", b"rti")];

/// Magics that people write without `%`; two names in a row are no Python.
const AUTOMAGIC: [&str; 16] = [
    "cat",
    "cd",
    "conda",
    "cp",
    "load_ext",
    "ls",
    "mamba",
    "matplotlib",
    "mkdir",
    "mv",
    "pip",
    "reload_ext",
    "rm",
    "run",
    "time",
    "timeit",
];

/// Blanks all magics of a cell. False when the cell is not Python (`%%bash`): it is to be dropped.
pub(super) fn blank(cell: &mut [u8]) -> bool {
    let Some(mut at) = blank_cell_magics(cell) else {
        return false;
    };
    while at < cell.len() {
        at = blank_line_magic(cell, at);
    }
    true
}

/// Where the cell's Python begins; `None` when a cell magic takes the cell for something else. Colab, which titles its
/// cells by a comment, takes a magic behind comments, too.
fn blank_cell_magics(cell: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let start = skip_indent(cell, at);
        match cell.get(start) {
            Some(b'\n' | b'\r') => at = line_end(cell, start) + 1,
            Some(b'#') if line_end(cell, start) < cell.len() => at = line_end(cell, start) + 1,
            Some(b'%') if cell[start..].starts_with(b"%%") => {
                let name = word(&cell[start + 2..]);
                if !name.is_empty() && !TRANSPARENT.iter().any(|known| known.as_bytes() == name) {
                    return None;
                }
                at = line_end(cell, start);
                fill(&mut cell[start..at], b"");
            }
            _ => return Some(at),
        }
    }
}

/// Blanks the magic of the logical line that begins at `at`, if it is one; returns where the next begins.
fn blank_line_magic(cell: &mut [u8], at: usize) -> usize {
    let start = skip_indent(cell, at);
    if is_blank(cell, start) {
        return line_end(cell, start) + 1;
    }
    let indented = start > at;
    if b"%!?,;/".contains(&cell[start]) {
        let end = continued_end(cell, start);
        blank_statement(cell, start..end, indented);
        return end + 1;
    }
    let line = scan(cell, start);
    if let Some(value) = line.assigned {
        let end = continued_end(cell, value);
        blank_value(&mut cell[value..end]);
        return end + 1;
    }
    if cell[start..line.code_end].ends_with(b"?") {
        blank_statement(cell, start..line.code_end, indented);
    } else if is_automagic(&cell[start..]) {
        let end = continued_end(cell, start);
        blank_statement(cell, start..end, indented);
        return end + 1;
    }
    line.end + 1
}

/// In a block something has to stay, for the magic may be all that the block holds.
fn blank_statement(cell: &mut [u8], span: Range<usize>, indented: bool) {
    let statement = &mut cell[span];
    if let Some(python) = timed_statement(statement) {
        fill(&mut statement[..python], b"pass;");
    } else if indented {
        fill(statement, if statement.len() < 4 { b"0" } else { b"pass" });
    } else {
        fill(statement, b"");
    }
}

/// The right side of an assignment becomes a name that nothing binds, for its value is unknown;
/// `%time` gives the value of its expression.
fn blank_value(value: &mut [u8]) {
    match timed_statement(value) {
        Some(python) if word(&value[1..]) == b"time" => fill(&mut value[..python], b""),
        _ => {
            let width = line_end(value, 0).min(8);
            fill(value, &b"________"[..width]);
        }
    }
}

/// Where the Python of `%time x = f()`, or of `time x = f()`, begins; `None` when it is no such magic or a compound
/// statement.
fn timed_statement(magic: &[u8]) -> Option<usize> {
    let start = usize::from(magic.starts_with(b"%"));
    let name = word(&magic[start..]);
    let (_, with_word) = TIMERS.into_iter().find(|(known, _)| known.as_bytes() == name)?;
    let skip = |at: usize| at + magic[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let token = |at: usize| at + magic[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let mut at = skip(start + name.len());
    while magic[at..].starts_with(b"-") {
        let end = token(at);
        let takes_word = end == at + 2 && with_word.contains(&magic[at + 1]);
        at = skip(if takes_word { token(skip(end)) } else { end });
    }
    const COMPOUND: [&[u8]; 9] =
        [b"async", b"class", b"def", b"for", b"if", b"match", b"try", b"while", b"with"];
    let is_python = magic.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || b"_([{\"'".contains(byte));
    (is_python && !COMPOUND.contains(&word(&magic[at..]))).then_some(at)
}

fn is_automagic(line: &[u8]) -> bool {
    let name = word(line);
    if !AUTOMAGIC.iter().any(|known| known.as_bytes() == name) {
        return false;
    }
    let rest = &line[name.len()..];
    let argument = rest.trim_ascii_start();
    let operators: [&[u8]; 7] = [b"and", b"else", b"if", b"in", b"is", b"not", b"or"];
    let is_path = match argument {
        // `ls *.pt`, `ls */`, `cd /content`: no operator stands like that in front of its operand.
        [b'*', b'.', name, ..] => name.is_ascii_alphabetic(),
        [b'*', b'/' | b'\r' | b'\n', ..] | [b'*'] => true,
        [b'/', name, ..] => name.is_ascii_alphabetic(),
        [first, ..] => first.is_ascii_alphanumeric() || b"_.~".contains(first),
        [] => false,
    };
    matches!(rest.first(), Some(b' ' | b'\t')) && is_path && !operators.contains(&word(argument))
}

fn word(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    &bytes[..length]
}

/// Overwrites all but line ends: first with `text`, then with spaces.
fn fill(bytes: &mut [u8], text: &[u8]) {
    for byte in bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    if let Some(head) = bytes.get_mut(..text.len()) {
        head.copy_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blanked cell with trailing spaces cut, once its length and lines are checked.
    fn blanked(cell: &str) -> String {
        let mut bytes = cell.as_bytes().to_vec();
        assert!(blank(&mut bytes), "{cell:?} was dropped");
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.len(), cell.len());
        let ends = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(ends(&text), ends(cell));
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_of_magic_become_spaces() {
        assert_eq!(blanked("%matplotlib inline\nx = 1\n"), "\nx = 1");
        assert_eq!(blanked("!pip install é 'torch\nx = 1"), "\nx = 1");
        assert_eq!(blanked("!pip install \\\n  torch \\\r\n  numpy\nx = 1"), "\n\n\nx = 1");
        assert_eq!(
            blanked("?torch\n??x\ntorch.nn?\ntorch??  # help\n,f a b\n;f a\n/f a\nx"),
            "\n\n\n         # help\n\n\n\nx"
        );
        assert_eq!(blanked("pip install torch==2.0\ncd ..\nload_ext autoreload\nx"), "\n\n\nx");
        assert_eq!(blanked("timeit f(x)\ntime y = f(x)\ntime = 1"), "pass;  f(x)\npass;y = f(x)\ntime = 1");
        assert_eq!(blanked("ls *.pt\nmv *.pt ../old\ncd /content\nls */\nrm *\nx"), "\n\n\n\n\nx");
    }

    #[test]
    fn python_stays_as_it_is() {
        for cell in [
            "x = (a\n % b)\n",
            "s = '''\n%time\n!ls\n'''\n",
            "x = 5 \\\n % 3\n",
            "x != y\nx %= 2\nf(a=1)\n",
            "x = 1  # really?\n",
            "s = 'what?'\n",
            "ls = 1\npip = ls\ncd in ls\nrun(x)\nrm.x\n",
            "ls * 2\nls *x\nls *.5\nls / 2\nls ** 2\n",
            "x == y\nd = {'a': 1,\n!= 3}\n",
        ] {
            assert_eq!(blanked(cell), cell.trim_end(), "{cell}");
        }
    }

    #[test]
    fn a_block_keeps_a_statement() {
        assert_eq!(blanked("if x:\n    !pip install y\nz"), "if x:\n    pass\nz");
        assert_eq!(blanked("if x:\n\t!l\nz"), "if x:\n\t0\nz");
        assert_eq!(blanked("if x:\n  y?\nz"), "if x:\n  0\nz");
    }

    #[test]
    fn assigned_magics_are_unknown_values() {
        assert_eq!(blanked("y = %env HOME\nz"), "y = ________\nz");
        assert_eq!(blanked("files, b = !ls \\\n -l\nz"), "files, b = _____\n\nz");
        assert_eq!(blanked("x[0] =!l\n"), "x[0] =__");
        assert_eq!(blanked("y = %time f(x)\n"), "y =       f(x)");
        assert_eq!(blanked("y = %timeit -o f(x)\n"), "y = ________");
        assert_eq!(blanked("y = !\nz"), "y = _\nz");
    }

    #[test]
    fn timed_statements_stay() {
        assert_eq!(blanked("%time loss = step(x)\n"), "pass; loss = step(x)");
        assert_eq!(blanked("%timeit -n 10 -r3 -q f(x)\n"), "pass;                f(x)");
        assert_eq!(blanked("    %prun -s cumtime f()\n"), "    pass;            f()");
        assert_eq!(blanked("%time\nx"), "\nx");
        assert_eq!(blanked("%time for x in y: f(x)\nx"), "\nx");
        assert_eq!(blanked("%time !ls\nx"), "\nx");
    }

    #[test]
    fn cell_magics_are_transparent_or_drop_the_cell() {
        assert_eq!(blanked("%%time\nx = 1\n!ls\n"), "\nx = 1\n");
        assert_eq!(blanked("\n \n%%capture out\n%%timeit -n 3\nx = 1"), "\n\n\n\nx = 1");
        assert_eq!(blanked("# first\n%%time\nx"), "# first\n\nx");
        assert_eq!(blanked("%%\nx"), "\nx");
        for cell in [
            "%%bash\nls",
            "%%html",
            "\n%%writefile a.py\nx = 1",
            "%%time\n%%bash\nls",
            "%%unheard_of\nx",
            "#@title Install\n%%shell\nls",
        ] {
            assert!(!blank(&mut cell.as_bytes().to_vec()), "{cell}");
        }
    }
}
