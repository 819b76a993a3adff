//! Devices that a caller gives, by their names and by what is put on them.

use super::{Interp, roles::Taken};
use crate::apis::{Api, Literal, Operand, Role, Transfer};
use crate::names::{Subject, class_of_self};
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
            _ => self.is_chosen_elsewhere(file, function, value),
        };
        let is_bound_so = || {
            let mut bindings = module.relations().bindings(subject).peekable();
            bindings.peek().is_some() && bindings.all(is_given)
        };
        let comes_from_outside = match subject {
            Subject::Local(function, name) => is_parameter(function, name) || is_bound_so(),
            Subject::Own(..) => is_bound_so(),
            Subject::Part(function, holder, name) => self.is_configuration(file, function, holder, name),
            Subject::OwnPart(class, holder, name) => {
                self.are_settings(module.names.uses.of_self(class, holder), name)
            }
        };
        if !comes_from_outside {
            return None;
        }
        let put =
            module.relations().given(subject).find(|act| act.method.is_some_and(|name| self.puts(name)))?;
        let because = ("tensors are moved to it", Place::new(file, module.tree.expr(put.call).span));
        Some(Taken { role: Role::Device, confidence: Confidence::Medium, because })
    }

    /// `get_device()`, `args.device`: a device that a function which is not seen chooses, or that a configuration says.
    fn is_chosen_elsewhere(&self, file: FileId, function: Option<FnId>, value: ExprId) -> bool {
        let module = self.module(file);
        let tree = &module.tree;
        match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => match tree.expr(*callee).kind {
                // `x.get_device()` is where that tensor is.
                ExprKind::Attribute { name, .. } => self.apis.method_of(Role::Tensor, name).is_none(),
                ExprKind::Name(_) => true,
                _ => false,
            },
            ExprKind::Attribute { base, name, .. } => match tree.expr(*base).kind {
                ExprKind::Name(holder) => {
                    let owner = module.names.owner(tree, function, holder);
                    self.is_configuration(file, owner, holder, *name)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// `args.device` of something that is asked for other settings, too.
    fn is_configuration(&self, file: FileId, function: Option<FnId>, holder: Ustr, device: Ustr) -> bool {
        self.are_settings(self.module(file).names.uses.of_local(function, holder), device)
    }

    /// `self.args.device`, where `self.args` is such a configuration.
    pub(super) fn is_set_in_own_configuration(
        &self,
        file: FileId,
        function: Option<FnId>,
        of: ExprId,
        device: Ustr,
    ) -> bool {
        if self.apis.role_by_name(device) != Some(Role::Device) {
            return false;
        }
        let module = self.module(file);
        let ExprKind::Attribute { base, name, .. } = module.tree.expr(of).kind else { return false };
        let ExprKind::Name(own) = module.tree.expr(base).kind else { return false };
        let class = function.and_then(|function| class_of_self(&module.tree, function, own));
        class.is_some_and(|class| self.are_settings(module.names.uses.of_self(class, name), device))
    }

    /// Whether something is asked for more than a device, and for nothing that a tensor or a model has.
    fn are_settings(&self, asked: &[Ustr], device: Ustr) -> bool {
        let mut others = asked.iter().filter(|name| **name != device).peekable();
        let has = |name: Ustr| {
            let roles = [Role::Tensor, Role::Module, Role::Optimizer];
            roles.into_iter().any(|role| self.apis.method_of(role, name).is_some())
        };
        others.peek().is_some() && !others.any(|name| has(*name))
    }

    /// Whether a method of tensors puts them on a device.
    pub(crate) fn puts(&self, method: Ustr) -> bool {
        let transfer = self.apis.method_of(Role::Tensor, method).and_then(Api::transfer);
        matches!(transfer, Some(Transfer::Place | Transfer::To))
    }

    /// The same, where its name does not say that this is the CPU: what is fetched from a GPU was not on the CPU.
    pub(crate) fn sends(&self, method: Ustr) -> bool {
        let gives = self.apis.method_of(Role::Tensor, method).and_then(|api| api.gives.as_ref());
        let is_cpu =
            |operand: &Operand| matches!(operand, Operand::Literal(Literal::Str(name)) if *name == "cpu");
        self.puts(method) && !gives.is_some_and(|gives| gives.args.iter().any(is_cpu))
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
    matches!(value, Value::Device(Device::Cpu, _)) || value.as_str() == Some("cpu")
}
