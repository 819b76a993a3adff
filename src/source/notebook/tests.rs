use super::*;
use crate::source::{Kind, Location, SourceFile};
use std::path::Path;

fn notebook(json: &str) -> SourceFile {
    let file = SourceFile::from_bytes(Path::new("a.ipynb"), json.as_bytes()).unwrap();
    assert_eq!(file.kind, Kind::Notebook);
    file
}

fn refusal(json: &str) -> ReadError {
    SourceFile::from_bytes(Path::new("a.ipynb"), json.as_bytes()).unwrap_err()
}

fn locate(file: &SourceFile, what: &str) -> Location {
    file.locate(file.text.find(what).unwrap() as u32)
}

const USUAL: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": ["# import nothing"]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "outputs": [{"source": "no"}],
   "source": [
    "%matplotlib inline\n",
    "import torch\n",
    "a = 'é'; b = 1"
   ]
  },
  {
   "source": "%%bash\nls",
   "cell_type": "code"
  },
  {
   "cell_type": "code",
   "source": "%%time\nc = 2\nd = \"\u00e9\\n😀\"; e = 3\n"
  }
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "conda-root-py"}},
 "nbformat": 4
}"##;

#[test]
fn code_cells_are_joined_and_magics_blanked() {
    let file = notebook(USUAL);
    let lines: Vec<&str> = file.text.lines().map(str::trim_end).collect();
    assert_eq!(lines, ["", "import torch", "a = 'é'; b = 1", "", "c = 2", "d = \"é\\n😀\"; e = 3"]);
}

#[test]
fn places_are_in_the_cell_and_in_the_file() {
    let file = notebook(USUAL);
    let place = |line, column, cell, file_line| Location { line, column, cell: Some(cell), file_line };
    assert_eq!(file.locate(0), place(1, 1, 2, 12));
    assert_eq!(locate(&file, "torch"), place(2, 8, 2, 13));
    assert_eq!(locate(&file, "b = 1"), place(3, 10, 2, 14));
    assert_eq!(locate(&file, "c = 2"), place(2, 1, 4, 23));
    assert_eq!(locate(&file, "e = 3"), place(3, 13, 4, 23));
    assert_eq!(file.locate(u32::MAX), place(4, 1, 4, 23));
    assert_eq!(file.line_text(file.text.find("b = 1").unwrap() as u32), "a = 'é'; b = 1");
}

/// Writes cells as Jupyter does and looks up every character of every cell.
#[test]
fn every_character_is_found_where_it_was_written() {
    let cells = [
        "import torch\nx = 1\n\n\ny = 'é😀\u{2028}'\n",
        "",
        "\n",
        "x = \"a\\nb\"\t# \u{c}\r\nz = 2\r\n\r\nw",
        "no newline",
        "for i in x:\n    y\n",
        "    indented\n    twice\n      more\n   less\n\n    z",
        "\n\tf()\n\tg('''\n\t\tx\ny''')",
        "a = 1 \\",
        "last\n\n\n",
    ];
    for as_list in [true, false] {
        for magic in ["", "%time\n", "!ls é\n"] {
            check_every_character(&cells, as_list, magic);
        }
    }
}

fn check_every_character(cells: &[&str], as_list: bool, magic: &str) {
    let mut json = String::from("{\"nbformat\": 4,\n\"cells\": [\n");
    let mut places = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let cell = format!("{}{cell}", if cell.starts_with(' ') { "" } else { magic });
        json.push_str("{\"cell_type\": \"markdown\", \"source\": [\"x\\n\",\n\"y\"]},\n");
        json.push_str("{\"cell_type\": \"code\", \"source\":\n");
        if as_list {
            json.push('[');
        }
        let mut lines = Vec::new();
        for line in cell.split_inclusive('\n') {
            lines.push((line.to_owned(), json.matches('\n').count() as u32 + 1));
            if as_list {
                json.push_str(&serde_json::to_string(line).unwrap());
                json.push_str(",\n");
            }
        }
        if as_list {
            json.truncate(json.trim_end_matches(",\n").len());
            json.push(']');
        } else {
            json.push_str(&serde_json::to_string(&cell).unwrap());
        }
        json.push_str(if index + 1 < cells.len() { "},\n" } else { "}]}\n" });
        places.push((index as u32 * 2 + 2, lines));
    }
    let file = notebook(&json);
    let mut offset = 0;
    for (cell, lines) in places {
        offset = check_cell(&file, offset, cell, &lines);
    }
    assert_eq!(offset, file.text.len());
}

/// Walks one cell; returns where the next begins in the text.
fn check_cell(file: &SourceFile, mut offset: usize, cell: u32, lines: &[(String, u32)]) -> usize {
    let first =
        lines.iter().map(|(line, _)| line.as_str()).find(|line| !line.trim().is_empty()).unwrap_or("");
    let indent = &first[..first.len() - first.trim_start_matches([' ', '\t']).len()];
    let ends = |text: &str| text.ends_with('\n');
    for (number, (line, file_line)) in lines.iter().enumerate() {
        let is_magic = line.starts_with(['%', '!']);
        let cut = if line.starts_with(indent) { indent.len() } else { 0 };
        for (column, (at, character)) in line.char_indices().enumerate().filter(|(_, (at, _))| *at >= cut) {
            let here = offset + at - cut;
            let expected = Location {
                line: number as u32 + 1,
                column: column as u32 + 1,
                cell: Some(cell),
                file_line: *file_line,
            };
            if is_magic {
                // Blanked byte by byte: the line holds.
                let found = file.locate(here as u32);
                assert_eq!(
                    (found.line, found.cell, found.file_line),
                    (expected.line, expected.cell, *file_line)
                );
            } else {
                assert!(file.text[here..].starts_with(character), "{:?} at {here}", character);
                assert_eq!(file.locate(here as u32), expected, "{character:?} of {line:?}");
            }
        }
        offset += line.len() - cut;
    }
    let last = lines.last().map_or("", |(line, _)| line);
    offset += usize::from(!ends(last));
    offset + usize::from(last.trim_end().ends_with('\\'))
}

#[test]
fn cells_cannot_run_into_each_other() {
    let file = notebook(
        r#"{"cells": [{"cell_type": "code", "source": "a = 1"}, {"cell_type": "code", "source": ["b = \\"]},
            {"cell_type": "code", "source": "c"}, {"cell_type": "raw", "source": "d"}]}"#,
    );
    assert_eq!(&*file.text, "a = 1\nb = \\\n\nc\n");
}

#[test]
fn an_indented_cell_is_no_body_of_the_one_before() {
    let file = notebook(
        r#"{"cells": [{"cell_type": "code", "source": "for i in x:\n    i"},
 {"cell_type": "code", "source": ["\n", "    a = 1\n", "    if ", "a:\n", "      b\n", "c"]}]}"#,
    );
    assert_eq!(&*file.text, "for i in x:\n    i\n\na = 1\nif a:\n  b\nc\n");
    assert_eq!(locate(&file, "b\n"), Location { line: 4, column: 7, cell: Some(2), file_line: 2 });
    assert_eq!(locate(&file, "c\n").column, 1);
}

#[test]
fn old_formats_are_read() {
    let file = notebook(
        r#"{"metadata": {"name": ""}, "nbformat": 3, "worksheets": [
  {"cells": [
    {"cell_type": "heading", "source": ["x"]},
    {"cell_type": "code", "language": "python", "input": ["a = 1\n",
      "b = 2"], "outputs": []},
    {"cell_type": "code", "language": "ruby", "input": "puts 1"}]},
  {"cells": [{"cell_type": "code", "input": "c = 3"}]}]}"#,
    );
    assert_eq!(&*file.text, "a = 1\nb = 2\nc = 3\n");
    assert_eq!(locate(&file, "b"), Location { line: 2, column: 1, cell: Some(2), file_line: 5 });
    assert_eq!(locate(&file, "c"), Location { line: 1, column: 1, cell: Some(4), file_line: 7 });
}

#[test]
fn cells_in_other_languages_are_dropped() {
    let file = notebook(
        r#"{"cells": [{"cell_type": "code", "source": "a", "metadata": {"vscode": {"languageId": "shellscript"}}},
 {"cell_type": "code", "source": "b", "metadata": {"vscode": {"languageId": "python"}}},
 {"cell_type": "code", "source": "c", "metadata": {"vscode": 3}}]}"#,
    );
    assert_eq!(&*file.text, "b\nc\n");
}

#[test]
fn other_kernels_are_refused_quietly() {
    for (metadata, language) in [
        (r#"{"language_info": {"name": "R"}}"#, "R"),
        (r#"{"kernelspec": {"language": "julia", "name": "julia-1.9"}}"#, "julia"),
        (r#"{"kernelspec": {"name": "ir"}}"#, "ir"),
        (r#"{"kernelspec": {"name": "julia-1.6"}}"#, "julia-1.6"),
    ] {
        let error = refusal(&format!(r#"{{"cells": [], "metadata": {metadata}}}"#));
        assert_eq!(error, ReadError::NotPython { language: language.to_owned() });
        assert!(error.is_quiet());
    }
    for metadata in [
        "null",
        "{}",
        "[1]",
        r#"{"language_info": {"name": "ipython"}}"#,
        r#"{"kernelspec": {"name": "pytorch-irl"}}"#,
        r#"{"kernelspec": {"name": "x", "language": "Python 3"}}"#,
    ] {
        assert_eq!(&*notebook(&format!(r#"{{"cells": [], "metadata": {metadata}}}"#)).text, "", "{metadata}");
    }
}

#[test]
fn what_is_no_notebook_is_told_apart() {
    assert_eq!(
        refusal("{\"cells\": [\n{\"cell_type\": ,\n").to_string(),
        "is not valid JSON at line 2, column 15: expected value; save the notebook again in Jupyter"
    );
    let conflict = refusal("{\n<<<<<<< HEAD\n \"cells\": []\n=======\n}");
    assert!(
        matches!(&conflict, ReadError::MalformedNotebook { line: 2, reason, .. } if reason.contains("git")),
        "{conflict}"
    );
    assert!(matches!(refusal(""), ReadError::MalformedNotebook { line: 1, .. }));
    assert!(matches!(refusal("{} x"), ReadError::MalformedNotebook { .. }));
    assert_eq!(
        refusal("{\"a\": 1}"),
        ReadError::NotANotebook { reason: "it has neither `cells` nor `worksheets`".to_owned() }
    );
    assert!(
        matches!(refusal("{\n\"cells\": 3}"), ReadError::NotANotebook { reason } if reason.contains("line 2"))
    );
    assert!(matches!(refusal("3"), ReadError::NotANotebook { .. }));
}

#[test]
fn odd_cells_are_empty() {
    let file = notebook(
        r#"{"cells": [{}, {"cell_type": "code"}, {"cell_type": "code", "source": null},
        {"cell_type": "code", "source": 3}, {"cell_type": "code", "source": ["a", 3, null, "b"]},
        {"cell_type": "code", "source": "x\u0000\ud83d\u00e9\ud83d\ude00\/\"\\\b"}]}"#,
    );
    assert_eq!(&*file.text, "\n\n\nab\nx \u{fffd}é😀/\"\\\u{8}\n");
    assert_eq!(
        notebook(r#"{"cells": []}"#).locate(5),
        Location { line: 1, column: 1, cell: None, file_line: 1 }
    );
}

#[test]
fn deep_nesting_cannot_overflow() {
    let deep = "[".repeat(1_000_000);
    let error = refusal(&format!(r#"{{"cells": [{{"cell_type": "code", "source": "a", "outputs": {deep}"#));
    assert!(matches!(error, ReadError::MalformedNotebook { .. }));
    let closed = "]".repeat(1_000_000);
    let json = format!(
        r#"{{"cells": [{{"cell_type": "code", "source": {deep}{closed}, "outputs": {deep}{closed}}}]}}"#
    );
    assert_eq!(&*notebook(&json).text, "\n");
    assert!(matches!(refusal(&deep), ReadError::NotANotebook { .. } | ReadError::MalformedNotebook { .. }));
}

#[test]
fn json_may_have_a_mark_and_other_line_ends() {
    let json = "\u{feff}{\"cells\": [\r\n{\"cell_type\": \"code\",\r\"source\": \"a\\rb\"}]}";
    let file = notebook(json);
    assert_eq!(&*file.text, "a\nb\n");
    assert_eq!(locate(&file, "b"), Location { line: 2, column: 1, cell: Some(1), file_line: 3 });
}
