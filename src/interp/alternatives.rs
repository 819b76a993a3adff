//! Calls of a value that is one of several: models that a script chooses from, instances of several classes. Each
//! that can be called so runs on the heap as it is, and what they give is joined.

use super::{
    Call, Interp, UnfitCall,
    branch::{Arm, Boxed},
    call_path::Hop,
    stmt::Flow,
};
use crate::apis::Role;
use crate::syntax::*;
use crate::trace::{FnKey, When};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// The output of whichever of several models it is.
    pub(super) fn either(&mut self, parts: &[ObjId], call: &Call) -> Value {
        let mut devices = parts.iter().map(|part| self.heap.get(*part).module().map(|module| module.device));
        let first = devices.next();
        // Each gets inputs that suit it: where the script chooses one, it chooses their place with it.
        let scatter = parts.iter().any(|part| self.heap.get(*part).module().is_some_and(|it| it.scatters));
        let apart = (scatter || devices.any(|device| Some(device) != first))
            .then(|| self.sent(call, Device::Unknown));
        let call = apart.as_ref().unwrap_or(call);
        let fitting: Vec<ObjId> = parts.iter().copied().filter(|part| self.takes(*part, call)).collect();
        let parts = if fitting.is_empty() { parts } else { &fitting };
        let mut outputs = Vec::with_capacity(parts.len());
        let before = (parts.len() > 1).then(|| self.push_context(self.one_of_several()));
        for part in parts {
            if !self.burn(1) {
                break;
            }
            outputs.push(self.call_module(*part, call));
        }
        before.into_iter().for_each(|before| self.pop_context(before));
        if outputs.len() < parts.len() {
            return Value::Unknown;
        }
        self.heap.any_of(&Items::exact(outputs)).unwrap_or_default()
    }

    /// Whether a module's forward can be called so. Where a script calls one of several, it is one that can.
    fn takes(&mut self, module: ObjId, call: &Call) -> bool {
        self.project_forward(module).is_none_or(|closure| self.fits(&closure, true, call))
    }

    /// The instances that a value is one of, or the modules, where some define a method themselves: each runs its own.
    pub(super) fn with_methods_of_their_own(&mut self, receiver: &Value, name: Ustr) -> Option<Vec<ObjId>> {
        if let Some(instances) = self.heap.alternatives(receiver) {
            return Some(instances);
        }
        let several = self.heap.of_several_classes(receiver)?;
        several.iter().any(|one| self.is_of_project(*one, &name)).then_some(several)
    }

    /// A method of one of several instances, as in `agent = A(...) if ... else B(...)`.
    pub(super) fn call_alternatives(
        &mut self,
        receivers: &[ObjId],
        name: Ustr,
        call: &Call,
        base: ExprId,
    ) -> Value {
        let mut values: Vec<Option<Value>> = vec![None; receivers.len()];
        let mut closures: Vec<Boxed<'_, 'p>> = Vec::new();
        let fresh: Vec<FnKey> = receivers.iter().filter_map(|one| self.uncalled_method(*one, name)).collect();
        for (receiver, value) in receivers.iter().zip(&mut values) {
            closures.push(Box::new(move |interp| {
                *value = Some(interp.call_method(&Value::Obj(*receiver), name, call, base));
                Flow::Next
            }));
        }
        self.each_on_its_way(closures);
        // One of several ways says little of what is lost or left: each is judged by itself, too.
        if receivers.len() > 1 {
            for method in fresh {
                self.out.called.forget(method, usize::MAX);
                self.supposed.entered.remove(&method);
            }
        }
        self.whichever(values.into_iter().flatten().collect())
    }

    /// The method of an instance that nothing has called so far.
    fn uncalled_method(&mut self, instance: ObjId, name: Ustr) -> Option<FnKey> {
        let Some(Value::Function(closure)) = self.find_attr(instance, name) else { return None };
        let key = FnKey { file: closure.file, function: closure.function };
        let is_fresh = !self.out.called.contains(&key) && !self.supposed.entered.contains(&key);
        is_fresh.then_some(key)
    }

    /// Whatever of several classes and functions it is that is called: of those that can be called so, each on a
    /// way of its own.
    pub(super) fn call_any_of(&mut self, callees: &[Value], call: &Call) -> Value {
        let fitting: Vec<&Value> = callees.iter().filter(|callee| self.can_be_called(callee, call)).collect();
        let callees = if fitting.is_empty() { callees.iter().collect() } else { fitting };
        let mut values: Vec<Option<Value>> = vec![None; callees.len()];
        let mut closures: Vec<Boxed<'_, 'p>> = Vec::new();
        for (index, (callee, value)) in callees.iter().zip(&mut values).enumerate() {
            closures.push(Box::new(move |interp| {
                let path = interp.sites.path;
                // Each makes a module of its own, with the layers of its class.
                if interp.makes_module(callee) {
                    interp.enter_path(Hop::Nth(call.place, index as u32));
                }
                *value = Some(interp.call_value(callee, call));
                interp.sites.path = path;
                Flow::Next
            }));
        }
        self.each_on_its_way(closures);
        self.whichever(values.into_iter().flatten().collect())
    }

    /// What one of several gave. What the others make unknown may have gone wherever that goes.
    fn whichever(&mut self, values: Vec<Value>) -> Value {
        let given = Items::exact(values);
        let joined = self.heap.any_of(&given).unwrap_or_default();
        let is_lost = match &joined {
            Value::Tuple(items) => items.iter().any(Value::is_unknown),
            other => other.is_unknown(),
        };
        if is_lost {
            given.exact.iter().flatten().for_each(|value| self.hand_over(value));
        }
        joined
    }

    fn makes_module(&self, callee: &Value) -> bool {
        let class = match callee {
            Value::Obj(class) if self.heap.is_class(*class) => ClassRef::Project(*class),
            Value::Api(class) => ClassRef::Api(*class),
            _ => return false,
        };
        self.role_of(class) == Some(Role::Module)
    }

    fn can_be_called(&mut self, callee: &Value, call: &Call) -> bool {
        match callee {
            Value::Function(closure) => self.fits(closure, false, call),
            Value::Obj(class) if self.heap.is_class(*class) => {
                match self.find_attr(*class, Ustr::from("__init__")) {
                    Some(Value::Function(constructor)) => self.fits(&constructor, true, call),
                    _ => true,
                }
            }
            _ => true,
        }
    }

    /// A call of the project's code. One that lacks an argument, or has one too many, ends in an error: nothing
    /// comes of it, and what it is seen to do is not what the run will tell. Where there are too many, nobody knows which
    /// were meant for which parameters.
    pub(crate) fn inline(&mut self, closure: &Rc<Closure>, receiver: Option<&Value>, call: &Call) -> Value {
        let Some(unfit) = self.tell_unfit(closure, receiver, call) else {
            return self.inlined(closure, receiver, call);
        };
        let before = self.push_context(ContextKind::Failing);
        match unfit {
            Unfit::TooMany { .. } => {
                self.inlined(closure, receiver, &Call { open: true, ..Call::new(call.place) })
            }
            Unfit::Missing(_) | Unfit::Unexpected(_) | Unfit::Twice(_) => {
                self.inlined(closure, receiver, call)
            }
        };
        self.pop_context(before);
        Value::Unknown
    }

    /// What of a call does not fit, which is told.
    pub(super) fn tell_unfit(
        &mut self,
        closure: &Closure,
        receiver: Option<&Value>,
        call: &Call,
    ) -> Option<Unfit> {
        let unfit = self.unfit(closure, receiver.is_some(), call).filter(|_| !closure.wrap.opaque)?;
        self.on_unfit_call(&UnfitCall { closure, receiver, call, unfit: unfit.clone() });
        Some(unfit)
    }

    fn one_of_several(&self) -> ContextKind {
        ContextKind::OneOfSeveral { frames: self.frames.len() }
    }

    fn each_on_its_way(&mut self, mut ways: Vec<Boxed<'_, 'p>>) {
        let mut arms: Vec<Arm<'_, 'p>> = ways.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>).collect();
        let several = arms.len() > 1;
        let before = several.then(|| self.push_context(self.one_of_several()));
        self.branch(When::Unknown, &mut arms);
        before.into_iter().for_each(|before| self.pop_context(before));
    }

    /// Whether a call gives a function all that it asks for, and no more than it takes.
    pub(super) fn fits(&self, closure: &Closure, bound: bool, call: &Call) -> bool {
        self.unfit(closure, bound, call).is_none()
    }

    /// What of a call a function does not take.
    fn unfit(&self, closure: &Closure, bound: bool, call: &Call) -> Option<Unfit> {
        if call.open {
            return None;
        }
        let params = &self.tree(closure.file).function(closure.function).params;
        let params = params.get(usize::from(bound && !closure.wrap.is_static)..).unwrap_or_default();
        let names: Vec<Ustr> = call.keywords.iter().map(|(name, _)| *name).collect();
        unfit(params, call.positional.len(), &names)
    }
}

/// What of so many arguments by position, and these by name, does not fit parameters.
pub fn unfit(params: &[Param], given: usize, names: &[Ustr]) -> Option<Unfit> {
    let takes_rest = |wanted: ParamKind| params.iter().any(|param| param.kind == wanted);
    let plain = |param: &&Param| !matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar);
    let by_position = params.iter().filter(plain).filter(|param| param.kind != ParamKind::KeywordOnly);
    let known = |name: &&Ustr| params.iter().filter(plain).any(|param| param.name == **name);
    if !takes_rest(ParamKind::DoubleStar)
        && let Some(name) = names.iter().find(|name| !known(name))
    {
        return Some(Unfit::Unexpected(*name));
    }
    let twice = by_position
        .clone()
        .take(given)
        .find(|param| param.kind != ParamKind::PositionalOnly && names.contains(&param.name));
    if let Some(param) = twice {
        return Some(Unfit::Twice(param.name));
    }
    let takes = by_position.clone().count();
    if given > takes && !takes_rest(ParamKind::Star) {
        return Some(Unfit::TooMany { takes, given });
    }
    let asks = |(at, param): &(usize, &Param)| {
        param.default.is_none() && *at >= given && !names.contains(&param.name)
    };
    let missing: Rc<[Ustr]> = by_position.enumerate().filter(asks).map(|(_, param)| param.name).collect();
    (!missing.is_empty()).then_some(Unfit::Missing(missing))
}

/// What of a call a function does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    Unexpected(Ustr),
    /// By position and by name.
    Twice(Ustr),
    Missing(Rc<[Ustr]>),
    TooMany {
        takes: usize,
        given: usize,
    },
}
