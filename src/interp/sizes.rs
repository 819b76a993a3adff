//! Sizes that nobody knows, under the names that the text gives them. What a layer is told as a size is a number, and the
//! variable holds the same one from there on: layers that are told `2 * width` and `width` differ, whatever it is.

use super::{Call, Interp};
use crate::apis::{Api, Dim, Need, Operand};
use crate::names::Subject;
use crate::report::{FileId, Place};
use crate::syntax::*;
use crate::values::{Int, Num, ObjId, Origin, Symbol, Tag, Tensor, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

/// What calls of functions have: sizes that their callers choose, parameters without a default that nothing binds again;
/// and the layers that they make.
#[derive(Default)]
pub(super) struct Calls {
    sizes: FxHashMap<Symbol, u32>,
    /// The same by their names: each way through a function gives them their names once more.
    named: FxHashMap<(u32, Ustr), Symbol>,
    layers: FxHashMap<ObjId, u32>,
}

/// What a path of names stands for: who holds it, how it is written there, and how often it was written before.
type Standing = (ObjId, Ustr, usize);

/// What the ranges of a file go up to: the last names, and the whole paths.
type Ranges = (FxHashSet<Ustr>, FxHashSet<Ustr>);

/// Numbers of which nothing is known but the path that names them: `args.epochs`, `len(train_loader)`.
#[derive(Default)]
pub(super) struct Paths {
    counted: FxHashMap<Standing, Symbol>,
    lengths: FxHashMap<Standing, Symbol>,
    /// What callers name that parameters of these frames are given.
    handed: FxHashMap<(ObjId, Ustr), Standing>,
    /// By file: the last names of what its ranges go up to, and the whole paths.
    ranges: FxHashMap<FileId, Rc<Ranges>>,
}

/// So deep in arithmetic a variable is looked for.
const DEEPEST: usize = 4;

impl<'p> Interp<'p> {
    /// Gives names to the unknown sizes among the arguments of a layer, before they are evaluated.
    pub(super) fn name_sizes(&mut self, callee: &Value, method: Option<Ustr>, args: &'p [Arg]) {
        // A layer that is made again and again stands for several, each of its own size.
        if !self.active.is_empty()
            || self.symbols.several > 0
            || !args.iter().any(|arg| self.is_open(arg.value, DEEPEST))
        {
            return;
        }
        let class = match (callee, method) {
            (Value::Api(package), Some(name)) => Ustr::from(&format!("{package}.{name}")),
            (Value::Api(class), None) => *class,
            _ => return,
        };
        let Some(api) = self.apis.class(class) else { return };
        for (at, arg) in args.iter().enumerate() {
            let name = match arg.kind {
                ArgKind::Positional => api.params.get(at).map(|param| param.name),
                ArgKind::Keyword(name) => Some(name),
                ArgKind::Star | ArgKind::DoubleStar => return,
            };
            if name.is_some_and(|name| is_size(api, name)) {
                self.name_all(arg.value, DEEPEST);
            }
        }
    }

    /// Whether an expression is, or is computed of, a variable of which nothing is known.
    fn is_open(&self, expr: ExprId, depth: usize) -> bool {
        let Some(frame) = self.frames.last().filter(|_| depth > 0) else { return false };
        match frame.tree.expr(expr).kind {
            ExprKind::Name(name) => self.heap.attr(frame.env, name).is_some_and(Value::is_unknown),
            ExprKind::Attribute { base, name, .. } => {
                let own = self.own_object(base);
                own.is_some_and(|own| self.heap.attr(own, name).is_some_and(Value::is_unknown))
            }
            ExprKind::Binary { left, right, .. } => {
                self.is_open(left, depth - 1) || self.is_open(right, depth - 1)
            }
            _ => false,
        }
    }

    /// The object of the method that runs, where an expression is its `self`.
    fn own_object(&self, expr: ExprId) -> Option<ObjId> {
        let frame = self.frames.last()?;
        let (ExprKind::Name(name), Some(function)) = (&frame.tree.expr(expr).kind, frame.function) else {
            return None;
        };
        let first = frame.tree.function(function).params.first()?;
        if first.name == *name { frame.receiver.as_ref()?.as_obj() } else { None }
    }

    fn name_all(&mut self, expr: ExprId, depth: usize) {
        let Some(tree) = self.frames.last().map(|frame| frame.tree).filter(|_| depth > 0) else { return };
        match tree.expr(expr).kind {
            ExprKind::Name(name) => self.name_variable(name),
            ExprKind::Attribute { base, name, .. } => {
                if let Some(own) = self.own_object(base).filter(|_| self.is_open(expr, 1)) {
                    // Made of a parameter as it is, it is that one.
                    if let Some(param) = self.kept_param(base, name) {
                        self.name_variable(param);
                    }
                    if self.is_open(expr, 1) {
                        let size = self.symbol(&name);
                        self.heap.get_mut(own).set_attr(name, Value::of_int(Int::symbol(size)));
                    }
                }
            }
            ExprKind::Binary { left, right, .. } => {
                self.name_all(left, depth - 1);
                self.name_all(right, depth - 1);
            }
            _ => {}
        }
    }

    /// The variable that an attribute of `self` was set to, where nothing else sets it.
    fn kept_param(&self, own: ExprId, name: Ustr) -> Option<Ustr> {
        let frame = self.frames.last()?;
        let class = frame.tree.function(frame.function?).class?;
        let ExprKind::Name(_) = frame.tree.expr(own).kind else { return None };
        let bound = self.module(frame.file).relations().sole_binding(Subject::Own(class, name))?;
        match frame.tree.expr(bound).kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The variable, and the attributes that were set to it.
    fn name_variable(&mut self, name: Ustr) {
        let Some(frame) = self.frames.last() else { return };
        let (env, file, function, serial) = (frame.env, frame.file, frame.function, frame.serial);
        if !self.heap.attr(env, name).is_some_and(Value::is_unknown) {
            return;
        }
        let own = frame.receiver.as_ref().and_then(Value::as_obj);
        let is_chosen = function.is_some_and(|function| self.is_chosen(file, function, name));
        let known = self.symbols.calls.named.get(&(serial, name)).copied().filter(|_| is_chosen);
        let symbol = known.unwrap_or_else(|| self.symbol(&name));
        let size = Value::of_int(Int::symbol(symbol));
        self.heap.get_mut(env).set_attr(name, size.clone());
        if is_chosen {
            self.symbols.calls.sizes.insert(symbol, serial);
            self.symbols.calls.named.insert((serial, name), symbol);
        }
        let (Some(function), Some(own)) = (function, own) else { return };
        let module = self.module(file);
        let relations = module.relations();
        let kept: Vec<Ustr> = relations
            .keepers(&module.tree, function, name, |_| false)
            .map(|(subject, _)| subject.name())
            .collect();
        for attribute in kept {
            if self.heap.attr(own, attribute).is_some_and(Value::is_unknown) {
                self.heap.get_mut(own).set_attr(attribute, size.clone());
            }
        }
    }

    /// Whether the callers of a function choose a size: a parameter without a default that nothing binds again.
    fn is_chosen(&self, file: FileId, function: FnId, name: Ustr) -> bool {
        let module = self.module(file);
        let params = &module.tree.function(function).params;
        params.iter().any(|param| param.name == name && param.default.is_none())
            && module.relations().binders(Subject::Local(Some(function), name)).next().is_none()
    }

    /// A layer is made.
    pub(super) fn made_layer(&mut self, layer: ObjId) {
        if let Some(frame) = self.frames.last() {
            self.symbols.calls.layers.insert(layer, frame.serial);
        }
    }

    /// Whether what a layer gets and what it was made for are equal by chance only: one constructor made it and the layer
    /// that gave its input, and told them numbers of which its caller chooses one.
    pub(crate) fn equal_by_chance(&self, layer: ObjId, input: &Tensor, gets: &Int, wants: &Int) -> bool {
        if gets == wants || [gets, wants].iter().any(|size| size.is_given() || size.is_unknown()) {
            return false;
        }
        let calls = &self.symbols.calls;
        let Some(here) = calls.layers.get(&layer) else { return false };
        let mut symbols = gets.symbols().chain(wants.symbols()).peekable();
        let is_chosen =
            symbols.peek().is_some() && symbols.all(|symbol| calls.sizes.get(&symbol) == Some(here));
        let gives = |part: ObjId| {
            let attrs = &self.heap.get(part).attrs;
            calls.layers.get(&part) == Some(here)
                && attrs.iter().any(|(_, value)| value.as_int() == Some(gets))
        };
        // Where nobody knows whether gradients are recorded, the last size says that a layer made it.
        let is_made = || input.last.as_ref() == Some(gets) && calls.layers.keys().copied().any(gives);
        is_chosen && (input.graph.leaves().iter().any(gives) || is_made())
    }
}

impl<'p> Interp<'p> {
    /// Whether the constructor of a module of the project runs, itself.
    pub(super) fn builds_module(&self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let receiver = frame.receiver.as_ref().and_then(Value::as_obj);
        frame.site.is_some_and(|(_, name)| name == "__init__")
            && receiver.is_some_and(|object| self.heap.get(object).module().is_some())
    }

    /// What is read under a path: where a range goes up to it, it is a number, and the same one wherever it is read.
    pub(super) fn named_number(&mut self, expr: ExprId, last: Ustr, value: Value) -> Value {
        let is_open = match &value {
            Value::Unknown => true,
            Value::Int(num) => num.int.is_unknown() && num.tag == Tag::None && num.nth.is_none(),
            _ => false,
        };
        if !is_open || self.symbols.several > 0 {
            return value;
        }
        let ranges = self.ranges_in(self.file());
        if !ranges.0.contains(&last) || self.builds_module() {
            return value;
        }
        let place = self.expr_place(expr);
        let Some(path) = self.path_at(place).filter(|path| ranges.1.contains(&Ustr::from(path))) else {
            return value;
        };
        let Some(standing) = self.standing_at(path, place) else { return value };
        let known = self.symbols.paths.counted.get(&standing).copied();
        let symbol = known.unwrap_or_else(|| self.symbol(path));
        self.symbols.paths.counted.insert(standing, symbol);
        let from = Some(Rc::new(Origin { place, name: Rc::from(path), given: true }));
        Value::Int(Num { int: Int::symbol(symbol), from, ..Num::default() })
    }

    /// `len(loader)`, of what nobody knows. What has a length may be filled and emptied, so that it decides nothing.
    pub(super) fn length_of_path(&mut self, of: ExprId) -> Int {
        let place = self.expr_place(of);
        let Some(path) = self.path_at(place) else { return Int::Unknown };
        let Some(standing) = self.standing_at(path, place) else { return Int::Unknown };
        let known = self.symbols.paths.lengths.get(&standing).copied();
        let symbol = known.unwrap_or_else(|| self.symbol(&format!("len({path})")));
        self.symbols.paths.lengths.insert(standing, symbol);
        Int::symbol(symbol).given()
    }

    /// Notes what callers name that is handed to parameters, where nobody knows it.
    pub(super) fn note_handed(&mut self, env: ObjId, function: &Function, bound: usize, call: &Call) {
        let params = function.params.iter().skip(bound).map(|param| param.name);
        let named = call.keywords.iter().map(|(name, passed)| (*name, passed));
        let all = params.zip(&call.positional).chain(named);
        let unknown: Vec<(Ustr, Place)> = all
            .filter(|(_, passed)| passed.value.is_unknown())
            .map(|(name, passed)| (name, passed.place))
            .collect();
        for (name, place) in unknown {
            let path = if place.file == self.file() { self.path_at(place) } else { None };
            match path.and_then(|path| self.standing_at(path, place)) {
                Some(standing) => {
                    self.symbols.paths.handed.insert((env, name), standing);
                }
                None => {
                    self.symbols.paths.handed.remove(&(env, name));
                }
            }
        }
    }

    /// What a path stands for here: a parameter for what the caller named.
    fn standing_at(&mut self, path: &str, place: Place) -> Option<Standing> {
        let (holder, text, before) = self.standing_path(path, place.span.start)?;
        let root = path.split('.').next().unwrap_or(path);
        let own = self.frames.last().map(|frame| frame.env);
        let handed = self.symbols.paths.handed.get(&(holder, Ustr::from(root)));
        match handed.filter(|_| before == 0 && own == Some(holder)) {
            Some((holder, whole, before)) => {
                Some((*holder, Ustr::from(&format!("{whole}{}", &path[root.len()..])), *before))
            }
            None => Some((holder, text, before)),
        }
    }

    /// The text at a place, where that is names with dots between them.
    fn path_at(&self, place: Place) -> Option<&'p str> {
        let text = self.module(place.file).source.text.get(place.span.range())?;
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.');
        (text.chars().all(is_part) && !text.starts_with(|char: char| char.is_ascii_digit())).then_some(text)
    }

    /// What the ranges of a file go up to: `range(args.epochs)`, `range(1, epochs + 1)`.
    fn ranges_in(&mut self, file: FileId) -> Rc<Ranges> {
        if let Some(known) = self.symbols.paths.ranges.get(&file) {
            return known.clone();
        }
        let module = self.module(file);
        let mut found = (FxHashSet::default(), FxHashSet::default());
        let range = Subject::Local(None, Ustr::from("range"));
        for act in module.relations().calls_of(range) {
            let ExprKind::Call { args, .. } = &module.tree.expr(act.call).kind else { continue };
            args.iter().for_each(|arg| self.paths_of_sum(file, arg.value, DEEPEST, &mut found));
        }
        let found = Rc::new(found);
        self.symbols.paths.ranges.insert(file, found.clone());
        found
    }

    fn paths_of_sum(&self, file: FileId, expr: ExprId, depth: usize, found: &mut Ranges) {
        let Expr { kind, span } = self.tree(file).expr(expr);
        match kind {
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } if depth > 0 => {
                self.paths_of_sum(file, *left, depth - 1, found);
                self.paths_of_sum(file, *right, depth - 1, found);
            }
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => {
                if let Some(path) = self.path_at(Place::new(file, *span)) {
                    found.0.insert(*name);
                    found.1.insert(Ustr::from(path));
                }
            }
            _ => {}
        }
    }
}

/// Whether an argument of a layer's constructor is a size: of its input, or of what it learns.
fn is_size(api: &Api, name: Ustr) -> bool {
    let needed = |need: &crate::apis::Apply<Need>| {
        let sized = matches!(need.verb, Need::Last | Need::Features | Need::Channels);
        sized && matches!(need.args.get(1), Some(Operand::Param(param)) if *param == name)
    };
    let own = api.class.as_ref().map_or(&[][..], |class| &class.parameters);
    own.iter().any(|own| matches!(own.dims.first(), Some(Dim::Of(first)) if *first == name))
        || api.needs.iter().any(needed)
}
