//! Classes: inheritance, instances, dataclasses, `isinstance`.

use super::lineage::{Base, Lineage};
use super::refine::{is_of_numbers, is_plain_instance};
use super::{Call, Constructed, Instance, Interp, Passed, given_devices::is_cpu, python};
use crate::apis::{Api, Role, Transfer};
use crate::names::Subject;
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// `abc.ABCMeta` and `type` leave instances alone.
fn is_usual_metaclass(value: &Value) -> bool {
    match value.bare() {
        Value::Api(name) => name.starts_with("abc."),
        Value::Builtin(name) => name == "type",
        _ => false,
    }
}

/// A decorator from elsewhere may give the constructor of a class arguments of its own, as those of a configuration.
pub(crate) const WRAPPED: Note = Note::new("wrapped");

impl<'p> Interp<'p> {
    pub(super) fn define_class(&mut self, class: ClassId) {
        let file = self.file();
        let definition = self.tree(file).class(class);
        let mut bases = Vec::new();
        for base in &definition.bases {
            let value = self.eval(base.value);
            match base.kind {
                ArgKind::Positional => bases.push(value),
                // It makes the instances as it likes, before their constructors run and after.
                ArgKind::Keyword(name) if name == "metaclass" && !is_usual_metaclass(&value) => {
                    bases.push(Value::Unknown);
                }
                _ => {}
            }
        }
        let env = self.frames.last().map_or(ObjId(0), |frame| frame.env);
        let place = self.place(definition.span);
        let state = State::Class(Rc::new(ClassState { file, class, bases, env }));
        let object = self.alloc(place, ClassRef::Builtin, state);
        self.note_nested_class(file, class, object);
        // The body's own names live on the class; functions in it look past them.
        self.loaded.scopes.insert(object, super::Scope { file, function: None, parent: Some(env) });
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
        if name.is_some_and(|name| name.ends_with("dataclass")) {
            self.note_dataclass(class, decorator, name);
        } else if decorator.is_unknown() || name.is_some_and(|name| self.apis.get(name).is_none()) {
            self.heap.note(class, WRAPPED, Value::Bool(Some(true)));
        }
        self.replaced_by(decorator, value)
    }

    /// What a decorator of the project makes of a class: another class, or the one that it has written into a registry.
    fn replaced_by(&mut self, decorator: &Value, class: Value) -> Value {
        if !matches!(decorator, Value::Function(_) | Value::Bound(_)) {
            return class;
        }
        let place = class.as_obj().map(|object| self.heap.get(object).site).unwrap_or_default();
        let made = self.call_value(decorator, &Call::with(place, [class.clone()]));
        let is_class = |object: ObjId| matches!(self.heap.get(object).state, State::Class(_));
        if made.as_obj().is_some_and(is_class) { made } else { class }
    }

    /// Whether of an object nothing is known but its role: a bare parameter, a model that somebody else makes.
    pub(crate) fn is_just(&self, object: ObjId, role: Role) -> bool {
        self.apis.class_of(role).map(ClassRef::Api) == Some(self.heap.get(object).class)
    }

    /// The role that a class has from a framework.
    pub(crate) fn role_of(&self, class: ClassRef) -> Option<Role> {
        let lineage = self.lineage(class);
        let named = lineage.iter().find_map(|base| match base {
            Base::Api(name) => self.apis.role(*name),
            _ => None,
        });
        named.or_else(|| self.computes_with_layers(&lineage).then_some(Role::Module))
    }

    /// A class whose base lies in a package that is not here, and that makes layers and has a `forward`: a module.
    fn computes_with_layers(&self, lineage: &Lineage) -> bool {
        let is_unseen = |base: &Base| match base {
            Base::Project(_) => false,
            Base::Api(name) => self.apis.class(*name).is_none() && self.apis.get(*name).is_none(),
            Base::Unknown => true,
        };
        let method = |class: ObjId, name: &str| match self.heap.get(class).attr(Ustr::from(name)) {
            Some(Value::Function(closure)) => Some(closure.clone()),
            _ => None,
        };
        let is_layer = |name: Ustr| {
            let module = self.apis.class_of(Role::Module).and_then(|class| class.as_str().rsplit_once('.'));
            module.is_some_and(|(package, _)| {
                self.apis.role(self.apis.member(Ustr::from(package), name)) == Some(Role::Module)
            })
        };
        let makes_layers = |class: ObjId| {
            method(class, "__init__").is_some_and(|constructor| {
                let scope = self.module(constructor.file).names.scope(constructor.function);
                scope.mentions.iter().any(is_layer)
            })
        };
        let of_project = || {
            lineage.iter().filter_map(|base| match base {
                Base::Project(class) => Some(*class),
                _ => None,
            })
        };
        lineage.iter().any(is_unseen)
            && of_project().any(|class| method(class, "forward").is_some())
            && of_project().any(makes_layers)
    }

    pub(super) fn is_api(&self, class: ClassRef, ancestor: Ustr) -> bool {
        self.lineage(class)
            .into_iter()
            .any(|base| matches!(base, Base::Api(name) if self.apis.is_a(name, ancestor)))
    }

    pub(super) fn instantiate(&mut self, class: ObjId, call: &Call) -> Value {
        if let Some(other) = super::inherited::given_by_new(self, class, call) {
            return other;
        }
        let reference = ClassRef::Project(class);
        let state = match self.role_of(reference) {
            Some(Role::Module) => State::Module(ModuleState::default()),
            Some(Role::Optimizer) => {
                State::Optimizer(OptimizerState { others: true, ..OptimizerState::default() })
            }
            Some(Role::Scaler) => State::Scaler,
            Some(Role::Sampler) => State::Sampler(SamplerState { orders: Orders::UNKNOWN, shared_at: None }),
            _ => State::Plain,
        };
        let object = self.alloc(call.place, reference, state);
        self.made(call.place, object);
        self.on_instance(&Instance { object, place: call.place });
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
                self.forget_gathered(object);
                let name = self.tree(closure.file).function(closure.function).name_span;
                let constructed = Constructed { object, constructor: Place::new(closure.file, name) };
                self.on_construct(&constructed);
                self.inline(&closure, Some(&value), call);
                super::inherited::build_parts(self, object, call.place);
                self.on_constructed(&constructed);
            }
            Some(method) => {
                let bound = self.bind(&value, &method, init, call.place);
                self.call_value(&bound, call);
                super::inherited::build_parts(self, object, call.place);
            }
            None => {
                super::inherited::construct(self, object, call);
                self.note_unfit_fields(object, class, call);
                self.dataclass_fields(object, class, call);
                super::inherited::set_up(self, object, call.place);
                super::inherited::build_parts(self, object, call.place);
            }
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
                    // `**settings` that we do not see may give it.
                    None if call.open => self.field_of_type(annotation, &state),
                    // Or whoever sets it: what is a framework's is known without making one.
                    None if value.is_none() && self.is_by_base(annotation, &state) => {
                        self.field_of_type(annotation, &state)
                    }
                    None => self.field_default(base, name, value, &state, annotation),
                };
                self.heap.get_mut(object).set_attr(name, value);
            }
        }
    }

    fn is_by_base(&mut self, annotation: ExprId, state: &ClassState) -> bool {
        self.push_frame(state.env, state.file, None, None);
        let class = self.quietly(|interp| interp.annotation_class(annotation));
        self.frames.pop();
        matches!(class, Some(Value::Api(_)))
    }

    fn field_of_type(&mut self, annotation: ExprId, state: &ClassState) -> Value {
        self.push_frame(state.env, state.file, None, None);
        let value = self.typed_by_annotation(annotation, Value::Unknown);
        self.frames.pop();
        value
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
                Value::Int(num.set_at(&Rc::new(origin)))
            }
            Value::Bool(_) | Value::Str(_) | Value::Float(_) => {
                let origin = Rc::new(Origin { place, name: Rc::from(name.as_str()), given: true });
                Value::Given(Rc::new(Given { value, origin }))
            }
            other => other,
        }
    }

    /// An attribute as it is stored, on the instance or its classes; methods are not bound yet.
    pub(crate) fn find_attr(&mut self, object: ObjId, name: Ustr) -> Option<Value> {
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
        self.find_in(&lineage, name).or_else(|| self.method_of_unseen_base(object, &lineage, name))
    }

    pub(crate) fn find_in(&self, lineage: &[Base], name: Ustr) -> Option<Value> {
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
                    // It has a constructor of its own, whatever comes after it.
                    if name == "__init__" && self.is_module_class(*class) {
                        return None;
                    }
                }
                Base::Unknown => {}
            }
        }
        None
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
            Value::Tensor(tensor) => match class {
                Value::Api(name) if is_of_numbers(*name) => return Some(false),
                // Since they were one, every tensor is a `Variable`.
                Value::Api(name) => {
                    let variable = self.apis.get(*name).and_then(Api::transfer) == Some(Transfer::Variable);
                    let role = if variable { Some(Role::Tensor) } else { self.apis.role(*name) };
                    let is_sure = tensor.confidence == Confidence::High;
                    return match role? {
                        Role::Tensor => (is_sure || !tensor.is_array).then_some(!tensor.is_array),
                        // Of which class an array is, a table's or NumPy's own, is not known.
                        // No array is on a GPU.
                        Role::Array if !tensor.is_array && (is_sure || tensor.device.is_gpu()) => Some(false),
                        _ => None,
                    };
                }
                Value::Builtin(_) => return Some(false),
                _ => return None,
            },
            Value::Api(name) if matches!(class, Value::Builtin(class) if class == "type") => {
                return self.apis.class(*name).map(|_| true);
            }
            // Of which class of a framework they are is not said.
            Value::Device(..) | Value::DType(_) if matches!(class, Value::Api(_)) => return None,
            other => return is_plain_instance(other, class),
        };
        if let (Value::Builtin(name), State::Class(_)) = (class, &self.heap.get(object).state) {
            return Some(matches!(name.as_str(), "type" | "object"));
        }
        if let Some(answer) = self.is_wrapper(object, class) {
            return Some(answer);
        }
        let here = self.heap.get(object);
        // One of several is of a class where all of them are.
        let is_of_none = here.class == ClassRef::Builtin;
        let several = match here.module().filter(|_| is_of_none).map(|module| module.parts.clone()) {
            Some(parts) if !parts.is_empty() => parts,
            _ if is_of_none && self.heap.is_merged(object) => self.heap.stands_for(object).iter().collect(),
            _ => Default::default(),
        };
        if !several.is_empty() {
            let answers: Vec<Option<bool>> =
                several.into_iter().map(|one| self.is_instance(&Value::Obj(one), class)).collect();
            return answers[0].filter(|first| answers.iter().all(|answer| *answer == Some(*first)));
        }
        match (class, &here.state) {
            (Value::Builtin(name), State::List(_)) => Some(python::is_list(self, object, name)),
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
                    // An engine is what its class says, whoever makes it.
                    Role::Engine => {
                        let class = ClassRef::Api(*name);
                        Some(Value::Obj(self.alloc_as(place, class, State::Plain, Confidence::Medium)))
                    }
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
            // What `**kwargs` hands on, nobody knows; what is listed has its default.
            call.open = function.params.iter().any(|param| param.kind == ParamKind::DoubleStar);
            for param in function.params.iter().skip(1) {
                if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) {
                    continue;
                }
                let default = closure.defaults.iter().find(|(name, _)| *name == param.name);
                let chosen = || is_chosen_by_callers(&closure, param);
                if param.default.is_some() && !chosen() && !self.is_trained_with(&closure, param) {
                    let given = default.filter(|_| call.open);
                    let keyword =
                        |(name, value): &(Ustr, Value)| (*name, Passed { value: value.clone(), place });
                    call.keywords.extend(given.map(keyword));
                    continue;
                }
                let value = match number_by_default(&closure, param) {
                    Some(number) => self.unsure(number, place, param.name),
                    None => match self.seeded_param(&closure, param) {
                        Value::Maybe(given) => (*given).clone(),
                        value => value,
                    },
                };
                call.keywords.push((param.name, Passed { value, place }));
            }
        }
        let value = self.instantiate(class, &call);
        self.leave_places_open(&value);
        super::left_open::leave_attributes_open(self, &value);
        value
    }

    /// `optimizer=None`, of a constructor whose methods go on with it as with an optimizer: who trains passes one.
    fn is_trained_with(&mut self, closure: &Closure, param: &Param) -> bool {
        let is_none = |(name, value): &(Ustr, Value)| *name == param.name && matches!(value, Value::None);
        let subject = Subject::Local(Some(closure.function), param.name);
        closure.defaults.iter().any(is_none)
            && self.taken_for(closure.file, subject).is_some_and(|taken| taken.role == Role::Optimizer)
    }
}

/// `tensor=torch.FloatTensor`, `device="cpu"`, `use_cuda=False`: the caller passes the class of its device, the device,
/// or a flag.
fn is_chosen_by_callers(closure: &Closure, param: &Param) -> bool {
    let own = closure.defaults.iter().find(|(name, _)| *name == param.name);
    own.is_some_and(|(_, value)| {
        is_cpu(value)
            || matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_))
            || matches!(value, Value::Api(name) if name.ends_with("Tensor"))
    })
}

/// `kernel_size=1`: likely, but whoever builds one of it may pass another number.
fn number_by_default(closure: &Closure, param: &Param) -> Option<Value> {
    let own = closure.defaults.iter().find(|(name, _)| *name == param.name);
    own.map(|(_, value)| value.clone()).filter(|value| matches!(value, Value::Int(_)))
}
