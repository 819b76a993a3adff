//! The other side of the connection: what it can do, and what is sent to it.

use super::position::Encoding;
use crossbeam_channel::Sender;
use gen_lsp_types::MessageType;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

/// What the client says that it can do. Whatever it says of other kind than expected counts as no.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abilities {
    pub encoding: Encoding,
    /// Asks for diagnostics itself.
    pub pulls: bool,
    pub refreshes: bool,
    pub related: bool,
    pub links_codes: bool,
    pub tags: bool,
    pub markdown: bool,
    /// Shows tables of Markdown as tables.
    pub tables: bool,
    /// A hover stands beside the diagnostics of its place, so that it need not say what they say.
    pub hovers_beside_diagnostics: bool,
    /// Edits that name the version of the document.
    pub versioned_edits: bool,
    /// Edits of actions may be asked for later.
    pub resolves: bool,
    pub configures: bool,
    pub watches: bool,
    pub progress: bool,
    pub refreshes_lenses: bool,
}

impl Abilities {
    pub(crate) fn of(params: &Value) -> Abilities {
        let get = |path: &str| params.pointer(&format!("/capabilities/{path}"));
        let is = |path: &str| get(path).and_then(Value::as_bool).unwrap_or(false);
        let lists = |path: &str, word: &str| {
            let listed = get(path).and_then(Value::as_array);
            listed.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(word)))
        };
        let pulls = get("textDocument/diagnostic").is_some_and(Value::is_object);
        // What a client can show of diagnostics it says where it says how it gets them, or where it always did.
        let shows = |ability: &str| {
            is(&format!("textDocument/publishDiagnostics/{ability}"))
                || is(&format!("textDocument/diagnostic/{ability}"))
        };
        let states = |option: &str| {
            let stated = params.pointer(&format!("/initializationOptions/{option}"));
            stated.and_then(Value::as_bool).unwrap_or(false)
        };
        Abilities {
            encoding: Encoding::of_client(get("general/positionEncodings")),
            pulls,
            refreshes: is("workspace/diagnostics/refreshSupport")
                || is("workspace/diagnostic/refreshSupport"),
            related: shows("relatedInformation"),
            links_codes: shows("codeDescriptionSupport"),
            tags: get("textDocument/publishDiagnostics/tagSupport").is_some_and(Value::is_object)
                || get("textDocument/diagnostic/tagSupport").is_some_and(Value::is_object),
            markdown: lists("textDocument/hover/contentFormat", "markdown"),
            tables: states("rendersTables"),
            hovers_beside_diagnostics: states("hoversBesideDiagnostics"),
            versioned_edits: is("workspace/workspaceEdit/documentChanges"),
            resolves: is("textDocument/codeAction/dataSupport")
                && lists("textDocument/codeAction/resolveSupport/properties", "edit"),
            configures: is("workspace/configuration"),
            watches: is("workspace/didChangeWatchedFiles/dynamicRegistration"),
            progress: is("window/workDoneProgress"),
            refreshes_lenses: is("workspace/codeLens/refreshSupport"),
        }
    }
}

/// What an answer of the client is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The settings of these folders, by their URIs.
    Settings(Vec<Option<String>>),
    /// Nothing that is waited for.
    Other,
}

pub(crate) struct Client {
    sender: Sender<Message>,
    pub can: Abilities,
    last_id: i32,
    asked: FxHashMap<RequestId, Asked>,
}

/// What a request comes to.
pub(crate) type Answer = Result<Value, ResponseError>;

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

/// Of a pull whose text has changed meanwhile: the client is to ask again.
pub(crate) fn outdated_pull() -> ResponseError {
    let data = Some(json!({ "retriggerRequest": true }));
    ResponseError {
        code: ErrorCode::ServerCancelled as i32,
        message: "the text has changed".to_owned(),
        data,
    }
}

impl Client {
    pub(crate) fn new(sender: Sender<Message>, can: Abilities) -> Client {
        Client { sender, can, last_id: 0, asked: FxHashMap::default() }
    }

    // A client that is gone can't be told so: the loop ends when its messages do.

    pub(crate) fn respond(&self, id: RequestId, response_result: Answer) {
        let _ = self.sender.send(Message::Response(Response { id, response_result }));
    }

    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        let _ = self.sender.send(Message::Notification(Notification::new(method.to_owned(), params)));
    }

    pub(crate) fn ask(&mut self, method: &str, params: impl Serialize, about: Asked) {
        self.last_id += 1;
        let id = RequestId::from(format!("trainlint-{}", self.last_id));
        self.asked.insert(id.clone(), about);
        let _ = self.sender.send(Message::Request(Request::new(id, method.to_owned(), params)));
    }

    /// What an answer is about; none where nothing was asked.
    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<Asked> {
        self.asked.remove(id)
    }

    /// Into the log that the client keeps.
    pub(crate) fn log(&self, level: MessageType, message: &str) {
        self.notify("window/logMessage", json!({ "type": u32::from(level), "message": message }));
    }

    /// Before the eyes of the user.
    pub(crate) fn show(&self, level: MessageType, message: &str) {
        self.notify("window/showMessage", json!({ "type": u32::from(level), "message": message }));
    }
}
