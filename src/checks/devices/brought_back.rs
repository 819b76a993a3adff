//! Models that the script itself moves from the GPU to the CPU: where they are no longer says where they were made.

use crate::apis::Transfer;
use crate::interp::{ApiResult, Checker, Interp, Invocation};
use crate::report::Place;
use crate::values::{Device, ObjId};
use rustc_hash::FxHashMap;

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(moves), on_api_result: Some(moved), ..Checker::SILENT };

/// The modules that a call is about to move, of those on the GPU; and where each was moved to the CPU last.
#[derive(Default)]
struct Moves {
    on_gpu: Vec<ObjId>,
    back_at: FxHashMap<ObjId, Place>,
}

fn is_move(call: &Invocation<'_>) -> bool {
    call.gives.is_some_and(|gives| gives.verb == Transfer::Moved)
}

fn moves(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(model) = call.nth(0).as_obj().filter(|_| is_move(call)) else { return };
    let parts = cx.descendants(model);
    let on_gpu = parts.iter().filter(|part| cx.own_device(*part).is_some_and(Device::is_gpu)).collect();
    cx.remember(|moves: &mut Moves| moves.on_gpu = on_gpu);
}

fn moved(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    if !is_move(result.call) {
        return;
    }
    let mut left = cx.remember(|moves: &mut Moves| std::mem::take(&mut moves.on_gpu));
    left.retain(|part| cx.own_device(*part) == Some(Device::Cpu));
    let place = result.call.place;
    cx.remember(|moves: &mut Moves| moves.back_at.extend(left.into_iter().map(|part| (part, place))));
}

/// Where a module was moved to the CPU, if it was on the GPU before.
pub(super) fn brought_back(cx: &mut Interp<'_>, module: ObjId) -> Option<Place> {
    cx.remember(|moves: &mut Moves| moves.back_at.get(&module).copied())
}
