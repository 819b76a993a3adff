//! `trainlint rules`: every rule on a line.

use super::CLEAN;
use super::args::{ListFormat, RulesArgs};
use super::output::Output;
use crate::checks::Rule;
use crate::engine::selection::known_rules;
use crate::render;

pub(crate) fn run(args: &RulesArgs, output: &Output) -> anyhow::Result<u8> {
    let text = match args.output_format {
        ListFormat::Json => render::rules_json(&known_rules()),
        ListFormat::Text => table(&known_rules()).into_bytes(),
    };
    output.out(&text)?;
    Ok(CLEAN)
}

/// Rules, a line each.
pub(crate) fn table(rules: &[&Rule]) -> String {
    let wide = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let group = rules.iter().map(|rule| rule.group.name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for rule in rules {
        let severity = render::severity(rule.severity);
        text.push_str(&format!(
            "{:wide$}  {:group$}  {severity:7}  {}\n",
            rule.id,
            rule.group.name(),
            rule.summary
        ));
    }
    text
}
