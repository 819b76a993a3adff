//! The yardstick of the speed benches: reads Python files and parses them with tree-sitter,
//! and does nothing else. `bare_parse all|passing|read LIST` takes the files from LIST, one
//! path a line, and prints one line of JSON; whoever runs it measures its CPU time from
//! outside, the same way as trainlint's. It uses trainlint's allocator and thread pool
//! (`RAYON_NUM_THREADS`), so that what differs is what trainlint adds.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of its own, at the edge: it reads and prints"
)]

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use rayon::prelude::*;
use tree_sitter::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A file passes the filter when one of its lines imports one of these packages.
const FRAMEWORKS: [&str; 26] = [
    "accelerate",
    "apex",
    "cupy",
    "deepspeed",
    "diffusers",
    "fastai",
    "flax",
    "haiku",
    "horovod",
    "ignite",
    "jax",
    "keras",
    "lightning",
    "numba",
    "optax",
    "peft",
    "pycuda",
    "pytorch_lightning",
    "tensorflow",
    "tf_keras",
    "torch",
    "torch_geometric",
    "torchaudio",
    "torchvision",
    "transformers",
    "triton",
];

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Read,
    All,
    Passing,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    files: usize,
    bytes: usize,
    parsed_files: usize,
    parsed_bytes: usize,
    parsed_lines: usize,
    broken: usize,
    unread: usize,
}

/// One parser and one buffer a thread, as trainlint has them.
struct Reader {
    parser: Parser,
    text: Vec<u8>,
}

thread_local! {
    static READER: RefCell<Option<Reader>> = const { RefCell::new(None) };
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mode = match args.next().as_deref() {
        Some("read") => Mode::Read,
        Some("all") => Mode::All,
        Some("passing") => Mode::Passing,
        _ => return usage(),
    };
    let Some(list) = args.next() else { return usage() };
    let list = match std::fs::read_to_string(&list) {
        Ok(list) => list,
        Err(error) => {
            eprintln!("{list}: {error}");
            return ExitCode::from(2);
        }
    };
    let paths: Vec<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    let totals =
        paths.par_iter().map(|path| measure(Path::new(path), mode)).reduce(Totals::default, Totals::plus);
    println!("{}", totals.json());
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: bare_parse read|all|passing LIST");
    ExitCode::from(2)
}

fn measure(path: &Path, mode: Mode) -> Totals {
    READER.with_borrow_mut(|slot| {
        let Some(reader) = reader(slot) else {
            return Totals { unread: 1, ..Totals::default() };
        };
        reader.text.clear();
        let read = File::open(path).and_then(|mut file| file.read_to_end(&mut reader.text));
        if read.is_err() {
            return Totals { unread: 1, ..Totals::default() };
        }
        let mut totals = Totals { files: 1, bytes: reader.text.len(), ..Totals::default() };
        if mode == Mode::Read || mode == Mode::Passing && !imports_framework(&reader.text) {
            return totals;
        }

        totals.parsed_files = 1;
        totals.parsed_bytes = totals.bytes;
        totals.parsed_lines = memchr::memchr_iter(b'\n', &reader.text).count();
        if let Some(tree) = reader.parser.parse(&reader.text, None) {
            totals.broken = usize::from(tree.root_node().has_error());
        }
        totals
    })
}

fn reader(slot: &mut Option<Reader>) -> Option<&mut Reader> {
    if slot.is_none() {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
        *slot = Some(Reader { parser, text: Vec::new() });
    }
    slot.as_mut()
}

/// Looks at lines only: an import inside a string counts, one built at run time does not.
fn imports_framework(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b"import").any(|at| {
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
        line_imports_framework(text[start..end].trim_ascii_start())
    })
}

fn line_imports_framework(line: &[u8]) -> bool {
    if let Some(rest) = line.strip_prefix(b"from ") {
        return FRAMEWORKS.contains(&package(rest));
    }
    line.strip_prefix(b"import ").is_some_and(|names| {
        names.split(|&byte| byte == b',').any(|name| FRAMEWORKS.contains(&package(name)))
    })
}

/// The first part of a dotted name, or nothing where there is none.
fn package(text: &[u8]) -> &str {
    let text = text.trim_ascii_start();
    let end =
        text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).unwrap_or_default()
}

impl Totals {
    fn plus(self, other: Totals) -> Totals {
        Totals {
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
            parsed_files: self.parsed_files + other.parsed_files,
            parsed_bytes: self.parsed_bytes + other.parsed_bytes,
            parsed_lines: self.parsed_lines + other.parsed_lines,
            broken: self.broken + other.broken,
            unread: self.unread + other.unread,
        }
    }

    fn json(&self) -> String {
        format!(
            "{{\"files\": {}, \"bytes\": {}, \"parsed_files\": {}, \"parsed_bytes\": {}, \
             \"parsed_lines\": {}, \"with_errors\": {}, \"unread\": {}}}",
            self.files,
            self.bytes,
            self.parsed_files,
            self.parsed_bytes,
            self.parsed_lines,
            self.broken,
            self.unread
        )
    }
}
