//! `trainlint.confirm`: the finding under the cursor is run in a process of its own, and the verdict shown. The
//! process is `trainlint replay`, so that a verdict here is one of the command line.

use super::client::{Client, error};
use super::findings::View;
use super::server::Server;
use crate::engine::{Outcome, settings_for};
use crate::replay::outcome::{Outcome as Verdict, Results};
use crate::replay::plan::{self, Limits, Plan, SAMPLES, SEED, Settings};
use crate::replay::text;
use crate::report::{Diagnostic as Finding, Span};
use crossbeam_channel::Sender;
use gen_lsp_types::{CodeLens, Command, ExecuteCommandParams, MessageType, Position};
use lsp_server::{ErrorCode, RequestId, ResponseError};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{self, Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub(crate) const CONFIRM: &str = "trainlint.confirm";

/// Where the finding is that is to be run.
pub(crate) struct Target {
    /// As the client names it, which may be a cell.
    pub uri: String,
    position: Position,
    token: Option<Value>,
}

/// A replay that runs.
pub(crate) struct Replaying {
    pub id: RequestId,
    child: Arc<Mutex<Child>>,
    about: About,
    token: Option<Value>,
}

/// Which finding, of which text.
#[derive(Clone)]
struct About {
    /// Of the document that was checked.
    document: String,
    edits: u64,
    rule: &'static str,
    span: Span,
}

/// A verdict, as long as the text stays what it was.
pub(crate) struct Confirmed {
    about: About,
    pub verdict: Verdict,
    pub told: String,
}

impl Confirmed {
    pub(crate) fn is_of(&self, document: &str) -> bool {
        self.about.document == document
    }
}

pub(crate) type Finished = Result<Results, String>;

impl Target {
    /// The arguments of the command: an object with `uri` and `position`, as lenses have it, or the two of them.
    pub(crate) fn read(params: ExecuteCommandParams) -> Result<Target, ResponseError> {
        let given = params.arguments.unwrap_or_default();
        let (uri, position) = match given.as_slice() {
            [Value::String(uri), position] => (Some(uri.clone()), position.clone()),
            [one] => (one["uri"].as_str().map(str::to_owned), one["position"].clone()),
            _ => (None, Value::Null),
        };
        let token = params.work_done_progress_params.work_done_token.map(|token| json!(token));
        match (uri, serde_json::from_value(position)) {
            (Some(uri), Ok(position)) => Ok(Target { uri, position, token }),
            _ => {
                let what = format!("{CONFIRM} takes one argument, {{\"uri\": …, \"position\": …}}");
                Err(error(ErrorCode::InvalidParams, what))
            }
        }
    }
}

impl Server {
    /// Starts the replay of the finding at a place; the answer follows when it has ended.
    pub(crate) fn confirm(&mut self, id: RequestId, document: &str, target: &Target) {
        if let Err(why) = self.start(&id, document, target) {
            self.client.show(MessageType::Info, &format!("trainlint: {why}"));
            self.client.respond(id, Err(error(ErrorCode::RequestFailed, why)));
        }
    }

    fn start(&mut self, id: &RequestId, document: &str, target: &Target) -> Result<(), String> {
        if self.replaying.is_some() {
            return Err("a replay is already running".to_owned());
        }
        let checked = self.checked(document).ok_or("the document was not checked")?;
        let view = View { checked, can: &self.client.can, names: self };
        let cell = self.documents.seat(&target.uri).and_then(|seat| seat.cell);
        let finding = at(&view, cell, target.position)?.clone();
        let request = self.request(&checked.path).ok_or("the document is not checked")?;
        let card = settings_for(&request).map_err(|error| error.to_string())?.target.clone();
        let settings = Settings {
            seed: SEED,
            samples: SAMPLES,
            limits: Limits::default(),
            capacity: card.memory,
            card: card.name,
        };
        let sources = checked.outcome.sources.clone();
        let alone = Outcome { findings: vec![finding.clone()], sources, ..Outcome::default() };
        let plan = plan::make(&alone, &settings);
        if plan.items.is_empty() {
            return Err(format!("`{}` can't be replayed", finding.rule));
        }
        let (rule, span) = (finding.rule, finding.place.span);
        let about = About { document: document.to_owned(), edits: checked.edits, rule, span };
        let child = spawn(&self.host.program, &plan, self.finished.clone())
            .map_err(|error| format!("the process that replays can't be started: {error}"))?;
        let token = target.token.clone().or_else(|| self.client.create_progress());
        self.client.progress(&token, json!({ "kind": "begin", "title": "Replaying", "message": rule }));
        self.replaying = Some(Replaying { id: id.clone(), child, about, token });
        Ok(())
    }

    /// Ends the replay that a request waits for.
    pub(crate) fn cancel_replay(&self, id: &RequestId) {
        if self.replaying.as_ref().is_some_and(|replaying| replaying.id == *id) {
            self.end_replay();
        }
    }

    /// What it has not said will not come, and that is what whoever waits for it is told.
    pub(crate) fn end_replay(&self) {
        if let Some(replaying) = &self.replaying {
            // One that has ended by itself needs no end.
            let _ = replaying.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }

    pub(crate) fn replayed(&mut self, finished: Finished) {
        let Some(Replaying { id, about, token, .. }) = self.replaying.take() else { return };
        self.client.progress(&token, json!({ "kind": "end" }));
        let answer = match finished {
            Ok(mut results) if !results.items.is_empty() => {
                let told = text::text(&results, false);
                let verdict = results.items.remove(0);
                self.client.show(MessageType::Info, &headline(&verdict));
                let answer = json!({ "verdict": verdict.verdict, "rule": verdict.rule, "text": told });
                self.verdicts
                    .retain(|known| known.about.document != about.document || known.about.span != about.span);
                self.verdicts.push(Confirmed { about: about.clone(), verdict, told });
                self.show_verdict(&about.document);
                Ok(answer)
            }
            Ok(_) => Err("the replay returned no result".to_owned()),
            Err(why) => Err(why),
        };
        self.client.respond(id, answer.map_err(|why| error(ErrorCode::RequestFailed, why)));
    }

    /// What a replay of a finding came to, if its text is still the same.
    pub(crate) fn verdict_of(&self, view: &View<'_>, finding: &Finding) -> Option<&Confirmed> {
        let document = self.documents.at(&view.checked.path)?;
        self.verdicts.iter().find(|known| {
            known.about.document == document.uri
                && known.about.edits == document.edits
                && known.about.rule == finding.rule
                && known.about.span == finding.place.span
        })
    }

    /// A lens over every finding of a document that can be run.
    pub(crate) fn lenses(&self, view: &View<'_>, uri: &str) -> Vec<CodeLens> {
        let Some(seat) = self.documents.seat(uri) else { return Vec::new() };
        if !self.settings_of(&view.checked.path).code_lens {
            return Vec::new();
        }
        let lens = |(finding, range): (&Finding, gen_lsp_types::Range)| {
            let title = match self.verdict_of(view, finding) {
                Some(known) => format!("{}: {}", finding.rule, known.verdict.verdict.name().to_lowercase()),
                None => format!("Confirm {} by running it", finding.rule),
            };
            let argument = json!({ "uri": uri, "position": range.start });
            let command = Command::new(title, None, CONFIRM.to_owned(), Some(vec![argument]));
            CodeLens::new(range, Some(command), None)
        };
        let runnable = view.of_cell(seat.cell).filter(|(finding, _)| finding.replay.is_some());
        runnable.map(lens).collect()
    }
}

/// The finding under the cursor, or the only one of its line, that can be run.
fn at<'a>(view: &'a View<'_>, cell: Option<u32>, position: Position) -> Result<&'a Finding, String> {
    let found: Vec<_> = view.of_cell(cell).filter(|(finding, _)| finding.replay.is_some()).collect();
    let under = found.iter().find(|(_, range)| range.start <= position && position <= range.end);
    let on_line = || found.iter().find(|(_, range)| range.start.line == position.line);
    let (finding, _) = under.or_else(on_line).ok_or("there is no finding here that can be replayed")?;
    Ok(finding)
}

fn headline(verdict: &Verdict) -> String {
    let Verdict { rule, line, verdict, evidence, reason, .. } = verdict;
    let evidence = evidence.map_or_else(String::new, |evidence| format!(" ({})", evidence.name()));
    let reason = reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("trainlint: {rule} in line {line} is {}{evidence}{reason}", verdict.name().to_lowercase())
}

/// The process, and a thread that waits for what it says.
fn spawn(program: &Path, plan: &Plan, finished: Sender<Finished>) -> io::Result<Arc<Mutex<Child>>> {
    let mut file = tempfile::Builder::new().prefix("trainlint-").suffix(".json").tempfile()?;
    file.write_all(&plan::write(plan))?;
    file.flush()?;
    let mut command = process::Command::new(program);
    command.arg("replay").arg(file.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let child = Arc::new(Mutex::new(child));
    let waiting = child.clone();
    thread::Builder::new().name("replay".to_owned()).spawn(move || {
        let (mut said, mut complained) = (Vec::new(), String::new());
        let read = output.map(|mut output| output.read_to_end(&mut said));
        // Little is said there, so that it can wait until all else is read.
        let _ = errors.map(|mut errors| errors.read_to_string(&mut complained));
        let _ = waiting.lock().unwrap_or_else(PoisonError::into_inner).wait();
        drop(file);
        let results = serde_json::from_slice::<Results>(&said);
        let _ = finished.send(match (read, results) {
            (Some(Ok(_)), Ok(results)) => Ok(results),
            _ => Err(format!("the replay ended without a verdict: {}", complained.trim())),
        });
    })?;
    Ok(child)
}

impl Client {
    /// A token of the server's own, where the client shows progress.
    fn create_progress(&mut self) -> Option<Value> {
        if !self.can.progress {
            return None;
        }
        let token = json!("trainlint-replay");
        self.ask("window/workDoneProgress/create", json!({ "token": token }), super::client::Asked::Other);
        Some(token)
    }

    fn progress(&self, token: &Option<Value>, value: Value) {
        if let Some(token) = token {
            self.notify("$/progress", json!({ "token": token, "value": value }));
        }
    }
}
