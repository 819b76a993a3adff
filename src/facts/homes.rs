//! Tensors that a forward leaves on the CPU.

use super::{Places, Script};
use crate::report::{Confidence, Place};
use crate::trace::{At, Sight, Stranded};
use std::rc::Rc;

pub struct StrandedTensor {
    /// Where the tensor was made.
    pub at: At,
    /// Where it met the model.
    pub met: Place,
    pub stranded: Rc<Stranded>,
}

impl Script<'_> {
    /// Each once, and where the model is trained on the GPU, or may be.
    pub fn stranded_tensors(&self) -> Vec<StrandedTensor> {
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Stranded(stranded) = sight else { continue };
            let Some(confidence) = self.trust_in_gpu(stranded) else { continue };
            if seen.insert(stranded.made) {
                let confidence = at.confidence.min(confidence);
                let place = stranded.made;
                found.push(StrandedTensor {
                    at: At { place, calls: Rc::from([]), confidence, ..at.clone() },
                    met: at.place,
                    stranded: stranded.clone(),
                });
            }
        }
        found
    }

    /// How sure it is that the model runs on the GPU; `None` where nothing says so.
    fn trust_in_gpu(&self, stranded: &Stranded) -> Option<Confidence> {
        if stranded.device.is_gpu() {
            Some(Confidence::High)
        } else if stranded.placed || self.rehearsal.uses_gpu {
            Some(Confidence::Medium)
        } else {
            // Whoever makes an instance decides.
            None
        }
    }
}
