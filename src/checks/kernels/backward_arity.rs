//! A hand-written backward that returns too few or too many gradients.

use super::backward_returns::WrongArity;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "backward-arity",
    summary: "a custom `backward` returns the wrong number of gradients",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("backward-arity"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, arity) in script.observed::<WrongArity>() {
        if !seen.insert(at.place) {
            continue;
        }
        let inputs = match (arity.fewest, arity.most) {
            (1, 1) => "1 input".to_owned(),
            (fewest, most) if fewest == most => format!("{most} inputs"),
            (fewest, most) => format!("{fewest} to {most} inputs"),
        };
        let gradients = if arity.given == 1 { "gradient" } else { "gradients" };
        let message =
            format!("this `backward` returns {} {gradients}, but its `forward` has {inputs}", arity.given);
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(arity.forward, "`backward` must return one gradient per input after `ctx`")
            .note("the first backward pass raises `returned an incorrect number of gradients`")
            .help("return `None` for inputs that do not need a gradient");
        out.push(finding, at);
    }
}
