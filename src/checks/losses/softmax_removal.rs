//! Activations in front of losses that apply their own.

use super::softmax_before_cross_entropy::SoftmaxedLoss;
use crate::facts::Script;
use crate::facts::edits::{Call, Draft};
use crate::report::{Edit, Span};
use crate::syntax::{ExprId, ExprKind, StmtKind};

/// What becomes of a softmax.
pub(super) struct WithoutSoftmax {
    /// The loss gets what the softmax got; else the softmax is gone.
    pub is_kept: bool,
    pub edits: Vec<Edit>,
}

/// The loss on what the softmax was applied to, where that has a name beside it; else no softmax.
pub(super) fn without_softmax(script: &Script, loss: &SoftmaxedLoss) -> Option<WithoutSoftmax> {
    let place = loss.softmax;
    let draft = script.draft(place.file);
    let call = draft.call_at(place.span)?;
    let Some(logits) = draft.softmaxed(call) else {
        let edits = vec![draft.last_layer_removed(call)?];
        return Some(WithoutSoftmax { is_kept: false, edits });
    };
    if let Some(edits) = loss_of_logits(loss, draft, call, logits) {
        return Some(WithoutSoftmax { is_kept: true, edits });
    }
    let span = draft.expr(logits).span;
    let edit = match span.start == call.span.start {
        true => draft.replace(Span::new(span.end, call.span.end), ""),
        false => draft.replace(call.span, draft.text(span)),
    };
    Some(WithoutSoftmax { is_kept: false, edits: vec![edit] })
}

/// `probs = softmax(logits)` and `criterion(probs, …)` in one function: the loss can have the logits.
fn loss_of_logits<'a>(
    loss: &SoftmaxedLoss,
    draft: Draft<'a>,
    softmax: Call<'a>,
    logits: ExprId,
) -> Option<Vec<Edit>> {
    let together =
        loss.at.place.file == loss.softmax.file && draft.same_function(loss.at.place.span, loss.softmax.span);
    let statement = draft.statement_at(softmax.span).filter(|_| together)?;
    let StmtKind::Assign { targets, value } = &draft.statement(statement).kind else { return None };
    let [target] = **targets else { return None };
    let (ExprKind::Name(probabilities), ExprKind::Name(logits)) =
        (&draft.expr(target).kind, &draft.expr(logits).kind)
    else {
        return None;
    };
    let argument = draft.call_at(loss.at.place.span)?.args.first()?;
    let is_given = matches!(draft.expr(argument.value).kind, ExprKind::Name(name) if name == *probabilities);
    let end = loss.at.place.span.start;
    let is_whole = draft.expr(*value).span == softmax.span && probabilities != logits;
    let between = Span::new(softmax.span.end, end.max(softmax.span.end));
    let stays = !draft.binds(between, *logits) && !draft.binds(between, *probabilities);
    (is_given && is_whole && stays)
        .then(|| vec![draft.replace(draft.expr(argument.value).span, logits.as_str())])
}

impl<'a> Draft<'a> {
    /// What a softmax is applied to: a function's first argument, a method's receiver, or the input of a layer
    /// that the class has made as one.
    fn softmaxed(&self, call: Call<'a>) -> Option<ExprId> {
        let (receiver, method) = match self.receiver(call) {
            Some((receiver, method)) => (Some(receiver), method),
            None => (None, self.written(call.callee)),
        };
        if method == "softmax" && self.is_package(receiver) {
            return Some(self.positional(call, 0).or_else(|| self.keyword(call, "input"))?.value);
        }
        if method == "softmax" && receiver.is_some_and(|it| self.written(it) != "self") {
            return receiver;
        }
        let is_layer = call.args.len() == 1 && self.is_assigned_softmax(self.written(call.callee));
        is_layer.then(|| self.positional(call, 0)).flatten().map(|argument| argument.value)
    }

    /// A layer taken out of the call that strings it together with others.
    fn last_layer_removed(&self, layer: Call<'a>) -> Option<Edit> {
        self.written(layer.callee).ends_with("Softmax").then_some(())?;
        let (outer, argument) = self.call_with(layer.span)?;
        let is_sequence = self.written(outer.callee).ends_with("Sequential") && outer.args.len() > 1;
        if is_sequence { self.remove_argument(outer, argument) } else { None }
    }

    /// Whether an attribute gets a layer of this kind, wherever the file assigns it.
    fn is_assigned_softmax(&self, attribute: &str) -> bool {
        let mut values = self.values_of(attribute).peekable();
        let makes_one = |value: ExprId| {
            let callee = self.call(value).map_or("", |call| self.written(call.callee));
            callee.rsplit('.').next() == Some("Softmax")
        };
        values.peek().is_some() && values.all(makes_one)
    }

    /// What is assigned to a target that is written so.
    fn values_of(&self, written: &str) -> impl Iterator<Item = ExprId> {
        self.statements().filter_map(move |kind| match kind {
            StmtKind::Assign { targets, value } => {
                targets.iter().any(|target| self.written(*target) == written).then_some(*value)
            }
            _ => None,
        })
    }

    /// Whether a name is that of an imported package or module; a bare function has none.
    fn is_package(&self, receiver: Option<ExprId>) -> bool {
        receiver.is_none_or(|receiver| self.qualified(receiver).is_some())
    }
}
