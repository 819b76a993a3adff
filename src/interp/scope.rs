//! Names: where they are bound, modules of the project and their lazily run bodies, imports.

use super::nested::Nested;
use super::{Interp, ModuleFrame, Scope, python};
use crate::names::Target;
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::*;
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

/// So much text of another file is read for one step.
const BYTES_A_STEP: usize = 16;
/// Looking for a name behind a star is as much work as looking through so many items.
const ITEMS_A_STAR: usize = 2048;
/// So many modules are looked into because of stars: packages of packages of stars have thousands.
const MOST_STARS: u32 = 64;

/// The modules that run or have run, and what is known of their names.
pub(super) struct Loaded {
    pub(super) scopes: FxHashMap<ObjId, Scope>,
    pub(super) modules: FxHashMap<FileId, ModuleFrame>,
    /// Names that a module's stars were asked for, in vain or not yet to the end.
    pub(super) asked: FxHashSet<(FileId, Ustr)>,
    /// Imports of the script that were reached; their names are looked for when they are asked for.
    deferred: FxHashSet<StmtId>,
    /// How many more modules stars may lead to.
    stars: u32,
    pub(super) nested: Nested,
}

impl Default for Loaded {
    fn default() -> Loaded {
        Loaded {
            scopes: FxHashMap::default(),
            modules: FxHashMap::default(),
            asked: FxHashSet::default(),
            deferred: FxHashSet::default(),
            stars: MOST_STARS,
            nested: Nested::default(),
        }
    }
}

/// What a method calls the class that it is defined in.
pub(crate) const OWN_CLASS: &str = "__class__";

impl<'p> Interp<'p> {
    /// A name that is read.
    pub(super) fn looked_up(&mut self, expr: ExprId, name: Ustr) -> Value {
        let value = self.lookup(name);
        self.named_number(expr, name, value)
    }

    pub(super) fn lookup(&mut self, name: Ustr) -> Value {
        let mut env = self.frames.last().map(|frame| frame.env);
        while let Some(here) = env {
            self.burn_over(self.heap.get(here).attrs.len());
            if self.is_bound_again(here, name) {
                break;
            }
            if let Some(value) = self.heap.attr(here, name) {
                let value = value.clone();
                return if self.may_be_set_later(here, name, &value) { Value::Unknown } else { value };
            }
            let Some(scope) = self.loaded.scopes.get(&here).copied() else { break };
            if let Some(function) = scope.function {
                let names = &self.module(scope.file).names.scopes[function.0 as usize];
                // A local that no way has bound yet.
                if names.locals.contains(name) && !names.globals.contains(name) {
                    return Value::Unknown;
                }
            }
            env = scope.parent;
        }
        let file = self.file();
        if let Some(value) = self.module_attr(file, name) {
            return value;
        }
        if python::is_known_name(name) {
            return Value::Builtin(name);
        }
        if let Some(class) = self.frames.last().and_then(|frame| frame.class).filter(|_| name == OWN_CLASS) {
            return Value::Obj(class);
        }
        self.undefined(file, name)
    }

    /// Whether several statements of a module that runs what it is asked for bind a name: each of them counts.
    fn is_bound_again(&self, env: ObjId, name: Ustr) -> bool {
        let Some(scope) = self.loaded.scopes.get(&env).filter(|scope| scope.function.is_none()) else {
            return false;
        };
        let runs_by_name = self.loaded.modules.get(&scope.file).is_some_and(|module| module.ran.is_some());
        let bindings = self.module(scope.file).names.bindings.get(&name);
        runs_by_name && scope.file == self.file() && bindings.is_some_and(|bindings| bindings.len() > 1)
    }

    /// `device = None` at the top, which a function binds by `global device`: what no call of the script reached is run
    /// by somebody who may have done so before.
    fn may_be_set_later(&self, env: ObjId, name: Ustr, value: &Value) -> bool {
        let is_open = matches!(value, Value::None) && !self.out.entries.is_empty();
        let Some(scope) = self.loaded.scopes.get(&env).filter(|scope| is_open && scope.function.is_none())
        else {
            return false;
        };
        self.module(scope.file).names.rebound.contains(&name)
    }

    /// A name that the project never binds, as in an excerpt: its uses may say what it is.
    fn undefined(&mut self, file: FileId, name: Ustr) -> Value {
        let Some(env) = self.loaded.modules.get(&file).map(|module| module.env) else {
            return Value::Unknown;
        };
        let value = match self.usual(file, name) {
            Some(meant) => Value::Api(meant),
            None => self.typed_by_use(env, name, Value::Unknown),
        };
        if !value.is_unknown() {
            self.bind_for_good(env, name, value.clone());
        }
        value
    }

    /// Binds a name of a module whichever way asked for it first. A way that is taken back would take back with it what
    /// statements of the module, which run once, have bound since.
    fn bind_for_good(&mut self, env: ObjId, name: Ustr, value: Value) {
        let journals = self.heap.suspend();
        self.heap.get_mut(env).set_attr(name, value);
        self.heap.resume(journals);
    }

    /// What a name means by convention, where nothing in the file can have bound it otherwise.
    fn usual(&self, file: FileId, name: Ustr) -> Option<Ustr> {
        let names = &self.module(file).names;
        let free = names.stars.is_empty() && !names.bindings.contains_key(&name);
        if free { self.apis.usual(name) } else { None }
    }

    /// Starts a module's frame. The script that is rehearsed runs whole; others run what is asked for.
    pub(super) fn open_module(&mut self, file: FileId, whole: bool) -> ObjId {
        if let Some(module) = self.loaded.modules.get(&file) {
            return module.env;
        }
        // Reading another file is work, too; what it costs must not depend on who read it first.
        if !whole {
            self.burn((self.project.source(file).text.len() / BYTES_A_STEP) as u32);
        }
        let env = self.frame_object(Place::new(file, Span::default()));
        self.loaded.scopes.insert(env, Scope { file, function: None, parent: None });
        let name = if whole { super::AS_SCRIPT } else { super::AS_MODULE };
        self.heap.get_mut(env).set_attr(Ustr::from("__name__"), Value::str(name));
        let ran = if whole { None } else { Some(FxHashSet::default()) };
        self.loaded.modules.insert(file, ModuleFrame { env, ran });
        self.out.read.push(file);
        env
    }

    pub(super) fn frame_object(&mut self, site: Place) -> ObjId {
        self.heap.alloc(Object {
            class: ClassRef::Builtin,
            attrs: Vec::new(),
            notes: Vec::new(),
            state: State::Frame,
            site,
            epoch: self.epoch,
            confidence: Confidence::High,
        })
    }

    /// A global of a module, running the statements that bind it first.
    pub(super) fn module_attr(&mut self, file: FileId, name: Ustr) -> Option<Value> {
        let env = self.open_module(file, false);
        let names = &self.module(file).names;
        if let Some(statements) = names.changes.get(&name) {
            self.run_in_module(file, statements);
        }
        let bindings = names.bindings.get(&name);
        // `x, y = load()` and later `y = one_hot(y)`: who asked for `x` has bound the first `y` with it.
        if let Some(several) = bindings.filter(|bindings| bindings.len() > 1) {
            self.run_in_module(file, several);
        }
        if let Some(value) = self.heap.attr(env, name) {
            return Some(value.clone());
        }
        if let Some(bindings) = bindings {
            match self.imported_once(file, name) {
                Some(stmt) => self.import_one(file, env, stmt, name),
                None => self.run_in_module(file, bindings),
            }
            if let Some(value) = self.heap.attr(env, name) {
                return Some(value.clone());
            }
        }
        self.star_attr(file, env, name)
    }

    /// A name that a module has from one of its stars; they are asked for it one by one, and nothing
    /// else of what they bind is run.
    fn star_attr(&mut self, file: FileId, env: ObjId, name: Ustr) -> Option<Value> {
        let module = self.module(file);
        // Names of the language are seldom meant to be replaced, and asked for everywhere.
        if module.names.stars.is_empty() || name.starts_with('_') || python::is_known_name(name) {
            return None;
        }
        if !self.loaded.asked.insert((file, name)) {
            return None;
        }
        self.burn_over(module.names.stars.len() * ITEMS_A_STAR);
        let mut found = None;
        for stmt in module.names.stars.iter().rev() {
            let StmtKind::ImportFrom { level, module: from, .. } = module.tree.stmt(*stmt).kind else {
                continue;
            };
            self.push_frame(env, file, None, None);
            let source = self.module_value(level, from);
            self.frames.pop();
            found = match source {
                Value::Module(source) => self.star_member(source, name),
                Value::Api(package) => self.apis.exported(package, name).map(Value::Api),
                _ => None,
            };
            if found.is_some() {
                break;
            }
        }
        if let Some(value) = &found {
            self.loaded.asked.remove(&(file, name));
            self.bind_for_good(env, name, value.clone());
        }
        found
    }

    /// A name as a star brings it in from a module of the project.
    fn star_member(&mut self, source: FileId, name: Ustr) -> Option<Value> {
        // Reads the text before it parses: most modules behind a star do not have the name.
        let text = &self.project.source(source).text;
        if self.loaded.stars == 0 || !(text.contains(name.as_str()) || text.contains("import *")) {
            return None;
        }
        self.loaded.stars -= 1;
        match &self.module(source).names.dunder_all {
            Some(listed) if !listed.contains(&name) => None,
            _ => self.module_attr(source, name),
        }
    }

    /// The `from … import` that alone binds a name of a module, once it was reached.
    fn imported_once(&self, file: FileId, name: Ustr) -> Option<StmtId> {
        let module = self.module(file);
        let [stmt] = module.names.bindings.get(&name)?.as_slice() else { return None };
        let reached = self.loaded.modules.get(&file)?.ran.is_some() || self.loaded.deferred.contains(stmt);
        let plain =
            matches!(module.tree.stmt(*stmt).kind, StmtKind::ImportFrom { names: ImportNames::Items(_), .. });
        (plain && reached && !module.names.rebound.contains(&name)).then_some(*stmt)
    }

    /// Binds one name of a `from … import`: the others may lead to much that nobody asks for.
    fn import_one(&mut self, file: FileId, env: ObjId, stmt: StmtId, name: Ustr) {
        let StmtKind::ImportFrom { level, module, names: ImportNames::Items(items) } =
            &self.tree(file).stmt(stmt).kind
        else {
            return;
        };
        let Some(item) = items.iter().find(|item| item.alias.unwrap_or(item.name) == name) else { return };
        if !self.loaded.asked.insert((file, name)) {
            return;
        }
        let journals = self.heap.suspend();
        self.in_module(file, env, |interp| {
            let source = interp.module_value(*level, *module);
            let value = interp.member(&source, item.name);
            interp.set_name(name, value);
        });
        self.heap.resume(journals);
        self.loaded.asked.remove(&(file, name));
    }

    /// Runs top-level statements of a module that is not run whole, each once.
    fn run_in_module(&mut self, file: FileId, statements: &'p [StmtId]) {
        for stmt in statements {
            let stmt = deciding(self.tree(file), *stmt);
            let Some(module) = self.loaded.modules.get_mut(&file) else { return };
            let env = module.env;
            match &mut module.ran {
                // The script itself: what it has not reached is not bound yet.
                None => return,
                Some(ran) => {
                    if !ran.insert(stmt.0) {
                        continue;
                    }
                }
            }
            // What a module binds stays bound, whichever way asked for it first.
            let journals = self.heap.suspend();
            self.in_module(file, env, |interp| {
                interp.stmt(stmt);
            });
            self.heap.resume(journals);
        }
    }

    /// Runs something in a module's frame, without leaving a trace: importing is no part of the training.
    pub(super) fn in_module(&mut self, file: FileId, env: ObjId, run: impl FnOnce(&mut Self)) {
        let active = std::mem::take(&mut self.active);
        self.push_frame(env, file, None, None);
        self.trace.push(Vec::new());
        run(self);
        self.trace.pop();
        self.frames.pop();
        self.active = active;
    }

    pub(super) fn import(&mut self, item: &ImportItem) {
        let dotted = item.name;
        match item.alias {
            Some(alias) => {
                let value = self.module_value(0, Some(dotted));
                self.set_name(alias, value);
            }
            None => {
                let first = dotted.split('.').next().unwrap_or(&dotted);
                let value = self.module_value(0, Some(Ustr::from(first)));
                self.set_name(Ustr::from(first), value);
            }
        }
    }

    pub(super) fn module_value(&mut self, level: u32, dotted: Option<Ustr>) -> Value {
        let file = self.file();
        let outside = dotted.filter(|_| level == 0).map_or(Value::Unknown, Value::Api);
        match self.project.resolve(file, level, dotted) {
            Target::File(found)
                if dotted
                    .is_some_and(|dotted| level == 0 && self.is_installed_framework(file, found, dotted)) =>
            {
                outside
            }
            Target::File(found) => Value::Module(found),
            // Python takes an installed package before a folder without `__init__.py`.
            Target::Namespace(_) if dotted.is_some_and(|dotted| self.apis.is_framework(dotted)) => outside,
            Target::Namespace(folder) => Value::Folder(Rc::from(folder.to_string_lossy().as_ref())),
            Target::Outside => outside,
        }
    }

    /// Whether a package's file imports a framework that lies beside the package, as they do where
    /// packages are installed: the tables know more of it than its sources say.
    fn is_installed_framework(&self, file: FileId, found: FileId, dotted: Ustr) -> bool {
        if !self.apis.is_framework(dotted) {
            return false;
        }
        let first = |name: &str| Ustr::from(name.split('.').next().unwrap_or(name));
        let package = |file: FileId| self.project.module_name(file).map(|name| first(&name));
        let own = self.project.module_name(file).filter(|own| own.contains('.'));
        // A module further inside that lies in the package itself, `datasets.main`, is no framework's.
        let is_part = |own: &str| dotted.contains('.') && package(found) == Some(first(own));
        own.is_some_and(|own| first(&own) != first(&dotted) && !is_part(&own))
    }

    pub(super) fn import_from(
        &mut self,
        stmt: StmtId,
        level: u32,
        module: Option<Ustr>,
        names: &'p ImportNames,
    ) {
        let source = self.module_value(level, module);
        match names {
            ImportNames::Items(items) => {
                let file = self.file();
                let of_script =
                    self.frames.len() == 1 && matches!(source, Value::Module(_) | Value::Folder(_));
                if of_script {
                    self.loaded.deferred.insert(stmt);
                }
                for item in items {
                    if of_script && self.imported_once(file, item.alias.unwrap_or(item.name)).is_some() {
                        continue;
                    }
                    let value = self.member(&source, item.name);
                    self.set_name(item.alias.unwrap_or(item.name), value);
                }
            }
            ImportNames::Star => self.import_star(&source),
        }
    }

    /// A member of a module: a global of it, or a module inside.
    pub(super) fn member(&mut self, module: &Value, name: Ustr) -> Value {
        match module {
            Value::Module(file) => {
                if let Some(value) = self.module_attr(*file, name) {
                    return value;
                }
                self.submodule(&Target::File(*file), name)
            }
            Value::Folder(folder) => self.submodule(&Target::Namespace((&**folder).into()), name),
            Value::Api(package) => {
                Value::Api(self.vendored(*package, name).unwrap_or_else(|| self.canonical(*package, name)))
            }
            _ => Value::Unknown,
        }
    }

    /// `third_party.torch_geometric.data.Data`: a copy of a framework within a package that is not here, where the
    /// tables know the name in the framework itself.
    fn vendored(&self, package: Ustr, name: Ustr) -> Option<Ustr> {
        if self.apis.is_framework(package) {
            return None;
        }
        let mut tails = package.match_indices('.').map(|(at, _)| Ustr::from(&package[at + 1..]));
        tails.find_map(|tail| {
            let known = Some(self.canonical(tail, name)).filter(|_| self.apis.is_framework(tail));
            known.filter(|known| self.apis.get(*known).is_some())
        })
    }

    fn submodule(&mut self, of: &Target, name: Ustr) -> Value {
        match self.project.submodule(of, name) {
            Some(Target::File(file)) => Value::Module(file),
            Some(Target::Namespace(folder)) => Value::Folder(Rc::from(folder.to_string_lossy().as_ref())),
            _ => Value::Unknown,
        }
    }

    /// `package.name`, by its canonical name where the tables know another one.
    pub(super) fn canonical(&self, package: Ustr, name: Ustr) -> Ustr {
        self.apis.member(package, name)
    }

    /// What a star brings in is looked for when it is asked for; see [`Interp::star_attr`].
    fn import_star(&mut self, source: &Value) {
        if let Value::Api(package) = source {
            for (name, api) in self.apis.members(*package) {
                self.set_name(name, Value::Api(api));
            }
        }
    }
}

/// The statement to run for one that binds a name: where a test or a handler decides whether it is run at
/// all, the whole of that.
fn deciding(tree: &Tree, stmt: StmtId) -> StmtId {
    let span = tree.stmt(stmt).span;
    let after = tree.body.partition_point(|top| tree.stmt(*top).span.start <= span.start);
    let Some(top) = after.checked_sub(1).map(|at| tree.body[at]) else { return stmt };
    let decides = matches!(tree.stmt(top).kind, StmtKind::If { .. } | StmtKind::Try { .. });
    if decides && tree.stmt(top).span.contains(span) { top } else { stmt }
}
