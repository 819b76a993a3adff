//! Operands of one operation on two devices.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "device-mismatch",
    summary: "an operation mixes tensors of two devices",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("device-mismatch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for meeting in script.device_meetings() {
        let (one, other) = (meeting.one, meeting.other);
        let message = format!(
            "{} is on {}, {} on {}",
            one.what,
            one.device.describe(),
            other.what,
            other.device.describe()
        );
        let mut finding = script.finding(RULE.id, RULE.severity, &meeting.at, message);
        for side in [one, other] {
            if let Some(made) = side.made {
                finding = finding.because(made, format!("on {}", side.device.describe()));
            }
        }
        let help = match meeting.module_is_behind {
            true => "move the model, too: `model.to(device)` before the optimizer is made",
            false => "move both to one device",
        };
        out.push(
            finding.note(format!("{} of both ends the run with an error", meeting.operation)).help(help),
            &meeting.at,
        );
    }
}
