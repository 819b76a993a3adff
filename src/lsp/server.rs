//! The server's state, and the loop around it: messages in, documents checked one after another, answers out.
//! What needs the findings of a text waits for them; what waits for a text that has changed is told so.

mod work;

use super::analyst::Analyst;
use super::client::{Abilities, Client, error, outdated_pull};
use super::confirm::{Confirmed, Finished, Replaying, Target};
use super::documents::Documents;
use super::findings::{Names, View, file_uri};
use super::parent::Parent;
use super::repairs::{self, Repairs};
use super::settings::{Run, Settings, section};
use super::{Checked, Host, uri};
use crate::engine::{Memory, Request, settings_for};
use crate::report::Diagnostic as Finding;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use gen_lsp_types::{MessageType, PublishDiagnosticsParams, Uri};
use lsp_server::{Connection, ErrorCode, Message, RequestId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use work::Busy;
pub(crate) use work::patience;

/// A check, or a repair, that takes longer than this is given up. Without optimisation all takes far longer.
pub(crate) const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 600 } else { 20 });
/// A keystroke waits for so many of the scripts that import its file.
const NEAREST: usize = 4;

/// A request that waits for the findings of a document.
struct Waiting {
    id: RequestId,
    /// The document that is checked.
    uri: String,
    edits: u64,
    question: Question,
}

/// What is answered from findings.
pub(crate) enum Question {
    Pull { uri: String, previous: Option<String> },
    Hover(Box<gen_lsp_types::HoverParams>),
    Actions(Box<gen_lsp_types::CodeActionParams>),
    Lenses { uri: String },
    Confirm(Target),
}

pub(crate) struct Folder {
    pub uri: String,
    pub path: PathBuf,
}

pub(crate) struct Server {
    pub client: Client,
    pub documents: Documents,
    pub folders: Vec<Folder>,
    pub host: Host,
    pub memory: Arc<Memory>,
    /// For all folders, and then for some of them by their URIs.
    pub settings: Settings,
    pub by_folder: FxHashMap<String, Settings>,
    pub shut_down: bool,
    analyst: Analyst,
    busy: Option<Busy>,
    /// Documents to check, the next one last.
    due: Vec<String>,
    /// Documents that took long: they are checked when no other is due, and make room for each.
    slow: FxHashSet<String>,
    checked: FxHashMap<String, Checked>,
    waiting: Vec<Waiting>,
    pub replaying: Option<Replaying>,
    pub finished: Sender<Finished>,
    replays: Receiver<Finished>,
    pub verdicts: Vec<Confirmed>,
    pub repairs: Repairs,
    /// What was complained of last, so that it is not said with every keystroke.
    complaint: String,
}

impl Server {
    pub(crate) fn new(
        connection: &Connection,
        host: Host,
        analyst: Analyst,
        can: Abilities,
        params: &Value,
    ) -> Server {
        let client = Client::new(connection.sender.clone(), can);
        let (finished, replays) = unbounded();
        let mut server = Server {
            client,
            documents: Documents::default(),
            folders: folders(params),
            host,
            memory: Arc::default(),
            settings: Settings::default(),
            by_folder: FxHashMap::default(),
            shut_down: false,
            analyst,
            busy: None,
            due: Vec::new(),
            slow: FxHashSet::default(),
            checked: FxHashMap::default(),
            waiting: Vec::new(),
            replaying: None,
            finished,
            replays,
            verdicts: Vec::new(),
            repairs: Repairs::default(),
            complaint: String::new(),
        };
        server.settings = server.read_settings(params.get("initializationOptions").unwrap_or(&Value::Null));
        server
    }

    /// Until the client says that it goes, or is gone; whether it said so in the right order.
    pub(crate) fn run(&mut self, messages: &Receiver<Message>, parent: &Parent) -> bool {
        let (done, replays) = (self.analyst.done.clone(), self.replays.clone());
        let repairs = self.repairs.finished.clone();
        loop {
            select! {
                recv(messages) -> message => match message {
                    Ok(message) => if self.message(message) { return self.shut_down },
                    Err(_) => return false,
                },
                recv(done) -> done => if let Ok(done) = done { self.done(done) },
                recv(replays) -> finished => if let Ok(finished) = finished { self.replayed(finished) },
                recv(parent.beats) -> _ => if parent.is_gone() { return false },
                recv(repairs) -> repaired => if let Ok(repaired) = repaired { self.repaired(repaired) },
            }
            // What is there already is heard before the next check begins: it may make it idle.
            while let Ok(message) = messages.try_recv() {
                if self.message(message) {
                    return self.shut_down;
                }
            }
            self.give_work();
        }
    }

    /// The deepest folder of the workspace around a file.
    pub(crate) fn folder_of(&self, path: &Path) -> Option<&Folder> {
        let around = self.folders.iter().filter(|folder| path.starts_with(&folder.path));
        around.max_by_key(|folder| folder.path.as_os_str().len())
    }

    /// Where documents lie that are not saved yet.
    pub(crate) fn first_root(&self) -> PathBuf {
        self.folders.first().map_or_else(|| self.host.cwd.clone(), |folder| folder.path.clone())
    }

    pub(crate) fn settings_of(&self, path: &Path) -> &Settings {
        let own = self.folder_of(path).and_then(|folder| self.by_folder.get(&folder.uri));
        own.unwrap_or(&self.settings)
    }

    pub(crate) fn read_settings(&self, sent: &Value) -> Settings {
        let (settings, wrong) = Settings::read(section(sent));
        for complaint in wrong {
            self.client.log(MessageType::Warning, &complaint);
        }
        settings
    }

    /// Has the findings of a document answer a question, now or as soon as they are there.
    pub(crate) fn ask(&mut self, id: RequestId, document: &str, question: Question) {
        let Some(edits) = self.documents.get(document).map(|document| document.edits) else { return };
        if self.may_answer(document, &question) {
            self.reply(id, document, question);
        } else {
            self.waiting.push(Waiting { id, uri: document.to_owned(), edits, question });
            let at_work = |busy: &Busy| busy.uri == document && busy.edits == edits && !busy.is_outdated;
            if !self.busy.as_ref().is_some_and(at_work) {
                self.check(document);
            }
        }
    }

    fn may_answer(&self, uri: &str, question: &Question) -> bool {
        let (Some(document), Some(checked)) = (self.documents.get(uri), self.checked.get(uri)) else {
            return false;
        };
        let on_save = self.settings_of(&checked.path).run == Run::OnSave;
        match question {
            Question::Pull { .. } => !checked.is_stale || (on_save && !self.due.contains(&document.uri)),
            _ => checked.edits == document.edits,
        }
    }

    fn reply(&mut self, id: RequestId, document: &str, question: Question) {
        if let Question::Confirm(target) = question {
            return self.confirm(id, document, &target);
        }
        let answer = self.answer(document, &question);
        match repairs::lacking(&answer) {
            Some(unfinished) if !self.client.can.resolves => self.repair(id, answer, Some(unfinished)),
            _ => self.client.respond(id, Ok(answer)),
        }
    }

    pub(crate) fn checked(&self, document: &str) -> Option<&Checked> {
        self.checked.get(document)
    }

    fn answer(&self, document: &str, question: &Question) -> Value {
        let Some(checked) = self.checked.get(document) else { return Value::Null };
        let view = View { checked, can: &self.client.can, names: self };
        match question {
            Question::Pull { uri, previous } => json!(self.pulled(&view, uri, previous.as_deref())),
            Question::Hover(params) => json!(self.hover(&view, params)),
            Question::Actions(params) => json!(self.actions(&view, params)),
            Question::Lenses { uri } => json!(self.lenses(&view, uri)),
            // It is answered when it has run.
            Question::Confirm(_) => Value::Null,
        }
    }

    /// Puts a document before all others that are to be checked.
    pub(crate) fn check(&mut self, uri: &str) {
        self.due.retain(|due| due != uri);
        self.due.push(uri.to_owned());
    }

    /// A document has another text now: what was asked of the old one can't be answered any more.
    pub(crate) fn changed(&mut self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let (edits, path) = (document.edits, document.path.clone());
        let (outdated, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| waiting.uri == uri && waiting.edits < edits);
        self.waiting = waiting;
        self.refuse(outdated);
        self.verdicts.retain(|known| !known.is_of(uri));
        if let Some(busy) = self.busy.as_ref().filter(|busy| busy.uri == uri) {
            busy.cancel();
        }
        if let Some(path) = path {
            self.hold(uri, &path);
            self.depend_on(&path, uri);
        }
        if let Some(checked) = self.checked.get_mut(uri) {
            checked.is_stale = true;
        }
    }

    fn refuse(&self, outdated: Vec<Waiting>) {
        for Waiting { id, question, .. } in outdated {
            let why = match question {
                Question::Pull { .. } => outdated_pull(),
                _ => error(ErrorCode::ContentModified, "the text has changed"),
            };
            self.client.respond(id, Err(why));
        }
    }

    /// Has the text of a document stand for its file.
    fn hold(&self, uri: &str, path: &Path) {
        match self.documents.get(uri).and_then(super::documents::Document::source) {
            Some(Ok(source)) => self.memory.library.hold(path.to_owned(), source),
            Some(Err(_)) | None => self.memory.library.release(path),
        }
    }

    /// Other documents that reached a file have to be checked again.
    fn depend_on(&mut self, path: &Path, changed: &str) {
        // Which files a check will have reached is not known before it is done.
        if let Some(busy) = self.busy.as_mut().filter(|busy| busy.uri != changed) {
            busy.outdate();
        }
        for (uri, checked) in &mut self.checked {
            if uri != changed && checked.outcome.reached.iter().any(|reached| reached == path) {
                checked.is_stale = true;
                if !self.client.can.pulls && !self.due.contains(uri) {
                    self.due.insert(0, uri.clone());
                }
            }
        }
    }

    /// Something on the disk, or in the settings, may have changed.
    pub(crate) fn all_changed(&mut self) {
        for checked in self.checked.values_mut() {
            checked.is_stale = true;
        }
        if let Some(busy) = &mut self.busy {
            busy.outdate();
        }
        if self.client.can.pulls {
            if self.client.can.refreshes {
                self.client.ask("workspace/diagnostic/refresh", Value::Null, super::client::Asked::Other);
            }
            return;
        }
        let open: Vec<String> = self.documents.iter().map(|document| document.uri.clone()).collect();
        open.iter().for_each(|uri| self.check(uri));
    }

    /// A document is gone, and with it what was said of it.
    pub(crate) fn closed(&mut self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let parts: Vec<String> = document.parts().iter().map(|(_, uri, _)| (*uri).to_owned()).collect();
        for part in parts.iter().filter(|_| !self.client.can.pulls) {
            let none =
                PublishDiagnosticsParams { uri: Uri(part.clone()), version: None, diagnostics: Vec::new() };
            self.client.notify("textDocument/publishDiagnostics", none);
        }
        let (outdated, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| waiting.uri == uri);
        self.waiting = waiting;
        self.refuse(outdated);
        self.due.retain(|due| due != uri);
        self.slow.remove(uri);
        if let Some(busy) = self.busy.as_ref().filter(|busy| busy.uri == uri) {
            busy.cancel();
        }
        self.checked.remove(uri);
        self.verdicts.retain(|known| !known.is_of(uri));
        if let Some(path) = self.documents.close(uri).and_then(|document| document.path) {
            self.memory.library.release(&path);
            self.depend_on(&path, uri);
        }
    }

    /// Takes back what waits; whether it was there.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.id == *id) {
            let Waiting { id, .. } = self.waiting.remove(at);
            self.client.respond(id, Err(error(ErrorCode::RequestCanceled, "cancelled")));
        } else if self.repairs.take(id) {
            self.client.respond(id.clone(), Err(error(ErrorCode::RequestCanceled, "cancelled")));
        } else {
            self.cancel_replay(id);
        }
    }

    /// What `trainlint check FILE` would be asked; none for what is not to be checked.
    pub(crate) fn request(&self, path: &Path) -> Option<Request> {
        let settings = self.settings_of(path);
        self.memory.library.held(path).filter(|_| settings.enable)?;
        let root = self.folder_of(path).map(|folder| folder.path.as_path()).or(path.parent())?;
        let request = Request {
            cwd: root.to_owned(),
            buffer: Some(path.to_owned()),
            origin: settings.origin(),
            overrides: settings.layer(root),
            importers: NEAREST,
            threads: 1,
            memory: Some(self.memory.clone()),
            ..Request::default()
        };
        (!self.is_of_others(path, &request)).then_some(request)
    }

    /// A file outside of the workspace that lies where others' files lie: a definition that was looked up.
    fn is_of_others(&self, path: &Path, request: &Request) -> bool {
        let is_outside = !self.folders.is_empty() && self.folder_of(path).is_none();
        let excludes = || {
            settings_for(request).is_ok_and(|settings| settings.exclude.matches_below(Path::new("/"), path))
        };
        is_outside && excludes()
    }

    /// Says what is wrong when it is news: errors to the user, the rest to the log.
    fn complain(&mut self, what: &str, level: MessageType) {
        if what == self.complaint {
            return;
        }
        what.clone_into(&mut self.complaint);
        match level {
            _ if what.is_empty() => {}
            MessageType::Error => self.client.show(level, &format!("trainlint: {what}")),
            _ => self.client.log(level, what),
        }
    }

    /// There are findings of a document: answers what waits for them.
    fn settle(&mut self, uri: &str, checked: Checked) {
        self.checked.insert(uri.to_owned(), checked);
        if !self.client.can.pulls {
            self.publish(uri);
        }
        let (ready, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| waiting.uri == uri);
        self.waiting = waiting;
        let ready: Vec<Waiting> = ready;
        for Waiting { id, question, .. } in ready {
            self.reply(id, uri, question);
        }
    }

    /// A verdict has come: what was shown of the document is shown again, with it.
    pub(crate) fn show_verdict(&mut self, uri: &str) {
        if !self.client.can.pulls {
            self.publish(uri);
        } else if self.client.can.refreshes {
            self.client.ask("workspace/diagnostic/refresh", Value::Null, super::client::Asked::Other);
        }
        if self.client.can.refreshes_lenses {
            self.client.ask("workspace/codeLens/refresh", Value::Null, super::client::Asked::Other);
        }
    }

    fn publish(&self, uri: &str) {
        let (Some(document), Some(checked)) = (self.documents.get(uri), self.checked.get(uri)) else {
            return;
        };
        let view = View { checked, can: &self.client.can, names: self };
        for (cell, part, version) in document.parts() {
            let diagnostics = view.diagnostics(cell);
            let params =
                PublishDiagnosticsParams { uri: Uri(part.to_owned()), version: Some(version), diagnostics };
            self.client.notify("textDocument/publishDiagnostics", params);
        }
    }
}

impl Checked {
    fn nothing(path: PathBuf, edits: u64) -> Checked {
        Checked { path, source: None, outcome: crate::engine::Outcome::default(), edits, is_stale: false }
    }
}

impl Names for Server {
    fn uri_of(&self, path: &Path, cell: Option<u32>) -> String {
        let open = self.documents.at(path);
        let part = open.and_then(|document| document.part(cell)).map(|(uri, _)| uri);
        part.or(open.map(|document| document.uri.as_str())).map_or_else(|| file_uri(path), str::to_owned)
    }

    fn verdict(&self, view: &View<'_>, finding: &Finding) -> Option<String> {
        Some(self.verdict_of(view, finding)?.verdict.verdict.name().to_lowercase())
    }
}

/// The folders of the workspace, or what clients said before there could be several.
fn folders(params: &Value) -> Vec<Folder> {
    let folder = |uri: &str| Some(Folder { uri: uri.to_owned(), path: uri::path_of(uri)? });
    let listed = params.get("workspaceFolders").and_then(Value::as_array);
    if let Some(listed) = listed.filter(|listed| !listed.is_empty()) {
        return listed.iter().filter_map(|one| folder(one.get("uri")?.as_str()?)).collect();
    }
    let root = params.get("rootUri").and_then(Value::as_str).and_then(folder);
    let old = || {
        let path = PathBuf::from(params.get("rootPath")?.as_str()?);
        Some(Folder { uri: file_uri(&path), path })
    };
    root.or_else(old).into_iter().collect()
}
