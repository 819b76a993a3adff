//! What is left open of an instance whose methods are called in whatever order: its methods may have counted,
//! replaced and filled what the constructor began with.

use super::{Interp, lineage::Base};
use crate::names::Subject;
use crate::report::{Place, Span};
use crate::syntax::{ExprId, ExprKind, FnId, StmtId, StmtKind};
use crate::values::*;
use ustr::Ustr;

/// Instances that hold each other are followed so far.
const DEEPEST: usize = 3;

/// What another method than the constructor sets, counts or fills is not what the constructor made of it; nor is that
/// of the instances of the project that it holds: whoever calls its methods has filled its memory of samples, too.
pub(super) fn leave_attributes_open(interp: &mut Interp, instance: &Value) {
    let mut next: Vec<(ObjId, usize)> = instance.as_obj().into_iter().map(|object| (object, 0)).collect();
    let mut seen = ObjSet::default();
    while let Some((object, depth)) = next.pop() {
        if seen.contains(object) {
            continue;
        }
        seen.insert(object);
        leave_own_open(interp, object);
        if depth < DEEPEST {
            next.extend(held_instances(interp, object).into_iter().map(|held| (held, depth + 1)));
        }
    }
}

/// The plain instances of classes of the project that the attributes of an instance hold.
fn held_instances(interp: &Interp, instance: ObjId) -> Vec<ObjId> {
    let attrs = interp.heap.get(instance).attrs.iter();
    let held = attrs.filter_map(|(_, value)| value.bare().as_obj());
    let is_plain = |held: &ObjId| {
        let held = interp.heap.get(*held);
        matches!((&held.class, &held.state), (ClassRef::Project(_), State::Plain))
    };
    held.filter(is_plain).collect()
}

fn leave_own_open(interp: &mut Interp, instance: ObjId) {
    let object = interp.heap.get(instance);
    let class = object.class;
    let begun = object.attrs.iter().enumerate().filter(|(_, (_, value))| interp.is_beginning(value));
    let open: Vec<usize> = begun
        .filter(|(_, (name, value))| {
            let is_none = matches!(value, Value::None);
            interp.changes_later(class, *name, is_none) || is_none && interp.is_field(class, *name)
        })
        .map(|(at, _)| at)
        .collect();
    for (at, tensor) in replaced(interp, class, instance) {
        interp.heap.get_mut(instance).attrs[at].1 = Value::tensor(tensor);
    }
    for at in open {
        let value = interp.heap.get(instance).attrs[at].1.bare().clone();
        match value {
            Value::Obj(container) => interp.heap.get_mut(container).state = interp.filled(container),
            _ => interp.heap.get_mut(instance).attrs[at].1 = Value::Unknown,
        }
    }
}

/// The tensors of the constructor that another method puts others in the place of, of whatever shape.
fn replaced(interp: &Interp, class: ClassRef, instance: ObjId) -> Vec<(usize, Tensor)> {
    let attrs = interp.heap.get(instance).attrs.iter().enumerate();
    let shaped = attrs.filter_map(|(at, (name, value))| {
        let tensor = value.as_tensor().filter(|tensor| tensor.shape.is_some() && !tensor.is_parameter())?;
        let is_bound = interp.of_some_class(class, |state| !interp.later_binders(state, *name).is_empty());
        is_bound.then(|| (at, (**tensor).clone().with_shape(None)))
    });
    shaped.collect()
}

impl Interp<'_> {
    /// The methods of a class, other than its constructor, that bind an attribute.
    fn later_binders(&self, class: &ClassState, name: Ustr) -> Vec<FnId> {
        let bindings = self.module(class.file).relations().bindings(Subject::Own(class.class, name));
        bindings
            .filter_map(|(_, function)| function)
            .filter(|function| self.is_later(class, *function))
            .collect()
    }

    fn is_later(&self, class: &ClassState, function: FnId) -> bool {
        self.tree(class.file).function(function).name != "__init__"
    }

    /// Whether something is so of a class, or of one of the project that it inherits from.
    pub(super) fn of_some_class(&self, class: ClassRef, is_so: impl Fn(&ClassState) -> bool) -> bool {
        self.lineage(class).into_iter().any(|base| {
            let Base::Project(base) = base else { return false };
            matches!(&self.heap.get(base).state, State::Class(state) if is_so(state))
        })
    }

    /// What methods change: a number, a text or a flag, nothing yet, or what is still empty.
    fn is_beginning(&self, value: &Value) -> bool {
        match value.bare() {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Str(_) | Value::None => true,
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(items) => items.exact.as_ref().is_some_and(Vec::is_empty),
                State::Dict(entries) => entries.known.is_empty() && entries.other.is_none(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Holds whatever methods put into it.
    fn filled(&self, container: ObjId) -> State {
        match self.heap.get(container).state.clone() {
            State::List(_) => State::List(Items::any(Value::Unknown)),
            State::Dict(_) => State::Dict(Entries::new(Vec::new(), Some(Value::Unknown))),
            state => state,
        }
    }

    /// Whether an attribute is a field of a class that has no constructor of its own: whoever makes the instance says what
    /// it is, and `None` is only what it is where nobody does.
    fn is_field(&self, class: ClassRef, name: Ustr) -> bool {
        let is_constructed = |state: &ClassState| {
            let tree = self.tree(state.file);
            let mut own = tree.functions.iter().filter(|function| function.class == Some(state.class));
            own.any(|function| function.name == "__init__")
        };
        let declares = |state: &ClassState| {
            let tree = self.tree(state.file);
            tree.class(state.class).body.iter().any(|stmt| match tree.stmt(*stmt).kind {
                StmtKind::AnnAssign { target, .. } => {
                    matches!(tree.expr(target).kind, ExprKind::Name(field) if field == name)
                }
                _ => false,
            })
        };
        self.of_some_class(class, declares) && !self.of_some_class(class, is_constructed)
    }

    /// Whether a method binds an attribute, or calls a method of it, as a loss has them; what is `None` is made by whoever
    /// asks for it first, where the class does so.
    fn changes_later(&self, class: ClassRef, name: Ustr, is_none: bool) -> bool {
        self.of_some_class(class, |state| {
            let binders = self.later_binders(state, name);
            let acts = self.module(state.file).relations().acts_of(Subject::Own(state.class, name));
            let is_used =
                acts.into_iter().any(|act| act.function.is_some_and(|from| self.is_later(state, from)));
            (is_used || !binders.is_empty()) && !(is_none && self.is_made_on_demand(state, name, &binders))
        })
    }

    /// `if self.model is None: self.build()`: whoever asks for it first makes it, and so does each method that is read
    /// by itself.
    fn is_made_on_demand(&self, class: &ClassState, name: Ustr, binders: &[FnId]) -> bool {
        let tree = self.tree(class.file);
        let mentioned = format!(".{name}");
        let mut makers: Vec<String> = vec![format!(".{name} = ")];
        makers.extend(binders.iter().map(|binder| format!(".{}(", tree.function(*binder).name)));
        let within = tree.class(class.class).span;
        let makes = |body: &[StmtId]| {
            let (Some(first), Some(last)) = (body.first(), body.last()) else { return false };
            let span = Span::new(tree.stmt(*first).span.start, tree.stmt(*last).span.end);
            let text = self.words(Place::new(class.file, span));
            makers.iter().any(|maker| text.contains(maker))
        };
        let asks = |test: ExprId| {
            let text = self.words(Place::new(class.file, tree.expr(test).span));
            text.contains(&mentioned) && !text.contains("is not None")
        };
        let mut tests = tree.stmts.iter().filter(|stmt| within.contains(stmt.span));
        tests.any(|stmt| match &stmt.kind {
            StmtKind::If { arms, .. } => arms.iter().any(|(test, body)| asks(*test) && makes(body)),
            _ => false,
        })
    }
}
