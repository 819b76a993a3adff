//! `super(Other, self)` in a class that does not inherit from `Other`: what is left of a method that was copied. And
//! `super.__init__()`, which asks the class `super` itself.

use crate::interp::{Base, Checker, Interp};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{Expr, ExprKind, Tree};
use crate::values::{ClassRef, ObjId, State, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_file_end: Some(read), ..Checker::SILENT };

/// An instance is asked for what comes after a class that it is not of.
pub(super) struct ForeignSuper {
    pub class: Rc<str>,
    pub named: Rc<str>,
}

/// `super(self, Net)`: the class has to come first.
pub(super) struct SwappedSuper {
    pub instance: Ustr,
    pub class: Ustr,
}

/// `super.__init__()` in a class: where `super` ends lacks a call.
pub(super) struct UncalledSuper {
    pub class: Rc<str>,
    pub end: u32,
}

/// Methods that nobody calls are read, too: whatever else happens in them, this call raises.
fn read(cx: &mut Interp<'_>, file: FileId) {
    let tree = &cx.module(file).tree;
    note_uncalled(cx, file, tree);
    let calls = calls_of_super(tree);
    if calls.is_empty() {
        return;
    }
    for method in &tree.functions {
        let (Some(class), Some(own)) = (method.class, method.params.first()) else { continue };
        let from = calls.partition_point(|call| call.span.start < method.span.start);
        let inside = calls[from..].iter().take_while(|call| call.span.end <= method.span.end);
        for call in inside {
            if (call.class, call.instance) == (own.name, tree.class(class).name) {
                let swapped = SwappedSuper { instance: call.class, class: call.instance };
                cx.observe(Place::new(file, call.span), swapped, Confidence::High);
            }
            if call.instance != own.name {
                continue;
            }
            let class = cx.class_object(file, class).filter(|class| is_foreign(cx, file, *class, call.class));
            if let Some(class) = class {
                let (class, named) = (cx.name_of_class(class), Rc::from(call.class.as_str()));
                let place = Place::new(file, call.span);
                cx.observe(place, ForeignSuper { class, named }, Confidence::High);
            }
        }
    }
}

fn note_uncalled(cx: &mut Interp<'_>, file: FileId, tree: &Tree) {
    let uncalled = |expr: &Expr| {
        let ExprKind::Call { callee, .. } = expr.kind else { return None };
        let ExprKind::Attribute { base, name, .. } = tree.expr(callee).kind else { return None };
        let asked = tree.expr(base);
        let is_it = name == "__init__" && matches!(asked.kind, ExprKind::Name(name) if name == "super");
        is_it.then_some((expr.span, asked.span.end))
    };
    for (span, end) in tree.exprs.iter().filter_map(uncalled) {
        let methods = tree.functions.iter().filter(|method| method.span.contains(span));
        let Some(class) = methods.filter_map(|method| method.class).next_back() else { continue };
        let class = Rc::from(tree.class(class).name.as_str());
        cx.observe(Place::new(file, span), UncalledSuper { class, end }, Confidence::High);
    }
}

/// `super(class, instance)`, both by their names.
struct SuperCall {
    span: Span,
    class: Ustr,
    instance: Ustr,
}

/// All of a file, in its order.
fn calls_of_super(tree: &Tree) -> Vec<SuperCall> {
    let name = |id| match tree.expr(id).kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    };
    let called = |expr: &Expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let [class, instance] = &args[..] else { return None };
        name(*callee).filter(|callee| *callee == "super")?;
        Some(SuperCall { span: expr.span, class: name(class.value)?, instance: name(instance.value)? })
    };
    let mut calls: Vec<SuperCall> = tree.exprs.iter().filter_map(called).collect();
    calls.sort_unstable_by_key(|call| call.span.start);
    calls
}

/// Whether a name stands for a class that another one does not inherit from, and none that inherits from it.
fn is_foreign(cx: &Interp<'_>, file: FileId, class: ObjId, named: Ustr) -> bool {
    let own = ClassRef::Project(class);
    let other = cx.module_names(file).and_then(|env| cx.heap.attr(env, named)).and_then(Value::as_obj);
    let Some(other) = other else { return false };
    let is_one = |object| matches!(cx.heap.get(object).state, State::Class(_)) && !cx.heap.is_merged(object);
    let inherits = |class: ClassRef, base: ObjId| cx.lineage(class).contains(&Base::Project(base));
    if ![class, other].into_iter().all(is_one) || cx.has_unseen_base(own) || inherits(own, other) {
        return false;
    }
    // A class of both makes of a mixin what it asks for.
    let all = (0..cx.heap.len() as u32).map(ObjId).filter(|object| is_one(*object)).map(ClassRef::Project);
    !all.into_iter().any(|heir| inherits(heir, class) && inherits(heir, other))
}
