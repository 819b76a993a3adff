//! How the variables of a file stand to each other: which are called, whose methods run, over which a loop
//! runs, and what is bound to which. Evidence for what an unknown value is; what a method means is for others
//! to say.

mod subject;
mod trail;

use super::Names;
use crate::report::Span;
use crate::syntax::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
pub use subject::{Subject, subject_of};
pub use trail::Origin;
use trail::{Trail, Way};
use ustr::Ustr;

/// Longer chains of bindings are not followed.
const DEEPEST: usize = 6;
/// A value that may come from more calls than this says nothing.
const MOST_SOURCES: usize = 24;
/// Expressions that are looked at on the way to them.
const MOST_LOOKED_AT: u32 = 400;

/// A `for` or `while` statement, by its place among those of the file.
pub type LoopIndex = u32;

/// A call, in the order of the text.
#[derive(Clone, Debug)]
pub struct Act {
    pub call: ExprId,
    /// What is called, if that has a name.
    pub callee: Option<Subject>,
    /// Whose method is called, and which: `self.model(x)` calls a model, or a method of `self`.
    pub receiver: Option<Subject>,
    pub method: Option<Ustr>,
    pub function: Option<FnId>,
    /// The innermost loop of the function around it.
    pub within: Option<LoopIndex>,
}

/// A value bound to a subject.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: ExprId,
    function: Option<FnId>,
    /// Which item of the value, where it is unpacked.
    item: Option<usize>,
}

/// A loop, and the one around it.
#[derive(Clone, Copy, Debug)]
struct Loop {
    span: Span,
    around: Option<LoopIndex>,
}

/// What happens in one file, by who takes part.
#[derive(Debug, Default)]
pub struct Relations {
    acts: Vec<Act>,
    by_call: FxHashMap<ExprId, u32>,
    by_callee: FxHashMap<Subject, SmallVec<[u32; 4]>>,
    by_receiver: FxHashMap<Subject, SmallVec<[u32; 4]>>,
    by_method: FxHashMap<Ustr, SmallVec<[u32; 4]>>,
    /// Calls that a subject is passed to as it is, and in a tuple or list.
    passed: FxHashMap<Subject, SmallVec<[u32; 2]>>,
    passed_within: FxHashMap<Subject, SmallVec<[u32; 1]>>,
    bound: FxHashMap<Subject, SmallVec<[Bound; 2]>>,
    /// What loops run over, with what they bind.
    iterated: FxHashMap<Subject, SmallVec<[ExprId; 2]>>,
    /// What loops bind.
    items: FxHashMap<Subject, Option<Subject>>,
    /// The values of `+=`, with where they are.
    added: Vec<(ExprId, Option<FnId>)>,
    loops: Vec<Loop>,
    /// Calls that are statements, of whose results nothing is made.
    discarded: FxHashSet<ExprId>,
    /// Variables into which items are written, `batch[key] = value`.
    rewritten: FxHashSet<Ustr>,
    /// Functions and methods, by how they are called in this file, and what each returns.
    defined: FxHashMap<Subject, FnId>,
    returned: FxHashMap<FnId, SmallVec<[ExprId; 2]>>,
}

impl Relations {
    pub fn of(tree: &Tree, names: &Names) -> Relations {
        let mut walk = Walk { tree, names, function: None, within: None, out: Relations::default() };
        walk.block(&tree.body);
        walk.out
    }

    /// Calls of a subject.
    pub fn calls_of(&self, subject: Subject) -> impl Iterator<Item = &Act> {
        self.by_callee.get(&subject).into_iter().flatten().map(|at| &self.acts[*at as usize])
    }

    /// Calls of its methods.
    pub fn acts_of(&self, subject: Subject) -> impl Iterator<Item = &Act> {
        self.by_receiver.get(&subject).into_iter().flatten().map(|at| &self.acts[*at as usize])
    }

    /// All calls.
    pub fn acts(&self) -> &[Act] {
        &self.acts
    }

    /// Calls of methods of a name, whoever has them.
    pub fn acts_named(&self, method: Ustr) -> impl Iterator<Item = &Act> {
        self.by_method.get(&method).into_iter().flatten().map(|at| &self.acts[*at as usize])
    }

    /// Calls of all methods whose names are wanted.
    pub fn acts_where<'r>(&'r self, wanted: impl Fn(Ustr) -> bool + 'r) -> impl Iterator<Item = &'r Act> {
        let named = self.by_method.iter().filter(move |(method, _)| wanted(**method));
        named.flat_map(|(_, calls)| calls.iter().map(|at| &self.acts[*at as usize]))
    }

    pub fn act(&self, call: ExprId) -> Option<&Act> {
        self.by_call.get(&call).map(|at| &self.acts[*at as usize])
    }

    /// Calls that get the subject as it is.
    pub fn given(&self, subject: Subject) -> impl Iterator<Item = &Act> {
        self.passed.get(&subject).into_iter().flatten().map(|at| &self.acts[*at as usize])
    }

    /// The same, and calls that get it in a tuple or list that is written there.
    pub fn given_among(&self, subject: Subject) -> impl Iterator<Item = &Act> {
        let within = self.passed_within.get(&subject).into_iter().flatten();
        self.given(subject).chain(within.map(|at| &self.acts[*at as usize]))
    }

    pub fn is_iterated(&self, subject: Subject) -> bool {
        self.iterated.contains_key(&subject)
    }

    /// The functions that bind a subject; `None` for the module.
    pub fn binders(&self, subject: Subject) -> impl Iterator<Item = Option<FnId>> {
        self.bound.get(&subject).into_iter().flatten().map(|bound| bound.function)
    }

    /// Whether a variable is bound by a loop.
    pub fn is_item(&self, subject: Subject) -> bool {
        self.items.contains_key(&subject)
    }

    /// What a subject is bound to by assignments, each in its function.
    pub fn bindings(&self, subject: Subject) -> impl Iterator<Item = (ExprId, Option<FnId>)> {
        self.bound.get(&subject).into_iter().flatten().map(|bound| (bound.value, bound.function))
    }

    /// What a subject is bound to where one assignment alone binds it, to all that is written there.
    pub fn sole_binding(&self, subject: Subject) -> Option<ExprId> {
        match self.bound.get(&subject)?.as_slice() {
            [bound] if bound.item.is_none() => Some(bound.value),
            _ => None,
        }
    }

    /// The attributes of `self` that a variable of a function is assigned to, and where: as it is, or as what a
    /// method gives that `keeps` it.
    pub fn keepers<'r>(
        &'r self,
        tree: &'r Tree,
        function: FnId,
        name: Ustr,
        keeps: impl Fn(Ustr) -> bool + 'r,
    ) -> impl Iterator<Item = (Subject, ExprId)> + 'r {
        let is_it = move |value: ExprId| match &tree.expr(receiver_of_kept(tree, value, &keeps)).kind {
            ExprKind::Name(known) => *known == name,
            _ => false,
        };
        let own = self.bound.iter().filter(|(subject, _)| matches!(subject, Subject::Own(..)));
        own.flat_map(|(subject, values)| values.iter().map(|bound| (*subject, *bound)))
            .filter(move |(_, bound)| {
                bound.function == Some(function) && bound.item.is_none() && is_it(bound.value)
            })
            .map(|(subject, bound)| (subject, bound.value))
    }

    /// The values of `+=`.
    pub fn added(&self) -> &[(ExprId, Option<FnId>)] {
        &self.added
    }

    /// Whether a loop is another one, or inside of it.
    pub fn is_inside(&self, inner: Option<LoopIndex>, outer: Option<LoopIndex>) -> bool {
        let Some(outer) = outer else { return true };
        let mut at = inner;
        while let Some(index) = at {
            if index == outer {
                return true;
            }
            at = self.loops[index as usize].around;
        }
        false
    }

    /// The innermost loop that a part of the text is in.
    pub fn innermost_loop(&self, inside: Span) -> Option<Span> {
        let around = self.loops.iter().map(|it| it.span).filter(|span| span.contains(inside));
        around.max_by_key(|span| span.start)
    }

    pub fn is_discarded(&self, call: ExprId) -> bool {
        self.discarded.contains(&call)
    }

    pub fn is_rewritten(&self, variable: Ustr) -> bool {
        self.rewritten.contains(&variable)
    }

    /// The calls that a value may come from; `inside` those, too, from which a function of the file has what it returns.
    pub fn origins(
        &self,
        tree: &Tree,
        names: &Names,
        value: ExprId,
        function: Option<FnId>,
        inside: bool,
    ) -> Vec<Origin> {
        let (seen, found, left) = (Vec::new(), Vec::new(), MOST_LOOKED_AT);
        let mut trail = Trail { relations: self, tree, names, inside, seen, found, left };
        trail.follow(value, Way::from(function));
        trail.found
    }
}

/// One walk over a file. Its recursion is bounded by the depth that lowering keeps.
struct Walk<'a> {
    tree: &'a Tree,
    names: &'a Names,
    function: Option<FnId>,
    within: Option<LoopIndex>,
    out: Relations,
}

impl Walk<'_> {
    fn block(&mut self, body: &[StmtId]) {
        body.iter().for_each(|stmt| self.stmt(*stmt));
    }

    fn stmt(&mut self, id: StmtId) {
        let tree = self.tree;
        match &tree.stmt(id).kind {
            StmtKind::Expr(value) => {
                self.discards(*value);
                self.expr(*value);
            }
            StmtKind::Return(Some(value)) => {
                self.expr(*value);
                let here = self.function.into_iter();
                here.for_each(|here| self.out.returned.entry(here).or_default().push(*value));
            }
            StmtKind::Raise(Some(value)) => self.expr(*value),
            StmtKind::Assert { test } => self.expr(*test),
            StmtKind::Assign { targets, value } => {
                self.expr(*value);
                targets.iter().for_each(|target| self.rewrites(*target));
                targets.iter().for_each(|target| self.bind(*target, *value, None));
            }
            StmtKind::AugAssign { target, value, .. } => {
                self.expr(*value);
                self.out.added.push((*value, self.function));
                self.bound(*target, *value, None);
            }
            StmtKind::AnnAssign { target, value: Some(value), .. } => {
                self.expr(*value);
                self.bind(*target, *value, None);
            }
            StmtKind::Function(function) => {
                let Function { name, class, .. } = tree.function(*function);
                let own = class.map(|class| Subject::Own(class, *name));
                self.out.defined.insert(own.unwrap_or(Subject::Local(self.function, *name)), *function);
                self.function(*function);
            }
            StmtKind::Class(class) => {
                let (function, within) = (self.function, self.within.take());
                self.block(&tree.class(*class).body);
                (self.function, self.within) = (function, within);
            }
            kind => self.compound(kind, tree.stmt(id).span),
        }
    }

    fn compound(&mut self, kind: &StmtKind, span: Span) {
        match kind {
            StmtKind::If { arms, otherwise } => {
                for (test, body) in arms {
                    self.expr(*test);
                    self.block(body);
                }
                self.block(otherwise);
            }
            StmtKind::While { test, body, otherwise } => {
                self.looped(span, |walk| {
                    walk.expr(*test);
                    walk.block(body);
                });
                self.block(otherwise);
            }
            StmtKind::For { target, iter, body, otherwise } => {
                self.expr(*iter);
                self.iterates(*iter, *target);
                self.looped(span, |walk| walk.block(body));
                self.block(otherwise);
            }
            StmtKind::With { items, body } => {
                for item in items {
                    self.expr(item.context);
                    if let Some(target) = item.target {
                        self.stands_for(item.context, target);
                    }
                }
                self.block(body);
            }
            StmtKind::Try { body, handlers, otherwise, finally } => {
                self.block(body);
                handlers.iter().for_each(|handler| self.block(&handler.body));
                self.block(otherwise);
                self.block(finally);
            }
            StmtKind::Match { subject, cases } => {
                self.expr(*subject);
                cases.iter().for_each(|case| self.block(&case.body));
            }
            _ => {}
        }
    }

    fn discards(&mut self, value: ExprId) {
        match &self.tree.expr(value).kind {
            ExprKind::Call { .. } => {
                self.out.discarded.insert(value);
            }
            ExprKind::Tuple(items) => self.out.discarded.extend(items.iter().copied()),
            _ => {}
        }
    }

    fn rewrites(&mut self, target: ExprId) {
        if let ExprKind::Subscript { base, .. } = self.tree.expr(target).kind
            && let ExprKind::Name(name) = self.tree.expr(base).kind
        {
            self.out.rewritten.insert(name);
        }
    }

    fn looped(&mut self, span: Span, run: impl FnOnce(&mut Self)) {
        let index = self.out.loops.len() as LoopIndex;
        self.out.loops.push(Loop { span, around: self.within });
        let around = self.within.replace(index);
        run(self);
        self.within = around;
    }

    fn function(&mut self, id: FnId) {
        let around = (self.function.replace(id), self.within.take());
        match &self.tree.function(id).body {
            FunctionBody::Block(body) => self.block(body),
            FunctionBody::Expr(value) => self.expr(*value),
        }
        (self.function, self.within) = around;
    }

    fn expr(&mut self, id: ExprId) {
        let tree = self.tree;
        match &tree.expr(id).kind {
            ExprKind::Call { callee, args } => {
                self.expr(*callee);
                args.iter().for_each(|arg| self.expr(arg.value));
                self.act(id, *callee, args);
            }
            ExprKind::Attribute { base, .. } => self.expr(*base),
            ExprKind::Dict(items) => items.iter().for_each(|(_, value)| self.expr(*value)),
            ExprKind::Walrus { value, .. } => self.expr(*value),
            ExprKind::Lambda(function) => self.function(*function),
            ExprKind::Comprehension(inner) => {
                for clause in &inner.clauses {
                    self.expr(clause.iter);
                    self.iterates(clause.iter, clause.target);
                }
                self.expr(inner.element);
                inner.value.iter().for_each(|value| self.expr(*value));
            }
            kind => kind.each_operand(|operand| self.expr(operand)),
        }
    }

    fn act(&mut self, call: ExprId, callee: ExprId, args: &[Arg]) {
        let subject_of = |expr| subject_of(self.tree, self.names, expr, self.function);
        let named = subject_of(callee);
        let (receiver, method) = match &self.tree.expr(callee).kind {
            ExprKind::Attribute { base, name, .. } => (subject_of(*base), Some(*name)),
            _ => (None, None),
        };
        let passed: SmallVec<[Subject; 4]> = args.iter().filter_map(|arg| subject_of(arg.value)).collect();
        let (function, within, at) = (self.function, self.within, self.out.acts.len() as u32);
        self.out.acts.push(Act { call, callee: named, receiver, method, function, within });
        self.out.by_call.insert(call, at);
        if let Some(subject) = named {
            self.out.by_callee.entry(subject).or_default().push(at);
        }
        if let Some(subject) = receiver {
            self.out.by_receiver.entry(subject).or_default().push(at);
        }
        if let Some(method) = method {
            self.out.by_method.entry(method).or_default().push(at);
        }
        let items = args.iter().filter_map(|arg| match &self.tree.expr(arg.value).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => Some(items),
            _ => None,
        });
        let inner: SmallVec<[Subject; 4]> = items.flatten().filter_map(|item| subject_of(*item)).collect();
        inner.into_iter().for_each(|subject| self.out.passed_within.entry(subject).or_default().push(at));
        passed.into_iter().for_each(|subject| self.out.passed.entry(subject).or_default().push(at));
    }

    fn bind(&mut self, target: ExprId, value: ExprId, item: Option<usize>) {
        match &self.tree.expr(target).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for (at, target) in items.iter().enumerate() {
                    self.bind(*target, value, Some(at));
                }
            }
            ExprKind::Starred(inner) => self.bind(*inner, value, item),
            _ => self.bound(target, value, item),
        }
    }

    fn bound(&mut self, target: ExprId, value: ExprId, item: Option<usize>) {
        if let Some(subject) = subject_of(self.tree, self.names, target, self.function) {
            let bound = Bound { value, function: self.function, item };
            self.out.bound.entry(subject).or_default().push(bound);
        }
    }

    /// `with tqdm(loader) as bar`: what is iterated later is what the context was given.
    fn stands_for(&mut self, context: ExprId, target: ExprId) {
        if let ExprKind::Call { args, .. } = &self.tree.expr(context).kind
            && let Some(first) = args.first()
        {
            self.bind(target, first.value, None);
        }
    }

    /// `for x, y in tqdm(loader)`, `for i, batch in enumerate(loader)`
    fn iterates(&mut self, iter: ExprId, target: ExprId) {
        let mut over = Vec::new();
        self.run_over(iter, DEEPEST, &mut over);
        for subject in &over {
            self.out.iterated.entry(*subject).or_default().push(target);
        }
        self.names_items(target, over.first().copied());
    }

    fn run_over(&self, iter: ExprId, depth: usize, over: &mut Vec<Subject>) {
        if depth == 0 {
            return;
        }
        if let ExprKind::Call { args, .. } = &self.tree.expr(iter).kind {
            args.iter().for_each(|arg| self.run_over(arg.value, depth - 1, over));
            return;
        }
        let Some(subject) = subject_of(self.tree, self.names, iter, self.function) else { return };
        over.push(subject);
        let before = self.out.bound.get(&subject).map(|bound| bound[0]);
        if let Some(bound) = before {
            self.run_over(bound.value, depth - 1, over);
        }
    }

    fn names_items(&mut self, target: ExprId, of: Option<Subject>) {
        match &self.tree.expr(target).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.names_items(*item, of));
            }
            _ => {
                if let Some(subject) = subject_of(self.tree, self.names, target, self.function) {
                    self.out.items.insert(subject, of);
                }
            }
        }
    }
}

/// `model` of `model.to(device)`, where the method gives its receiver.
fn receiver_of_kept(tree: &Tree, value: ExprId, keeps: &impl Fn(Ustr) -> bool) -> ExprId {
    let ExprKind::Call { callee, .. } = tree.expr(value).kind else { return value };
    match &tree.expr(callee).kind {
        ExprKind::Attribute { base, name, .. } if keeps(*name) => *base,
        _ => value,
    }
}
