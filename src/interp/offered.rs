//! Losses and layers that a file offers and nobody here calls. A loss is judged as it is meant: what it is given
//! comes from a model, and what it gives is where gradients go back from. So is a forward that computes something
//! with a pole from weights of its own.
//!
//! A loss that takes the logarithm of `p`, and needs `1 - p` or `p` itself beside it, takes `p` for a probability: of
//! anything else it would make no number. Whether it does is tried: it runs aside, with the parameter as what it may be.

use super::{Call, Interp};
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{BinaryOp, FnId, Function, Param};
use crate::trace::{Assumption, FnKey};
use crate::values::*;
use std::rc::Rc;

/// What a function that nobody calls gives to a loss.
pub(crate) struct Offered {
    pub loss: Rc<Tensor>,
    /// The function is a forward, and whoever uses it says what is made of its output.
    pub of_layer: bool,
}

/// So many methods of tensors that are used on it make a parameter one.
const METHODS_OF_A_TENSOR: usize = 2;
/// Shorter names than this are close to many.
const SHORTEST_MISSPELT: usize = 6;

/// Losses are looked for in tuples, lists and dictionaries so deep.
const DEEPEST: u32 = 2;

/// What was done with numbers between zero and one since a trial began.
#[derive(Default)]
pub(super) struct Trial {
    /// They were taken from one.
    complement: bool,
    /// They were multiplied by their own logarithm.
    weighted: bool,
    /// Labels were multiplied by their logarithm.
    labelled: bool,
    /// Labels were taken from one.
    binary: bool,
    /// Where the parameter stands that is tried.
    tried: Option<Place>,
}

impl Trial {
    /// What a loss does with a parameter that is done with a probability alone.
    fn bears_out(&self, losses: &[Rc<Tensor>]) -> Option<&'static str> {
        let mut hazards = losses.iter().flat_map(|loss| loss.hazards.iter().flat_map(|all| all.iter()));
        hazards.find(|hazard| is_log_of_one(hazard))?;
        let complement = self.complement.then_some("the loss takes its log, and one minus it");
        let weighted = self.weighted.then_some("the loss weights its log by it");
        complement.or(weighted).or(self.labelled.then_some("the loss weights its log by the labels"))
    }
}

/// Runs a function with arguments that it may not be called with: the losses that it gives then.
type Aside<'a, 'p> = &'a mut dyn FnMut(&mut Interp<'p>, &Call) -> Option<Vec<Rc<Tensor>>>;

/// What an operation does with numbers between zero and one.
pub(super) fn note_trial(interp: &mut Interp, op: BinaryOp, left: &Value, right: &Value) {
    let from_one = op == BinaryOp::Sub && left.as_num() == Some(1.0);
    let either = |is: fn(&Value, &Value) -> bool| op == BinaryOp::Mul && (is(left, right) || is(right, left));
    let seen = Trial {
        complement: from_one && is_probability(right),
        weighted: either(is_log_of),
        labelled: either(|log, label| is_label(label) && logged(log).is_some()),
        binary: from_one && is_label(right),
        tried: None,
    };
    let log = if is_label(left) { right } else { left };
    if seen.complement || seen.weighted || seen.labelled || seen.binary {
        interp.remember(|trial: &mut Trial| {
            trial.complement |= seen.complement;
            trial.weighted |= seen.weighted;
            trial.labelled |= seen.labelled && is_just_log(log) && logged(log) == Some(trial.tried);
            trial.binary |= seen.binary;
        });
    }
}

fn is_probability(value: &Value) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.learned && tensor.range.is_some_and(is_unit))
}

fn is_label(value: &Value) -> bool {
    let is_given = |tensor: &Tensor| tensor.source == Source::Data && !tensor.learned;
    value.as_tensor().is_some_and(|tensor| is_given(tensor) && tensor.range.is_some_and(is_unit))
}

fn is_unit(range: Interval) -> bool {
    range.low == 0.0 && range.high == 1.0
}

/// Whether one is the logarithm of the other.
fn is_log_of(log: &Value, of: &Value) -> bool {
    is_probability(of) && of.as_tensor().is_some_and(|of| logged(log).is_some_and(|made| made == of.made))
}

/// Whether a logarithm is what a function has just given, and no sum of it and others.
fn is_just_log(log: &Value) -> bool {
    log.as_tensor().is_some_and(|tensor| tensor.what.is_some())
}

/// Where the number between zero and one was made whose logarithm a value is.
fn logged(log: &Value) -> Option<Option<Place>> {
    let log = log.as_tensor()?;
    let last = log.hazards.iter().flat_map(|all| all.iter()).find(|hazard| log.made == Some(hazard.place));
    last.filter(|hazard| is_log_of_one(hazard)).map(|hazard| hazard.made_at)
}

impl<'p> Interp<'p> {
    /// Whether a function computes a loss by its name, or a forward what has a pole or is made there.
    pub(super) fn is_offered(&self, key: FnKey, definition: &Function) -> bool {
        self.is_loss(key, definition) || self.is_layer_of_interest(key, definition)
    }

    /// `def dice_loss(...)`, what it makes of its options, and the forward of `class DiceLoss(nn.Module)`.
    pub(super) fn is_loss(&self, key: FnKey, definition: &Function) -> bool {
        let makes_loss = |parent: FnId| {
            let maker = self.tree(key.file).function(parent);
            maker.class.is_none() && self.apis.computes_loss(&maker.name)
        };
        match definition.class {
            None => self.apis.computes_loss(&definition.name) || definition.parent.is_some_and(makes_loss),
            Some(class) => {
                super::modules::FORWARDS.contains(&definition.name.as_str())
                    && self.apis.computes_loss(&self.tree(key.file).class(class).name)
            }
        }
    }

    /// A forward that computes something with a pole, or makes layers.
    fn is_layer_of_interest(&self, key: FnKey, definition: &Function) -> bool {
        let forward = definition.class.is_some() && definition.name == "forward";
        let mentions = &self.module(key.file).names.scope(key.function).mentions;
        let mut words = self.apis.pole_words().iter().chain(self.apis.learning_words());
        forward && words.any(|word| mentions.contains(*word))
    }

    /// Whether a parameter of a loss is called, so that it is a model, which only the caller knows.
    pub(super) fn is_model_of_loss(&self, key: FnKey, param: &Param) -> bool {
        let uses = &self.module(key.file).names.uses;
        let scope = Some(key.function);
        uses.called_local(scope, param.name)
            && uses.of_local(scope, param.name).is_empty()
            && self.is_loss(key, self.tree(key.file).function(key.function))
    }

    /// What nobody says of a parameter of a loss: it is a tensor that a model made.
    pub(super) fn as_prediction(&self, key: FnKey, param: &Param, value: Value) -> Value {
        if !self.is_loss(key, self.tree(key.file).function(key.function)) {
            return value;
        }
        let uses = &self.module(key.file).names.uses;
        let scope = Some(key.function);
        let is_data = |name: &ustr::Ustr| self.apis.method_of(Role::Tensor, *name).is_some();
        let (used, called) = (uses.of_local(scope, param.name), uses.called_local(scope, param.name));
        let place = Place::new(key.file, param.span);
        // What has several methods of tensors is one, and a method is misspelt that no tensor has.
        let is_misspelt = used.iter().filter(|name| is_data(name)).count() >= METHODS_OF_A_TENSOR
            && !used.iter().all(is_data)
            && used.iter().all(|name| is_data(name) || self.is_nearly_method(*name));
        match value.bare() {
            Value::Unknown if !called && (is_misspelt || used.iter().all(is_data)) => Value::tensor(Tensor {
                learned: true,
                has_axis: is_misspelt,
                source: Source::Output,
                device_origin: Some(DeviceOrigin::Module),
                confidence: Confidence::Medium,
                made: Some(place),
                ..Tensor::default()
            }),
            Value::Tensor(tensor) if tensor.range.is_none() => Value::tensor(Tensor {
                learned: true,
                source: Source::Output,
                device_origin: tensor.device_origin.or(Some(DeviceOrigin::Module)),
                confidence: tensor.confidence.min(Confidence::Medium),
                made: tensor.made.or(Some(place)),
                ..(**tensor).clone()
            }),
            _ => value,
        }
    }

    /// Whether a method of tensors is called so but for one letter too many, or two that changed places.
    fn is_nearly_method(&self, name: ustr::Ustr) -> bool {
        let is_method = |name: &str| self.apis.method_of(Role::Tensor, ustr::Ustr::from(name)).is_some();
        let at = |index: usize| (&name.as_str()[..index], &name.as_str()[index..]);
        name.is_ascii()
            && name.len() > SHORTEST_MISSPELT
            && (1..name.len()).any(|index| {
                let (front, back) = at(index);
                let (kept, swapped) = front.split_at(front.len() - 1);
                is_method(&format!("{kept}{back}"))
                    || is_method(&format!("{kept}{}{swapped}{}", &back[..1], &back[1..]))
            })
    }

    /// The name of the loss that is rehearsed without a caller: what it is given is where the model is.
    pub(crate) fn offered_loss(&self) -> Option<Rc<str>> {
        let key = self.supposed.seeded?;
        let tree = self.tree(key.file);
        let definition = tree.function(key.function);
        let name = definition.class.map_or(definition.name, |class| tree.class(class).name);
        self.is_loss(key, definition).then(|| Rc::from(name.as_str()))
    }

    /// Writes down what a function gives to the losses of others.
    pub(super) fn note_offered(&mut self, key: FnKey, result: &Value) {
        let definition = self.tree(key.file).function(key.function);
        if !self.is_offered(key, definition) {
            return;
        }
        let losses = self.losses_in(result);
        let place = Place::new(key.file, definition.name_span);
        let of_layer = !self.is_loss(key, definition);
        for loss in losses {
            let confidence = loss.confidence;
            self.observe(place, Offered { loss, of_layer }, confidence);
        }
    }

    /// What a function gives of which something may be no number.
    pub(super) fn losses_in(&self, result: &Value) -> Vec<Rc<Tensor>> {
        let mut found = Vec::new();
        self.tensors_with_hazards(result, DEEPEST, &mut found);
        found
    }

    fn tensors_with_hazards(&self, value: &Value, depth: u32, found: &mut Vec<Rc<Tensor>>) {
        let mut all = |values: &[Value]| match depth {
            0 => {}
            _ => values.iter().for_each(|value| self.tensors_with_hazards(value, depth - 1, found)),
        };
        match value.bare() {
            Value::Tensor(tensor) if tensor.hazards.is_some() => found.push(tensor.clone()),
            Value::Tuple(items) => all(items),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(Items { exact: Some(items), .. }) => all(items),
                State::Dict(entries) => {
                    let values: Vec<Value> = entries.known.iter().map(|(_, value)| value.clone()).collect();
                    all(&values);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The functions of a file that offer a loss or a layer with a pole, by their place among all.
    pub(super) fn offered_in(&self, file: FileId) -> Vec<bool> {
        let functions = self.tree(file).functions.iter().enumerate();
        functions
            .map(|(index, definition)| {
                self.is_offered(FnKey { file, function: FnId(index as u32) }, definition)
            })
            .collect()
    }

    /// A call of a loss in which its labels are zero, one, or between them.
    fn with_labels(&self, call: &Call) -> Call {
        let mut labelled = call.clone();
        for (name, passed) in &mut labelled.keywords {
            if self.apis.takes_labels(*name)
                && let Some(label) = as_label(&passed.value)
            {
                passed.value = label;
            }
        }
        labelled
    }

    /// Gives the labels of a loss their range where it takes them from one: so it does with labels of two classes.
    fn suppose_labels(&mut self, key: FnKey, call: &mut Call, run: Aside<'_, 'p>) {
        if call.keywords.iter().all(|(name, _)| !self.apis.takes_labels(*name)) {
            return;
        }
        let trial = self.with_labels(call);
        self.recall::<Trial>();
        if run(self, &trial).is_some() && self.recall::<Trial>().binary {
            *call = trial;
            self.out.supposed.push(key);
        }
    }

    /// Gives those parameters of a loss that it takes for probabilities their range; `run` runs it aside.
    pub(super) fn suppose_probabilities(&mut self, key: FnKey, call: &mut Call, run: Aside<'_, 'p>) {
        let definition = self.tree(key.file).function(key.function);
        let mentions = &self.module(key.file).names.scope(key.function).mentions;
        let has_pole = self.apis.pole_words().iter().any(|word| mentions.contains(*word));
        // What nobody calls and is for the file alone is not used at all.
        if !has_pole || definition.name.starts_with('_') || !self.is_loss(key, definition) {
            return;
        }
        self.suppose_labels(key, call, run);
        let labelled = self.with_labels(call);
        for (index, (name, passed)) in call.keywords.iter_mut().enumerate() {
            let supposed = as_probability(&passed.value).filter(|_| !self.apis.takes_labels(*name));
            let Some(supposed) = supposed else { continue };
            let mut trial = labelled.clone();
            trial.keywords[index].1.value = supposed.clone();
            let tried = supposed.as_tensor().and_then(|tensor| tensor.made);
            self.recall::<Trial>();
            self.remember(|trial: &mut Trial| trial.tried = tried);
            let Some(losses) = run(self, &trial) else { continue };
            let Some(reason) = self.recall::<Trial>().bears_out(&losses) else { continue };
            passed.value = supposed;
            self.out.supposed.push(key);
            let (because, within) = (passed.place, Some(definition.span));
            let role = "a probability";
            self.out.assumptions.push(Assumption { name: *name, role, reason, because, within });
        }
    }
}

/// The logarithm of a probability, of which nothing keeps it from zero.
fn is_log_of_one(hazard: &Hazard) -> bool {
    hazard.kind == HazardKind::Log && hazard.range.low == 0.0 && hazard.range.high == 1.0
}

/// Something of which no more is known, as the labels of two classes.
fn as_label(value: &Value) -> Option<Value> {
    let tensor = value.as_tensor().filter(|tensor| tensor.range.is_none())?;
    Some(Value::tensor(Tensor {
        range: Some(Interval::closed(0.0, 1.0)),
        learned: false,
        source: Source::Data,
        graph: Graph::None,
        ..(**tensor).clone()
    }))
}

/// What a model made, of which no more is known, as a probability: a sigmoid or softmax that saturates reaches the ends.
fn as_probability(value: &Value) -> Option<Value> {
    let tensor = value.as_tensor().filter(|tensor| tensor.learned && tensor.range.is_none())?;
    Some(Value::tensor(Tensor { range: Some(Interval::closed(0.0, 1.0)), ..(**tensor).clone() }))
}
