//! Devices that a caller gives, by their names and by what is put on them.

use super::{Interp, roles::Taken};
use crate::apis::{Api, Role, Transfer};
use crate::names::Subject;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ExprId, ExprKind, FnId, Param, Tree};
use crate::values::{Device, Value};
use ustr::Ustr;

impl Interp<'_> {
    /// A device by its name, and by what is put on it: the GPU, where it matters. Other variables may be computed,
    /// `x.device`, and are where that says.
    pub(super) fn taken_for_device(&self, file: FileId, subject: Subject) -> Option<Taken> {
        let module = self.module(file);
        let is_parameter = |function: Option<FnId>, name: Ustr| {
            let params = function.map(|function| &module.tree.function(function).params);
            let is_given =
                |param: &Param| param.default.is_none_or(|default| names_cpu(&module.tree, default));
            params.is_some_and(|params| params.iter().any(|param| param.name == name && is_given(param)))
        };
        let is_given = |(value, function): (ExprId, Option<FnId>)| match module.tree.expr(value).kind {
            ExprKind::Name(name) => is_parameter(function, name),
            _ => false,
        };
        let comes_from_outside = match subject {
            Subject::Local(function, name) => is_parameter(function, name),
            Subject::Own(..) => {
                let mut bindings = module.relations().bindings(subject).peekable();
                bindings.peek().is_some() && bindings.all(is_given)
            }
            Subject::Part(..) => false,
        };
        if !comes_from_outside {
            return None;
        }
        let put =
            module.relations().given(subject).find(|act| act.method.is_some_and(|name| self.puts(name)))?;
        let because = ("tensors are moved to it", Place::new(file, module.tree.expr(put.call).span));
        Some(Taken { role: Role::Device, confidence: Confidence::Medium, because })
    }

    /// Whether a method of tensors puts them on a device.
    pub(crate) fn puts(&self, method: Ustr) -> bool {
        let transfer = self.apis.method_of(Role::Tensor, method).and_then(Api::transfer);
        matches!(transfer, Some(Transfer::Place | Transfer::To))
    }
}

/// `device="cpu"`, `device=torch.device("cpu")`: a default for who has no GPU.
fn names_cpu(tree: &Tree, default: ExprId) -> bool {
    match &tree.expr(default).kind {
        ExprKind::Str(text) => **text == *"cpu",
        ExprKind::Call { args, .. } => matches!(&**args, [device] if names_cpu(tree, device.value)),
        _ => false,
    }
}

pub(super) fn is_cpu(value: &Value) -> bool {
    matches!(value, Value::Device(Device::Cpu)) || value.as_str() == Some("cpu")
}
