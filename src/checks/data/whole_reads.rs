//! What an iterable dataset reads, and whether each worker that has a copy of it reads all of it. An object is the same in
//! all workers, and so is what code computes that reads files and goes through containers. What code does that is not
//! seen nobody knows, and a name that speaks of workers or ranks is a reason to say nothing.

use super::generators::{Around, Generator, names_within};
use crate::apis::Order;
use crate::interp::Interp;
use crate::names::qualified;
use crate::report::{FileId, Place, Span};
use crate::syntax::*;
use crate::values::{ClassRef, Closure, ObjId, State, Value};
use ustr::Ustr;

/// Longer chains of calls are not followed.
const DEEPEST: usize = 6;
/// Expressions that are looked at.
const MOST_LOOKED_AT: u32 = 4000;

/// Parts of names that speak of a share, or of data that is handed out once, whoever asks.
const SHARES: [&str; 13] = [
    "worker",
    "shard",
    "replica",
    "partition",
    "queue",
    "socket",
    "distributed",
    "getpid",
    "world",
    "rank",
    "camera",
    "capture",
    "simulat",
];

/// Modules of the language that give the same to all workers. Those that go through what they are given are told apart.
const READERS: [&str; 12] =
    ["bz2", "glob", "gzip", "io", "json", "lzma", "math", "os", "pathlib", "pickle", "re", "zipfile"];
const GOING_THROUGH: [&str; 4] = ["collections", "copy", "csv", "itertools"];
/// What never comes to an end has no epoch in which a sample could come twice.
const ENDLESS: [&str; 3] = ["itertools.count", "itertools.cycle", "itertools.repeat"];

/// Functions of the language that go through their arguments.
const PASSING: [&str; 17] = [
    "abs",
    "dict",
    "enumerate",
    "filter",
    "int",
    "iter",
    "list",
    "map",
    "max",
    "min",
    "next",
    "reversed",
    "set",
    "sorted",
    "str",
    "tuple",
    "zip",
];
/// Functions of the language that give the same whatever they are given.
const PLAIN: [&str; 4] = ["isinstance", "len", "open", "range"];

/// Another order of the same samples.
const REORDERED: [&str; 8] =
    ["shuffle", "permutation", "permuted", "randperm", "seed", "manual_seed", "default_rng", "Random"];
/// Parts of the names of methods that draw.
const DRAWS: [&str; 9] =
    ["choice", "choices", "sample", "randint", "uniform", "normal", "randn", "multinomial", "integers"];

/// Where a dataset is gone through from beginning to end, by each copy of it.
pub(super) fn read_whole(cx: &mut Interp<'_>, dataset: ObjId) -> Option<Place> {
    let mut reads = Reads { cx, fuel: MOST_LOOKED_AT, active: Vec::new(), shuffles: false };
    let iter = reads.method(dataset, "__iter__")?;
    reads.reads(&iter, Some(dataset), &[]).then(|| {
        let name = reads.cx.tree(iter.file).function(iter.function).name_span;
        Place::new(iter.file, name)
    })
}

struct Reads<'a, 'p> {
    cx: &'a mut Interp<'p>,
    fuel: u32,
    /// Each worker has an order of its own: parts of it differ.
    shuffles: bool,
    /// Functions that are being looked at.
    active: Vec<(FileId, FnId)>,
}

/// A function as it is being looked at.
struct Frame<'p> {
    file: FileId,
    function: FnId,
    tree: &'p Tree,
    own: Option<(Ustr, ObjId)>,
    /// Parameters of which callers are known to give the same in all workers.
    given: Vec<Ustr>,
    generator: Generator,
    /// Variables that are being asked for, and those that comprehensions bind.
    asked: Vec<Ustr>,
}

impl<'p> Reads<'_, 'p> {
    fn method(&mut self, object: ObjId, name: &str) -> Option<Closure> {
        match self.cx.find_attr(object, Ustr::from(name))? {
            Value::Function(closure) => Some((*closure).clone()),
            _ => None,
        }
    }

    /// Whether a function goes through the same data in all workers, to its end.
    fn reads(&mut self, closure: &Closure, receiver: Option<ObjId>, given: &[Ustr]) -> bool {
        let key = (closure.file, closure.function);
        let tree = self.cx.tree(closure.file);
        let function = tree.function(closure.function);
        let FunctionBody::Block(body) = &function.body else { return false };
        let is_plain = function.decorators.is_empty() && !function.is_async;
        if !is_plain || self.active.contains(&key) || self.active.len() >= DEEPEST {
            return false;
        }
        let around = function.class.map_or(function.span, |class| tree.class(class).span);
        if !self.may_be_whole(closure.file, around, function.span) {
            return false;
        }
        let own = receiver.and_then(|object| Some((function.params.first()?.name, object)));
        let generator = Generator::of(tree, body, function.span);
        let mut frame = Frame {
            file: closure.file,
            function: closure.function,
            tree,
            own,
            given: given.to_vec(),
            generator,
            asked: Vec::new(),
        };
        self.active.push(key);
        let whole = if function.is_generator { self.yields(&mut frame) } else { self.returns(&mut frame) };
        self.active.pop();
        whole
    }

    /// Nothing speaks of a share of the data, and nothing is drawn but another order.
    fn may_be_whole(&mut self, file: FileId, around: Span, function: Span) -> bool {
        let tree = self.cx.tree(file);
        let names = &self.cx.module(file).names;
        let shares = |name: Ustr| {
            let name = name.to_lowercase();
            SHARES.iter().any(|word| name.contains(word))
        };
        let params = |function: &Function| {
            around.contains(function.span) && function.params.iter().any(|param| shares(param.name))
        };
        if tree.functions.iter().any(params) {
            return false;
        }
        let within = tree.exprs.iter().enumerate().filter(|(_, expr)| around.contains(expr.span));
        for (at, expr) in within {
            self.fuel = self.fuel.saturating_sub(1);
            let name = match &expr.kind {
                ExprKind::Name(name) | ExprKind::Attribute { name, .. } => *name,
                ExprKind::Call { args, .. } => {
                    let keyword = |arg: &Arg| matches!(arg.kind, ArgKind::Keyword(name) if shares(name));
                    if args.iter().any(keyword) {
                        return false;
                    }
                    continue;
                }
                _ => continue,
            };
            if shares(name) {
                return false;
            }
            if !function.contains(expr.span) {
                continue;
            }
            if REORDERED.contains(&name.as_str()) {
                self.shuffles |= !name.contains("seed");
                continue;
            }
            let said = || qualified(tree, names, ExprId(at as u32));
            if DRAWS.contains(&name.as_str()) && matches!(expr.kind, ExprKind::Attribute { .. })
                || said().is_some_and(|said| said.starts_with("random.") || self.cx.apis.is_random(&said))
            {
                return false;
            }
        }
        self.fuel > 0
    }

    fn yields(&mut self, frame: &mut Frame<'p>) -> bool {
        let yields = std::mem::take(&mut frame.generator.yields);
        let is_part = self.shuffles && frame.generator.ends_early;
        let whole = !(yields.is_empty() || is_part)
            && yields.iter().all(|given| {
                let loops: Vec<(ExprId, ExprId)> = given.around.iter().filter_map(Around::over).collect();
                let ends = !matches!(given.around.last(), Some(Around::While { .. }))
                    && !given.around.iter().any(|around| matches!(around, Around::While { endless: true }));
                if !ends || !loops.iter().all(|(_, iter)| self.same(frame, *iter)) {
                    return false;
                }
                match (given.value, loops.last()) {
                    (Some(value), _) if given.from => self.same(frame, value),
                    (Some(value), Some((target, iter))) => self.is_of(frame, value, *target, *iter),
                    (Some(value), None) => self.same(frame, value),
                    (None, _) => false,
                }
            });
        frame.generator.yields = yields;
        whole
    }

    fn returns(&mut self, frame: &mut Frame<'p>) -> bool {
        let returns = frame.generator.returns.clone();
        !returns.is_empty() && returns.iter().all(|value| self.same(frame, *value))
    }

    /// Whether what is yielded is made of what the innermost loop goes through: of a counter, if it is an index.
    fn is_of(&mut self, frame: &mut Frame<'p>, value: ExprId, target: ExprId, iter: ExprId) -> bool {
        let (tree, targets) = (frame.tree, names_within(frame.tree, target));
        let (exprs, names) = frame.generator.made_of(tree, value);
        if !targets.iter().any(|target| names.contains(target)) {
            return false;
        }
        let counts = matches!(tree.expr(iter).kind, ExprKind::Call { callee, .. }
            if matches!(tree.expr(callee).kind, ExprKind::Name(name) if name == "range"));
        if !counts || self.same(frame, value) {
            return true;
        }
        exprs.iter().any(|made| {
            let span = tree.expr(*made).span;
            let within = tree.exprs.iter().filter(|expr| span.contains(expr.span));
            let mut items = within.filter_map(|expr| match expr.kind {
                ExprKind::Subscript { index, .. } => Some(index),
                _ => None,
            });
            items.any(|index| {
                let (_, names) = frame.generator.made_of(tree, index);
                targets.iter().any(|target| names.contains(target))
            })
        })
    }

    /// Whether an expression is the same in all workers.
    fn same(&mut self, frame: &mut Frame<'p>, expr: ExprId) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            return false;
        }
        let tree = frame.tree;
        match &tree.expr(expr).kind {
            ExprKind::Name(name) => self.same_variable(frame, *name),
            ExprKind::Attribute { base, name, .. } => match self.own(frame, *base) {
                Some(object) => {
                    let held = self.cx.find_attr(object, *name);
                    held.is_some_and(|held| self.same_value(&held))
                }
                None => self.same(frame, *base),
            },
            ExprKind::Call { callee, args } => self.same_call(frame, *callee, args),
            ExprKind::Comprehension(made) => {
                let before = frame.asked.len();
                let same = made.clauses.iter().all(|clause| {
                    let same = self.same(frame, clause.iter);
                    frame.asked.extend(names_within(tree, clause.target));
                    same
                });
                frame.asked.truncate(before);
                same
            }
            ExprKind::Slice { lower, upper, step } => {
                if self.shuffles && (lower.is_some() || upper.is_some()) {
                    return false;
                }
                [lower, upper, step].into_iter().flatten().all(|part| self.same(frame, *part))
            }
            ExprKind::Walrus { value, .. } => self.same(frame, *value),
            ExprKind::Await(_) | ExprKind::Yield(_) | ExprKind::YieldFrom(_) | ExprKind::Missing => false,
            ExprKind::Dict(items) => items.iter().all(|(_, value)| self.same(frame, *value)),
            other => {
                let mut operands = Vec::new();
                other.each_operand(|operand| operands.push(operand));
                operands.into_iter().all(|operand| self.same(frame, operand))
            }
        }
    }

    /// The object whose method is looked at, where an expression is that.
    fn own(&self, frame: &Frame<'p>, expr: ExprId) -> Option<ObjId> {
        let (own, object) = frame.own?;
        matches!(frame.tree.expr(expr).kind, ExprKind::Name(name) if name == own).then_some(object)
    }

    fn same_variable(&mut self, frame: &mut Frame<'p>, name: Ustr) -> bool {
        if frame.asked.contains(&name) || frame.given.contains(&name) {
            return true;
        }
        let names = &self.cx.module(frame.file).names;
        if !names.scope(frame.function).locals.contains(name) {
            let held = self.global(frame, name);
            return held.is_some_and(|held| self.same_value(&held));
        }
        let values = frame.generator.values_of(name);
        frame.asked.push(name);
        let same = !values.is_empty() && values.into_iter().all(|value| self.same(frame, value));
        frame.asked.pop();
        same
    }

    fn global(&mut self, frame: &Frame<'p>, name: Ustr) -> Option<Value> {
        let module = self.cx.module_names(frame.file)?;
        self.cx.heap.attr(module, name).cloned()
    }

    /// Whether going through a value is the same in all workers.
    fn same_value(&mut self, value: &Value) -> bool {
        let object = match value.bare() {
            Value::Obj(object) => *object,
            Value::Unknown | Value::Api(_) | Value::Builtin(_) | Value::AnyOf(_) => return false,
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) => return false,
            _ => return true,
        };
        if matches!(self.cx.heap.get(object).state, State::List(_) | State::Dict(_)) {
            return true;
        }
        match self.cx.heap.get(object).class {
            ClassRef::Project(_) => match self.method(object, "__iter__") {
                Some(iter) => self.reads(&iter, Some(object), &[]),
                None => self.method(object, "__getitem__").is_some(),
            },
            ClassRef::Api(class) => {
                let is_data = self.cx.role_of(ClassRef::Api(class)) == Some(crate::apis::Role::Dataset);
                is_data && self.cx.apis.order(class) != Some(Order::Stream)
            }
            ClassRef::Builtin => false,
        }
    }

    fn same_call(&mut self, frame: &mut Frame<'p>, callee: ExprId, args: &[Arg]) -> bool {
        let tree = frame.tree;
        let names = &self.cx.module(frame.file).names;
        if let Some(said) = qualified(tree, names, callee) {
            let top = said.split('.').next().unwrap_or_default();
            if ENDLESS.contains(&said.as_str()) {
                return false;
            }
            if self.shuffles && said.ends_with("islice") {
                return false;
            }
            if GOING_THROUGH.contains(&top) {
                return self.same_args(frame, args);
            }
            return READERS.contains(&top) || self.is_plain(Ustr::from(&said));
        }
        match tree.expr(callee).kind {
            ExprKind::Name(name) => {
                if let Some(Value::Function(closure)) = self.global(frame, name) {
                    return self.same_function(frame, &closure, None, args);
                }
                let is_bound =
                    names.scope(frame.function).locals.contains(name) || names.bindings.contains_key(&name);
                if is_bound {
                    return false;
                }
                let of_function = matches!(name.as_str(), "map" | "filter") as usize;
                PLAIN.contains(&name.as_str())
                    || PASSING.contains(&name.as_str())
                        && self.same_args(frame, &args[of_function.min(args.len())..])
            }
            ExprKind::Attribute { base, name, .. } => match self.own(frame, base) {
                Some(object) => match self.method(object, name.as_str()) {
                    Some(closure) => self.same_function(frame, &closure, Some(object), args),
                    None => false,
                },
                None => self.same(frame, base),
            },
            _ => false,
        }
    }

    fn same_args(&mut self, frame: &mut Frame<'p>, args: &[Arg]) -> bool {
        args.iter().all(|arg| matches!(arg.kind, ArgKind::Keyword(_)) || self.same(frame, arg.value))
    }

    /// A function of the project, with what it is given here.
    fn same_function(
        &mut self,
        frame: &mut Frame<'p>,
        closure: &Closure,
        receiver: Option<ObjId>,
        args: &[Arg],
    ) -> bool {
        let params = &self.cx.tree(closure.file).function(closure.function).params;
        let params = params.iter().skip(receiver.is_some() as usize);
        let mut given = Vec::new();
        for (param, arg) in params.zip(args) {
            if !matches!(arg.kind, ArgKind::Positional) {
                break;
            }
            if self.same(frame, arg.value) {
                given.push(param.name);
            }
        }
        self.reads(closure, receiver, &given)
    }

    /// A function that the tables know, and that gives no stream, loader or number that is drawn.
    fn is_plain(&self, name: Ustr) -> bool {
        let apis = self.cx.apis;
        apis.get(name).is_some() && apis.role(name).is_none() && !apis.is_random(&name)
    }
}
