//! Names: where they are bound, modules of the project and their lazily run bodies, imports, and what
//! the uses of an unknown value say about it.

use super::{Interp, ModuleFrame, Scope, python, roles::is_guessed};
use crate::apis::Role;
use crate::names::{Subject, Target};
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::*;
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// So much text of another file is read for one step.
const BYTES_A_STEP: usize = 16;
/// Looking for a name behind a star is as much work as looking through so many items.
const ITEMS_A_STAR: usize = 2048;
/// So many modules are looked into because of stars: packages of packages of stars have thousands.
pub(super) const MOST_STARS: u32 = 64;

impl<'p> Interp<'p> {
    /// The frame that holds a name bound from here.
    pub(super) fn binding_env(&self, env: ObjId, name: Ustr) -> ObjId {
        let Some(scope) = self.scopes.get(&env) else { return env };
        let Some(function) = scope.function else { return env };
        let names = &self.module(scope.file).names.scopes[function.0 as usize];
        if names.globals.contains(name) {
            return self.modules.get(&scope.file).map_or(env, |module| module.env);
        }
        if names.nonlocals.contains(name) {
            let mut outer = scope.parent;
            while let Some(parent) = outer {
                if self.heap.attr(parent, name).is_some() {
                    return parent;
                }
                outer = self.scopes.get(&parent).and_then(|scope| scope.parent);
            }
        }
        env
    }

    pub(super) fn lookup(&mut self, name: Ustr) -> Value {
        let mut env = self.frames.last().map(|frame| frame.env);
        while let Some(here) = env {
            self.burn_over(self.heap.get(here).attrs.len());
            if let Some(value) = self.heap.attr(here, name) {
                return value.clone();
            }
            let Some(scope) = self.scopes.get(&here).copied() else { break };
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
        self.undefined(file, name)
    }

    /// A name that the project never binds, as in an excerpt: its uses may say what it is.
    fn undefined(&mut self, file: FileId, name: Ustr) -> Value {
        let Some(env) = self.modules.get(&file).map(|module| module.env) else { return Value::Unknown };
        let value = match self.usual(file, name) {
            Some(meant) => Value::Api(meant),
            None => self.typed_by_use(env, name, Value::Unknown),
        };
        if !value.is_unknown() {
            self.heap.get_mut(env).set_attr(name, value.clone());
        }
        value
    }

    /// What a name means by convention, where nothing in the file can have bound it otherwise.
    fn usual(&self, file: FileId, name: Ustr) -> Option<Ustr> {
        let names = &self.module(file).names;
        let free = names.stars.is_empty() && !names.bindings.contains_key(&name);
        if free { self.apis.usual(name) } else { None }
    }

    /// Starts a module's frame. The script that is rehearsed runs whole; others run what is asked for.
    pub(super) fn open_module(&mut self, file: FileId, whole: bool) -> ObjId {
        if let Some(module) = self.modules.get(&file) {
            return module.env;
        }
        // Reading another file is work, too; what it costs must not depend on who read it first.
        if !whole {
            self.burn((self.project.source(file).text.len() / BYTES_A_STEP) as u32);
        }
        let env = self.frame_object(Place::new(file, Span::default()));
        self.scopes.insert(env, Scope { file, function: None, parent: None });
        let name = if whole { super::AS_SCRIPT } else { super::AS_MODULE };
        self.heap.get_mut(env).set_attr(Ustr::from("__name__"), Value::str(name));
        let ran = if whole { None } else { Some(FxHashSet::default()) };
        self.modules.insert(file, ModuleFrame { env, ran });
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
        if let Some(value) = self.heap.attr(env, name) {
            return Some(value.clone());
        }
        if let Some(bindings) = names.bindings.get(&name) {
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
        if !self.asked.insert((file, name)) {
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
            self.asked.remove(&(file, name));
            self.heap.get_mut(env).set_attr(name, value.clone());
        }
        found
    }

    /// A name as a star brings it in from a module of the project.
    fn star_member(&mut self, source: FileId, name: Ustr) -> Option<Value> {
        // Reads the text before it parses: most modules behind a star do not have the name.
        let text = &self.project.source(source).text;
        if self.stars == 0 || !(text.contains(name.as_str()) || text.contains("import *")) {
            return None;
        }
        self.stars -= 1;
        match &self.module(source).names.dunder_all {
            Some(listed) if !listed.contains(&name) => None,
            _ => self.module_attr(source, name),
        }
    }

    /// The `from … import` that alone binds a name of a module, once it was reached.
    fn imported_once(&self, file: FileId, name: Ustr) -> Option<StmtId> {
        let module = self.module(file);
        let [stmt] = module.names.bindings.get(&name)?.as_slice() else { return None };
        let reached = self.modules.get(&file)?.ran.is_some() || self.deferred.contains(stmt);
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
        if !self.asked.insert((file, name)) {
            return;
        }
        self.in_module(file, env, |interp| {
            let source = interp.module_value(*level, *module);
            let value = interp.member(&source, item.name);
            interp.set_name(name, value);
        });
        self.asked.remove(&(file, name));
    }

    /// Runs top-level statements of a module that is not run whole, each once.
    fn run_in_module(&mut self, file: FileId, statements: &'p [StmtId]) {
        for stmt in statements {
            let stmt = deciding(self.tree(file), *stmt);
            let Some(module) = self.modules.get_mut(&file) else { return };
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

    fn module_value(&mut self, level: u32, dotted: Option<Ustr>) -> Value {
        let file = self.file();
        let outside = dotted.filter(|_| level == 0).map_or(Value::Unknown, Value::Api);
        if dotted.is_some_and(|dotted| level == 0 && self.is_installed_framework(file, dotted)) {
            return outside;
        }
        match self.project.resolve(file, level, dotted) {
            Target::File(found) => Value::Module(found),
            // Python takes an installed package before a folder without `__init__.py`.
            Target::Namespace(_) if dotted.is_some_and(|dotted| self.apis.is_framework(dotted)) => outside,
            Target::Namespace(folder) => Value::Folder(Rc::from(folder.to_string_lossy().as_ref())),
            Target::Outside => outside,
        }
    }

    /// Whether a package's file imports a framework that lies beside the package, as they do where
    /// packages are installed: the tables know more of it than its sources say.
    fn is_installed_framework(&self, file: FileId, dotted: Ustr) -> bool {
        if !self.apis.is_framework(dotted) {
            return false;
        }
        let first = |name: &str| Ustr::from(name.split('.').next().unwrap_or(name));
        let own = self.project.module_name(file).filter(|own| own.contains('.'));
        own.is_some_and(|own| first(&own) != first(&dotted))
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
                    self.deferred.insert(stmt);
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

    /// An unknown value under a name: what its uses in that scope say it is.
    pub(super) fn typed_by_use(&mut self, env: ObjId, name: Ustr, value: Value) -> Value {
        if !is_guessed(&value) {
            return value;
        }
        let Some(scope) = self.scopes.get(&env).copied() else { return value };
        let uses = &self.module(scope.file).names.uses;
        let used = uses.of_local(scope.function, name);
        let place = self.heap.get(env).site;
        let Some(role) = self.role_of_local(uses, scope.function, name) else {
            let taken = self.taken_as(scope.file, Subject::Local(scope.function, name), place, value.clone());
            // Which device a caller has passed that is not known, its name does not say.
            let is_passed = || {
                let params = scope.function.map(|function| &self.tree(scope.file).function(function).params);
                params.is_some_and(|params| params.iter().any(|param| param.name == name))
            };
            let is_said = !taken.is_unknown() && !(matches!(taken, Value::Device(_)) && is_passed());
            return if is_said { taken } else { self.part_of_given_batch(scope, name).unwrap_or(value) };
        };
        // A parameter of another framework is cleared as well; an optimizer steps, or is called one.
        let lone = used.iter().all(|attribute| !self.is_of_optimizers_alone(*attribute));
        if role == Role::Optimizer && lone && self.apis.role_by_name(&name) != Some(role) {
            return value;
        }
        self.of_role(role, place, name, value)
    }

    /// Whether optimizers have a method and modules have not, or an attribute.
    fn is_of_optimizers_alone(&self, attribute: Ustr) -> bool {
        let has = |role| self.apis.method_of(role, attribute).is_some();
        !has(Role::Module)
            && (has(Role::Optimizer) || self.apis.role_by_use(&[attribute], false) == Some(Role::Optimizer))
    }

    /// A value known only by its role: of each name another one.
    pub(super) fn of_role(&mut self, role: Role, place: Place, name: Ustr, value: Value) -> Value {
        let aside = name.precomputed_hash();
        let made = python::aside(self, aside, |interp| interp.made_of_role(role, place, value));
        super::joined::perhaps(self.tree(place.file), role, name, made)
    }

    /// Something unknown, as what it is taken for. What was moved or cast passes for a tensor; one that is called
    /// is none.
    pub(super) fn taken_as(&mut self, file: FileId, subject: Subject, place: Place, value: Value) -> Value {
        let may_be = |role| value.is_unknown() || matches!(role, Role::Module | Role::Criterion);
        let taken = if is_guessed(&value) { self.taken_for(file, subject) } else { None };
        let Some(taken) = taken.filter(|taken| may_be(taken.role)) else { return value };
        let made = self.of_role(taken.role, place, subject.name(), value);
        if let Some(object) = made.as_obj() {
            self.heap.get_mut(object).confidence = taken.confidence;
            self.assume(file, subject, &taken);
        }
        made
    }

    /// `state.model`, where nothing is known of `state`: what is done with it says what it is.
    pub(super) fn part_of_unknown(&mut self, of: ExprId, name: Ustr) -> Value {
        let Some(frame) = self.frames.last() else { return Value::Unknown };
        let (file, function, env) = (frame.file, frame.function, frame.env);
        let module = self.module(file);
        let ExprKind::Name(holder) = module.tree.expr(of).kind else {
            let is_set = self.is_set_in_own_configuration(file, function, of, name);
            return if is_set { Value::Device(Device::Accelerator) } else { Value::Unknown };
        };
        let owner = module.names.owner(&module.tree, function, holder);
        let (subject, site) = (Subject::Part(owner, holder, name), self.heap.get(env).site);
        // The holder is told from others of the same attribute.
        python::aside(self, holder.precomputed_hash(), |interp| {
            interp.taken_as(file, subject, site, Value::Unknown)
        })
    }

    fn made_of_role(&mut self, role: Role, place: Place, value: Value) -> Value {
        match role {
            Role::Module => {
                let device = value.as_tensor().map_or(Device::Unknown, |tensor| tensor.device);
                Value::Obj(self.opaque_module(place, device))
            }
            Role::Optimizer => {
                let state = OptimizerState { others: true, ..OptimizerState::default() };
                let class = self.apis.class_of(Role::Optimizer).map_or(ClassRef::Builtin, ClassRef::Api);
                Value::Obj(self.alloc_as(place, class, State::Optimizer(state), Confidence::Medium))
            }
            Role::Tensor if value.is_unknown() => {
                Value::tensor(Tensor { confidence: Confidence::Medium, ..Tensor::default() })
            }
            Role::Device if value.is_unknown() => Value::Device(Device::Accelerator),
            Role::Criterion => match self.apis.class_of(role) {
                Some(class) => {
                    let state = State::Module(ModuleState { mode: Mode::Unknown, ..ModuleState::default() });
                    Value::Obj(self.alloc_as(place, ClassRef::Api(class), state, Confidence::Medium))
                }
                None => value,
            },
            Role::Scaler | Role::Scheduler | Role::Engine => match self.apis.class_of(role) {
                Some(class) => {
                    let state = if role == Role::Scaler { State::Scaler } else { State::Plain };
                    Value::Obj(self.alloc_as(place, ClassRef::Api(class), state, Confidence::Medium))
                }
                None => value,
            },
            _ => value,
        }
    }

    /// A model that is made elsewhere.
    pub(super) fn opaque_module(&mut self, place: Place, device: Device) -> ObjId {
        let class = self.apis.class_of(Role::Module).map_or(ClassRef::Builtin, ClassRef::Api);
        let state = ModuleState {
            mode: Mode::Unknown,
            device,
            frozen: None,
            weights: Learned::Opaque,
            ..ModuleState::default()
        };
        self.alloc_as(place, class, State::Module(state), Confidence::Medium)
    }

    fn alloc_as(&mut self, place: Place, class: ClassRef, state: State, confidence: Confidence) -> ObjId {
        let id = self.alloc(place, class, state);
        let object = self.heap.get_mut(id);
        object.confidence = object.confidence.min(confidence);
        id
    }

    /// Gives a number the name under which the script set it.
    pub(super) fn named(&mut self, target: ExprId, written: ExprId, value: Value) -> Value {
        let tree = self.here();
        let (ExprKind::Name(name) | ExprKind::Attribute { name, .. }) = &tree.expr(target).kind else {
            return value;
        };
        if let Some(text) = self.stated(name) {
            return text;
        }
        let Value::Int(num) = &value else { return value };
        let literal = matches!(tree.expr(written).kind, ExprKind::Int(_) | ExprKind::Binary { .. });
        if num.from.is_some() || num.tag != Tag::None || !literal || num.int.known().is_none() {
            return value;
        }
        let origin = Origin { place: self.expr_place(written), name: Rc::from(name.as_str()), given: false };
        Value::Int(Num { from: Some(Rc::new(origin)), ..num.clone() })
    }

    /// `--set name=value`, for a name of the script itself.
    fn stated(&self, name: &str) -> Option<Value> {
        let (_, text) = self.settings.values.iter().find(|(known, _)| known == name)?;
        Some(python::parse_scalar(text))
    }

    /// What an annotation says of a value that is not known otherwise.
    pub(super) fn typed_by_annotation(&mut self, annotation: ExprId, value: Value) -> Value {
        if !value.is_unknown() {
            return value;
        }
        let place = self.expr_place(annotation);
        let class = self.annotation_class(annotation);
        let Some(made) = class.and_then(|class| self.instance_of(&class, place)) else { return value };
        self.leave_places_open(&made);
        made
    }

    fn annotation_class(&mut self, annotation: ExprId) -> Option<Value> {
        let tree = self.here();
        match &tree.expr(annotation).kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => Some(self.eval(annotation)),
            ExprKind::Str(text) => Some(self.lookup(Ustr::from(text))),
            // Optional[X]
            ExprKind::Subscript { base, index } => match &tree.expr(*base).kind {
                ExprKind::Name(name) if name.as_str() == "Optional" => self.annotation_class(*index),
                ExprKind::Attribute { name, .. } if name.as_str() == "Optional" => {
                    self.annotation_class(*index)
                }
                _ => None,
            },
            _ => None,
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
