//! A graph that is kept though nobody walks it again.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "needless-retain-graph",
    summary: "a backward keeps a graph that nobody walks again",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("needless-retain-graph"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for at in script.graphs_kept_in_vain() {
        let held = Some(script.kept_around(&at)).filter(|kept| *kept > 0).map(|kept| {
            Replay::Memory(Demand {
                wasted: true,
                ..Demand::of("the graph that is kept until the next one is there", kept)
            })
        });
        let fix = script.without_argument(at.place, "retain_graph");
        out.push(
            script
                .finding(RULE.id, RULE.severity, &at, "the graph is kept after this backward, and nobody walks it again")
                .note("the activations stay until the next forward is done, so two iterations are in memory at once")
                .replay(held)
                .fix(fix.map(|edits| Fix::safe("remove `retain_graph=True`", edits)))
                .help("call `backward()` without `retain_graph=True`"),
            &at,
        );
    }
}
