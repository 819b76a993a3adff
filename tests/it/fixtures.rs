//! Every fixture is checked, and what is found is compared with its marks: nothing may be
//! missing, and nothing more may be found. `FIXTURE=part-of-a-path cargo test fixtures` picks some.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::findings::{Finding, findings_of, root};
use crate::marks::{Mark, marks};

/// The folders of `fixtures` that belong to no rule.
pub const SHARED: [&str; 5] = ["clean", "notebooks", "projects", "reveal", "seeds_like"];

/// What the code of one file, or one cell, is expected to show.
struct Expected {
    path: String,
    cell: Option<u32>,
    marks: Vec<Mark>,
}

/// Whether hidden findings matter where no mark speaks of them.
#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    Allowed,
    Refused,
}

/// The folders right under a folder of the project, by name, in order.
pub fn folders(under: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(under)).unwrap();
    let mut names: Vec<String> = entries
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
    out.sort();
}

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    source: Vec<String>,
}

/// The marks of all scripts and notebooks of a folder.
fn expected_in(folder: &Path) -> Vec<Expected> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    let mut out = Vec::new();
    for path in paths {
        let text = || std::fs::read_to_string(root().join(&path)).unwrap();
        let name = path.to_string_lossy().replace('\\', "/");
        let parsed = |text: &str| marks(text).unwrap_or_else(|why| panic!("{name}: {why}"));
        match path.extension().and_then(|one| one.to_str()) {
            Some("py") => out.push(Expected { marks: parsed(&text()), path: name, cell: None }),
            Some("ipynb") => {
                let notebook: Notebook = serde_json::from_str(&text()).unwrap();
                let code = (1..).zip(notebook.cells).filter(|(_, cell)| cell.cell_type == "code");
                out.extend(code.map(|(number, cell)| Expected {
                    marks: parsed(&cell.source.concat()),
                    path: name.clone(),
                    cell: Some(number),
                }));
            }
            _ => {}
        }
    }
    out
}

type Key = (String, Option<u32>, u32, String);

fn place((path, cell, line, rule): &Key) -> String {
    match cell {
        Some(cell) => format!("{path}, cell {cell}, line {line}: {rule}"),
        None => format!("{path}:{line}: {rule}"),
    }
}

/// All that differs between what is expected and what was found, a line each.
fn differences(expected: &[Expected], findings: &[Finding], hidden: Hidden) -> Vec<String> {
    let mut found: BTreeMap<Key, Vec<&Finding>> = BTreeMap::new();
    for one in findings {
        found.entry((one.path.clone(), one.cell, one.line, one.rule.clone())).or_default().push(one);
    }
    let mut out = Vec::new();
    for file in expected {
        for mark in &file.marks {
            let key = (file.path.clone(), file.cell, mark.line, mark.rule.clone());
            match found.remove(&key) {
                Some(findings) => out.extend(disagreements(mark, &findings, &place(&key))),
                None => out.push(format!("{} is expected and was not found", place(&key))),
            }
        }
    }
    for (key, findings) in found {
        for one in findings.into_iter().filter(|one| !tolerated(one, expected, hidden)) {
            let doubt = format!("{}, {} confidence", one.severity, one.confidence);
            out.push(format!("{} was found and is not expected: {} ({doubt})", place(&key), one.message));
        }
    }
    out
}

/// Hidden findings are nobody's business, unless the file has marks about hidden ones of this rule.
fn tolerated(finding: &Finding, expected: &[Expected], hidden: Hidden) -> bool {
    let marked = |file: &&Expected| file.path == finding.path;
    let spoken_of = expected
        .iter()
        .filter(marked)
        .flat_map(|file| &file.marks)
        .any(|mark| mark.hidden && mark.rule == finding.rule);
    finding.hidden() && hidden == Hidden::Allowed && !spoken_of
}

/// Where the findings at a mark's place are not what the mark says.
fn disagreements(mark: &Mark, findings: &[&Finding], place: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut seen = Vec::new();
    for one in findings {
        let span = (one.line, one.column, one.end_line, one.end_column);
        if seen.contains(&span) {
            out.push(format!("{place} is reported twice"));
        }
        seen.push(span);
    }
    if findings.iter().all(|one| one.hidden() != mark.hidden) {
        let is = if mark.hidden { "shown without" } else { "hidden without" };
        out.push(format!(
            "{place} is {is} `--pedantic`: {}, {}",
            findings[0].severity, findings[0].confidence
        ));
    }
    if let Some((start, end)) = mark.columns
        && !findings.iter().any(|one| (one.column, one.end_column, one.end_line) == (start, end, one.line))
    {
        let one = findings[0];
        let is = format!("{}..{} to line {}", one.column, one.end_column, one.end_line);
        out.push(format!("{place} is expected at columns {start}..{end} and was found at {is}"));
    }
    if !findings.iter().any(|one| one.message.contains(&mark.message)) {
        out.push(format!("{place} is expected to say `{}` and says `{}`", mark.message, findings[0].message));
    }
    out
}

fn wanted(folder: &Path) -> bool {
    std::env::var("FIXTURE").map_or(true, |part| folder.to_string_lossy().contains(&part))
}

fn check(folders: Vec<PathBuf>, hidden: Hidden) {
    let mut out = Vec::new();
    for folder in folders.iter().filter(|folder| wanted(folder)) {
        out.extend(differences(&expected_in(folder), &findings_of(folder), hidden));
    }
    assert!(out.is_empty(), "{} differences:\n  {}\n", out.len(), out.join("\n  "));
}

/// The fixture folders of rules, relative to the root.
pub fn of_rules() -> Vec<PathBuf> {
    let names = folders("fixtures").into_iter().filter(|name| !SHARED.contains(&name.as_str()));
    names.map(|name| Path::new("fixtures").join(name)).collect()
}

#[test]
fn rules_fire_where_marked_and_nowhere_else() {
    check(of_rules(), Hidden::Allowed);
}

#[test]
fn common_questions_get_what_they_deserve() {
    check(vec!["fixtures/seeds_like".into()], Hidden::Allowed);
}

#[test]
fn projects_are_followed_across_their_files() {
    let names = folders("fixtures/projects").into_iter();
    check(names.map(|name| Path::new("fixtures/projects").join(name)).collect(), Hidden::Allowed);
}

#[test]
fn notebooks_are_read_cell_by_cell() {
    check(vec!["fixtures/notebooks".into()], Hidden::Allowed);
}

#[test]
fn sound_scripts_stay_silent_even_when_pedantic() {
    check(vec!["fixtures/clean".into()], Hidden::Refused);
}

#[test]
fn names_of_fixtures_say_what_they_show() {
    for folder in of_rules() {
        let rule = folder.file_name().unwrap().to_string_lossy().into_owned();
        let expected = expected_in(&folder);
        for file in &expected {
            let shown: Vec<_> = file.marks.iter().filter(|mark| !mark.hidden).collect();
            let name = file.path.rsplit('/').next().unwrap_or_default();
            match (name.starts_with("bad_"), name.starts_with("ok_")) {
                (true, _) => {
                    // Notes are hidden by default.
                    assert!(file.marks.iter().any(|mark| mark.rule == rule), "{} shows no {rule}", file.path);
                }
                (_, true) => assert!(shown.is_empty(), "{} is to be silent and has marks", file.path),
                _ => panic!("{} is neither bad_ nor ok_", file.path),
            }
        }
        let count = |kind: &str| expected.iter().filter(|file| file.path.contains(kind)).count();
        assert!(count("/bad_") >= 2 && count("/ok_") >= 2, "{rule} has too few fixtures");
    }
}

#[test]
fn shared_fixtures_have_readable_marks() {
    for folder in SHARED {
        let expected = expected_in(&Path::new("fixtures").join(folder));
        assert!(!expected.is_empty(), "fixtures/{folder} is empty");
        let marked = expected.iter().any(|file| !file.marks.is_empty());
        assert_eq!(marked, !["clean", "reveal"].contains(&folder), "fixtures/{folder}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u32, rule: &str, severity: &str) -> Finding {
        Finding {
            rule: rule.to_owned(),
            path: "a.py".to_owned(),
            cell: None,
            line,
            column: 5,
            end_line: line,
            end_column: 9,
            severity: severity.to_owned(),
            confidence: "high".to_owned(),
            message: "gradients are never cleared".to_owned(),
            help: None,
            related: Vec::new(),
            notes: Vec::new(),
            fix: None,
        }
    }

    fn compare(text: &str, findings: &[Finding], hidden: Hidden) -> Vec<String> {
        let expected = [Expected { path: "a.py".to_owned(), cell: None, marks: marks(text).unwrap() }];
        differences(&expected, findings, hidden)
    }

    const MARKED: &str = "    step()\n    # ^^ some-rule: never cleared\n    more()  # expect: some-rule\n";

    #[test]
    fn agreement_is_no_difference() {
        let text = "    step()\n#   ^^^^ some-rule: never cleared\n    more()  # expect: some-rule\n";
        let found = [finding(1, "some-rule", "error"), finding(3, "some-rule", "warning")];
        assert!(compare(text, &found, Hidden::Refused).is_empty());
    }

    #[test]
    fn the_missing_and_the_unexpected_are_both_told() {
        let out = compare(MARKED, &[finding(1, "other-rule", "error")], Hidden::Allowed);
        assert_eq!(out.len(), 3, "{out:?}");
        assert!(out[0].starts_with("a.py:1: some-rule is expected"));
        assert!(out[2].starts_with("a.py:1: other-rule was found"));
    }

    #[test]
    fn columns_messages_and_doubles_are_compared() {
        let mut other = finding(1, "some-rule", "error");
        other.message = "something else".to_owned();
        let out = compare(MARKED, &[other.clone(), other, finding(3, "some-rule", "error")], Hidden::Allowed);
        assert_eq!(out.len(), 3, "{out:?}");
        assert!(out[0].contains("twice") && out[1].contains("columns 7..9") && out[2].contains("to say"));
    }

    #[test]
    fn hidden_findings_count_where_they_are_spoken_of() {
        let note = [finding(1, "some-rule", "note")];
        assert!(compare("a()\n", &note, Hidden::Allowed).is_empty());
        assert_eq!(compare("a()\n", &note, Hidden::Refused).len(), 1);
        assert!(compare("a()  # expect-pedantic: some-rule\n", &note, Hidden::Refused).is_empty());
        assert_eq!(compare("a()  # expect: some-rule\n", &note, Hidden::Allowed).len(), 1);
        let elsewhere = "a()\nb()  # expect-pedantic: some-rule\n";
        assert_eq!(compare(elsewhere, &note, Hidden::Allowed).len(), 2);
    }
}
