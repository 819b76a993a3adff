//! A project in a folder of its own, and trainlint run on it in an environment that holds
//! nothing of the tester's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use trainlint::engine::analysis::{FileReport, Project as Scripts, source};
use trainlint::engine::configs::Origin;
use trainlint::engine::{Outcome, Request, Silent, check_with};
use trainlint::report::{Confidence, Diagnostic, FileId, Place, Severity, Span};

/// Removed when the test is over.
pub struct Project {
    root: PathBuf,
}

/// What a run of the binary gave.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Project {
    pub fn new() -> Project {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("trainlint-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        Project { root: root.canonicalize().unwrap() }
    }

    /// Writes a file, with the folders it needs.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Project {
        let mut text = text.as_ref().to_vec();
        // The rehearsal is made up; what lets a script in is not.
        if path.ends_with(".py") && text.starts_with(b"import torch") {
            text.extend_from_slice(b"'.backward'\n");
        }
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainlint"));
        command.args(args).current_dir(&self.root).env_clear().stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    pub fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// What `--show-files` lists with these arguments.
    pub fn listed(&self, args: &[&str]) -> Vec<String> {
        let ran = self.run(&[&["check", "--show-files"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.lines().map(str::to_owned).collect()
    }

    pub fn request(&self, threads: usize) -> Request {
        let cwd = self.root.clone();
        Request {
            cwd,
            paths: vec![PathBuf::from(".")],
            origin: Origin::Closest,
            importers: 32,
            threads,
            ..Request::default()
        }
    }

    /// As if trainlint were called in a folder of the project.
    pub fn request_in(&self, folder: &str, threads: usize) -> Request {
        Request { cwd: self.root.join(folder), ..self.request(threads) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// The engine on an analysis that finds what the marks in the text say.
    pub fn rehearse(&self, request: &Request) -> Outcome {
        check_with(request, &Silent, &|scripts, file, _| marked(scripts, file)).unwrap()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Ran {
    pub fn of(output: std::process::Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A name that stands for a finding wherever it stands in a script: rule, severity, confidence.
const MARKS: [(&str, &str, Severity, Confidence); 4] = [
    ("BAD_DIVISION", "unsafe-division", Severity::Warning, Confidence::High),
    ("BAD_GRADIENT", "missing-zero-grad", Severity::Error, Confidence::High),
    ("MERE_NOTE", "full-dataset-batch", Severity::Note, Confidence::High),
    ("MERE_GUESS", "unsafe-division", Severity::Warning, Confidence::Low),
];

/// A rehearsal that goes by [`MARKS`], `BECAUSE` (a related place) and `PANIC`.
fn marked(scripts: &Scripts, file: FileId) -> FileReport {
    let source = source(scripts, file);
    let span = |at: usize, word: &str| Span::new(at as u32, (at + word.len()) as u32);
    assert!(!source.text.contains("PANIC"), "the rehearsal fell over");
    let mut report = FileReport { out_of_fuel: source.text.contains("ENDLESS"), ..FileReport::default() };
    let related: Vec<Place> =
        source.text.match_indices("BECAUSE").map(|(at, word)| Place::new(file, span(at, word))).collect();
    for (mark, rule, severity, confidence) in MARKS {
        for (at, word) in source.text.match_indices(mark) {
            let place = Place::new(file, span(at, word));
            let mut finding = Diagnostic::new(rule, severity, place, format!("{mark} breaks the run"))
                .confidence(confidence)
                .note("every step")
                .help("remove it");
            for place in &related {
                finding = finding.because(*place, "set here");
            }
            report.findings.push((finding, None));
        }
    }
    report
}
