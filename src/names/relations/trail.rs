//! From a value back to the calls that it comes from, through bindings and arithmetic.

use super::{Act, DEEPEST, MOST_SOURCES, Relations, Subject, subject_of};
use crate::names::Names;
use crate::syntax::*;
use ustr::Ustr;

/// A call that a value may come from, by arithmetic, indexing and methods of what it gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub call: ExprId,
    /// Which item of what it gave, where that is unpacked.
    pub item: Option<usize>,
    /// Which entry of what it gave, `output["loss"]`.
    pub key: Option<Ustr>,
    /// The value is computed of others, too, or of some other part of it.
    pub among: bool,
    /// The value is it times something.
    pub scaled: bool,
    /// A function of the file that was followed has it, and returns it.
    pub inside: Option<FnId>,
}

impl Origin {
    /// It is all that the call gave, or the first of several.
    pub fn is_first(&self) -> bool {
        self.item.is_none_or(|item| item == 0)
    }
}

/// From a value back to the calls that it comes from.
pub(super) struct Trail<'a> {
    pub relations: &'a Relations,
    pub tree: &'a Tree,
    pub names: &'a Names,
    /// Functions of the file are followed to what they return.
    pub inside: bool,
    pub seen: Vec<Subject>,
    pub found: Vec<Origin>,
    /// So many expressions are still looked at.
    pub left: u32,
}

/// How a value stands to the one that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub function: Option<FnId>,
    /// Which item of it that is.
    pub item: Option<usize>,
    /// Which entry of it that is.
    pub key: Option<Ustr>,
    /// That is computed of others, too.
    pub among: bool,
    /// That is it times something.
    pub scaled: bool,
    /// Which function that was followed it is in.
    pub inside: Option<FnId>,
    pub depth: usize,
}

impl Way {
    pub(super) fn from(function: Option<FnId>) -> Way {
        let (item, key, inside) = (None, None, None);
        Way { function, item, key, among: false, scaled: false, inside, depth: DEEPEST }
    }

    fn among(self) -> Way {
        Way { among: true, ..self }
    }

    fn further(self) -> Way {
        Way { depth: self.depth - 1, ..self }
    }
}

impl Trail<'_> {
    pub(super) fn follow(&mut self, value: ExprId, way: Way) {
        let Way { item, key, among, scaled, inside, depth, .. } = way;
        if depth == 0 || self.left == 0 || self.found.len() >= MOST_SOURCES {
            return;
        }
        self.left -= 1;
        let tree = self.tree;
        match &tree.expr(value).kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => self.named(value, way),
            ExprKind::Call { callee, .. } => {
                let origin = Origin { call: value, item, key, among, scaled, inside };
                if !self.found.contains(&origin) {
                    self.found.push(origin);
                }
                // A method of a value gives something of it.
                if let ExprKind::Attribute { base, .. } = tree.expr(*callee).kind {
                    self.follow(base, way.among());
                }
                if self.inside {
                    self.returned_by(*callee, way);
                }
            }
            ExprKind::Binary { op, left, right } => {
                let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Sub);
                let way = Way { scaled: scaled || !is_sum, ..way.among() };
                self.follow(*left, way);
                self.follow(*right, way);
            }
            ExprKind::Conditional { then, otherwise, .. } => {
                self.follow(*then, way);
                self.follow(*otherwise, way);
            }
            ExprKind::Subscript { base, index } => {
                let of = match &tree.expr(*index).kind {
                    ExprKind::Int(at) => Way { item: usize::try_from(*at).ok().or(item), ..way },
                    ExprKind::Str(text) if key.is_none() && item.is_none() => {
                        Way { key: Some(Ustr::from(text)), ..way }
                    }
                    _ => way.among(),
                };
                self.follow(*base, of);
                self.put_into(*base, way);
            }
            ExprKind::Unary { operand: inner, .. }
            | ExprKind::Walrus { value: inner, .. }
            | ExprKind::Await(inner)
            | ExprKind::Starred(inner) => self.follow(*inner, way),
            // A list may be of plain numbers, if it is not what a function gives.
            ExprKind::List(_) if !self.inside => {}
            ExprKind::Tuple(items) | ExprKind::List(items) => match item.and_then(|item| items.get(item)) {
                Some(one) => self.follow(*one, Way { item: None, ..way }),
                None => items.iter().for_each(|one| self.follow(*one, Way { item: None, ..way.among() })),
            },
            _ => {}
        }
    }

    /// What a function of the file returns, or a method of the same class.
    fn returned_by(&mut self, callee: ExprId, way: Way) {
        let relations = self.relations;
        let subject = subject_of(self.tree, self.names, callee, way.function);
        let Some(function) = subject.and_then(|subject| relations.defined.get(&subject)) else { return };
        for value in relations.returned.get(function).into_iter().flatten() {
            let there = Some(*function);
            self.follow(*value, Way { function: there, inside: there, ..way.further() });
        }
    }

    /// What a list got by and by, `history.append(loss)`.
    fn put_into(&mut self, list: ExprId, way: Way) {
        let Some(list) = subject_of(self.tree, self.names, list, way.function) else { return };
        let relations = self.relations;
        for act in relations.acts_of(list).filter(|act| act.method.is_some_and(|name| name == "append")) {
            if let ExprKind::Call { args, .. } = &self.tree.expr(act.call).kind
                && let [added] = &args[..]
            {
                self.follow(added.value, Way { function: act.function, ..way.further() });
            }
        }
    }

    fn named(&mut self, value: ExprId, way: Way) {
        let subject = subject_of(self.tree, self.names, value, way.function);
        let bound = subject.and_then(|subject| self.relations.bound.get(&subject));
        match (subject, bound) {
            (Some(subject), Some(bound)) if !self.seen.contains(&subject) => {
                self.seen.push(subject);
                for bound in bound {
                    let item = bound.item.or(way.item);
                    self.follow(bound.value, Way { function: bound.function, item, ..way.further() });
                }
                self.seen.pop();
            }
            // `output.logits`
            (None | Some(Subject::Part(..) | Subject::OwnPart(..)), None) => {
                if let ExprKind::Attribute { base, .. } = self.tree.expr(value).kind {
                    self.follow(base, way.among());
                }
            }
            _ => {}
        }
    }
}

impl Relations {
    /// `data, target = prepare(data, target)`: what is prepared so is not predicted.
    pub fn gives_back(&self, tree: &Tree, act: &Act) -> bool {
        let ExprKind::Call { args, .. } = &tree.expr(act.call).kind else { return false };
        let is_bound_again = |arg: &&Arg| match tree.expr(arg.value).kind {
            ExprKind::Name(name) => {
                self.bindings(Subject::Local(act.function, name)).any(|(value, _)| value == act.call)
            }
            _ => false,
        };
        args.iter().filter(is_bound_again).count() > 1
    }
}
