//! Models whose training a framework runs: how they are compiled and fitted, and the loss and the memory of one batch,
//! found out by running it.

use super::{
    Call, FitCall, Instance, Interp, Invocation, Passed, assembled::INPUT, compiled, compiled::Head,
    heads::NAME_OF_HEAD, transfer,
};
use crate::apis::{Operand, Role};
use crate::report::{Confidence, Place};
use crate::trace::{Effect, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// A module whose layers we do not see, with the name of its last one.
    pub(super) fn made_elsewhere(&mut self, call: &Invocation, head: &Value) -> Value {
        // A checkpoint's name is no class.
        let named = match call.nth(0) {
            Value::Api(class) => Some(class),
            other => other.as_str().map(Ustr::from),
        };
        let told = named.filter(|name| self.apis.class(*name).is_some());
        let class = told.or_else(|| self.apis.class_of(Role::Module));
        let placing = match told {
            Some(class) if self.apis.owns(class).iter().any(|part| part == "session") => Device::Automatic,
            _ => Device::Cpu,
        };
        let state = ModuleState {
            weights: Learned::Opaque,
            // Whose head is known is new, and nothing has put it into another mode yet.
            mode: if head.as_str().is_some() { Mode::Train } else { Mode::Unknown },
            device: placing,
            mode_dependent: class.is_some_and(|class| self.apis.depends_on_mode(class)),
            scatters: placing == Device::Automatic,
            ..ModuleState::default()
        };
        let object =
            self.alloc(call.place, class.map_or(ClassRef::Builtin, ClassRef::Api), State::Module(state));
        self.made(call.place, object);
        self.on_instance(&Instance { object, place: call.place });
        if let Value::Str(Some(_)) = head {
            self.heap.note(object, NAME_OF_HEAD, head.clone());
        }
        Value::Obj(object)
    }

    /// An instance of the class that was called upon. It is on the CPU unless one of the other operands
    /// says where it belongs, or may say so.
    pub(super) fn instance_made_elsewhere(&mut self, call: &Invocation) -> Value {
        if let Some(class) = self.holder_of_no_module(call) {
            return Value::Obj(self.alloc(call.place, ClassRef::Api(class), State::Plain));
        }
        let made = self.made_elsewhere(call, &Value::None);
        let operands = call.gives.map_or(0, |apply| apply.args.len());
        let unsaid = |value: Value| matches!(value.bare(), Value::None | Value::Bool(Some(false)));
        if call.open || (1..operands).any(|index| !unsaid(call.nth(index))) {
            self.for_each_part(&made, |module| module.device = Device::Unknown);
        }
        made
    }

    /// An instance that stays in evaluation mode until somebody calls `train`. One of a class of the project is made by
    /// its own constructor, which gets the configuration first.
    pub(super) fn instance_in_eval(&mut self, call: &Invocation) -> Value {
        let made = match self.class_called_on(call) {
            Some(class) => {
                let known = |name: &str| call.more.iter().find(|(given, _)| *given == name);
                let config = known("config").map_or(Value::Unknown, |(_, passed)| passed.value.clone());
                let keywords = call.more.iter().filter(|(name, _)| *name != "config").cloned().collect();
                let values = std::iter::once(config).chain(call.rest.iter().cloned());
                self.instantiate(class, &Call { keywords, open: true, ..Call::with(call.place, values) })
            }
            None => self.instance_made_elsewhere(call),
        };
        if let Some(module) = made.as_obj() {
            self.for_each_part(&made, |module| module.mode = Mode::Eval);
            self.event(call.place, Effect::MadeInEval { module }, Confidence::High);
        }
        made
    }

    /// An instance with the weights of a checkpoint, which also says where they are and with what it is constructed,
    /// but for what the call gives by name.
    pub(super) fn instance_restored(&mut self, call: &Invocation) -> Value {
        let Some(class) = self.class_called_on(call) else {
            return self.made_elsewhere(call, &Value::None);
        };
        let made = self
            .instantiate(class, &Call { keywords: call.more.clone(), open: true, ..Call::new(call.place) });
        // Whatever nobody sees of it was in the checkpoint, too.
        if let Some(object) = made.as_obj().filter(|object| self.learns(*object) != Some(true))
            && let State::Module(module) = &mut self.heap.get_mut(object).state
        {
            module.weights = Learned::Opaque;
        }
        self.place_parts(&made, Device::Unknown);
        self.restore(&made, call.place);
        made
    }

    fn class_called_on(&self, call: &Invocation) -> Option<ObjId> {
        call.nth(0).as_obj().filter(|class| matches!(self.heap.get(*class).state, State::Class(_)))
    }

    /// The class whose method makes an instance, where its instances are no modules: tokenizers.
    fn holder_of_no_module(&self, call: &Invocation) -> Option<Ustr> {
        let (holder, _) = call.api.name.rsplit_once('.')?;
        let class = Ustr::from(holder);
        self.apis.class(class)?;
        (self.apis.role(class) != Some(Role::Module)).then_some(class)
    }

    /// An activation given by its name.
    pub(super) fn activation(&mut self, input: &Value, activation: &Value, place: Place) -> Value {
        let Some(tensor) = input.as_tensor() else { return input.clone() };
        let name = transfer::activation_name(activation);
        if matches!(activation.bare(), Value::None) || name == Some("linear") {
            return input.clone();
        }
        let (mark, range) = name.map_or((None, None), transfer::activation);
        Value::tensor(Tensor { mark: mark.map(|mark| (mark, place)), range, ..(**tensor).clone() })
    }

    /// `model.fit(data, batch_size=…)`: what the framework will train on.
    pub(super) fn fit(&mut self, call: &Invocation, operands: &[Operand]) {
        let arg = |index: usize| operands.get(index).map_or(Value::None, |operand| call.value_of(operand));
        let name = |index: usize| match operands.get(index) {
            Some(Operand::Param(name)) => name.as_str(),
            _ => "",
        };
        let (model, data) = (arg(0), arg(1));
        self.fitted(&model, false, call.place);
        let (batch_size, length) = self.batch_and_length(call, &data, arg(2), (name(1), name(2)));
        let batch_place = call.place_of(name(2));
        let heads = compiled::heads(self, &model, &data, call.place);
        self.met(call, &model, &data, &heads);
        let labels = self.labels_of(&data, call);
        compiled::run_own_loss(self, &model, (&data, &labels), call.place);
        self.run_own_step(&model, &data, call);
        let kept = self.kept_of_batch(&model, &data, &batch_size, call.place);
        let losses =
            heads.into_iter().map(|head| (compiled::share_of(self, &labels, &head), Rc::new(head.loss)));
        let losses = losses.map(|(labels, loss)| (loss, labels)).collect();
        self.handed_back(&model);
        let sight = Sight::Fit { batch_size, batch_place, length, data, kept, losses };
        self.see(call.place, sight, Confidence::High);
    }

    /// Who owns the loop moves the model to where it trains, and may move it back when it is done.
    fn handed_back(&mut self, model: &Value) {
        if model.as_obj().is_some_and(|object| self.is_owned(object)) {
            self.place_parts(model, Device::Unknown);
        }
    }

    /// What a model is to give for these samples, beside them or in each batch.
    fn labels_of(&mut self, data: &Value, call: &Invocation) -> Value {
        if call.is_given("y") && !matches!(call.get("y"), Value::None) {
            return call.get("y");
        }
        let batch = match data.bare() {
            Value::Obj(_) => self.iterate(data, call.place).any,
            _ => Value::Unknown,
        };
        match batch {
            Value::Tuple(parts) if parts.len() > 1 => parts[1].clone(),
            _ => Value::Unknown,
        }
    }

    /// What a model keeps of one batch.
    fn kept_of_batch(&mut self, model: &Value, data: &Value, size: &Value, place: Place) -> u64 {
        let (Some(object), Some(size @ Int::Known(_)), Value::Tensor(_)) =
            (model.as_obj(), size.as_int(), data.bare())
        else {
            return 0;
        };
        let row = self.iterate(data, place).any;
        let batch = self.collated(&row, size);
        let outer = std::mem::take(&mut self.graphs.kept);
        self.quietly(|interp| interp.call_module(object, &Call::with(place, [batch])));
        std::mem::replace(&mut self.graphs.kept, outer)
    }

    /// A model's own training step: the framework runs it for each batch, in each replica.
    fn run_own_step(&mut self, model: &Value, data: &Value, call: &Invocation) {
        let Some(object) = model.as_obj() else { return };
        let Some(Value::Function(step)) = self.find_attr(object, Ustr::from("train_step")) else { return };
        let batch = self.batch_of(data, call);
        let contexts = [ContextKind::Replica, ContextKind::Traced];
        let before = contexts.map(|context| self.push_context(context));
        self.inline(&step, Some(model), &Call::with(call.place, [batch]));
        before.into_iter().rev().for_each(|before| self.pop_context(before));
    }

    /// A batch as a training step gets it.
    fn batch_of(&mut self, data: &Value, call: &Invocation) -> Value {
        match data.bare() {
            Value::Tensor(_) => {
                let inputs = self.first_batch(data, call.place);
                let labelled = call.is_given("y") && !matches!(call.get("y"), Value::None);
                if labelled { Value::tuple(vec![inputs, Value::Unknown]) } else { inputs }
            }
            _ => self.iterate(data, call.place).any,
        }
    }

    pub(super) fn output_of_model(&mut self, object: ObjId, data: &Value, place: Place) -> Value {
        match self.heap.attr(object, Ustr::from("output")).cloned() {
            Some(output) => output,
            None => {
                let value = match self.declared_input(object) {
                    Some(declared) => Value::tensor(declared),
                    None => self.batch_of_data(data, &Value::None, place).0,
                };
                let call = Call { positional: vec![Passed { value, place }], ..Call::new(place) };
                self.in_passing(|interp| interp.call_module(object, &call))
            }
        }
    }

    fn first_batch(&mut self, data: &Value, place: Place) -> Value {
        let any = self.iterate(data, place).any;
        let batch = Int::symbol(self.symbol("batch"));
        let batch = self.collated(&any, &batch);
        match batch {
            Value::Unknown => Value::tensor(Tensor { graph: Graph::None, ..Tensor::default() }),
            other => other,
        }
    }
}

impl Interp<'_> {
    /// What a model was laid out for before it saw data: its symbolic input, or what its first layer says.
    pub(crate) fn declared_input(&mut self, model: ObjId) -> Option<Tensor> {
        if let Some(inputs) = self.heap.attr(model, Ustr::from(INPUT)) {
            return inputs.as_tensor().map(|input| (**input).clone());
        }
        let first = super::stacked::children_in_order(self, model)?.into_iter().next()?;
        let layer = match &first {
            Value::Tensor(input) => return Some((**input).clone()),
            Value::Obj(layer) if matches!(self.heap.get(*layer).class, ClassRef::Api(_)) => *layer,
            _ => return None,
        };
        let said =
            |name: &str| self.heap.attr(layer, Ustr::from(name)).filter(|said| !matches!(said, Value::None));
        let sizes = match (said("input_shape"), said("input_dim"), said("output_dim")) {
            (Some(shape), _, _) => transfer::ints_of(self, shape)?,
            // Of an embedding this is how many words there are.
            (None, Some(size), None) => vec![size.as_int()?.clone()],
            _ => return None,
        };
        let batch = Int::symbol(self.symbol("batch"));
        let shape = std::iter::once(batch).chain(sizes).collect();
        Some(Tensor { shape: Some(shape), source: Source::Data, graph: Graph::None, ..Tensor::default() })
    }

    /// What a model is given of its data at a time, and what that is compared with.
    pub(super) fn batch_of_data(&mut self, data: &Value, targets: &Value, place: Place) -> (Value, Value) {
        if matches!(data.bare(), Value::Obj(_))
            && let Value::Tuple(items) = self.iterate(data, place).any.bare()
            && let [input, target, ..] = &items[..]
        {
            return (input.clone(), target.clone());
        }
        // Batches without targets, which a stream has made already.
        if let Some((batch @ Value::Tensor(_), _)) = self.stream_parts(data) {
            return (batch, Value::None);
        }
        (self.first_batch(data, place), self.first_batch(targets, place))
    }

    /// Data meet a model and its losses.
    pub(super) fn met(&mut self, call: &Invocation, model: &Value, data: &Value, heads: &[Head]) {
        let Some(object) = model.as_obj() else { return };
        let targets = if call.is_given("y") { call.get("y") } else { Value::None };
        let (input, target) = self.batch_of_data(data, &targets, call.place);
        let mut losses = Vec::new();
        for head in heads {
            let target = match compiled::is_one_of_several(&targets, head) {
                true => self.first_batch(&compiled::share_of(self, &targets, head), call.place),
                false => compiled::share_of(self, &target, head),
            };
            losses.push((&head.loss, target));
        }
        let declared = self.declared_input(object);
        self.on_fit(&FitCall { call, input: &input, losses: &losses, declared: declared.as_ref() });
    }

    /// `model.predict(x)`
    pub(super) fn predicted(&mut self, call: &Invocation, model: &Value, data: &Value) {
        self.met(call, model, data, &[]);
    }

    /// A model is called only to see what it computes.
    pub(super) fn example(&mut self, model: &Value, inputs: &Value, place: Place) {
        let inputs = match inputs.bare() {
            Value::Tuple(items) => items.to_vec(),
            other => vec![other.clone()],
        };
        if !inputs.iter().all(|input| input.as_tensor().is_some()) {
            return;
        }
        let called = self.out.called.clone();
        self.in_passing(|interp| interp.call_value(model, &Call::with(place, inputs)));
        self.out.called = called;
    }

    /// The same with numbers of a shape.
    pub(super) fn example_of(&mut self, model: &Value, sizes: &Value, samples: &Value, place: Place) {
        let Some(sizes) = transfer::ints_of(self, sizes) else { return };
        let samples = match samples {
            Value::None => None,
            other => match other.as_known_int().filter(|samples| *samples > 0) {
                Some(samples) => Some(Int::Known(samples)),
                None => return,
            },
        };
        let shape: Shape = samples.into_iter().chain(sizes).collect();
        let input = Tensor {
            shape: Some(shape),
            dtype: Some(DType::Float32),
            source: Source::Data,
            graph: Graph::None,
            made: Some(place),
            ..Tensor::default()
        };
        self.example(model, &Value::tensor(input), place);
    }
}
