//! Fix all: what `trainlint check --fix` would make of a document. It takes several checks, so a thread of its own
//! does it, while the server goes on answering.

use super::client::error;
use super::documents::{Body, Document, code_of};
use super::edits::Changes;
use super::server::{LONGEST, Server, patience};
use crate::engine::fix::fix;
use crate::engine::{Panicked, Request, RunError, Silent, analysis, guarded};
use crate::report::Applicability;
use crate::source::{ReadError, SourceFile};
use crossbeam_channel::{Receiver, Sender, unbounded};
use gen_lsp_types::WorkspaceEdit;
use lsp_server::{ErrorCode, RequestId};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use thiserror::Error;

/// Each is a thread of its own.
const MOST_REPAIRS: usize = 8;

/// The requests that wait for a repair.
pub(crate) struct Repairs {
    waiting: Vec<(RequestId, Arc<AtomicBool>)>,
    done: Sender<Repaired>,
    pub finished: Receiver<Repaired>,
}

impl Default for Repairs {
    fn default() -> Repairs {
        let (done, finished) = unbounded();
        Repairs { waiting: Vec::new(), done, finished }
    }
}

/// What is to be answered when it is done.
pub(crate) struct Pending {
    id: RequestId,
    uri: String,
    edits: u64,
    /// An action, or a list of them.
    answer: Value,
    /// Which of the list lacks its edit.
    index: Option<usize>,
}

pub(crate) struct Repaired {
    pending: Pending,
    before: Arc<SourceFile>,
    /// The repaired text; none where nothing is to be repaired.
    after: Result<Option<SourceFile>, Failure>,
}

/// Why a document could not be repaired.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Panic(#[from] Panicked),
}

impl Repairs {
    /// Whether the request waited; nobody waits for its answer any more.
    pub(crate) fn take(&mut self, id: &RequestId) -> bool {
        let at = self.waiting.iter().position(|(waiting, _)| waiting == id);
        let Some((_, cancelled)) = at.map(|at| self.waiting.remove(at)) else { return false };
        cancelled.store(true, Ordering::Relaxed);
        true
    }
}

/// The action of a list that lacks its edit.
pub(crate) fn lacking(answer: &Value) -> Option<usize> {
    answer.as_array()?.iter().position(|action| action.pointer("/data/fixAll").is_some())
}

impl Server {
    /// Answers with the action, or the list of actions, once the one of them that repairs all has its edit.
    pub(crate) fn repair(&mut self, id: RequestId, answer: Value, index: Option<usize>) {
        let action = index.map_or(&answer, |index| &answer[index]);
        let Some(uri) = action.pointer("/data/fixAll").and_then(Value::as_str).map(str::to_owned) else {
            return self.client.respond(id, Ok(answer));
        };
        let asked = action.pointer("/data/edits").and_then(Value::as_u64);
        let Some(document) = self.documents.get(&uri).filter(|document| Some(document.edits) == asked) else {
            return self.client.respond(id, Err(error(ErrorCode::ContentModified, "the text has changed")));
        };
        let edits = document.edits;
        match self.to_repair(document) {
            Ok(_) if self.repairs.waiting.len() >= MOST_REPAIRS => {
                let why = "too many repairs at once";
                self.client.respond(id, Err(error(ErrorCode::RequestFailed, why)));
            }
            Ok((mut request, before)) => {
                let cancelled = Arc::new(AtomicBool::new(false));
                request.patience = patience(LONGEST, &cancelled);
                self.repairs.waiting.push((id.clone(), cancelled));
                let done = self.repairs.done.clone();
                let pending = Pending { id, uri, edits, answer, index };
                thread::spawn(move || {
                    let after = guarded(|| repaired(&request)).map_err(Failure::from).flatten();
                    // Nobody waits any more when the server has ended.
                    let _ = done.send(Repaired { pending, before, after });
                });
            }
            Err(why) => self.client.respond(id, Err(error(ErrorCode::RequestFailed, why))),
        }
    }

    /// What `trainlint check --fix` would be asked of a document, and its text.
    fn to_repair(&self, document: &Document) -> Result<(Request, Arc<SourceFile>), &'static str> {
        let path = document.path.as_deref().ok_or("the document has no place")?;
        let source = self.memory.library.held(path).ok_or("the document has no Python")?;
        let request = self.request(path).ok_or("the document is not checked")?;
        let stdin = Some((path.to_owned(), bytes(document)));
        Ok((Request { stdin, buffer: None, ..request }, source))
    }

    /// A repair is done.
    pub(crate) fn repaired(&mut self, repaired: Repaired) {
        let Repaired { pending, before, after } = repaired;
        let Pending { id, uri, edits, answer, index } = pending;
        // It may have been cancelled.
        if !self.repairs.take(&id) {
            return;
        }
        let document = self.documents.get(&uri).filter(|document| document.edits == edits);
        let answer = match (document, after) {
            (None, _) => Err(error(ErrorCode::ContentModified, "the text has changed")),
            (Some(_), Err(why)) => Err(error(ErrorCode::RequestFailed, why.to_string())),
            (Some(document), Ok(after)) => {
                let changes = Changes { document, source: &before, can: &self.client.can };
                Ok(filled(answer, index, after.and_then(|after| changes.rewrite(&after))))
            }
        };
        self.client.respond(id, answer);
    }
}

/// Of the document that stands for stdin.
fn repaired(request: &Request) -> Result<Option<SourceFile>, Failure> {
    let Some((path, _)) = &request.stdin else { return Ok(None) };
    let repaired = fix(request, Applicability::Safe, &Silent, &analysis::analyse)?;
    let file = repaired.files.iter().find(|file| file.path == *path);
    Ok(file.map(|file| SourceFile::from_bytes(path, &file.after)).transpose()?)
}

/// With the edit; an action of a list that has none to make is not offered.
fn filled(mut answer: Value, index: Option<usize>, edit: Option<WorkspaceEdit>) -> Value {
    match (index, edit) {
        (None, edit) => {
            answer["edit"] = edit.map_or_else(|| json!({ "changes": {} }), |edit| json!(edit));
        }
        (Some(index), Some(edit)) => {
            answer[index]["edit"] = json!(edit);
            answer[index].as_object_mut().map(|action| action.remove("data"));
        }
        (Some(index), None) => {
            answer.as_array_mut().map(|actions| actions.remove(index));
        }
    }
    answer
}

/// The bytes of a file that would hold the document. A byte order mark makes them UTF-8, whatever they declare.
fn bytes(document: &Document) -> Vec<u8> {
    match &document.body {
        Body::Script(text) => format!("\u{feff}{}", text.text.trim_start_matches('\u{feff}')).into_bytes(),
        Body::Notebook { cells, texts } => {
            let codes = code_of(cells, texts);
            let code = |index: u32| codes.iter().find(|(at, _)| *at == index).map(|(_, text)| *text);
            let cells = (1..).zip(cells).map(|(index, _)| match code(index) {
                Some(text) => json!({ "cell_type": "code", "source": text }),
                None => json!({ "cell_type": "markdown", "source": "" }),
            });
            json!({ "nbformat": 4, "cells": cells.collect::<Vec<_>>() }).to_string().into_bytes()
        }
    }
}
