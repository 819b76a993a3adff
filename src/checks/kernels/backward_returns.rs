//! Custom autograd functions: how many gradients a backward returns, and how many inputs its forward has.

use crate::apis::Role;
use crate::interp::{Call, Checker, Interp, Passed, Return};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ExprKind, ParamKind};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_return: Some(returned), on_file_end: Some(run_backwards), ..Checker::SILENT };

/// A `return` of a backward gives another number of gradients than its forward has inputs.
pub(super) struct WrongArity {
    pub given: usize,
    /// How many inputs the forward has at least, and at most.
    pub fewest: usize,
    pub most: usize,
    /// The name of the forward.
    pub forward: Place,
}

/// What the backward that runs returns, and how many frames there are while it runs.
#[derive(Default)]
struct Running(Option<(usize, Vec<Returned>)>);

/// What one `return` gives back.
struct Returned {
    place: Place,
    /// `None` where that is not known.
    gradients: Option<Gradients>,
}

struct Gradients {
    count: usize,
    /// Those at the end that are `None`: too many of these are forgiven.
    empty: usize,
}

/// Runs each backward that a file writes by hand, on gradients of which nothing is known.
fn run_backwards(cx: &mut Interp<'_>, file: FileId) {
    let Some(names) = cx.module_names(file) else { return };
    let tree = cx.tree(file);
    let classes: Vec<Ustr> =
        tree.classes.iter().filter(|class| class.parent.is_none()).map(|class| class.name).collect();
    for name in classes {
        let Some(class) = cx.heap.attr(names, name).and_then(Value::as_obj) else { continue };
        if matches!(cx.heap.get(class).state, State::Class(_))
            && cx.role_of(ClassRef::Project(class)) == Some(Role::Function)
        {
            run_backward(cx, file, class);
        }
    }
}

fn run_backward(cx: &mut Interp<'_>, file: FileId, class: ObjId) {
    let (Some(forward), Some(backward)) = (method(cx, class, "forward"), method(cx, class, "backward"))
    else {
        return;
    };
    let takes_context = method(cx, class, "setup_context").is_none();
    let before = usize::from(takes_context) + usize::from(forward.wrap.is_class);
    let Some((fewest, most)) = inputs(cx, &forward, before) else { return };
    if backward.file != file || cx.is_out_of_fuel() {
        return;
    }
    let name = Place::new(forward.file, cx.tree(forward.file).function(forward.function).name_span);
    cx.within_module(file, |cx| {
        for Returned { place, gradients } in gradients_of(cx, &backward) {
            let Some(Gradients { count, empty }) = gradients else { continue };
            if count == 0 && gives_no_gradients(cx, &forward) {
                continue;
            }
            if count < fewest || count - empty > most {
                let seen = WrongArity { given: count, fewest, most, forward: name };
                cx.observe(place, seen, Confidence::High);
            }
        }
    });
}

fn method(cx: &mut Interp<'_>, class: ObjId, name: &str) -> Option<Rc<Closure>> {
    match cx.find_attr(class, Ustr::from(name)) {
        Some(Value::Function(closure)) => Some(closure),
        _ => None,
    }
}

/// Whether a forward says of what it gives that nothing goes back through it, so that its backward never runs.
fn gives_no_gradients(cx: &Interp<'_>, forward: &Closure) -> bool {
    let mentions = &cx.module(forward.file).names.scope(forward.function).mentions;
    mentions.contains(Ustr::from("mark_non_differentiable"))
}

/// How many inputs a forward has at least and at most; `None` with `*args`.
fn inputs(cx: &Interp<'_>, forward: &Closure, before: usize) -> Option<(usize, usize)> {
    let params = cx.params_of(forward);
    if params.iter().any(|param| matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar)) {
        return None;
    }
    let inputs = params.get(before..)?;
    let required = inputs.iter().filter(|param| param.default.is_none()).count();
    (!inputs.is_empty()).then_some((required, inputs.len()))
}

fn gradients_of(cx: &mut Interp<'_>, backward: &Rc<Closure>) -> Vec<Returned> {
    let definition = cx.tree(backward.file).function(backward.function);
    let place = Place::new(backward.file, definition.name_span);
    let mut call = Call::new(place);
    let context = Value::Obj(cx.alloc(place, ClassRef::Builtin, State::Plain));
    for (index, param) in definition.params.iter().enumerate() {
        if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) {
            call.open = true;
            continue;
        }
        let gradient = Tensor { graph: Graph::None, ..Tensor::default() };
        // What is kept on the context may be anything.
        let is_context = index == usize::from(backward.wrap.is_class);
        let value = if is_context { context.clone() } else { Value::tensor(gradient) };
        call.keywords.push((param.name, Passed { value, place }));
    }
    let inside = cx.frame_depth() + 1;
    cx.remember(|running: &mut Running| running.0 = Some((inside, Vec::new())));
    cx.uncounted(|cx| cx.inline(backward, None, &call));
    let Running(returned) = cx.recall();
    returned.map(|(_, all)| all).unwrap_or_default()
}

/// A function returns.
fn returned(cx: &mut Interp<'_>, returned: &Return<'_>) {
    let depth = cx.frame_depth();
    let is_backward = cx.remember(|Running(running): &mut Running| {
        running.as_ref().is_some_and(|(inside, _)| *inside == depth)
    });
    let Some(expr) = returned.expr.filter(|_| is_backward) else { return };
    let is_display = matches!(cx.tree(cx.file()).expr(expr).kind, ExprKind::Tuple(_));
    let gradients = match returned.value {
        Value::Tuple(items) => {
            let empty = items.iter().rev().take_while(|item| matches!(item, Value::None)).count();
            Some(Gradients { count: items.len(), empty })
        }
        Value::Tensor(_) if !is_display => Some(Gradients { count: 1, empty: 0 }),
        _ => None,
    };
    let place = cx.expr_place(expr);
    cx.remember(|Running(running): &mut Running| {
        if let Some((_, all)) = running {
            all.push(Returned { place, gradients });
        }
    });
}
