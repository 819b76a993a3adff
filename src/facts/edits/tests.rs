use super::*;
use crate::names::Project;
use crate::source::SourceFile;
use std::path::Path;

/// What becomes of a text by edits of the place of a word in it.
fn edited(text: &str, word: &str, edit: impl Fn(Draft, Span) -> Option<Vec<Edit>>) -> Option<String> {
    let project = Project::new();
    let id = project.add(SourceFile::from_bytes(Path::new("a.py"), text.as_bytes()).unwrap());
    let draft = Draft { module: project.module(id) };
    let at = text.find(word).unwrap() as u32;
    let mut edits = edit(draft, Span::new(at, at + word.len() as u32))?;
    edits.sort_by_key(|edit| edit.place.span);
    let mut out = text.to_owned();
    for edit in edits.iter().rev() {
        out.replace_range(edit.place.span.range(), &edit.text);
    }
    Some(out)
}

#[test]
fn arguments_come_and_go_with_their_commas() {
    let add = |text: &str, call: &str| {
        edited(text, call, |draft, span| Some(vec![draft.add_argument(draft.call_at(span)?, "k=1")?]))
    };
    assert_eq!(add("f()", "f()").as_deref(), Some("f(k=1)"));
    assert_eq!(add("f(a)", "f(a)").as_deref(), Some("f(a, k=1)"));
    assert_eq!(add("f(a,)", "f(a,)").as_deref(), Some("f(a, k=1,)"));
    let lines = "f(\n    a,\n    b,\n)";
    assert_eq!(add(lines, lines).as_deref(), Some("f(\n    a,\n    b,\n    k=1,\n)"));
    assert_eq!(add("f(**a)", "f(**a)"), None);
    let drop = |text: &str, name: &str| {
        edited(text, text, |draft, span| {
            let call = draft.call_at(span)?;
            Some(vec![draft.remove_argument(call, draft.keyword(call, name)?)?])
        })
    };
    assert_eq!(drop("f(a, b=1, c=2)", "b").as_deref(), Some("f(a, c=2)"));
    assert_eq!(drop("f(b=1, c=2)", "b").as_deref(), Some("f(c=2)"));
    assert_eq!(drop("f(b=1)", "b").as_deref(), Some("f()"));
    assert_eq!(drop("f(a,  # why\n  b=1)", "b"), None);
}

#[test]
fn what_is_added_to_an_expression_binds_to_all_of_it() {
    let detached = |text: &str, word: &str| edited(text, word, |draft, span| draft.append(span, ".d()"));
    assert_eq!(detached("x = a", "a").as_deref(), Some("x = a.d()"));
    assert_eq!(detached("x = a * b", "a * b").as_deref(), Some("x = (a * b).d()"));
    assert_eq!(detached("x = (a * b)", "a * b").as_deref(), Some("x = (a * b).d()"));
    assert_eq!(detached("f(a * b)", "a * b").as_deref(), Some("f((a * b).d())"));
}

#[test]
fn statements_that_share_their_lines_are_left_alone() {
    let before = |text: &str| {
        edited(text, "g()", |draft, span| Some(vec![draft.insert_before(draft.line_at(span)?, "h()")]))
    };
    assert_eq!(before("if a:\n    g()  # why\n").as_deref(), Some("if a:\n    h()\n    g()  # why\n"));
    for text in ["if a: g()\n", "f(); g()\n", "g(); f()\n", "\\\ng()\n"] {
        assert_eq!(before(text), None, "{text}");
    }
    let remove =
        |text: &str| edited(text, "g()", |draft, span| Some(vec![draft.remove(draft.line_at(span)?)?]));
    assert_eq!(remove("f()\ng()").as_deref(), Some("f()"));
    assert_eq!(remove("g()\nf()\n").as_deref(), Some("f()\n"));
    assert_eq!(remove("if a:\n    g()\n"), None);
}

#[test]
fn blocks_move_and_strings_in_them_do_not() {
    let under = |text: &str| {
        edited(text, "for", |draft, span| {
            let line = draft.line_at(span)?;
            Some(vec![draft.put_under("with w:", line, line)?])
        })
    };
    let text = "def f():\n  for a in b:\n    s = '''x\n y'''\n\n    # done\n    g(s)\n";
    let moved = "def f():\n  with w:\n    for a in b:\n      s = '''x\n y'''\n\n      # done\n      g(s)\n";
    assert_eq!(under(text).as_deref(), Some(moved));
    assert_eq!(
        under("\tfor a in b:\n\t\tg()\n".trim_start()).as_deref(),
        Some("with w:\n\t\tfor a in b:\n\t\t\t\tg()\n")
    );
}

#[test]
fn names_are_said_as_the_file_says_them() {
    let said = |text: &str, path: &str| {
        edited(text, "x", |draft, span| {
            let (said, mut edits) = draft.say(path)?;
            edits.push(draft.replace(span, said));
            Some(edits)
        })
    };
    assert_eq!(
        said("import torch.nn as nn\nx", "torch.nn.L").as_deref(),
        Some("import torch.nn as nn\nnn.L")
    );
    assert_eq!(
        said("from torch import nn\nx", "torch.n").as_deref(),
        Some("from torch import nn\nimport torch\ntorch.n")
    );
    assert_eq!(said("from torch import nn\ntorch = 1\nx", "torch.n"), None);
}
