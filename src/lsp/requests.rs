//! What is asked of a document: each request becomes a question to its findings.

use super::client::error;
use super::confirm::{CONFIRM, Target};
use super::findings::View;
use super::server::{Question, Server};
use gen_lsp_types::{
    CodeActionParams, CodeActionRequest, CodeLensParams, CodeLensRequest, DocumentDiagnosticParams,
    DocumentDiagnosticReport, DocumentDiagnosticRequest, ExecuteCommandParams, ExecuteCommandRequest,
    FullDocumentDiagnosticReport, HoverParams, HoverRequest, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, Request, UnchangedDocumentDiagnosticReport,
};
use lsp_server::{ErrorCode, RequestId, ResponseError};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

impl Server {
    pub(crate) fn shut_down(&mut self, id: RequestId, _: Value) {
        self.shut_down = true;
        self.client.respond(id, Ok(Value::Null));
    }

    pub(crate) fn asked_for_diagnostics(
        &mut self,
        id: RequestId,
        params: DocumentDiagnosticParams,
    ) -> Result<(), ResponseError> {
        let uri = params.text_document.uri.0;
        let question = Question::Pull { uri: uri.clone(), previous: params.previous_result_id };
        self.ask_of::<DocumentDiagnosticRequest>(id, &uri, question, full(None, Vec::new()));
        Ok(())
    }

    pub(crate) fn asked_for_hover(
        &mut self,
        id: RequestId,
        params: HoverParams,
    ) -> Result<(), ResponseError> {
        let uri = params.text_document_position_params.text_document.uri.0.clone();
        self.ask_of::<HoverRequest>(id, &uri, Question::Hover(Box::new(params)), None);
        Ok(())
    }

    pub(crate) fn asked_for_actions(
        &mut self,
        id: RequestId,
        params: CodeActionParams,
    ) -> Result<(), ResponseError> {
        let uri = params.text_document.uri.0.clone();
        self.ask_of::<CodeActionRequest>(id, &uri, Question::Actions(Box::new(params)), Some(Vec::new()));
        Ok(())
    }

    pub(crate) fn asked_for_lenses(
        &mut self,
        id: RequestId,
        params: CodeLensParams,
    ) -> Result<(), ResponseError> {
        let uri = params.text_document.uri.0;
        self.ask_of::<CodeLensRequest>(id, &uri.clone(), Question::Lenses { uri }, Some(Vec::new()));
        Ok(())
    }

    pub(crate) fn asked_for_command(
        &mut self,
        id: RequestId,
        params: ExecuteCommandParams,
    ) -> Result<(), ResponseError> {
        if params.command != CONFIRM {
            let what = format!("there is no command {}", params.command);
            return Err(error(ErrorCode::InvalidParams, what));
        }
        let target = Target::read(params)?;
        let uri = target.uri.clone();
        self.ask_of::<ExecuteCommandRequest>(id, &uri, Question::Confirm(target), None);
        Ok(())
    }

    /// Asks the findings of a document, if it is one.
    fn ask_of<R: Request>(&mut self, id: RequestId, uri: &str, question: Question, otherwise: R::Result) {
        match self.documents.seat(uri).map(|seat| seat.document.uri.clone()) {
            Some(document) => self.ask(id, &document, question),
            None => self.client.respond(id, Ok(json!(otherwise))),
        }
    }

    /// The findings of a document of the client, or that they are as they were.
    pub(crate) fn pulled(
        &self,
        view: &View<'_>,
        uri: &str,
        previous: Option<&str>,
    ) -> DocumentDiagnosticReport {
        let Some(seat) = self.documents.seat(uri) else { return full(None, Vec::new()) };
        let items = view.diagnostics(seat.cell);
        let id = format!("{:016x}", xxh3_64(json!(items).to_string().as_bytes()));
        if previous != Some(id.as_str()) {
            return full(Some(id), items);
        }
        let unchanged = UnchangedDocumentDiagnosticReport::new(id);
        RelatedUnchangedDocumentDiagnosticReport::new(None, unchanged).into()
    }
}

fn full(id: Option<String>, items: Vec<gen_lsp_types::Diagnostic>) -> DocumentDiagnosticReport {
    RelatedFullDocumentDiagnosticReport::new(None, FullDocumentDiagnosticReport::new(id, items)).into()
}
