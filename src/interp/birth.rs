//! Instances of the project's modules while they are constructed: whether the framework's own constructor
//! runs before it is needed, and what is kept in attributes that the framework does not look into.

use super::{Interp, class::Base, parameters::is_parameter};
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ClassId, ExprKind, FnId, Function, FunctionBody, StmtKind};
use crate::trace::{FnKey, Sight};
use crate::values::*;
use ustr::Ustr;

/// A module whose constructor runs.
pub(super) struct Birth {
    object: ObjId,
    /// The framework's constructor ran, or may have.
    ready: bool,
    /// The first attribute that needed it earlier.
    first: Option<(Place, Ustr)>,
    /// Its constructor was followed to its end.
    whole: bool,
}

/// Containers inside containers are looked into so deep.
const DEEPEST: usize = 3;

/// Methods by which a class may say itself what belongs to it.
const OWN_WAYS: [&str; 5] = ["parameters", "named_parameters", "named_modules", "_apply", "__setattr__"];
/// Names that register what has a computed name.
const BY_COMPUTED_NAME: [&str; 5] = ["setattr", "_modules", "__setattr__", "__dict__", "_parameters"];

impl<'p> Interp<'p> {
    pub(super) fn begin_birth(&mut self, object: ObjId) {
        // The one that was made at the same place before, and that an optimizer has, is another.
        if self.gathered.contains(object) {
            self.gathered = self.gathered.iter().filter(|other| *other != object).collect();
        }
        let class = self.heap.get(object).class;
        let ready = self.heap.get(object).module().is_none()
            || self.has_unseen_base(class)
            || self.owns(class, "constructing")
            || ["__new__", "__setattr__"].iter().any(|name| self.is_of_project(object, name));
        self.watch.births.push(Birth { object, ready, first: None, whole: true });
    }

    pub(super) fn end_birth(&mut self, constructor: Option<Place>) {
        let Some(mut birth) = self.watch.births.pop() else { return };
        if !birth.whole || self.heap.get(birth.object).module().is_none() {
            return;
        }
        let until = self.heap.len() as u32;
        self.watch.born.insert(birth.object, until);
        let notes = self.takes_note(birth.object);
        if self.is_starved() || (birth.ready && (notes || birth.first.is_none())) {
            return;
        }
        if notes {
            birth.first = None;
        }
        if birth.first.is_none() && self.is_outline(birth.object) {
            return;
        }
        let Some(place) = birth.first.map(|(place, _)| place).or(constructor) else { return };
        let class = self.class_name(birth.object);
        let known = |(other, sight): &(Place, Sight)| {
            other.file == place.file
                && matches!(sight, Sight::Unready { class: other, .. } if *other == class)
        };
        if !self.watch.unready.iter().any(known) {
            let attribute = birth.first.map(|(_, name)| name);
            self.watch.unready.push((place, Sight::Unready { class, attribute }));
        }
    }

    /// A constructor, or what it calls, was not followed to its end: what it has made so far says nothing.
    pub(super) fn leave_unborn(&mut self, receiver: Option<&Value>) {
        let Some(object) = receiver.and_then(Value::as_obj) else { return };
        self.watch
            .births
            .iter_mut()
            .filter(|birth| birth.object == object)
            .for_each(|birth| birth.whole = false);
    }

    /// The framework's constructor runs for an instance, or something that may call it.
    pub(super) fn note_ready(&mut self, object: Option<ObjId>) {
        for birth in &mut self.watch.births {
            birth.ready |= object.is_none_or(|object| object == birth.object);
        }
    }

    /// A constructor, or what it calls, raises whatever happens: nothing is made of these arguments, and with
    /// others the rest of it runs.
    pub(super) fn note_refused(&mut self) {
        if let Some(birth) = self.watch.births.last_mut() {
            birth.ready = true;
        }
    }

    /// A stub that computes nothing is never called.
    fn is_outline(&mut self, object: ObjId) -> bool {
        let Some(forward) = self.project_forward(object) else { return true };
        let tree = self.tree(forward.file);
        match &tree.function(forward.function).body {
            FunctionBody::Block(body) => body.iter().all(|stmt| {
                matches!(&tree.stmt(*stmt).kind, StmtKind::Expr(expr)
                    if matches!(tree.expr(*expr).kind, ExprKind::Ellipsis | ExprKind::Str(_)))
            }),
            FunctionBody::Expr(_) => false,
        }
    }

    /// An attribute is assigned: modules and parameters need the framework's constructor to have run.
    pub(super) fn note_assigned(&mut self, object: ObjId, name: Ustr, value: &Value, place: Place) {
        if self.watch.births.is_empty() {
            return;
        }
        if name == "__dict__" {
            // It takes over another instance, which is ready.
            return self.note_ready(Some(object));
        }
        let needs = is_parameter(value)
            || matches!(value, Value::Obj(part) if self.heap.get(*part).module().is_some());
        let open = self.watch.births.iter_mut().find(|birth| birth.object == object && !birth.ready);
        if let Some(birth) = open.filter(|_| needs) {
            birth.first.get_or_insert((place, name));
        }
    }

    /// Whether a class inherits from something of which nobody knows what it does.
    fn has_unseen_base(&self, class: ClassRef) -> bool {
        self.lineage(class).into_iter().any(|base| match base {
            Base::Project(_) => false,
            Base::Api(name) => self.apis.class(name).is_none(),
            Base::Unknown => true,
        })
    }

    /// Whether a framework does by itself a part of what others leave to the script.
    pub(super) fn owns(&self, class: ClassRef, part: &str) -> bool {
        self.lineage(class).into_iter().any(|base| match base {
            Base::Api(name) => self.apis.owns(name).iter().any(|owned| owned == part),
            _ => false,
        })
    }

    fn is_of_project(&mut self, object: ObjId, name: &str) -> bool {
        matches!(self.find_attr(object, Ustr::from(name)), Some(Value::Function(_)))
    }

    /// Whether the framework takes note of layers in whatever attribute, before its constructor, too.
    fn takes_note(&self, object: ObjId) -> bool {
        self.lineage(self.heap.get(object).class).into_iter().any(|base| match base {
            Base::Api(name) => self.apis.owns(name).iter().any(|part| part == "attributes"),
            _ => false,
        })
    }

    /// Classes that nothing instantiates, and whose constructors name no other.
    pub(super) fn unborn(&mut self, file: FileId) {
        let tree = self.tree(file);
        let calls = [Ustr::from("super"), Ustr::from("__init__")];
        for (index, function) in tree.functions.iter().enumerate() {
            let Some(class) = function.class.filter(|_| function.name == "__init__") else { continue };
            let scope = self.module(file).names.scope(FnId(index as u32));
            let ran = self.out.called.contains(&FnKey { file, function: FnId(index as u32) });
            let skipped = ran || calls.iter().any(|name| scope.mentions.contains(*name));
            if !skipped && tree.class(class).parent.is_none() && !self.is_starved() {
                self.unborn_instance(file, class, function);
            }
        }
    }

    fn unborn_instance(&mut self, file: FileId, class: ClassId, constructor: &Function) {
        let Some(env) = self.modules.get(&file).map(|module| module.env) else { return };
        let name = self.tree(file).class(class).name;
        let Some(object) = self.heap.attr(env, name).and_then(Value::as_obj) else { return };
        let own = ClassRef::Project(object);
        if self.role_of(own) == Some(Role::Module) && !self.owns(own, "constructing") {
            self.push_frame(env, file, None, None);
            self.seeded_receiver(file, class, Place::new(file, constructor.name_span));
            self.frames.pop();
        }
    }

    /// What was seen of constructors, once all has run.
    pub(super) fn report_births(&mut self) {
        for (place, sight) in std::mem::take(&mut self.watch.unready) {
            self.see(place, sight, Confidence::High);
        }
        let mut born: Vec<(ObjId, u32)> =
            self.watch.born.iter().map(|(object, until)| (*object, *until)).collect();
        born.sort_unstable();
        let mut registered = None;
        let mut seen = Vec::new();
        for (object, until) in born {
            self.hidden_parts(object, until, &mut registered, &mut seen);
        }
    }

    /// Parts that only a plain list, dict or tuple holds.
    fn hidden_parts(
        &mut self,
        object: ObjId,
        until: u32,
        registered: &mut Option<ObjSet>,
        seen: &mut Vec<Place>,
    ) {
        let attrs = self.heap.get(object).attrs.clone();
        for (name, value) in &attrs {
            let Some((container, site)) = self.plain_container(value) else { continue };
            let mut parts = Vec::new();
            if !self.parts_within(value, DEEPEST, &mut parts)
                || parts.is_empty()
                || parts.len() == 1 && is_single(&self.heap, value)
            {
                continue;
            }
            let here = |part: &ObjId| part.0 > object.0 && part.0 < until;
            let Some(site) = site.or_else(|| parts.first().map(|part| self.heap.get(*part).site)) else {
                continue;
            };
            if !parts.iter().all(here) || seen.contains(&site) || self.registers_itself(object, *name) {
                continue;
            }
            let known = registered.get_or_insert_with(|| registered_parts(&self.heap));
            let bare = self.is_bare_parameter(parts[0]);
            let alike = parts.iter().all(|part| self.is_bare_parameter(*part) == bare)
                && self.parts_within(value, 1, &mut Vec::new());
            let lost: Vec<ObjId> = parts.into_iter().filter(|part| !known.contains(*part)).collect();
            if lost.is_empty() || !lost.iter().any(|part| self.is_learnt(*part)) {
                continue;
            }
            seen.push(site);
            let (class, parts) = (self.class_name(object), self.class_name(lost[0]));
            // Where nothing is trained, bare parameters may be set by hand.
            let by_hand = self.is_bare_parameter(lost[0]) && !self.trains();
            let confidence = if by_hand { Confidence::Low } else { self.heap.get(object).confidence };
            self.see(site, Sight::Hidden { class, attribute: *name, container, parts, alike }, confidence);
        }
    }

    fn is_bare_parameter(&self, part: ObjId) -> bool {
        let class = self.apis.class_of(Role::Parameter).map(ClassRef::Api);
        Some(self.heap.get(part).class) == class
    }

    fn trains(&self) -> bool {
        (0..self.heap.len() as u32).any(|object| self.heap.get(ObjId(object)).optimizer().is_some())
    }

    fn plain_container(&self, value: &Value) -> Option<(&'static str, Option<Place>)> {
        match value.bare() {
            Value::Tuple(items) if !items.is_empty() => Some(("tuple", None)),
            Value::Obj(object) => match self.heap.get(*object).state {
                State::List(_) => Some(("list", Some(self.heap.get(*object).site))),
                State::Dict(_) => Some(("dict", Some(self.heap.get(*object).site))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Collects modules and parameters in containers; false when anything else is in there.
    fn parts_within(&self, value: &Value, depth: usize, parts: &mut Vec<ObjId>) -> bool {
        let mut all = |values: &mut dyn Iterator<Item = &Value>| -> bool {
            for value in values {
                if depth == 0 || !self.parts_within(value, depth - 1, parts) {
                    return false;
                }
            }
            true
        };
        match value.bare() {
            Value::None | Value::Str(_) | Value::Int(_) => true,
            Value::Tuple(items) => all(&mut items.iter()),
            Value::Tensor(tensor) if is_parameter(value) => {
                if let Graph::Live(nodes) = &tensor.graph {
                    parts.extend(nodes.leaves.iter());
                }
                true
            }
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Module(_) => {
                    parts.push(*object);
                    true
                }
                State::List(Items { exact: Some(items), .. }) => all(&mut items.iter()),
                State::List(items) => all(&mut std::iter::once(&items.any)),
                State::Dict(entries) => {
                    let known = entries.known.iter().map(|(_, value)| value);
                    all(&mut known.chain(&entries.other))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether anything asks for gradients in what an optimizer would have to be given.
    fn is_learnt(&self, part: ObjId) -> bool {
        let own =
            self.heap.get(part).module().is_some_and(|module| {
                matches!(module.weights, Learned::Own(_)) && module.frozen == Some(false)
            });
        own || self.learns(part) == Some(true)
    }

    /// A class that says itself what its parts are, in a way that is not followed, or whose methods other
    /// than the constructor never look at the attribute.
    fn registers_itself(&mut self, object: ObjId, attribute: Ustr) -> bool {
        let class = self.heap.get(object).class;
        if self.takes_note(object)
            || self.has_unseen_base(class)
            || OWN_WAYS.iter().any(|name| self.is_of_project(object, name))
        {
            return true;
        }
        let opaque = self.heap.get(object).attrs.iter().any(|(_, value)| {
            let Some(part) = value.as_obj() else { return false };
            let here = self.heap.get(part);
            matches!(here.class, ClassRef::Api(_))
                && here.module().is_some_and(|module| module.weights == Learned::Opaque)
        });
        let mut used = false;
        for base in self.lineage(self.heap.get(object).class) {
            let Base::Project(class) = base else { continue };
            let State::Class(state) = &self.heap.get(class).state else { continue };
            let module = self.module(state.file);
            for (index, scope) in module.names.scopes.iter().enumerate() {
                let function = module.tree.function(FnId(index as u32));
                if function.class != Some(state.class) {
                    continue;
                }
                if BY_COMPUTED_NAME.iter().any(|name| scope.mentions.contains(Ustr::from(name))) {
                    return true;
                }
                used |= function.name != "__init__" && scope.mentions.contains(attribute);
            }
        }
        opaque || !used
    }

    /// `add_module(name, part)` under a name that is not known.
    pub(super) fn register_unnamed(&mut self, module: ObjId, part: &Value) {
        let Some(part) = part.as_obj() else { return };
        if let State::Module(state) = &mut self.heap.get_mut(module).state
            && !state.parts.contains(&part)
        {
            state.parts.push(part);
        }
    }
}

/// A container written around one module: the usual way to keep it from being registered.
fn is_single(heap: &Heap, value: &Value) -> bool {
    match value.bare() {
        Value::Tuple(items) => items.len() == 1,
        Value::Obj(object) => match &heap.get(*object).state {
            State::List(items) => items.exact.as_ref().is_some_and(|items| items.len() == 1),
            State::Dict(entries) => entries.known.len() == 1 && entries.other.is_none(),
            _ => false,
        },
        _ => false,
    }
}

/// What is an attribute of some module itself, or what an optimizer was given.
fn registered_parts(heap: &Heap) -> ObjSet {
    let mut all: Vec<ObjId> = Vec::new();
    for index in 0..heap.len() {
        let here = heap.get(ObjId(index as u32));
        match &here.state {
            State::Module(module) => {
                all.extend(module.parts.iter());
                all.extend(here.attrs.iter().filter_map(|(_, value)| value.as_obj()));
                for (_, value) in here.attrs.iter().filter(|(_, value)| is_parameter(value)) {
                    if let Some(Graph::Live(nodes)) = value.as_tensor().map(|tensor| &tensor.graph) {
                        all.extend(nodes.leaves.iter());
                    }
                }
            }
            State::Optimizer(optimizer) => all.extend(optimizer.owns.iter()),
            _ => {}
        }
    }
    all.into_iter().collect()
}
