//! Loaders that shuffle where the script makes new tensors on the GPU by default: their order is drawn there, by a
//! generator of the CPU.

use super::meetings::{Meeting, Side};
use crate::apis::{Operand, Verb};
use crate::interp::{Checker, Interp, Invocation, LoaderCall, transfer};
use crate::report::{Confidence, Place};
use crate::values::{Device, FlowState, Value};
use std::rc::Rc;

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(called), on_loader_call: Some(made), ..Checker::SILENT };

/// Where the script has made the GPU the place of new tensors; on another path it may have no GPU.
#[derive(Clone, Default)]
struct OnGpu(Option<Place>);

impl FlowState for OnGpu {
    fn join(&self, other: &OnGpu) -> OnGpu {
        OnGpu(self.0.or(other.0))
    }
}

fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let effect = call.api.effects.iter().find(|effect| effect.verb == Verb::DefaultDevice);
    let Some(Operand::Param(name)) = effect.and_then(|effect| effect.args.first()) else { return };
    let told = call.get(name);
    let device = match transfer::device_named(&told) {
        Device::Unknown => transfer::tensor_type_device(&told).unwrap_or_default(),
        device => device,
    };
    let place = device.is_gpu().then_some(call.place);
    cx.heap.update(|on_gpu: &mut OnGpu| on_gpu.0 = place);
}

fn made(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    let call = loader.call;
    let Some(told) = cx.heap.state::<OnGpu>().and_then(|on_gpu| on_gpu.0) else { return };
    let draws = cx.truth(&call.get("shuffle")) == Some(true);
    if !draws || call.open || !matches!(call.get("generator"), Value::None) || cx.is_off_gpu() {
        return;
    }
    let what = |words: &str| Rc::from(words);
    let one = Side {
        device: Device::Accelerator,
        what: what("the order of this loader's samples"),
        made: Some(told),
    };
    let other = Side { device: Device::Cpu, what: what("the generator that draws it"), made: None };
    let at = cx.at(call.place, Confidence::High);
    cx.observe_at_for_good(
        at,
        Meeting { error: DRAWN, by_generator: true, ..Meeting::of(one, other, "iterating over it") },
    );
}

const DRAWN: &str = "Expected a 'cuda' device type for generator but found 'cpu'";
