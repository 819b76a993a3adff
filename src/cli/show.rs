//! `--show-files` and `--show-settings`: what a run would look at, and under which settings.

use super::CLEAN;
use super::output::Output;
use crate::engine::selection::RuleSet;
use crate::engine::settings::Settings;
use crate::engine::{self, Request, shown_path};
use crate::render;
use crate::report::{escaped, escaped_path, units};
use std::fmt::Write;

pub(crate) fn files(request: &Request, output: &Output) -> anyhow::Result<u8> {
    let mut text = String::new();
    for file in engine::files(request)? {
        text.push_str(&escaped_path(&shown_path(&request.cwd, &file.path)));
        text.push('\n');
    }
    output.out(text.as_bytes())?;
    Ok(CLEAN)
}

pub(crate) fn settings(request: &Request, output: &Output) -> anyhow::Result<u8> {
    let settings = engine::settings_for(request)?;
    output.out(describe(&settings, request).as_bytes())?;
    Ok(CLEAN)
}

fn describe(settings: &Settings, request: &Request) -> String {
    let mut text = String::new();
    let files: Vec<String> = settings.files.iter().map(|file| shown_path(&request.cwd, file)).collect();
    let from = if files.is_empty() {
        "no configuration file".to_owned()
    } else {
        escaped(&files.join(", ")).into_owned()
    };
    let ignores = settings.per_file_ignores.iter().map(|(glob, rules)| (glob.glob().glob(), rules.ids()));
    // Writing to a string does not fail.
    let _ = writeln!(text, "# from {from}");
    let _ = writeln!(text, "rules = {:?}", settings.rules.ids());
    for (glob, ids) in ignores {
        let _ = writeln!(text, "per-file-ignores.{glob:?} = {ids:?}");
    }
    let _ = writeln!(text, "exclude = {:?}", settings.exclude.written);
    let _ = writeln!(text, "force-exclude = {}", settings.force_exclude);
    let _ = writeln!(text, "min-confidence = {:?}", render::confidence(settings.min_confidence));
    let _ = writeln!(text, "min-severity = {:?}", render::severity(settings.min_severity));
    for (rule, severity) in &settings.severity {
        let _ = writeln!(text, "severity.{rule} = {:?}", render::severity(*severity));
    }
    if settings.fixable != RuleSet::all() {
        let _ = writeln!(text, "fixable = {:?}", settings.fixable.ids());
    }
    let _ = writeln!(text, "pedantic = {}", settings.pedantic);
    if let Some(baseline) = &settings.baseline {
        let _ = writeln!(text, "baseline = {:?}", shown_path(&request.cwd, baseline));
    }
    let apis: Vec<String> = settings.apis.iter().map(|path| shown_path(&request.cwd, path)).collect();
    let _ = writeln!(text, "apis = {apis:?}");
    let memory = units::bytes(settings.target.memory);
    let _ = writeln!(
        text,
        "target = {:?} ({memory}), {}",
        settings.target.name,
        units::plural(settings.gpus as usize, "card")
    );
    for (name, value) in &settings.values {
        let _ = writeln!(text, "values.{name} = {value:?}");
    }
    text
}
