//! Who gets a parameter: a function or constructor of the project that it is handed on to, an attribute that keeps it,
//! an operation or a layer. What a function does not say of it itself, these say by what they do with it.

use super::{Interp, roles::is_guessed};
use crate::apis::{Api, Need, Operand, Role, Transfer};
use crate::names::{Act, Subject, Uses, class_of_self};
use crate::report::{FileId, Place};
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind, FnId};
use crate::values::{ClassRef, Closure, Note, ObjId, State, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Whether a model is what a call gave that nobody sees into, and not one that was passed in.
pub(crate) const BUILT: Note = Note::new("built");

/// Of more calls no one is looked at.
const MOST_CALLS: usize = 8;

/// Methods that records and batches have as tensors do.
const SHARED: [&str; 7] = ["copy", "data", "index", "items", "to", "type", "values"];

/// Of a parameter that is passed to more calls only the first are looked at.
const MOST_ACTS: usize = 8;

/// A parameter is followed so far through functions of the project that it is handed on to.
const HANDED_ON: u32 = 2;

/// Who gets a parameter, and in which words that speaks for what it is.
pub(super) struct Taker {
    pub file: FileId,
    pub subject: Subject,
    pub because: (&'static str, Place),
}

impl Interp<'_> {
    /// What a call gave is a model, by what is done with it: `model = build_model(args)`.
    pub(super) fn note_built(&mut self, target: ExprId) {
        let value = self.eval(target);
        if let Some(object) = value.as_obj().filter(|object| self.heap.get(*object).module().is_some()) {
            self.heap.note(object, BUILT, Value::Bool(Some(true)));
        }
    }

    /// Whether a value comes of a call, and not of one of the target's own methods: `model = model.cuda()`.
    pub(super) fn is_call_of_another(&self, value: ExprId, target: ExprId) -> bool {
        let tree = self.here();
        let ExprKind::Call { callee, .. } = tree.expr(value).kind else { return false };
        let is_plain = matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
        match tree.expr(callee).kind {
            ExprKind::Attribute { base, .. } => is_plain && !self.same_target(base, target),
            _ => is_plain,
        }
    }

    /// `net.cuda().eval()`, where nothing is known of `net`: what was moved is no tensor, but a model.
    pub(super) fn moved_model(&mut self, receiver: &Value, name: Ustr, place: Place) -> Option<Value> {
        let tensor = receiver.as_tensor().filter(|_| is_guessed(receiver))?;
        let has = |role| self.apis.method_of(role, name).is_some();
        (has(Role::Module) && !has(Role::Tensor))
            .then(|| Value::Obj(self.opaque_module(place, tensor.device)))
    }

    /// `self.step(batch)`: a method of the class itself is no scaler's.
    pub(super) fn calls_own_method(&self, file: FileId, act: &Act) -> bool {
        let (Some(Subject::Local(Some(owner), receiver)), Some(method)) = (act.receiver, act.method) else {
            return false;
        };
        let tree = &self.module(file).tree;
        class_of_self(tree, owner, receiver).is_some_and(|class| {
            tree.functions.iter().any(|function| function.class == Some(class) && function.name == method)
        })
    }

    pub(super) fn takers(&self, file: FileId, subject: Subject) -> Vec<Taker> {
        let Subject::Local(Some(function), name) = subject else { return Vec::new() };
        if !self.is_untouched_parameter(file, function, name) {
            return Vec::new();
        }
        let mut takers: Vec<Taker> = self.keeper(file, function, name).into_iter().collect();
        takers.extend(self.kept_by_base(file, function, name));
        takers.extend(self.callees(file, subject, name));
        takers
    }

    fn is_untouched_parameter(&self, file: FileId, function: FnId, name: Ustr) -> bool {
        let module = self.module(file);
        let is_parameter = module.tree.function(function).params.iter().any(|param| param.name == name);
        is_parameter && module.relations().bindings(Subject::Local(Some(function), name)).next().is_none()
    }

    /// `self.model = model`
    fn keeper(&self, file: FileId, function: FnId, name: Ustr) -> Option<Taker> {
        let module = self.module(file);
        let keepers = module.relations().keepers(&module.tree, function, name, |method| self.puts(method));
        let (subject, written) = keepers.min_by_key(|(_, written)| written.0)?;
        let place = Place::new(file, module.tree.expr(written).span);
        Some(Taker { file, subject, because: ("the attribute that keeps it is one", place) })
    }

    /// `super().__init__(config, model)`, where the class uses `self.model`: the base keeps it under its name.
    fn kept_by_base(&self, file: FileId, function: FnId, name: Ustr) -> Option<Taker> {
        let module = self.module(file);
        let relations = module.relations();
        let class = module.tree.function(function).class?;
        let mut given = relations.given(Subject::Local(Some(function), name));
        let act = given.find(|act| act.method.is_some_and(|method| method == "__init__"))?;
        let subject = Subject::Own(class, name);
        let used = relations.acts_of(subject).chain(relations.calls_of(subject)).next().is_some();
        let place = Place::new(file, module.tree.expr(act.call).span);
        used.then_some(Taker { file, subject, because: ("the class uses it as one", place) })
    }

    /// `train(model, loader)`
    fn callees(&self, file: FileId, subject: Subject, name: Ustr) -> Vec<Taker> {
        let calls: Vec<&Act> = self.module(file).relations().given(subject).take(MOST_CALLS + 1).collect();
        if calls.len() > MOST_CALLS {
            return Vec::new();
        }
        calls.into_iter().filter_map(|act| self.callee(file, act, name)).collect()
    }

    fn callee(&self, file: FileId, act: &Act, name: Ustr) -> Option<Taker> {
        let tree = &self.module(file).tree;
        let Some(Subject::Local(None, callee)) = act.callee else { return None };
        let (closure, skipped) = self.function_of_project(file, callee)?;
        let ExprKind::Call { args, .. } = &tree.expr(act.call).kind else { return None };
        let is_it = |arg: &Arg| matches!(tree.expr(arg.value).kind, ExprKind::Name(known) if known == name);
        let at = args.iter().position(is_it)?;
        let params = &self.tree(closure.file).function(closure.function).params;
        let param = match args[at].kind {
            ArgKind::Positional => params.get(at + skipped)?.name,
            ArgKind::Keyword(keyword) => keyword,
            ArgKind::Star | ArgKind::DoubleStar => return None,
        };
        Some(Taker {
            file: closure.file,
            subject: Subject::Local(Some(closure.function), param),
            because: ("what it is passed to takes it for one", Place::new(file, tree.expr(act.call).span)),
        })
    }

    /// A function of the project, or the constructor of a class, with how many parameters come before the arguments.
    fn function_of_project(&self, file: FileId, name: Ustr) -> Option<(Rc<Closure>, usize)> {
        let env = self.loaded.modules.get(&file)?.env;
        match self.heap.attr(env, name)? {
            Value::Function(closure) => Some((closure.clone(), 0)),
            Value::Obj(class) if matches!(self.heap.get(*class).state, State::Class(_)) => {
                match self.heap.attr(*class, Ustr::from("__init__"))? {
                    Value::Function(closure) => Some((closure.clone(), 1)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What the text that uses it says of a subject.
    pub(super) fn role_by_use(&self, file: FileId, subject: Subject) -> Option<Role> {
        let uses = &self.module(file).names.uses;
        let (used, called) = match subject {
            Subject::Local(of, name) => return self.role_of_local(uses, of, name),
            Subject::Own(of, name) => (uses.of_self(of, name), uses.called_self(of, name)),
            Subject::Part(..) | Subject::OwnPart(..) => return None,
        };
        self.apis.role_by_use(used, called)
    }

    /// What the uses of a variable say of it. `config.eval.cuda` is a section of a configuration: methods have no
    /// attributes that anybody asks for.
    pub(super) fn role_of_local(&self, uses: &Uses, scope: Option<FnId>, name: Ustr) -> Option<Role> {
        let is_method = |attribute: Ustr| self.apis.method_of(Role::Module, attribute).is_some();
        let counts = |attribute: &Ustr| !is_method(*attribute) || uses.calls_method(scope, name, *attribute);
        let used: Vec<Ustr> = uses.of_local(scope, name).iter().copied().filter(counts).collect();
        self.apis.role_by_use(&used, uses.called_local(scope, name))
    }
}

impl Interp<'_> {
    /// Whether a parameter is a tensor: nothing is done with it that tensors do not have, and something that nothing else
    /// has.
    pub(super) fn is_taken_for_tensor(
        &mut self,
        closure: &Closure,
        receiver: Option<ObjId>,
        name: Ustr,
    ) -> bool {
        self.is_tensor_in(closure, receiver, name, HANDED_ON)
    }

    fn is_tensor_in(&mut self, closure: &Closure, receiver: Option<ObjId>, name: Ustr, depth: u32) -> bool {
        let (file, function) = (closure.file, closure.function);
        let uses = &self.module(file).names.uses;
        let used = uses.of_local(Some(function), name);
        if uses.called_local(Some(function), name)
            || !used.iter().all(|used| self.apis.method_of(Role::Tensor, *used).is_some())
        {
            return false;
        }
        used.iter().any(|used| !SHARED.contains(&used.as_str()))
            || self.is_passed_as_tensor(closure, receiver, name)
            || depth > 0 && self.is_handed_on_as_tensor(file, function, name, depth - 1)
    }

    /// Whether an operation or a layer gets it that takes nothing but tensors there.
    fn is_passed_as_tensor(&mut self, closure: &Closure, receiver: Option<ObjId>, name: Ustr) -> bool {
        let module = self.module(closure.file);
        let subject = Subject::Local(Some(closure.function), name);
        let acts: Vec<Act> = module.relations().given_among(subject).take(MOST_ACTS).cloned().collect();
        acts.iter().any(|act| self.takes_tensor(closure, receiver, act, name))
    }

    fn takes_tensor(&mut self, closure: &Closure, receiver: Option<ObjId>, act: &Act, name: Ustr) -> bool {
        let tree = self.tree(closure.file);
        let ExprKind::Call { callee, args } = &tree.expr(act.call).kind else { return false };
        let is_it = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Name(known) if known == name);
        let among = |arg: &Arg| match &tree.expr(arg.value).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().any(|item| is_it(*item)),
            _ => is_it(arg.value),
        };
        let Some(at) = args.iter().position(among) else { return false };
        if let Some(layer) = receiver.zip(act.method).and_then(|(owner, layer)| {
            let own = matches!(act.receiver, Some(Subject::Local(Some(function), _)) if function == closure.function);
            self.heap.attr(owner, layer).filter(|_| own)?.as_obj()
        }) {
            return at == 0 && self.is_layer_of_tensors(layer);
        }
        let Some(api) = self.called_api(closure, *callee) else { return false };
        let api = self.apis.get(api);
        let param = match args[at].kind {
            ArgKind::Positional => api.and_then(|api| api.params.get(at)).map(|param| param.name),
            ArgKind::Keyword(keyword) => Some(keyword),
            ArgKind::Star | ArgKind::DoubleStar => None,
        };
        api.zip(param).is_some_and(|(api, param)| takes_tensor_as(api, param))
    }

    /// What a name or an attribute of a module stands for, if that is an API; anything else is not evaluated.
    fn called_api(&mut self, closure: &Closure, callee: ExprId) -> Option<Ustr> {
        let tree = self.tree(closure.file);
        let mut root = callee;
        while let ExprKind::Attribute { base, .. } = tree.expr(root).kind {
            root = base;
        }
        let ExprKind::Name(name) = tree.expr(root).kind else { return None };
        let module = self.module(closure.file);
        if module.names.owner(tree, Some(closure.function), name).is_some() {
            return None;
        }
        self.push_frame(closure.env, closure.file, None, None);
        let called = self.quietly(|interp| interp.eval(callee));
        self.frames.pop();
        match called {
            Value::Api(name) => Some(name),
            _ => None,
        }
    }

    /// A layer of a framework that computes with tensors: sequences may be packed for recurrent ones.
    fn is_layer_of_tensors(&self, layer: ObjId) -> bool {
        let here = self.heap.get(layer);
        let ClassRef::Api(class) = here.class else { return false };
        let api = self.apis.class(class).filter(|_| here.module().is_some());
        api.and_then(Api::transfer).is_some_and(|verb| {
            !matches!(verb, Transfer::Recurrent | Transfer::Sequential | Transfer::Unknown | Transfer::Loss)
        })
    }

    /// Whether a function of the project that it is handed on to takes it for one.
    fn is_handed_on_as_tensor(&mut self, file: FileId, function: FnId, name: Ustr, depth: u32) -> bool {
        let takers = self.takers(file, Subject::Local(Some(function), name));
        let inner = takers.into_iter().filter_map(|taker| match taker.subject {
            Subject::Local(Some(function), name) => Some((taker.file, function, name)),
            _ => None,
        });
        let inner: Vec<(FileId, FnId, Ustr)> = inner.collect();
        inner.into_iter().any(|(file, function, name)| {
            let env = self.loaded.modules.get(&file).map(|module| module.env);
            env.is_some_and(|env| {
                let closure = Closure {
                    file,
                    function,
                    env,
                    defaults: Vec::new(),
                    class: None,
                    wrap: Default::default(),
                };
                self.is_tensor_in(&closure, None, name, depth)
            })
        })
    }
}

/// Whether an operation takes nothing but a tensor, or several, for a parameter.
fn takes_tensor_as(api: &Api, param: Ustr) -> bool {
    let Some(gives) = &api.gives else { return false };
    let is_it = |operand: &Operand| matches!(operand, Operand::Param(name) if *name == param);
    let together = api.needs.iter().find(|need| need.verb == Need::Together);
    if together.is_some_and(|need| need.args.first().is_some_and(is_it)) {
        return true;
    }
    let at = gives.args.iter().position(is_it);
    let computes = gives.verb.elementwise() || gives.verb.reforms() || reduces(gives.verb);
    match at {
        Some(0) => computes || gives.verb.meets() || gives.verb == Transfer::Loss,
        // Beside a tensor there may be a number.
        Some(1) => gives.verb.meets() && !gives.verb.elementwise() || gives.verb == Transfer::Loss,
        _ => false,
    }
}

fn reduces(verb: Transfer) -> bool {
    matches!(
        verb,
        Transfer::Argmax
            | Transfer::OptionalReduce
            | Transfer::Pad
            | Transfer::Pool
            | Transfer::Reduce
            | Transfer::ReducePair
            | Transfer::Sort
            | Transfer::Topk
            | Transfer::Upsample
    )
}
