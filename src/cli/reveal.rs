//! `trainlint reveal FILE:LINE`: what is known of the values of a line.

use super::CLEAN;
use super::args::{CheckArgs, ListFormat, RevealArgs};
use super::check;
use super::output::Output;
use crate::engine::reveal::{Question, reveal};
use crate::render;
use std::path::PathBuf;

pub(crate) fn run(args: &RevealArgs, output: &Output) -> anyhow::Result<u8> {
    let paths = vec![args.place.path.clone()];
    let request = check::request(&CheckArgs { paths, target: args.target.clone(), ..CheckArgs::default() })?;
    let answer = reveal(&request, &args.place, args.from.as_deref())?;
    let text = match args.output_format {
        ListFormat::Json => render::reveal_json(&answer),
        ListFormat::Text => render::reveal(&answer).into_bytes(),
    };
    output.out(&text)?;
    Ok(CLEAN)
}

/// `train.py:12`, and of a notebook the cell before the line: `train.ipynb:3:12`.
pub(crate) fn question(text: &str) -> Result<Question, String> {
    let teach = || format!("`{text}` is not a line; write `FILE:LINE`, e.g. `train.py:12`");
    let (rest, line) = text.rsplit_once(':').ok_or_else(teach)?;
    let line: u32 = line.parse().map_err(|_| teach())?;
    // A drive of Windows is no file.
    let cell = rest.rsplit_once(':').and_then(|(path, cell)| Some((path, cell.parse::<u32>().ok()?)));
    match cell {
        Some((path, cell)) => Ok(Question { path: PathBuf::from(path), cell: Some(cell), line }),
        None => Ok(Question { path: PathBuf::from(rest), cell: None, line }),
    }
}

#[test]
fn lines_are_named_as_tools_name_them() {
    let asked = |text: &str| question(text).map(|one| (one.path.display().to_string(), one.cell, one.line));
    assert_eq!(asked("a/train.py:12"), Ok(("a/train.py".to_owned(), None, 12)));
    assert_eq!(asked("a.ipynb:3:12"), Ok(("a.ipynb".to_owned(), Some(3), 12)));
    assert_eq!(asked("C:\\a.py:7"), Ok(("C:\\a.py".to_owned(), None, 7)));
    assert!(asked("train.py").is_err_and(|why| why.contains("FILE:LINE")));
    assert!(asked("train.py:x").is_err());
}
