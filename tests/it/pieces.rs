//! A text that is parsed in pieces gives the tree that it gives as a whole.

use crate::findings::root;
use std::path::{Path, PathBuf};
use trainlint::syntax::{Pieces, parse, parse_again};

fn scripts(folder: &Path, out: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            scripts(&path, out);
        } else if path.extension().is_some_and(|one| one == "py") {
            out.push(path);
        }
    }
}

#[test]
fn pieces_and_wholes_are_the_same() {
    let folder = std::env::var_os("PIECES").map_or_else(|| root().join("fixtures"), PathBuf::from);
    let mut paths = Vec::new();
    scripts(&folder, &mut paths);
    assert!(paths.len() > 1);
    let mut wrong = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let (whole, pieces) = (parse(&text), parse_again(&mut Pieces::default(), &text));
        if format!("{whole:?}") != format!("{pieces:?}") {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{} {wrong:#?}", wrong.len());
}
