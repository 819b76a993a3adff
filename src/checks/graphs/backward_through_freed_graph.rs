//! A second backward pass through a graph that the first has freed.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Place, Severity};
use crate::syntax::ExprKind;
use crate::trace::{At, GraphFreed};

pub(super) static RULE: Rule = Rule {
    id: "backward-through-freed-graph",
    summary: "a second `backward()` goes through a graph that the first one has freed",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("backward-through-freed-graph"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let is_one = |_: &At, seen: &GraphFreed| !is_one_of_many(script, seen.recorded);
    for (at, seen) in script.observed_once_where(is_one) {
        let message = "this `backward()` goes through a graph that an earlier `backward()` has freed";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(seen.recorded, "both losses depend on this forward pass")
            .because(seen.freed, "frees the graph")
            .note("PyTorch raises `Trying to backward through the graph a second time`")
            .help("detach it for the first loss (`fake.detach()`), or add the losses and call `backward()` once");
        out.push(finding, at);
    }
}

/// Whether a comprehension records it: it stands for the graph of each element.
fn is_one_of_many(script: &Script, recorded: Place) -> bool {
    let exprs = &script.project.module(recorded.file).tree.exprs;
    exprs
        .iter()
        .any(|expr| matches!(expr.kind, ExprKind::Comprehension(_)) && expr.span.contains(recorded.span))
}
