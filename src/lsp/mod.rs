//! The language server: what `trainlint check FILE` says, of what an editor holds, and what can be done about it.
//! One thread answers, another checks. Knows the engine and what is written of findings, and no rule.

mod actions;
mod analyst;
mod client;
mod completion;
mod confirm;
mod dispatch;
mod dispatcher;
mod documents;
mod edits;
mod findings;
mod frame;
mod hover;
mod initialize;
mod notifications;
mod parent;
mod plain;
mod position;
mod repairs;
mod requests;
mod server;
mod settings;
mod stdio;
mod uri;

pub use stdio::Stdio;

use crate::engine::Outcome;
use crate::source::SourceFile;
use analyst::Analyst;
use lsp_server::Connection;
use parent::Parent;
use server::Server;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the server needs to know of the process that it runs in.
#[derive(Clone, Debug)]
pub struct Host {
    /// Where what has no folder is taken to lie.
    pub cwd: PathBuf,
    /// trainlint itself, which replays in a process of its own.
    pub program: PathBuf,
    /// A document that takes longer than this waits until no other one is to be checked.
    pub quick: Duration,
}

/// What a check of a document found.
pub struct Checked {
    pub path: PathBuf,
    /// The text that was checked; none where it could not be read.
    pub source: Option<Arc<SourceFile>>,
    pub outcome: Outcome,
    /// The count of the document's changes at that time.
    edits: u64,
    /// Something that it rests on may have changed since.
    is_stale: bool,
}

/// Talks until the client is done; false when it went without a word.
pub fn serve(connection: &Connection, host: Host) -> io::Result<bool> {
    let analyst = Analyst::start()?;
    let (id, params) = connection.initialize_start().map_err(io::Error::other)?;
    let can = client::Abilities::of(&params);
    let result = initialize::result(&can);
    let mut server = Server::new(connection, host, analyst, can, &params);
    server.client.respond(id, Ok(result));
    let ended = server.run(&connection.receiver, &Parent::of(&params));
    server.end_replay();
    Ok(ended)
}
