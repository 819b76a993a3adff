//! A client that says what a test wants, and reads what comes back.

use crate::harness::Project;
use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;
use trainlint::lsp::{Host, serve};

/// More than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A training loop that never clears its gradients.
pub const FAULTY: &str = "\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()
for step in range(100):
    x = torch.randn(8, 4)
    y = torch.randn(8, 1)
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
";

pub struct Client {
    pub project: Project,
    connection: Option<Connection>,
    server: Option<JoinHandle<bool>>,
    last: i32,
    /// What came while an answer was waited for.
    seen: Vec<Message>,
    pub abilities: Value,
}

/// A client that asks for diagnostics, as VS Code does.
pub fn pulling() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-16"] },
        "textDocument": {
            "diagnostic": { "dynamicRegistration": true, "relatedInformation": true },
            "publishDiagnostics": { "relatedInformation": true, "codeDescriptionSupport": true },
            "hover": { "contentFormat": ["markdown", "plaintext"] },
            "codeAction": { "dataSupport": true, "resolveSupport": { "properties": ["edit"] } },
        },
        "workspace": { "workspaceEdit": { "documentChanges": true } },
    })
}

/// A client that takes what it gets, as old ones do.
pub fn pushed() -> Value {
    json!({ "textDocument": { "publishDiagnostics": {} } })
}

impl Client {
    pub fn new(project: Project, abilities: Value) -> Client {
        let options = json!(null);
        Client::with_options(project, abilities, options)
    }

    pub fn with_options(project: Project, abilities: Value, options: Value) -> Client {
        let folders = json!([{ "uri": format!("file://{}", project.root().display()), "name": "project" }]);
        Client::in_folders(project, abilities, options, folders)
    }

    pub fn in_folders(project: Project, abilities: Value, options: Value, folders: Value) -> Client {
        let mut client = Client::started(project);
        let params = json!({
            "processId": null,
            "rootUri": null,
            "capabilities": abilities,
            "initializationOptions": options,
            "workspaceFolders": folders,
        });
        let answer = client.ask("initialize", params);
        client.abilities = answer["capabilities"].clone();
        client.tell("initialized", json!({}));
        client
    }

    /// Before a word is said.
    pub fn started(project: Project) -> Client {
        Client::hosted(project, Duration::from_secs(20))
    }

    /// With a server that puts documents off which take longer.
    pub fn hosted(project: Project, quick: Duration) -> Client {
        let (ours, theirs) = Connection::memory();
        let host =
            Host { cwd: project.root().to_owned(), program: env!("CARGO_BIN_EXE_trainlint").into(), quick };
        let server = std::thread::spawn(move || serve(&theirs, host).unwrap_or(false));
        let (connection, server) = (Some(ours), Some(server));
        Client { project, connection, server, last: 0, seen: Vec::new(), abilities: Value::Null }
    }

    pub fn uri(&self, path: &str) -> String {
        format!("file://{}", self.project.path(path).display())
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().unwrap()
    }

    pub fn send(&self, message: Message) {
        self.connection().sender.send(message).unwrap();
    }

    pub fn tell(&self, method: &str, params: Value) {
        self.send(Message::Notification(Notification { method: method.to_owned(), params }));
    }

    /// Sends a request, and does not wait.
    pub fn begin(&mut self, method: &str, params: Value) -> RequestId {
        self.last += 1;
        let id = RequestId::from(self.last);
        self.send(Message::Request(Request { id: id.clone(), method: method.to_owned(), params }));
        id
    }

    pub fn answer(&mut self, id: &RequestId) -> Result<Value, (i32, Value)> {
        let is_it = |message: &Message| matches!(message, Message::Response(response) if response.id == *id);
        let Message::Response(Response { response_result, .. }) = self.wait(is_it) else { unreachable!() };
        response_result.map_err(|error| (error.code, error.data.unwrap_or_default()))
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(&id).unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    pub fn refused(&mut self, method: &str, params: Value) -> i32 {
        let id = self.begin(method, params);
        self.answer(&id).expect_err(method).0
    }

    /// The first message of a kind, from what has come or will come.
    pub fn wait(&mut self, is_it: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.seen.iter().position(&is_it) {
            return self.seen.remove(at);
        }
        loop {
            let message = self.connection().receiver.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|_| panic!("nothing came; before: {:?}", self.seen));
            if is_it(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    /// The next notification with this method.
    pub fn told(&mut self, method: &str) -> Value {
        let is_it = |message: &Message| matches!(message, Message::Notification(one) if one.method == method);
        let Message::Notification(notification) = self.wait(is_it) else { unreachable!() };
        notification.params
    }

    /// The next request of the server with this method, answered.
    pub fn asked(&mut self, method: &str, answer: Value) -> Value {
        let is_it = |message: &Message| matches!(message, Message::Request(one) if one.method == method);
        let Message::Request(request) = self.wait(is_it) else { unreachable!() };
        self.send(Message::Response(Response { id: request.id, response_result: Ok(answer) }));
        request.params
    }

    /// Whether a notification has come so far.
    pub fn has_seen(&self, method: &str) -> bool {
        self.seen.iter().any(|message| matches!(message, Message::Notification(one) if one.method == method))
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let item = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Replaces all of a text.
    pub fn replace(&mut self, uri: &str, version: i32, text: &str) {
        self.change(uri, version, json!([{ "text": text }]));
    }

    pub fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({ "uri": uri, "version": version });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The diagnostics of a document, asked for.
    pub fn pull(&mut self, uri: &str) -> Vec<Value> {
        let report = self.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
        report["items"].as_array().unwrap_or_else(|| panic!("{report}")).clone()
    }

    /// The diagnostics of a version of a document, as they are sent.
    pub fn published(&mut self, uri: &str, version: i32) -> Vec<Value> {
        let is_it = |message: &Message| {
            matches!(message, Message::Notification(one)
                if one.method == "textDocument/publishDiagnostics"
                    && one.params["uri"] == *uri && one.params["version"] == version)
        };
        let Message::Notification(notification) = self.wait(is_it) else { unreachable!() };
        notification.params["diagnostics"].as_array().unwrap().clone()
    }

    /// The actions at the first finding of a document.
    pub fn actions(&mut self, uri: &str, range: &Value, only: Option<&str>) -> Vec<Value> {
        let mut context = json!({ "diagnostics": [] });
        if let Some(only) = only {
            context["only"] = json!([only]);
        }
        let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": context });
        self.ask("textDocument/codeAction", params).as_array().unwrap().clone()
    }

    pub fn hover(&mut self, uri: &str, position: &Value) -> Value {
        self.ask("textDocument/hover", json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    /// Goes in good order; whether the server did, too.
    pub fn leave(mut self) -> bool {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.server.take().unwrap().join().unwrap()
    }

    /// Goes without a word.
    pub fn vanish(mut self) -> bool {
        self.connection.take();
        self.server.take().unwrap().join().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.take();
        if let Some(server) = self.server.take()
            && server.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server fell over");
        }
    }
}

/// The rules of diagnostics.
pub fn rules(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|one| one["code"].as_str().unwrap()).collect()
}

/// A text with edits of one document put in; columns count UTF-16 units.
pub fn edited(text: &str, edits: &Value) -> String {
    let mut edits = edits.as_array().unwrap().clone();
    let key = |edit: &Value| {
        let start = &edit["range"]["start"];
        (start["line"].as_u64().unwrap(), start["character"].as_u64().unwrap())
    };
    edits.sort_by_key(key);
    let mut text = text.to_owned();
    for edit in edits.iter().rev() {
        let range = offset(&text, &edit["range"]["start"])..offset(&text, &edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().unwrap());
    }
    text
}

fn offset(text: &str, position: &Value) -> usize {
    let (line, column) = (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
    let start: usize = text.split_inclusive('\n').take(line as usize).map(str::len).sum();
    let mut units = 0;
    for (at, letter) in text[start..].char_indices() {
        if units >= column {
            return start + at;
        }
        units += letter.len_utf16() as u64;
    }
    text.len()
}

/// What an edit of a workspace does to a document.
pub fn edits_of(edit: &Value, uri: &str) -> Value {
    if let Some(changes) = edit["documentChanges"].as_array() {
        let own = changes.iter().find(|change| change["textDocument"]["uri"] == *uri);
        return own.map_or(Value::Null, |change| change["edits"].clone());
    }
    edit["changes"][uri].clone()
}
