//! What reaches a loss: its shape, and what it went through.

use super::heads::Heads;
use super::{Places, Script};
use crate::apis::{Expects, Mark};
use crate::report::{Confidence, Place};
use crate::trace::{At, Sight};
use crate::values::{Int, Tensor};

pub struct SoftmaxedLoss {
    pub at: At,
    pub softmax: Place,
    /// The loss expects logits because a flag says so.
    pub by_flag: bool,
    pub heads: Option<Heads>,
}

pub struct NonScalar {
    pub at: At,
    pub shape: String,
    /// As far as its sizes are known.
    pub elements: u64,
    pub made: Option<Place>,
}

impl Script<'_> {
    pub fn softmaxed_losses(&self) -> Vec<SoftmaxedLoss> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for loss in self.taught_losses() {
            let Some((Mark::Softmax, softmax)) = loss.input.mark else { continue };
            if loss.expects == Expects::Logits && seen.insert(loss.at.place) {
                let heads = loss.heads();
                found.push(SoftmaxedLoss { at: loss.at, softmax, by_flag: loss.compiled, heads });
            }
        }
        found
    }

    pub fn non_scalar_backwards(&self) -> Vec<NonScalar> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::Backward { loss, has_gradient: false, .. } = sight else { continue };
            let Some(confidence) = not_one(loss) else { continue };
            if seen.insert(at.place) {
                found.push(NonScalar {
                    at: At { confidence: at.confidence.min(confidence), ..at.clone() },
                    shape: self.shape(loss),
                    elements: known_elements(loss),
                    made: loss.made.filter(|made| *made != at.place),
                });
            }
        }
        found
    }
}

/// The product of the sizes that are known, and two where that is one.
fn known_elements(tensor: &Tensor) -> u64 {
    let sizes = tensor.shape.iter().flat_map(|shape| shape.iter()).filter_map(Int::known);
    let product = sizes.fold(1_u64, |all, size| all.saturating_mul(u64::try_from(size).unwrap_or(1)));
    product.max(2)
}

/// How sure it is that a tensor holds more than one number; `None` when it may be one.
fn not_one(tensor: &Tensor) -> Option<Confidence> {
    let shape = tensor.shape.as_ref()?;
    let known: i64 = shape.iter().filter_map(Int::known).product();
    let symbolic = shape.iter().any(|size| matches!(size, Int::Sum(_)));
    match (known, symbolic, shape.iter().any(Int::is_unknown)) {
        (known, _, _) if known > 1 => Some(Confidence::High),
        (1, true, false) => Some(Confidence::Medium),
        _ => None,
    }
}
