//! Instances of the project's modules while they are constructed: whether the framework's own constructor runs
//! before anything is assigned that needs it.

use super::{plain_tensors, registration};
use crate::interp::{
    Abandoned, AttributeWrite, Base, Checker, Constructed, Interp, Invocation, is_parameter,
};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprKind, FunctionBody, StmtKind};
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_call: Some(asked),
    on_construct: Some(begin),
    on_constructed: Some(end),
    on_base_constructed: Some(base_constructed),
    on_escape: Some(|cx, object| mark_ready(cx, Some(object))),
    on_abandoned: Some(abandoned),
    on_always_raised: Some(refused),
    on_attribute_write: Some(assigned),
    on_end: Some(report),
    ..Checker::SILENT
};

/// A module was needed before the framework's constructor ran.
#[derive(Clone)]
pub(super) struct UnreadyModule {
    pub class: Rc<str>,
    /// The attribute that is assigned too early; `None` where the framework's constructor never runs.
    pub attribute: Option<Ustr>,
}

/// What is known of constructors so far.
#[derive(Default)]
struct Constructions {
    /// Instances whose constructors run, innermost last.
    open: Vec<Construction>,
    /// Instances of the project's modules, with the number of objects when their constructors had run.
    done: FxHashMap<ObjId, u32>,
    unready: Vec<(Place, UnreadyModule)>,
    /// Instances of which nothing is asked yet that needs the framework's constructor, which never ran.
    idle: Vec<(ObjId, Place, UnreadyModule)>,
}

/// A module whose constructor runs.
struct Construction {
    object: ObjId,
    /// The framework's constructor ran, or may have.
    ready: bool,
    /// The first attribute that needed it earlier.
    first: Option<(Place, Ustr)>,
    /// Its constructor was followed to its end.
    whole: bool,
}

fn begin(cx: &mut Interp<'_>, constructed: &Constructed) {
    let object = constructed.object;
    let class = cx.heap.get(object).class;
    let ready = cx.heap.get(object).module().is_none()
        || cx.has_unseen_base(class)
        || cx.owns(class, "constructing")
        || ["__new__", "__setattr__"].iter().any(|name| cx.is_of_project(object, name));
    cx.remember(|all: &mut Constructions| {
        all.open.push(Construction { object, ready, first: None, whole: true });
    });
}

fn end(cx: &mut Interp<'_>, constructed: &Constructed) {
    let Some(mut open) = cx.remember(|all: &mut Constructions| all.open.pop()) else { return };
    if !open.whole || cx.heap.get(open.object).module().is_none() {
        return;
    }
    let until = cx.heap.len() as u32;
    cx.remember(|all: &mut Constructions| all.done.insert(open.object, until));
    let anywhere = registers_any_attribute(cx, open.object);
    if cx.is_out_of_fuel() || (open.ready && (anywhere || open.first.is_none())) {
        return;
    }
    if anywhere {
        open.first = None;
    }
    if open.first.is_none() && is_outline(cx, open.object) {
        return;
    }
    let place = open.first.map_or(constructed.constructor, |(place, _)| place);
    let module =
        UnreadyModule { class: cx.class_name(open.object), attribute: open.first.map(|(_, name)| name) };
    let is_idle = open.first.is_none() && cx.is_of_project(open.object, "__call__");
    cx.remember(|all: &mut Constructions| match is_idle {
        true => all.idle.push((open.object, place, module)),
        false => all.note_unready(place, module),
    });
}

impl Constructions {
    fn note_unready(&mut self, place: Place, module: UnreadyModule) {
        let known =
            |(other, seen): &(Place, UnreadyModule)| other.file == place.file && seen.class == module.class;
        if !self.unready.iter().any(known) {
            self.unready.push((place, module));
        }
    }
}

/// What an instance is called by is a method of the project's own, and nothing of it is a layer: it works, until it
/// is asked for what only the framework's constructor makes, such as its parameters.
fn asked(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    plain_tensors::differentiated(cx, call);
    let is_method = call.api.params.first().is_some_and(|param| param.name == "self");
    let Value::Obj(object) = call.nth(0) else { return };
    if !is_method {
        return;
    }
    cx.remember(|all: &mut Constructions| {
        if let Some(at) = all.idle.iter().position(|(idle, ..)| *idle == object) {
            let (_, place, module) = all.idle.swap_remove(at);
            all.note_unready(place, module);
        }
    });
}

/// A constructor, or what it calls, was not followed to its end: what it has made so far says nothing.
fn abandoned(cx: &mut Interp<'_>, call: &Abandoned<'_>) {
    let Some(object) = call.receiver.and_then(Value::as_obj) else { return };
    cx.remember(|all: &mut Constructions| {
        all.open.iter_mut().filter(|open| open.object == object).for_each(|open| open.whole = false);
    });
}

fn base_constructed(cx: &mut Interp<'_>, object: Option<ObjId>) {
    mark_ready(cx, object);
}

fn mark_ready(cx: &mut Interp<'_>, object: Option<ObjId>) {
    cx.remember(|all: &mut Constructions| {
        for open in &mut all.open {
            open.ready |= object.is_none_or(|object| object == open.object);
        }
    });
}

/// A constructor, or what it calls, raises whatever happens: nothing is made of these arguments, and with
/// others the rest of it runs.
fn refused(cx: &mut Interp<'_>, (): ()) {
    cx.remember(|all: &mut Constructions| {
        if let Some(open) = all.open.last_mut() {
            open.ready = true;
        }
    });
}

/// Modules and parameters need the framework's constructor to have run.
fn assigned(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    let Value::Obj(object) = *write.receiver else { return };
    if write.name == "__dict__" {
        // It takes over another instance, which is ready.
        return mark_ready(cx, Some(object));
    }
    let needs = is_parameter(write.value)
        || matches!(write.value, Value::Obj(part) if cx.heap.get(*part).module().is_some());
    if !needs {
        return;
    }
    cx.remember(|all: &mut Constructions| {
        let open = all.open.iter_mut().find(|open| open.object == object && !open.ready);
        if let Some(open) = open {
            open.first.get_or_insert((write.place, write.name));
        }
    });
}

/// A stub that computes nothing is never called.
fn is_outline(cx: &mut Interp<'_>, object: ObjId) -> bool {
    let Some(forward) = cx.project_forward(object) else { return true };
    let tree = cx.tree(forward.file);
    match &tree.function(forward.function).body {
        FunctionBody::Block(body) => body.iter().all(|stmt| match &tree.stmt(*stmt).kind {
            StmtKind::Expr(expr) => matches!(tree.expr(*expr).kind, ExprKind::Ellipsis | ExprKind::Str(_)),
            StmtKind::Raise(_) => true,
            _ => false,
        }),
        FunctionBody::Expr(_) => false,
    }
}

/// Whether the framework registers layers in whatever attribute, before its constructor, too.
pub(super) fn registers_any_attribute(cx: &Interp<'_>, object: ObjId) -> bool {
    cx.lineage(cx.heap.get(object).class).into_iter().any(|base| match base {
        Base::Api(name) => cx.apis.owns(name).iter().any(|part| part == "attributes"),
        _ => false,
    })
}

/// What was seen of constructors, once all has run.
fn report(cx: &mut Interp<'_>, (): ()) {
    let all: Constructions = cx.recall();
    for (place, module) in all.unready {
        cx.observe(place, module, Confidence::High);
    }
    let mut done: Vec<(ObjId, u32)> = all.done.into_iter().collect();
    done.sort_unstable();
    registration::unregistered(cx, &done);
    plain_tensors::plain_tensors(cx, done.iter().map(|(object, _)| *object));
}
