//! A module whose constructor leaves out the constructor of the framework.

use super::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "missing-super-init",
    summary: "a module is used before the constructor of its base class ran",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-super-init"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for module in script.unready_modules() {
        let class = &module.class;
        let (message, help) = match module.attribute {
            Some(name) => (
                format!("`self.{name}` is assigned before `{class}` has called `super().__init__()`"),
                "call `super().__init__()` first in `__init__`",
            ),
            None => (
                format!("`{class}` never calls `super().__init__()`"),
                "call `super().__init__()` in the first line of `__init__`",
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &module.at, message)
            .note("the base class has no place for parameters and submodules yet: the run ends with an error")
            .help(help);
        let fix = script.constructed_first(&module);
        let fix = fix.map(|edits| Fix::safe("call `super().__init__()` first", edits));
        out.push(finding.fix(fix), &module.at);
    }
}
