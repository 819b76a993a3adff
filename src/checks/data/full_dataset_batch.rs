//! A batch that is the whole dataset.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Fix, Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "full-dataset-batch",
    summary: "one batch is the whole dataset",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("full-dataset-batch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for batch in script.full_batches() {
        let mut finding =
            script.finding(RULE.id, batch.severity, &batch.at, "one batch is the whole dataset");
        if let Some(place) = batch.length_place {
            let samples =
                batch.samples.map_or("all samples".to_owned(), |n| format!("{} samples", units::count(n)));
            finding = finding.because(place, samples);
        }
        if let Some((place, text)) = &batch.origin {
            finding = finding.because(*place, text.clone());
        }
        if let Some(bytes) = batch.bytes {
            let kept = match batch.kept {
                0 => String::new(),
                kept => format!(", and keeps at least {} of activations", units::bytes(kept)),
            };
            let demand = Demand {
                samples: batch.samples.and_then(|samples| u64::try_from(samples).ok()),
                ..Demand::of("the batch, with what is kept of it,", bytes.saturating_add(batch.kept))
            };
            finding = finding.note(format!("each step moves {}{kept}", units::bytes(bytes)));
            finding = finding.replay(Replay::Memory(demand));
        }
        let updates = match batch.samples {
            Some(samples) => {
                format!("`batch_size=256` gives {} updates an epoch", units::count((samples + 255) / 256))
            }
            None => "a batch size such as 256 gives many".to_owned(),
        };
        let is_large = batch.samples.is_none_or(|samples| samples > 256);
        let fix = script.another_number(batch.at.place, "256").filter(|_| is_large);
        let finding = finding.fix(fix.map(|edits| Fix::guess("take batches of 256", edits)));
        out.push(finding.note("the model is updated once an epoch").help(updates), &batch.at);
    }
}
