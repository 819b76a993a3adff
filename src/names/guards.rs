//! Where a name may be absent without harm: behind `try`, under a check of versions or of attributes, in annotations,
//! and where no path leads.

use super::Mention;
use crate::report::Span;
use crate::syntax::*;
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

/// Where absence is provided for: what stands behind `try`, what a check of versions or of attributes
/// decides, annotations, and what never runs. In order, and apart from each other.
pub fn guards(tree: &Tree) -> Vec<Span> {
    guards_by(tree, &is_question)
}

/// Whether a name stands in the arm of `if hasattr(torch, "symeig"):`, and nothing else provides for its absence.
pub fn is_only_looked_up(tree: &Tree, mention: &Mention) -> bool {
    let (Some(last), Some(at)) = (mention.path.rsplit('.').next(), mention.parts.first()) else {
        return false;
    };
    let looks_it_up = |test: ExprId| match &tree.expr(test).kind {
        ExprKind::Call { callee, args } => {
            let is_told =
                |arg: &Arg| matches!(&tree.expr(arg.value).kind, ExprKind::Str(name) if **name == *last);
            matches!(tree.expr(*callee).kind, ExprKind::Name(name) if looks_up(&name))
                && args.iter().any(is_told)
        }
        _ => false,
    };
    let in_its_arm = tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::If { arms, .. } => arms.iter().any(|(test, body)| {
            looks_it_up(*test) && body.iter().any(|stmt| tree.stmt(*stmt).span.contains(*at))
        }),
        _ => false,
    });
    let others = guards_by(tree, &|name| is_question(name) && !looks_up(name));
    in_its_arm && !others.iter().any(|span| span.contains(*at))
}

/// What a file asks for by name, `self.fused = hasattr(F, "scaled_dot_product_attention")`: whatever becomes of the
/// answer decides where it is used.
pub(super) fn asked_for(tree: &Tree) -> FxHashSet<&str> {
    let told = |expr: &Expr| match &expr.kind {
        ExprKind::Call { callee, args } if matches!(tree.expr(*callee).kind, ExprKind::Name(name) if looks_up(&name)) => {
            args.iter().find_map(|arg| match &tree.expr(arg.value).kind {
                ExprKind::Str(name) => Some(&**name),
                _ => None,
            })
        }
        _ => None,
    };
    tree.exprs.iter().filter_map(told).collect()
}

fn looks_up(name: &str) -> bool {
    name == "hasattr"
}

fn guards_by(tree: &Tree, is_question: &dyn Fn(&str) -> bool) -> Vec<Span> {
    let asking = asking(tree, is_question);
    let asks = |span: Span| {
        let first = asking.partition_point(|at| *at < span.start);
        asking.get(first).is_some_and(|at| *at < span.end)
    };
    let mut found = Vec::new();
    for stmt in &tree.stmts {
        let guards = match &stmt.kind {
            StmtKind::Try { handlers, .. } => !handlers.is_empty(),
            StmtKind::If { arms, .. } => arms.iter().any(|(test, _)| asks(tree.expr(*test).span)),
            StmtKind::Assert { test } => asks(tree.expr(*test).span),
            _ => false,
        };
        if guards {
            let end = left_by(tree, &stmt.kind).map_or(stmt.span.end, |function| function.span.end);
            found.push(Span::new(stmt.span.start, end));
        }
    }
    for expr in &tree.exprs {
        let guards = match &expr.kind {
            ExprKind::Conditional { test, .. } => asks(tree.expr(*test).span),
            ExprKind::Bool { .. } => asks(expr.span),
            _ => false,
        };
        if guards {
            found.push(expr.span);
        }
    }
    found.extend(annotations(tree));
    found.extend(broken(tree));
    found.extend(unreached(tree));
    found.sort_by_key(|span| span.start);
    found.dedup_by(|next, last| {
        let overlaps = next.start <= last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    found
}

/// The function that an arm of a test returns from: what follows in it is the other arm.
fn left_by<'t>(tree: &'t Tree, kind: &StmtKind) -> Option<&'t Function> {
    let StmtKind::If { arms, .. } = kind else { return None };
    let lasts = arms.iter().filter_map(|(_, body)| body.last());
    let mut ends = lasts.map(|last| tree.stmt(*last)).filter(|last| matches!(last.kind, StmtKind::Return(_)));
    let end = ends.next()?.span.end;
    let around = tree.functions.iter().filter(|one| one.span.start < end && end <= one.span.end);
    around.min_by_key(|one| one.span.end - one.span.start)
}

/// Lines that the parser had to guess at: what is an argument of what is a guess, too.
fn broken(tree: &Tree) -> impl Iterator<Item = Span> {
    let is_guessed = |line: &&Span| {
        let before = tree.errors.partition_point(|error| error.end <= line.start);
        tree.errors.get(before).is_some_and(|error| error.start < line.end)
    };
    tree.lines.iter().filter(is_guessed).copied()
}

/// What follows a `return` or `raise` in its block, the arm of `if False:`, and what follows `False and`.
fn unreached(tree: &Tree) -> Vec<Span> {
    let of_functions = tree.functions.iter().filter_map(|function| match &function.body {
        FunctionBody::Block(body) => Some(&**body),
        FunctionBody::Expr(_) => None,
    });
    let inner = tree.stmts.iter().flat_map(|stmt| stmt.kind.blocks());
    let blocks = of_functions.chain(inner);
    let leaves = |stmt: &StmtId| {
        let kind = &tree.stmt(*stmt).kind;
        matches!(kind, StmtKind::Return(_) | StmtKind::Raise(_) | StmtKind::Break | StmtKind::Continue)
    };
    let left = blocks.filter_map(|block| {
        let at = block.iter().position(leaves)?;
        Some(Span::new(tree.stmt(*block.get(at + 1)?).span.start, tree.stmt(*block.last()?).span.end))
    });
    let arms = tree.stmts.iter().flat_map(|stmt| match &stmt.kind {
        StmtKind::If { arms, .. } => &**arms,
        _ => &[],
    });
    let closed = arms.filter_map(|(test, body)| {
        let (first, last) = (body.first().filter(|_| is_false(tree, *test))?, body.last()?);
        Some(Span::new(tree.stmt(*first).span.start, tree.stmt(*last).span.end))
    });
    let cut = tree.exprs.iter().filter(|expr| is_conjunction_with_false(tree, expr)).map(|expr| expr.span);
    left.chain(closed).chain(cut).collect()
}

/// Whether a test is written as one that never holds.
fn is_false(tree: &Tree, test: ExprId) -> bool {
    let test = tree.expr(test);
    matches!(test.kind, ExprKind::False | ExprKind::Int(0)) || is_conjunction_with_false(tree, test)
}

/// `False and DEBUG`: what follows is never evaluated.
fn is_conjunction_with_false(tree: &Tree, expr: &Expr) -> bool {
    let ExprKind::Bool { and: true, items } = &expr.kind else { return false };
    items.first().is_some_and(|first| is_false(tree, *first))
}

/// Annotations, which may never be evaluated.
fn annotations(tree: &Tree) -> Vec<Span> {
    let params = tree.functions.iter().flat_map(|function| {
        let own = function.params.iter().filter_map(|param| param.annotation);
        own.chain(function.returns)
    });
    let variables = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::AnnAssign { annotation, .. } => Some(annotation),
        _ => None,
    });
    params.chain(variables).map(|expr| tree.expr(expr).span).collect()
}

/// Where the file asks for an attribute, a version or what is installed, in order.
fn asking(tree: &Tree, is_question: &dyn Fn(&str) -> bool) -> Vec<u32> {
    // A file says the same names again and again.
    let mut known: FxHashMap<Ustr, bool> = FxHashMap::default();
    // `has_bias` is the caller's choice where a function takes it, and says nothing of what is installed.
    let params: FxHashSet<Ustr> =
        tree.functions.iter().flat_map(|function| &function.params).map(|param| param.name).collect();
    let mut asks = |name: Ustr| {
        *known.entry(name).or_insert_with(|| {
            is_question(&name) && !(params.contains(&name) && name.to_ascii_lowercase().starts_with("has_"))
        })
    };
    let named = |expr: &Expr| match &expr.kind {
        ExprKind::Name(name) => asks(*name).then_some(expr.span.start),
        // `"torch.fft" in sys.modules`
        ExprKind::Attribute { base, name, name_span } => {
            let loaded =
                *name == "modules" && matches!(tree.expr(*base).kind, ExprKind::Name(of) if of == "sys");
            (loaded || asks(*name)).then_some(name_span.start)
        }
        // `"concat_v2" in dir(tf)`
        ExprKind::Call { callee, args } => {
            let lists = matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == "dir");
            (lists && !args.is_empty()).then_some(expr.span.start)
        }
        _ => None,
    };
    let mut found: Vec<u32> = tree.exprs.iter().filter_map(named).collect();
    found.sort_unstable();
    let answers = answers(tree, &found);
    if !answers.is_empty() {
        found.extend(tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Name(name) => answers.contains(&name).then_some(expr.span.start),
            _ => None,
        }));
        found.sort_unstable();
    }
    found
}

/// Names that hold the answer to a question: `TF2 = tf.__version__ >= "2"`, or what the arms of one set to true and
/// false.
fn answers(tree: &Tree, asking: &[u32]) -> FxHashSet<Ustr> {
    let asks = |id: ExprId| {
        let span = tree.expr(id).span;
        asking.get(asking.partition_point(|at| *at < span.start)).is_some_and(|at| *at < span.end)
    };
    let mut found = FxHashSet::default();
    let mut answers = |stmt: &StmtKind, is_answer: &dyn Fn(ExprId) -> bool| {
        if let StmtKind::Assign { targets, value } = stmt
            && let [target] = targets[..]
            && let ExprKind::Name(name) = tree.expr(target).kind
            && is_answer(*value)
        {
            found.insert(name);
        }
    };
    let is_flag = |value: ExprId| matches!(tree.expr(value).kind, ExprKind::True | ExprKind::False);
    let compares = |value: ExprId| {
        let kind = &tree.expr(value).kind;
        let is_not = matches!(kind, ExprKind::Unary { op: UnaryOp::Not, .. });
        (is_not || matches!(kind, ExprKind::Compare { .. } | ExprKind::Bool { .. })) && asks(value)
    };
    for stmt in &tree.stmts {
        answers(&stmt.kind, &compares);
        if let StmtKind::If { arms, otherwise } = &stmt.kind
            && arms.iter().any(|(test, _)| asks(*test))
        {
            let blocks = arms.iter().map(|(_, block)| block).chain([otherwise]);
            blocks.flat_map(|block| block.iter()).for_each(|stmt| answers(&tree.stmt(*stmt).kind, &is_flag));
        }
    }
    found
}

/// `hasattr`, `__version__`, `HAS_FOO`, `TORCH_GE_2_1`, `is_foo_available`, `K.backend()`.
fn is_question(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "hasattr",
        "getattr",
        "version",
        "available",
        "has_",
        "_has",
        "compat",
        "support",
        "_ge_",
        "type_checking",
    ];
    let name = name.to_ascii_lowercase();
    name == "backend" || PARTS.iter().any(|part| name.contains(part))
}
