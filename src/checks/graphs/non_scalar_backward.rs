//! `backward()` on something that is not one number.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::trace::{At, Sight};
use crate::values::{Int, Tensor};

pub(super) static RULE: Rule = Rule {
    id: "non-scalar-backward",
    summary: "`backward()` is called on a loss that is not a scalar",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("non-scalar-backward"),
    check,
};

/// A backward of more than one number.
struct NonScalar {
    at: At,
    shape: String,
    /// As far as its sizes are known.
    elements: u64,
    made: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    for backward in non_scalar_backwards(script) {
        let mut finding = script.finding(
            RULE.id,
            RULE.severity,
            &backward.at,
            format!("`backward()` needs a scalar, but this loss has shape {}", backward.shape),
        );
        if let Some(made) = backward.made {
            finding = finding.because(made, "computed here");
        }
        let fix = script.behind_receiver(backward.at.place, ".mean()");
        out.push(
            finding
                .fix(fix.map(|edits| Fix::guess("reduce with `.mean()`", edits)))
                .replay(script.replay_of_elements(backward.elements))
                .note("PyTorch raises `grad can be implicitly created only for scalar outputs`")
                .help("reduce it first: `loss.mean().backward()`"),
            &backward.at,
        );
    }
}

fn non_scalar_backwards(script: &Script) -> Vec<NonScalar> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for (at, sight) in script.sightings() {
        let Sight::Backward { loss, has_gradient: false, .. } = sight else { continue };
        let Some(confidence) = not_one(loss) else { continue };
        if seen.insert(at.place) {
            found.push(NonScalar {
                at: At { confidence: at.confidence.min(confidence), ..at.clone() },
                shape: script.shape(loss),
                elements: known_elements(loss),
                made: loss.made.filter(|made| *made != at.place),
            });
        }
    }
    found
}

/// The product of the sizes that are known, and two where that is one.
fn known_elements(tensor: &Tensor) -> u64 {
    let sizes = sizes(tensor).iter().filter_map(Int::known);
    let product = sizes.fold(1_u64, |all, size| all.saturating_mul(u64::try_from(size).unwrap_or(1)));
    product.max(2)
}

/// The sizes that are known; of a batch of whatever samples the first.
fn sizes(tensor: &Tensor) -> &[Int] {
    match &tensor.shape {
        Some(shape) => shape,
        None => tensor.first.as_slice(),
    }
}

/// How sure it is that a tensor holds more than one number; `None` when it may be one.
fn not_one(tensor: &Tensor) -> Option<Confidence> {
    let shape = sizes(tensor);
    let known: i64 = shape.iter().filter_map(Int::known).product();
    let symbolic = shape.iter().any(|size| matches!(size, Int::Sum(_)));
    match (known, symbolic) {
        (known, _) if known > 1 => Some(Confidence::High),
        // Sizes beside it that nobody knows make it no smaller.
        (1, true) => Some(Confidence::Medium),
        _ => None,
    }
}
