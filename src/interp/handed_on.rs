//! Who gets a parameter: a function or constructor of the project that it is handed on to, or an attribute that keeps
//! it. What a function does not say of it itself, these say by what they do with it.

use super::{Interp, roles::is_guessed};
use crate::apis::Role;
use crate::names::{Act, Subject, Uses, class_of_self};
use crate::report::{FileId, Place};
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind, FnId};
use crate::values::{Closure, Note, State, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Whether a model is what a call gave that nobody sees into, and not one that was passed in.
pub(crate) const BUILT: Note = Note::new("built");

/// Of more calls no one is looked at.
const MOST_CALLS: usize = 8;

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
        let tree = self.tree(self.file());
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
        let has =
            |role| self.apis.class_of(role).is_some_and(|class| self.apis.method(class, name).is_some());
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
        let env = self.modules.get(&file)?.env;
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
            Subject::Part(..) => return None,
        };
        self.apis.role_by_use(used, called)
    }

    /// What the uses of a variable say of it. `config.eval.cuda` is a section of a configuration: methods have no
    /// attributes that anybody asks for.
    pub(super) fn role_of_local(&self, uses: &Uses, scope: Option<FnId>, name: Ustr) -> Option<Role> {
        let is_method = |attribute: Ustr| {
            let class = self.apis.class_of(Role::Module);
            class.is_some_and(|class| self.apis.method(class, attribute).is_some())
        };
        let counts = |attribute: &Ustr| !uses.looks_into(scope, name, *attribute) || !is_method(*attribute);
        let used: Vec<Ustr> = uses.of_local(scope, name).iter().copied().filter(counts).collect();
        self.apis.role_by_use(&used, uses.called_local(scope, name))
    }
}
