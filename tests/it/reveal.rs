//! What the rehearsal knows of values: each `reveal(x)` of `fixtures/reveal` has what is known of `x` beside it,
//! as in `reveal(x)  # reveal: Tensor[64, 10] float32 cpu`. Several ways to a line are told in order, with `|`
//! between them. `UPDATE=1 cargo test reveal` rewrites the marks: read the diff with the question whether it is true.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trainlint::apis::Apis;
use trainlint::interp::Settings;
use trainlint::interp::reveal::revealed_calls;
use trainlint::names::Project;
use trainlint::source::SourceFile;

use crate::findings::root;

/// What is known at each line of a script that asks, from 1.
fn known(path: &Path) -> BTreeMap<usize, String> {
    let project = Project::new();
    let file = project.add(SourceFile::read(path).unwrap());
    let revealed = revealed_calls(&project, Apis::builtin(), &Settings::default(), file);
    let mut ways: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for visit in revealed.visits {
        let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for shown in visit.values {
            let line = project.source(file).line_index(shown.place.span.start) + 1;
            lines.entry(line).or_default().push(shown.value);
        }
        for (line, values) in lines {
            let known = ways.entry(line).or_default();
            let values = values.join("; ");
            if !known.contains(&values) {
                known.push(values);
            }
        }
    }
    ways.into_iter().map(|(line, ways)| (line, ways.join(" | "))).collect()
}

/// The script with what is known beside each call that asks.
fn marked(text: &str, known: &BTreeMap<usize, String>) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("  # reveal:").next().unwrap_or(line);
        out.push_str(code.trim_end());
        if code.trim_start().starts_with("reveal(") {
            out.push_str("  # reveal: ");
            out.push_str(known.get(&number).map_or("not reached", String::as_str));
        }
        out.push('\n');
    }
    out
}

fn fixtures() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("fixtures/reveal")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn what_is_known_is_what_the_marks_say() {
    let mut differences = Vec::new();
    let fixtures = fixtures();
    assert!(fixtures.len() >= 60, "there are {} fixtures", fixtures.len());
    for path in fixtures {
        let text = std::fs::read_to_string(&path).unwrap();
        let now = marked(&text, &known(&path));
        if std::env::var_os("UPDATE").is_some() && now != text {
            std::fs::write(&path, &now).unwrap();
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(now.contains("  # reveal: "), "{name} asks nothing");
        let lines = (1..).zip(text.lines().zip(now.lines()));
        let differing = lines.filter(|(_, (before, after))| before != after);
        differences.extend(differing.map(|(number, (before, after))| {
            format!("{name}:{number}\n    the mark: {}\n    is known: {}", before.trim(), after.trim())
        }));
    }
    assert!(differences.is_empty(), "{} differences:\n{}\n", differences.len(), differences.join("\n"));
}

#[test]
fn ways_and_loops_are_told_apart() {
    let known = BTreeMap::from([(2, "int 1 | int 2".to_owned())]);
    let text = "x = 1\nreveal(x)  # reveal: old\n    reveal(x)\n";
    let expected = "x = 1\nreveal(x)  # reveal: int 1 | int 2\n    reveal(x)  # reveal: not reached\n";
    assert_eq!(marked(text, &known), expected);
}
