//! What a picture of the modules cannot show: the core names no rule, a room of `checks` names no other room, and how
//! far the interpreter's files call each other in circles. Every ceiling here may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::findings::root;
use crate::layers::rust_files;

/// Fields of the interpreter. One that a single rule asks for belongs into what its checker remembers.
const MOST_FIELDS: usize = 23;

/// Files of the interpreter that reach each other by calls of methods.
const LARGEST_CIRCLE: usize = 47;

/// Lines of a file.
const MOST_LINES: usize = 500;

/// Files that are longer, and how long they may be.
const LONGER: [(&str, usize); 1] = [("src/syntax/faults/statements.rs", 678)];

/// Who asks another room, and which: two rules are about what a scaler does to an optimizer, and a layer that a forward
/// makes is one mistake, of which the room of the modules speaks and that of the optimizers does not.
const ASKS_ANOTHER_ROOM: [(&str, &str); 3] = [
    ("src/checks/compiled/raw_backward.rs", "scaler"),
    ("src/checks/optimizer/frozen_in_optimizer.rs", "modules"),
    ("src/checks/optimizer/misplaced_clipping.rs", "scaler"),
];

/// The Rust files below a folder of the repository by their paths, comments and unit tests left out.
fn code_of(folder: &str) -> BTreeMap<String, String> {
    let mut paths = Vec::new();
    rust_files(&root().join(folder), &mut paths);
    paths.iter().map(|path| (name_of(path), code(path))).collect()
}

fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string().replace('\\', "/")
}

fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn the_core_names_no_rule() {
    let rules: Vec<&str> = trainlint::checks::all().iter().map(|rule| rule.id).collect();
    let mut wrong = Vec::new();
    for (file, code) in code_of("src/interp").into_iter().chain(code_of("src/values")) {
        let named = rules.iter().filter(|id| code.contains(&format!("\"{id}\"")));
        wrong.extend(named.map(|id| format!("{file} names {id}")));
        if code.contains("crate::checks") {
            wrong.push(format!("{file} names a checker"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_room_names_no_other_room() {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("src/checks")).unwrap().map(Result::unwrap) {
        let own = entry.file_name().to_string_lossy().into_owned();
        if !entry.path().is_dir() {
            continue;
        }
        for (file, code) in code_of(&format!("src/checks/{own}")) {
            let named = code.split("crate::checks::").skip(1).map(word);
            let rooms = named.filter(|name| *name != own && root().join("src/checks").join(name).is_dir());
            found.extend(rooms.filter(|name| !name.is_empty()).map(|name| (file.clone(), name.to_owned())));
        }
    }
    let known: BTreeSet<_> =
        ASKS_ANOTHER_ROOM.map(|(file, room)| (file.to_owned(), room.to_owned())).into_iter().collect();
    assert_eq!(found, known);
}

#[test]
fn the_interpreter_has_no_more_fields_than_it_had() {
    let code = code(&root().join("src/interp/mod.rs"));
    let fields =
        code.split("pub struct Interp<'p> {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let number = fields.lines().filter(|line| line.contains(": ")).count();
    assert!((20..=MOST_FIELDS).contains(&number), "{number} fields, at most {MOST_FIELDS}");
}

/// The methods that a file declares: functions that take `self` first.
fn methods(code: &str) -> impl Iterator<Item = &str> {
    code.split("fn ").skip(1).filter_map(|rest| {
        let receiver = rest.split_once('(')?.1.trim_start();
        let receiver = receiver.trim_start_matches('&').trim_start_matches("mut ");
        (word(receiver) == "self").then(|| word(rest))
    })
}

/// The methods that a file calls on the interpreter, under the names that it goes by.
fn called(code: &str) -> impl Iterator<Item = &str> {
    ["self.", "interp.", "cx."].into_iter().flat_map(move |receiver| {
        code.split(receiver).skip(1).map(|rest| (word(rest), rest)).filter_map(|(name, rest)| {
            let after = &rest[name.len()..];
            (after.starts_with('(') || after.starts_with("::<")).then_some(name)
        })
    })
}

/// Which files of the interpreter call methods of which others. A name that several declare tells nothing.
fn calls() -> BTreeMap<String, BTreeSet<String>> {
    let files = code_of("src/interp");
    let mut homes: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
    for (file, code) in &files {
        methods(code).for_each(|name| {
            homes.entry(name).or_default().insert(file);
        });
    }
    let home = |name: &str| homes.get(name).filter(|all| all.len() == 1).and_then(|all| all.first().copied());
    let of = |(file, code): (&String, &String)| {
        (file.clone(), called(code).filter_map(home).filter(|other| *other != file).cloned().collect())
    };
    files.iter().map(of).collect()
}

/// All that is reached from a file.
fn reached(calls: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(file) = open.pop() {
        open.extend(calls[&file].iter().filter(|next| seen.insert((*next).clone())).cloned());
    }
    seen
}

#[test]
fn the_circle_of_the_interpreter_grows_no_more() {
    let calls = calls();
    let reached: BTreeMap<_, _> = calls.keys().map(|file| (file.clone(), reached(&calls, file))).collect();
    let circle = |file: &String| reached[file].iter().filter(|other| reached[*other].contains(file)).count();
    let largest = calls.keys().map(circle).max().unwrap();
    assert!(largest > 1, "calls are not found any more");
    assert!(
        largest <= LARGEST_CIRCLE,
        "{largest} files call each other in a circle, at most {LARGEST_CIRCLE}"
    );
}

#[test]
fn files_are_short() {
    let mut wrong = Vec::new();
    let mut paths = Vec::new();
    rust_files(&root().join("src"), &mut paths);
    for path in paths {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        let name = name_of(&path);
        let most = LONGER.iter().find(|(longer, _)| *longer == name).map_or(MOST_LINES, |(_, most)| *most);
        if lines > most {
            wrong.push(format!("{name} has {lines} lines, at most {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
