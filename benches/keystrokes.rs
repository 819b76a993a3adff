//! The time from a keystroke to its diagnostics, and the memory of the server over many of them, beside the bare
//! incremental parse of the same edits in the same run.
//! `keystrokes PROGRAM SCRIPT EDITS` starts `PROGRAM server`, types into the script through its pipes, asks for
//! the diagnostics after every key, and prints one line of JSON.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a program of its own, at the edge: it reads and prints"
)]

use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::io::{BufReader, BufWriter};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tree_sitter::{InputEdit, Parser, Point, Tree};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is typed, key by key, and then taken back, key by key. Some of it breaks the script until it is complete.
const TYPED: [&str; 6] = [
    "loss = torch.log(x + 1)\n",
    "if loss > 0:\n    pass\n",
    "print(f(a, (b",
    "x = [1, {'a': 2",
    "optimizer.step()  # done\n",
    "'''text",
];

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, script, edits] = args.as_slice() else {
        eprintln!("usage: keystrokes PROGRAM SCRIPT EDITS");
        return ExitCode::from(2);
    };
    match edits.parse().map_err(Failure::from).and_then(|edits| measure(program, script, edits)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// One change: bytes out, text in.
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

/// What is typed at the beginnings of lines all over the script.
struct Typist {
    queue: Vec<Edit>,
    state: u64,
}

impl Typist {
    fn roll(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % below.max(1) as u64) as usize
    }

    fn next(&mut self, text: &str) -> Edit {
        if let Some(edit) = self.queue.pop() {
            return edit;
        }
        let lines: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let start = lines[self.roll(lines.len())];
        let indent = text[start..].bytes().take_while(|byte| *byte == b' ').count();
        let start = start + indent;
        let typed = TYPED[self.roll(TYPED.len())];
        let mut keys: Vec<Edit> = typed
            .bytes()
            .enumerate()
            .map(|(at, key)| Edit { start: start + at, end: start + at, text: char::from(key).to_string() })
            .collect();
        let back = (0..typed.len()).rev();
        keys.extend(back.map(|at| Edit { start: start + at, end: start + at + 1, text: String::new() }));
        keys.reverse();
        self.queue = keys;
        self.next(text)
    }
}

fn measure(program: &str, script: &str, edits: usize) -> Result<Value, Failure> {
    let mut text = std::fs::read_to_string(script)?.replace('\r', "");
    let uri = format!("file://{}", std::fs::canonicalize(script)?.display());
    let mut server = Server::start(program)?;
    let item = json!({ "uri": uri, "languageId": "python", "version": 0, "text": text });
    server.tell("textDocument/didOpen", json!({ "textDocument": item }))?;
    let (start, first) = (Instant::now(), server.pull(&uri)?);
    let opened = start.elapsed();
    let mut bare = Bare::new(&text)?;
    let mut typist = Typist { queue: Vec::new(), state: 7 };
    // What is reserved once is reserved before the first measurement.
    let warm = (edits / 10).clamp(1, 200);
    let (mut all, mut parses, mut broken, mut work) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut worked = server.work()?;
    let mut memory = Vec::new();
    for index in 0..edits {
        let edit = typist.next(&text);
        let (from, to) = (point(&text, edit.start), point(&text, edit.end));
        text.replace_range(edit.start..edit.end, &edit.text);
        let place = |point: Point| json!({ "line": point.row, "character": point.column });
        let change = json!([{ "range": { "start": place(from), "end": place(to) }, "text": edit.text }]);
        let document = json!({ "uri": uri, "version": index + 1 });
        let start = Instant::now();
        server
            .tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": change }))?;
        server.pull(&uri)?;
        let took = start.elapsed();
        // What is left of the key before, such as giving back its memory, counts here.
        let before = std::mem::replace(&mut worked, server.work()?);
        let (parsed, is_broken) = bare.edit(&edit, from, to, &text)?;
        if index >= warm {
            all.push(took);
            work.push(worked.saturating_sub(before));
            parses.push(parsed);
            if is_broken {
                broken.push(took);
            }
        }
        if index + 1 == warm || (index + 1) % (edits / 4).max(1) == 0 {
            memory.push(json!([index + 1, server.resident()?]));
        }
    }
    let last = server.pull(&uri)?;
    server.stop()?;
    Ok(json!({
        "script": script, "lines": text.lines().count(), "edits": edits, "open_ms": ms(opened),
        "findings": [first, last],
        "keystroke_ms": spread(&mut all), "cpu_ms": spread(&mut work), "broken_ms": spread(&mut broken), "bare_parse_ms": spread(&mut parses),
        "resident_kib": memory,
    }))
}

fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}

fn spread(times: &mut [Duration]) -> Value {
    times.sort_unstable();
    let at =
        |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
    let of = |share: f64| at(share).copied().map_or(0.0, ms);
    json!({ "count": times.len(), "p50": of(0.5), "p99": of(0.99), "max": of(1.0) })
}

fn point(text: &str, at: usize) -> Point {
    let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
    Point { row: text[..at].matches('\n').count(), column: at - start }
}

/// The yardstick: tree-sitter with the tree of the text before.
struct Bare {
    parser: Parser,
    tree: Tree,
}

impl Bare {
    fn new(text: &str) -> Result<Bare, Failure> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_python::LANGUAGE.into())?;
        let tree = parser.parse(text, None).ok_or("the script can't be parsed")?;
        Ok(Bare { parser, tree })
    }

    /// How long it takes, and whether the text is broken then.
    fn edit(&mut self, edit: &Edit, from: Point, to: Point, text: &str) -> Result<(Duration, bool), Failure> {
        let end = edit.start + edit.text.len();
        let input = InputEdit {
            start_byte: edit.start,
            old_end_byte: edit.end,
            new_end_byte: end,
            start_position: from,
            old_end_position: to,
            new_end_position: point(text, end),
        };
        let start = Instant::now();
        self.tree.edit(&input);
        self.tree = self.parser.parse(text, Some(&self.tree)).ok_or("the script can't be parsed")?;
        Ok((start.elapsed(), self.tree.root_node().has_error()))
    }
}

/// `trainlint server`, and the pipes to it.
struct Server {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i32,
}

impl Server {
    fn start(program: &str) -> Result<Server, Failure> {
        let mut child =
            Command::new(program).arg("server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = BufWriter::new(child.stdin.take().ok_or("no stdin")?);
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut server = Server { child, input, output, last: 0 };
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-8"] },
            "textDocument": { "diagnostic": {} },
        });
        server.ask("initialize", json!({ "capabilities": capabilities }))?;
        server.tell("initialized", json!({}))?;
        Ok(server)
    }

    fn tell(&mut self, method: &str, params: Value) -> Result<(), Failure> {
        Ok(Message::Notification(Notification { method: method.to_owned(), params })
            .write(&mut self.input)?)
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        self.last += 1;
        let id = RequestId::from(self.last);
        Message::Request(Request { id: id.clone(), method: method.to_owned(), params })
            .write(&mut self.input)?;
        loop {
            match Message::read(&mut self.output)?.ok_or("the server has ended")? {
                Message::Response(response) if response.id == id => {
                    return Ok(response.response_result.map_err(|error| error.message)?);
                }
                _ => {}
            }
        }
    }

    /// How many diagnostics there are.
    fn pull(&mut self, uri: &str) -> Result<usize, Failure> {
        let report = self.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }))?;
        Ok(report["items"].as_array().map_or(0, Vec::len))
    }

    /// Of the server, as the kernel counts it.
    fn resident(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// The CPU time of its threads; those that have ended are not among them.
    fn work(&self) -> Result<Duration, Failure> {
        let mut nanoseconds = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let times = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            nanoseconds += times.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn stop(mut self) -> Result<(), Failure> {
        self.ask("shutdown", Value::Null)?;
        self.tell("exit", Value::Null)?;
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}
