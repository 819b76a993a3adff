//! Graphs: backward, what is carried over iterations, singular operations, gradients of parameters.

use super::call_path::CallPath;
use super::reach::Leaving;
use super::{BackwardCall, Call, Interp, Invocation};
use crate::apis::{Api, Role, Transfer, Verb};
use crate::names::Subject;
use crate::report::{Confidence, Place};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use crate::trace::{Effect, Event, Node, Sight};
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// What is known of graphs beside the values that hold them.
#[derive(Default)]
pub(super) struct Graphs {
    /// Ids of graphs that are followed, by where that began.
    followed: FxHashMap<(CallPath, Place), u32>,
    /// How many of them there are.
    ids: u32,
    /// Models that are not seen into, of which the script has asked for parts.
    pub(super) handed_out: ObjSet,
    /// Everything that optimizers were given so far.
    pub(super) optimized: ObjSet,
    /// How what is let go of leaves.
    pub(super) leaving: Leaving,
    /// Some layer has a hook.
    pub(super) hooks: bool,
    /// Bytes that the layers of the running forward gave, and that its graph keeps.
    pub(super) kept: u64,
    /// Some layer of the running forward has computed as it does in training.
    pub(super) trained: bool,
}

impl<'p> Interp<'p> {
    /// An id for a graph that is followed from this place on.
    pub(crate) fn graph_id(&mut self, place: Place) -> u32 {
        let key = (self.sites.path, place);
        if let Some(id) = self.graphs.followed.get(&key) {
            return *id;
        }
        self.graphs.ids += 1;
        self.graphs.followed.insert(key, self.graphs.ids);
        self.graphs.ids
    }

    pub(super) fn backward(
        &mut self,
        loss: &Value,
        call: &Invocation,
        has_gradient: bool,
        retains: Option<bool>,
    ) {
        let place = call.place;
        match loss.bare() {
            Value::Tensor(tensor) => {
                let (leaves, others) = match &tensor.graph {
                    // Its graph begins at itself: nothing that anybody steps gets a gradient.
                    Graph::Live(nodes) if tensor.is_leaf && nodes.own && !nodes.maybe => {
                        (nodes.leaves.clone(), false)
                    }
                    Graph::Live(nodes) if !nodes.maybe => (nodes.leaves.clone(), nodes.others),
                    Graph::Live(_) | Graph::Unknown => (ObjSet::default(), true),
                    Graph::None => (ObjSet::default(), false),
                };
                self.follow_away(tensor);
                self.note_backpropagated(tensor);
                self.walk_parts(tensor, place, retains);
                if tensor.graph.is_unclear() {
                    self.unknown_backward(place);
                    self.walk_blindly(place);
                }
                self.out.walked = self.out.walked.union(&leaves);
                let confidence = tensor.confidence;
                let scaled = match tensor.graph {
                    Graph::Unknown if tensor.scaled == Scaled::No => Scaled::Maybe,
                    _ => tensor.scaled,
                };
                self.on_backward(&BackwardCall { loss: tensor, leaves: &leaves, call });
                self.event(place, Effect::Backward { leaves, others, scaled }, Confidence::High);
                let sight = Sight::Backward { loss: tensor.clone(), has_gradient };
                self.see(place, sight, confidence);
            }
            _ => {
                let mut reached = ObjSet::default();
                self.reach(loss, &mut reached, 2);
                self.unknown_backward(place);
                self.walk_blindly(place);
                self.event(
                    place,
                    Effect::Backward { leaves: ObjSet::default(), others: true, scaled: Scaled::Maybe },
                    Confidence::High,
                );
            }
        }
    }

    /// Whether an expression is what `.item()` gives, whatever that is asked of.
    pub(super) fn is_taken_out(&self, expr: ExprId) -> bool {
        let (tree, module) = (self.here(), self.module(self.file()));
        let gives = |call: ExprId| {
            let ExprKind::Call { callee, .. } = tree.expr(call).kind else { return false };
            let ExprKind::Attribute { name, .. } = tree.expr(callee).kind else { return false };
            let api = self.apis.method_of(Role::Tensor, name);
            api.and_then(Api::transfer) == Some(Transfer::Item)
        };
        match tree.expr(expr).kind {
            ExprKind::Name(name) => {
                let function = self.frames.last().and_then(|frame| frame.function);
                let owner = module.names.owner(tree, function, name);
                let mut bound = module.relations().bindings(Subject::Local(owner, name)).peekable();
                bound.peek().is_some() && bound.all(|(value, _)| gives(value))
            }
            _ => gives(expr),
        }
    }

    /// `loss.item().backward()`: a number of the language has no such method, as it has no graph. Nor has a tuple, whose
    /// first part was meant: what follows is judged as if it were there.
    pub(super) fn backward_of_no_tensor(
        &mut self,
        receiver: &Value,
        name: Ustr,
        call: &Call,
    ) -> Option<Value> {
        if !matches!(receiver, Value::Float(_) | Value::Tuple(_)) {
            return None;
        }
        let api = self.apis.method_of(Role::Tensor, name)?;
        api.does(Verb::Backward).then_some(())?;
        let loss = match receiver {
            Value::Tuple(parts) => parts.first().filter(|part| part.as_tensor().is_some())?.clone(),
            _ => self.number_as_loss(call.place),
        };
        Some(self.call_api_method(api.name, &loss, call))
    }

    /// What `loss.item()` gave, as the loss without a graph that it is where one is needed.
    pub(super) fn number_as_loss(&self, place: Place) -> Value {
        let by = Some(Ustr::from(DetachPoint::NUMBER));
        let point = DetachPoint { place, by, lost: ObjSet::default(), unrecorded: false };
        Value::tensor(Tensor {
            graph: Graph::None,
            made: Some(place),
            detach_points: Some(Rc::from([point])),
            confidence: self.supposed.trust,
            ..Tensor::default()
        })
    }

    /// A backward through a graph of which nothing is known.
    fn unknown_backward(&mut self, place: Place) {
        self.out.unknown_backwards.insert(place);
        // Of what was handed to functions that are not seen, it may come.
        let handed_over = std::mem::take(&mut self.out.handed_over);
        self.out.consumed.extend(handed_over);
        self.on_unknown_backward(());
    }

    /// Gradients of a loss are taken as values.
    pub(super) fn walk_for_values(&mut self, loss: &Value, place: Place) {
        self.walk(loss);
        self.note_walked(loss, false, place);
    }

    /// A loss whose gradients are taken as values, or that a framework goes back through as a hook returned it.
    pub(super) fn note_walked(&mut self, loss: &Value, returned: bool, place: Place) {
        match loss.bare() {
            Value::Tensor(loss) => {
                self.see(place, Sight::Walked { loss: loss.clone(), returned }, loss.confidence);
            }
            _ => self.see(place, Sight::BlindWalk, Confidence::High),
        }
    }

    fn walk_blindly(&mut self, place: Place) {
        self.out.blind_backward = true;
        self.see(place, Sight::BlindBackward, Confidence::High);
    }

    /// The graph of a tensor left for where we cannot see.
    pub(super) fn let_go(&mut self, tensor: &Tensor) {
        self.lose_parts(tensor);
        self.follow_away(tensor);
    }

    /// The graph of a tensor was walked, or may be.
    fn follow_away(&mut self, tensor: &Tensor) {
        if let Graph::Live(nodes) = &tensor.graph {
            self.out.reached.extend(nodes.leaves.iter());
            let left = match self.graphs.leaving {
                Leaving::Used => &mut self.out.consumed,
                Leaving::HandedOver => &mut self.out.handed_over,
                Leaving::Returned => &mut self.out.returned,
            };
            left.extend(nodes.carried.iter().copied());
        }
    }

    /// A backward goes through the graph of a tensor.
    pub(super) fn note_backpropagated(&mut self, tensor: &Tensor) {
        if let Graph::Live(nodes) = &tensor.graph {
            self.out.backpropagated.extend(nodes.carried.iter().copied());
        }
    }

    /// An expression as it is written, for messages.
    pub(crate) fn written(&self, expr: ExprId) -> Rc<str> {
        let file = self.file();
        let module = self.module(file);
        let span = module.tree.expr(expr).span;
        Rc::from(module.source.text.get(span.range()).unwrap_or_default())
    }

    /// `x.requires_grad = True` on a tensor that was in no graph: a leaf from here on.
    pub(super) fn asked(&self, receiver: &Value, name: Ustr, flag: &Value) -> Option<Value> {
        match receiver {
            Value::Tensor(tensor) if name == "requires_grad" => {
                super::transfer::factory::new_leaf(self, tensor, flag.as_bool())
            }
            _ => None,
        }
    }

    /// `p.grad = None`, `p.grad = zeros`, on a tensor or on what is not known.
    pub(super) fn set_grad(&mut self, receiver: &Value, value: &Value, place: Place) {
        let leaves = match receiver.as_tensor().map(|tensor| &tensor.graph) {
            Some(Graph::Live(nodes)) => nodes.leaves.clone(),
            _ => ObjSet::default(),
        };
        let effect = match value.bare() {
            // Of a leaf that has no name for us, or of something unknown: these may be any gradients.
            _ if leaves.is_empty() => Effect::Clear { targets: leaves, whole: false },
            Value::None => Effect::Clear { targets: leaves, whole: true },
            // Whatever was written here, it is no longer what the backwards have left.
            _ => Effect::WriteGradients { objects: leaves, kept: false },
        };
        self.event(place, effect, Confidence::High);
    }

    /// The same on some parameters of a module, as a loop over them gives them.
    pub(super) fn set_params_attr(&mut self, params: &Params, name: Ustr, value: &Value, place: Place) {
        match name.as_str() {
            "grad" if matches!(value.bare(), Value::None) => {
                self.event(
                    place,
                    Effect::Clear {
                        targets: params.owners.clone(),
                        whole: params.whole && params.only.is_none(),
                    },
                    Confidence::High,
                );
            }
            "grad" => {
                let objects = params.owners.clone();
                self.event(place, Effect::WriteGradients { objects, kept: false }, Confidence::High);
            }
            "requires_grad" => {
                let frozen = self.truth(value).map(|learns| !learns);
                if let Some(listed) = &params.only {
                    return self.freeze_listed(listed, params.whole, frozen);
                }
                // Some of them, and any may be among these.
                let frozen = frozen.filter(|_| params.whole);
                let all = Value::Params(Rc::new(Params { whole: true, ..params.clone() }));
                self.freeze_parts(&all, frozen);
            }
            _ => {}
        }
    }

    /// A part of a model that is not seen into was asked for: whoever has it has its parameters.
    pub(super) fn note_handed_out(&mut self, object: ObjId) {
        let hidden = |module: &ModuleState| module.weights == Learned::Opaque;
        if self.heap.get(object).module().is_some_and(hidden) {
            self.graphs.handed_out.insert(object);
        }
    }

    /// Something unknown asks for gradients from here on, or no longer does: it may be a parameter of such a part.
    pub(super) fn doubt_handed_out(&mut self) {
        for object in self.graphs.handed_out.clone().iter() {
            if let State::Module(module) = &mut self.heap.get_mut(object).state {
                module.freeze(None);
            }
        }
    }

    /// Methods of `p.grad`.
    pub(super) fn grad_method(&mut self, owners: &ObjSet, name: &str, call: &Call) -> Value {
        match name {
            "fill_" if call.arg(0, "value").and_then(Value::as_known_int) == Some(0) => {
                self.grad_method(owners, "zero_", call)
            }
            "mul_" if call.arg(0, "other").and_then(Value::as_known_int) == Some(0) => {
                self.grad_method(owners, "zero_", call)
            }
            "zero_" => {
                self.unread();
                self.event(
                    call.place,
                    Effect::Clear { targets: owners.clone(), whole: true },
                    Confidence::High,
                );
                Value::Grad(Rc::new(owners.clone()))
            }
            "detach_" | "requires_grad_" => {
                self.unread();
                Value::Grad(Rc::new(owners.clone()))
            }
            "detach" => Value::Grad(Rc::new(owners.clone())),
            _ if name.ends_with('_') => {
                let kept = self.is_computed_in_place(name);
                if kept {
                    self.unread();
                }
                let objects = owners.clone();
                self.event(call.place, Effect::WriteGradients { objects, kept }, Confidence::High);
                Value::Grad(Rc::new(owners.clone()))
            }
            _ => Value::tensor(Tensor { graph: Graph::None, ..Tensor::default() }),
        }
    }

    /// The owners of the gradients that an augmented assignment writes: `p.grad *= scale`, `p.grad[:] *= scale`.
    pub(super) fn gradients_in(&mut self, target: ExprId) -> Option<ObjSet> {
        let tree = self.here();
        let part = match tree.expr(target).kind {
            ExprKind::Subscript { base, .. } => base,
            _ => target,
        };
        // Only what names a gradient is looked at a second time.
        let named = match &tree.expr(part).kind {
            ExprKind::Attribute { name, base, .. } if *name == "data" => &tree.expr(*base).kind,
            kind => kind,
        };
        if !matches!(named, ExprKind::Attribute { name, .. } if *name == "grad") {
            return None;
        }
        let owners = match self.eval(part).bare() {
            Value::Grad(owners) => Some((**owners).clone()),
            _ => None,
        };
        self.unread();
        owners
    }

    /// Gradients that are scaled, or to which something is added, still hold what backward passes added; what is
    /// multiplied by zero is cleared.
    pub(super) fn augment_gradients(&mut self, owners: &ObjSet, op: BinaryOp, value: ExprId, target: ExprId) {
        self.unread();
        let operand = self.eval(value);
        let effect = match op == BinaryOp::Mul && operand.as_num() == Some(0.0) {
            true => Effect::Clear { targets: owners.clone(), whole: true },
            false => Effect::WriteGradients { objects: owners.clone(), kept: true },
        };
        let place = self.expr_place(target);
        self.event(place, effect, Confidence::High);
    }

    /// Whether what such a method of a tensor writes is computed of what was there: `clamp_`, and not `copy_`. The
    /// tables name the operand of a function that works in place.
    fn is_computed_in_place(&self, name: &str) -> bool {
        let classes = self.apis.classes_of(crate::apis::Role::Tensor);
        let api = classes.iter().find_map(|class| self.apis.method(*class, Ustr::from(name)));
        api.is_some_and(|api| api.params.first().is_some_and(|param| param.name == "input"))
    }

    /// The gradient that was just looked at is not used after all: it is compared with `None`, or cleared.
    pub(super) fn unread(&mut self) {
        let Some(open) = self.trace.last_mut() else { return };
        let mut start = None;
        while let Some(Node::Event(Event { effect: Effect::Read { .. }, place, .. })) = open.last()
            && *start.get_or_insert(place.span.start) == place.span.start
        {
            open.pop();
        }
    }

    /// Whether it stands for a packed sequence, which is no tensor itself.
    pub(super) fn is_packed(&self, tensor: &Tensor) -> bool {
        let made_by = tensor.what.and_then(|name| self.apis.get(name));
        made_by.is_some_and(|api| api.transfer() == Some(Transfer::Packed))
    }

    /// A tensor's attribute, from the tables.
    pub(super) fn tensor_attr(
        &mut self,
        tensor: &Rc<Tensor>,
        value: &Value,
        name: Ustr,
        place: Place,
    ) -> Value {
        let role = if tensor.is_array { Role::Array } else { Role::Tensor };
        if name == "data" && self.is_packed(tensor) {
            return Value::tensor(super::transfer::held_by_packed(tensor));
        }
        if name == "grad" {
            return match &tensor.graph {
                Graph::Live(nodes) => Value::Grad(Rc::new(nodes.leaves.clone())),
                _ => Value::Unknown,
            };
        }
        let apis = self.apis;
        let api = apis.classes_of(role).iter().find_map(|class| apis.method(*class, name));
        match api {
            Some(api) if api.property => self.call_api_method(api.name, value, &Call::new(place)),
            Some(api) => {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Api(api.name) }))
            }
            // A part, or a method that gives parts.
            None if tensor.is_tree() => part_of_record(tensor),
            // The output of a model that we do not see into may be a record of tensors.
            None if tensor.shape.is_none() && tensor.source == Source::Output && !tensor.has_axis => {
                match name.as_str() {
                    // Models that compute their loss themselves take the mean.
                    "loss" => super::expr::average(value),
                    _ => part_of_record(tensor),
                }
            }
            None => {
                let is_joined = tensor.has_axis && tensor.source == Source::Output;
                // A box list has a `resize`, too, that takes two numbers of which nothing is known.
                let is_shaped = tensor
                    .shape
                    .as_ref()
                    .is_some_and(|shape| shape.is_empty() || shape.iter().any(|size| !size.is_unknown()));
                let is_sure = !tensor.is_array && (is_shaped || tensor.last.is_some() || is_joined);
                // Of what came from outside nothing but its use says that it is no array.
                let is_seen = !matches!(tensor.graph, Graph::Unknown);
                let confidence = if is_seen { tensor.confidence } else { Confidence::Medium };
                for class in apis.classes_of(role).iter().filter(|_| is_sure) {
                    self.see(place, Sight::UnknownAttribute { class: *class, name }, confidence);
                }
                self.let_go(tensor);
                Value::Unknown
            }
        }
    }
}

/// What a record of tensors holds beside others may be integers, and masks.
fn part_of_record(record: &Tensor) -> Value {
    Value::tensor(Tensor { dtype: None, ..record.clone() })
}
