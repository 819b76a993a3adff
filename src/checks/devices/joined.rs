//! Lists that get tensors of the CPU and of the model by and by, and are joined in one tensor. Numbers count, too:
//! nothing moves them there.

use super::meetings::{Meeting, Side};
use super::stranded::strand_joined;
use crate::interp::{Checker, ContainerWrite, Interp, Invocation, collect_tensors};
use crate::report::{Confidence, Place};
use crate::values::{Device, DeviceOrigin, FlowState, ObjId, State, Tensor, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) static CHECKER: Checker =
    Checker { on_container_write: Some(kept), on_call: Some(joined), ..Checker::SILENT };

/// What a list got so far, on one path or another.
#[derive(Clone, Default)]
struct Mixed {
    /// What stays on the CPU, and where it was made.
    stray: Option<(Rc<Tensor>, Place)>,
    /// Something on the GPU, or where the model is.
    home: Option<Rc<Tensor>>,
}

impl Mixed {
    fn add(&mut self, tensor: &Rc<Tensor>) {
        match tensor.device_origin {
            _ if tensor.is_array => {}
            Some(DeviceOrigin::Default { made, joined: false, .. }) if tensor.device == Device::Cpu => {
                self.stray.get_or_insert((tensor.clone(), made));
            }
            Some(DeviceOrigin::Module) if tensor.device != Device::Cpu => {
                self.home.get_or_insert(tensor.clone());
            }
            _ if tensor.device.is_chosen_gpu() => {
                self.home.get_or_insert(tensor.clone());
            }
            _ => {}
        }
    }
}

/// What the lists got that are filled one by one.
#[derive(Clone, Default)]
struct Filled(FxHashMap<ObjId, Mixed>);

impl FlowState for Filled {
    fn join(&self, other: &Filled) -> Filled {
        let mut all = self.clone();
        for (list, mixed) in &other.0 {
            let own = all.0.entry(*list).or_default();
            own.stray = own.stray.take().or_else(|| mixed.stray.clone());
            own.home = own.home.take().or_else(|| mixed.home.clone());
        }
        all
    }
}

fn kept(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) {
    let Some(tensor) = write.value.borrow().as_tensor().cloned() else { return };
    let list = write.container;
    if matches!(cx.heap.get(list).state, State::List(_)) {
        cx.heap.update(|filled: &mut Filled| filled.0.entry(list).or_default().add(&tensor));
    }
}

/// `torch.stack(losses)`
fn joined(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let joins = call.gives.is_some_and(|gives| gives.verb.combines() && gives.verb.meets());
    if !joins || cx.apis.is_copying(call.api.name) {
        return;
    }
    let Value::Obj(list) = call.nth(0).bare().clone() else { return };
    let State::List(items) = &cx.heap.get(list).state else { return };
    let mixed = match &items.exact {
        Some(exact) => {
            let (mut parts, mut mixed) = (Vec::new(), Mixed::default());
            exact.iter().for_each(|item| collect_tensors(item, &mut parts));
            parts.iter().for_each(|part| mixed.add(part));
            mixed
        }
        None => cx.heap.state::<Filled>().and_then(|filled| filled.0.get(&list)).cloned().unwrap_or_default(),
    };
    let (Some((stray, made)), Some(home)) = (mixed.stray, mixed.home) else { return };
    if strand_joined(cx, &stray, made, call.place) || !home.device.is_chosen_gpu() {
        return;
    }
    let side = |device: Device, what: &str, made| Side { device, what: Rc::from(what), made };
    let one = side(stray.device, "one of its tensors", Some(made));
    let other = side(home.device, "another", home.made);
    let confidence = stray.confidence.min(home.confidence).min(Confidence::Medium);
    cx.observe(call.place, Meeting::of(one, other, "this operation"), confidence);
}
