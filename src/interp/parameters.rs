//! The parameters of modules, as optimizers collect them: through attributes, lists and groups, and what
//! layers learn.

use super::{Call, Interp, Invocation, modules::DEEPEST};
use crate::apis::{Api, Weights};
use crate::syntax::BinaryOp;
use crate::values::*;
use std::rc::Rc;

impl<'p> Interp<'p> {
    /// `model.parameters()`
    pub(super) fn parameters(&self, value: &Value) -> Value {
        match value.bare() {
            Value::Obj(object) => Value::Params(Rc::new(Params {
                owners: ObjSet::one(*object),
                whole: true,
                ..Params::default()
            })),
            _ => Value::Unknown,
        }
    }

    /// One of some parameters, as a loop over them gives it.
    pub(super) fn parameter_of(&self, params: &Params) -> Value {
        Value::Params(Rc::new(Params { stream: None, named: false, ..params.clone() }))
    }

    /// A parameter of a layer as the tensor that it is, of which only its layer says more.
    pub(crate) fn parameter_tensor(&self, params: &Params) -> Tensor {
        if let Some(one) = params.only_one() {
            return self.weight_of_layer(params, one);
        }
        // A module stands for all that is below it, as an output does not.
        let leaves = params.owners.iter().fold(ObjSet::default(), |all, owner| {
            all.union(&self.descendants(owner)).union(&ObjSet::one(owner))
        });
        let nodes = Nodes {
            leaves,
            others: params.others,
            oldest: 0,
            carried: Rc::from([]),
            maybe: false,
            own: false,
            parts: Parts::default(),
            bare: true,
        };
        let graph = if self.ambient.grad == Some(false) { Graph::None } else { Graph::Live(Rc::new(nodes)) };
        Tensor { device: self.device_of_params(params), ..Tensor::of_parameter(graph) }
    }

    /// `layer.weight`, with what its layer says of it.
    fn weight_of_layer(&self, params: &Params, one: &Parameter) -> Tensor {
        let tensor = self.heap.weight_of_layer(one).unwrap_or_else(|| Tensor::of_parameter(Graph::Unknown));
        let graph = if self.ambient.grad == Some(false) { Graph::None } else { tensor.graph.clone() };
        let device = self.device_of_params(params);
        Tensor { graph, device, ..tensor }.with_shape(self.shape_of_parameter(one))
    }

    /// A parameter beside a tensor or a number is a tensor; two of them may be lists, and their sum another one.
    pub(super) fn as_operand(&self, op: BinaryOp, value: &Value, other: &Value) -> Value {
        match (value.bare(), other.bare()) {
            (Value::Params(_), Value::Params(_)) if op == BinaryOp::Add => value.clone(),
            (
                Value::Params(params),
                Value::Params(_) | Value::Tensor(_) | Value::Int(_) | Value::Float(_),
            ) => Value::tensor(self.parameter_tensor(params)),
            _ => value.clone(),
        }
    }

    /// The parameters of a module: as a value where they are a property, else for one pass only.
    pub(super) fn all_parameters(&mut self, call: &Invocation) -> Value {
        let params = self.parameters(&call.nth(0));
        if call.api.property { params } else { self.one_shot(params, None, call.place) }
    }

    /// Pairs of a name and a parameter, for one pass only.
    pub(super) fn named_parameters(&mut self, call: &Invocation) -> Value {
        let params = named(self.parameters(&call.nth(0)));
        let pairs = self.list_of(call.place, Value::tuple(vec![Value::Str(None), params]));
        self.one_shot(pairs, None, call.place)
    }

    /// A module and all below it, alone or in pairs with their names.
    pub(super) fn modules_below(&mut self, call: &Invocation, named: bool) -> Value {
        let object = call.nth(0).as_obj();
        let parts = object.map(|object| self.descendants(object).iter().map(Value::Obj).collect());
        self.module_list(call, parts.unwrap_or_default(), named)
    }

    /// The submodules, alone or in pairs with their names.
    pub(super) fn children(&mut self, call: &Invocation, named: bool) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        let is_module =
            |value: &&Value| value.as_obj().is_some_and(|child| self.heap.get(child).module().is_some());
        let parts =
            self.heap.get(object).attrs.iter().map(|(_, value)| value).filter(is_module).cloned().collect();
        // Of a model from elsewhere the script has seen only the layers that it has put there.
        let hidden = self.heap.get(object).module().is_some_and(|module| module.weights == Learned::Opaque)
            || super::inherited::has_parts_of_its_own(self, object);
        let parts = if hidden && self.indexed_children(object).is_none() { Vec::new() } else { parts };
        self.module_list(call, parts, named)
    }

    /// A list of modules, or of pairs with their names.
    fn module_list(&mut self, call: &Invocation, parts: Vec<Value>, named: bool) -> Value {
        let parts = if named {
            parts.into_iter().map(|part| Value::tuple(vec![Value::Str(None), part])).collect()
        } else {
            parts
        };
        if parts.is_empty() { self.list_of(call.place, Value::Unknown) } else { self.list(call.place, parts) }
    }

    /// An optimizer class of the project: what its constructor is given is what it owns.
    pub(super) fn optimizer_of_project(&mut self, object: ObjId, call: &Call) {
        let Some(params) = call.values().next().cloned() else { return };
        self.lose_track(&params);
        let state = self.optimizer_state(&params);
        self.heap.get_mut(object).state = State::Optimizer(state);
        self.note_gathered(object, false, call.place);
    }

    /// How many numbers a layer learns.
    pub(super) fn weights(&mut self, api: &Api, call: &Invocation) -> Learned {
        let mut ancestors = vec![api];
        let mut position = 0;
        while let Some(here) = ancestors.get(position).copied() {
            let Some(class) = here.class.as_ref() else { break };
            match &class.weights {
                Some(Weights::None) => return Learned::Nothing,
                Some(Weights::Some) => return Learned::Own(None),
                Some(Weights::Sum(terms)) => {
                    let mut sum = Some(0i64);
                    for term in terms {
                        let factors = || {
                            term.iter().map(|factor| {
                                let factor = call.value_of(factor);
                                factor.as_known_int().or_else(|| factor.as_bool().map(i64::from))
                            })
                        };
                        // What is switched off has none, whatever its size.
                        let is_off = factors().any(|factor| factor == Some(0));
                        let product = factors().try_fold(1i64, |all, factor| all.checked_mul(factor?));
                        let product = if is_off { Some(0) } else { product };
                        sum = sum.zip(product).and_then(|(a, b)| a.checked_add(b));
                    }
                    // Statistics that a layer keeps for evaluation are moved with it as parameters are.
                    let is_bare = sum == Some(0) && !self.is_mode_dependent(api, call);
                    return if is_bare { Learned::Nothing } else { Learned::Own(sum) };
                }
                None => {}
            }
            if class.call.is_some() || here.gives.is_some() {
                return Learned::Nothing;
            }
            let apis = self.apis;
            ancestors.extend(class.is.iter().filter_map(|base| apis.class(*base)));
            position += 1;
            if position > DEEPEST {
                break;
            }
        }
        Learned::Opaque
    }
}

/// Parameters beside which their names stand.
fn named(value: Value) -> Value {
    match value {
        Value::Params(params) => Value::Params(Rc::new(Params { named: true, ..(*params).clone() })),
        other => other,
    }
}

impl Interp<'_> {
    /// Whether any parameter inside a module asks for gradients.
    pub(crate) fn learns(&self, object: ObjId) -> Option<bool> {
        let mut doubt = false;
        for part in self.descendants(object).iter() {
            let Some(module) = self.heap.get(part).module() else { continue };
            let own = self.heap.get(part).attrs.iter().any(|(_, value)| is_parameter(value));
            match (module.weights, module.frozen) {
                (_, Some(true)) => {}
                (Learned::Nothing, _) if !own => {}
                (Learned::Opaque, None) | (_, Some(false)) => return Some(true),
                _ => doubt = true,
            }
        }
        if doubt { None } else { Some(false) }
    }

    /// Sets `requires_grad` of all parameters inside a module, or of the owners of parameters; `None` where nobody knows.
    pub(super) fn freeze_parts(&mut self, target: &Value, frozen: Option<bool>) {
        let mut leaves = ObjSet::default();
        for part in self.parts_of(target).iter() {
            for (_, value) in self.heap.get(part).attrs.iter().filter(|(_, value)| is_parameter(value)) {
                leaves =
                    value.as_tensor().map_or(leaves.clone(), |tensor| leaves.union(&tensor.graph.leaves()));
            }
        }
        self.for_each_part(target, |module| module.freeze(frozen));
        for leaf in leaves.iter() {
            if let State::Module(module) = &mut self.heap.get_mut(leaf).state {
                module.freeze(frozen);
            }
        }
    }

    /// A parameter that is read from its module: no graph begins at it while `requires_grad` is off.
    pub(super) fn while_frozen(&self, value: Value) -> Value {
        let Some(tensor) = value.as_tensor().filter(|_| is_parameter(&value)) else { return value };
        let leaves = tensor.graph.leaves();
        let graph = match leaves.iter().find_map(|leaf| self.heap.get(leaf).module()).map(|own| own.frozen) {
            Some(Some(true)) => Graph::None,
            Some(None) => Graph::Unknown,
            _ => return value,
        };
        Value::tensor(Tensor { graph, ..(**tensor).clone() })
    }
}

/// A tensor that asks for gradients and belongs to a module by being its attribute.
pub(crate) fn is_parameter(value: &Value) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.graph.is_live() && tensor.is_parameter())
}
