//! What is done with a variable or with an attribute of `self`: evidence for its type.

use super::Names;
use crate::syntax::{ClassId, ExprKind, FnId, Tree};
use rustc_hash::FxHashMap;
use ustr::Ustr;

/// What is done with one variable.
#[derive(Debug, Default)]
pub struct Used {
    /// Attribute names read or written on it, in order of first use.
    pub attributes: Vec<Ustr>,
    /// Those that are called, or were meant to be: `model.eval` alone is a statement that lacks its parentheses.
    pub methods: Vec<Ustr>,
    pub called: bool,
}

/// What is done with the variables of a file and the attributes of its classes.
#[derive(Debug, Default)]
pub struct Uses {
    local: FxHashMap<(Option<FnId>, Ustr), Used>,
    own: FxHashMap<(ClassId, Ustr), Used>,
}

impl Uses {
    /// The attributes used on `name` of the function `scope`, or of the module; also in closures.
    pub fn of_local(&self, scope: Option<FnId>, name: Ustr) -> &[Ustr] {
        self.local.get(&(scope, name)).map_or(&[], |used| &used.attributes)
    }

    /// Whether an attribute of a variable is called, so that it is a method.
    pub fn calls_method(&self, scope: Option<FnId>, name: Ustr, attribute: Ustr) -> bool {
        self.local.get(&(scope, name)).is_some_and(|used| used.methods.contains(&attribute))
    }

    pub fn called_local(&self, scope: Option<FnId>, name: Ustr) -> bool {
        self.local.get(&(scope, name)).is_some_and(|used| used.called)
    }

    /// The attributes used on `self.attr` in the methods of `class`.
    pub fn of_self(&self, class: ClassId, attr: Ustr) -> &[Ustr] {
        self.own.get(&(class, attr)).map_or(&[], |used| &used.attributes)
    }

    pub fn called_self(&self, class: ClassId, attr: Ustr) -> bool {
        self.own.get(&(class, attr)).is_some_and(|used| used.called)
    }
}

/// One use, before it is known whose the name is.
pub(super) struct Event {
    pub scope: Option<FnId>,
    /// The class whose body holds the use directly.
    pub class: Option<ClassId>,
    pub name: Ustr,
    pub what: What,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Attribute(Ustr),
    Called,
    /// `name.attr.of_attr`
    OfAttribute(Ustr, Ustr),
    /// `name.attr()`
    AttributeCalled(Ustr),
}

/// Gives every use to the scope that owns its name.
pub(super) fn resolve(tree: &Tree, names: &mut Names, events: &[Event]) {
    let mut uses = Uses::default();
    for event in events {
        if event.class.is_some_and(|class| names.class_locals(class).contains(event.name)) {
            continue;
        }
        let owner = names.owner(tree, event.scope, event.name);
        match event.what {
            What::Attribute(attr) => {
                add(&mut uses.local.entry((owner, event.name)).or_default().attributes, attr);
            }
            What::Called => uses.local.entry((owner, event.name)).or_default().called = true,
            What::OfAttribute(attr, method) => {
                if let Some(class) = owner.and_then(|owner| class_of_self(tree, owner, event.name)) {
                    add(&mut uses.own.entry((class, attr)).or_default().attributes, method);
                }
            }
            What::AttributeCalled(attr) => {
                add(&mut uses.local.entry((owner, event.name)).or_default().methods, attr);
                if let Some(class) = owner.and_then(|owner| class_of_self(tree, owner, event.name)) {
                    uses.own.entry((class, attr)).or_default().called = true;
                }
            }
        }
    }
    names.uses = uses;
}

fn add(names: &mut Vec<Ustr>, attr: Ustr) {
    if !names.contains(&attr) {
        names.push(attr);
    }
}

/// The class that `name` is an instance of, when it is the first parameter of a method.
pub(crate) fn class_of_self(tree: &Tree, owner: FnId, name: Ustr) -> Option<ClassId> {
    let function = tree.function(owner);
    let is_first = function.params.first().is_some_and(|param| param.name == name);
    let is_static = function.decorators.iter().any(
        |decorator| matches!(tree.expr(*decorator).kind, ExprKind::Name(name) if name == "staticmethod"),
    );
    function.class.filter(|_| is_first && !is_static)
}
