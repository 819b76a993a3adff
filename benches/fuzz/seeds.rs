//! What the edits begin with: the fixtures, and what trainlint makes of them.

use std::path::{Path, PathBuf};
use trainlint::engine::{self, Request, configs::Origin};
use trainlint::replay::plan;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below `fixtures` with an ending, the short ones first.
fn fixtures(ending: &str) -> Vec<Vec<u8>> {
    let walk = ignore::WalkBuilder::new(root().join("fixtures")).standard_filters(false).build();
    let paths = walk.flatten().map(ignore::DirEntry::into_path);
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    paths.sort();
    let mut texts: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    texts.sort_by_key(Vec::len);
    texts.truncate(400);
    texts
}

/// The seeds of a target, in an order that does not depend on the machine.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "source" | "suppressions" | "edits" => fixtures("py"),
        "notebook" => fixtures("ipynb"),
        "configuration" => fixtures("toml"),
        "plan" => vec![a_plan()],
        "session" => vec![SESSION.as_bytes().to_vec()],
        "cache" => vec![a_cache()],
        _ => Vec::new(),
    }
}

/// Corpora for cargo-fuzz: a folder for each target, with a file for each seed.
pub fn write(folder: &Path) {
    for target in super::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, seed) in of(target.name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}

fn request() -> Request {
    let paths = ["exploding-loss", "softmax-before-cross-entropy", "missing-zero-grad"];
    let paths = paths.iter().map(|name| root().join("fixtures").join(name)).filter(|path| path.exists());
    Request {
        cwd: root().to_owned(),
        paths: paths.collect(),
        origin: Origin::Isolated,
        threads: 1,
        ..Request::default()
    }
}

fn a_plan() -> Vec<u8> {
    let outcome = engine::check(&request(), &engine::Silent).unwrap();
    let settings = plan::Settings {
        seed: 1,
        samples: 64,
        limits: plan::Limits::default(),
        capacity: 16 << 30,
        card: "a card".to_owned(),
    };
    plan::write(&plan::make(&outcome, &settings))
}

/// The body of a store, without the digest in front of it.
fn a_cache() -> Vec<u8> {
    let folder = std::env::temp_dir().join("trainlint-fuzz-seed");
    let _ = std::fs::remove_dir_all(&folder);
    let place = engine::cache::Place { folder: folder.clone(), is_named: true, build: "fuzz".to_owned() };
    engine::check(&Request { cache: Some(place), ..request() }, &engine::Silent).unwrap();
    std::fs::read(folder.join("findings")).unwrap_or_default().split_off(super::targets::CACHE_HEAD)
}

/// Messages of a client, one a line.
const SESSION: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a/a.py","languageId":"python","version":1,"text":"import torch\nmodel = torch.nn.Linear(2, 2)\nfor x in y:\n    model(x).sum().backward()\n"}}}
{"jsonrpc":"2.0","id":2,"method":"textDocument/diagnostic","params":{"textDocument":{"uri":"file:///a/a.py"}}}
{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a/a.py","version":2},"contentChanges":[{"range":{"start":{"line":1,"character":2},"end":{"line":2,"character":0}},"text":"é𝒳\n"}]}}
{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a/a.py"},"position":{"line":3,"character":9}}}
{"jsonrpc":"2.0","id":4,"method":"textDocument/codeAction","params":{"textDocument":{"uri":"file:///a/a.py"},"range":{"start":{"line":0,"character":0},"end":{"line":9,"character":0}},"context":{"diagnostics":[]}}}
{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4}}
{"jsonrpc":"2.0","method":"notebookDocument/didOpen","params":{"notebookDocument":{"uri":"file:///a/n.ipynb","notebookType":"jupyter-notebook","version":1,"cells":[{"kind":2,"document":"cell:1"}]},"cellTextDocuments":[{"uri":"cell:1","languageId":"python","version":1,"text":"import torch"}]}}
{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"file:///a/a.py"}}}
{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{"settings":{"trainlint":{"run":"onSave"}}}}
{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///a/a.py"}}}
"#;
