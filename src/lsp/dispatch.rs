//! Messages to what handles them. A message that makes no sense gets an error, and a handler that fails costs
//! its own answer only.

use super::client::error;
use super::dispatcher::{Notifications, Requests};
use super::server::Server;
use crate::engine::guarded;
use gen_lsp_types::{
    CancelNotification, CodeActionRequest, CodeActionResolveRequest, CodeLensRequest, CompletionRequest,
    DidChangeConfigurationNotification, DidChangeNotebookDocumentNotification,
    DidChangeTextDocumentNotification, DidChangeWatchedFilesNotification,
    DidChangeWorkspaceFoldersNotification, DidCloseNotebookDocumentNotification,
    DidCloseTextDocumentNotification, DidOpenNotebookDocumentNotification, DidOpenTextDocumentNotification,
    DidSaveNotebookDocumentNotification, DidSaveTextDocumentNotification, DocumentDiagnosticRequest,
    ExecuteCommandRequest, HoverRequest, InitializedNotification, MessageType, ShutdownRequest,
};
use lsp_server::{ErrorCode, Message, Notification, Request, ResponseError};

impl Server {
    /// Whether it was the last one.
    pub(crate) fn message(&mut self, message: Message) -> bool {
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
        if self.shut_down {
            return Err(error(ErrorCode::InvalidRequest, "the server is shut down"));
        }
        Requests::new(self, request)
            .on_any::<ShutdownRequest>(Server::shut_down)
            .on::<DocumentDiagnosticRequest>(Server::asked_for_diagnostics)
            .on::<HoverRequest>(Server::asked_for_hover)
            .on::<CompletionRequest>(Server::asked_for_completions)
            .on::<CodeActionRequest>(Server::asked_for_actions)
            .on_any::<CodeActionResolveRequest>(|server, id, action| server.repair(id, action, None))
            .on::<CodeLensRequest>(Server::asked_for_lenses)
            .on::<ExecuteCommandRequest>(Server::asked_for_command)
            .finish()
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
        Notifications::new(self, notification)
            .on_any::<InitializedNotification>(|server, _| server.initialized())
            .on::<DidOpenTextDocumentNotification>(Server::script_opened)
            .on::<DidChangeTextDocumentNotification>(Server::script_changed)
            .on_any::<DidSaveTextDocumentNotification>(Server::saved)
            .on::<DidCloseTextDocumentNotification>(Server::script_closed)
            .on::<DidOpenNotebookDocumentNotification>(Server::notebook_opened)
            .on::<DidChangeNotebookDocumentNotification>(Server::notebook_changed)
            .on_any::<DidSaveNotebookDocumentNotification>(Server::saved)
            .on::<DidCloseNotebookDocumentNotification>(Server::notebook_closed)
            .on_any::<DidChangeConfigurationNotification>(Server::settings_changed)
            .on::<DidChangeWatchedFilesNotification>(Server::files_changed)
            .on::<DidChangeWorkspaceFoldersNotification>(Server::folders_changed)
            .on::<CancelNotification>(Server::cancelled)
            .finish()
    }
}
