//! Names of other packages that a file says in full: `tf.data.Dataset` where `tf` is an import. Only names
//! that surely mean the import count, and what stands under a check of versions or behind `try` is told apart.

use super::Names;
use crate::report::Span;
use crate::syntax::*;
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

/// A name of a package as the file says it.
#[derive(Clone, Debug)]
pub struct Mention {
    /// Qualified: what was imported, and the attributes after it.
    pub path: String,
    /// Of the last so many parts the places are known, in order.
    pub parts: Vec<Span>,
    /// Names that are given to a call of it by keyword.
    pub keywords: Vec<(Ustr, Span)>,
    /// The script is prepared for its absence, or checks versions.
    pub guarded: bool,
    /// How many dots a relative import has; not of another package then.
    pub level: u32,
    /// The expression that says it; none where an import does.
    pub expr: Option<ExprId>,
}

/// All such names, in order.
pub fn mentions(tree: &Tree, names: &Names) -> Vec<Mention> {
    let guards = guards(tree);
    let (roots, asked_for) = (roots(tree, names), asked_for(tree));
    let mut found = imports(tree);
    found.extend(chains(tree, roots));
    found.retain(|mention| mention.level == 0);
    for mention in &mut found {
        let at = mention.parts.first().map_or(0, |span| span.start);
        let before = guards.partition_point(|guard| guard.start <= at);
        mention.guarded = before > 0 && at < guards[before - 1].end;
        mention.guarded |= mention.path.rsplit('.').next().is_some_and(|last| asked_for.contains(last));
    }
    found.sort_by_key(|mention| mention.parts.first().map(|span| (span.start, span.end)));
    found
}

/// What an expression says in full, if it surely is a name of another package, or something of one.
pub fn qualified(tree: &Tree, names: &Names, expr: ExprId) -> Option<String> {
    let root = root_of(tree, expr)?;
    let start = roots(tree, names).get(&root).filter(|start| !start.starts_with('.'))?;
    let (_, attributes, _) = chain(tree, expr)?;
    Some(attributes.iter().fold(start.clone(), |path, attribute| format!("{path}.{attribute}")))
}

/// Where a name is used that an import of this path binds, and nothing else; `None` where it may mean something else.
pub fn uses_of_import(tree: &Tree, names: &Names, path: &str) -> Option<Vec<ExprId>> {
    let mut bound = roots(tree, names).iter().filter(|(_, root)| *root == path);
    let (name, _) = bound.next().filter(|_| bound.next().is_none())?;
    let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Name(other) if other == *name);
    let uses = tree.exprs.iter().enumerate().filter(|(_, expr)| is_it(expr));
    Some(uses.map(|(at, _)| ExprId(at as u32)).collect())
}

/// How the module's body lets a file say a qualified name: by the import that says most of it.
pub fn spelled(tree: &Tree, names: &Names, path: &str) -> Option<String> {
    let at_top = |name: &Ustr| {
        let binding = names.bindings.get(name)?;
        binding.iter().all(|stmt| tree.body.contains(stmt)).then_some(())
    };
    let roots = roots(tree, names).iter();
    let fitting = roots.filter_map(|(name, root)| {
        let rest = path.strip_prefix(root.as_str())?;
        let fits = !root.starts_with('.') && (rest.is_empty() || rest.starts_with('.'));
        at_top(name).filter(|()| fits)?;
        Some((root.len(), std::cmp::Reverse(name.len()), format!("{name}{rest}")))
    });
    fitting.max().map(|(_, _, said)| said)
}

/// Names that one import binds and nothing else in the file, and what they mean.
pub(super) type Roots = FxHashMap<Ustr, String>;

/// Looked for once for each file: several rules ask of each expression what it says.
pub(super) fn roots<'t>(tree: &Tree, names: &'t Names) -> &'t Roots {
    names.roots.get_or_init(|| find_roots(tree, names))
}

fn find_roots(tree: &Tree, names: &Names) -> Roots {
    let mut bound: FxHashMap<Ustr, Vec<String>> = FxHashMap::default();
    let mut tops: FxHashSet<Ustr> = FxHashSet::default();
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::Import(items) => {
                for item in items {
                    let top = Ustr::from(item.name.split('.').next().unwrap_or_default());
                    let (name, path) = item.alias.map_or((top, top), |alias| (alias, item.name));
                    // `import a.b` twice binds `a` twice to the same.
                    if item.alias.is_some() || tops.insert(top) {
                        bound.entry(name).or_default().push(path.to_string());
                    }
                }
            }
            StmtKind::ImportFrom { level, module, names: ImportNames::Items(items) } => {
                for item in items {
                    let base = module.filter(|_| *level == 0).map_or("", |module| module.as_str());
                    let path = format!("{base}.{}", item.name);
                    bound.entry(item.alias.unwrap_or(item.name)).or_default().push(path);
                }
            }
            _ => {}
        }
    }
    let others = rebound(tree, names);
    bound.retain(|name, paths| {
        paths.dedup();
        paths.len() == 1 && !others.contains(name)
    });
    bound.into_iter().filter_map(|(name, mut paths)| Some((name, paths.pop()?))).collect()
}

/// Names that something other than an import binds, in whatever scope.
pub(super) fn rebound(tree: &Tree, names: &Names) -> FxHashSet<Ustr> {
    let mut found = names.rebound.clone();
    for expr in &tree.exprs {
        match &expr.kind {
            ExprKind::Walrus { name, .. } => {
                found.insert(*name);
            }
            ExprKind::Comprehension(inner) => {
                inner.clauses.iter().for_each(|clause| targets(tree, clause.target, &mut found));
            }
            _ => {}
        }
    }
    for function in &tree.functions {
        found.insert(function.name);
        found.extend(function.params.iter().map(|param| param.name));
    }
    found.extend(tree.classes.iter().map(|class| class.name));
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::Assign { targets: all, .. } | StmtKind::Del(all) => {
                all.iter().for_each(|target| targets(tree, *target, &mut found));
            }
            StmtKind::AugAssign { target, .. }
            | StmtKind::AnnAssign { target, .. }
            | StmtKind::For { target, .. } => targets(tree, *target, &mut found),
            StmtKind::With { items, .. } => {
                items.iter().filter_map(|item| item.target).for_each(|one| targets(tree, one, &mut found));
            }
            StmtKind::Try { handlers, .. } => {
                found.extend(handlers.iter().filter_map(|handler| handler.name));
            }
            StmtKind::Match { cases, .. } => found.extend(cases.iter().flat_map(|case| case.binds.iter())),
            _ => {}
        }
    }
    found
}

fn targets(tree: &Tree, target: ExprId, found: &mut FxHashSet<Ustr>) {
    match &tree.expr(target).kind {
        ExprKind::Name(name) => {
            found.insert(*name);
        }
        ExprKind::Tuple(items) | ExprKind::List(items) => {
            items.iter().for_each(|item| targets(tree, *item, found));
        }
        ExprKind::Starred(inner) => targets(tree, *inner, found),
        _ => {}
    }
}

/// What imports ask for by name.
fn imports(tree: &Tree) -> Vec<Mention> {
    let mut found = Vec::new();
    let one = |path: String, span: Span, level: u32| Mention {
        path,
        parts: vec![span],
        keywords: Vec::new(),
        guarded: false,
        level,
        expr: None,
    };
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::Import(items) => {
                found.extend(items.iter().map(|item| one(item.name.to_string(), item.span, 0)));
            }
            StmtKind::ImportFrom { level, module: Some(module), names } => match names {
                ImportNames::Star => found.push(one(module.to_string(), stmt.span, *level)),
                ImportNames::Items(items) => found.extend(
                    items.iter().map(|item| one(format!("{module}.{}", item.name), item.span, *level)),
                ),
            },
            _ => {}
        }
    }
    found
}

/// Attributes of imported names; of `a.b.c` only the whole.
fn chains(tree: &Tree, roots: &FxHashMap<Ustr, String>) -> Vec<Mention> {
    let mut inner: FxHashSet<ExprId> = FxHashSet::default();
    let mut calls: FxHashMap<ExprId, &[Arg]> = FxHashMap::default();
    for expr in &tree.exprs {
        match &expr.kind {
            ExprKind::Attribute { base, .. } => {
                inner.insert(*base);
            }
            ExprKind::Call { callee, args } => {
                calls.insert(*callee, args);
            }
            _ => {}
        }
    }
    let given = assigned(tree, roots);
    let mut found = Vec::new();
    for (index, _) in tree.exprs.iter().enumerate() {
        let id = ExprId(index as u32);
        if inner.contains(&id) {
            continue;
        }
        let Some(start) = root_of(tree, id).and_then(|root| roots.get(&root)) else { continue };
        let Some((root, attributes, parts)) = chain(tree, id) else { continue };
        let path = attributes.iter().fold(start.clone(), |path, attribute| format!("{path}.{attribute}"));
        // What the file puts there itself is there.
        if start.starts_with('.') || is_given(&given, root, &attributes) {
            continue;
        }
        let keywords = calls.get(&id).map(|args| keywords(args)).unwrap_or_default();
        if attributes.is_empty() && keywords.is_empty() {
            continue;
        }
        found.push(Mention { path, parts, keywords, guarded: false, level: 0, expr: Some(id) });
    }
    found
}

fn is_given(given: &FxHashMap<Ustr, Vec<String>>, root: Ustr, attributes: &[Ustr]) -> bool {
    given.get(&root).is_some_and(|known| {
        let words = dotted(attributes);
        known.iter().any(|known| words.starts_with(known.as_str()))
    })
}

fn dotted(attributes: &[Ustr]) -> String {
    attributes.iter().map(ustr::Ustr::as_str).collect::<Vec<_>>().join(".")
}

pub(super) fn keywords(args: &[Arg]) -> Vec<(Ustr, Span)> {
    let named = |arg: &Arg| match arg.kind {
        ArgKind::Keyword(name) => Some((name, arg.span)),
        _ => None,
    };
    args.iter().filter_map(named).collect()
}

/// The name that `a.b.c` begins with.
fn root_of(tree: &Tree, mut id: ExprId) -> Option<Ustr> {
    loop {
        match &tree.expr(id).kind {
            ExprKind::Attribute { base, .. } => id = *base,
            ExprKind::Name(name) => return Some(*name),
            _ => return None,
        }
    }
}

/// `a.b.c` as its name, its attributes, and their places; of a bare name the name's own.
fn chain(tree: &Tree, id: ExprId) -> Option<(Ustr, Vec<Ustr>, Vec<Span>)> {
    let (mut attributes, mut parts, mut at) = (Vec::new(), Vec::new(), id);
    loop {
        match &tree.expr(at).kind {
            ExprKind::Attribute { base, name, name_span } => {
                attributes.push(*name);
                parts.push(*name_span);
                at = *base;
            }
            ExprKind::Name(name) => {
                if parts.is_empty() {
                    parts.push(tree.expr(at).span);
                }
                attributes.reverse();
                parts.reverse();
                return Some((*name, attributes, parts));
            }
            _ => return None,
        }
    }
}

/// Attributes of imports that the file assigns: `torch.my_helper = …`.
fn assigned(tree: &Tree, roots: &FxHashMap<Ustr, String>) -> FxHashMap<Ustr, Vec<String>> {
    let mut found: FxHashMap<Ustr, Vec<String>> = FxHashMap::default();
    for stmt in &tree.stmts {
        let StmtKind::Assign { targets, .. } = &stmt.kind else { continue };
        for target in targets {
            if let Some((root, attributes, _)) = chain(tree, *target)
                && !attributes.is_empty()
                && roots.contains_key(&root)
            {
                found.entry(root).or_default().push(dotted(&attributes));
            }
        }
    }
    found
}

/// Where absence is provided for: what stands behind `try`, what a check of versions or of attributes
/// decides, and annotations. In order, and apart from each other.
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
fn asked_for(tree: &Tree) -> FxHashSet<&str> {
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
    let mut asks = |name: Ustr| *known.entry(name).or_insert_with(|| is_question(&name));
    let named = |expr: &Expr| match &expr.kind {
        ExprKind::Name(name) => asks(*name).then_some(expr.span.start),
        // `"torch.fft" in sys.modules`
        ExprKind::Attribute { base, name, name_span } => {
            let loaded =
                *name == "modules" && matches!(tree.expr(*base).kind, ExprKind::Name(of) if of == "sys");
            (loaded || asks(*name)).then_some(name_span.start)
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
    const PARTS: [&str; 9] =
        ["hasattr", "getattr", "version", "available", "has_", "_has", "compat", "support", "_ge_"];
    let name = name.to_ascii_lowercase();
    name == "backend" || PARTS.iter().any(|part| name.contains(part))
}
