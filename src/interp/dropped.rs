//! Results that are dropped: a method that gives a new tensor, called as a statement.

use super::{Call, Interp, watch::Latest};
use crate::apis::{Api, Transfer};
use crate::report::{Confidence, Span};
use crate::syntax::*;
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// A comment that begins a cell, in a script that was exported from a notebook.
const CELL_COMMENTS: [&str; 3] = ["# In[", "# %%", "#%%"];

impl<'p> Interp<'p> {
    /// Remembers a method of a tensor that does nothing but give a new one.
    pub(super) fn note_method(&mut self, api: &Api, receiver: &Value, call: &Call) {
        let Value::Tensor(tensor) = receiver.bare() else { return };
        let reforms = api.transfer().is_some_and(Transfer::reforms);
        let guessed = tensor.confidence < Confidence::High && !self.is_surely_a_tensor(tensor);
        let in_place = guessed || api.name.ends_with('_') || call.keyword("out").is_some() || call.open;
        if reforms && api.effects.is_empty() && !in_place && !api.property && !tensor.is_array {
            let method = Ustr::from(api.name.rsplit('.').next().unwrap_or_default());
            self.watch.latest.push(Latest { place: call.place, method, confidence: tensor.confidence });
        }
    }

    /// A guess from how a name is used, or what a model from elsewhere gives, may be a record that changes in
    /// place, and so may what was only moved.
    fn is_surely_a_tensor(&self, tensor: &Tensor) -> bool {
        let computes = |name: Ustr| {
            let transfer = self.apis.get(name).and_then(Api::transfer);
            transfer.is_some_and(|transfer| !transfer.converts())
        };
        tensor.source == Source::Data || tensor.what.is_some_and(computes)
    }

    /// An expression statement that was evaluated, or the parts of a tuple that is one.
    pub(super) fn note_dropped(&mut self, expr: ExprId, value: &Value) {
        if self.watch.latest.is_empty() {
            return;
        }
        let latest = std::mem::take(&mut self.watch.latest);
        let statement = self.expr_place(expr).span;
        match (&self.tree(self.file()).expr(expr).kind, value) {
            (ExprKind::Tuple(parts), Value::Tuple(values)) if parts.len() == values.len() => {
                let parts = parts.iter().zip(values.iter());
                parts.for_each(|(part, value)| self.note_dropped_part(*part, value, statement, &latest));
            }
            _ => self.note_dropped_part(expr, value, statement, &latest),
        }
    }

    fn note_dropped_part(&mut self, expr: ExprId, value: &Value, statement: Span, latest: &[Latest]) {
        let place = self.expr_place(expr);
        let Some(latest) = latest.iter().find(|latest| latest.place == place) else { return };
        let tree = self.tree(self.file());
        let ExprKind::Call { callee, .. } = tree.expr(expr).kind else { return };
        let ExprKind::Attribute { base, .. } = tree.expr(callee).kind else { return };
        let is_tensor = value.as_tensor().is_some_and(|tensor| !tensor.is_array);
        if !is_tensor || self.is_shown(statement) || !self.is_used_on(base, statement) {
            return;
        }
        let receiver = self.written(base);
        let by_a_runner = self.frames.iter().any(|frame| {
            frame.site.is_some_and(|(_, name)| self.seeded.is_some() && name.starts_with("test_"))
        });
        let confidence =
            if by_a_runner || self.is_demonstration() { Confidence::Low } else { latest.confidence };
        self.see(place, Sight::Dropped { method: latest.method, receiver }, confidence);
    }

    /// A line of a notebook outside of functions and loops: it may be there to show that nothing changes.
    fn is_demonstration(&self) -> bool {
        let inside = self.frames.last().is_some_and(|frame| frame.function.is_some()) || self.in_loop();
        !inside && self.project.source(self.file()).locate(0).cell.is_some()
    }

    /// Whether what a receiver holds is read again: only then somebody expects it to have changed.
    fn is_used_on(&self, base: ExprId, statement: Span) -> bool {
        let tree = self.tree(self.file());
        let name = match &tree.expr(base).kind {
            ExprKind::Name(name) => *name,
            // An attribute or an item outlives the function.
            ExprKind::Attribute { .. } | ExprKind::Subscript { .. } => return true,
            _ => return false,
        };
        let around =
            self.frames.last().and_then(|frame| frame.function).map(|function| tree.function(function).span);
        let repeated = self.active.last().map(|active| self.out.loop_info(active.id).place);
        let repeated = repeated.filter(|place| place.file == self.file()).map(|place| place.span);
        tree.exprs.iter().any(|expr| {
            matches!(expr.kind, ExprKind::Name(other) if other == name)
                && around.is_none_or(|around| around.contains(expr.span))
                && !statement.contains(expr.span)
                && (expr.span.start > statement.end
                    || repeated.is_some_and(|body| body.contains(statement) && body.contains(expr.span)))
        })
    }

    /// Whether a notebook shows what the statement evaluates to: it is the last one of its cell.
    fn is_shown(&self, statement: Span) -> bool {
        if self.frames.last().is_some_and(|frame| frame.function.is_some()) {
            return false;
        }
        let file = self.file();
        let (tree, source) = (self.tree(file), self.project.source(file));
        let Some(at) = tree.body.iter().position(|stmt| tree.stmt(*stmt).span == statement) else {
            return false;
        };
        let next = tree.body.get(at + 1).map(|stmt| tree.stmt(*stmt).span.start);
        let cell = |offset: u32| source.locate(offset).cell;
        if cell(statement.start).is_some() {
            return next.is_none_or(|next| cell(next) != cell(statement.start));
        }
        let between =
            |comment: &&Span| comment.start >= statement.end && next.is_none_or(|next| comment.end <= next);
        tree.comments.iter().filter(between).any(|comment| {
            let text = source.text.get(comment.range()).unwrap_or_default();
            CELL_COMMENTS.iter().any(|start| text.starts_with(start))
        })
    }

    /// `drop p [training]`: numbers are dropped at random. In a module's forward the mode has to decide.
    pub(super) fn drops(
        &mut self,
        probability: &Value,
        decided: bool,
        by: Ustr,
        place: crate::report::Place,
    ) {
        let never = probability.as_num() == Some(0.0) && probability.origin().is_none();
        let layer = self.watch.layer;
        let doubtful = layer.is_none() && matches!(probability.bare(), Value::None);
        if never || doubtful || (decided && layer.is_none()) {
            return;
        }
        let Some((at, object)) = self.forward_around(layer) else { return };
        let asked = self.frames[at..].iter().any(|frame| frame.asked_mode);
        if asked || self.grad == Some(false) {
            return;
        }
        let class = self.class_name(object);
        let sight = Sight::Drops { by, is_layer: layer.is_some(), class: Rc::clone(&class) };
        let confidence = self.heap.get(object).confidence;
        self.see(place, sight, confidence);
    }

    /// The innermost frame of a module's method that computes an output, and the module. A layer counts where
    /// it was made in that method itself.
    fn forward_around(&self, layer: Option<ObjId>) -> Option<(usize, ObjId)> {
        let is_method = |frame: &super::Frame| {
            let object = frame.receiver.as_ref().and_then(Value::as_obj)?;
            self.heap.get(object).module()?;
            matches!(self.heap.get(object).class, ClassRef::Project(_)).then_some(object)
        };
        let (at, object) = self
            .frames
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, frame)| is_method(frame).map(|object| (at, object)))?;
        let frame = &self.frames[at];
        let function = self.tree(frame.file).function(frame.function?);
        let constructs = function.name.starts_with("__init__") || function.name.contains("train");
        let made_here = layer.is_none_or(|layer| {
            let site = self.heap.get(layer).site;
            site.file == frame.file && function.span.contains(site.span)
        });
        (!constructs && made_here).then_some((at, object))
    }

    /// A test that asks which mode the model is in: what follows in this call depends on it.
    pub(super) fn note_test(&mut self, test: ExprId) {
        if self.asks_mode(test)
            && let Some(frame) = self.frames.last_mut()
        {
            frame.asked_mode = true;
        }
    }

    fn asks_mode(&self, test: ExprId) -> bool {
        let tree = self.tree(self.file());
        let asks = |name: &Ustr| name.contains("train") || name.contains("eval");
        match &tree.expr(test).kind {
            ExprKind::Name(name) => asks(name),
            ExprKind::Attribute { base, name, .. } => asks(name) || self.asks_mode(*base),
            ExprKind::Unary { operand, .. } => self.asks_mode(*operand),
            ExprKind::Bool { items, .. } => items.iter().any(|item| self.asks_mode(*item)),
            ExprKind::Compare { first, rest } => {
                self.asks_mode(*first) || rest.iter().any(|(_, operand)| self.asks_mode(*operand))
            }
            ExprKind::Call { callee, args } => {
                self.asks_mode(*callee) || args.iter().any(|arg| self.asks_mode(arg.value))
            }
            _ => false,
        }
    }
}
