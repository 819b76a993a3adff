//! What reaches a loss: its shape, what it went through, and where it lives.

use super::heads::Heads;
use super::{Places, Script};
use crate::apis::{Expects, Mark};
use crate::report::{Confidence, Place};
use crate::trace::{At, Side, Sight};
use crate::values::{Int, Tensor};
use std::rc::Rc;

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

pub struct Meeting<'a> {
    pub at: At,
    pub one: &'a Side,
    pub other: &'a Side,
    pub operation: Rc<str>,
    /// A module stayed where its input is not.
    pub module_is_behind: bool,
}

impl<'a> Script<'a> {
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

    pub fn device_meetings(&self) -> Vec<Meeting<'a>> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        let mut left = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Meet { one, other, operation } = sight else { continue };
            // What stays behind fails at its first use; the uses after it on the same way say nothing new.
            let behind = if one.device.is_gpu() { other } else { one };
            let again = behind.made.is_some_and(|made| {
                left.iter()
                    .any(|(known, loops, calls)| *known == made && *loops == at.loops && *calls == at.calls)
            });
            if again && !seen.contains(&at.place) {
                continue;
            }
            left.extend(behind.made.map(|made| (made, at.loops.clone(), at.calls.clone())));
            if seen.insert(at.place) {
                let module_is_behind = !one.device.is_gpu() && &**operation == "a forward";
                found.push(Meeting {
                    at: at.clone(),
                    one,
                    other,
                    operation: operation.clone(),
                    module_is_behind,
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
