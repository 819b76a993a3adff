//! Findings that are replayed from the editor, several roots, requests that come to nothing.

use super::talk::{Client, FAULTY, pulling, rules};
use crate::harness::Project;
use serde_json::{Value, json};

fn with_lenses() -> Value {
    let mut abilities = pulling();
    abilities["window"] = json!({ "workDoneProgress": true });
    abilities["workspace"]["codeLens"] = json!({ "refreshSupport": true });
    abilities["workspace"]["diagnostics"] = json!({ "refreshSupport": true });
    abilities
}

#[test]
fn a_lens_runs_the_finding_and_the_verdict_is_shown() {
    let mut client = Client::new(Project::new(), with_lenses());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let lenses = client.ask("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let command = lenses[0]["command"].clone();
    assert_eq!(command["title"], "Confirm missing-zero-grad by running it");
    let id = client.begin(
        "workspace/executeCommand",
        json!({ "command": command["command"], "arguments": command["arguments"] }),
    );
    client.asked("window/workDoneProgress/create", Value::Null);
    let answer = client.answer(&id).unwrap();
    assert_eq!(answer["verdict"], "confirmed", "{answer}");
    assert_eq!(client.told("$/progress")["value"]["kind"], "begin");
    assert_eq!(client.told("$/progress")["value"]["kind"], "end");
    let message = client.told("window/showMessage")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("trainlint: missing-zero-grad in line 12 is confirmed"), "{message}");
    client.asked("workspace/diagnostic/refresh", Value::Null);
    client.asked("workspace/codeLens/refresh", Value::Null);
    let found = client.pull(&uri);
    assert!(found[0]["message"].as_str().unwrap().ends_with("\nreplayed: confirmed"), "{found:?}");
    let hover = client.hover(&uri, &json!({ "line": 11, "character": 8 }));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("CONFIRMED"), "{hover}");
    // Another text, another question.
    client.replace(&uri, 2, &format!("{FAULTY}\n"));
    assert!(!client.pull(&uri)[0]["message"].as_str().unwrap().contains("replayed"));
    let nowhere = json!([{ "uri": uri, "position": { "line": 0, "character": 0 } }]);
    assert_eq!(
        client.refused(
            "workspace/executeCommand",
            json!({ "command": "trainlint.confirm", "arguments": nowhere })
        ),
        -32803
    );
    for arguments in [json!([]), json!([7]), json!([{ "uri": uri }]), Value::Null] {
        let params = json!({ "command": "trainlint.confirm", "arguments": arguments });
        assert_eq!(client.refused("workspace/executeCommand", params), -32602);
    }
    assert_eq!(client.refused("workspace/executeCommand", json!({ "command": "trainlint.dance" })), -32602);
    assert!(client.leave());
}

#[test]
fn outdated_and_cancelled_requests_are_told_so() {
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    client.pull(&uri);
    // The server hears all of this before it checks again, or it has answered in between: both are right.
    let document = json!({ "textDocument": { "uri": uri } });
    for version in 2..30 {
        client.replace(&uri, version, &format!("{FAULTY}# {version}\n"));
        let outdated = client.begin("textDocument/diagnostic", document.clone());
        let cancelled = client.begin("textDocument/diagnostic", document.clone());
        client.tell("$/cancelRequest", json!({ "id": cancelled }));
        client.replace(&uri, version, &format!("{FAULTY}# again {version}\n"));
        if let Err((code, data)) = client.answer(&outdated) {
            assert_eq!((code, &data["retriggerRequest"]), (-32802, &json!(true)));
        }
        if let Err((code, _)) = client.answer(&cancelled) {
            assert!(code == -32800 || code == -32802, "{code}");
        }
    }
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    assert!(client.leave());
}

#[test]
fn every_root_has_its_own_configuration_and_settings() {
    let project = Project::new()
        .file("one/trainlint.toml", "ignore = [\"missing-zero-grad\"]\n")
        .file("two/helper.py", "def clear(optimizer):\n    optimizer.zero_grad()\n")
        .file("venv/lib/site-packages/torch/train.py", "");
    let folder =
        |name: &str| json!({ "uri": format!("file://{}", project.path(name).display()), "name": name });
    let folders = json!([folder("one"), folder("two")]);
    let mut abilities = pulling();
    abilities["workspace"]["configuration"] = json!(true);
    let mut client = Client::in_folders(project, abilities, Value::Null, folders);
    let asked = client.asked("workspace/configuration", json!([null, null, { "ignore": ["memory"] }]));
    assert_eq!(asked["items"].as_array().unwrap().len(), 3);
    let (one, two) = (client.uri("one/train.py"), client.uri("two/train.py"));
    client.open(&one, FAULTY);
    client.open(&two, FAULTY);
    assert_eq!(client.pull(&one), Vec::<Value>::new());
    assert_eq!(rules(&client.pull(&two)), ["missing-zero-grad"]);
    let script = FAULTY.replace("    loss.backward()", "    clear(optimizer)\n    loss.backward()");
    client.replace(&two, 2, &format!("from helper import clear\n{script}"));
    assert_eq!(client.pull(&two), Vec::<Value>::new());
    // A library that was looked into is nobody's work here.
    let library = client.uri("venv/lib/site-packages/torch/train.py");
    client.open(&library, FAULTY);
    assert_eq!(client.pull(&library), Vec::<Value>::new());
    // Without its folder a script is checked on its own.
    let removed =
        json!([{ "uri": format!("file://{}", client.project.path("one").display()), "name": "one" }]);
    client
        .tell("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [], "removed": removed } }));
    client.project.remove("one/trainlint.toml");
    assert_eq!(rules(&client.pull(&one)), ["missing-zero-grad"]);
}

#[test]
fn scripts_are_checked_when_they_are_saved_if_that_is_wanted() {
    let options = json!({ "run": "onSave" });
    let mut client = Client::with_options(Project::new(), json!({}), options);
    let uri = client.uri("train.py");
    client.open(&uri, "import torch\n");
    assert_eq!(client.published(&uri, 1), Vec::<Value>::new());
    client.replace(&uri, 2, FAULTY);
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(rules(&client.published(&uri, 2)), ["missing-zero-grad"]);
    assert!(client.leave());
}

#[test]
fn a_broken_configuration_is_said_once() {
    let project = Project::new().file("trainlint.toml", "selct = []\n");
    let mut client = Client::new(project, pulling());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    assert_eq!(client.pull(&uri), Vec::<Value>::new());
    let said = client.told("window/showMessage")["message"].as_str().unwrap().to_owned();
    assert!(said.contains("unknown key `selct`"), "{said}");
    client.replace(&uri, 2, &format!("{FAULTY}\n"));
    client.pull(&uri);
    client.project.write("trainlint.toml", "");
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
    assert_eq!(rules(&client.pull(&uri)), ["missing-zero-grad"]);
    assert!(!client.has_seen("window/showMessage"));
}
