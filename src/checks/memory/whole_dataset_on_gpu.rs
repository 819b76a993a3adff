//! A dataset that is moved to the GPU as a whole.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "whole-dataset-on-gpu",
    summary: "a whole dataset is made resident on the GPU",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("whole-dataset-on-gpu"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for data in script.resident_data() {
        let size = units::bytes(data.bytes);
        let mut finding = script.finding(
            RULE.id,
            data.severity,
            &data.at,
            format!("{size} of data stay on the GPU for the whole run"),
        );
        if let Some(made) = data.made {
            finding = finding.because(made, format!("{} {} = {size}", data.shape, data.dtype));
        }
        let share = data.bytes as f64 / script.target_bytes() as f64 * 100.0;
        out.push(
            finding
                .note(format!("that is {share:.1} % of {}, before the first batch", script.target_name()))
                .help("keep the data on the CPU, and move each batch")
                .replay(Replay::Memory(Demand::of("the dataset", data.bytes))),
            &data.at,
        );
    }
}
