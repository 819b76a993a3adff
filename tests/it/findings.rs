//! The seam to the program under test: what `trainlint check` and `trainlint rules` say.
//! Nothing else in these tests knows how the program is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub struct Finding {
    pub rule: String,
    pub path: String,
    pub cell: Option<u32>,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub severity: String,
    pub confidence: String,
    pub message: String,
    #[serde(default)]
    pub help: Option<String>,
    #[serde(default)]
    pub related: Vec<Related>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub fix: Option<Proposed>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Proposed {
    pub title: String,
    pub applicability: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Related {
    pub line: u32,
    pub message: String,
}

impl Finding {
    /// Shown with `--pedantic` only.
    pub fn hidden(&self) -> bool {
        self.severity == "note" || self.confidence == "low"
    }
}

#[derive(Deserialize)]
struct Report {
    findings: Vec<Finding>,
}

/// The root of the project, which paths of findings are relative to.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(arguments: &[&str], paths: &[PathBuf]) -> Output {
    let program = env!("CARGO_BIN_EXE_trainlint");
    let output = Command::new(program)
        .args(arguments)
        .args(paths)
        .current_dir(root())
        .env_clear()
        .env("NO_COLOR", "1")
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 1)),
        "trainlint {arguments:?} ended with {code:?}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// All findings in files and folders given relative to the root, hidden ones too; one process.
pub fn findings_in(paths: &[PathBuf]) -> Vec<Finding> {
    let output = run(&["check", "--isolated", "--pedantic", "--output-format", "json"], paths);
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text).unwrap_or_else(|error| panic!("the report is no report: {error}\n{}", shortened(&text)))
}

/// The findings of a report, their paths relative to the root and with slashes.
fn read(report: &str) -> serde_json::Result<Vec<Finding>> {
    let report: Report = serde_json::from_str(report)?;
    let mut findings = report.findings;
    for finding in &mut findings {
        let path = Path::new(&finding.path);
        let relative = path.strip_prefix(root()).unwrap_or(path);
        finding.path = relative.to_string_lossy().trim_start_matches("./").replace('\\', "/");
    }
    Ok(findings)
}

/// Like `findings_in` for one folder, asked once however many tests want it.
pub fn findings_of(folder: &Path) -> Vec<Finding> {
    static KNOWN: OnceLock<Mutex<BTreeMap<PathBuf, Vec<Finding>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    // A test that failed while it held the lock leaves a map that is whole.
    let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(findings) = known.get(folder) {
        return findings.clone();
    }
    let findings = findings_in(&[folder.to_owned()]);
    known.insert(folder.to_owned(), findings.clone());
    findings
}

/// The ids that `trainlint rules` lists.
pub fn listed_rules() -> Vec<String> {
    let output = run(&["rules", "--output-format", "json"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let value: serde_json::Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("the list of rules is no JSON: {error}\n{}", shortened(&text)));
    let list = value.get("rules").unwrap_or(&value);
    let list = list.as_array().unwrap_or_else(|| panic!("no list of rules in {}", shortened(&text)));
    list.iter().filter_map(|rule| rule.get("id")?.as_str().map(str::to_owned)).collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(400).collect()
}

#[test]
fn reports_are_read() {
    let inside = root().join("fixtures/a.py").display().to_string();
    let finding = |path: &str| {
        serde_json::json!({
            "rule": "a-rule", "path": path, "cell": null, "line": 3, "column": 1, "end_line": 3, "end_column": 9,
            "severity": "note", "confidence": "high", "message": "says so", "help": null,
            "related": [{"path": path, "line": 1, "message": "because of this"}], "fix": null,
        })
    };
    let report =
        serde_json::json!({"version": 1, "findings": [finding(&inside), finding("./fixtures/a.py")]});
    let findings = read(&report.to_string()).unwrap();
    assert!(findings.iter().all(|one| one.path == "fixtures/a.py" && one.line == 3 && one.hidden()));
    assert_eq!(findings[0].related[0].message, "because of this");
    assert!(read("").is_err());
}
