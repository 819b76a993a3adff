//! A new tensor, or another new object, that the statement throws away.

use super::dropped::{DroppedResult, Kind};
use super::rebound::Rebound;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "dropped-result",
    summary: "a method's returned tensor is discarded as if it worked in place",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("dropped-result"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, dropped) in script.observed_once::<DroppedResult>() {
        let (receiver, method) = (&dropped.receiver, dropped.method);
        let (called, again) = match &dropped.function {
            Some(function) => (format!("{function}()"), format!("{function}({receiver}, ...)")),
            None => (format!(".{method}()"), format!("{receiver}.{method}(...)")),
        };
        let message =
            format!("`{receiver}` is unchanged: `{called}` is not in-place, and its result is discarded");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(match dropped.kind {
                Kind::Immutable => {
                    "arrays and states of JAX never change: what updates one returns a new one"
                }
                Kind::Dataset => "each method of a dataset returns a new one",
                Kind::Class(_) => {
                    "it is a class method: it creates a new object, and leaves this one as it is"
                }
                Kind::Tensor => {
                    "modules are moved and cast in place; for a tensor the method returns a new one"
                }
            })
            .help(match dropped.kind {
                Kind::Class(class) => {
                    format!(
                        "call it on the class, and assign the result: `{receiver} = {class}.{method}(...)`"
                    )
                }
                _ => format!("assign the result: `{receiver} = {again}`"),
            });
        let title = format!("assign the result to `{receiver}`");
        // A class method is to be called on the class, which may have no name here.
        let is_method = dropped.function.is_none() && !matches!(dropped.kind, Kind::Class(_));
        let fix = script.assigned_back(at.place).filter(|_| is_method);
        let fix = fix.map(|edits| match method.as_str() {
            // The code below may want the graph that this would cut off.
            "detach" => Fix::guess(title, edits),
            // A parameter can't be replaced by a tensor.
            _ if receiver.contains('.') => Fix::guess(title, edits),
            _ => Fix::safe(title, edits),
        });
        out.push(finding.fix(fix), at);
    }
    for (at, rebound) in script.observed_once::<Rebound>() {
        let Rebound { variable, method, over } = rebound;
        let message = format!(
            "`{over}` is unchanged: `{variable} = {variable}.{method}(...)` is only bound to `{variable}`"
        );
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("a loop variable is a name of its own: what the loop goes through keeps its tensors")
            .help(format!("assign each result to where the tensor came from: `x = x.{method}(...)`"));
        out.push(finding, at);
    }
}
