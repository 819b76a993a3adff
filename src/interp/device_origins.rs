//! Which tensors are where the model is: what its forward is given, and not what it makes where nobody said a
//! device.

use super::{Call, Interp};
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ClassId, ExprId, ExprKind, FnId, Function, StmtId, StmtKind, Tree};
use crate::trace::FnKey;
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// Lists in lists that a forward is given are looked into so deep.
const DEEPEST: u32 = 2;

impl<'p> Interp<'p> {
    /// The outermost module whose output is being computed.
    pub(crate) fn computing(&self) -> Option<ObjId> {
        self.frames.iter().find_map(|frame| {
            let object = frame.receiver.as_ref().and_then(Value::as_obj)?;
            self.heap.get(object).module()?;
            let (_, name) = frame.site?;
            let steps = name.ends_with("_step") && self.is_owned(object);
            (steps || super::modules::FORWARDS.contains(&name.as_str())).then_some(object)
        })
    }

    /// Whether a method of a module is one that its framework calls to compute with it.
    pub(super) fn computes(&self, receiver: &Value, function: &Function) -> bool {
        let Some(object) = receiver.as_obj() else { return false };
        let hook = function.name.ends_with("_step") && self.is_owned(object);
        let named = hook || super::modules::FORWARDS.contains(&function.name.as_str());
        named && self.heap.get(object).module().is_some()
    }

    /// What a forward is given is where the model is; what was made outside is no matter of the forward.
    pub(super) fn at_home(&mut self, closure: &Closure, receiver: Option<ObjId>, call: &Call) -> Call {
        let inside = self.computing().is_some();
        let by_method = !inside && self.running_modules().next().is_some();
        let (file, function) = (closure.file, closure.function);
        let params = &self.tree(file).function(function).params;
        let mut call = call.clone();
        for (index, passed) in call.positional.iter_mut().enumerate() {
            let name = params.get(index + 1).map(|param| param.name);
            let inside = inside || by_method && self.is_own(receiver, &passed.value);
            passed.value = self.given_to_forward(&passed.value, closure, receiver, name, inside);
        }
        for (name, passed) in &mut call.keywords {
            let inside = inside || by_method && self.is_own(receiver, &passed.value);
            passed.value = self.given_to_forward(&passed.value, closure, receiver, Some(*name), inside);
        }
        call
    }

    fn given_to_forward(
        &mut self,
        value: &Value,
        closure: &Closure,
        receiver: Option<ObjId>,
        name: Option<Ustr>,
        inside: bool,
    ) -> Value {
        if let (Value::Unknown, Some(name)) = (value, name)
            && self.is_taken_for_tensor(closure, receiver, name)
        {
            let params = &self.tree(closure.file).function(closure.function).params;
            let param = params.iter().find(|param| param.name == name);
            let at = param.map(|param| Place::new(closure.file, param.span));
            return closure.as_passed(name, input_of_forward(at));
        }
        match value {
            Value::Tensor(tensor) if !inside && !tensor.is_array => {
                let device_origin = match tensor.device_origin {
                    Some(DeviceOrigin::Default { .. }) => None,
                    _ => Some(DeviceOrigin::Module),
                };
                Value::tensor(Tensor { device_origin, ..(**tensor).clone() })
            }
            Value::Tuple(items) if !inside => {
                let each = |item: &Value| self.given_to_forward(item, closure, receiver, None, inside);
                Value::tuple(items.iter().map(each).collect())
            }
            Value::Maybe(known) if !inside => {
                Value::Maybe(Rc::new(self.given_to_forward(known, closure, receiver, None, inside)))
            }
            Value::Obj(list) if !inside => {
                self.made_outside(*list, DEEPEST);
                value.clone()
            }
            other => other.clone(),
        }
    }

    /// What a list holds that a forward is given was made outside of it.
    fn made_outside(&mut self, list: ObjId, depth: u32) {
        let State::List(items) = &self.heap.get(list).state else { return };
        let all = || items.exact.iter().flatten().chain([&items.any]);
        let inner: Vec<ObjId> = all().filter_map(Value::as_obj).filter(|_| depth > 0).collect();
        let stays = |value: &Value| {
            let tensor = value.as_tensor();
            tensor.is_some_and(|tensor| matches!(tensor.device_origin, Some(DeviceOrigin::Default { .. })))
        };
        if all().any(stays) {
            let mut items = items.clone();
            let outside = |value: &Value| with_device_origin(value.clone(), None);
            items.exact = items.exact.map(|all| all.iter().map(outside).collect());
            items.any = outside(&items.any);
            self.heap.get_mut(list).state = State::List(items);
        }
        inner.into_iter().for_each(|list| self.made_outside(list, depth - 1));
    }

    /// Methods that nothing calls, of modules that make tensors: the forward, and others that make one themselves.
    pub(super) fn is_making_method(
        &mut self,
        file: FileId,
        function: FnId,
        definition: &Function,
        imported: &[Ustr],
    ) -> bool {
        let Some(class) = definition.class.filter(|_| !definition.name.starts_with("__")) else {
            return false;
        };
        let module = self.module(file);
        let makes = |word: &Ustr| module.names.scope(function).mentions.contains(*word);
        if definition.name != "forward" {
            let ran = self.supposed.entered.contains(&FnKey { file, function });
            return !ran && self.apis.makers().iter().any(makes) && self.is_of_module(file, class);
        }
        let words = self.apis.making_words();
        let functions = || module.tree.functions.iter().enumerate();
        let mentions = |index: usize, word: Ustr| module.names.scopes[index].mentions.contains(word);
        let making = |index: usize| words.iter().any(|word| mentions(index, *word));
        let mut helpers: Vec<Ustr> = functions()
            .filter(|(index, function)| function.class.is_none() && making(*index))
            .map(|(_, function)| function.name)
            .collect();
        helpers.extend(imported);
        let makes = functions().any(|(index, function)| {
            function.class == Some(class)
                && (making(index) || helpers.iter().any(|helper| mentions(index, *helper)))
        });
        makes && self.is_of_module(file, class)
    }

    fn is_of_module(&mut self, file: FileId, class: ClassId) -> bool {
        let found = self.class_object(file, class);
        found.is_some_and(|object| self.role_of(ClassRef::Project(object)) == Some(Role::Module))
    }
}

impl Interp<'_> {
    fn is_own(&self, layer: Option<ObjId>, value: &Value) -> bool {
        layer.zip(value.as_tensor()).is_some_and(|(layer, tensor)| self.own_method(layer, tensor).is_some())
    }

    /// The module one of whose methods runs, and calls a layer of its own with what it made itself: `sample` of a model
    /// that draws what it decodes.
    pub(crate) fn own_method(&self, layer: ObjId, tensor: &Tensor) -> Option<ObjId> {
        let DeviceOrigin::Default { made, .. } = tensor.device_origin? else { return None };
        let outer = self.running_modules().next().filter(|_| !self.in_constructor())?;
        let is_own = outer == layer || self.descendants(outer).contains(layer);
        let around = innermost_function(&self.module(made.file).tree, made).filter(|_| is_own)?;
        // What runs made it, or keeps it; what another object keeps its owner has handed over.
        let runs = || self.running_functions(made.file).contains(&around);
        let here = |value: &Value| {
            let origin = value.as_tensor().and_then(|tensor| tensor.device_origin);
            matches!(origin, Some(DeviceOrigin::Default { made: other, .. }) if other == made)
        };
        let keeps = |module: ObjId| self.heap.get(module).attrs.iter().any(|(_, value)| here(value));
        let is_kept = || self.running_modules().any(keeps);
        let is_handed = self.callers_of_module().any(|caller| caller == (made.file, around));
        (!is_handed && (runs() || is_kept()) && !self.serves_constructor(made.file, around)).then_some(outer)
    }

    /// The method of a module that runs, the outermost one.
    pub(crate) fn outermost_method(&self) -> Option<(FileId, FnId)> {
        let is_module = |object: ObjId| self.heap.get(object).module().is_some();
        let mut frames = self.frames.iter();
        let frame =
            frames.find(|frame| frame.receiver.as_ref().and_then(Value::as_obj).is_some_and(is_module))?;
        Some((frame.file, frame.function?))
    }

    /// Whether a constructor calls a method, directly or through others of its class: what that computes with runs
    /// before anybody can move the module, as where it asks for the size of features.
    fn serves_constructor(&self, file: FileId, method: FnId) -> bool {
        let module = self.module(file);
        let functions = &module.tree.functions;
        let class = module.tree.function(method).class;
        let of_class = || (0..functions.len()).filter(|index| functions[*index].class == class);
        let is_constructor = |index: &usize| functions[*index].name == "__init__";
        let mut reached: Vec<usize> = of_class().filter(is_constructor).collect();
        let mut next = 0;
        while let Some(from) = reached.get(next).copied() {
            let mentions = &module.names.scopes[from].mentions;
            let called =
                |index: &usize| mentions.contains(functions[*index].name) && !reached.contains(index);
            let found: Vec<usize> = of_class().filter(called).collect();
            reached.extend(found);
            next += 1;
        }
        let method = method.0 as usize;
        reached.iter().any(|index| *index == method && !is_constructor(index))
    }

    /// The functions that run around the outermost method of a module.
    pub(crate) fn callers_of_module(&self) -> impl Iterator<Item = (FileId, FnId)> {
        let is_module = |object: ObjId| self.heap.get(object).module().is_some();
        let outside = self
            .frames
            .iter()
            .take_while(move |frame| !frame.receiver.as_ref().and_then(Value::as_obj).is_some_and(is_module));
        outside.filter_map(|frame| Some((frame.file, frame.function?)))
    }

    /// Whether a constructor runs, or anything that one calls.
    pub(crate) fn in_constructor(&self) -> bool {
        self.frames.iter().any(|frame| frame.site.is_some_and(|(_, name)| name == "__init__"))
    }

    /// Functions of other files of the project that make tensors, by the names that forwards of a file call them by.
    pub(super) fn imported_makers(&mut self, file: FileId) -> Vec<Ustr> {
        let module = self.module(file);
        let (tree, names) = (&module.tree, &module.names);
        let forwards =
            tree.functions.iter().zip(&names.scopes).filter(|(function, _)| function.name == "forward");
        let said: FxHashSet<Ustr> = forwards.flat_map(|(_, scope)| scope.mentions.iter()).collect();
        let words = self.apis.making_words();
        let mut makers = self.imported_functions(file, |name| said.contains(&name));
        makers.retain(|(_, key)| {
            let scope = self.module(key.file).names.scope(key.function);
            words.iter().any(|word| scope.mentions.contains(*word))
        });
        makers.into_iter().map(|(name, _)| name).collect()
    }

    /// Functions of other files of the project that a file imports, by the names that it has for them.
    pub(super) fn imported_functions(
        &mut self,
        file: FileId,
        is_wanted: impl Fn(Ustr) -> bool,
    ) -> Vec<(Ustr, FnKey)> {
        let module = self.module(file);
        let is_import = |stmt: &StmtId| matches!(module.tree.stmt(*stmt).kind, StmtKind::ImportFrom { .. });
        let bindings = module.names.bindings.iter().filter(|(name, _)| is_wanted(**name));
        let imported = bindings.filter(|(_, bound)| bound.iter().any(is_import));
        let mut names: Vec<Ustr> = imported.map(|(name, _)| *name).collect();
        names.sort();
        let function = |name: Ustr| match self.module_attr(file, name) {
            Some(Value::Function(closure)) if closure.file != file => {
                Some((name, FnKey { file: closure.file, function: closure.function }))
            }
            _ => None,
        };
        names.into_iter().filter_map(function).collect()
    }
}

/// The function that a place stands in.
pub(crate) fn innermost_function(tree: &Tree, place: Place) -> Option<FnId> {
    let inside = |(_, function): &(usize, &Function)| function.span.contains(place.span);
    let around = tree.functions.iter().enumerate().filter(inside);
    around.max_by_key(|(_, function)| function.span.start).map(|(index, _)| FnId(index as u32))
}

/// What a forward takes out of what it is given, `x, lengths = batch` or `x = data.x`: by how it goes on with it, a
/// tensor that is where the model is.
pub(super) fn part_of_input(cx: &mut Interp, target: ExprId, value: ExprId, taken: Value) -> Value {
    let Some((file, function)) = cx.frames.last().and_then(|frame| {
        let forward = frame.site.is_some_and(|(_, name)| super::modules::FORWARDS.contains(&name.as_str()));
        Some((frame.file, frame.function.filter(|_| forward)?))
    }) else {
        return taken;
    };
    let tree = cx.tree(file);
    if !taken.is_unknown() || !is_part_of_parameter(tree, function, value) || cx.computing().is_none() {
        return taken;
    }
    let Some(env) = cx.loaded.modules.get(&file).map(|module| module.env) else { return taken };
    let closure = Closure { file, function, env, defaults: Vec::new(), class: None, wrap: Wrap::default() };
    let receiver = cx.frames.last().and_then(|frame| frame.receiver.as_ref()?.as_obj());
    let mut part = |target: ExprId| match tree.expr(target).kind {
        ExprKind::Name(name) if cx.is_taken_for_tensor(&closure, receiver, name) => {
            where_the_model_is(Some(cx.expr_place(target)))
        }
        _ => Value::Unknown,
    };
    match &tree.expr(target).kind {
        ExprKind::Tuple(targets) | ExprKind::List(targets) => {
            let parts: Vec<Value> = targets.iter().map(|target| part(*target)).collect();
            if parts.iter().all(Value::is_unknown) { taken } else { Value::tuple(parts) }
        }
        _ => part(target),
    }
}

/// `batch`, `batch.x`, `batch["x"]` or `batch[0]` of a parameter `batch`, but for the object itself.
fn is_part_of_parameter(tree: &Tree, function: FnId, mut value: ExprId) -> bool {
    loop {
        value = match tree.expr(value).kind {
            ExprKind::Attribute { base, .. } | ExprKind::Subscript { base, .. } => base,
            ExprKind::Name(name) => {
                return tree.function(function).params.iter().skip(1).any(|param| param.name == name);
            }
            _ => return false,
        }
    }
}

/// What is taken for a tensor of an input, and came with it.
/// What a parameter of a forward stands for: the same tensor wherever that is read.
fn input_of_forward(param: Option<Place>) -> Value {
    match where_the_model_is(None) {
        Value::Tensor(input) => {
            Value::tensor(Tensor { standing: param.map(Standing::of_input), ..(*input).clone() })
        }
        other => other,
    }
}

pub(super) fn where_the_model_is(made: Option<Place>) -> Value {
    Value::tensor(Tensor {
        device_origin: Some(DeviceOrigin::Module),
        confidence: Confidence::Medium,
        made,
        ..Tensor::default()
    })
}

pub(super) fn with_device_origin(value: Value, device_origin: Option<DeviceOrigin>) -> Value {
    match &value {
        Value::Tensor(tensor) => Value::tensor(Tensor { device_origin, ..(**tensor).clone() }),
        Value::Maybe(inner) => Value::Maybe(Rc::new(with_device_origin((**inner).clone(), device_origin))),
        _ => value,
    }
}
