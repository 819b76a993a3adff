//! Names that a file has without writing them: by its star imports, or by code that writes them for it.

use crate::names::{Module, Project, Target};
use crate::report::FileId;
use crate::syntax::{ExprKind, ImportNames, StmtId, StmtKind, Tree};
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// Functions by which a script reaches its names as a dictionary.
const BY_TEXT: [&str; 5] = ["dir", "exec", "globals", "locals", "vars"];
/// Modules whose attributes become names everywhere.
const OF_BUILTINS: [&str; 2] = ["__builtin__", "builtins"];

/// Stars that lead on to further ones are followed so far.
const MOST_STARS: usize = 64;

/// Whether names may be made that are nowhere written as such.
pub(super) fn names_by_text(project: &Project, file: FileId) -> bool {
    let Module { tree, names, .. } = project.module(file);
    let own = project.module_name(file);
    let is_builtins = |name: &Ustr| OF_BUILTINS.contains(&name.as_str());
    names.bindings.keys().any(is_builtins)
        || tree.body.iter().any(|stmt| fills_module(tree, *stmt, own))
        || tree.exprs.iter().any(|expr| match &expr.kind {
            ExprKind::Call { callee, args } => match &tree.expr(*callee).kind {
                // `vars(args)` is of another namespace.
                ExprKind::Name(name) => {
                    BY_TEXT.contains(&name.as_str()) && (args.is_empty() || name == "exec")
                }
                _ => false,
            },
            ExprKind::Attribute { base, name, .. } => {
                *name == "modules" && matches!(tree.expr(*base).kind, ExprKind::Name(name) if name == "sys")
            }
            _ => false,
        })
}

/// `_init_api("package.module")`, `register(__name__)`: a call for its own sake that is told which module this is.
fn fills_module(tree: &Tree, stmt: StmtId, own: Option<Ustr>) -> bool {
    let StmtKind::Expr(expr) = tree.stmt(stmt).kind else { return false };
    let ExprKind::Call { args, .. } = &tree.expr(expr).kind else { return false };
    args.iter().any(|arg| match &tree.expr(arg.value).kind {
        ExprKind::Name(name) => *name == "__name__",
        ExprKind::Str(text) => own.is_some_and(|own| own.as_str() == &**text),
        _ => false,
    })
}

/// What the stars of a file bring, where all of them lead to files of the project.
pub(super) fn brought_by_stars(project: &Project, file: FileId) -> Option<FxHashSet<Ustr>> {
    let mut brought = FxHashSet::default();
    let mut seen = FxHashSet::from_iter([file]);
    let mut next = starred(project, file)?;
    while let Some(file) = next.pop() {
        if !seen.insert(file) {
            continue;
        }
        if seen.len() > MOST_STARS {
            return None;
        }
        let module = project.module(file);
        if names_by_text(project, file) {
            return None;
        }
        match &module.names.dunder_all {
            Some(all) => brought.extend(all.iter().copied()),
            None => {
                brought.extend(module.names.bindings.keys().copied());
                brought.extend(module.names.rebound.iter().copied());
            }
        }
        next.extend(starred(project, file)?);
    }
    Some(brought)
}

/// The files whose names a file takes over; `None` where one is not of the project.
fn starred(project: &Project, file: FileId) -> Option<Vec<FileId>> {
    let tree = &project.module(file).tree;
    let stars = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::ImportFrom { level, module, names: ImportNames::Star } => Some((*level, *module)),
        _ => None,
    });
    stars
        .map(|(level, module)| match project.resolve(file, level, module) {
            Target::File(file) => Some(file),
            Target::Namespace(_) | Target::Outside => None,
        })
        .collect()
}
