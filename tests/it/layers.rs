//! A module uses only those before it. The order is an invariant of `docs/architecture.md`.

use std::path::{Path, PathBuf};

use crate::findings::root;

const ORDER: [&str; 15] = [
    "report", "source", "syntax", "names", "apis", "values", "trace", "interp", "facts", "checks", "engine",
    "render", "replay", "lsp", "cli",
];

pub(crate) fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|one| one == "rs") {
            out.push(path);
        }
    }
}

/// The modules that a text names as `crate::module`, comments left aside.
fn used(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut out = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => out.extend(heads(group)),
            None => out.push(word(rest)),
        }
    }
    out.retain(|name| ORDER.contains(&name.as_str()));
    out
}

/// The first words of the members of `use crate::{a::b, c}`, nested groups left aside.
fn heads(group: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut depth, mut fresh) = (0_u32, true);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            _ if fresh && letter.is_alphanumeric() => {
                out.push(word(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    out
}

fn word(text: &str) -> String {
    text.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect()
}

#[test]
fn modules_use_only_those_before_them() {
    let rank = |name: &str| ORDER.iter().position(|one| *one == name);
    let mut wrong = Vec::new();
    for (own, module) in ORDER.iter().enumerate() {
        let mut paths = Vec::new();
        let folder = root().join("src").join(module);
        if folder.is_dir() {
            rust_files(&folder, &mut paths);
        }
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let later = used(&text).into_iter().filter(|name| rank(name) > Some(own));
            let path = path.strip_prefix(root()).unwrap().display().to_string();
            wrong.extend(later.map(|name| format!("{path} uses {name}")));
        }
    }
    assert!(wrong.is_empty(), "against the order {}:\n{}", ORDER.join(", "), wrong.join("\n"));
}

/// C libraries of NVIDIA are called here, and nowhere else.
const UNSAFE: [&str; 3] =
    ["src/replay/cuda/driver.rs", "src/replay/cuda/nvrtc.rs", "src/replay/cuda/probe.rs"];

#[test]
fn only_what_calls_a_driver_is_unsafe() {
    let mut paths = Vec::new();
    rust_files(&root().join("src"), &mut paths);
    let allows = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("allow(unsafe_code");
    let mut found: Vec<String> = paths
        .iter()
        .filter(|path| allows(path))
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string().replace('\\', "/"))
        .collect();
    found.sort();
    assert_eq!(found, UNSAFE);
}

#[test]
fn every_module_has_its_place_in_the_order() {
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(root().join("src")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
        if name != "lib" && name != "main" {
            modules.push(name);
        }
    }
    let homeless: Vec<_> = modules.iter().filter(|name| !ORDER.contains(&name.as_str())).collect();
    assert!(homeless.is_empty(), "{homeless:?}");
}

#[test]
fn uses_are_read_from_paths_and_groups() {
    let text = "use crate::report::Span;\n// crate::cli is not meant\nuse crate::{names, values::{Value, Range}, source::Text};\nfn f() { crate::facts::ask() }\n";
    assert_eq!(used(text), ["report", "names", "values", "source", "facts"]);
}
