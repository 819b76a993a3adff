//! Who is spoken of: what a file gives a name to, and which name an expression says.

use super::super::Names;
use super::super::uses::class_of_self;
use crate::syntax::*;
use ustr::Ustr;

/// Something that a file gives a name to: a variable, an attribute of `self`, or one of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Of a function, or of the module.
    Local(Option<FnId>, Ustr),
    Own(ClassId, Ustr),
    /// `state.model`, of a variable of a function or of the module.
    Part(Option<FnId>, Ustr, Ustr),
    /// `self.state.model`
    OwnPart(ClassId, Ustr, Ustr),
}

impl Subject {
    pub fn name(self) -> Ustr {
        match self {
            Subject::Local(_, name)
            | Subject::Own(_, name)
            | Subject::Part(_, _, name)
            | Subject::OwnPart(_, _, name) => name,
        }
    }
}

/// What an expression says by name.
pub fn subject_of(tree: &Tree, names: &Names, expr: ExprId, function: Option<FnId>) -> Option<Subject> {
    match tree.expr(expr).kind {
        ExprKind::Name(name) => Some(Subject::Local(names.owner(tree, function, name), name)),
        ExprKind::Attribute { base, name, .. } => match tree.expr(base).kind {
            ExprKind::Name(of) => {
                let owner = names.owner(tree, function, of);
                let class = owner.and_then(|owner| class_of_self(tree, owner, of));
                Some(class.map_or(Subject::Part(owner, of, name), |class| Subject::Own(class, name)))
            }
            ExprKind::Attribute { base: own, name: of, .. } => match tree.expr(own).kind {
                ExprKind::Name(own) => {
                    let owner = names.owner(tree, function, own)?;
                    class_of_self(tree, owner, own).map(|class| Subject::OwnPart(class, of, name))
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
