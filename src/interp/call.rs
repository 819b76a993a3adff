//! Calls: the project's own functions are inlined, classes make instances, and what is not understood may
//! have touched whatever it was given.

use super::roles::is_guessed;
use super::{
    Abandoned, Call, Entered, Frame, Interp, Passed, Scope, UnknownMethod, call_path::Hop, modules::FORWARDS,
    python, records, stmt::Flow,
};
use crate::apis::{Role, Verb};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::{Exit, FnKey, Node};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Deeper calls are not followed.
const DEEPEST: u32 = 24;
/// A function may be on the way so often: recursion is cut.
const RECURSION: usize = 2;

impl<'p> Interp<'p> {
    pub fn call_value(&mut self, callee: &Value, call: &Call) -> Value {
        let value = self.called(callee, call);
        if self.symbols.symbolic && value.is_unknown() {
            // Whatever was done to a symbolic value, something symbolic comes out.
            return self.still_symbolic(call);
        }
        value
    }

    fn called(&mut self, callee: &Value, call: &Call) -> Value {
        match callee {
            Value::Function(closure) => self.inline(closure, None, call),
            Value::Bound(bound) => match &bound.method {
                Method::Closure(closure) => self.inline(closure, Some(&bound.receiver), call),
                Method::Api(name) => self.call_api_method(*name, &bound.receiver, call),
                Method::Builtin(name) => self.language_method(&bound.receiver, *name, call),
            },
            Value::Partial(partial) => {
                let mut full = call.clone();
                let place = call.place;
                let passed = |value: &Value| Passed { value: value.clone(), place };
                full.positional.splice(0..0, partial.positional.iter().map(passed));
                for (name, value) in &partial.keywords {
                    if full.keyword(name).is_none() {
                        full.keywords.push((*name, passed(value)));
                    }
                }
                self.call_value(&partial.callee, &full)
            }
            Value::Obj(object) => self.call_object(*object, call),
            Value::Api(name) => self.call_api(*name, call),
            Value::Builtin(name) => self.call_builtin(*name, call, &[]),
            Value::AnyOf(callees) => self.call_any_of(callees, call),
            Value::Maybe(inner) => self.call_value(&inner.clone(), call),
            Value::Given(given) => self.call_value(&given.value.clone(), call),
            Value::Tensor(tensor) if tensor.is_tree() => self.called_tree(callee, call),
            _ => {
                self.havoc(call);
                self.made_of_tree(call).unwrap_or_default()
            }
        }
    }

    fn call_object(&mut self, object: ObjId, call: &Call) -> Value {
        if let State::Class(_) = self.heap.get(object).state {
            return self.instantiate(object, call);
        }
        if self.heap.get(object).module().is_some() {
            return self.call_module(object, call);
        }
        let receiver = Value::Obj(object);
        let dunder = Ustr::from("__call__");
        let is_function = self.is_function_class(self.heap.get(object).class);
        match self
            .find_attr(object, dunder)
            .filter(|method| !(is_function && matches!(method, Value::Api(_))))
        {
            Some(method) => {
                let bound = self.bind(&receiver, &method, dunder, call.place);
                self.call_value(&bound, call)
            }
            None => {
                if let Some(own) = self.own_call(object) {
                    let kept = super::inherited::kept_by_framework(self, object, &own, call);
                    let call = kept.as_ref().unwrap_or(call);
                    return match is_function {
                        true => self.apply_instance(&own, &receiver, call),
                        false => self.inline(&own, Some(&receiver), call),
                    };
                }
                let api = self.layer_api(object);
                if let Some(value) = api.and_then(|api| self.apply_layer(object, api, call)) {
                    return value;
                }
                self.havoc(&call.with_first(receiver));
                Value::Unknown
            }
        }
    }

    /// The method in which a class of the project computes what calling an instance gives, where a framework's
    /// own class calls it.
    fn own_call(&mut self, object: ObjId) -> Option<Rc<Closure>> {
        let lineage = self.lineage(self.heap.get(object).class);
        let is_known = lineage.iter().any(|base| matches!(base, super::lineage::Base::Api(_)));
        is_known.then(|| self.project_forward(object)).flatten()
    }

    /// `receiver.name(...)`.
    pub(super) fn call_method(&mut self, receiver: &Value, name: Ustr, call: &Call, base: ExprId) -> Value {
        let result = self.result_of_method(receiver, name, call, base);
        if super::formulas::is_followed(receiver) {
            self.renamed(receiver, name, base, result)
        } else {
            result
        }
    }

    /// `losses.append(loss)`
    fn put_into_list(&mut self, receiver: &Value, name: Ustr, call: &Call, base: ExprId) -> Option<Value> {
        let object = receiver.as_obj()?;
        let puts = matches!(name.as_str(), "append" | "extend" | "insert" | "appendleft" | "add");
        // What nothing here calls is called again and again, as if in a loop.
        let repeats = self.in_loop() || self.supposed.seeded.is_some();
        if !repeats || !puts || !matches!(self.heap.get(object).state, State::List(_)) {
            return None;
        }
        let mut call = call.clone();
        let passed = call.positional.last_mut()?;
        passed.value = self.followed_into(object, passed.value.clone(), base, call.place);
        Some(self.language_method(receiver, name, &call))
    }

    fn result_of_method(&mut self, receiver: &Value, name: Ustr, call: &Call, base: ExprId) -> Value {
        let goes_back = || self.apis.method_does(Role::Tensor, name, Verb::Backward);
        if is_guessed(receiver) && goes_back() && self.is_taken_out(base) {
            return self.backward_of_no_tensor(&Value::Float(None), name, call).unwrap_or_default();
        }
        if let Value::Unknown = receiver {
            super::heads::told_part(self, base, name, call);
            return self.method_of_unknown(base, name, call);
        }
        if let Some(model) = self.moved_model(receiver, name, call.place) {
            return self.result_of_method(&model, name, call, base);
        }
        if let Some(several) = self.with_methods_of_their_own(receiver, name) {
            return self.call_alternatives(&several, name, call, base);
        }
        if let Some(value) = self.put_into_list(receiver, name, call, base) {
            return value;
        }
        if let Some(output) = self.computed(receiver, name, call) {
            self.changed_in_place(receiver, name, &output, base);
            return output;
        }
        if let Some(value) = records::method(self, receiver, name, call) {
            return value;
        }
        let method = self.get_attr(receiver, name, call.place);
        if method.is_unknown() {
            self.on_unknown_method(&UnknownMethod { name, call });
            self.mode_by_unknown(receiver, name, call.place);
            self.gradients_by_unknown(receiver, call.place);
            let known = self.entered_by_hand(receiver, name);
            if let Some(value) = known.or_else(|| python::method(self, receiver, &name, call)) {
                return value;
            }
            if let Some(output) = self.output_of_opaque(receiver, call) {
                return output;
            }
            if self.is_only_held(receiver, name) || self.is_part_of_module(receiver) {
                self.havoc_by(Some(name), call);
            } else if !self.is_recorder(receiver) {
                self.havoc_by(Some(name), &call.with_first(receiver.clone()));
            }
            return self.made_of_tree(call).unwrap_or_default();
        }
        let value = self.call_value(&method, call);
        self.note_own_step(&method, name, call.place);
        self.changed_in_place(receiver, name, &value, base);
        value
    }

    /// `loss = model.compute_loss(batch)`: a method of a model that is made elsewhere, and that gives something,
    /// computes with what the model has learned. One whose result nobody wants may do anything to it.
    fn output_of_opaque(&mut self, receiver: &Value, call: &Call) -> Option<Value> {
        let object = receiver.as_obj()?;
        let here = self.heap.get(object);
        let stands_in =
            matches!(here.class, ClassRef::Api(class) if self.apis.class_of(Role::Module) == Some(class));
        let module = here.module().filter(|module| stands_in && module.weights == Learned::Opaque)?.clone();
        let computes = !call.positional.is_empty() || !call.keywords.is_empty();
        if !computes || self.discarded == Some(call.place) {
            return None;
        }
        let output = self.opaque_output(object, &module, call);
        // What a backward pass goes through has a graph; of anything else it may be a number or a name.
        let sure = if super::walked::is_gone_back_through(self, call.place) {
            Confidence::Medium
        } else {
            Confidence::Low
        };
        Some(match output {
            Value::Tensor(tensor) => {
                let graph = tensor.graph.unsure();
                let confidence = tensor.confidence.min(sure);
                Value::tensor(Tensor { graph, confidence, ..(*tensor).clone() })
            }
            other => other,
        })
    }

    /// Whether an attribute holds what is called: it is not told whose attribute it is. A method that a framework's
    /// object has is replaced by one that is.
    fn is_only_held(&self, receiver: &Value, name: Ustr) -> bool {
        receiver.as_obj().is_some_and(|holder| {
            matches!(self.heap.get(holder).state, State::Plain) && self.heap.attr(holder, name).is_some()
        })
    }

    /// Whether what is unknown of a receiver can only be a layer in it: of a module, all of whose methods we see.
    fn is_part_of_module(&self, receiver: &Value) -> bool {
        receiver.as_obj().is_some_and(|object| {
            let here = self.heap.get(object);
            let class = self.apis.class_of(Role::Module);
            here.module().is_some_and(|module| module.weights != Learned::Opaque)
                && class.is_some_and(|class| self.is_api(here.class, class))
                && !self.lineage(here.class).contains(&super::lineage::Base::Unknown)
        })
    }

    /// Runs a function of the project on these arguments.
    pub(super) fn inlined(&mut self, closure: &Rc<Closure>, receiver: Option<&Value>, call: &Call) -> Value {
        let key = FnKey { file: closure.file, function: closure.function };
        let recursive = self.times_running(&key, receiver);
        if self.is_abstract(closure.file, closure.function) {
            // Whoever overrides it computes something; the way goes on.
            self.havoc(call);
            return Value::Unknown;
        }
        let tree = self.tree(closure.file);
        let of_model =
            receiver.and_then(Value::as_obj).is_some_and(|object| self.heap.get(object).module().is_some());
        let is_forward = of_model && FORWARDS.contains(&tree.function(closure.function).name.as_str());
        if self.budget.depth >= DEEPEST
            || recursive >= RECURSION
            || self.budget.exhausted.contains(&key)
            || is_forward && self.budget.shallow
            || !self.affords(closure)
        {
            // A forward that is too deep computes, as one that nobody sees, however often.
            self.havoc_with(call, receiver.filter(|_| !is_forward));
            receiver.into_iter().for_each(|receiver| self.leave_places_open(receiver));
            let runs = |frame: &Frame<'_>| frame.file == key.file && frame.function == Some(key.function);
            if recursive >= RECURSION
                && let Some(frame) = self.frames.last_mut().filter(|frame| runs(frame))
            {
                frame.cut_off = Some(call.place);
            }
            return Value::Unknown;
        }
        let floor = self.ration(closure.file, is_forward);
        let (seen, called) = (self.out.observations.len(), self.out.called.len());
        match self.supposed.seeded {
            None => self.out.called.insert(key),
            Some(entry) if entry != key && self.supposed.trust == Confidence::High => {
                self.supposed.entered.insert(key);
            }
            Some(_) => {}
        }
        let function = tree.function(closure.function);
        let env = self.frame_object(call.place);
        let scope = Scope { file: closure.file, function: Some(closure.function), parent: Some(closure.env) };
        self.loaded.scopes.insert(env, scope);
        let receiver = if closure.wrap.is_static { None } else { receiver };
        self.bind_arguments(env, closure, receiver, call);
        self.on_entered(&Entered { key, call, bound: usize::from(receiver.is_some()) });
        let path = self.enter_path(Hop::Call(call.place));
        self.budget.depth += 1;
        self.push_frame(env, closure.file, Some(closure.function), Some((call.place, function.name)));
        if let Some(frame) = self.frames.last_mut() {
            frame.receiver = receiver.cloned();
            frame.class = closure.class;
            // Only the call that is itself the context runs the body; those in its arguments do not.
            frame.around = match self.awaiting {
                Some((place, around)) if function.is_generator && place == call.place => Some(around),
                _ => None,
            };
        }
        self.trace.push(Vec::new());
        let context = self.decorated_context(closure, key).map(|kind| self.push_context(kind));
        let active = self.active.len();
        let result = self.body(function);
        self.active.truncate(active);
        if let Some(before) = context {
            self.pop_context(before);
        }
        let body = self.trace.pop().unwrap_or_default();
        self.budget.depth -= 1;
        self.sites.path = path;
        let frame = self.frames.pop();
        self.on_call_end(());
        if let Some(around) = frame.as_ref().and_then(|frame| frame.around) {
            self.awaiting = Some((call.place, around));
        }
        let exhausted = self.is_out_of_fuel();
        self.budget.floor = floor;
        if exhausted {
            // What it did not come to do may undo what it did: nothing of it counts.
            self.budget.exhausted.insert(key);
            self.note_cut(key);
            self.supposed.entered.remove(&key);
            self.out.called.forget(key, called);
            self.out.observations.truncate(seen);
            self.on_abandoned(&Abandoned { receiver });
            self.havoc_with(call, receiver.filter(|_| !is_forward));
            return Value::Unknown;
        }
        if !body.is_empty() {
            self.push(Node::Call { site: call.place, name: function.name, body });
        }
        super::reach::hand_on_loss(self, key, call, &result);
        if closure.wrap.opaque { self.opaque_result(result) } else { result }
    }

    /// What the decorators of a function run it in. One that is not known may switch gradients off, unless there
    /// is a backward pass inside, or in what is called there: `main`, which calls `train`.
    fn decorated_context(&mut self, closure: &Closure, key: FnKey) -> Option<ContextKind> {
        let wrap = &closure.wrap;
        let unsure = wrap.may_switch && self.ambient.grad == Some(true);
        let context = wrap.context.or(unsure.then_some(ContextKind::UnknownGrad))?;
        (context != ContextKind::UnknownGrad || !self.leads_back(key)).then_some(context)
    }

    /// A call that is not followed: it may have done anything to its arguments and its receiver.
    fn havoc_with(&mut self, call: &Call, receiver: Option<&Value>) {
        match receiver {
            Some(receiver) => self.havoc(&call.with_first(receiver.clone())),
            None => self.havoc(call),
        }
    }

    fn body(&mut self, function: &'p Function) -> Value {
        match &function.body {
            FunctionBody::Expr(expr) => self.eval(*expr),
            FunctionBody::Block(block) => {
                let flow = self.block(block);
                if flow == Flow::Stop(Exit::Raise) {
                    self.on_always_raised(());
                }
                // Who goes on with what is returned finds what any of the returns left.
                let exits = self.frames.last_mut().map(|frame| std::mem::take(&mut frame.exits));
                exits.iter().flatten().for_each(|writes| {
                    self.heap.join_in(writes);
                });
                let Some(frame) = self.frames.last_mut() else { return Value::Unknown };
                let (returned, yielded) = (std::mem::take(&mut frame.returned), frame.yielded.take());
                let (hands_on, cut_off) = (frame.hands_on, frame.cut_off.is_some());
                let returned = self.that_can_be_unpacked(returned);
                let returned = self.heap.any_of(&Items::exact(returned));
                if function.is_generator {
                    let place = Place::new(self.file(), function.span);
                    let items = self.list_of(place, yielded.unwrap_or_default());
                    if let (Some(list), Some(loader)) = (items.as_obj(), hands_on) {
                        self.heap.get_mut(list).set_attr(Ustr::from("iterable"), Value::Obj(loader));
                    }
                    return self.one_shot(items, None, place);
                }
                match returned {
                    None if cut_off => Value::Unknown,
                    None => Value::None,
                    Some(value) if flow == Flow::Next => self.heap.join(&value, &Value::None),
                    Some(value) => value,
                }
            }
        }
    }

    /// What an unknown decorator leaves of a result: something of the same kind at best.
    fn opaque_result(&mut self, result: Value) -> Value {
        match result {
            Value::Obj(_) | Value::Tensor(_) | Value::Tuple(_) => result,
            _ => Value::Unknown,
        }
    }

    fn bind_arguments(&mut self, env: ObjId, closure: &Closure, receiver: Option<&Value>, call: &Call) {
        let function = self.tree(closure.file).function(closure.function);
        if self.probe.is_some() {
            self.probe_parameters(env, function, usize::from(receiver.is_some()), call);
        }
        let mut positional: Vec<Value> = receiver.cloned().into_iter().collect();
        positional.extend(call.positional.iter().map(|passed| passed.value.clone()));
        let mut positional = positional.into_iter();
        self.note_handed(env, function, usize::from(receiver.is_some()), call);
        let mut taken: Vec<Ustr> = Vec::new();
        for param in &function.params {
            let value = match param.kind {
                ParamKind::Star => {
                    let rest: Vec<Value> = positional.by_ref().collect();
                    if call.open { self.list_of(call.place, Value::Unknown) } else { Value::tuple(rest) }
                }
                ParamKind::DoubleStar => {
                    let mut entries = Entries::default();
                    for (name, passed) in &call.keywords {
                        let named = function
                            .params
                            .iter()
                            .any(|p| p.name == *name && p.kind != ParamKind::DoubleStar);
                        if !named {
                            entries.set(Key::Str(Rc::from(name.as_str())), passed.value.clone());
                        }
                    }
                    entries.other = call.open.then_some(Value::Unknown);
                    Value::Obj(self.heap.alloc(Object {
                        class: ClassRef::Builtin,
                        attrs: Vec::new(),
                        notes: Vec::new(),
                        state: State::Dict(entries),
                        site: call.place,
                        epoch: self.epoch,
                        confidence: Confidence::High,
                    }))
                }
                kind => {
                    let by_position = if kind == ParamKind::KeywordOnly { None } else { positional.next() };
                    by_position
                        .or_else(|| call.keyword(&param.name).map(|passed| passed.value.clone()))
                        .or_else(|| self.default_of(closure, param, call.open))
                        .unwrap_or_default()
                }
            };
            taken.push(param.name);
            let value = self.typed_by_use(env, param.name, value);
            self.heap.get_mut(env).set_attr(param.name, value);
        }
    }

    fn default_of(&self, closure: &Closure, param: &Param, open: bool) -> Option<Value> {
        if open {
            return None;
        }
        closure.defaults.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value.clone())
    }

    /// Whether an expression statement ends the program.
    pub(super) fn never_returns(&self, expr: ExprId) -> bool {
        let tree = self.here();
        let ExprKind::Call { callee, .. } = tree.expr(expr).kind else { return false };
        match &tree.expr(callee).kind {
            ExprKind::Name(name) => matches!(name.as_str(), "exit" | "quit"),
            ExprKind::Attribute { base, name, .. } if *name == "exit" || *name == "_exit" => {
                matches!(&tree.expr(*base).kind, ExprKind::Name(module) if *module == "sys" || *module == "os")
            }
            _ => false,
        }
    }
}
