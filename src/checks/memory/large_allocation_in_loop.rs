//! A large tensor that is allocated again and again.

use super::size_on_gpu::{TensorOnGpu, bytes_of};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::Severity;
use crate::trace::{At, PlacedOnGpu};
use crate::values::Tensor;

pub(super) static RULE: Rule = Rule {
    id: "large-allocation-in-loop",
    summary: "a large tensor is allocated on the GPU in every iteration",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("large-allocation-in-loop"),
    check,
};

/// A share of the target's memory from which it matters that a tensor is made again and again.
const LARGE_SHARE: f64 = 0.1;

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, placed) in script.observed::<PlacedOnGpu>() {
        if let Some(allocation) = large_allocation(script, at, &placed.tensor)
            && seen.insert(at.place)
        {
            report(script, &allocation, out);
        }
    }
}

fn large_allocation(script: &Script, at: &At, tensor: &Tensor) -> Option<TensorOnGpu> {
    let info = script.rehearsal.loop_info(*at.loops.last()?);
    // A batch is handed out, not made; what is older than the iteration is only moved.
    let anew = tensor.created >= info.first && tensor.created != u32::MAX;
    let bytes = bytes_of(tensor)?;
    let large = bytes as f64 >= script.target_bytes() as f64 * LARGE_SHARE;
    let severity = script.severity_of_size(bytes, Severity::Warning);
    (anew && large).then(|| TensorOnGpu::new(script, at, tensor, bytes, severity))
}

fn report(script: &Script, allocation: &TensorOnGpu, out: &mut Findings) {
    let message = format!("every iteration allocates {} on the GPU", allocation.size());
    let finding = script.finding(RULE.id, allocation.severity, &allocation.at, message);
    let sizes = allocation.shape_and_size();
    let finding = match allocation.made {
        Some(made) => finding.because(made, sizes),
        None => finding.note(sizes),
    };
    let (share, card) = (allocation.share(script), script.target_name());
    out.push(
        finding
            .note(format!(
                "that is {share:.0} % of {card}, and the previous tensor is not freed until its name is reassigned"
            ))
            .help("allocate it once before the loop and fill it in place, or process it in chunks")
            .replay(allocation.replay("the allocation of one iteration")),
        &allocation.at,
    );
}
