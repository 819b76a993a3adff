//! The shapes that the tables compute, held against those that PyTorch gives (`scripts/shape_golden.py` writes them):
//! what is known has to be right, what fails may be reported, and nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use trainlint::apis::Apis;
use trainlint::interp::Settings;
use trainlint::interp::reveal::revealed_calls;
use trainlint::names::Project;
use trainlint::source::SourceFile;

use crate::findings::{findings_of, root};
use crate::harness::Project as Folder;

/// So many calls make a script.
const A_SCRIPT: usize = 200;
const HEAD: &str = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n";
/// Lines before the first call, and of each call.
const BEFORE: usize = 4;
const LINES: usize = 2;

struct Call {
    call: String,
    /// `None` where the framework raises an error.
    shapes: Option<String>,
}

fn calls() -> Vec<Call> {
    let text = std::fs::read_to_string(root().join("tests/shapes/torch.tsv")).unwrap();
    let call = |line: &str| {
        let (call, given) = line.split_once('\t').unwrap();
        let shapes = (!given.starts_with('!')).then(|| given.to_owned());
        Call { call: call.to_owned(), shapes }
    };
    text.lines().map(call).collect()
}

fn script(calls: &[Call]) -> String {
    let mut text = HEAD.to_owned();
    for call in calls {
        writeln!(text, "value = {}\nreveal(value)", call.call).unwrap();
    }
    text
}

/// The shapes in what is revealed, as the golden file has them; `?` where one is not known.
fn known_shapes(revealed: &str) -> Vec<String> {
    let mut shapes = Vec::new();
    for part in revealed.split("Tensor").skip(1) {
        let shape = part.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let shape = shape.filter(|(sizes, _)| !sizes.contains(".."));
        shapes.push(shape.map_or("?".to_owned(), |(sizes, _)| format!("[{}]", sizes.replace(' ', ""))));
    }
    shapes
}

/// What is known of each call of a script.
fn revealed(text: &str) -> Vec<String> {
    let project = Project::new();
    let file = project.add(SourceFile::from_text(Path::new("shapes.py"), text).unwrap());
    let seen = revealed_calls(&project, Apis::builtin(), &Settings::default(), file);
    let mut known = vec![String::new(); (text.lines().count() - BEFORE) / LINES];
    for shown in seen.visits.into_iter().flat_map(|visit| visit.values) {
        let line = project.source(file).line_index(shown.place.span.start);
        known[(line - BEFORE) / LINES] = shown.value;
    }
    known
}

#[test]
fn shapes_are_those_of_the_framework() {
    let calls = calls();
    let (mut wrong, mut exact, mut right) = (Vec::new(), 0, 0);
    for calls in calls.chunks(A_SCRIPT) {
        for (call, revealed) in calls.iter().zip(revealed(&script(calls))) {
            let Some(shapes) = &call.shapes else { continue };
            right += 1;
            let known = known_shapes(&revealed);
            let mut wanted: Vec<&str> = shapes.split_whitespace().collect();
            if revealed.contains(" more)") {
                // Of many items the first are written.
                wanted.truncate(known.len());
            }
            let fits = |(known, wanted): (&String, &&str)| is_of(known, wanted);
            if known.len() == wanted.len() && known.iter().zip(&wanted).all(fits) {
                exact += usize::from(known.iter().zip(&wanted).all(|(known, wanted)| known == wanted));
            } else if !known.is_empty() && !known.iter().all(|shape| shape == "?") {
                wrong.push(format!("{}\n    gives {shapes}, known is {revealed}", call.call));
            }
        }
    }
    println!("{exact} of {right} shapes are known");
    assert!(wrong.is_empty(), "{} of {right} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(exact * 100 >= right * 88, "{exact} of {right} shapes are known");
}

/// Whether a shape is one that is known in part.
fn is_of(known: &str, wanted: &str) -> bool {
    let sizes = |shape: &str| -> Vec<String> {
        shape.trim_matches(['[', ']']).split(',').map(str::to_owned).collect()
    };
    let (known_sizes, wanted_sizes) = (sizes(known), sizes(wanted));
    known == "?"
        || (known_sizes.len() == wanted_sizes.len()
            && known_sizes.iter().zip(&wanted_sizes).all(|(known, wanted)| known == "?" || known == wanted))
}

#[test]
fn only_what_fails_is_reported() {
    let calls = calls();
    let mut folder = Folder::new();
    for (nth, calls) in calls.chunks(A_SCRIPT).enumerate() {
        folder = folder.file(&format!("calls{nth:02}.py"), script(calls));
    }
    let mut found = BTreeSet::new();
    for finding in findings_of(folder.root()) {
        if finding.rule == "shape-mismatch" {
            let name = Path::new(&finding.path).file_stem().unwrap().to_string_lossy().into_owned();
            let nth: usize = name.trim_start_matches("calls").parse().unwrap();
            found.insert(nth * A_SCRIPT + (finding.line as usize - 1 - BEFORE) / LINES);
        }
    }
    let is_right = |at: &&usize| calls[**at].shapes.is_some();
    let wrong: Vec<&str> = found.iter().filter(is_right).map(|at| calls[*at].call.as_str()).collect();
    assert!(wrong.is_empty(), "{} calls are right, and reported:\n{}", wrong.len(), wrong.join("\n"));
    let failing: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].shapes.is_none()).collect();
    let missed: Vec<&str> =
        failing.iter().filter(|at| !found.contains(at)).map(|at| calls[*at].call.as_str()).collect();
    println!("{} of {} are not reported:\n{}", missed.len(), failing.len(), missed.join("\n"));
    assert!(missed.len() * 100 <= failing.len() * 25, "{} of {}", missed.len(), failing.len());
}
