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
    let is_one = |at: &At, seen: &GraphFreed| {
        !is_one_of_many(script, seen.recorded) && (seen.freed != at.place || goes_round(script, at, seen))
    };
    for (at, seen) in script.observed_once_where(is_one) {
        let finding = match seen.freed == at.place {
            true => script
                .finding(
                    RULE.id,
                    RULE.severity,
                    at,
                    "the second iteration's `backward()` goes through a graph that the first one has freed",
                )
                .because(seen.recorded, "this forward pass runs only once, before the loop")
                .help("run the forward pass in each iteration, or detach its output before the loop"),
            false => script
                .finding(
                    RULE.id,
                    RULE.severity,
                    at,
                    "this `backward()` goes through a graph that an earlier `backward()` has freed",
                )
                .because(seen.recorded, "both losses depend on this forward pass")
                .because(seen.freed, "frees the graph")
                .help("detach it for the first loss (`fake.detach()`), or add the losses and call `backward()` once"),
        }
        .note("PyTorch raises `Trying to backward through the graph a second time`");
        out.push(finding, at);
    }
}

/// Whether a loop that begins after the forward pass may have a second iteration.
fn goes_round(script: &Script, at: &At, seen: &GraphFreed) -> bool {
    let loops = at.loops.iter().map(|id| script.rehearsal.loop_info(*id));
    let mut later = loops.filter(|info| {
        info.place.file != seen.recorded.file || !info.place.span.contains(seen.recorded.span)
    });
    later.any(|info| info.count.known() != Some(1))
}

/// Whether a comprehension records it: it stands for the graph of each element.
fn is_one_of_many(script: &Script, recorded: Place) -> bool {
    let exprs = &script.project.module(recorded.file).tree.exprs;
    exprs
        .iter()
        .any(|expr| matches!(expr.kind, ExprKind::Comprehension(_)) && expr.span.contains(recorded.span))
}
