//! Lists that the steps of a framework's training loop fill, and that nothing empties.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::interp::{Base, Checker, Constructed, Interp};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::syntax::{ClassId, Expr, ExprId, ExprKind, FnId, Function, FunctionBody, StmtKind};
use crate::trace::At;
use crate::values::{ClassRef, Heap, Items, ObjId, State, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "step-outputs-never-cleared",
    summary: "memory leak: no hook clears a list that `training_step` or `validation_step` fills",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("step-outputs-never-cleared"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_constructed: Some(constructed), on_end: Some(report), ..Checker::SILENT };

/// By these methods a list grows.
const GROWING: [&str; 2] = ["append", "extend"];
/// Functions of the language that look at a list and leave it as it is.
const LOOKING: [&str; 9] = ["all", "any", "enumerate", "len", "max", "min", "print", "sum", "zip"];

/// A class whose methods a framework calls for each batch.
#[derive(Clone)]
struct Stepping {
    /// The name of its constructor.
    constructor: Place,
    class: ClassId,
    /// Attributes that are empty lists when it has run.
    lists: Vec<Ustr>,
    steps: Vec<FnId>,
    /// What it does when an epoch ends.
    hooks: Vec<FnId>,
}

/// Each of them once.
#[derive(Default)]
struct Classes(Vec<Stepping>);

fn constructed(cx: &mut Interp<'_>, made: &Constructed) {
    if let Some(stepping) = stepping(cx, made.object, made.constructor) {
        cx.remember(|all: &mut Classes| {
            if all.0.iter().all(|known| known.constructor != stepping.constructor) {
                all.0.push(stepping);
            }
        });
    }
}

/// A class of its own, whose bases are the framework's, with lists that it may fill.
fn stepping(cx: &Interp<'_>, object: ObjId, constructor: Place) -> Option<Stepping> {
    let object = cx.heap.get(object);
    let ClassRef::Project(class) = object.class else { return None };
    let State::Class(state) = &cx.heap.get(class).state else { return None };
    let lineage = cx.lineage(object.class);
    let own = lineage.iter().filter(|base| matches!(base, Base::Project(_))).count();
    if own != 1 || lineage.contains(&Base::Unknown) || constructor.file != state.file {
        return None;
    }
    let of_framework =
        |is: &dyn Fn(Ustr) -> bool| lineage.iter().any(|base| matches!(base, Base::Api(name) if is(*name)));
    let methods = |is: &dyn Fn(Ustr, Ustr) -> bool| -> Vec<FnId> {
        let functions = cx.tree(state.file).functions.iter().enumerate();
        let own = functions.filter(|(_, function)| {
            function.class == Some(state.class) && of_framework(&|base| is(base, function.name))
        });
        own.map(|(index, _)| FnId(index as u32)).collect()
    };
    let steps = methods(&|base, method| cx.apis.runs_each_batch(base, method));
    let hooks = methods(&|base, method| cx.apis.ends_epochs(base, method));
    let lists = object.attrs.iter().filter(|(_, value)| is_empty_list(&cx.heap, value));
    let lists: Vec<Ustr> = lists.map(|(name, _)| *name).collect();
    let fills = !steps.is_empty() && !lists.is_empty();
    fills.then_some(Stepping { constructor, class: state.class, lists, steps, hooks })
}

fn is_empty_list(heap: &Heap, value: &Value) -> bool {
    let Some(object) = value.as_obj() else { return false };
    matches!(&heap.get(object).state, State::List(Items { exact: Some(items), .. }) if items.is_empty())
}

fn report(cx: &mut Interp<'_>, (): ()) {
    for stepping in cx.recall::<Classes>().0 {
        // Something in another file may clear them, such as a callback.
        cx.observe(stepping.constructor, stepping, Confidence::Medium);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, stepping) in script.observed_once::<Stepping>() {
        let draft = script.draft(stepping.constructor.file);
        for attribute in &stepping.lists {
            let Some(grows) = grows_at(draft, stepping, *attribute) else { continue };
            if may_be_emptied(draft, stepping, *attribute) {
                continue;
            }
            let at = At { place: Place::new(stepping.constructor.file, grows), ..at.clone() };
            let message =
                format!("memory leak: `self.{attribute}` grows with every batch, and no hook clears it");
            let fix = cleared(draft, stepping, *attribute)
                .map(|edit| Fix::guess("clear the list where the epoch ends", vec![edit]));
            let finding = script
                .finding(RULE.id, RULE.severity, &at, message)
                .note("no hook empties it: it holds the outputs of all epochs, not of the last one")
                .help(format!("call `self.{attribute}.clear()` at the end of the epoch, in `on_train_epoch_end` or its kin"))
                .fix(fix);
            out.push(finding, &at);
        }
    }
}

/// Where a step adds to a list of its own that is meant for the end of the epoch, or adds its loss with the graph.
fn grows_at(draft: Draft<'_>, stepping: &Stepping, attribute: Ustr) -> Option<Span> {
    let is_read = stepping.hooks.iter().any(|hook| uses(draft, draft.function(*hook), attribute));
    stepping.steps.iter().find_map(|step| {
        let function = draft.function(*step);
        let own = function.params.first()?.name;
        draft.exprs_within(function.span).find_map(|expr| {
            let list = draft.expr(grown_by(draft, expr)?);
            let ExprKind::Attribute { base, name, .. } = list.kind else { return None };
            let is_own = matches!(draft.expr(base).kind, ExprKind::Name(holder) if holder == own);
            // What is only kept, such as numbers to plot after the training, is meant to stay.
            let counts = is_read || adds_loss(draft, expr, function);
            (is_own && name == attribute && counts).then_some(expr.span)
        })
    })
}

/// Whether a call adds the very value that the step returns.
fn adds_loss(draft: Draft<'_>, call: &Expr, step: &Function) -> bool {
    let ExprKind::Call { args, .. } = &call.kind else { return false };
    let [added] = &args[..] else { return false };
    let ExprKind::Name(loss) = draft.expr(added.value).kind else { return false };
    let is_loss = |value: ExprId| matches!(draft.expr(value).kind, ExprKind::Name(name) if name == loss);
    let returns = |kind: &StmtKind| match kind {
        StmtKind::Return(Some(value)) => match &draft.expr(*value).kind {
            ExprKind::Dict(items) => items.iter().any(|(_, item)| is_loss(*item)),
            _ => is_loss(*value),
        },
        _ => false,
    };
    draft.statements_within(step.span).any(returns)
}

/// Whether a function names an attribute.
fn uses(draft: Draft<'_>, function: &Function, attribute: Ustr) -> bool {
    let named = |expr: &Expr| matches!(expr.kind, ExprKind::Attribute { name, .. } if name == attribute);
    draft.exprs_within(function.span).any(named)
}

/// `list` of `list.append(x)`
fn grown_by(draft: Draft<'_>, expr: &Expr) -> Option<ExprId> {
    let ExprKind::Call { callee, .. } = expr.kind else { return None };
    match &draft.expr(callee).kind {
        ExprKind::Attribute { base, name, .. } => GROWING.contains(&name.as_str()).then_some(*base),
        _ => None,
    }
}

/// Whether the file does anything with an attribute of this name but make it, fill it and look at it.
fn may_be_emptied(draft: Draft<'_>, stepping: &Stepping, attribute: Ustr) -> bool {
    let harmless = harmless(draft, stepping);
    let named = |expr: &Expr| matches!(expr.kind, ExprKind::Attribute { name, .. } if name == attribute);
    let mut exprs = draft.tree().exprs.iter().enumerate();
    exprs.any(|(index, expr)| named(expr) && !harmless.contains(&ExprId(index as u32)))
}

/// What is only made, filled, gone through or handed to functions that change no list.
fn harmless(draft: Draft<'_>, stepping: &Stepping) -> FxHashSet<ExprId> {
    let tree = draft.tree();
    let mut found = FxHashSet::default();
    for expr in &tree.exprs {
        found.extend(grown_by(draft, expr));
        match &expr.kind {
            ExprKind::Call { callee, args } if only_looks(draft, *callee) => {
                found.extend(args.iter().map(|arg| arg.value));
            }
            ExprKind::Comprehension(each) => found.extend(each.clauses.iter().map(|clause| clause.iter)),
            _ => {}
        }
    }
    let makes = |function: &&Function| function.class == Some(stepping.class) && function.name == "__init__";
    let constructor = tree.functions.iter().find(makes).map(|function| function.span);
    for stmt in &tree.stmts {
        let is_made_here = constructor.is_some_and(|span| span.contains(stmt.span));
        match &stmt.kind {
            StmtKind::For { iter, .. } => found.extend([*iter]),
            StmtKind::Assign { targets, .. } if is_made_here => found.extend(targets.iter().copied()),
            StmtKind::AnnAssign { target, .. } if is_made_here => found.extend([*target]),
            _ => {}
        }
    }
    found
}

/// A function of a package, or of the language.
fn only_looks(draft: Draft<'_>, callee: ExprId) -> bool {
    let of_language =
        matches!(&draft.expr(callee).kind, ExprKind::Name(name) if LOOKING.contains(&name.as_str()));
    of_language || draft.qualified(callee).is_some()
}

/// A call of `clear` at the end of the only hook that uses the list.
fn cleared(draft: Draft<'_>, stepping: &Stepping, attribute: Ustr) -> Option<Edit> {
    let mut hooks = stepping.hooks.iter().filter(|hook| uses(draft, draft.function(**hook), attribute));
    let (Some(hook), None) = (hooks.next(), hooks.next()) else { return None };
    let hook = draft.function(*hook);
    let own = hook.params.first()?.name;
    let FunctionBody::Block(body) = &hook.body else { return None };
    let last = *body.last()?;
    let is_plain = matches!(draft.statement(last).kind, StmtKind::Expr(_) | StmtKind::Assign { .. });
    let line = draft.line(last).filter(|_| is_plain)?;
    Some(draft.insert_after(line, &format!("{own}.{attribute}.clear()")))
}
