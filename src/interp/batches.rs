//! Batches of a dataset that nobody knows: what a loader's own collation makes of samples are tensors, and
//! how the loop takes a batch apart says how many.

use super::Interp;
use crate::apis::{Api, Role, Transfer};
use crate::report::Confidence;
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// What a loop's targets are given, where the batch of the loader is not known.
    pub(super) fn parts_of_batch(&mut self, target: ExprId, batch: Value, loader: ObjId) -> Value {
        let collates = self.heap.attr(loader, Ustr::from("collate_fn"));
        if matches!(collates, Some(Value::None)) { self.collated_for(target, batch) } else { batch }
    }

    fn collated_for(&mut self, target: ExprId, batch: Value) -> Value {
        let device = if self.moves_part_of(target) { Device::Cpu } else { Device::Unknown };
        self.collated_on(device, target, batch)
    }

    /// Whether something of a batch is moved: then the loader gives what is on the CPU, all of it.
    fn moves_part_of(&self, target: ExprId) -> bool {
        let Some(class) = self.apis.class_of(Role::Tensor) else { return false };
        let moves = |method: &Ustr| {
            let transfer = self.apis.method(class, *method).and_then(Api::transfer);
            matches!(transfer, Some(Transfer::Place | Transfer::To))
        };
        match &self.tree(self.file()).expr(target).kind {
            ExprKind::Name(name) => self.attributes_used(*name).iter().any(moves),
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                targets.iter().any(|target| self.moves_part_of(*target))
            }
            _ => false,
        }
    }

    fn collated_on(&mut self, device: Device, target: ExprId, batch: Value) -> Value {
        let tree = self.tree(self.file());
        match (&tree.expr(target).kind, &batch) {
            (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Tuple(items))
                if targets.len() == items.len() =>
            {
                // Pairs of a counter and a batch, or the parts of a sample.
                let counted = matches!(items.first(), Some(Value::Int(_)));
                let part = |(target, item): (&ExprId, &Value)| match item {
                    Value::Unknown if !counted => self.collated_part(device, *target),
                    _ => self.collated_on(device, *target, item.clone()),
                };
                Value::tuple(targets.iter().zip(items.iter()).map(part).collect())
            }
            (ExprKind::Tuple(targets) | ExprKind::List(targets), Value::Unknown) => {
                Value::tuple(targets.iter().map(|target| self.collated_part(device, *target)).collect())
            }
            (ExprKind::Name(name), Value::Unknown) if self.attributes_used(*name).is_empty() => {
                // Taken apart by an assignment or by numbers.
                let place = self.expr_place(target);
                self.list_of(place, Value::tensor(collated(Device::Unknown)))
            }
            _ => batch,
        }
    }

    /// One part of a sample, collated: a tensor, if that is how it is used.
    fn collated_part(&mut self, device: Device, target: ExprId) -> Value {
        let tree = self.tree(self.file());
        let ExprKind::Name(name) = tree.expr(target).kind else {
            return self.collated_on(device, target, Value::Unknown);
        };
        let Some(class) = self.apis.class_of(Role::Tensor) else { return Value::Unknown };
        let used = self.attributes_used(name);
        let fits = used.iter().all(|attribute| self.apis.method(class, *attribute).is_some());
        if fits { Value::tensor(collated(device)) } else { Value::Unknown }
    }

    fn attributes_used(&self, name: Ustr) -> &'p [Ustr] {
        let Some(frame) = self.frames.last() else { return &[] };
        self.module(frame.file).names.uses.of_local(frame.function, name)
    }
}

fn collated(device: Device) -> Tensor {
    Tensor {
        device,
        graph: Graph::None,
        source: Source::Data,
        // New in each iteration.
        created: u32::MAX,
        confidence: Confidence::Medium,
        ..Tensor::default()
    }
}
