//! What something unknown is taken for: by its uses, by its annotation, by the role that both give it.

use super::{Interp, python, roles::is_guessed};
use crate::apis::Role;
use crate::names::{Subject, subject_of};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// An unknown value under a name: what its uses in that scope say it is.
    pub(super) fn typed_by_use(&mut self, env: ObjId, name: Ustr, value: Value) -> Value {
        if !is_guessed(&value) {
            return value;
        }
        let Some(scope) = self.loaded.scopes.get(&env).copied() else { return value };
        let uses = &self.module(scope.file).names.uses;
        let used = uses.of_local(scope.function, name);
        let place = self.heap.get(env).site;
        let Some(role) = self.role_of_local(uses, scope.function, name) else {
            let taken = self.taken_as(scope.file, Subject::Local(scope.function, name), place, value.clone());
            // Which device a caller has passed, its name does not say.
            let is_passed = || {
                let params = scope.function.map(|function| &self.tree(scope.file).function(function).params);
                params.is_some_and(|params| params.iter().any(|param| param.name == name))
            };
            if taken.is_unknown() || (matches!(taken, Value::Device(..)) && is_passed()) {
                return self.part_of_given_batch(scope, name).unwrap_or(value);
            }
            return taken;
        };
        // A parameter of another framework is cleared as well; an optimizer steps, or is called one.
        let lone = used.iter().all(|attribute| !self.is_of_optimizers_alone(*attribute));
        if role == Role::Optimizer && lone && self.apis.role_by_name(name) != Some(role) {
            return value;
        }
        self.of_role(role, place, name, value)
    }

    /// Whether optimizers have a method and modules have not, or an attribute.
    fn is_of_optimizers_alone(&self, attribute: Ustr) -> bool {
        let has = |role| self.apis.method_of(role, attribute).is_some();
        !has(Role::Module)
            && (has(Role::Optimizer) || self.apis.role_by_use(&[attribute], false) == Some(Role::Optimizer))
    }

    /// A value known only by its role: of each name another one.
    pub(super) fn of_role(&mut self, role: Role, place: Place, name: Ustr, value: Value) -> Value {
        let aside = name.precomputed_hash();
        let made = python::aside(self, aside, |interp| interp.made_of_role(role, place, value));
        super::joined::perhaps(self.tree(place.file), role, name, made)
    }

    /// Something unknown, as what it is taken for. What was moved or cast passes for a tensor; one that is called
    /// is none.
    pub(super) fn taken_as(&mut self, file: FileId, subject: Subject, place: Place, value: Value) -> Value {
        let may_be = |role| value.is_unknown() || matches!(role, Role::Module | Role::Criterion);
        let taken = if is_guessed(&value) { self.taken_for(file, subject) } else { None };
        let Some(taken) = taken.filter(|taken| may_be(taken.role)) else { return value };
        let made = self.of_role(taken.role, place, subject.name(), value);
        if let Some(object) = made.as_obj() {
            self.heap.get_mut(object).confidence = taken.confidence;
            self.assume(file, subject, &taken);
        }
        made
    }

    /// `state.model`, where nothing is known of `state`: what is done with it says what it is.
    pub(super) fn part_of_unknown(&mut self, of: ExprId, name: Ustr) -> Value {
        let Some(frame) = self.frames.last() else { return Value::Unknown };
        let (file, function, env) = (frame.file, frame.function, frame.env);
        let own = frame.receiver.as_ref().and_then(Value::as_obj);
        let module = self.module(file);
        if self.is_set_in_own_configuration(file, function, of, name) {
            return Value::Device(Device::Accelerator, DeviceForm::Unsure);
        }
        let (holder, subject, object) = match subject_of(&module.tree, &module.names, of, function) {
            Some(Subject::Local(owner, holder)) => (holder, Subject::Part(owner, holder, name), env),
            Some(Subject::Own(class, holder)) => {
                (holder, Subject::OwnPart(class, holder, name), own.unwrap_or(env))
            }
            _ => return Value::Unknown,
        };
        let site = self.heap.get(object).site;
        // The holder is told from others of the same attribute.
        python::aside(self, holder.precomputed_hash(), |interp| {
            interp.taken_as(file, subject, site, Value::Unknown)
        })
    }

    fn made_of_role(&mut self, role: Role, place: Place, value: Value) -> Value {
        match role {
            Role::Module => {
                let device = value.as_tensor().map_or(Device::Unknown, |tensor| tensor.device);
                Value::Obj(self.opaque_module(place, device))
            }
            Role::Optimizer => {
                let state = OptimizerState { others: true, ..OptimizerState::default() };
                let class = self.apis.class_of(Role::Optimizer).map_or(ClassRef::Builtin, ClassRef::Api);
                Value::Obj(self.alloc_as(place, class, State::Optimizer(state), Confidence::Medium))
            }
            Role::Tensor if value.is_unknown() => {
                Value::tensor(Tensor { confidence: Confidence::Medium, ..Tensor::default() })
            }
            Role::Device if value.is_unknown() => Value::Device(Device::Accelerator, DeviceForm::Unsure),
            Role::Criterion => match self.apis.class_of(role) {
                Some(class) => {
                    let state = State::Module(ModuleState { mode: Mode::Unknown, ..ModuleState::default() });
                    Value::Obj(self.alloc_as(place, ClassRef::Api(class), state, Confidence::Medium))
                }
                None => value,
            },
            Role::Scaler | Role::Scheduler | Role::Engine => match self.apis.class_of(role) {
                Some(class) => {
                    let state = if role == Role::Scaler { State::Scaler } else { State::Plain };
                    Value::Obj(self.alloc_as(place, ClassRef::Api(class), state, Confidence::Medium))
                }
                None => value,
            },
            _ => value,
        }
    }

    /// A model that is made elsewhere.
    pub(super) fn opaque_module(&mut self, place: Place, device: Device) -> ObjId {
        let class = self.apis.class_of(Role::Module).map_or(ClassRef::Builtin, ClassRef::Api);
        let state = ModuleState {
            mode: Mode::Unknown,
            device,
            frozen: None,
            weights: Learned::Opaque,
            ..ModuleState::default()
        };
        self.alloc_as(place, class, State::Module(state), Confidence::Medium)
    }

    pub(super) fn alloc_as(
        &mut self,
        place: Place,
        class: ClassRef,
        state: State,
        confidence: Confidence,
    ) -> ObjId {
        let id = self.alloc(place, class, state);
        let object = self.heap.get_mut(id);
        object.confidence = object.confidence.min(confidence);
        id
    }

    /// What an annotation says of a value that is not known otherwise.
    pub(super) fn typed_by_annotation(&mut self, annotation: ExprId, value: Value) -> Value {
        if !value.is_unknown() {
            return value;
        }
        let place = self.expr_place(annotation);
        let class = self.annotation_class(annotation);
        let Some(made) = class.and_then(|class| self.instance_of(&class, place)) else { return value };
        self.leave_places_open(&made);
        if let Some(object) = made.as_obj()
            && self.role_of(self.heap.get(object).class) == Some(Role::Dataset)
        {
            self.supposed.annotated.insert(object);
        }
        made
    }

    pub(super) fn annotation_class(&mut self, annotation: ExprId) -> Option<Value> {
        let tree = self.here();
        match &tree.expr(annotation).kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => Some(self.eval(annotation)),
            ExprKind::Str(text) => Some(self.lookup(Ustr::from(text))),
            // Optional[X]
            ExprKind::Subscript { base, index } => match &tree.expr(*base).kind {
                ExprKind::Name(name) if name.as_str() == "Optional" => self.annotation_class(*index),
                ExprKind::Attribute { name, .. } if name.as_str() == "Optional" => {
                    self.annotation_class(*index)
                }
                _ => None,
            },
            _ => None,
        }
    }
}
