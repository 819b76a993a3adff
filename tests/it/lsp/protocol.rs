//! The protocol itself: the beginning, the end, and messages that make no sense.

use super::talk::{Client, FAULTY, pulling, pushed, rules};
use crate::harness::Project;
use lsp_server::{Message, RequestId, Response};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

#[test]
fn the_beginning_and_the_end() {
    let mut client = Client::started(Project::new());
    assert_eq!(client.refused("textDocument/hover", json!({})), -32002);
    let answer = client.ask("initialize", json!({ "capabilities": null }));
    assert_eq!(answer["serverInfo"]["name"], "trainlint");
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
    let selector = &answer["capabilities"]["notebookDocumentSync"]["notebookSelector"][0];
    assert_eq!(selector["notebook"]["notebookType"], "jupyter-notebook");
    client.ask("shutdown", Value::Null);
    assert_eq!(client.refused("textDocument/hover", json!({})), -32600);
    assert!(!Client::new(Project::new(), pushed()).vanish());
}

#[test]
fn nonsense_costs_its_own_answer_only() {
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.py");
    for (method, params, code) in [
        ("textDocument/hover", json!({}), -32602),
        ("textDocument/diagnostic", json!({ "textDocument": { "uri": 7 } }), -32602),
        ("textDocument/codeAction", json!([1, 2]), -32602),
        ("textDocument/diagnostic", Value::Null, -32602),
        ("textDocument/semanticTokens/full", json!({}), -32601),
    ] {
        assert_eq!(client.refused(method, params), code, "{method}");
    }
    for (method, params) in [
        ("textDocument/didOpen", json!({ "textDocument": {} })),
        (
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": 1 }, "contentChanges": [{ "text": "x" }] }),
        ),
        ("textDocument/didClose", json!({ "textDocument": { "uri": uri } })),
        ("notebookDocument/didChange", json!(null)),
        ("workspace/didChangeWatchedFiles", json!({ "changes": 1 })),
        ("workspace/didChangeConfiguration", json!({ "settings": [1] })),
        ("$/cancelRequest", json!({ "id": [] })),
        ("$/unheardOf", json!({})),
        ("unheardOf", json!({})),
    ] {
        client.tell(method, params);
    }
    client.send(Message::Response(Response { id: RequestId::from(77), response_result: Ok(Value::Null) }));
    client.open(&uri, FAULTY);
    let (start, end) = (json!({ "line": 5, "character": 0 }), json!({ "line": 2, "character": 0 }));
    client.change(&uri, 2, json!([{ "range": { "start": start, "end": end }, "text": "x" }]));
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    let far = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    assert_eq!(client.hover(&uri, &far), Value::Null);
    client.change(&uri, 3, json!([{ "range": { "start": far, "end": far }, "text": "# end" }]));
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    assert!(client.has_seen("window/logMessage"));
    assert!(client.leave());
}

#[test]
fn what_has_been_shown_is_not_sent_again() {
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let first = client.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
    let again = json!({ "textDocument": { "uri": uri }, "previousResultId": first["resultId"] });
    assert_eq!(client.ask("textDocument/diagnostic", again.clone())["kind"], "unchanged");
    client.replace(&uri, 2, "import torch\n");
    assert_eq!(client.ask("textDocument/diagnostic", again)["kind"], "full");
}

#[test]
fn the_binary_talks_over_its_streams() {
    let project = Project::new();
    let said = |body: Value| {
        let body = body.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let initialize =
        json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": { "capabilities": {} } });
    let shutdown = json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" });
    let exit = json!({ "jsonrpc": "2.0", "method": "exit" });
    for (messages, code) in
        [(vec![initialize.clone(), shutdown, exit.clone()], 0), (vec![initialize, exit], 1), (vec![], 2)]
    {
        let mut command = project.command(&["server", "--stdio"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        for message in &messages {
            input.write_all(said(message.clone()).as_bytes()).unwrap();
        }
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{messages:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains("\"trainlint\""), !messages.is_empty(), "{text}");
    }
}

#[test]
fn settings_come_with_the_start_and_from_the_client() {
    let options = json!({ "settings": { "ignore": ["missing-zero-grad"] } });
    let mut client = Client::with_options(Project::new(), pulling(), options);
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    assert_eq!(client.pull(&uri), Vec::<Value>::new());
    client.tell("workspace/didChangeConfiguration", json!({ "settings": { "trainlint": { "ignore": [] } } }));
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    client.project.write("trainlint.toml", "ignore = [\"missing-zero-grad\"]\n");
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
    assert_eq!(client.pull(&uri), Vec::<Value>::new());

    let mut abilities = pulling();
    abilities["workspace"]["configuration"] = json!(true);
    abilities["workspace"]["didChangeWatchedFiles"] = json!({ "dynamicRegistration": true });
    let mut client = Client::new(Project::new(), abilities);
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let asked = client.asked("workspace/configuration", json!([null, { "enable": false }]));
    assert_eq!(asked["items"][0]["section"], "trainlint");
    assert_eq!(
        client.asked("client/registerCapability", Value::Null)["registrations"].as_array().unwrap().len(),
        1
    );
    assert_eq!(client.pull(&uri), Vec::<Value>::new());
    client.tell("workspace/didChangeConfiguration", json!({ "settings": null }));
    client.asked("workspace/configuration", json!([null, null]));
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
}
