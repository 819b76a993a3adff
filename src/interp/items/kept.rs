//! What is written under a text into a batch that nobody knows: it stays in it.

use crate::interp::Interp;
use crate::report::Place;
use crate::syntax::{ExprId, ExprKind};
use crate::values::*;
use std::rc::Rc;

/// `batch["features"] = model(images)`: a dictionary, whatever else is in it.
pub(super) fn under_name(interp: &mut Interp<'_>, base: ExprId, index: &Value, value: Value, place: Place) {
    let is_local = matches!(interp.here().expr(base).kind, ExprKind::Name(_));
    let Some(key) = index.as_str().filter(|_| is_local).map(|key| Key::Str(Rc::from(key))) else { return };
    let kept = interp.dict(place, Entries::new(vec![(key, value)], Some(Value::Unknown)));
    interp.assign(base, kept);
}

/// Whether a tensor surely hangs on what computed it.
pub(super) fn is_recorded(value: &Value) -> bool {
    value.as_tensor().is_some_and(|tensor| matches!(tensor.graph, Graph::Live(_)))
}
