//! What `trainlint doctor` tells, for people and for programs.

use super::words::printable;
use crate::engine::doctor::{Check, Report};

pub(crate) fn doctor_json(report: &Report) -> Vec<u8> {
    super::json_text(report)
}

/// One line for each check: what is; what is needed; what to do.
pub fn doctor(report: &Report) -> String {
    if report.checks.is_empty() {
        return "nothing to check\n".to_owned();
    }
    report.checks.iter().map(line).collect()
}

fn line(check: &Check) -> String {
    let place = match (&check.path, check.line) {
        (Some(path), Some(line)) => format!("{path}:{line}: "),
        (Some(path), None) => format!("{path}: "),
        _ => String::new(),
    };
    let mut text = format!("{:<8} {:<14} {place}{}", check.status.name(), check.name, check.found);
    for part in check.required.iter().chain(&check.help) {
        text.push_str("; ");
        text.push_str(part);
    }
    text = printable(&text);
    text.push('\n');
    text
}
