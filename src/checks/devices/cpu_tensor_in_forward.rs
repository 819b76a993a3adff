//! A tensor that a forward makes on the CPU, whatever device the model is on.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "cpu-tensor-in-forward",
    summary: "a forward makes a tensor on the CPU",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cpu-tensor-in-forward"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for found in script.stranded_tensors() {
        let class = &found.stranded.class;
        let message = match found.stranded.attribute {
            Some(name) => format!("`self.{name}` stays on the CPU when `{class}` is moved to the GPU"),
            None => format!("this tensor is made on the CPU, wherever `{class}` is"),
        };
        let help = match found.stranded.attribute {
            Some(name) => format!(
                "keep it with `self.register_buffer(\"{name}\", ...)`: a buffer moves with the module"
            ),
            None => "make it where the input is: pass `device=x.device`".to_owned(),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &found.at, message)
            .because(found.met, "meets the model's tensors here")
            .note("on the GPU the forward ends the run with an error")
            .help(help);
        let fix = script.made_beside(found.at.place, "device");
        let fix = fix.filter(|_| found.stranded.attribute.is_none());
        let fix = fix.map(|edits| Fix::safe("make it on the device of the input", edits));
        out.push(finding.fix(fix), &found.at);
    }
}
