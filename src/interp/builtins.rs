//! The builtins of the language that need the interpreter: those that call back, ask for attributes or
//! take tensors. What plain values suffice for is in `python`.

use super::{Call, Interp, inherited, python};
use crate::apis::{Api, Role, Transfer};
use crate::report::Place;
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind};
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// A method of a value of the language's own, or one that its class inherits.
    pub(super) fn language_method(&mut self, receiver: &Value, name: Ustr, call: &Call) -> Value {
        if let Value::Grad(owners) = receiver {
            return self.grad_method(&owners.clone(), &name, call);
        }
        if inherited::constructs(self, receiver, name, call) {
            return Value::None;
        }
        let of_number = self.backward_of_no_tensor(receiver, name, call);
        of_number.or_else(|| python::method(self, receiver, &name, call)).unwrap_or_else(|| {
            self.havoc(call);
            Value::Unknown
        })
    }

    /// A builtin: those that need the interpreter itself, then the language's own.
    pub(super) fn call_builtin(&mut self, name: Ustr, call: &Call, args: &[crate::syntax::Arg]) -> Value {
        if let Some(value) = self.made_function(&name, call) {
            return value;
        }
        self.go_through(&name, call);
        let value = self.builtin(name, call);
        if let ("len", [of], Value::Int(length)) = (name.as_str(), args, &value)
            && length.int.is_unknown()
        {
            return Value::Int(Num { int: self.length_of_path(of.value), ..length.clone() });
        }
        self.iterated(&name, call, value)
    }

    fn builtin(&mut self, name: Ustr, call: &Call) -> Value {
        let first = call.arg(0, "");
        match name.as_str() {
            // It is bound to no instance: what is called on it does nothing.
            "super" if first.is_some() && call.arg(1, "").is_none() => Value::Float(None),
            "super" => self.super_value(first.cloned()),
            "object.__init__" => Value::None,
            "object.method" => Value::Unknown,
            "isinstance" => match (first, call.arg(1, "")) {
                (Some(value), Some(class)) => Value::Bool(self.is_instance(&value.clone(), &class.clone())),
                _ => Value::Bool(None),
            },
            "getattr" => self.getattr_builtin(call),
            "setattr" => {
                if let (Some(receiver), Some(name), Some(value)) = (first, call.arg(1, ""), call.arg(2, ""))
                    && let Some(name) = name.as_str()
                {
                    let (receiver, name, value) = (receiver.clone(), Ustr::from(name), value.clone());
                    self.set_attr(&receiver, name, value, call.place);
                } else if let (Some(module), Some(value)) = (first.and_then(Value::as_obj), call.arg(2, "")) {
                    let value = value.clone();
                    self.open_options(module);
                    // Layers under numbered names lie beside each other.
                    if value.as_obj().is_none() {
                        self.overwritten_by_name(module, &value);
                    }
                    self.register_unnamed(module, &value);
                }
                Value::None
            }
            "hasattr" => Value::Bool(self.surely_has(call).then_some(true)),
            "len" => match first {
                Some(value) => {
                    let value = value.clone();
                    let from = self.length_given(&value);
                    let length = Num::of(self.length(&value, call.place));
                    Value::Int(from.map_or(length.clone(), |origin| length.set_at(&origin)))
                }
                None => Value::of_int(Int::Unknown),
            },
            _ => match python::call(self, &name, call) {
                Some(value) => value,
                None => self.builtin_of_tensors(&name, call),
            },
        }
    }

    /// `for name, value in given.items(): setattr(self, name, value)`: a tensor that an attribute
    /// held before may be gone.
    fn overwritten_by_name(&mut self, object: ObjId, value: &Value) {
        let held = self.heap.get(object).attrs.clone();
        self.burn_over(held.len());
        for (name, before) in held.into_iter().filter(|(_, held)| held.as_tensor().is_some()) {
            let either = self.heap.join(&before, value);
            self.heap.get_mut(object).set_attr(name, either);
        }
    }

    /// `hasattr(loss, "item")`: what tensors have, a tensor has, and an instance the methods of its class.
    fn surely_has(&mut self, call: &Call) -> bool {
        let name = call.arg(1, "").and_then(Value::as_str).map(Ustr::from);
        let object = call.arg(0, "").and_then(Value::as_obj);
        if object.and_then(|object| self.hidden_by(object)).is_some_and(|(_, sure)| sure) {
            return name.is_some_and(|name| name == "module");
        }
        let class =
            object.filter(|object| !self.heap.is_merged(*object)).map(|object| self.heap.get(object).class);
        if let (Some(ClassRef::Project(class)), Some(name)) = (class, name)
            && matches!(self.find_attr(class, name), Some(Value::Function(_)))
        {
            return true;
        }
        let is_tensor = matches!(call.arg(0, ""), Some(Value::Tensor(_)));
        is_tensor && name.is_some_and(|name| self.apis.method_of(Role::Tensor, name).is_some())
    }

    fn getattr_builtin(&mut self, call: &Call) -> Value {
        let Some(receiver) = call.arg(0, "").cloned() else { return Value::Unknown };
        match call.arg(1, "").and_then(|name| name.as_str().map(Ustr::from)) {
            Some(name) => {
                let value = self.get_attr(&receiver, name, call.place);
                match (value, call.arg(2, "")) {
                    (Value::Unknown, Some(default)) if !receiver.is_unknown() => {
                        let default = default.clone();
                        self.heap.join(&default, &Value::Unknown)
                    }
                    (value, _) => value,
                }
            }
            None => self.some_layer_of(&receiver),
        }
    }

    /// `getattr(self, f"conv{i}")` of a module is one of its layers.
    fn some_layer_of(&mut self, receiver: &Value) -> Value {
        /// Of more layers none is likelier than another.
        const MOST: usize = 12;
        let Some(module) = receiver.as_obj().filter(|object| self.heap.get(*object).module().is_some())
        else {
            return Value::Unknown;
        };
        let is_layer =
            |value: &Value| value.as_obj().is_some_and(|part| self.heap.get(part).module().is_some());
        let here = self.heap.get(module);
        let named = here.attrs.iter().map(|(_, value)| value.clone());
        let unnamed = here.module().into_iter().flat_map(|state| &state.parts).map(|part| Value::Obj(*part));
        let layers: Vec<Value> = named.chain(unnamed).filter(is_layer).collect();
        if layers.len() > MOST {
            return Value::Unknown;
        }
        self.heap.any_of(&Items::exact(layers)).unwrap_or_default()
    }

    /// `sum`, `abs`, `max` of tensors: the operators on them.
    fn builtin_of_tensors(&mut self, name: &str, call: &Call) -> Value {
        let Some(first) = call.arg(0, "").cloned() else { return Value::Unknown };
        match name {
            "sum" => {
                let items = self.iterate(&first, call.place);
                match items.exact {
                    Some(exact) => exact.into_iter().fold(Value::int(0), |all, item| {
                        self.binary(crate::syntax::BinaryOp::Add, &all, &item, call.place, false)
                    }),
                    None => {
                        let sum = self.binary(
                            crate::syntax::BinaryOp::Add,
                            &items.any.clone(),
                            &items.any,
                            call.place,
                            false,
                        );
                        match sum.as_tensor() {
                            Some(tensor) => Value::tensor(Tensor {
                                range: None,
                                numbers: None,
                                recipe: None,
                                ..(**tensor).clone()
                            }),
                            None => Value::Unknown,
                        }
                    }
                }
            }
            "float" | "round" => Value::Float(None),
            "int" => Value::of_int(Int::Unknown),
            "abs" | "pow" | "max" | "min" => match first.as_tensor() {
                Some(tensor) => Value::tensor(Tensor {
                    range: None,
                    mark: None,
                    numbers: tensor.numbers.as_deref().map(super::formulas::other_numbers),
                    ..(**tensor).clone()
                }),
                None => Value::Unknown,
            },
            "next" => match first.bare() {
                Value::Obj(_) | Value::Params(_) => self.drawn(&first, call.place),
                _ => first,
            },
            "iter" => match first.as_obj() {
                Some(object) if matches!(self.heap.get(object).state, State::Loader(_)) => {
                    self.wrapped_iterable(&first, call.place)
                }
                _ => first,
            },
            _ => {
                if !matches!(name, "print" | "repr" | "str" | "format" | "id" | "type") {
                    self.havoc(call);
                }
                Value::Unknown
            }
        }
    }

    /// `a @ b` and the like on instances of the project's classes.
    pub(super) fn operator_method(
        &mut self,
        op: crate::syntax::BinaryOp,
        a: &Value,
        b: &Value,
        place: Place,
    ) -> Option<Value> {
        use crate::syntax::BinaryOp::*;
        let name = match op {
            Add => "__add__",
            Sub => "__sub__",
            Mul => "__mul__",
            Div => "__truediv__",
            MatMul => "__matmul__",
            Pow => "__pow__",
            Mod => "__mod__",
            _ => return None,
        };
        let object = a.as_obj()?;
        match self.find_attr(object, Ustr::from(name))? {
            Value::Function(closure) => Some(self.inline(&closure, Some(a), &Call::with(place, [b.clone()]))),
            _ => None,
        }
    }

    /// How often a loop goes round that goes through it, `enumerate` and progress bars around it or not.
    pub(super) fn length_of_iterated(&mut self, iterated: ExprId) -> Int {
        let tree = self.here();
        let ExprKind::Call { callee, args } = &tree.expr(iterated).kind else {
            return self.length_of_path(iterated);
        };
        let Some(Arg { kind: ArgKind::Positional, value, .. }) = args.first() else { return Int::Unknown };
        if !matches!(tree.expr(*callee).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return Int::Unknown;
        }
        let goes_through = match self.eval(*callee) {
            Value::Builtin(name) => name == "enumerate",
            Value::Api(name) => self.apis.get(name).is_some_and(wraps_iterable),
            _ => false,
        };
        if goes_through { self.length_of_iterated(*value) } else { Int::Unknown }
    }
}

/// Whether a call goes through what it is given: a progress bar, as a function or as a class.
fn wraps_iterable(api: &Api) -> bool {
    let makes = api.class.as_ref().and_then(|class| class.makes.as_ref());
    api.transfer().or(makes.map(|makes| makes.verb)) == Some(Transfer::Iterable)
}
