//! Imported names that a file calls as they stand, and what a star import may have brought. Knows no framework.

use super::Names;
use super::guards::guards;
use super::imported::{Mention, keywords, rebound, roots};
use super::unbound::is_given;
use crate::report::Span;
use crate::syntax::*;
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// `from module import *`
#[derive(Clone, Copy, Debug)]
pub struct Star {
    pub level: u32,
    pub module: Option<Ustr>,
}

/// Calls without keywords of what an import binds: `load(file)` after `from yaml import load`. The others are among the
/// mentions.
pub fn bare_calls(tree: &Tree, names: &Names) -> Vec<Mention> {
    let roots = roots(tree, names);
    let is_told = |path: &str| path.starts_with('.');
    let path_of = |name: Ustr| roots.get(&name).filter(|path| !is_told(path)).cloned();
    let mut found = calls_of_names(tree, path_of);
    found.retain(|mention| mention.keywords.is_empty());
    found
}

/// Calls of names that nothing binds but the file's star imports, if it has any; the path of each is its name alone.
/// What Python has by itself is seldom meant to be replaced by a star.
pub fn starred_calls(tree: &Tree, names: &Names) -> (Vec<Star>, Vec<Mention>) {
    let star = |stmt: &StmtId| match tree.stmt(*stmt).kind {
        StmtKind::ImportFrom { level, module, .. } => Some(Star { level, module }),
        _ => None,
    };
    let stars: Vec<Star> = names.stars.iter().filter_map(star).collect();
    if stars.is_empty() {
        return (stars, Vec::new());
    }
    let mut bound: FxHashSet<Ustr> = rebound(tree, names);
    bound.extend(names.bindings.keys());
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::Import(items) => bound.extend(items.iter().map(|item| item.alias.unwrap_or(item.name))),
            StmtKind::ImportFrom { names: ImportNames::Items(items), .. } => {
                bound.extend(items.iter().map(|item| item.alias.unwrap_or(item.name)));
            }
            _ => {}
        }
    }
    let found =
        calls_of_names(tree, |name| (!bound.contains(&name) && !is_given(&name)).then(|| name.to_string()));
    (stars, found)
}

fn calls_of_names(tree: &Tree, path_of: impl Fn(Ustr) -> Option<String>) -> Vec<Mention> {
    let guards = guards(tree);
    let is_guarded = |span: Span| {
        let before = guards.partition_point(|guard| guard.start <= span.start);
        before > 0 && span.start < guards[before - 1].end
    };
    let mention = |expr: &Expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let ExprKind::Name(name) = tree.expr(*callee).kind else { return None };
        let span = tree.expr(*callee).span;
        Some(Mention {
            path: path_of(name)?,
            parts: vec![span],
            keywords: keywords(args),
            guarded: is_guarded(span),
            level: 0,
            expr: Some(*callee),
        })
    };
    tree.exprs.iter().filter_map(mention).collect()
}
