//! `trainlint explain ID`: the page of a rule.

use super::CLEAN;
use super::args::ExplainArgs;
use super::output::Output;
use crate::engine::selection::{find_rule, known_rules};
use crate::engine::suggest::did_you_mean;
use crate::render;
use anyhow::bail;

pub(crate) fn run(args: &ExplainArgs, output: &Output) -> anyhow::Result<u8> {
    let Some(rule) = find_rule(&args.id) else {
        let hint = did_you_mean(&args.id, known_rules().iter().map(|rule| rule.id));
        bail!("unknown rule `{}`{hint} (`trainlint rules` lists them)", args.id);
    };
    output.out(render::page(rule.page, output.color).as_bytes())?;
    Ok(CLEAN)
}
