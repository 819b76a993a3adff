//! Messages to what handles them. A message that makes no sense gets an error, and a handler that fails costs
//! its own answer only.

use super::client::{Answer, Asked, error};
use super::confirm::{CONFIRM, Target};
use super::findings::View;
use super::server::{Folder, Question, Server};
use super::settings::{Run, Settings};
use super::uri;
use crate::engine::guarded;
use gen_lsp_types::{
    CodeActionParams, CodeLensParams, DidChangeNotebookDocumentParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseNotebookDocumentParams,
    DidCloseTextDocumentParams, DidOpenNotebookDocumentParams, DidOpenTextDocumentParams,
    DocumentDiagnosticParams, ExecuteCommandParams, HoverParams, MessageType,
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

impl Server {
    /// Whether it was the last one.
    pub fn message(&mut self, message: Message) -> bool {
        match message {
            Message::Request(request) => self.request_message(request),
            Message::Notification(notification) if notification.method == "exit" => return true,
            Message::Notification(notification) => self.notification_message(notification),
            Message::Response(response) => self.response(response),
        }
        false
    }

    fn request_message(&mut self, request: Request) {
        let (id, method) = (request.id.clone(), request.method.clone());
        let handled = guarded(|| self.handle(request));
        let answer = match handled {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => {
                self.client.log(MessageType::Error, &format!("{method}: {panic}"));
                error(ErrorCode::InternalError, format!("internal error: {}", panic.what))
            }
        };
        self.client.respond(id, Err(answer));
    }

    fn handle(&mut self, request: Request) -> Result<(), ResponseError> {
        let Request { id, method, params } = request;
        if self.shut_down {
            return Err(error(ErrorCode::InvalidRequest, "the server is shut down"));
        }
        match method.as_str() {
            "shutdown" => {
                self.shut_down = true;
                self.client.respond(id, Ok(Value::Null));
            }
            "textDocument/diagnostic" => {
                let params: DocumentDiagnosticParams = parsed(params)?;
                let uri = params.text_document.uri.0;
                let previous = params.previous_result_id;
                self.ask_of(id, &uri.clone(), Question::Pull { uri, previous }, no_findings());
            }
            "textDocument/hover" => {
                let params: HoverParams = parsed(params)?;
                let uri = params.text_document_position_params.text_document.uri.0.clone();
                self.ask_of(id, &uri, Question::Hover(Box::new(params)), Value::Null);
            }
            "textDocument/codeAction" => {
                let params: CodeActionParams = parsed(params)?;
                let uri = params.text_document.uri.0.clone();
                self.ask_of(id, &uri, Question::Actions(Box::new(params)), json!([]));
            }
            "textDocument/codeLens" => {
                let params: CodeLensParams = parsed(params)?;
                let uri = params.text_document.uri.0;
                self.ask_of(id, &uri.clone(), Question::Lenses { uri }, json!([]));
            }
            "workspace/executeCommand" => {
                let params: ExecuteCommandParams = parsed(params)?;
                if params.command != CONFIRM {
                    let what = format!("there is no command {}", params.command);
                    return Err(error(ErrorCode::InvalidParams, what));
                }
                let target = Target::read(params)?;
                let uri = target.uri.clone();
                self.ask_of(id, &uri, Question::Confirm(target), Value::Null);
            }
            "codeAction/resolve" => self.repair(id, params, None),
            other => return Err(error(ErrorCode::MethodNotFound, format!("{other} is not known here"))),
        }
        Ok(())
    }

    /// Asks the findings of a document, if it is one.
    fn ask_of(&mut self, id: RequestId, uri: &str, question: Question, otherwise: Value) {
        match self.documents.seat(uri).map(|seat| seat.document.uri.clone()) {
            Some(document) => self.ask(id, &document, question),
            None => self.client.respond(id, Ok(otherwise)),
        }
    }

    /// The findings of a document of the client, or that they are as they were.
    pub fn pulled(&self, view: &View<'_>, uri: &str, previous: Option<&str>) -> Answer {
        let Some(seat) = self.documents.seat(uri) else { return Ok(no_findings()) };
        let items = json!(view.diagnostics(seat.cell));
        let id = format!("{:016x}", xxh3_64(items.to_string().as_bytes()));
        Ok(match previous == Some(id.as_str()) {
            true => json!({ "kind": "unchanged", "resultId": id }),
            false => json!({ "kind": "full", "resultId": id, "items": items }),
        })
    }

    fn notification_message(&mut self, notification: Notification) {
        let method = notification.method.clone();
        let why = match guarded(|| self.notified(notification)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.message,
            Err(panic) => panic.to_string(),
        };
        self.client.log(MessageType::Error, &format!("{method}: {why}"));
    }

    fn notified(&mut self, notification: Notification) -> Result<(), ResponseError> {
        let Notification { method, params } = notification;
        match method.as_str() {
            "initialized" => self.initialized(),
            "textDocument/didOpen" => {
                let params: DidOpenTextDocumentParams = parsed(params)?;
                let root = self.first_root();
                let uri = self.documents.open_script(params.text_document, &root);
                self.opened(&uri);
            }
            "textDocument/didChange" => {
                let params: DidChangeTextDocumentParams = parsed(params)?;
                let uri = params.text_document.text_document_identifier.uri.0;
                let (version, changes) = (params.text_document.version, params.content_changes);
                let made = self.documents.change(&uri, version, changes, self.client.can.encoding);
                self.edited(&uri);
                made.map_err(|why| error(ErrorCode::InvalidParams, why))?;
            }
            "textDocument/didSave" | "notebookDocument/didSave" => {
                // Whatever lies on the disk may depend on it.
                self.memory.forget();
                self.saved(&params);
            }
            "textDocument/didClose" => {
                let params: DidCloseTextDocumentParams = parsed(params)?;
                self.closed(&params.text_document.uri.0);
            }
            "notebookDocument/didOpen" => {
                let params: DidOpenNotebookDocumentParams = parsed(params)?;
                let root = self.first_root();
                let texts = params.cell_text_documents;
                let uri = self.documents.open_notebook(params.notebook_document, texts, &root);
                self.opened(&uri);
            }
            "notebookDocument/didChange" => {
                let params: DidChangeNotebookDocumentParams = parsed(params)?;
                let (uri, version) = (params.notebook_document.uri.0, params.notebook_document.version);
                let encoding = self.client.can.encoding;
                let made = self.documents.change_notebook(&uri, version, params.change, encoding);
                self.edited(&uri);
                made.map_err(|why| error(ErrorCode::InvalidParams, why))?;
            }
            "notebookDocument/didClose" => {
                let params: DidCloseNotebookDocumentParams = parsed(params)?;
                self.closed(&params.notebook_document.uri.0);
            }
            "workspace/didChangeConfiguration" => self.settings_changed(&params),
            "workspace/didChangeWatchedFiles" => {
                let _: DidChangeWatchedFilesParams = parsed(params)?;
                self.memory.forget();
                self.all_changed();
            }
            "workspace/didChangeWorkspaceFolders" => {
                let params: DidChangeWorkspaceFoldersParams = parsed(params)?;
                let removed = params.event.removed;
                self.folders.retain(|folder| removed.iter().all(|one| one.uri.0 != folder.uri));
                let added = params.event.added.into_iter();
                self.folders.extend(added.filter_map(|one| {
                    let path = uri::path_of(&one.uri.0)?;
                    Some(Folder { uri: one.uri.0, path })
                }));
                self.ask_for_settings();
                self.all_changed();
            }
            "$/cancelRequest" => {
                let id = serde_json::from_value(params.get("id").cloned().unwrap_or_default());
                self.cancel(&id.map_err(|why| error(ErrorCode::InvalidParams, why.to_string()))?);
            }
            _ => {}
        }
        Ok(())
    }

    fn initialized(&mut self) {
        self.ask_for_settings();
        if self.client.can.watches {
            self.client.ask("client/registerCapability", watched_files(), Asked::Other);
        }
    }

    fn ask_for_settings(&mut self) {
        if !self.client.can.configures {
            return;
        }
        let mut scopes: Vec<Option<String>> = vec![None];
        scopes.extend(self.folders.iter().map(|folder| Some(folder.uri.clone())));
        let items: Vec<Value> = scopes
            .iter()
            .map(|scope| match scope {
                Some(uri) => json!({ "scopeUri": uri, "section": "trainlint" }),
                None => json!({ "section": "trainlint" }),
            })
            .collect();
        self.client.ask("workspace/configuration", json!({ "items": items }), Asked::Settings(scopes));
    }

    /// Clients that can be asked are asked; of others, what they send counts.
    fn settings_changed(&mut self, params: &Value) {
        if self.client.can.configures {
            return self.ask_for_settings();
        }
        self.settings = self.read_settings(params.get("settings").unwrap_or(&Value::Null));
        self.all_changed();
    }

    fn response(&mut self, response: Response) {
        let Response { id, response_result } = response;
        match (self.client.answered(&id), response_result) {
            (Some(Asked::Settings(scopes)), Ok(sent)) => self.take_settings(&scopes, &sent),
            (Some(_), Ok(_)) => {}
            (Some(_), Err(error)) => {
                self.client.log(MessageType::Warning, &format!("the client: {}", error.message))
            }
            (None, _) => {}
        }
    }

    /// Whoever knows nothing of trainlint sends null, and what came with the start stays in force.
    fn take_settings(&mut self, scopes: &[Option<String>], sent: &Value) {
        for (scope, section) in scopes.iter().zip(sent.as_array().into_iter().flatten()) {
            let is_said = section.as_object().is_some_and(|section| !section.is_empty());
            let settings: Option<Settings> = is_said.then(|| self.read_settings(section));
            match (scope, settings) {
                (None, Some(settings)) => self.settings = settings,
                (Some(uri), Some(settings)) => {
                    self.by_folder.insert(uri.clone(), settings);
                }
                (Some(uri), None) => {
                    self.by_folder.remove(uri);
                }
                (None, None) => {}
            }
        }
        self.all_changed();
    }

    fn opened(&mut self, uri: &str) {
        self.changed(uri);
        self.check(uri);
    }

    fn edited(&mut self, uri: &str) {
        self.changed(uri);
        if self.runs(uri) == Run::OnType {
            self.check(uri);
        }
    }

    /// The document is checked as it is now; others may have read its file.
    fn saved(&mut self, params: &Value) {
        let uri = params.pointer("/textDocument/uri").or(params.pointer("/notebookDocument/uri"));
        if let Some(uri) = uri.and_then(Value::as_str)
            && self.runs(uri) == Run::OnSave
        {
            self.check(uri);
        }
        self.all_changed();
    }

    fn runs(&self, uri: &str) -> Run {
        let path = self.documents.get(uri).and_then(|document| document.path.as_deref());
        path.map_or_else(Run::default, |path| self.settings_of(path).run)
    }
}

/// Says where parameters are not what they should be.
fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, ResponseError> {
    serde_path_to_error::deserialize(params).map_err(|why| error(ErrorCode::InvalidParams, why.to_string()))
}

fn no_findings() -> Value {
    json!({ "kind": "full", "items": [] })
}

/// Files that checks depend on, whether they are open or not.
fn watched_files() -> Value {
    const GLOBS: [&str; 7] = [
        "**/*.py",
        "**/pyproject.toml",
        "**/{.,}trainlint.toml",
        "**/*requirements*.txt",
        "**/{environment,conda}.{yml,yaml}",
        "**/{poetry,uv,pdm}.lock",
        "**/setup.{py,cfg}",
    ];
    let watchers: Vec<Value> = GLOBS.iter().map(|glob| json!({ "globPattern": glob })).collect();
    json!({ "registrations": [{
        "id": "trainlint-files",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": watchers },
    }] })
}
