//! What the rehearsal tells whoever listens: generic events of the language and of training, without a word
//! about what is wrong with them. A checker names the handlers it has; an event that nobody asked for costs a
//! test of an empty list.

use super::Interp;
use crate::report::{Confidence, Place};
use crate::syntax::ExprId;
use crate::trace::Observation;
use crate::values::*;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use ustr::Ustr;

/// Declares the kinds of events: one field for each in [`Checker`] and in [`Hooks`].
macro_rules! events {
    ($($(#[$doc:meta])* $kind:ident($event:ty);)*) => {
        /// A concern that follows the rehearsal: a handler for each kind of event that it asks for.
        pub struct Checker {
            $($(#[$doc])* pub $kind: Option<fn(&mut Interp<'_>, $event)>,)*
        }

        impl Checker {
            /// Listens to nothing: `Checker { call: Some(on_call), ..Checker::SILENT }`.
            pub const SILENT: Checker = Checker { $($kind: None,)* };
        }

        /// The handlers of all checkers, by kind of event.
        #[derive(Default)]
        pub struct Hooks {
            $(pub(crate) $kind: Vec<fn(&mut Interp<'_>, $event)>,)*
        }

        impl Hooks {
            pub fn of(checkers: &[&Checker]) -> Hooks {
                Hooks { $($kind: checkers.iter().filter_map(|checker| checker.$kind).collect(),)* }
            }
        }

        impl Interp<'_> {
            $(
                /// Tells whoever asked for this kind of event.
                pub(crate) fn $kind(&mut self, event: $event) {
                    let hooks = self.hooks;
                    for handler in &hooks.$kind {
                        handler(self, event);
                    }
                }
            )*
        }
    };
}

events! {
    /// An instance of a class of the project was allocated, and its `__init__` is about to run.
    on_construct(&Constructed);
    /// `__init__` has run, or was given up.
    on_constructed(&Constructed);
    /// The constructor of a base class that is not of the project runs, or something that may call it.
    on_base_constructed(Option<ObjId>);
    /// An object was handed to code that is not seen.
    on_escape(ObjId);
    /// A call of the project's code ran out of fuel: what it did was taken back.
    on_abandoned(&Abandoned<'_>);
    /// A function ends in a `raise` on every path.
    on_always_raised(());
    /// An attribute of an object is about to be written.
    on_attribute_write(&AttributeWrite<'_>);
    /// `target = value` was evaluated, and is about to be bound.
    on_assign(&Assignment);
    /// `target += …`, or a write into an item of a tensor, was computed, and is about to be bound.
    on_update(&Update<'_>);
    /// A value is about to be put into a list or dict, under no key of its own.
    on_container_write(&ContainerWrite<'_>);
    /// A backward goes through a graph of which nothing is known.
    on_unknown_backward(());
    /// An iterator is gone through that has nothing left.
    on_exhausted(&Exhausted<'_>);
    /// All of the script was rehearsed.
    on_end(());
}

/// An instance, and its constructor.
pub struct Constructed {
    pub object: ObjId,
    /// The name of `__init__` where it is defined.
    pub constructor: Place,
}

/// A call that was not followed to its end.
pub struct Abandoned<'e> {
    pub receiver: Option<&'e Value>,
}

/// `object.name = value`.
pub struct AttributeWrite<'e> {
    pub object: ObjId,
    pub name: Ustr,
    pub value: &'e Value,
    pub place: Place,
}

/// `target = value`.
pub struct Assignment {
    pub target: ExprId,
    pub value: ExprId,
    /// A checker may follow it under a mark of its own.
    pub result: RefCell<Value>,
}

/// `target += …`
pub struct Update<'e> {
    pub target: ExprId,
    pub before: &'e Value,
    pub result: RefCell<Value>,
}

/// `into.append(value)`, `into[computed] = value`, `into += values`
pub struct ContainerWrite<'e> {
    pub container: ObjId,
    pub into: ExprId,
    pub place: Place,
    pub value: &'e RefCell<Value>,
}

/// An iterator that is gone through once more.
pub struct Exhausted<'e> {
    pub iterator: &'e Value,
    /// Where it is gone through now, where it was to its end, and where it was made.
    pub place: Place,
    pub first: Place,
    pub made: Place,
}

/// What checkers remember over a whole rehearsal, whatever path is taken: one value of each type, which only
/// the checker that declares the type can name. What has to fork with the paths is a [`FlowState`].
#[derive(Default)]
pub(crate) struct Memories(Vec<(TypeId, Box<dyn Any>)>);

impl Memories {
    fn of<M: Any + Default>(&mut self) -> Option<&mut M> {
        let known = self.0.iter().position(|(kind, _)| *kind == TypeId::of::<M>());
        let at = known.unwrap_or_else(|| {
            self.0.push((TypeId::of::<M>(), Box::new(M::default())));
            self.0.len() - 1
        });
        self.0[at].1.downcast_mut()
    }
}

impl Interp<'_> {
    /// Looks into, or changes, what a checker remembers.
    pub fn remember<M: Any + Default, R: Default>(&mut self, change: impl FnOnce(&mut M) -> R) -> R {
        self.memories.of().map(change).unwrap_or_default()
    }

    /// Takes what a checker remembers out, to put it back with `remember` where it is to stay.
    pub fn recall<M: Any + Default>(&mut self) -> M {
        self.memories.of::<M>().map(std::mem::take).unwrap_or_default()
    }

    /// Writes down something seen here, for the rules to find by its type.
    pub fn observe(&mut self, place: Place, what: impl Any, confidence: Confidence) {
        let at = self.at(place, confidence);
        self.out.observations.push(Observation::new(at, what));
    }
}
