//! Texts that are opened, edited, closed: what is said of them is what `check` says.

use super::talk::{Client, FAULTY, pulling, pushed, rules};
use crate::harness::{Project, Ran};
use serde_json::{Value, json};

const CLEAN: &str = "    optimizer.zero_grad()\n    loss.backward()\n";

/// What the command line says of a file, as the client would show it.
pub fn checked(project: &Project, path: &str) -> Vec<(String, u64, u64, u64, u64)> {
    let ran: Ran = project.run(&["check", "--no-cache", "--output-format", "json", path]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let number = |finding: &Value, key: &str| finding[key].as_u64().unwrap() - 1;
    let one = |finding: &Value| {
        let place = (number(finding, "line"), number(finding, "column"));
        let end = (number(finding, "end_line"), number(finding, "end_column"));
        (finding["rule"].as_str().unwrap().to_owned(), place.0, place.1, end.0, end.1)
    };
    report["findings"].as_array().unwrap().iter().map(one).collect()
}

pub fn shown(diagnostics: &[Value]) -> Vec<(String, u64, u64, u64, u64)> {
    let number = |place: &Value, key: &str| place[key].as_u64().unwrap();
    let one = |diagnostic: &Value| {
        let (start, end) = (&diagnostic["range"]["start"], &diagnostic["range"]["end"]);
        let rule = diagnostic["code"].as_str().unwrap().to_owned();
        (
            rule,
            number(start, "line"),
            number(start, "character"),
            number(end, "line"),
            number(end, "character"),
        )
    };
    diagnostics.iter().map(one).collect()
}

#[test]
fn a_finding_comes_and_goes_with_the_text() {
    let mut client = Client::new(Project::new().file("train.py", FAULTY), pulling());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let found = client.pull(&uri);
    assert_eq!(rules(&found), ["missing-zero-grad"]);
    assert_eq!(shown(&found), checked(&client.project, "train.py"));
    let one = &found[0];
    assert_eq!((&one["source"], &one["severity"]), (&json!("trainlint"), &json!(1)));
    // A link leads to the page of the rule, or there is none.
    let link = one["codeDescription"]["href"].as_str();
    assert!(link.is_none_or(|link| link.ends_with("/rules/missing-zero-grad.md")), "{one}");
    assert_eq!(one["relatedInformation"][0]["location"]["uri"], uri);

    let line = json!({ "line": 10, "character": 0 });
    client.change(
        &uri,
        2,
        json!([{ "range": { "start": line, "end": line }, "text": "    optimizer.zero_grad()\n" }]),
    );
    assert_eq!(client.pull(&uri), Vec::<Value>::new());
    let end = json!({ "line": 11, "character": 0 });
    client.change(&uri, 3, json!([{ "range": { "start": line, "end": end }, "text": "" }]));
    assert_eq!(client.pull(&uri), found);
    assert!(!client.has_seen("textDocument/publishDiagnostics"));
    assert!(client.leave());
}

#[test]
fn a_client_that_does_not_ask_is_told() {
    let mut client = Client::new(Project::new().file("train.py", FAULTY), pushed());
    assert_eq!(client.abilities["diagnosticProvider"], Value::Null);
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let found = client.published(&uri, 1);
    assert_eq!(shown(&found), checked(&client.project, "train.py"));
    // What it can't show by itself is in the text.
    assert!(found[0]["message"].as_str().unwrap().contains("\nline "), "{found:?}");
    assert_eq!(found[0]["relatedInformation"], Value::Null);
    client.replace(&uri, 2, &FAULTY.replace("    loss.backward()\n", CLEAN));
    assert_eq!(client.published(&uri, 2), Vec::<Value>::new());
    client.replace(&uri, 3, FAULTY);
    assert_eq!(rules(&client.published(&uri, 3)), ["missing-zero-grad"]);
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(client.told("textDocument/publishDiagnostics")["diagnostics"], json!([]));
}

#[test]
fn columns_are_in_the_encoding_that_was_agreed() {
    let text = FAULTY
        .replace("    loss.backward()\n", "    '''naïve 😀'''; loss.backward()\n")
        .replace('\n', "\r\n");
    for (offered, agreed, column) in [
        (json!(["utf-16"]), "utf-16", 20),
        (json!(["utf-8", "utf-16"]), "utf-8", 23),
        (json!(["utf-16", "utf-32"]), "utf-32", 19),
        (Value::Null, "utf-16", 20),
    ] {
        let mut abilities = pulling();
        abilities["general"]["positionEncodings"] = offered;
        let mut client = Client::new(Project::new(), abilities);
        assert_eq!(client.abilities["positionEncoding"], agreed);
        let uri = client.uri("train.py");
        client.open(&uri, &text);
        let found = client.pull(&uri);
        let at = |found: &[Value]| {
            let places = found[0]["relatedInformation"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| &one["location"]["range"]);
            let places = places.chain([&found[0]["range"]]);
            places.map(|range| range["start"].clone()).find(|start| start["line"] == 10).unwrap()
        };
        assert_eq!(at(&found)["character"], column, "{agreed} {found:?}");
        // An edit before it on its line, in the same columns.
        let (start, end) =
            (json!({ "line": 10, "character": column - 2 }), json!({ "line": 10, "character": column }));
        client.change(&uri, 2, json!([{ "range": { "start": start, "end": end }, "text": "\r\n    " }]));
        let moved = client.pull(&uri);
        assert_eq!(rules(&moved), rules(&found), "{agreed}");
    }
}

#[test]
fn what_is_open_counts_for_those_who_import_it() {
    let helper = "def clear(optimizer):\n    pass\n";
    let script = FAULTY.replace("    loss.backward()", "    clear(optimizer)\n    loss.backward()");
    let script = format!("from helper import clear\n{script}");
    let project = Project::new().file("helper.py", helper).file("train.py", "");
    let mut client = Client::new(project, pulling());
    let (train, other) = (client.uri("train.py"), client.uri("helper.py"));
    client.open(&train, &script);
    assert_eq!(rules(&client.pull(&train)), ["missing-zero-grad"]);
    client.open(&other, helper);
    client.replace(&other, 2, &helper.replace("pass", "optimizer.zero_grad()"));
    assert_eq!(client.pull(&train), Vec::<Value>::new());
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": other } }));
    assert_eq!(rules(&client.pull(&train)), ["missing-zero-grad"]);
    client.project.write("helper.py", &helper.replace("pass", "optimizer.zero_grad(set_to_none=True)"));
    let event = json!({ "changes": [{ "uri": other, "type": 2 }] });
    client.tell("workspace/didChangeWatchedFiles", event);
    assert_eq!(client.pull(&train), Vec::<Value>::new());
}

#[test]
fn documents_without_a_file_are_checked_where_they_would_lie() {
    let mut client = Client::new(Project::new(), pulling());
    client.open("untitled:Untitled-1", FAULTY);
    assert_eq!(rules(&client.pull("untitled:Untitled-1")), ["missing-zero-grad"]);
    client.open("git:/somewhere/train.py?HEAD", FAULTY);
    assert_eq!(client.pull("git:/somewhere/train.py?HEAD"), Vec::<Value>::new());
    assert_eq!(client.pull("file:///never/opened.py"), Vec::<Value>::new());
}

fn notebook(uri: &str, cells: &[(&str, &str)]) -> Value {
    let named = |at: usize| format!("{}#cell{at}", uri.replace("file:", "vscode-notebook-cell:"));
    let listed = cells.iter().enumerate().map(
        |(at, (kind, _))| json!({ "kind": if *kind == "python" { 2 } else { 1 }, "document": named(at) }),
    );
    let texts = cells.iter().enumerate().map(|(at, (language, text))| {
        json!({ "uri": named(at), "languageId": language, "version": 1, "text": text })
    });
    json!({
        "notebookDocument": {
            "uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": listed.collect::<Vec<_>>(),
        },
        "cellTextDocuments": texts.collect::<Vec<_>>(),
    })
}

#[test]
fn a_notebook_is_one_script_in_many_cells() {
    let (head, body) = FAULTY.split_at(FAULTY.find("for step").unwrap());
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.ipynb");
    let body = body.replace("    loss.backward()\n", "    '😀'; loss.backward()\n");
    client.tell(
        "notebookDocument/didOpen",
        notebook(&uri, &[("python", head), ("markdown", "# then"), ("python", &body)]),
    );
    let (first, last) = (
        format!("{}#cell0", uri.replace("file:", "vscode-notebook-cell:")),
        format!("{}#cell2", uri.replace("file:", "vscode-notebook-cell:")),
    );
    assert_eq!(client.pull(&first), Vec::<Value>::new());
    let found = client.pull(&last);
    assert_eq!(rules(&found), ["missing-zero-grad"]);
    assert_eq!(found[0]["range"]["start"]["line"], 5, "{found:?}");

    let line = json!({ "line": 4, "character": 0 });
    let edit = json!([{ "range": { "start": line, "end": line }, "text": "    optimizer.zero_grad()\n" }]);
    let content = json!([{ "document": { "uri": last, "version": 2 }, "changes": edit }]);
    let document = json!({ "uri": uri, "version": 2 });
    let change = json!({ "notebookDocument": document, "change": { "cells": { "textContent": content } } });
    client.tell("notebookDocument/didChange", change);
    assert_eq!(client.pull(&last), Vec::<Value>::new());

    // Without the cell that imports the framework, nothing is known.
    let array = json!({ "start": 0, "deleteCount": 1, "cells": [] });
    let structure = json!({ "array": array, "didOpen": [], "didClose": [{ "uri": first }] });
    let document = json!({ "uri": uri, "version": 3 });
    let change = json!({ "notebookDocument": document, "change": { "cells": { "structure": structure } } });
    client.tell("notebookDocument/didChange", change);
    assert_eq!(client.pull(&last), Vec::<Value>::new());
    assert_eq!(client.pull(&first), Vec::<Value>::new());
}

#[test]
fn settings_are_read_again_when_their_files_change() {
    let mut client =
        Client::new(Project::new().file("pyproject.toml", "[project]\nname = \"a\"\n"), pulling());
    let uri = client.uri("sub/train.py");
    client.open(&uri, FAULTY);
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    // Nobody says that a file has come, changed or gone: the next check sees it.
    let steps = [
        ("trainlint.toml", Some("ignore = [\"missing-zero-grad\"]\n"), 0),
        ("sub/trainlint.toml", Some("extend = \"../shared.toml\"\n"), 1),
        ("shared.toml", Some(""), 1),
        ("shared.toml", Some("ignore = [\"gradients\"]\n"), 0),
        ("sub/trainlint.toml", None, 0),
        ("trainlint.toml", None, 1),
    ];
    for (version, (path, text, findings)) in (2..).zip(steps) {
        match text {
            Some(text) => client.project.write(path, text),
            None => client.project.remove(path),
        }
        client.replace(&uri, version, &format!("{FAULTY}# {version}\n"));
        if path != "sub/trainlint.toml" || text.is_none() {
            assert_eq!(client.pull(&uri).len(), findings, "{path} {text:?}");
        }
    }
}
