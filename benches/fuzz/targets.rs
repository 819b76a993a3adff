//! What is fed, and what must hold: nothing panics, and where an answer is known it is that. Shared by the program
//! beside it and by the targets of cargo-fuzz.

use super::generate;
use lsp_server::{Connection, Message, Request as Question};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trainlint::engine::{self, Request, cache::Place, config, configs::Origin};
use trainlint::report::Span;
use trainlint::source::{SourceFile, Suppressions, chunks, logical_lines};
use trainlint::{lsp, replay::plan, syntax};

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Words that it knows.
    pub words: &'static [&'static str],
}

pub const TARGETS: &[Target] = &[
    Target { name: "source", run: source, words: PYTHON },
    Target { name: "python", run: python, words: &[] },
    Target {
        name: "notebook",
        run: notebook,
        words: &["\"cells\"", "\"source\"", "\"code\"", "%%time\\n", "null", "[["],
    },
    Target {
        name: "configuration",
        run: configuration,
        words: &["[", "]]", "select = ", "\"ALL\"", "target.gpu", "'''", "extend-exclude = [\"**\"]"],
    },
    Target {
        name: "suppressions",
        run: suppressions,
        words: &[
            "# trainlint: ",
            "ignore[a]",
            "disable[a]",
            "enable[a]",
            "file-ignore[",
            "# noqa",
            "@d\n",
            ",",
        ],
    },
    Target { name: "edits", run: edits, words: PYTHON },
    Target {
        name: "plan",
        run: plan,
        words: &["null", "1e999", "-1", "[]", "{}", "\"seed\"", "\"items\"", "18446744073709551616"],
    },
    Target {
        name: "session",
        run: session,
        words: &[
            "\"id\":",
            "null",
            "\"version\":",
            "\"line\":4294967295",
            "textDocument/",
            "\"text\":\"",
            "file:///",
            "cell:1",
        ],
    },
    Target { name: "cache", run: cache, words: &["\u{7f}", "\u{0}\u{0}", "a.py"] },
];

const PYTHON: &[&str] = &[
    "def f(self, x):\n",
    "class A(A):\n",
    "for i in x:\n",
    "with x as y:\n",
    "lambda: ",
    "self.self = self\n",
    "@",
    "**",
    "\"\"\"",
    "yield ",
    "await ",
    "match x:\n case _:",
    "loss.backward()\n",
    "opt.step()\n",
    "torch.",
    "global x\n",
    "    ",
    "é𝒳",
    "async ",
];

/// A script as it comes through a pipe. A panic inside a rehearsal is caught there, so it is raised again.
fn checked(name: &str, bytes: &[u8]) {
    let request = Request {
        cwd: PathBuf::from("/nowhere"),
        stdin: Some((PathBuf::from("/nowhere").join(name), bytes.to_vec())),
        origin: Origin::Isolated,
        threads: 1,
        ..Request::default()
    };
    if let Ok(outcome) = engine::check(&request, &engine::Silent) {
        let broken = outcome.problems.iter().find(|problem| problem.message.contains("internal error"));
        assert!(broken.is_none(), "{broken:?}");
    }
}

fn source(data: &[u8]) {
    checked("a.py", data);
}

fn python(data: &[u8]) {
    checked("a.py", generate::script(data).as_bytes());
}

fn notebook(data: &[u8]) {
    checked("a.ipynb", data);
}

fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = config::parse(Path::new("/nowhere/trainlint.toml"), text);
    let _ = config::parse_pyproject(Path::new("/nowhere/pyproject.toml"), text);
}

fn suppressions(data: &[u8]) {
    let Ok(source) = SourceFile::from_bytes(Path::new("a.py"), data) else { return };
    let text = &*source.text;
    let comments = syntax::parse(text).comments;
    let mut found = Suppressions::collect(text, &comments, || logical_lines(text));
    let rules: Vec<String> = found.rules().map(|named| named.rule.to_owned()).take(8).collect();
    let before = found.unused().len();
    for rule in &rules {
        for at in (0..text.len() as u32).step_by(7) {
            found.covers(&[rule.as_str()], Span::new(at, at));
        }
    }
    let unused = found.unused();
    assert!(unused.len() <= before);
    for one in unused {
        if let Some(removal) = one.removal(text) {
            assert!(text.get(removal.range()).is_some(), "{removal:?} is no part of the text");
        }
    }
}

/// Pieces make up the text, lines and offsets lead to each other, and an edit changes what it says and no more.
fn edits(data: &[u8]) {
    let Ok(source) = SourceFile::from_bytes(Path::new("a.py"), data) else { return };
    let text = &*source.text;
    let pieces = chunks(text);
    assert!(text.is_empty() || pieces.first().is_some_and(|first| first.start == 0), "{pieces:?}");
    assert!(pieces.windows(2).all(|pair| pair[0].start < pair[1].start), "{pieces:?}");
    assert!(pieces.iter().all(|piece| text.is_char_boundary(piece.start)), "{pieces:?}");
    for at in (0..text.len()).step_by(11).filter(|at| text.is_char_boundary(*at)) {
        let line = source.line_index(at as u32);
        let range = source.line_range(line);
        assert!(range.start <= at && at <= range.end, "{at} is not in {range:?}");
    }
    let at = data.len().checked_rem(text.len().max(1)).unwrap_or(0);
    let Some(at) = (at..=text.len()).find(|at| text.is_char_boundary(*at)) else { return };
    let span = Span::new(at as u32, at as u32);
    if let Ok(patched) = source.patched(data, &[(span, "x")]) {
        let after = SourceFile::from_bytes(Path::new("a.py"), &patched).expect("a patched file can be read");
        let wanted = format!("{}x{}", &text[..at], &text[at..]);
        assert_eq!(&*after.text, wanted, "an edit at {at}");
    }
}

fn plan(data: &[u8]) {
    if let Ok(read) = plan::read(data) {
        let again = plan::read(&plan::write(&read));
        assert!(again.is_ok(), "what was read is not written so that it can be read: {:?}", again.err());
    }
}

/// Messages of a client, one a line; then the server is asked to end, and does.
fn session(data: &[u8]) {
    let (ours, theirs) = Connection::memory();
    let host = lsp::Host {
        cwd: PathBuf::from("/nowhere"),
        program: PathBuf::from("/nowhere/trainlint"),
        quick: Duration::from_secs(2),
    };
    let server =
        std::thread::Builder::new().stack_size(8 << 20).spawn(move || lsp::serve(&theirs, host).is_ok());
    let ask = |id: i32, method: &str, params| {
        let id = lsp_server::RequestId::from(id);
        ours.sender.send(Message::Request(Question { id, method: method.to_owned(), params })).is_ok()
    };
    ask(-1, "initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(message) = serde_json::from_slice::<Message>(line)
            && !matches!(&message, Message::Request(one) if one.method == "initialize")
        {
            let _ = ours.sender.send(message);
        }
    }
    ask(-2, "shutdown", json!(null));
    let exit = json!({ "jsonrpc": "2.0", "method": "exit" });
    let _ = ours.sender.send(serde_json::from_value(exit).expect("an exit is a message"));
    let long = Duration::from_secs(60);
    while let Ok(message) = ours.receiver.recv_timeout(long) {
        let text = serde_json::to_string(&message).unwrap_or_default();
        assert!(!text.contains("internal error"), "{text}");
    }
    assert!(server.expect("a thread").join().is_ok(), "the server panicked");
}

/// What stands in front of a store: what it is, of which build, and a digest.
pub const CACHE_HEAD: usize = 24;

/// A store whose digest is right, whatever it holds, in a folder that is trusted.
fn cache(data: &[u8]) {
    use xxhash_rust::xxh3::xxh3_64;
    let folder = std::env::temp_dir().join(format!("trainlint-fuzz-cache-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let head =
        [b"tlcache1".to_vec(), xxh3_64(b"fuzz").to_le_bytes().to_vec(), xxh3_64(data).to_le_bytes().to_vec()];
    std::fs::write(folder.join("findings"), [head.concat(), data.to_vec()].concat()).expect("a file");
    std::fs::write(folder.join("a.py"), "import torch\ntorch.zeros(2).backward()\n").expect("a file");
    let request = Request {
        cwd: folder.clone(),
        paths: vec![folder.join("a.py")],
        origin: Origin::Isolated,
        threads: 1,
        cache: Some(Place { folder, is_named: true, build: "fuzz".to_owned() }),
        ..Request::default()
    };
    let _ = engine::check(&request, &engine::Silent);
}
