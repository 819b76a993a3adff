//! Which names a file binds, in which scope, and how they are used there; and the files of
//! a project with the rules by which their imports find each other. Knows no framework.

mod called;
mod changes;
mod guards;
mod imported;
mod imports;
mod library;
mod lookup;
mod project;
mod relations;
mod set;
mod unbound;
mod uses;
mod walk;

pub use called::{Star, bare_calls, starred_calls};
pub use guards::{guards, is_only_looked_up};
pub use imported::{Mention, is_only_imported, mentions, qualified, spelled, uses_of_import};
pub use imports::{Imports, Worth};
pub use library::Library;
pub use lookup::is_standard;
pub use project::{Module, Project, Target};
pub use relations::{Act, LoopIndex, Origin, Relations, Subject, subject_of};
pub use set::NameSet;
pub(crate) use uses::class_of_self;
pub use uses::{Used, Uses};

use crate::syntax::{ClassId, ExprId, FnId, StmtId, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::OnceLock;
use ustr::Ustr;

/// The names of one file.
#[derive(Debug, Default)]
pub struct Names {
    /// By [`FnId`].
    pub scopes: Vec<Scope>,
    /// What the bodies of classes bind, by [`ClassId`].
    pub class_locals: Vec<NameSet>,
    /// A name of the module and the statements that bind it, in order: the innermost ones, also
    /// inside `if`, `try`, `for`, `with`, `while` and `match`, but not those in functions.
    pub bindings: FxHashMap<Ustr, SmallVec<[StmtId; 2]>>,
    /// Where more than its bindings makes a name of the module what it is: all statements outside functions that
    /// bind it or may change what it holds, `model.eval()`, `sizes.append(3)`, in order.
    pub changes: FxHashMap<Ustr, SmallVec<[StmtId; 2]>>,
    /// Names of the module that functions bind by `global`.
    pub rebound: FxHashSet<Ustr>,
    /// `from … import *` outside functions, in order.
    pub stars: Vec<StmtId>,
    /// What `__all__` lists; `None` without one, or when it is computed.
    pub dunder_all: Option<Box<[Ustr]>>,
    pub uses: Uses,
    /// Reads of names that no scope around them binds and the language does not have, in order. What a star import
    /// brings may be among them.
    pub unbound: Box<[ExprId]>,
    /// What imports alone bind, once somebody asks.
    roots: OnceLock<imported::Roots>,
    /// All expressions by their places, once somebody looks for one.
    by_place: OnceLock<Box<[ExprId]>>,
}

/// The names of one function or lambda.
#[derive(Debug, Default)]
pub struct Scope {
    /// Parameters included.
    pub locals: NameSet,
    pub globals: NameSet,
    pub nonlocals: NameSet,
    /// Names of attributes and of called names in the body, nested functions included.
    pub mentions: NameSet,
}

impl Names {
    pub fn of(tree: &Tree) -> Names {
        walk::names(tree)
    }

    /// Whether any function mentions one of these.
    pub fn speaks_of(&self, words: &[Ustr]) -> bool {
        self.scopes.iter().any(|scope| words.iter().any(|word| scope.mentions.contains(*word)))
    }

    pub fn scope(&self, function: FnId) -> &Scope {
        &self.scopes[function.0 as usize]
    }

    pub fn class_locals(&self, class: ClassId) -> &NameSet {
        &self.class_locals[class.0 as usize]
    }

    /// The function whose local `name` is when code of `scope` says it; `None` for the module
    /// (and what is built in).
    pub fn owner(&self, tree: &Tree, scope: Option<FnId>, name: Ustr) -> Option<FnId> {
        let mut at = scope;
        while let Some(function) = at {
            let scope = self.scope(function);
            if scope.globals.contains(name) {
                return None;
            }
            if scope.locals.contains(name) {
                return Some(function);
            }
            at = tree.function(function).parent;
        }
        None
    }
}

#[cfg(test)]
mod tests;
