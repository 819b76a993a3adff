//! How a file says a name of a package, and the import that lets it say one.

use super::Draft;
use crate::names::{qualified, spelled};
use crate::report::Edit;
use crate::syntax::{ExprId, ExprKind, StmtId, StmtKind};
use ustr::Ustr;

impl<'a> Draft<'a> {
    /// What to write for a qualified name, with the import that it needs; `None` where the name of the package
    /// means something else here.
    pub fn say(&self, path: &str) -> Option<(String, Vec<Edit>)> {
        let (tree, names) = (&self.module.tree, &self.module.names);
        if let Some(said) = spelled(tree, names, path) {
            return Some((said, Vec::new()));
        }
        let top = path.split('.').next()?;
        let is_taken = tree.exprs.iter().any(|expr| matches!(expr.kind, ExprKind::Name(name) if name == top))
            || names.bindings.contains_key(&Ustr::from(top))
            || tree.functions.iter().any(|function| {
                function.name == top || function.params.iter().any(|param| param.name == top)
            });
        if is_taken {
            return None;
        }
        Some((path.to_owned(), vec![self.import(top)?]))
    }

    /// What an expression says in full, if it is a name of a package that an import binds.
    pub fn qualified(&self, expr: ExprId) -> Option<String> {
        qualified(&self.module.tree, &self.module.names, expr)
    }

    /// `import name`, behind the imports that the file begins with.
    fn import(&self, name: &str) -> Option<Edit> {
        let body = &self.module.tree.body;
        let is_import = |id: &StmtId| {
            matches!(self.module.tree.stmt(*id).kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. })
        };
        let first = body.iter().position(is_import)?;
        let last = body[first..].iter().take_while(|id| is_import(id)).last()?;
        Some(self.insert_after(self.line(*last)?, &format!("import {name}")))
    }
}
