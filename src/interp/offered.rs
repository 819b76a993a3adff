//! Losses and layers that a file offers and nobody here calls. A loss is judged as it is meant: what it is given
//! comes from a model, and what it gives is where gradients go back from. So is a forward that computes something
//! with a pole from weights of its own.

use super::Interp;
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{FnId, Function, Param};
use crate::trace::FnKey;
use crate::values::*;
use std::rc::Rc;

/// What a function that nobody calls gives to a loss.
pub(crate) struct Offered {
    pub loss: Rc<Tensor>,
    /// The function is a forward, and whoever uses it says what is made of its output.
    pub of_layer: bool,
}

/// Losses are looked for in tuples, lists and dictionaries so deep.
const DEEPEST: u32 = 2;

impl Interp<'_> {
    /// Whether a function computes a loss by its name, or a forward what has a pole.
    pub(super) fn is_offered(&self, key: FnKey, definition: &Function) -> bool {
        self.is_loss(key, definition) || self.is_layer_with_pole(key, definition)
    }

    /// `def dice_loss(...)`, and the forward of `class DiceLoss(nn.Module)`.
    pub(super) fn is_loss(&self, key: FnKey, definition: &Function) -> bool {
        match definition.class {
            None => self.apis.computes_loss(&definition.name),
            Some(class) => {
                super::modules::FORWARDS.contains(&definition.name.as_str())
                    && self.apis.computes_loss(&self.tree(key.file).class(class).name)
            }
        }
    }

    fn is_layer_with_pole(&self, key: FnKey, definition: &Function) -> bool {
        let forward = definition.class.is_some() && definition.name == "forward";
        let mentions = &self.module(key.file).names.scope(key.function).mentions;
        forward && self.apis.pole_words().iter().any(|word| mentions.contains(*word))
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
        let is_data = |name: &ustr::Ustr| {
            let class = self.apis.class_of(Role::Tensor);
            class.is_some_and(|class| self.apis.method(class, *name).is_some())
        };
        let (used, called) = (uses.of_local(scope, param.name), uses.called_local(scope, param.name));
        let place = Place::new(key.file, param.span);
        match value.bare() {
            Value::Unknown if !called && used.iter().all(is_data) => Value::tensor(Tensor {
                learned: true,
                source: Source::Output,
                confidence: Confidence::Medium,
                made: Some(place),
                ..Tensor::default()
            }),
            Value::Tensor(tensor) if tensor.range.is_none() => Value::tensor(Tensor {
                learned: true,
                source: Source::Output,
                confidence: tensor.confidence.min(Confidence::Medium),
                ..(**tensor).clone()
            }),
            _ => value,
        }
    }

    /// Writes down what a function gives to the losses of others.
    pub(super) fn note_offered(&mut self, key: FnKey, result: &Value) {
        let definition = self.tree(key.file).function(key.function);
        if !self.is_offered(key, definition) {
            return;
        }
        let mut losses = Vec::new();
        self.tensors_with_hazards(result, DEEPEST, &mut losses);
        let place = Place::new(key.file, definition.name_span);
        let of_layer = !self.is_loss(key, definition);
        for loss in losses {
            let confidence = loss.confidence;
            self.observe(place, Offered { loss, of_layer }, confidence);
        }
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
}
