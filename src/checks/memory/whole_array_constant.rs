//! An array that becomes a constant as a whole.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "whole-array-constant",
    summary: "a large array is copied whole into a constant",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("whole-array-constant"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for whole in script.whole_arrays() {
        let size = units::bytes(whole.bytes);
        let message = if whole.traced {
            format!("{size} of data become a constant of the graph")
        } else {
            format!("{size} of data are copied to the device at once")
        };
        let mut finding = script.finding(RULE.id, whole.severity, &whole.at, message);
        if let Some(made) = whole.made {
            finding = finding.because(made, format!("{} {} = {size}", whole.shape, whole.dtype));
        }
        let (note, help) = if whole.traced {
            (
                "each trace of the function stores the array again, and a graph holds 2 GB at most",
                "pass the array to the function as an argument",
            )
        } else {
            ("the copy stays as long as the tensor", "feed it in batches, with `tf.data`")
        };
        out.push(finding.note(note).help(help), &whole.at);
    }
}
