//! What is offered to do about findings, and what is told of them.

use super::talk::{Client, FAULTY, edited, edits_of, pulling, pushed, rules};
use crate::harness::Project;
use serde_json::{Value, json};

const ROOT: &str = "import torch\n\nx = torch.rand(3, requires_grad=True)\nx.sum().backward()\n";

#[test]
fn a_quick_fix_leaves_a_clean_script() {
    for (abilities, text) in [(pulling(), FAULTY.to_owned()), (pushed(), FAULTY.replace('\n', "\r\n"))] {
        let is_versioned = abilities["workspace"].is_object();
        let mut client = Client::new(Project::new(), abilities);
        let uri = client.uri("train.py");
        client.open(&uri, &text);
        let line = json!({ "line": 11, "character": 6 });
        let actions = client.actions(&uri, &json!({ "start": line, "end": line }), Some("quickfix"));
        let titles: Vec<_> = actions.iter().map(|action| action["title"].as_str().unwrap()).collect();
        assert_eq!(
            titles[1..],
            ["Ignore `missing-zero-grad` here", "Ignore `missing-zero-grad` in this file"]
        );
        assert_eq!(actions[0]["diagnostics"][0]["code"], "missing-zero-grad");
        let change = &actions[0]["edit"]["documentChanges"][0]["textDocument"];
        assert_eq!(change["version"], if is_versioned { json!(1) } else { Value::Null });
        for action in &actions {
            let fixed = edited(&text, &edits_of(&action["edit"], &uri));
            assert_eq!(fixed.contains('\r'), text.contains('\r'));
            assert!(!fixed.replace("\r\n", "").contains('\r'));
            client.replace(&uri, 2, &fixed);
            assert_eq!(
                client.actions(&uri, &json!({ "start": line, "end": line }), Some("quickfix")),
                Vec::<Value>::new()
            );
            client.replace(&uri, 3, &text);
        }
    }
}

#[test]
fn suppression_comments_are_completed() {
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.py");
    client
        .open(&uri, &format!("{FAULTY}# trainlint: ignore[memory, missing-z\nx = [1, 2\n# trainlint: fi\n"));
    let mut labels = |line: u32, character: u32| -> Vec<Value> {
        let at =
            json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
        client.ask("textDocument/completion", at).as_array().unwrap().clone()
    };
    let rules = labels(12, 37);
    let one = rules.iter().find(|item| item["label"] == "missing-zero-grad").unwrap();
    assert_eq!(one["textEdit"]["newText"], "missing-zero-grad");
    assert_eq!(one["textEdit"]["range"]["start"]["character"], 28);
    assert!(rules.iter().any(|item| item["label"] == "gradients"));
    assert!(labels(13, 9).is_empty() && labels(2, 0).is_empty());
    let directives = labels(14, 15);
    assert!(directives.iter().any(|item| item["textEdit"]["newText"] == "file-ignore["));
}

#[test]
fn everything_safe_is_fixed_at_once() {
    let project = Project::new();
    let text = format!("# coding: latin-1\n{ROOT}y = 1  # trainlint: ignore[unsafe-log]\nz = 'é'\n");
    let mut client = Client::new(project, pulling());
    let uri = client.uri("a.py");
    client.open(&uri, &text);
    assert_eq!(rules(&client.pull(&uri)), ["unused-suppression"]);
    let all = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    let actions = client.actions(&uri, &all, Some("source.fixAll"));
    assert_eq!(actions.len(), 1, "{actions:?}");
    let resolved = client.ask("codeAction/resolve", actions[0].clone());
    let fixed = edited(&text, &edits_of(&resolved["edit"], &uri));
    assert_eq!(fixed, text.replace("  # trainlint: ignore[unsafe-log]", ""));
    client.replace(&uri, 2, &fixed);
    assert_eq!(client.pull(&uri), Vec::<Value>::new());
    assert_eq!(client.actions(&uri, &all, Some("source.fixAll")), Vec::<Value>::new());
    // The text has changed since.
    assert_eq!(client.refused("codeAction/resolve", actions[0].clone()), -32801);
}

#[test]
fn a_client_that_cannot_ask_for_edits_later_has_them_at_once() {
    let text = format!("{ROOT}y = 1  # trainlint: ignore[unsafe-log]\n");
    let mut abilities = pulling();
    abilities["textDocument"]["codeAction"] = json!({});
    let mut client = Client::new(Project::new(), abilities);
    let uri = client.uri("a.py");
    client.open(&uri, &text);
    let all = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    let actions = client.actions(&uri, &all, Some("source.fixAll"));
    assert_eq!(actions.len(), 1, "{actions:?}");
    let fixed = edited(&text, &edits_of(&actions[0]["edit"], &uri));
    assert_eq!(fixed, text.replace("  # trainlint: ignore[unsafe-log]", ""));
    assert_eq!(actions[0]["data"], Value::Null);
}

#[test]
fn hovers_say_why() {
    let mut client = Client::new(Project::new(), pulling());
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let hover = client.hover(&uri, &json!({ "line": 11, "character": 8 }));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(hover["contents"]["kind"], "markdown");
    assert!(text.starts_with("**missing-zero-grad** · error, high confidence\n\n"), "{text}");
    let steps = "\n1. line 11 `loss.backward()`: adds to gradients that were never zeroed\n2. line 12 `";
    assert!(text.contains(steps), "{text}");
    assert_eq!(hover["range"]["start"]["line"], 11);
    assert_eq!(client.hover(&uri, &json!({ "line": 0, "character": 1 })), Value::Null);

    let text = FAULTY.replace("step()", "step()  # trainlint: ignore[missing-zero-grad]");
    client.replace(&uri, 2, &text);
    let hover = client.hover(&uri, &json!({ "line": 11, "character": 48 }));
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("# missing-zero-grad"), "{hover}");
}

#[test]
fn a_hover_beside_the_diagnostic_does_not_repeat_it() {
    let options = json!({ "settings": {}, "hoversBesideDiagnostics": true, "rendersTables": true });
    let mut client = Client::with_options(Project::new(), pulling(), options);
    let uri = client.uri("train.py");
    client.open(&uri, FAULTY);
    let hover = client.hover(&uri, &json!({ "line": 11, "character": 8 }));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("**missing-zero-grad** · error, high confidence\n\n| where |"), "{text}");
    assert!(text.ends_with("no path through the loop zeroes the gradients of `optimizer`"), "{text}");
}
