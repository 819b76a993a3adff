//! Classes and attributes: inheritance, instances, dataclasses, properties, `super()`.

use super::{Call, Interp, Passed, python};
use crate::apis::Role;
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::values::*;
use smallvec::SmallVec;
use std::rc::Rc;
use ustr::Ustr;

/// Longer chains of bases are cut.
const MOST_BASES: usize = 32;

/// What a class inherits from, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Project(ObjId),
    Api(Ustr),
    Unknown,
}

type Lineage = SmallVec<[Base; 8]>;

impl<'p> Interp<'p> {
    pub(super) fn define_class(&mut self, class: ClassId) {
        let file = self.file();
        let definition = self.tree(file).class(class);
        let mut bases = Vec::new();
        for base in &definition.bases {
            let value = self.eval(base.value);
            if base.kind == ArgKind::Positional {
                bases.push(value);
            }
        }
        let env = self.frames.last().map_or(ObjId(0), |frame| frame.env);
        let place = self.place(definition.span);
        let state = State::Class(Rc::new(ClassState { file, class, bases, env }));
        let object = self.alloc(place, ClassRef::Builtin, state);
        // The body's own names live on the class; functions in it look past them.
        self.scopes.insert(object, super::Scope { file, function: None, parent: Some(env) });
        self.push_frame(object, file, None, None);
        self.block(&definition.body);
        self.frames.pop();
        let mut value = Value::Obj(object);
        for decorator in definition.decorators.iter().rev() {
            let decorator = self.eval(*decorator);
            value = self.decorated_class(object, &decorator, value);
        }
        self.set_name(definition.name, value);
    }

    fn decorated_class(&mut self, class: ObjId, decorator: &Value, value: Value) -> Value {
        let name = match decorator {
            Value::Api(name) | Value::Builtin(name) => Some(*name),
            Value::Partial(partial) => match &partial.callee {
                Value::Api(name) | Value::Builtin(name) => Some(*name),
                _ => None,
            },
            _ => None,
        };
        if name.is_some_and(|name| name.ends_with("dataclass") || name.ends_with("dataclasses.dataclass")) {
            self.heap.get_mut(class).set_attr(Ustr::from("__dataclass__"), Value::Bool(Some(true)));
        }
        value
    }

    /// The class and what it inherits from, in the order attributes are looked up.
    pub(super) fn lineage(&self, class: ClassRef) -> Lineage {
        let mut found = Lineage::new();
        match class {
            ClassRef::Project(object) => self.collect_bases(object, &mut found),
            ClassRef::Api(name) => found.push(Base::Api(name)),
            ClassRef::Builtin => {}
        }
        found
    }

    fn collect_bases(&self, class: ObjId, found: &mut Lineage) {
        if found.len() >= MOST_BASES || found.contains(&Base::Project(class)) {
            return;
        }
        found.push(Base::Project(class));
        let State::Class(state) = &self.heap.get(class).state else { return };
        for base in &state.bases {
            match base.bare() {
                Value::Obj(object) => self.collect_bases(*object, found),
                Value::Api(name) => found.push(Base::Api(*name)),
                Value::Builtin(_) => {}
                _ => found.push(Base::Unknown),
            }
        }
    }

    /// The role that a class has from a framework.
    pub(super) fn role_of(&self, class: ClassRef) -> Option<Role> {
        self.lineage(class).into_iter().find_map(|base| match base {
            Base::Api(name) => self.apis.role(name),
            _ => None,
        })
    }

    pub(super) fn is_api(&self, class: ClassRef, ancestor: Ustr) -> bool {
        self.lineage(class)
            .into_iter()
            .any(|base| matches!(base, Base::Api(name) if self.apis.is_a(name, ancestor)))
    }

    pub(super) fn instantiate(&mut self, class: ObjId, call: &Call) -> Value {
        let reference = ClassRef::Project(class);
        let state = match self.role_of(reference) {
            Some(Role::Module) => State::Module(ModuleState::default()),
            Some(Role::Optimizer) => {
                State::Optimizer(OptimizerState { owns: ObjSet::default(), others: true, managed: false })
            }
            _ => State::Plain,
        };
        let object = self.alloc(call.place, reference, state);
        self.made(call.place, object);
        let value = Value::Obj(object);
        if let Some(role) = self.role_of(reference)
            && role == Role::Optimizer
        {
            self.optimizer_of_project(object, call);
        }
        self.heap.get_mut(object).epoch = self.epoch;
        let init = Ustr::from("__init__");
        match self.find_attr(object, init) {
            Some(Value::Function(closure)) => {
                self.inline(&closure, Some(&value), call);
            }
            Some(method) => {
                let bound = self.bind(&value, &method, init, call.place);
                self.call_value(&bound, call);
            }
            None => self.dataclass_fields(object, class, call),
        }
        value
    }

    /// The fields of a dataclass or named tuple, from the arguments or the defaults in its body.
    fn dataclass_fields(&mut self, object: ObjId, class: ObjId, call: &Call) {
        let mut position = 0;
        let mut lineage = self.lineage(ClassRef::Project(class));
        lineage.reverse();
        for base in lineage {
            let Base::Project(base) = base else { continue };
            let State::Class(state) = self.heap.get(base).state.clone() else { continue };
            let tree = self.tree(state.file);
            for stmt in &tree.class(state.class).body {
                let StmtKind::AnnAssign { target, annotation, value } = tree.stmt(*stmt).kind else {
                    continue;
                };
                let ExprKind::Name(name) = tree.expr(target).kind else { continue };
                let passed = call.passed(position, &name).map(|passed| passed.value.clone());
                position += 1;
                let value = match passed {
                    Some(value) => value,
                    None => self.field_default(base, name, value, &state, annotation),
                };
                self.heap.get_mut(object).set_attr(name, value);
            }
        }
    }

    fn field_default(
        &mut self,
        class: ObjId,
        name: Ustr,
        written: Option<ExprId>,
        state: &ClassState,
        annotation: ExprId,
    ) -> Value {
        if let Some((_, text)) = self.settings.values.iter().find(|(known, _)| *known == name.as_str()) {
            return python::parse_scalar(text);
        }
        let value = self.heap.attr(class, name).cloned().unwrap_or_default();
        let value =
            match value.as_obj().and_then(|object| self.heap.attr(object, Ustr::from("default")).cloned()) {
                Some(default) => default,
                None => value,
            };
        let tree = self.tree(state.file);
        let place = Place::new(state.file, tree.expr(written.unwrap_or(annotation)).span);
        match value {
            Value::Int(num) if num.from.is_none() => {
                let origin = Origin { place, name: Rc::from(name.as_str()), given: true };
                Value::Int(Num { from: Some(Rc::new(origin)), ..num })
            }
            Value::Bool(_) | Value::Str(_) | Value::Float(_) => {
                let origin = Rc::new(Origin { place, name: Rc::from(name.as_str()), given: true });
                Value::Given(Rc::new(Given { value, origin }))
            }
            other => other,
        }
    }

    /// An attribute as it is stored, on the instance or its classes; methods are not bound yet.
    pub(super) fn find_attr(&mut self, object: ObjId, name: Ustr) -> Option<Value> {
        if let Some(value) = self.heap.attr(object, name) {
            return Some(value.clone());
        }
        let lineage = match self.heap.get(object).state {
            State::Class(_) => self.lineage(ClassRef::Project(object)),
            State::Module(_) if self.heap.get(object).class == ClassRef::Builtin => {
                self.apis.class_of(Role::Module).map(Base::Api).into_iter().collect()
            }
            _ => self.lineage(self.heap.get(object).class),
        };
        self.find_in(&lineage, name)
    }

    fn find_in(&self, lineage: &[Base], name: Ustr) -> Option<Value> {
        for base in lineage {
            match base {
                Base::Project(class) => {
                    if let Some(value) = self.heap.attr(*class, name) {
                        return Some(value.clone());
                    }
                }
                Base::Api(class) => {
                    if let Some(api) = self.apis.method(*class, name) {
                        return Some(Value::Api(api.name));
                    }
                }
                Base::Unknown => {}
            }
        }
        None
    }

    pub fn get_attr(&mut self, value: &Value, name: Ustr, place: Place) -> Value {
        match value {
            Value::Obj(object) => self.object_attr(*object, name, place),
            Value::Module(_) | Value::Folder(_) => self.member(value, name),
            Value::Api(package) => self.api_attr(*package, name, place),
            Value::Tensor(tensor) => self.tensor_attr(tensor, value, name, place),
            Value::Params(params) => match name.as_str() {
                "grad" => Value::Grad(Rc::new(params.owners.clone())),
                "device" => Value::Device(self.device_of_params(params)),
                _ => self.parameter_attr(params, value, name, place),
            },
            Value::Grad(_) if name == "data" => value.clone(),
            Value::Grad(_) => {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Builtin(name) }))
            }
            Value::Super { instance, after } => self.super_attr(*instance, *after, name, place),
            Value::Maybe(inner) => self.get_attr(&inner.clone(), name, place),
            Value::Given(given) => self.get_attr(&given.value.clone(), name, place),
            Value::Bound(bound) if name == "__self__" => bound.receiver.clone(),
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::Builtin(_) | Value::Unknown => {
                Value::Unknown
            }
            Value::Device(_) if name == "type" => Value::Str(None),
            Value::None => Value::Unknown,
            _ => python::attribute(self, value, &name).unwrap_or_else(|| {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Builtin(name) }))
            }),
        }
    }

    /// An attribute or method of a parameter whose tensor is not known.
    fn parameter_attr(&mut self, params: &Params, value: &Value, name: Ustr, place: Place) -> Value {
        let nodes = Nodes {
            leaves: params.owners.clone(),
            others: params.others,
            oldest: 0,
            carried: Rc::from([]),
            maybe: false,
        };
        let graph = if self.grad == Some(false) { Graph::None } else { Graph::Live(Rc::new(nodes)) };
        let tensor = Rc::new(Tensor {
            graph,
            is_leaf: true,
            source: Source::Parameter,
            device: self.device_of_params(params),
            confidence: Confidence::Medium,
            ..Tensor::default()
        });
        match self.tensor_attr(&tensor, &Value::Tensor(tensor.clone()), name, place) {
            // What changes the parameter itself is done to all of them.
            Value::Bound(bound) if self.changes_parameters(&bound.method) => {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: bound.method.clone() }))
            }
            found => found,
        }
    }

    fn changes_parameters(&self, method: &Method) -> bool {
        matches!(method, Method::Api(name) if self.apis.get(*name).is_some_and(|api| !api.effects.is_empty()))
    }

    fn api_attr(&mut self, package: Ustr, name: Ustr, _place: Place) -> Value {
        let canonical = self.canonical(package, name);
        if let Some(api) = self.apis.get(canonical) {
            return Value::Api(api.name);
        }
        match self.apis.class(package).and_then(|class| self.apis.method(class.name, name)) {
            Some(api) => Value::Api(api.name),
            None if python::constant(self, &canonical).is_some() => {
                python::constant(self, &canonical).unwrap_or_default()
            }
            None => match DType::named(&canonical) {
                Some(dtype) if self.apis.is_framework(package) => Value::DType(dtype),
                _ => Value::Api(canonical),
            },
        }
    }

    fn object_attr(&mut self, object: ObjId, name: Ustr, place: Place) -> Value {
        if let Some(found) = self.find_attr(object, name) {
            let receiver = Value::Obj(object);
            return self.bind(&receiver, &found, name, place);
        }
        match &self.heap.get(object).state {
            State::List(_) | State::Dict(_) => {
                Value::Bound(Rc::new(Bound { receiver: Value::Obj(object), method: Method::Builtin(name) }))
            }
            State::Class(_) => Value::Unknown,
            _ => {
                let value = Value::Obj(object);
                match python::attribute(self, &value, &name) {
                    Some(found) => found,
                    None => self.unseen_attr(object, name, place),
                }
            }
        }
    }

    /// An attribute that nothing we saw has set: its uses through `self` may say what it is.
    fn unseen_attr(&mut self, object: ObjId, name: Ustr, _place: Place) -> Value {
        let value = self.self_typed_by_use(object, name, Value::Unknown);
        if !value.is_unknown() {
            self.heap.get_mut(object).set_attr(name, value.clone());
        }
        value
    }

    /// An unknown value in an attribute: what the methods of the class do with it says what it is.
    fn self_typed_by_use(&mut self, object: ObjId, name: Ustr, value: Value) -> Value {
        let ClassRef::Project(class) = self.heap.get(object).class else { return value };
        for base in self.lineage(ClassRef::Project(class)) {
            let Base::Project(base) = base else { continue };
            let State::Class(state) = self.heap.get(base).state.clone() else { continue };
            let uses = &self.module(state.file).names.uses;
            let (used, called) = (uses.of_self(state.class, name), uses.called_self(state.class, name));
            if let Some(role) = self.apis.role_by_use(used, called) {
                let site = self.heap.get(object).site;
                return self.of_role(role, site, name, value);
            }
        }
        value
    }

    /// A method bound to its receiver, a property's value, or the plain attribute.
    pub(super) fn bind(&mut self, receiver: &Value, found: &Value, name: Ustr, place: Place) -> Value {
        let owned = receiver.as_obj().is_some_and(|object| self.heap.attr(object, name).is_some());
        match found {
            Value::Function(closure) if !owned => {
                if closure.wrap.is_property {
                    return self.inline(&closure.clone(), Some(receiver), &Call::new(place));
                }
                if closure.wrap.is_static {
                    return found.clone();
                }
                let receiver =
                    if closure.wrap.is_class { self.class_value(receiver) } else { receiver.clone() };
                let is_class = matches!(
                    receiver.as_obj().map(|object| &self.heap.get(object).state),
                    Some(State::Class(_))
                );
                if is_class && !closure.wrap.is_class {
                    return found.clone();
                }
                Value::Bound(Rc::new(Bound { receiver, method: Method::Closure(closure.clone()) }))
            }
            Value::Api(api) if !owned && self.is_method(receiver, *api) => {
                if self.apis.get(*api).is_some_and(|entry| entry.property) {
                    return self.call_api_method(*api, receiver, &Call::new(place));
                }
                Value::Bound(Rc::new(Bound { receiver: receiver.clone(), method: Method::Api(*api) }))
            }
            other => other.clone(),
        }
    }

    fn is_method(&self, receiver: &Value, _api: Ustr) -> bool {
        match receiver.as_obj() {
            Some(object) => !matches!(self.heap.get(object).state, State::Class(_)),
            None => true,
        }
    }

    fn class_value(&self, receiver: &Value) -> Value {
        match receiver.as_obj().map(|object| self.heap.get(object).class) {
            Some(ClassRef::Project(class)) => Value::Obj(class),
            _ => receiver.clone(),
        }
    }

    /// `super()` in a method: the instance, past the class that defines the method.
    pub(super) fn super_value(&self) -> Value {
        let Some(frame) = self.frames.iter().rev().find(|frame| frame.function.is_some()) else {
            return Value::Unknown;
        };
        match (frame.receiver.as_ref().and_then(Value::as_obj), frame.class) {
            (Some(instance), Some(after)) => Value::Super { instance, after },
            _ => Value::Unknown,
        }
    }

    fn super_attr(&mut self, instance: ObjId, after: ObjId, name: Ustr, place: Place) -> Value {
        let mut lineage = self.lineage(self.heap.get(instance).class);
        if let Some(at) = lineage.iter().position(|base| *base == Base::Project(after)) {
            lineage.drain(..=at);
        }
        match self.find_in(&lineage, name) {
            Some(found) => {
                let receiver = Value::Obj(instance);
                match &found {
                    Value::Function(closure) if !closure.wrap.is_property => {
                        Value::Bound(Rc::new(Bound { receiver, method: Method::Closure(closure.clone()) }))
                    }
                    _ => self.bind(&receiver, &found, name, place),
                }
            }
            // `super().__init__()` of a framework's class sets nothing that we follow.
            None => Value::Builtin(Ustr::from("object.__init__")),
        }
    }

    pub(super) fn set_attr(&mut self, receiver: &Value, name: Ustr, value: Value, place: Place) {
        match receiver {
            Value::Obj(object) => {
                let value =
                    if value.is_unknown() { self.self_typed_by_use(*object, name, value) } else { value };
                self.burn_over(self.heap.get(*object).attrs.len());
                self.heap.get_mut(*object).set_attr(name, value);
            }
            Value::Module(file) => {
                let env = self.open_module(*file, false);
                self.heap.get_mut(env).set_attr(name, value);
            }
            Value::Tensor(tensor) => self.set_tensor_attr(&tensor.clone(), name, &value, place),
            Value::Params(params) => self.set_params_attr(&params.clone(), name, &value, place),
            Value::Maybe(inner) => self.set_attr(&inner.clone(), name, value, place),
            _ => {}
        }
    }

    pub(super) fn delete_attr(&mut self, receiver: &Value, name: Ustr) {
        if let Some(object) = receiver.as_obj() {
            self.heap.get_mut(object).attrs.retain(|(known, _)| *known != name);
        }
    }

    /// `isinstance` against classes of the project and of frameworks.
    pub(super) fn is_instance(&mut self, value: &Value, class: &Value) -> Option<bool> {
        if let Value::Tuple(classes) = class {
            let answers: Vec<Option<bool>> =
                classes.clone().iter().map(|class| self.is_instance(value, class)).collect();
            if answers.contains(&Some(true)) {
                return Some(true);
            }
            return answers.iter().all(|answer| *answer == Some(false)).then_some(false);
        }
        let object = match value {
            Value::Unknown | Value::Maybe(_) | Value::Given(_) => return None,
            Value::Obj(object) => *object,
            Value::Tensor(_) => match class {
                Value::Api(name) => return (self.apis.role(*name) == Some(Role::Tensor)).then_some(true),
                Value::Builtin(_) => return Some(false),
                _ => return None,
            },
            other => return is_plain_instance(other, class),
        };
        let here = self.heap.get(object);
        match (class, &here.state) {
            (Value::Builtin(name), State::List(_)) => Some(matches!(name.as_str(), "list" | "set")),
            (Value::Builtin(name), State::Dict(_)) => Some(name == "dict"),
            (Value::Builtin(_), _) => Some(false),
            (Value::Obj(wanted), _) => {
                let lineage = self.lineage(here.class);
                if lineage.contains(&Base::Project(*wanted)) {
                    Some(true)
                } else if here.module().is_some_and(|module| module.weights == Learned::Opaque)
                    || lineage.contains(&Base::Unknown)
                {
                    None
                } else {
                    Some(false)
                }
            }
            (Value::Api(wanted), _) => {
                if self.is_api(here.class, *wanted) {
                    return Some(true);
                }
                let opaque = here.module().is_some_and(|module| module.weights == Learned::Opaque);
                let known = self.apis.class(*wanted).is_some() && !opaque;
                (known && !self.lineage(here.class).contains(&Base::Unknown)).then_some(false)
            }
            _ => None,
        }
    }

    /// An instance of a class that we only know by name (an annotation).
    pub(super) fn instance_of(&mut self, class: &Value, place: Place) -> Option<Value> {
        match class {
            Value::Api(name) => {
                let role = self.apis.role(*name)?;
                match role {
                    Role::Module => Some(Value::Obj(self.opaque_module(place, Device::Unknown))),
                    _ => {
                        let value = self.of_role(role, place, *name, Value::Unknown);
                        (!value.is_unknown()).then_some(value)
                    }
                }
            }
            Value::Obj(object) if matches!(self.heap.get(*object).state, State::Class(_)) => {
                Some(self.seeded_instance(*object, place))
            }
            Value::Builtin(name) => match name.as_str() {
                "int" => Some(Value::of_int(Int::Unknown)),
                "float" => Some(Value::Float(None)),
                "str" => Some(Value::Str(None)),
                "bool" => Some(Value::Bool(None)),
                _ => None,
            },
            _ => None,
        }
    }

    /// An instance whose constructor's arguments are not known.
    pub(super) fn seeded_instance(&mut self, class: ObjId, place: Place) -> Value {
        let mut call = Call::new(place);
        let init = Ustr::from("__init__");
        if let Some(Value::Function(closure)) = self.find_attr(class, init) {
            let function = self.tree(closure.file).function(closure.function);
            for param in function.params.iter().skip(1) {
                if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) || param.default.is_some() {
                    continue;
                }
                let value = self.seeded_param(&closure, param);
                call.keywords.push((param.name, Passed { value, place }));
            }
        }
        let value = self.instantiate(class, &call);
        self.leave_places_open(&value);
        value
    }
}

/// `isinstance` of a plain value and a class of the language.
fn is_plain_instance(value: &Value, class: &Value) -> Option<bool> {
    let Value::Builtin(name) = class else {
        return matches!(class, Value::Api(_) | Value::Obj(_)).then_some(false);
    };
    let own = match value {
        Value::Bool(_) => &["bool", "int"][..],
        Value::Int(_) => &["int"],
        Value::Float(_) => &["float"],
        Value::Str(_) => &["str"],
        Value::Tuple(_) => &["tuple"],
        Value::None => &[],
        _ => return None,
    };
    Some(own.contains(&name.as_str()))
}
