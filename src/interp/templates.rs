//! Methods that a class inherits and that call what it overrides: the loop is in the base class, the step in the
//! class. Each is rehearsed with an instance of the class, where nothing calls the overriding method. And what
//! parameters are given where nothing calls a function: by annotation, default, use, and last by name; and which methods
//! are called for each batch, whoever calls them.

use super::{Interp, given_devices::is_cpu, lineage::Base};
use crate::apis::{Role, Verb};
use crate::names::{Act, Subject};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{BinaryOp, ClassId, ExprId, ExprKind, FnId, Function, Param, Tree};
use crate::trace::{Effect, FnKey, Node, Visit, visits};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// So many inherited methods are rehearsed for one class.
const MOST_TEMPLATES: usize = 4;

impl<'p> Interp<'p> {
    pub(super) fn templates(&mut self, file: FileId) {
        let mattering = self.mattering(file);
        let classes = self.tree(file).classes.len() as u32;
        for class in (0..classes).map(ClassId) {
            if self.tree(file).class(class).parent.is_some() {
                continue;
            }
            let own = self.waiting_methods(file, class, &mattering);
            if own.is_empty() {
                continue;
            }
            for template in self.inherited_callers(file, class, &own) {
                if self.is_out_of_fuel() {
                    self.out.out_of_fuel = true;
                    return;
                }
                self.on_a_ration(own[0].1, |interp| interp.run_template(file, class, own[0].1, &template));
            }
        }
    }

    /// The methods that a class defines itself.
    fn own_methods(&self, file: FileId, class: ClassId) -> impl Iterator<Item = (FnId, &'p Function)> {
        let functions = (0..).map(FnId).zip(&self.tree(file).functions);
        functions.filter(move |(_, function)| function.class == Some(class))
    }

    /// The methods of a class that matter, and that nothing calls.
    fn waiting_methods(&self, file: FileId, class: ClassId, mattering: &[bool]) -> Vec<(Ustr, FnKey)> {
        self.own_methods(file, class)
            .filter(|(function, _)| mattering[function.0 as usize])
            .map(|(function, definition)| (definition.name, FnKey { file, function }))
            .filter(|(name, key)| !name.starts_with("__") && !self.out.called.contains(key))
            .collect()
    }

    /// Inherited methods that call one of these, as the class finds them.
    fn inherited_callers(&mut self, file: FileId, class: ClassId, own: &[(Ustr, FnKey)]) -> Vec<Rc<Closure>> {
        let Some(object) = self.class_object(file, class) else { return Vec::new() };
        let mut found: Vec<Rc<Closure>> = Vec::new();
        for base in self.lineage(ClassRef::Project(object)).into_iter().skip(1) {
            let Base::Project(base) = base else { continue };
            let State::Class(state) = self.heap.get(base).state.clone() else { continue };
            let methods: Vec<Ustr> = self.methods_that_mention(&state, own);
            for name in methods {
                if let Some(Value::Function(closure)) = self.find_attr(object, name)
                    && closure.file == state.file
                    && self.tree(closure.file).function(closure.function).class == Some(state.class)
                    && found.len() < MOST_TEMPLATES
                {
                    found.push(closure);
                }
            }
        }
        found
    }

    fn methods_that_mention(&self, state: &ClassState, own: &[(Ustr, FnKey)]) -> Vec<Ustr> {
        let names = &self.module(state.file).names;
        let mentions =
            |function: FnId| own.iter().any(|(name, _)| names.scope(function).mentions.contains(*name));
        self.own_methods(state.file, state.class)
            .filter(|(function, _)| mentions(*function))
            .map(|(_, definition)| definition.name)
            .filter(|name| !name.starts_with("__"))
            .collect()
    }

    fn run_template(&mut self, file: FileId, class: ClassId, key: FnKey, template: &Rc<Closure>) {
        let Some(env) = self.module_names(file) else { return };
        let definition = self.tree(template.file).function(template.function);
        let place = Place::new(template.file, definition.name_span);
        self.push_frame(env, file, None, None);
        if let Some(receiver) = self.seeded_receiver(file, class, place) {
            self.run_seeded(key, template, Some(receiver), definition, place);
        }
        self.end_seed();
    }
}

impl Interp<'_> {
    /// A parameter without an argument: by annotation, default, use, and last by name.
    pub(super) fn seeded_param(&mut self, closure: &Closure, param: &Param) -> Value {
        let value = self.seeded_value(closure, param);
        closure.as_passed(param.name, value)
    }

    fn seeded_value(&mut self, closure: &Closure, param: &Param) -> Value {
        let place = Place::new(closure.file, param.span);
        let default = closure.defaults.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value);
        // `device: str = "cuda"`: the default says more than its type.
        let is_plain = |value: &Value| {
            matches!(value.bare(), Value::Bool(_) | Value::Float(_) | Value::Int(_) | Value::Str(_))
                && !is_cpu(value)
        };
        if let Some(annotation) = param.annotation.filter(|_| !default.is_some_and(is_plain)) {
            self.push_frame(closure.env, closure.file, None, None);
            let value = self.typed_by_annotation(annotation, Value::Unknown);
            self.frames.pop();
            if !value.is_unknown() {
                return value;
            }
        }
        if let Some(default) = default {
            match default {
                Value::None => {}
                // A class of tensors says where they lie, and the caller passes that of its device.
                Value::Api(name) if name.ends_with("Tensor") => {}
                device if is_cpu(device) => {}
                // A caller may pass something else than a flag's default.
                Value::Bool(_) => return Value::Bool(None),
                other => return self.unsure(other.clone(), place, param.name),
            }
        }
        let subject = Subject::Local(Some(closure.function), param.name);
        if let Some(role) = self.role_by_use(closure.file, subject) {
            let value = self.of_role(role, place, param.name, Value::Unknown);
            if !value.is_unknown() {
                return value;
            }
        }
        let value = self.taken_as(closure.file, subject, place, Value::Unknown);
        if !value.is_unknown() {
            return value;
        }
        if self.is_counted_to(closure, param.name) {
            let origin = Rc::new(Origin { place, name: Rc::from(param.name.as_str()), given: true });
            let int = Int::symbol(self.symbol(&param.name));
            return Value::Int(Num { int, from: Some(origin), ..Num::default() });
        }
        let uses = &self.module(closure.file).names.uses;
        let scope = Some(closure.function);
        // `d_model` is as often the width of one.
        let is_used = uses.called_local(scope, param.name) || !uses.of_local(scope, param.name).is_empty();
        let is_named = self.apis.is_named(Role::Module, &param.name);
        if is_named || is_used && self.apis.role_by_name(param.name) == Some(Role::Module) {
            let module = self.opaque_module(place, Device::Unknown);
            self.heap.get_mut(module).confidence = Confidence::Low;
            return Value::Obj(module);
        }
        Value::Unknown
    }

    /// A default: likely, but the caller decides.
    pub(super) fn unsure(&mut self, value: Value, place: Place, name: Ustr) -> Value {
        let origin = Rc::new(Origin { place, name: Rc::from(name.as_str()), given: true });
        match value {
            Value::Int(num) => Value::Int(num.set_at(&origin)),
            Value::Float(_) | Value::Str(_) => Value::Given(Rc::new(Given { value, origin })),
            other => other,
        }
    }
}

/// Whether an expression is a name, or a sum with it.
fn is_sum_of(tree: &Tree, expr: ExprId, name: Ustr) -> bool {
    match tree.expr(expr).kind {
        ExprKind::Name(other) => other == name,
        ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
            is_sum_of(tree, left, name) || is_sum_of(tree, right, name)
        }
        _ => false,
    }
}

impl Interp<'_> {
    /// `range(epochs)`, `range(1, epochs + 1)`: what is counted to is a number.
    fn is_counted_to(&self, closure: &Closure, name: Ustr) -> bool {
        let module = self.module(closure.file);
        let range = Subject::Local(None, Ustr::from("range"));
        let here = |act: &&Act| act.function == Some(closure.function);
        module.relations().calls_of(range).filter(here).any(|act| match &module.tree.expr(act.call).kind {
            ExprKind::Call { args, .. } => args.iter().any(|arg| is_sum_of(&module.tree, arg.value, name)),
            _ => false,
        })
    }

    /// A method that goes back and steps an optimizer which its object made, in no loop: it is called for each batch,
    /// and hardly anybody else clears what only the object has.
    pub(super) fn steps_own(&self, key: FnKey, receiver: &Value, nodes: &[Node]) -> bool {
        let Some(object) = receiver.as_obj() else { return false };
        let is_own = |optimizer: ObjId| {
            let made =
                self.heap.get(optimizer).optimizer().is_some_and(|state| !state.others && !state.managed);
            let held = self.heap.get(object).attrs.iter().any(|(_, value)| value.as_obj() == Some(optimizer));
            made && held && optimizer.0 > object.0
        };
        let visits = visits(nodes, |effect| matches!(effect, Effect::Step { .. } | Effect::Backward { .. }));
        let optimizer = |visit: &Visit| match visit.event.effect {
            Effect::Step { optimizer, .. } => Some(optimizer),
            _ => None,
        };
        let steps: Vec<ObjId> = visits.iter().filter_map(optimizer).collect();
        let (goes_back, steps_at_all) = (steps.len() < visits.len(), !steps.is_empty());
        goes_back
            && steps_at_all
            && visits.iter().all(|visit| visit.loops.is_empty())
            && steps.into_iter().all(is_own)
            && !self.clears_elsewhere(key, object)
    }

    /// Whether another method of an object, or one that nobody sees, may clear gradients.
    fn clears_elsewhere(&self, key: FnKey, object: ObjId) -> bool {
        self.lineage(self.heap.get(object).class).into_iter().any(|base| {
            let Base::Project(class) = base else { return base == Base::Unknown };
            let State::Class(state) = &self.heap.get(class).state else { return true };
            let names = &self.module(state.file).names;
            self.own_methods(state.file, state.class).any(|(function, _)| {
                let mut mentions = names.scope(function).mentions.iter();
                FnKey { file: state.file, function } != key
                    && mentions.any(|name| self.apis.method_does(Role::Optimizer, name, Verb::Clear))
            })
        })
    }
}
