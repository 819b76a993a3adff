//! A large tensor that is allocated again and again.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "large-allocation-in-loop",
    summary: "a large tensor is made on the GPU in every iteration",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("large-allocation-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for allocation in script.large_allocations() {
        let size = units::bytes(allocation.bytes);
        let mut finding = script.finding(
            RULE.id,
            allocation.severity,
            &allocation.at,
            format!("every iteration allocates {size} on the GPU"),
        );
        let sizes = format!("{} {} = {size}", allocation.shape, allocation.dtype);
        finding = match allocation.made {
            Some(made) => finding.because(made, sizes),
            None => finding.note(sizes),
        };
        let share = allocation.bytes as f64 / script.target_bytes() as f64 * 100.0;
        out.push(
            finding
                .note(format!(
                    "that is {share:.0} % of {}, and the tensor before it is alive until the name is bound again",
                    script.target_name()
                ))
                .help("make it once before the loop and fill it in place, or work on parts of it")
                .replay(Replay::Memory(Demand::of("the allocation of one iteration", allocation.bytes))),
            &allocation.at,
        );
    }
}
