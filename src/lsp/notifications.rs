//! What a client tells of: documents that open, change and close, and what else their findings rest on.

use super::client::{Asked, error};
use super::server::{Folder, Server};
use super::settings::{Run, Settings};
use super::uri;
use gen_lsp_types::{
    CancelParams, DidChangeNotebookDocumentParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseNotebookDocumentParams, DidCloseTextDocumentParams,
    DidOpenNotebookDocumentParams, DidOpenTextDocumentParams, Id, MessageType,
};
use lsp_server::{ErrorCode, RequestId, Response, ResponseError};
use serde_json::{Value, json};

impl Server {
    pub(crate) fn script_opened(&mut self, params: DidOpenTextDocumentParams) -> Result<(), ResponseError> {
        let root = self.first_root();
        let uri = self.documents.open_script(params.text_document, &root);
        self.opened(&uri);
        Ok(())
    }

    pub(crate) fn script_changed(
        &mut self,
        params: DidChangeTextDocumentParams,
    ) -> Result<(), ResponseError> {
        let uri = params.text_document.text_document_identifier.uri.0;
        let (version, changes) = (params.text_document.version, params.content_changes);
        let made = self.documents.change(&uri, version, changes, self.client.can.encoding);
        self.edited(&uri);
        made.map_err(|why| error(ErrorCode::InvalidParams, why))
    }

    pub(crate) fn script_closed(&mut self, params: DidCloseTextDocumentParams) -> Result<(), ResponseError> {
        self.closed(&params.text_document.uri.0);
        Ok(())
    }

    pub(crate) fn notebook_opened(
        &mut self,
        params: DidOpenNotebookDocumentParams,
    ) -> Result<(), ResponseError> {
        let root = self.first_root();
        let texts = params.cell_text_documents;
        let uri = self.documents.open_notebook(params.notebook_document, texts, &root);
        self.opened(&uri);
        Ok(())
    }

    pub(crate) fn notebook_changed(
        &mut self,
        params: DidChangeNotebookDocumentParams,
    ) -> Result<(), ResponseError> {
        let (uri, version) = (params.notebook_document.uri.0, params.notebook_document.version);
        let made = self.documents.change_notebook(&uri, version, params.change, self.client.can.encoding);
        self.edited(&uri);
        made.map_err(|why| error(ErrorCode::InvalidParams, why))
    }

    pub(crate) fn notebook_closed(
        &mut self,
        params: DidCloseNotebookDocumentParams,
    ) -> Result<(), ResponseError> {
        self.closed(&params.notebook_document.uri.0);
        Ok(())
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
    pub(crate) fn saved(&mut self, params: &Value) {
        // Whatever lies on the disk may depend on it.
        self.memory.forget();
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

    pub(crate) fn files_changed(&mut self, _: DidChangeWatchedFilesParams) -> Result<(), ResponseError> {
        self.memory.forget();
        self.all_changed();
        Ok(())
    }

    pub(crate) fn folders_changed(
        &mut self,
        params: DidChangeWorkspaceFoldersParams,
    ) -> Result<(), ResponseError> {
        let removed = params.event.removed;
        self.folders.retain(|folder| removed.iter().all(|one| one.uri.0 != folder.uri));
        let added = params.event.added.into_iter();
        self.folders.extend(added.filter_map(|one| {
            let path = uri::path_of(&one.uri.0)?;
            Some(Folder { uri: one.uri.0, path })
        }));
        self.ask_for_settings();
        self.all_changed();
        Ok(())
    }

    pub(crate) fn cancelled(&mut self, params: CancelParams) -> Result<(), ResponseError> {
        self.cancel(&match params.id {
            Id::Int(number) => RequestId::from(number),
            Id::String(text) => RequestId::from(text),
        });
        Ok(())
    }

    pub(crate) fn initialized(&mut self) {
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
    pub(crate) fn settings_changed(&mut self, params: &Value) {
        if self.client.can.configures {
            return self.ask_for_settings();
        }
        self.settings = self.read_settings(params.get("settings").unwrap_or(&Value::Null));
        self.all_changed();
    }

    pub(crate) fn response(&mut self, response: Response) {
        let Response { id, response_result } = response;
        match (self.client.answered(&id), response_result) {
            (Some(Asked::Settings(scopes)), Ok(sent)) => self.take_settings(&scopes, &sent),
            (Some(_), Ok(_)) => {}
            (Some(_), Err(error)) => {
                self.client.log(MessageType::Warning, &format!("the client: {}", error.message));
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
