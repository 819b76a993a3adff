//! `with` statements: contexts that are entered and left, and generators that run the body where they yield.

use super::{Around, Interp, stmt::Flow};
use crate::syntax::*;
use crate::values::*;

impl<'p> Interp<'p> {
    pub(super) fn with(&mut self, items: &'p [WithItem], body: &'p [StmtId]) -> Flow {
        let Some((item, rest)) = items.split_first() else { return self.block(body) };
        let place = self.expr_place(item.context);
        let around = Around { target: item.target, rest, body, path: self.path, flow: None };
        let outer = self.awaiting.replace((place, around));
        // `set_grad_enabled(False)` acts at once; in a `with` it acts inside only.
        let grad = self.grad;
        let value = self.eval(item.context);
        self.grad = grad;
        let done = std::mem::replace(&mut self.awaiting, outer);
        if let Some((_, Around { flow: Some(flow), .. })) = done {
            return flow;
        }
        let entered = self.enter(&value, place);
        if let Some(target) = item.target {
            let target_value = entered.target.clone();
            self.assign(target, target_value);
        }
        let flow = self.with(rest, body);
        self.leave(entered, &value, place);
        flow
    }

    /// A generator yields: as a context it runs the statement's body here, in the frame around its own.
    pub(super) fn yields(&mut self, value: Value) {
        let around = self.frames.last().and_then(|frame| frame.around);
        let (Some(around), Some(inner)) = (around, around.and_then(|_| self.frames.pop())) else {
            self.yield_value(value);
            return;
        };
        let path = std::mem::replace(&mut self.path, around.path);
        if let Some(target) = around.target {
            self.assign(target, value);
        }
        let flow = self.with(around.rest, around.body);
        self.path = path;
        self.frames.push(inner);
        if let Some(Around { flow: seen, .. }) =
            self.frames.last_mut().and_then(|frame| frame.around.as_mut())
        {
            // Where the generator yields on several ways, the statement goes on if any of them does.
            *seen = Some(if *seen == Some(Flow::Next) { Flow::Next } else { flow });
        }
    }
}
