//! Names that are read by a module of the project which does not have them: `config.SAVE_DIR`.

use super::undefined_import::{Lost, is_surely_meant, lacks, report};
use crate::facts::{Findings, Script};
use crate::names::{Module, Target, is_only_imported};
use crate::report::{FileId, Span};
use crate::syntax::{ExprId, ExprKind, ImportNames, StmtKind, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

/// `config.SAVE_DIR` after `import config`: each name once.
pub(super) fn reads_of_modules(script: &Script, guarded: &[Span], out: &mut Findings) {
    let tree = &script.project.module(script.file).tree;
    let modules = modules(script);
    if modules.is_empty() {
        return;
    }
    let mut asked = FxHashSet::default();
    for expr in &tree.exprs {
        let ExprKind::Attribute { base, name, name_span } = expr.kind else { continue };
        let Some(Held { file, path, is_relative }) = held(script, &modules, base) else { continue };
        let is_lost = asked.insert((file, name))
            && lacks(script.project, file, name)
            && script.project.submodule(&Target::File(file), name).is_none()
            && (is_relative || is_surely_meant(script, file, path, name))
            && !guarded.iter().any(|span| span.contains(name_span))
            && !is_set_from_outside(script, name);
        if is_lost {
            report(script, out, &Lost { file, name, span: name_span, raises: "AttributeError" });
        }
    }
}

/// A file that a name stands for, and how it was imported.
#[derive(Clone, Copy)]
struct Held {
    file: FileId,
    path: Ustr,
    is_relative: bool,
}

/// Names that imports of files of the project bind, and nothing else, and that are only asked for what they have.
fn modules(script: &Script) -> FxHashMap<Ustr, Held> {
    let Module { tree, names, .. } = script.project.module(script.file);
    let mut found = FxHashMap::default();
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::Import(items) => {
                for item in items {
                    let top = item.name.split('.').next().map_or(item.name, Ustr::from);
                    let (name, path) = item.alias.map_or((top, top), |alias| (alias, item.name));
                    if let Target::File(file) = script.project.resolve(script.file, 0, Some(path)) {
                        found.insert(name, Held { file, path, is_relative: false });
                    }
                }
            }
            StmtKind::ImportFrom { level, module, names: ImportNames::Items(items) } => {
                let package = script.project.resolve(script.file, *level, *module);
                for item in items {
                    let is_bound =
                        matches!(package, Target::File(of) if !lacks(script.project, of, item.name));
                    let module_of = script.project.submodule(&package, item.name);
                    if let (Some(Target::File(file)), false) = (module_of, is_bound) {
                        let path = module.map_or(item.name, |module| inside(module, item.name));
                        let held = Held { file, path, is_relative: *level > 0 };
                        found.insert(item.alias.unwrap_or(item.name), held);
                    }
                }
            }
            _ => {}
        }
    }
    if !found.is_empty() {
        let handed = handed_on(tree);
        found.retain(|name, _| is_only_imported(tree, names, *name) && !handed.contains(name));
    }
    found
}

/// Names that are used as a whole: whoever gets a module may fill it.
fn handed_on(tree: &Tree) -> FxHashSet<Ustr> {
    let bases = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Attribute { base, .. } => Some(base),
        _ => None,
    });
    let bases: FxHashSet<ExprId> = bases.collect();
    let named = tree.exprs.iter().zip(0..).filter_map(|(expr, at)| match expr.kind {
        ExprKind::Name(name) => Some((name, ExprId(at))),
        _ => None,
    });
    named.filter(|(_, at)| !bases.contains(at)).map(|(name, _)| name).collect()
}

/// The file that an expression stands for: `config`, `package.config`.
fn held(script: &Script, modules: &FxHashMap<Ustr, Held>, expr: ExprId) -> Option<Held> {
    let tree = &script.project.module(script.file).tree;
    match tree.expr(expr).kind {
        ExprKind::Name(name) => modules.get(&name).copied(),
        ExprKind::Attribute { base, name, .. } => {
            let of = held(script, modules, base)?;
            let Some(Target::File(file)) = script.project.submodule(&Target::File(of.file), name) else {
                return None;
            };
            let held = Held { file, path: inside(of.path, name), ..of };
            lacks(script.project, of.file, name).then_some(held)
        }
        _ => None,
    }
}

/// Whether a file that was read gives an attribute of this name to anything, or says it in quotes.
fn is_set_from_outside(script: &Script, name: Ustr) -> bool {
    std::iter::once(&script.file).chain(&script.rehearsal.read).any(|file| {
        let tree = &script.project.module(*file).tree;
        let mut is_set =
            tree.exprs.iter().any(|expr| matches!(&expr.kind, ExprKind::Str(text) if **text == *name));
        let mut see = |target: ExprId| {
            is_set |=
                matches!(tree.expr(target).kind, ExprKind::Attribute { name: known, .. } if known == name);
        };
        tree.stmts.iter().for_each(|stmt| tree.each_target(&stmt.kind, &mut see));
        is_set
    })
}

fn inside(package: Ustr, name: Ustr) -> Ustr {
    Ustr::from(&format!("{package}.{name}"))
}
