//! Calls of modules from outside of any forward, while they run: what went wrong inside is told once, and what the
//! whole model was called with is at fault outside.

use crate::interp::{Checker, ForwardCall, Interp, given_tensors};
use crate::report::Confidence;
use crate::trace::At;
use crate::values::{Device, ObjId, Tensor, Value};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) static CHECKER: Checker =
    Checker { on_forward: Some(open), on_forward_end: Some(close), ..Checker::SILENT };

/// A call of a module that runs.
pub(super) struct OpenForward {
    pub module: ObjId,
    pub at: At,
    /// All tensors that it was called with, wherever they are.
    pub given: Vec<Rc<Tensor>>,
    /// Tensors on two devices met in it: where its output is no longer matters.
    pub failed: bool,
    /// Numbers of a dtype met weights of another in it.
    pub mistyped: bool,
}

/// The calls that run, outermost first.
#[derive(Default)]
pub(super) struct Forwards(pub Vec<OpenForward>);

fn open(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let given = given_tensors(forward.call);
    let at = cx.at(forward.call.place, Confidence::High);
    let open = OpenForward { module: forward.module, at, given, failed: false, mistyped: false };
    cx.remember(|all: &mut Forwards| all.0.push(open));
}

/// What comes out of a forward that ends the run is on no device, and of no dtype.
fn close(cx: &mut Interp<'_>, output: &RefCell<Value>) {
    let Some(open) = cx.remember(|all: &mut Forwards| all.0.pop()) else { return };
    if open.failed {
        let moved = cx.on_device(&output.borrow(), Device::Unknown);
        output.replace(moved);
    }
    if open.mistyped {
        let untyped = output.borrow().as_tensor().map(|tensor| Tensor { dtype: None, ..(**tensor).clone() });
        untyped.map(|tensor| output.replace(Value::tensor(tensor)));
    }
}
