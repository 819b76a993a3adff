//! A scale that is not chosen anew after a step, or at the wrong time.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script, Stale};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "scaler-not-updated",
    summary: "a scaler of gradients is not updated once after each step",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("scaler-not-updated"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for stale in script.stale_scales() {
        let (scaler, optimizer) = (&stale.scaler, &stale.optimizer);
        let (message, help) = match stale.kind {
            Stale::Never => (
                "the second step ends the run: nothing updates the scaler after the first".to_owned(),
                format!("call `{scaler}.update()` after the step"),
            ),
            Stale::EveryMicroBatch => (
                "the scaler is updated in micro-batches that do not step, which ends the run".to_owned(),
                format!("call `{scaler}.update()` right after `{scaler}.step({optimizer})`"),
            ),
            Stale::BeforeStep(_) => (
                format!("the scale changes between the backward pass and the step of `{optimizer}`"),
                format!("call `{scaler}.update()` once, after the last step"),
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &stale.at, message).help(help);
        finding = finding.replay(stale.step.and_then(|step| script.replay_of_order(step, Repair::Update)));
        if let Stale::BeforeStep(step) = stale.kind {
            finding = finding.because(step, "divides by another scale than the loss was multiplied with");
        }
        let fix = match stale.kind {
            Stale::Never => script.updated_after_step(&stale, "update"),
            Stale::EveryMicroBatch | Stale::BeforeStep(_) => script.update_moved(&stale),
        };
        let fix = fix.map(|edits| Fix::safe(title(stale.kind, scaler), edits));
        out.push(finding.fix(fix), &stale.at);
    }
}

fn title(kind: Stale, scaler: &str) -> String {
    match kind {
        Stale::Never => format!("insert `{scaler}.update()` after the step"),
        Stale::EveryMicroBatch | Stale::BeforeStep(_) => format!("move `{scaler}.update()` behind the step"),
    }
}
