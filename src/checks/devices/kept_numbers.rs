//! A number that is kept as a tensor on the CPU, and to which one on the GPU is added in place: an operation gives its
//! result on the GPU, and what is written into has to be there.

use super::meetings::{Meeting, Side};
use crate::interp::{Augment, Checker, Interp};
use crate::values::{Device, Tensor, Value};
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker { on_augment: Some(added), ..Checker::SILENT };

/// `total += loss.detach()`, of `total = torch.tensor(0.0)`
fn added(cx: &mut Interp<'_>, sum: &Augment<'_>) {
    let (Value::Tensor(kept), Value::Tensor(more)) = (sum.before, sum.operand) else { return };
    let copies = |tensor: &Tensor| tensor.what.is_some_and(|what| cx.apis.is_copying(what));
    let is_kept = kept.device == Device::Cpu && kept.rank() == Some(0) && kept.made.is_some();
    if !is_kept || !more.device.is_gpu() || [kept, more].iter().any(|side| side.is_array || copies(side)) {
        return;
    }
    let side =
        |tensor: &Tensor, what: &str| Side { device: tensor.device, what: Rc::from(what), made: tensor.made };
    let meeting = Meeting::of(side(more, "what is added"), side(kept, "the sum"), "this in-place operation");
    let place = cx.expr_place(sum.target);
    cx.observe_on_the_way(place, meeting, kept.confidence.min(more.confidence));
}
