//! Models from elsewhere whose last layer is known: what it gives, what a script puts in its place, and what
//! becomes of parts that nobody sees.

use super::{Call, Interp, Invocation};
use crate::apis::{Mark, Role, Slot, Verb};
use crate::report::Place;
use crate::syntax::{ExprId, ExprKind};
use crate::values::*;
use ustr::Ustr;

/// What a model from elsewhere calls its last layers; names of which it has one are parted by bars.
pub(super) const NAME_OF_HEAD: Note = Note::new("name of the head");
/// How many features a model from elsewhere gives to its last layers.
const FEATURES_OF_HEAD: Note = Note::new("features of the head");
/// The path of the last of several last layers, and how many features it gets.
const LAST_LAYER: Note = Note::new("path of the last layer");
const FEATURES_OF_LAST: Note = Note::new("features of the last layer");
/// How many classes a model from elsewhere tells apart as it was made.
const CLASSES: Note = Note::new("classes");
/// It tells the classes of each pixel apart.
const BY_PIXEL: Note = Note::new("by pixel");
/// How many channels the images have that a model from elsewhere takes.
const CHANNELS: Note = Note::new("channels of images");
/// The function that made a model from elsewhere.
const MADE_BY: Note = Note::new("made by");
/// Somebody who is not seen may have made other layers of those of a model from elsewhere.
const DOUBTED: Note = Note::new("may have other layers");

/// What the tables write for a size that is not known.
const SOME_SIZE: &str = "_";

/// `opaque-module class head features channels classes last width word`
pub(super) fn model_made_elsewhere(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let made = interp.made_elsewhere(call, &call.operand(Slot::Head));
    if let Some(object) = made.as_obj() {
        interp.heap.note(object, MADE_BY, Value::Api(call.api.name));
        let sizes =
            [(FEATURES_OF_HEAD, Slot::Features), (CHANNELS, Slot::Channels), (FEATURES_OF_LAST, Slot::Width)];
        for (note, slot) in sizes {
            let known = size_of(call.operand(slot));
            if known.as_int().is_some() {
                interp.heap.note(object, note, known);
            }
        }
        let last = call.operand(Slot::Last);
        if last.as_str().is_some() {
            interp.heap.note(object, LAST_LAYER, last);
        }
        if let Some(classes) = classes_asked_for(call) {
            interp.heap.note(object, CLASSES, Value::of_int(classes));
            interp.heap.note(
                object,
                BY_PIXEL,
                Value::Bool(Some(call.operand(Slot::Word).as_str().is_some())),
            );
        }
    }
    let loaded =
        call.named().any(|(name, passed)| interp.apis.loads_weights(*name) && is_said(&passed.value));
    if loaded {
        interp.restore(&made, call.place);
    }
    made
}

/// What a model that is not seen into gives, as far as its last layer says it.
pub(super) fn output_of_head(
    interp: &mut Interp<'_>,
    model: ObjId,
    module: &ModuleState,
    call: &Call,
) -> Value {
    let output = interp.opaque_output(model, module, call);
    let Value::Tensor(features) = &output else { return output };
    let sure = interp.heap.get(model).confidence;
    if let Some((head, width)) = interp.own_head(model) {
        let shape = width.and_then(|width| Some([batch_of_images(call)?, width].into()));
        let confidence = if shape.is_some() { sure } else { features.confidence };
        let features = Value::tensor(Tensor { shape, confidence, ..(**features).clone() });
        return interp.call_module(head, &Call::with(call.place, [features]));
    }
    let Some(classes) = interp.classes_of(model) else { return output };
    let batch = batch_of_images(call);
    let by_pixel = interp.heap.noted(model, BY_PIXEL).and_then(Value::as_bool);
    let (last, shape) = match by_pixel {
        Some(false) => {
            let last = Some(classes.clone()).filter(|classes| !classes.is_unknown());
            (last, Some([batch.clone().unwrap_or_default(), classes].into()))
        }
        Some(true) => (None, pixels(call, classes)),
        None => (None, None),
    };
    Value::tensor(Tensor {
        confidence: if batch.is_some() { sure } else { features.confidence },
        last,
        shape,
        range: Some(Interval::REAL),
        mark: Some((Mark::Raw, call.place)),
        ..(**features).clone()
    })
}

/// `model.classifier[6] = nn.Linear(...)`, where the parts of `model` are not seen.
pub(super) fn replace_part(
    interp: &mut Interp<'_>,
    holder: &Value,
    base: ExprId,
    name: Ustr,
    value: &Value,
    place: Place,
) {
    let is_layer = interp.is_layer(value);
    let may_be = matches!(value.bare(), Value::Unknown | Value::AnyOf(_) | Value::Function(_));
    if !holder.is_unknown() || interp.graphs.handed_out.is_empty() || !is_layer && !may_be {
        return;
    }
    let Some((owner, path)) = interp.hidden_part(base) else {
        // It may be a part that has got a name of its own.
        if is_layer {
            interp.doubt_all_handed_out();
        }
        return;
    };
    interp.note_hidden_part(owner, value, place);
    let path = interp.counted_from_the_front(owner, &path, name);
    let kept = if is_layer { value.clone() } else { Value::Unknown };
    interp.heap.get_mut(owner).set_attr(path, kept);
    if !is_layer && let State::Module(module) = &mut interp.heap.get_mut(owner).state {
        module.freeze(None);
    }
}

/// `self.conv1 = resnet.conv1`: what a module takes of a ready-made model, which nobody sees into, are layers of it,
/// and learn and move with what they are kept in.
pub(super) fn part_taken(interp: &mut Interp<'_>, target: ExprId, written: ExprId, value: Value) -> Value {
    let tree = interp.here();
    if !value.is_unknown() || !matches!(tree.expr(written).kind, ExprKind::Attribute { .. }) {
        return value;
    }
    let ExprKind::Attribute { base: keeper, .. } = tree.expr(target).kind else { return value };
    let is_kept =
        interp.eval(keeper).as_obj().is_some_and(|keeper| interp.heap.get(keeper).module().is_some());
    let Some((owner, _)) = interp.hidden_part(written).filter(|_| is_kept) else { return value };
    let made = interp.heap.get(owner);
    let Some(whole) = made.module().filter(|_| interp.heap.noted(owner, MADE_BY).is_some()) else {
        return value;
    };
    let (device, frozen, mode) = (whole.device, whole.frozen, whole.mode);
    let part = interp.opaque_module(interp.expr_place(written), device);
    if let State::Module(module) = &mut interp.heap.get_mut(part).state {
        (module.frozen, module.mode) = (frozen, mode);
    }
    Value::Obj(part)
}

/// `model.classifier.append(nn.Sigmoid())`: a method of a part that is not seen may make other layers of it.
pub(super) fn told_part(interp: &mut Interp<'_>, part: ExprId, method: Ustr, call: &Call) {
    if interp.graphs.handed_out.is_empty() || method.ends_with('_') {
        return;
    }
    let asks = interp.apis.method_of(Role::Module, method).is_some();
    if asks && !interp.apis.method_does(Role::Module, method, Verb::Register) {
        return;
    }
    match interp.hidden_part(part) {
        Some((owner, _)) => doubt_layers(interp, owner),
        None if call.values().any(|value| interp.is_layer(value)) => interp.doubt_all_handed_out(),
        None => {}
    }
}

/// Whoever gets hold of a model may replace its layers.
pub(super) fn doubt_layers(interp: &mut Interp<'_>, model: ObjId) {
    if interp.heap.noted(model, CLASSES).is_some() {
        interp.heap.note(model, DOUBTED, Value::Bool(Some(true)));
    }
}

/// A model that learns nothing itself is in the graph of what it gives by the layers that a script has put
/// into it.
pub(super) fn graph_of_own_parts(interp: &mut Interp<'_>, model: ObjId, input: Graph, place: Place) -> Graph {
    if interp.heap.get(model).module().is_none_or(|module| module.frozen != Some(true)) {
        return input;
    }
    let head = interp.own_head(model).map(|(head, _)| head);
    let parts: Vec<ObjId> =
        interp.heap.get(model).attrs.iter().filter_map(|(_, part)| part.as_obj()).collect();
    parts.into_iter().filter(|part| Some(*part) != head).fold(input, |graph, part| {
        match interp.heap.get(part).module().cloned() {
            Some(module) if interp.learns(part) == Some(true) => {
                let module = ModuleState { frozen: Some(false), ..module };
                interp.graph_through(part, &module, &graph, &mut None, place)
            }
            _ => graph,
        }
    })
}

impl<'p> Interp<'p> {
    /// How many channels a model from elsewhere takes, and what made it, where the script has changed nothing but its
    /// last layer.
    pub(crate) fn channels_of(&self, model: ObjId) -> Option<(Int, Ustr)> {
        let channels = self.heap.noted(model, CHANNELS)?.as_int()?.clone();
        let Value::Api(made_by) = self.heap.noted(model, MADE_BY)? else { return None };
        let head = self.replaced_head(model).map(|(path, _)| path);
        self.is_the_only_own(model, head).then_some((channels, *made_by))
    }

    /// The last layer of a model that we do not see into, where the script has put one of its own there, and how
    /// many features it gets, where the script has changed nothing else.
    fn own_head(&self, model: ObjId) -> Option<(ObjId, Option<Int>)> {
        let (path, features) = self.replaced_head(model)?;
        let head = self.heap.attr(model, path)?.as_obj()?;
        self.heap.get(head).module()?;
        let beside = |name: &str| name != path && path.contains('.') && first_of(name) == first_of(&path);
        if self.heap.get(model).attrs.iter().any(|(name, _)| beside(name)) {
            return None;
        }
        Some((head, features.filter(|_| self.is_the_only_own(model, Some(path)))))
    }

    /// Which of the layers that may be the last one the script has replaced.
    fn replaced_head(&self, model: ObjId) -> Option<(Ustr, Option<Int>)> {
        self.last_layers(model).into_iter().find(|(path, _)| self.heap.attr(model, *path).is_some())
    }

    fn is_the_only_own(&self, model: ObjId, part: Option<Ustr>) -> bool {
        self.heap.get(model).attrs.iter().all(|(name, _)| Some(*name) == part)
    }

    /// The paths of what may be the last layers of a model, and how many features they get.
    fn last_layers(&self, model: ObjId) -> Vec<(Ustr, Option<Int>)> {
        let layers = [(NAME_OF_HEAD, FEATURES_OF_HEAD), (LAST_LAYER, FEATURES_OF_LAST)];
        let layers = layers.into_iter().flat_map(|(name, features)| {
            let features = self.heap.noted(model, features).and_then(Value::as_int).cloned();
            let names = self.heap.noted(model, name).and_then(Value::as_str).unwrap_or_default();
            let names = names.split('|').filter(|name| !name.is_empty());
            names.map(|name| (Ustr::from(name), features.clone())).collect::<Vec<_>>()
        });
        layers.collect()
    }

    /// How many classes a model tells apart whose last layers are those that it was made with.
    fn classes_of(&self, model: ObjId) -> Option<Int> {
        let mut all = self.heap.stands_for(model).iter().collect::<Vec<_>>().into_iter();
        let known = |object: ObjId| self.heap.noted(object, CLASSES)?.as_int().cloned();
        let classes = known(all.next()?)?;
        if !all.all(|other| known(other).as_ref() == Some(&classes)) {
            return None;
        }
        let heads = self.last_layers(model);
        let is_head = |name: &str| heads.iter().any(|(head, _)| first_of(head) == first_of(name));
        let otherwise = |name: &str| name == "*" || name.contains("forward") || is_head(name);
        let changed = self.heap.get(model).attrs.iter().any(|(name, _)| otherwise(name));
        (!changed && self.heap.noted(model, DOUBTED).is_none()).then_some(classes)
    }
}

impl<'p> Interp<'p> {
    fn is_layer(&self, value: &Value) -> bool {
        value.as_obj().is_some_and(|object| self.heap.get(object).module().is_some())
    }

    /// The model that is not seen into and that an expression names a part of, and the path of the part.
    fn hidden_part(&mut self, part: ExprId) -> Option<(ObjId, String)> {
        let tree = self.here();
        let mut names = Vec::new();
        let mut outer = part;
        loop {
            let (base, name) = match tree.expr(outer).kind {
                ExprKind::Attribute { base, name, .. } => (base, name),
                ExprKind::Subscript { base, index } => (base, name_of_item(&self.eval(index))),
                _ => return None,
            };
            names.push(name.to_string());
            outer = base;
            if let Some(owner) = self.eval(outer).as_obj() {
                let module = self.heap.get(owner).module()?;
                names.retain(|name| name != "_modules");
                names.reverse();
                return (module.weights == Learned::Opaque).then(|| (owner, names.join(".")));
            }
        }
    }

    /// The last of several layers has a number from either end.
    fn counted_from_the_front(&self, model: ObjId, holder: &str, name: Ustr) -> Ustr {
        let path = if holder.is_empty() { name.to_string() } else { format!("{holder}.{name}") };
        let last = self.heap.noted(model, LAST_LAYER).and_then(Value::as_str).unwrap_or_default();
        match last.rsplit_once('.') {
            Some((of, _)) if of == holder && name == "-1" => Ustr::from(last),
            _ => Ustr::from(&path),
        }
    }

    fn doubt_all_handed_out(&mut self) {
        for object in self.graphs.handed_out.clone().iter() {
            doubt_layers(self, object);
        }
    }
}

/// How many images a model is called with.
fn batch_of_images(call: &Call) -> Option<Int> {
    match call.values().next()?.as_tensor()?.shape.as_deref()? {
        [batch, _, _, _] => Some(batch.clone()),
        _ => None,
    }
}

/// As many images of the same size, with a channel for each class.
fn pixels(call: &Call, classes: Int) -> Option<Shape> {
    match call.values().next()?.as_tensor()?.shape.as_deref()? {
        [batch, _, height, width] => Some([batch.clone(), classes, height.clone(), width.clone()].into()),
        _ => None,
    }
}

/// How many classes a model is asked to tell apart. Without any it gives features, and what an argument does that
/// the tables do not list is not known.
fn classes_asked_for(call: &Invocation) -> Option<Int> {
    let asked = size_of(call.operand(Slot::Classes));
    let classes = asked.as_int().filter(|classes| classes.known() != Some(0))?.clone();
    // Scripts ask for one output whether it is one only, so a default of one says nothing.
    let says_nothing = asked.origin().is_some_and(|origin| origin.given) && classes.known() == Some(1);
    let is_plain =
        call.rest.is_empty() && call.more.iter().all(|(_, more)| matches!(more.value, Value::None));
    is_plain.then_some(if says_nothing { Int::Unknown } else { classes })
}

fn size_of(operand: Value) -> Value {
    if operand.as_str() == Some(SOME_SIZE) { Value::of_int(Int::Unknown) } else { operand }
}

/// The first name of a path.
fn first_of(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// What a container of layers calls the layer at an index.
pub(super) fn name_of_item(index: &Value) -> Ustr {
    match (index.as_known_int(), index.as_str()) {
        (Some(at), _) => Ustr::from(&at.to_string()),
        (None, Some(name)) => Ustr::from(name),
        (None, None) => Ustr::from("?"),
    }
}

/// Whether an argument surely says something.
fn is_said(value: &Value) -> bool {
    matches!(value.bare(), Value::Bool(Some(true)) | Value::Str(_) | Value::Api(_) | Value::Obj(_))
}
