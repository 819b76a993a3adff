//! One walk over a tree that collects bindings and uses by Python's rules of scope. Its
//! recursion is bounded by the depth that lowering keeps.

use super::unbound::{self, Read};
use super::uses::{self, Event, What};
use super::{NameSet, Names, Scope};
use crate::syntax::*;
use ustr::{Ustr, ustr};

pub(super) fn names(tree: &Tree) -> Names {
    let mut walk = Walk {
        tree,
        names: Names::default(),
        function: None,
        class: None,
        stmt: StmtId(0),
        hidden: Vec::new(),
        frame: Frame::default(),
        class_bound: Vec::new(),
        events: Vec::new(),
        reads: Vec::new(),
        all: All::Absent,
        dunder_all: ustr("__all__"),
    };
    walk.names.scopes.resize_with(tree.functions.len(), Scope::default);
    walk.names.class_locals.resize_with(tree.classes.len(), NameSet::default);
    walk.block(&tree.body);
    let Walk { mut names, events, reads, all, .. } = walk;
    if let All::Listed(list) = all {
        names.dunder_all = Some(list.into_boxed_slice());
    }
    uses::resolve(tree, &mut names, &events);
    names.unbound = unbound::among(tree, &names, &reads);
    names.changes = super::changes::changes(tree, &names.bindings);
    names
}

/// What the walk has seen of the innermost function.
#[derive(Default)]
struct Frame {
    bound: Vec<Ustr>,
    globals: Vec<Ustr>,
    nonlocals: Vec<Ustr>,
    mentions: Vec<Ustr>,
}

enum All {
    Absent,
    Listed(Vec<Ustr>),
    Computed,
}

struct Walk<'t> {
    tree: &'t Tree,
    names: Names,
    function: Option<FnId>,
    /// The class whose body holds the place directly.
    class: Option<ClassId>,
    /// The innermost statement.
    stmt: StmtId,
    /// Names that mean something else here: targets of comprehensions (true), and parameters of
    /// lambdas in them that take the name back (false).
    hidden: Vec<(Ustr, bool)>,
    frame: Frame,
    class_bound: Vec<Ustr>,
    events: Vec<Event>,
    reads: Vec<Read>,
    all: All,
    dunder_all: Ustr,
}

impl Walk<'_> {
    fn block(&mut self, body: &[StmtId]) {
        for id in body {
            self.stmt(*id);
        }
    }

    fn stmt(&mut self, id: StmtId) {
        let tree = self.tree;
        self.stmt = id;
        match &tree.stmt(id).kind {
            StmtKind::Expr(value) => {
                self.extend_all(*value);
                if matches!(tree.expr(*value).kind, ExprKind::Attribute { .. }) {
                    self.called(*value);
                }
                self.expr(*value);
            }
            StmtKind::Assign { targets, value } => {
                self.expr(*value);
                targets.iter().for_each(|target| self.target(*target));
                self.assign_all(targets, *value);
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.expr(*value);
                self.target(*target);
                self.add_to_all(*target, *value);
            }
            StmtKind::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    self.expr(*value);
                    self.target(*target);
                    self.assign_all(std::slice::from_ref(target), *value);
                } else if let ExprKind::Name(name) = tree.expr(*target).kind {
                    // Makes the name local, but binds nothing.
                    self.declare(name);
                } else {
                    self.expr(*target);
                }
            }
            StmtKind::Return(value) | StmtKind::Raise(value) => {
                value.iter().for_each(|value| self.expr(*value));
            }
            StmtKind::Assert { test } => self.expr(*test),
            StmtKind::Del(targets) => targets.iter().for_each(|target| self.deleted(*target)),
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Global(names) => self.frame.globals.extend(names),
            StmtKind::Nonlocal(names) => self.frame.nonlocals.extend(names),
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => self.import(id),
            StmtKind::Function(function) => {
                self.bind(tree.function(*function).name);
                self.function(*function);
            }
            StmtKind::Class(class) => {
                self.bind(tree.class(*class).name);
                self.class(*class);
            }
            kind => self.compound(id, kind),
        }
    }

    fn compound(&mut self, id: StmtId, kind: &StmtKind) {
        match kind {
            StmtKind::If { arms, otherwise } => {
                for (test, body) in arms {
                    self.stmt = id;
                    self.expr(*test);
                    self.block(body);
                }
                self.block(otherwise);
            }
            StmtKind::While { test, body, otherwise } => {
                self.expr(*test);
                self.block(body);
                self.block(otherwise);
            }
            StmtKind::For { target, iter, body, otherwise } => {
                self.expr(*iter);
                self.target(*target);
                self.block(body);
                self.block(otherwise);
            }
            StmtKind::With { items, body } => {
                for item in items {
                    self.expr(item.context);
                    item.target.iter().for_each(|target| self.target(*target));
                }
                self.block(body);
            }
            StmtKind::Try { body, handlers, otherwise, finally } => {
                self.block(body);
                for handler in handlers {
                    self.stmt = id;
                    handler.exception.iter().for_each(|exception| self.expr(*exception));
                    handler.name.iter().for_each(|name| self.bind(*name));
                    self.block(&handler.body);
                }
                self.block(otherwise);
                self.block(finally);
            }
            StmtKind::Match { subject, cases } => {
                self.expr(*subject);
                for case in cases {
                    self.stmt = id;
                    case.binds.iter().for_each(|name| self.bind(*name));
                    case.guard.iter().for_each(|guard| self.expr(*guard));
                    self.block(&case.body);
                }
            }
            _ => {}
        }
    }

    fn import(&mut self, id: StmtId) {
        match &self.tree.stmt(id).kind {
            StmtKind::Import(items) => {
                for item in items {
                    let top = || ustr(item.name.split('.').next().unwrap_or_default());
                    self.bind(item.alias.unwrap_or_else(top));
                }
            }
            StmtKind::ImportFrom { names: ImportNames::Items(items), .. } => {
                items.iter().for_each(|item| self.bind(item.alias.unwrap_or(item.name)));
            }
            StmtKind::ImportFrom { names: ImportNames::Star, .. } if self.function.is_none() => {
                self.names.stars.push(id);
            }
            _ => {}
        }
    }

    fn function(&mut self, id: FnId) {
        let tree = self.tree;
        let function = tree.function(id);
        // Decorators and defaults belong to the scope around the function.
        function.decorators.iter().for_each(|decorator| self.expr(*decorator));
        function.params.iter().filter_map(|param| param.default).for_each(|default| self.expr(default));
        let outer = (self.function.replace(id), self.class.take(), self.stmt, self.hidden.len());
        let outer_frame = std::mem::take(&mut self.frame);
        for param in &function.params {
            self.frame.bound.push(param.name);
            if outer.3 > 0 {
                self.hidden.push((param.name, false));
            }
        }
        match &function.body {
            FunctionBody::Block(body) => self.block(body),
            FunctionBody::Expr(value) => self.expr(*value),
        }
        self.hidden.truncate(outer.3);
        (self.function, self.class, self.stmt) = (outer.0, outer.1, outer.2);
        let frame = std::mem::replace(&mut self.frame, outer_frame);
        self.close(id, frame);
    }

    fn close(&mut self, id: FnId, frame: Frame) {
        let Frame { mut bound, globals, nonlocals, mut mentions } = frame;
        if !globals.is_empty() {
            self.names.rebound.extend(bound.iter().filter(|name| globals.contains(name)));
        }
        if !globals.is_empty() || !nonlocals.is_empty() {
            bound.retain(|name| !globals.contains(name) && !nonlocals.contains(name));
        }
        mentions.sort_unstable_by_key(|name| name.as_char_ptr() as usize);
        mentions.dedup();
        self.frame.mentions.extend(&mentions);
        self.names.scopes[id.0 as usize] = Scope {
            locals: bound.into(),
            globals: globals.into(),
            nonlocals: nonlocals.into(),
            mentions: mentions.into(),
        };
    }

    fn class(&mut self, id: ClassId) {
        let class = self.tree.class(id);
        class.decorators.iter().for_each(|decorator| self.expr(*decorator));
        class.bases.iter().for_each(|base| self.expr(base.value));
        let outer = (self.class.replace(id), self.stmt);
        let outer_bound = std::mem::take(&mut self.class_bound);
        self.block(&class.body);
        let bound = std::mem::replace(&mut self.class_bound, outer_bound);
        self.names.class_locals[id.0 as usize] = bound.into();
        (self.class, self.stmt) = outer;
    }

    /// A name becomes local to the scope.
    fn declare(&mut self, name: Ustr) {
        if self.class.is_some() {
            self.class_bound.push(name);
        } else if self.function.is_some() {
            self.frame.bound.push(name);
        }
    }

    fn bind(&mut self, name: Ustr) {
        self.declare(name);
        if self.class.is_none() && self.function.is_none() {
            let binders = self.names.bindings.entry(name).or_default();
            if binders.last() != Some(&self.stmt) {
                binders.push(self.stmt);
            }
        }
    }

    fn target(&mut self, id: ExprId) {
        let tree = self.tree;
        match &tree.expr(id).kind {
            ExprKind::Name(name) => self.bind(*name),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.target(*item));
            }
            ExprKind::Starred(inner) => self.target(*inner),
            _ => self.expr(id),
        }
    }

    /// `del name` makes the name local as an assignment does.
    fn deleted(&mut self, id: ExprId) {
        match &self.tree.expr(id).kind {
            ExprKind::Name(name) => self.declare(*name),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.deleted(*item));
            }
            _ => self.expr(id),
        }
    }

    fn expr(&mut self, id: ExprId) {
        let tree = self.tree;
        match &tree.expr(id).kind {
            ExprKind::Name(name) => self.read(id, *name),
            ExprKind::Attribute { base, name, .. } => self.attribute(*base, *name),
            ExprKind::Call { callee, args } => {
                self.called(*callee);
                self.expr(*callee);
                args.iter().for_each(|arg| self.expr(arg.value));
            }
            ExprKind::Slice { lower, upper, step } => {
                [lower, upper, step].into_iter().flatten().for_each(|part| self.expr(*part));
            }
            ExprKind::Dict(items) => {
                for (key, value) in items {
                    key.iter().for_each(|key| self.expr(*key));
                    self.expr(*value);
                }
            }
            ExprKind::Lambda(function) => self.function(*function),
            ExprKind::Comprehension(inner) => self.comprehension(inner),
            ExprKind::Walrus { name, value, .. } => {
                self.expr(*value);
                // Also inside a comprehension: the name belongs to the scope around it.
                self.bind(*name);
            }
            kind => kind.each_operand(|operand| self.expr(operand)),
        }
    }

    fn comprehension(&mut self, inner: &Comprehension) {
        let mark = self.hidden.len();
        for clause in &inner.clauses {
            // The first iterable is evaluated outside, before any target exists.
            self.expr(clause.iter);
            self.hide(clause.target);
            clause.conditions.iter().for_each(|condition| self.expr(*condition));
        }
        self.expr(inner.element);
        inner.value.iter().for_each(|value| self.expr(*value));
        self.hidden.truncate(mark);
    }

    fn hide(&mut self, target: ExprId) {
        let tree = self.tree;
        match &tree.expr(target).kind {
            ExprKind::Name(name) => self.hidden.push((*name, true)),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.hide(*item));
            }
            ExprKind::Starred(inner) => self.hide(*inner),
            _ => self.expr(target),
        }
    }

    fn attribute(&mut self, base: ExprId, attr: Ustr) {
        let tree = self.tree;
        self.frame.mentions.push(attr);
        match &tree.expr(base).kind {
            ExprKind::Name(name) => self.event(*name, What::Attribute(attr)),
            ExprKind::Attribute { base: inner, name: middle, .. } => {
                if let ExprKind::Name(name) = tree.expr(*inner).kind {
                    self.event(name, What::OfAttribute(*middle, attr));
                }
            }
            _ => {}
        }
        self.expr(base);
    }

    fn called(&mut self, callee: ExprId) {
        let tree = self.tree;
        match &tree.expr(callee).kind {
            ExprKind::Name(name) => {
                self.frame.mentions.push(*name);
                self.event(*name, What::Called);
            }
            ExprKind::Attribute { base, name: attr, .. } => {
                if let ExprKind::Name(name) = tree.expr(*base).kind {
                    self.event(name, What::AttributeCalled(*attr));
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, expr: ExprId, name: Ustr) {
        if !self.is_hidden(name) {
            self.reads.push(Read { expr, name, scope: self.function, class: self.class });
        }
    }

    fn is_hidden(&self, name: Ustr) -> bool {
        let hidden = self.hidden.iter().rev().find(|(hidden, _)| *hidden == name);
        hidden.is_some_and(|(_, hidden)| *hidden)
    }

    fn event(&mut self, name: Ustr, what: What) {
        if !self.is_hidden(name) {
            self.events.push(Event { scope: self.function, class: self.class, name, what });
        }
    }

    fn is_all(&self, target: ExprId) -> bool {
        self.function.is_none()
            && self.class.is_none()
            && matches!(self.tree.expr(target).kind, ExprKind::Name(name) if name == self.dunder_all)
    }

    fn assign_all(&mut self, targets: &[ExprId], value: ExprId) {
        if targets.iter().any(|target| self.is_all(*target)) {
            let mut list = Vec::new();
            let is_plain = self.strings(value, &mut list);
            // Of several lists, as in the arms of a `try`, nobody knows which one holds.
            self.all = match self.all {
                All::Absent if is_plain => All::Listed(list),
                _ => All::Computed,
            };
        }
    }

    fn add_to_all(&mut self, target: ExprId, value: ExprId) {
        if !self.is_all(target) {
            return;
        }
        let mut more = Vec::new();
        let plain = self.strings(value, &mut more);
        match &mut self.all {
            All::Listed(list) if plain => list.append(&mut more),
            all => *all = All::Computed,
        }
    }

    /// `__all__.extend([...])` and `__all__.append("...")`
    fn extend_all(&mut self, value: ExprId) {
        let tree = self.tree;
        let ExprKind::Call { callee, args } = &tree.expr(value).kind else { return };
        let ExprKind::Attribute { base, name, .. } = tree.expr(*callee).kind else { return };
        match args.as_ref() {
            [arg] if name == "extend" || name == "append" => self.add_to_all(base, arg.value),
            _ if self.is_all(base) => self.all = All::Computed,
            _ => {}
        }
    }

    /// Adds the strings of a literal; false when something else is in it.
    fn strings(&self, value: ExprId, list: &mut Vec<Ustr>) -> bool {
        match &self.tree.expr(value).kind {
            ExprKind::Str(text) => list.push(ustr(text)),
            ExprKind::List(items) | ExprKind::Tuple(items) => {
                return items.iter().all(|item| self.strings(*item, list));
            }
            ExprKind::Binary { op: BinaryOp::Add, left, right } => {
                return self.strings(*left, list) && self.strings(*right, list);
            }
            _ => return false,
        }
        true
    }
}
