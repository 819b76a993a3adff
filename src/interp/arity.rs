//! Hand-written derivatives: how many gradients a backward returns, and how many inputs its forward has.

use super::{Call, Interp, Passed};
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::*;
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What one `return` gives back.
pub(super) struct Returned {
    place: Place,
    /// `None` where that is not known.
    gradients: Option<Gradients>,
}

struct Gradients {
    count: usize,
    /// Those at the end that are `None`: too many of these are forgiven.
    empty: usize,
}

impl<'p> Interp<'p> {
    /// Rehearses each backward that a file writes by hand, on gradients of which nothing is known.
    pub(super) fn derivatives(&mut self, file: FileId) {
        let Some(env) = self.modules.get(&file).map(|module| module.env) else { return };
        for class in self.tree(file).classes.iter().filter(|class| class.parent.is_none()) {
            let Some(object) = self.heap.attr(env, class.name).and_then(Value::as_obj) else { continue };
            if !matches!(self.heap.get(object).state, State::Class(_)) {
                continue;
            }
            if self.role_of(ClassRef::Project(object)) == Some(Role::Function) {
                self.derivative(file, env, object);
            }
        }
    }

    fn derivative(&mut self, file: FileId, env: ObjId, class: ObjId) {
        let method = |interp: &mut Self, name: &str| match interp.find_attr(class, Ustr::from(name)) {
            Some(Value::Function(closure)) => Some(closure),
            _ => None,
        };
        let (Some(forward), Some(backward)) = (method(self, "forward"), method(self, "backward")) else {
            return;
        };
        let split = method(self, "setup_context").is_some();
        let Some((fewest, most)) = self.inputs(&forward, usize::from(!split)) else { return };
        if backward.file != file || self.is_starved() {
            return;
        }
        self.push_frame(env, file, None, None);
        let returned = self.gradients_of(&backward);
        let function = self.tree(forward.file).function(forward.function);
        let forward = Place::new(forward.file, function.name_span);
        for Returned { place, gradients } in returned {
            let Some(Gradients { count, empty }) = gradients else { continue };
            if count < fewest || count - empty > most {
                let sight = Sight::Arity { given: count, fewest, most, forward };
                self.see(place, sight, Confidence::High);
            }
        }
        self.frames.pop();
    }

    /// How many inputs a forward has at least and at most; `None` with `*args`.
    fn inputs(&self, forward: &Closure, context: usize) -> Option<(usize, usize)> {
        let params = &self.tree(forward.file).function(forward.function).params;
        if params.iter().any(|param| matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar)) {
            return None;
        }
        let inputs = params.get(context..)?;
        let required = inputs.iter().filter(|param| param.default.is_none()).count();
        (!inputs.is_empty()).then_some((required, inputs.len()))
    }

    fn gradients_of(&mut self, backward: &Rc<Closure>) -> Vec<Returned> {
        let definition = self.tree(backward.file).function(backward.function);
        let place = Place::new(backward.file, definition.name_span);
        let mut call = Call::new(place);
        let context = Value::Obj(self.alloc(place, ClassRef::Builtin, State::Plain));
        for (index, param) in definition.params.iter().enumerate() {
            if matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar) {
                call.open = true;
                continue;
            }
            let gradient = Tensor { graph: Graph::None, ..Tensor::default() };
            // What is kept on the context may be anything.
            let value = if index == 0 { context.clone() } else { Value::tensor(gradient) };
            call.keywords.push((param.name, Passed { value, place }));
        }
        let outer = self.watch.returned.replace((self.frames.len() + 1, Vec::new()));
        let called = self.out.called.clone();
        self.quietly(|interp| interp.inline(backward, None, &call));
        self.out.called = called;
        let returned = std::mem::replace(&mut self.watch.returned, outer);
        returned.map(|(_, all)| all).unwrap_or_default()
    }

    /// A function returns.
    pub(super) fn note_return(&mut self, expr: ExprId, value: &Value) {
        let depth = self.frames.len();
        if !matches!(&self.watch.returned, Some((at, _)) if *at == depth) {
            return;
        }
        let place = self.expr_place(expr);
        let is_display = matches!(self.tree(self.file()).expr(expr).kind, ExprKind::Tuple(_));
        let gradients = match value {
            Value::Tuple(items) => {
                let empty = items.iter().rev().take_while(|item| matches!(item, Value::None)).count();
                Some(Gradients { count: items.len(), empty })
            }
            Value::Tensor(_) if !is_display => Some(Gradients { count: 1, empty: 0 }),
            _ => None,
        };
        if let Some((_, returned)) = &mut self.watch.returned {
            returned.push(Returned { place, gradients });
        }
    }
}
