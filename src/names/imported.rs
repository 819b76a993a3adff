//! Names of other packages that a file says in full: `tf.data.Dataset` where `tf` is an import. Only names
//! that surely mean the import count, and what stands under a check of versions or behind `try` is told apart.

use super::Names;
use super::guards::{asked_for, guards};
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

/// Whether one import binds a name in this file, and nothing else.
pub fn is_only_imported(tree: &Tree, names: &Names, name: Ustr) -> bool {
    roots(tree, names).contains_key(&name)
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
