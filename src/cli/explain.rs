//! `trainlint explain NAME`: the page of a rule, or the rules of a group.

use super::CLEAN;
use super::args::{ExplainArgs, ListFormat};
use super::output::Output;
use super::rules::table;
use crate::checks::Rule;
use crate::engine::selection::{Selector, known_names, known_rules};
use crate::engine::suggest::did_you_mean;
use crate::render;
use anyhow::anyhow;

pub(crate) fn run(args: &ExplainArgs, output: &Output) -> anyhow::Result<u8> {
    let selector = Selector::parse(&args.id).map_err(|_| {
        let hint = did_you_mean(&args.id, known_names());
        anyhow!("unknown rule `{}`{hint} (`trainlint rules` lists them)", args.id)
    })?;
    let meant: Vec<&Rule> = known_rules().into_iter().filter(|rule| selector.matches(rule)).collect();
    let text = match (args.output_format, &meant[..]) {
        (ListFormat::Json, rules) => render::rules_json(rules),
        (ListFormat::Text, [rule]) => render::page(rule.page, output.color).into_bytes(),
        (ListFormat::Text, rules) => table(rules).into_bytes(),
    };
    output.out(&text)?;
    Ok(CLEAN)
}
