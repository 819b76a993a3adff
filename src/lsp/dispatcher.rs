//! Messages to handlers by the types that the protocol has for them: a method stands beside what it is sent with,
//! and a handler gets that or is not called. Knows no method.

use super::client::error;
use super::server::Server;
use lsp_server::{ErrorCode, Notification, Request, RequestId, ResponseError};
use serde::de::DeserializeOwned;
use serde_json::Value;

type Handled = Result<(), ResponseError>;

/// A request on its way to its handler, which answers it, now or later, unless it fails.
pub(crate) struct Requests<'a> {
    server: &'a mut Server,
    /// Until it is handled.
    request: Option<Request>,
    handled: Handled,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(server: &'a mut Server, request: Request) -> Requests<'a> {
        Requests { server, request: Some(request), handled: Ok(()) }
    }

    pub(crate) fn on<R: gen_lsp_types::Request>(
        self,
        handler: fn(&mut Server, RequestId, R::Params) -> Handled,
    ) -> Self {
        self.handle::<R>(|server, id, params| handler(server, id, parsed(params)?))
    }

    /// Of requests whose parameters may be whatever they are: none are needed, or they are given back.
    pub(crate) fn on_any<R: gen_lsp_types::Request>(
        self,
        handler: fn(&mut Server, RequestId, Value),
    ) -> Self {
        self.handle::<R>(|server, id, params| {
            handler(server, id, params);
            Ok(())
        })
    }

    fn handle<R: gen_lsp_types::Request>(
        mut self,
        handler: impl FnOnce(&mut Server, RequestId, Value) -> Handled,
    ) -> Self {
        if let Some(request) = self.request.take_if(|request| request.method == R::METHOD.as_str()) {
            self.handled = handler(self.server, request.id, request.params);
        }
        self
    }

    /// What nothing was said of is not known.
    pub(crate) fn finish(self) -> Handled {
        match self.request {
            Some(Request { method, .. }) => {
                Err(error(ErrorCode::MethodNotFound, format!("{method} is not known here")))
            }
            None => self.handled,
        }
    }
}

/// A notification on its way to its handler.
pub(crate) struct Notifications<'a> {
    server: &'a mut Server,
    /// Until it is handled.
    notification: Option<Notification>,
    handled: Handled,
}

impl<'a> Notifications<'a> {
    pub(crate) fn new(server: &'a mut Server, notification: Notification) -> Notifications<'a> {
        Notifications { server, notification: Some(notification), handled: Ok(()) }
    }

    pub(crate) fn on<N: gen_lsp_types::Notification>(
        self,
        handler: fn(&mut Server, N::Params) -> Handled,
    ) -> Self {
        self.handle::<N>(|server, params| handler(server, parsed(params)?))
    }

    /// Of notifications that count whatever is sent with them.
    pub(crate) fn on_any<N: gen_lsp_types::Notification>(self, handler: fn(&mut Server, &Value)) -> Self {
        self.handle::<N>(|server, params| {
            handler(server, &params);
            Ok(())
        })
    }

    fn handle<N: gen_lsp_types::Notification>(
        mut self,
        handler: impl FnOnce(&mut Server, Value) -> Handled,
    ) -> Self {
        if let Some(sent) = self.notification.take_if(|sent| sent.method == N::METHOD.as_str()) {
            self.handled = handler(self.server, sent.params);
        }
        self
    }

    /// What nothing was said of is left aside, as the protocol wants it.
    pub(crate) fn finish(self) -> Handled {
        self.handled
    }
}

/// Says where parameters are not what they should be.
fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, ResponseError> {
    serde_path_to_error::deserialize(params).map_err(|why| error(ErrorCode::InvalidParams, why.to_string()))
}
