//! Models that bring their inputs to where they are themselves.

use crate::interp::Interp;
use crate::syntax::FnId;
use crate::values::{ObjId, State};

/// Whether the forward of any class of the project that was loaded so far moves something to a device: of a model that
/// is one of many it may be that.
pub(super) fn a_model_fetches(cx: &Interp<'_>) -> bool {
    (0..cx.heap.len() as u32).map(ObjId).any(|object| {
        let State::Class(class) = &cx.heap.get(object).state else { return false };
        let module = cx.module(class.file);
        let is_forward = |function: FnId| {
            let function = module.tree.function(function);
            function.class == Some(class.class) && function.name == "forward"
        };
        let mut moves = module.relations().acts_where(|method| cx.sends(method));
        moves.any(|act| act.function.is_some_and(is_forward))
    })
}
