//! Whether two datasets of a class of the project were made by calls that say the same, and so hold the same samples.

use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::report::Span;
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind};
use crate::values::{ClassRef, ObjId, State, Value};

/// Two instances of one class, made side by side with the same words: the samples are the same, whatever the class makes of
/// the words, unless it draws them.
pub(super) fn are_equal(script: &Script, first: ObjId, second: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let (a, b) = (heap.get(first), heap.get(second));
    let (ClassRef::Project(class), State::Plain, State::Plain) = (a.class, &a.state, &b.state) else {
        return false;
    };
    let State::Class(state) = &heap.get(class).state else { return false };
    let draws = script.apis.draws(&script.project.module(state.file).source.text);
    if a.class != b.class || a.site.file != b.site.file || draws {
        return false;
    }
    let draft = script.draft(a.site.file);
    let (Some(x), Some(y)) = (draft.call_at(a.site.span), draft.call_at(b.site.span)) else { return false };
    if draft.function_around(x.span) != draft.function_around(y.span) || x.args.len() != y.args.len() {
        return false;
    }
    let between = Span { start: x.span.start.min(y.span.start), end: x.span.end.max(y.span.end) };
    let stays = |expr: ExprId| is_settled(&draft, between, expr);
    let is_same = |(one, other): (&Arg, &Arg)| {
        let says_same = draft.written(one.value) == draft.written(other.value) && stays(one.value);
        let reads = |object: ObjId| reads_by(script, object, &one.kind);
        one.kind == other.kind && (says_same || reads(first) && reads(second))
    };
    let says_where = x.args.iter().any(|arg| matches!(draft.expr(arg.value).kind, ExprKind::Str(_)));
    says_where && x.args.iter().zip(y.args).all(is_same)
}

/// Whether an expression is the same wherever it stands in a stretch.
fn is_settled(draft: &Draft, stretch: Span, expr: ExprId) -> bool {
    match &draft.expr(expr).kind {
        ExprKind::Name(name) => !draft.binds(stretch, *name),
        ExprKind::Attribute { base, .. } => is_settled(draft, stretch, *base),
        ExprKind::Str(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::True
        | ExprKind::False
        | ExprKind::None => true,
        _ => false,
    }
}

/// Whether an argument says how samples are read and not which: it is kept as a transform, or there is none.
fn reads_by(script: &Script, dataset: ObjId, kind: &ArgKind) -> bool {
    let ArgKind::Keyword(name) = kind else { return false };
    let heap = &script.rehearsal.heap;
    match heap.attr(dataset, *name).map(Value::bare) {
        Some(Value::None) => true,
        Some(Value::Obj(held)) => match heap.get(*held).class {
            ClassRef::Api(class) => script.apis.instance_call(class).is_some(),
            _ => false,
        },
        _ => false,
    }
}
