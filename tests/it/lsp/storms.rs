//! Clients that ask for too much: documents that take long, and questions that are taken back.

use super::talk::{Client, FAULTY, pulling, pushed};
use crate::harness::Project;
use lsp_server::Message;
use serde_json::json;
use std::time::Duration;

#[test]
fn a_document_that_takes_long_starves_no_other() {
    let mut client = Client::hosted(Project::new(), Duration::from_millis(20));
    let root = format!("file://{}", client.project.root().display());
    client.ask(
        "initialize",
        json!({ "processId": null, "rootUri": root, "capabilities": pushed(), "initializationOptions": null }),
    );
    client.tell("initialized", json!({}));
    let (slow, quick) = (client.uri("slow.py"), client.uri("quick.py"));
    client.open(&slow, &format!("{FAULTY}{}", "x = [torch.zeros(3) + 1 for i in range(4)]\n".repeat(2_000)));
    client.open(&quick, "import torch\nx = torch.zeros(1)\n");
    let is_published = |message: &Message| matches!(message, Message::Notification(one) if one.method == "textDocument/publishDiagnostics");
    let mut next = || {
        let Message::Notification(first) = client.wait(is_published) else { unreachable!() };
        (first.params["uri"].clone(), first.params["diagnostics"].as_array().unwrap().len())
    };
    assert_eq!(next(), (json!(quick), 0));
    // When nothing else is due, it gets the time that it takes.
    assert_eq!(next(), (json!(slow), 1));
}

#[test]
fn questions_that_are_taken_back_are_answered_once() {
    let mut client = Client::new(Project::new(), pulling());
    let uris: Vec<String> = (0..40).map(|number| client.uri(&format!("a{number}.py"))).collect();
    uris.iter().for_each(|uri| client.open(uri, FAULTY));
    let mut asked = Vec::new();
    for (number, uri) in uris.iter().cycle().take(400).enumerate() {
        let document = json!({ "uri": uri });
        let params = json!({ "textDocument": document, "position": { "line": number % 12, "character": 4 } });
        let id = client.begin("textDocument/hover", params);
        client.tell("$/cancelRequest", json!({ "id": id }));
        asked.push(id);
    }
    for id in &asked {
        let answer = client.answer(id);
        assert!(answer.as_ref().err().is_none_or(|(code, _)| *code == -32800), "{answer:?}");
    }
    assert_eq!(client.pull(&uris[0]).len(), 1);
    assert!(client.leave());
}
