//! `with` statements: contexts that are entered and left, and generators that run the body where they yield.

use super::{Around, Interp, Uncalled, stmt::Flow};
use crate::report::Span;
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    pub(super) fn with(&mut self, items: &'p [WithItem], body: &'p [StmtId]) -> Flow {
        let Some((item, rest)) = items.split_first() else { return self.block(body) };
        let place = self.expr_place(item.context);
        let around = Around { target: item.target, rest, body, path: self.sites.path, flow: None };
        let outer = self.awaiting.replace((place, around));
        // `set_grad_enabled(False)` acts at once; in a `with` it acts inside only.
        let grad = self.ambient.grad;
        let value = self.eval(item.context);
        self.ambient.grad = grad;
        let done = std::mem::replace(&mut self.awaiting, outer);
        if let Some((_, Around { flow: Some(flow), .. })) = done {
            return flow;
        }
        let records = value.is_unknown() && (self.is_of_no_framework(item.context) || self.walks_in(body));
        if matches!(value, Value::Api(_) | Value::Bound(_)) {
            self.on_uncalled(&Uncalled { value: &value, attribute: Ustr::from("__enter__"), place });
        }
        let entered = self.enter(&value, place, records);
        if let Some(target) = item.target {
            let target_value = entered.target.clone();
            self.assign(target, target_value);
        }
        let flow = self.with(rest, body);
        self.leave(entered, &value, place);
        flow
    }

    /// `with tqdm(total=100) as bar:`: what is of no framework leaves gradients as they are, unless it is given a model.
    fn is_of_no_framework(&mut self, context: ExprId) -> bool {
        let tree = self.here();
        let ExprKind::Call { callee, ref args } = tree.expr(context).kind else { return false };
        let is_model = |interp: &mut Self, arg: &Arg| {
            let value = interp.quietly(|interp| interp.eval(arg.value));
            value.as_obj().is_some_and(|object| interp.heap.get(object).module().is_some())
        };
        if args.iter().any(|arg| is_model(self, arg)) {
            return false;
        }
        if !matches!(tree.expr(callee).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return false;
        }
        match self.quietly(|interp| interp.eval(callee)) {
            Value::Api(name) => {
                let package = Ustr::from(name.split('.').next().unwrap_or(&name));
                // Another framework may have gradients of its own.
                let is_strange = self.apis.is_framework(name) || name.contains("grad");
                self.apis.is_pure(package) || self.apis.is_tracker(name) || !is_strange
            }
            Value::Builtin(_) => true,
            _ => false,
        }
    }

    /// Whether a backward pass runs in a block: gradients are recorded in it.
    fn walks_in(&self, body: &[StmtId]) -> bool {
        let (Some(first), Some(last)) = (body.first(), body.last()) else { return false };
        let module = self.module(self.file());
        let (tree, relations) = (&module.tree, module.relations());
        let block = Span::new(tree.stmt(*first).span.start, tree.stmt(*last).span.end);
        let mut acts = relations.acts_where(|method| self.apis.walks_back(method));
        acts.any(|act| block.contains(tree.expr(act.call).span))
    }

    /// A generator yields: as a context it runs the statement's body here, in the frame around its own.
    pub(super) fn yields(&mut self, value: Value) {
        let around = self.frames.last().and_then(|frame| frame.around);
        let (Some(around), Some(inner)) = (around, around.and_then(|_| self.frames.pop())) else {
            self.yield_value(value);
            return;
        };
        let path = std::mem::replace(&mut self.sites.path, around.path);
        if let Some(target) = around.target {
            self.assign(target, value);
        }
        let flow = self.with(around.rest, around.body);
        self.sites.path = path;
        self.frames.push(inner);
        if let Some(Around { flow: seen, .. }) =
            self.frames.last_mut().and_then(|frame| frame.around.as_mut())
        {
            // Where the generator yields on several ways, the statement goes on if any of them does.
            *seen = Some(if *seen == Some(Flow::Next) { Flow::Next } else { flow });
        }
    }
}
