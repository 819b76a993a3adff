//! How functions are made: closures with their defaults, and the decorators around them.
//! One that is not understood may switch gradients off; otherwise the function stays what it was.

use super::{Call, Interp, python};
use crate::report::FileId;
use crate::syntax::*;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    pub(super) fn define(&mut self, function: FnId) {
        let tree = self.here();
        let definition = tree.function(function);
        let closure = self.closure(function);
        self.note_nested_function(definition, &closure);
        let decorated = match self.property_written_by(definition) {
            Some(property) => property,
            None => self.decorated(closure.clone(), &definition.decorators),
        };
        self.note_decorated(&closure, &decorated);
        self.set_name(definition.name, decorated);
    }

    /// `@size.setter`: the name stays the property, which is read by what was defined first.
    fn property_written_by(&mut self, definition: &Function) -> Option<Value> {
        let [decorator] = *definition.decorators else { return None };
        let ExprKind::Attribute { base, name, .. } = self.here().expr(decorator).kind else { return None };
        if name != "setter" && name != "deleter" {
            return None;
        }
        match self.quietly(|interp| interp.eval(base)) {
            Value::Function(getter) if getter.wrap.is_property => Some(Value::Function(getter)),
            _ => None,
        }
    }

    /// A function value, its defaults evaluated here.
    pub(super) fn closure(&mut self, function: FnId) -> Value {
        let file = self.file();
        let definition = self.tree(file).function(function);
        let mut defaults = Vec::new();
        for param in &definition.params {
            if let Some(default) = param.default {
                let value = self.eval(default);
                defaults.push((param.name, self.default_value(param.name, default, value)));
            }
        }
        let (env, class) = self.frames.last().map_or((ObjId(0), None), |frame| (frame.env, frame.class));
        // Functions do not see the names of the class body they are in.
        let in_class = matches!(self.heap.get(env).state, State::Class(_));
        let class_object = if in_class { Some(env) } else { class };
        let env = if in_class { self.class_env(env) } else { env };
        Value::Function(Rc::new(Closure {
            file,
            function,
            env,
            defaults,
            class: class_object,
            wrap: Wrap::default(),
        }))
    }

    /// A number that is a default keeps the parameter's name and place.
    fn default_value(&mut self, name: Ustr, written: ExprId, value: Value) -> Value {
        match &value {
            Value::Int(num) if num.from.is_none() && num.int.known().is_some() => {
                let origin =
                    Origin { place: self.expr_place(written), name: Rc::from(name.as_str()), given: false };
                Value::Int(Num { from: Some(Rc::new(origin)), ..num.clone() })
            }
            _ => value,
        }
    }

    fn class_env(&self, class: ObjId) -> ObjId {
        match &self.heap.get(class).state {
            State::Class(state) => state.env,
            _ => class,
        }
    }

    /// Whether a method is there to be overridden: all that it does is to raise `NotImplementedError`.
    pub(crate) fn is_abstract(&self, file: FileId, function: FnId) -> bool {
        let tree = self.tree(file);
        let function = tree.function(function);
        let FunctionBody::Block(body) = &function.body else { return false };
        let Some((last, before)) = body.split_last() else { return false };
        let StmtKind::Raise(Some(raised)) = tree.stmt(*last).kind else { return false };
        let raised = match tree.expr(raised).kind {
            ExprKind::Call { callee, .. } => callee,
            _ => raised,
        };
        let says_nothing = |stmt: &StmtId| match tree.stmt(*stmt).kind {
            StmtKind::Expr(value) => matches!(tree.expr(value).kind, ExprKind::Str(_)),
            _ => false,
        };
        matches!(tree.expr(raised).kind, ExprKind::Name(name) if name == "NotImplementedError")
            && before.iter().all(says_nothing)
            && function.name != "__init__"
    }

    fn decorated(&mut self, function: Value, decorators: &'p [ExprId]) -> Value {
        let Value::Function(closure) = &function else { return function };
        if decorators.is_empty() {
            return function;
        }
        let mut wrap = Wrap::default();
        let mut result = None;
        for decorator in decorators.iter().rev() {
            let value = self.eval(*decorator);
            let known = std::mem::take(&mut wrap.opaque);
            self.apply_decorator(&value, *decorator, &mut wrap, &mut result);
            wrap.may_switch |= wrap.opaque && !self.leaves_gradients(*decorator);
            wrap.opaque |= known;
        }
        let closure = Closure {
            file: closure.file,
            function: closure.function,
            env: closure.env,
            defaults: closure.defaults.iter().cloned().chain(self.options(decorators)).collect(),
            class: closure.class,
            wrap,
        };
        let function = Value::Function(Rc::new(closure));
        match result {
            Some(decorator) => {
                let call = Call::with(self.expr_place(decorators[0]), [function.clone()]);
                match self.call_value(&decorator, &call) {
                    Value::Unknown => beyond_knowing(function),
                    Value::None => function,
                    value => value,
                }
            }
            None => function,
        }
    }

    /// `@click.command()`: of a package that leaves gradients alone.
    fn leaves_gradients(&mut self, decorator: ExprId) -> bool {
        let name = self.decorator_name(decorator);
        name.is_some_and(|name| self.apis.is_pure(Ustr::from(name.split('.').next().unwrap_or_default())))
    }

    /// What a decorator is called, in full, whether it is told anything or not.
    fn decorator_name(&mut self, decorator: ExprId) -> Option<Ustr> {
        let named = match self.here().expr(decorator).kind {
            ExprKind::Call { callee, .. } => callee,
            _ => decorator,
        };
        match self.quietly(|interp| interp.eval(named)) {
            Value::Api(name) => Some(name),
            _ => None,
        }
    }

    /// What the command line gives a function where nobody says otherwise: `@click.option("--lr", default=0.1)`.
    fn options(&mut self, decorators: &'p [ExprId]) -> Vec<(Ustr, Value)> {
        let mut calls = Vec::new();
        for decorator in decorators {
            if let ExprKind::Call { args, .. } = &self.here().expr(*decorator).kind
                && let Some(name) = self.decorator_name(*decorator).filter(|name| name.starts_with("click."))
            {
                let place = self.expr_place(*decorator);
                calls.push((name, self.quietly(|interp| interp.arguments(place, args))));
            }
        }
        python::click_defaults(self, &calls)
    }

    fn apply_decorator(&mut self, value: &Value, at: ExprId, wrap: &mut Wrap, wrapper: &mut Option<Value>) {
        let place = self.expr_place(at);
        if let Some(kind) = self.context_of(value) {
            wrap.context = match (kind, wrap.context) {
                // What switches gradients off says more.
                (Some(ContextKind::Autocast(_)), Some(known)) => Some(known),
                (kind, known) => kind.or(known),
            };
            return;
        }
        match value {
            Value::Builtin(name) => match name.as_str() {
                "staticmethod" => wrap.is_static = true,
                "classmethod" => wrap.is_class = true,
                "property" => wrap.is_property = true,
                _ => {}
            },
            Value::Api(name) if self.makes_function(*name) => *wrapper = Some(value.clone()),
            Value::Partial(partial) => match &partial.callee {
                Value::Api(name) if self.makes_function(*name) => *wrapper = Some(value.clone()),
                Value::Api(name) => {
                    let context = self.context_of(&partial.callee).flatten();
                    let traced = context.filter(|context| *context == ContextKind::Traced);
                    wrap.context = wrap.context.or(traced);
                    wrap.opaque |= !self.apis.is_transparent(*name);
                }
                _ => wrap.opaque = true,
            },
            Value::Function(_) => *wrapper = Some(value.clone()),
            Value::Obj(object) if matches!(self.heap.get(*object).state, State::Class(_)) => {
                *wrapper = Some(value.clone());
            }
            Value::Api(name) => {
                wrap.is_property |= name.ends_with("cached_property") || name.ends_with("abstractproperty");
                wrap.opaque |= !self.apis.is_transparent(*name);
            }
            // A generator that is a context, and decorates as one: what it enters may switch gradients off.
            Value::Obj(object) if matches!(self.heap.get(*object).state, State::List(_)) => {
                wrap.opaque = true;
            }
            Value::Obj(_) => {}
            _ => {
                let setter = matches!(self.tree(place.file).expr(at).kind, ExprKind::Attribute { name, .. } if name == "setter");
                wrap.opaque |= !setter;
            }
        }
    }
}

/// What a decorator of the project made of a function where its call is not understood: it may take other arguments,
/// and have its gradients switched off.
fn beyond_knowing(function: Value) -> Value {
    let Value::Function(closure) = &function else { return function };
    let mut wrap = Wrap { opaque: true, ..closure.wrap };
    if matches!(wrap.context, None | Some(ContextKind::Autocast(_))) {
        wrap.context = Some(ContextKind::UnknownGrad);
    }
    Value::Function(Rc::new(Closure { wrap, ..(**closure).clone() }))
}
