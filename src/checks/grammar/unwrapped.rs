//! What only a wrapper has, on a path on which there is none: `model.module`, where `DataParallel(model)` stands under
//! a condition.

use super::missing_attribute::{RAISES, RULE, binds, is_written};
use super::tried::is_tried;
use crate::apis::index::{self, Answer};
use crate::facts::{Findings, Script};
use crate::interp::{Base, Checker, HiddenAttribute, Interp};
use crate::report::{Confidence, Place, Span};
use crate::syntax::{CompareOp, ExprId, ExprKind, Stmt, StmtKind, Tree};
use crate::trace::At;
use crate::values::{ClassRef, Learned, ObjId};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_hidden_attribute: Some(read), ..Checker::SILENT };

/// A read of the wrapper's own, and where the model is wrapped.
struct Unwrapped {
    wrapper: Ustr,
    name: Ustr,
    wrapped: Place,
}

fn read(cx: &mut Interp<'_>, hidden: &HiddenAttribute) {
    let &HiddenAttribute { object, wrapper, sure, name, place } = hidden;
    if sure || cx.is_provided_for() || !holds_inner(cx, wrapper, name) || !is_written(cx, place, name) {
        return;
    }
    let members = cx.heap.stands_for(object);
    let is_wrapped = |one: &ObjId| cx.hidden_by(*one).is_some();
    let Some(site) = members.iter().find(is_wrapped).map(|one| cx.heap.get(one).site) else { return };
    let lacks = members.iter().filter(|one| !is_wrapped(one)).all(|one| lacks(cx, one, name));
    // Who asks somewhere whether a model is wrapped may know it here.
    let asks = cx.read_files().any(|file| asks_for(cx.tree(file), name, wrapper));
    if lacks && !asks && !is_tried(cx, place, "AttributeError") && !may_agree(cx, site, place) {
        cx.observe(place, Unwrapped { wrapper, name, wrapped: site }, Confidence::Medium);
    }
}

/// Whether a wrapper keeps under this name what it wraps.
fn holds_inner(cx: &Interp<'_>, wrapper: Ustr, name: Ustr) -> bool {
    cx.apis.get(wrapper).and_then(|api| api.params.first()).is_some_and(|inner| inner.name == name)
}

/// Whether a module surely has no attribute of this name.
fn lacks(cx: &Interp<'_>, module: ObjId, name: Ustr) -> bool {
    let here = cx.heap.get(module);
    let is_seen = here.module().is_some_and(|module| module.weights != Learned::Opaque && !module.managed);
    let has = |base: Base| match base {
        Base::Api(class) => matches!(index::ask(&format!("{class}.{name}")), Answer::Known(_)),
        Base::Project(_) => false,
        Base::Unknown => true,
    };
    let is_bound = || cx.read_files().any(|file| binds(cx.tree(file), name, true));
    let is_class = matches!(here.class, ClassRef::Project(_) | ClassRef::Api(_));
    is_seen && is_class && !cx.lineage(here.class).into_iter().any(has) && !is_bound()
}

/// `isinstance(model, DataParallel)`, `hasattr(model, "module")`
fn asks_for(tree: &Tree, name: Ustr, wrapper: Ustr) -> bool {
    let class = wrapper.rsplit('.').next().unwrap_or(&wrapper);
    tree.exprs.iter().any(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return false };
        let asked = args.get(1).map(|asked| asked.value);
        match (&tree.expr(*callee).kind, asked.map(|asked| &tree.expr(asked).kind)) {
            (ExprKind::Name(_), Some(ExprKind::Str(text))) => **text == *name.as_str(),
            (ExprKind::Name(called), Some(ExprKind::Tuple(_))) => called == "isinstance",
            (
                ExprKind::Name(called),
                Some(ExprKind::Name(asked) | ExprKind::Attribute { name: asked, .. }),
            ) => called == "isinstance" && asked == class,
            _ => false,
        }
    })
}

/// Whether the tests around a read may say the same as those around the wrapping: they ask somebody, or speak of what
/// the others speak of, or of what is bound beside them.
fn may_agree(cx: &Interp<'_>, wrapping: Place, read: Place) -> bool {
    let (tree, other) = (cx.tree(read.file), cx.tree(wrapping.file));
    let told = words_of(other, &tests_around(other, wrapping, read));
    let mut words: FxHashSet<Ustr> = told.iter().flat_map(|word| made_of(other, *word)).collect();
    words.extend(told);
    let is_around =
        |stmt: &&Stmt| matches!(stmt.kind, StmtKind::If { .. }) && is_around(stmt.span, wrapping, read);
    words.extend(other.stmts.iter().filter(is_around).flat_map(|stmt| bound_in(other, stmt.span)));
    let tests = tests_around(tree, read, wrapping);
    // `on_gpu = next(model.parameters()).is_cuda` asks as well, for who tests `on_gpu`.
    let calls = |test: &ExprId| {
        let asked = values_of(tree, words_of(tree, &[*test]));
        !is_first(tree, *test) && asked.chain([*test]).any(|asked| has_call(tree, asked))
    };
    let shares = |word: &Ustr| words.contains(word) || made_of(tree, *word).any(|word| words.contains(&word));
    tests.iter().any(calls) || words_of(tree, &tests).iter().any(shares)
}

/// `get_rank() == 0`: which of several processes, of which a run without others has the first.
fn is_first(tree: &Tree, test: ExprId) -> bool {
    let ExprKind::Compare { first, rest } = &tree.expr(test).kind else { return false };
    let is_zero = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Int(0));
    let is_own = |expr: ExprId| match tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => matches!(tree.expr(callee).kind, ExprKind::Name(_)),
        ExprKind::Name(_) | ExprKind::Attribute { .. } => true,
        _ => false,
    };
    matches!(rest[..], [(CompareOp::Eq, zero)] if is_own(*first) && is_zero(zero))
}

/// Whether something is around a place, and not around another one as well.
fn is_around(span: Span, place: Place, other: Place) -> bool {
    span.contains(place.span) && !(place.file == other.file && span.contains(other.span))
}

/// The tests of the statements and expressions around a place that choose it, and not another one.
fn tests_around(tree: &Tree, place: Place, other: Place) -> Vec<ExprId> {
    let mut tests = Vec::new();
    for stmt in tree.stmts.iter().filter(|stmt| is_around(stmt.span, place, other)) {
        match &stmt.kind {
            StmtKind::If { arms, .. } => tests.extend(arms.iter().map(|(test, _)| *test)),
            StmtKind::While { test, .. } => tests.push(*test),
            _ => {}
        }
    }
    for expr in tree.exprs.iter().filter(|expr| expr.span.contains(place.span)) {
        match &expr.kind {
            ExprKind::Conditional { test, .. } => tests.push(*test),
            ExprKind::Bool { items, .. } => tests.extend(items.iter().copied()),
            _ => {}
        }
    }
    tests
}

/// The names and attributes that tests ask for, without what holds these.
fn words_of(tree: &Tree, tests: &[ExprId]) -> Vec<Ustr> {
    let spans: Vec<_> = tests.iter().map(|test| tree.expr(*test).span).collect();
    let within = tree.exprs.iter().filter(|expr| spans.iter().any(|span| span.contains(expr.span)));
    let (mut words, mut holders) = (Vec::new(), FxHashSet::default());
    for expr in within {
        match expr.kind {
            ExprKind::Name(name) => words.push((expr.span, name)),
            ExprKind::Attribute { base, name, .. } => {
                holders.insert(tree.expr(base).span);
                words.push((expr.span, name));
            }
            _ => {}
        }
    }
    words.into_iter().filter(|(span, _)| !holders.contains(span)).map(|(_, word)| word).collect()
}

/// The names that are bound in a stretch.
fn bound_in(tree: &Tree, stretch: Span) -> Vec<Ustr> {
    let mut bound = Vec::new();
    for stmt in tree.stmts.iter().filter(|stmt| stretch.contains(stmt.span)) {
        tree.each_target(&stmt.kind, &mut |target| match tree.expr(target).kind {
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => bound.push(name),
            _ => {}
        });
    }
    bound
}

/// What the values are made of that a name is bound to.
fn made_of(tree: &Tree, name: Ustr) -> impl Iterator<Item = Ustr> {
    values_of(tree, vec![name]).flat_map(|value| words_of(tree, &[value]))
}

/// What names are bound to.
fn values_of(tree: &Tree, names: Vec<Ustr>) -> impl Iterator<Item = ExprId> {
    let is_it = move |target: &ExprId| match tree.expr(*target).kind {
        ExprKind::Name(bound) | ExprKind::Attribute { name: bound, .. } => names.contains(&bound),
        _ => false,
    };
    tree.stmts.iter().filter_map(move |stmt| match &stmt.kind {
        StmtKind::Assign { targets, value } if targets.iter().any(&is_it) => Some(*value),
        _ => None,
    })
}

fn has_call(tree: &Tree, expr: ExprId) -> bool {
    let span = tree.expr(expr).span;
    tree.exprs.iter().any(|inner| matches!(inner.kind, ExprKind::Call { .. }) && span.contains(inner.span))
}

pub(super) fn unwrapped(script: &Script, out: &mut Findings) {
    let sure = |(at, _): &(&At, &Unwrapped)| at.confidence >= Confidence::Medium;
    let mut reads: Vec<_> = script.observed_once::<Unwrapped>().filter(sure).collect();
    reads.sort_by_key(|(at, _)| at.place.span.start);
    let mut told: FxHashSet<Place> = FxHashSet::default();
    for (at, Unwrapped { wrapper, name, wrapped }) in &reads {
        if !told.insert(*wrapped) {
            continue;
        }
        let wrapper = wrapper.rsplit('.').next().unwrap_or(wrapper);
        let message = format!("the model has no attribute `{name}` on the path on which nothing wraps it");
        let mut finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(*wrapped, format!("only here, under a condition, it is wrapped in `{wrapper}`"))
            .note(RAISES)
            .help(format!("name the model before it is wrapped, or test `hasattr(model, \"{name}\")`"));
        let again = reads.iter().filter(|(other, one)| one.wrapped == *wrapped && other.place != at.place);
        for (other, _) in again {
            finding = finding.because(other.place, "and here");
        }
        out.push(finding, at);
    }
}
