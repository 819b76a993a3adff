//! Classes that nothing instantiates: their constructors are rehearsed, too. And what the bases of a class say
//! of its instances.

use super::lineage::{Base, Lineage};
use super::{Call, Interp, Passed};
use crate::apis::{Api, Role, Transfer};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{ClassId, ExprId, ExprKind, FnId, Function, ParamKind, StmtKind, Tree};
use crate::trace::{Called, FnKey, Sight};
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// A method that the base class of a module has, where that lies in a package that is not here.
    pub(super) fn method_of_unseen_base(
        &self,
        object: ObjId,
        lineage: &Lineage,
        name: Ustr,
    ) -> Option<Value> {
        self.heap.get(object).module()?;
        let is_here = |base: &Base| matches!(base, Base::Api(name) if self.apis.role(*name).is_some());
        let class = self.apis.class_of(Role::Module).filter(|_| !lineage.iter().any(is_here))?;
        self.apis.method(class, name).map(|api| Value::Api(api.name))
    }

    /// Whether a class inherits from something of which nobody knows what it does.
    pub(crate) fn has_unseen_base(&self, class: ClassRef) -> bool {
        self.lineage(class).into_iter().any(|base| self.is_unseen_base(base))
    }

    /// Whether nobody sees what a class of this lineage has.
    pub(crate) fn is_unseen_base(&self, base: Base) -> bool {
        match base {
            Base::Project(_) => false,
            Base::Api(name) => self.apis.class(name).is_none(),
            Base::Unknown => true,
        }
    }

    /// Whether a framework does by itself a part of what others leave to the script.
    pub(crate) fn owns(&self, class: ClassRef, part: &str) -> bool {
        self.lineage(class).into_iter().any(|base| match base {
            Base::Api(name) => self.apis.owns(name).iter().any(|owned| owned == part),
            _ => false,
        })
    }

    /// Whether a class of the project defines a method by this name.
    pub(crate) fn is_of_project(&mut self, object: ObjId, name: &str) -> bool {
        matches!(self.find_attr(object, Ustr::from(name)), Some(Value::Function(_)))
    }

    /// Classes that nothing instantiates, and whose constructors name no other, or gather parts in a list.
    pub(super) fn unconstructed(&mut self, file: FileId) {
        let tree = self.tree(file);
        let gathered = gathered(tree);
        let calls = [Ustr::from("super"), Ustr::from("__init__")];
        for (index, function) in tree.functions.iter().enumerate() {
            let Some(class) = function.class.filter(|_| function.name == "__init__") else { continue };
            let scope = self.module(file).names.scope(FnId(index as u32));
            let key = FnKey { file, function: FnId(index as u32) };
            let ran = self.out.called.contains(&key);
            let gathers = gathered.iter().any(|span| function.span.contains(*span));
            let skipped = ran || !gathers && calls.iter().any(|name| scope.mentions.contains(*name));
            if !skipped && tree.class(class).parent.is_none() && !self.is_out_of_fuel() {
                self.on_a_ration(key, |interp| interp.construct_once(file, class, function));
            }
        }
    }

    /// An instance of the class that a method belongs to; one for all its methods.
    pub(super) fn seeded_receiver(&mut self, file: FileId, class: ClassId, place: Place) -> Option<Value> {
        let object = self.class_object(file, class)?;
        if let Some(known) = self.supposed.instances.get(&object) {
            return Some(known.clone());
        }
        if let Some(made) = self.supposed.made.get(&object).copied() {
            self.left_to_callers(made);
            return Some(Value::Obj(made));
        }
        let site = Place::new(file, Span::new(place.span.start, place.span.start));
        let made = self.only_heir(object).unwrap_or(object);
        let value = match self.handed_to_engine(made) {
            Some(value) => value,
            None => {
                let (value, constructing) = self.instance_by_itself(made, site);
                let constructing = constructing.iter().filter(|key| !self.out.called.contains(key));
                self.supposed.constructing.extend(constructing);
                value
            }
        };
        self.supposed.instances.insert(object, value.clone());
        self.open_instance(file, class, made, &value);
        Some(value)
    }

    /// The one instance that the script makes of a class whose methods a framework calls: it has what its constructor was
    /// given. Of a module others may be made, and it may be changed on the way.
    fn handed_to_engine(&self, class: ObjId) -> Option<Value> {
        let of_class = ClassRef::Project(class);
        if self.called_first(of_class).is_empty() || self.role_of(of_class) == Some(Role::Module) {
            return None;
        }
        let made = self.project_instances(self.supposed.scripted);
        let mut made = made.filter(|(known, _)| *known == class).map(|(_, object)| object);
        let only = made.next().filter(|object| !self.heap.is_merged(*object))?;
        made.next().is_none().then_some(Value::Obj(only))
    }

    /// Whoever calls the methods of a module may have moved it before.
    fn left_to_callers(&mut self, module: ObjId) {
        for part in self.descendants(module).union(&ObjSet::one(module)).iter() {
            if let State::Module(state) = &mut self.heap.get_mut(part).state
                && state.device == Device::Cpu
            {
                state.device = Device::Unknown;
            }
        }
    }

    /// The instances of classes of the project among the objects before one, in their order, with their classes.
    pub(super) fn project_instances(&self, until: u32) -> impl Iterator<Item = (ObjId, ObjId)> {
        (0..until).map(ObjId).filter_map(|object| match self.heap.get(object).class {
            ClassRef::Project(class) => Some((class, object)),
            _ => None,
        })
    }

    /// The only class that the script makes instances of among those that inherit from a class, where it makes none of
    /// the class itself: what the constructor of the heir sets, methods of the base find.
    fn only_heir(&mut self, base: ObjId) -> Option<ObjId> {
        let classes: FxHashSet<ObjId> =
            self.project_instances(self.supposed.scripted).map(|(class, _)| class).collect();
        self.burn_over(self.supposed.scripted as usize);
        let is_heir = |class: &ObjId| self.lineage(ClassRef::Project(*class)).contains(&Base::Project(base));
        let mut heirs = classes.into_iter().filter(is_heir);
        let only = heirs.next()?;
        (only != base && heirs.next().is_none()).then_some(only)
    }

    /// A method that the class of an instance overrides, and reaches by `super()`.
    pub(super) fn overridden(&mut self, key: FnKey, definition: &Function) -> Option<Rc<Closure>> {
        let class = self.class_object(key.file, definition.class?)?;
        let own = self.find_attr(class, definition.name)?;
        self.defined_as(key, own)
    }

    /// Whether an instance was made up of its class, as no call of the script makes one.
    pub(crate) fn is_made_up(&self, object: ObjId) -> bool {
        self.supposed.instances.values().any(|instance| instance.as_obj() == Some(object))
    }

    /// The methods that a framework calls on an instance of a class before any other.
    pub(super) fn called_first(&self, class: ClassRef) -> &'p [Ustr] {
        let apis = self.apis;
        let of_base = |base| match base {
            Base::Api(name) => Some(apis.called_first(name)),
            _ => None,
        };
        self.lineage(class)
            .into_iter()
            .filter_map(of_base)
            .find(|first| !first.is_empty())
            .unwrap_or_default()
    }

    /// The place of a method among those that a framework calls before the others, and after all of them that of the
    /// others.
    pub(super) fn turn(&self, file: FileId, definition: &Function) -> usize {
        let object = definition.class.and_then(|class| self.class_object(file, class));
        let first = object.map_or(&[][..], |object| self.called_first(ClassRef::Project(object)));
        first.iter().position(|name| *name == definition.name).unwrap_or(usize::MAX)
    }

    /// What a framework does with the loaders that a method gives it: alone, or several of them.
    pub(super) fn note_loaders(
        &mut self,
        receiver: Option<&Value>,
        method: Ustr,
        result: &Value,
        place: Place,
    ) {
        let Some(object) = receiver.and_then(Value::as_obj) else { return };
        let lineage = self.lineage(self.heap.get(object).class);
        let of_base = |does: &dyn Fn(Ustr) -> bool| {
            lineage.iter().any(|base| matches!(base, Base::Api(name) if does(*name)))
        };
        let trains = of_base(&|name| self.apis.trains_on(name, method));
        if !trains && !of_base(&|name| self.apis.scores_on(name, method)) {
            return;
        }
        self.note_gone_through(result, trains, place, self.heap.get(object).confidence);
    }

    /// A framework goes through a loader, or through several of them, and trains on what it gives or scores a model.
    pub(super) fn note_gone_through(&mut self, given: &Value, trains: bool, place: Place, sure: Confidence) {
        let given = match given.bare() {
            Value::Tuple(items) => items.to_vec(),
            Value::Obj(held) => match &self.heap.get(*held).state {
                State::List(items) => items.exact.clone().unwrap_or_default(),
                State::Dict(entries) => entries.known.iter().map(|(_, value)| value.clone()).collect(),
                _ => vec![given.clone()],
            },
            _ => Vec::new(),
        };
        let is_loader = |object: &ObjId| matches!(self.heap.get(*object).state, State::Loader(_));
        let loaders: Vec<ObjId> = given.iter().filter_map(Value::as_obj).filter(is_loader).collect();
        for loader in loaders {
            let sight = Sight::GoneThrough { loader, trains };
            self.see(place, sight, sure);
        }
    }

    /// Calls on an instance what a framework calls before its other methods, unless that is rehearsed with it anyway: what
    /// the class inherits, and what the script has called on an instance of its own.
    fn open_instance(&mut self, file: FileId, class: ClassId, object: ObjId, instance: &Value) {
        for name in self.called_first(ClassRef::Project(object)) {
            let Some(Value::Function(closure)) = self.find_attr(object, *name) else { continue };
            let key = FnKey { file: closure.file, function: closure.function };
            let definition = self.tree(key.file).function(key.function);
            let is_own = key.file == file && definition.class == Some(class);
            if closure.wrap.is_static || is_own && !self.out.called.contains(&key) {
                continue;
            }
            let place = Place::new(key.file, definition.name_span);
            let mut call = Call::new(place);
            for param in definition.params.iter().skip(1) {
                let starred = matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar);
                if !starred {
                    let value = self.seeded_param(&closure, param);
                    call.keywords
                        .push((param.name, Passed { value, place: Place::new(key.file, param.span) }));
                }
            }
            self.uncounted(|interp| interp.inline_decorated(&closure, Some(instance), &call));
        }
    }

    /// An instance whose constructor's arguments are not known, and what would have been counted: nothing stays of it but
    /// what is certain of its stacks. What fits one size only says nothing where somebody calls the constructor.
    pub(super) fn instance_by_itself(&mut self, class: ObjId, site: Place) -> (Value, Called) {
        let mut certain = Vec::new();
        let made = self.counted_apart(|interp| {
            let began = interp.out.observations.len();
            let value = interp.seeded_instance(class, site);
            let seen = interp.out.observations.split_off(began.min(interp.out.observations.len()));
            certain.extend(seen.into_iter().filter(|seen| seen.certain));
            value
        });
        let constructor = match self.find_attr(class, Ustr::from("__init__")) {
            Some(Value::Function(closure)) => Some(FnKey { file: closure.file, function: closure.function }),
            _ => None,
        };
        for seen in certain.iter_mut().filter(|seen| seen.at.confidence < Confidence::High) {
            seen.at.seeded = seen.at.seeded.or(constructor);
        }
        self.out.observations.extend(certain);
        made
    }

    fn construct_once(&mut self, file: FileId, class: ClassId, constructor: &Function) {
        let Some(env) = self.module_names(file) else { return };
        let Some(object) = self.class_object(file, class) else { return };
        let own = ClassRef::Project(object);
        if self.role_of(own) == Some(Role::Module) && !self.owns(own, "constructing") {
            self.push_frame(env, file, None, None);
            self.seeded_receiver(file, class, Place::new(file, constructor.name_span));
            self.frames.pop();
        }
    }

    /// `add_module(name, part)` under a name that is not known: nobody knows how many a loop puts into a stack.
    pub(super) fn register_unnamed(&mut self, module: ObjId, part: &Value) {
        let stacks = self.layer_api(module).and_then(Api::transfer) == Some(Transfer::Sequential);
        let in_loop = self.in_loop();
        let State::Module(state) = &mut self.heap.get_mut(module).state else { return };
        state.repeats |= stacks && in_loop;
        let parameter =
            part.as_tensor().filter(|_| super::is_parameter(part)).map(|held| held.graph.leaves());
        let own = part.as_obj().into_iter().chain(parameter.iter().flat_map(ObjSet::iter));
        for part in own {
            if !state.parts.contains(&part) {
                state.parts.push(part);
            }
        }
    }
}

/// Where attributes become lists, dicts and comprehensions: `self.layers = [...]`, or a variable that became one.
fn gathered(tree: &Tree) -> Vec<Span> {
    let lists: FxHashSet<Ustr> = assignments(tree)
        .filter(|(_, value, _)| is_container(tree, *value))
        .filter_map(|(target, ..)| match tree.expr(target).kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        })
        .collect();
    let gathers = |value: ExprId| match tree.expr(value).kind {
        ExprKind::Name(name) => lists.contains(&name),
        _ => is_container(tree, value),
    };
    assignments(tree)
        .filter(|(target, value, _)| {
            matches!(tree.expr(*target).kind, ExprKind::Attribute { .. }) && gathers(*value)
        })
        .map(|(.., span)| span)
        .collect()
}

/// Each target of each assignment, with its value.
fn assignments(tree: &Tree) -> impl Iterator<Item = (ExprId, ExprId, Span)> {
    tree.stmts.iter().flat_map(|stmt| {
        let (targets, value) = match &stmt.kind {
            StmtKind::Assign { targets, value } => (&targets[..], Some(*value)),
            _ => (&[][..], None),
        };
        targets.iter().filter_map(move |target| Some((*target, value?, stmt.span)))
    })
}

/// `[...]`, `(...)`, `{...}`, a comprehension, or `list(...)`.
fn is_container(tree: &Tree, value: ExprId) -> bool {
    match &tree.expr(value).kind {
        ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_) | ExprKind::Comprehension(_) => true,
        ExprKind::Call { callee, .. } => match tree.expr(*callee).kind {
            ExprKind::Name(name) => CONTAINERS.contains(&name.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// What makes a plain container of what it is given.
const CONTAINERS: [&str; 3] = ["dict", "list", "tuple"];
