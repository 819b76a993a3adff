//! Operands of one operation that live apart. A device counts only where a call put something there; what nobody
//! placed is unknown.

use super::brought_back::brought_back;
use super::fetching::a_model_fetches;
use super::forwards::Forwards;
use super::stranded::{innermost, may_be_left, note_stranded, note_stranded_input};
use crate::apis::{Apply, Need, Operand, Role, Transfer, Verb};
use crate::interp::{
    Base, Branch, Call, Checker, Indexed, Interp, Invocation, LayerCall, LossCall, Operation, Operator,
    TracePoint, collect_tensors, given_tensors,
};
use crate::names::Subject;
use crate::report::Place;
use crate::syntax::{BinaryOp, ExprId, StmtId};
use crate::trace::{At, Observation, Sight};
use crate::values::{Device, Learned, ObjId, Source, State, Tensor, Value};
use std::cell::Cell;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_layer: Some(meet_layer),
    on_arguments: Some(meet_wrapper),
    on_call: Some(meet_operands),
    on_operation: Some(meet),
    on_loss: Some(meet_target),
    on_index: Some(meet_index),
    on_branch: Some(chooses),
    on_branch_end: Some(chosen),
    ..Checker::SILENT
};

/// Operands on two devices met.
pub(super) struct Meeting {
    pub one: Side,
    pub other: Side,
    pub operation: &'static str,
    /// The error that it raises.
    pub error: &'static str,
    /// One of them is the weights of a module.
    pub in_forward: bool,
    /// One of them chooses from the other.
    pub by_index: bool,
    /// The other is no tensor, but who reads the one on the CPU.
    pub by_reader: bool,
    /// The one is drawn by the other.
    pub by_generator: bool,
    /// The one was on the GPU, and was moved away from it.
    pub brought_back: bool,
    /// It is on a way that is not for the GPU.
    pub excused: Cell<bool>,
}

impl Meeting {
    pub(super) fn of(one: Side, other: Side, operation: &'static str) -> Meeting {
        let [in_forward, by_index, by_reader, by_generator, brought_back] = [false; 5];
        let (error, excused) = (TOGETHER, Cell::new(false));
        Meeting {
            one,
            other,
            operation,
            error,
            in_forward,
            by_index,
            by_reader,
            by_generator,
            brought_back,
            excused,
        }
    }

    /// The side that nobody moved.
    pub(super) fn behind(&self) -> &Side {
        if self.one.device.is_gpu() { &self.other } else { &self.one }
    }
}

const TOGETHER: &str = "Expected all tensors to be on the same device";
const READ_ON_CPU: &str = "'lengths' argument should be a 1D CPU int64 tensor";
const WRAPPED: &str =
    "device_ids and output_device arguments only work with single-device/multiple-device GPU modules";

/// What an operand is called that chooses from the other.
const INDEX: &str = "the index";

pub(super) struct Side {
    pub device: Device,
    pub what: Rc<str>,
    pub made: Option<Place>,
}

/// Where the branches around begin.
#[derive(Default)]
struct Branches(Vec<TracePoint>);

fn chooses(cx: &mut Interp<'_>, _branch: &Branch<'_>) {
    let point = cx.trace_point();
    cx.remember(|open: &mut Branches| open.0.push(point));
}

/// `if cuda: model(x.cuda())`, else `model(x)`: what one arm does where the model is on the GPU says nothing of the
/// arm that is for the CPU.
fn chosen(cx: &mut Interp<'_>, branch: &Branch<'_>) {
    let Some(began) = cx.remember(|open: &mut Branches| open.0.pop()) else { return };
    if branch.taken.is_some() {
        return;
    }
    let seen = cx.observed_since(began);
    let is_meeting = |seen: &Observation| seen.get::<Meeting>().is_some();
    let failed = |at: &At| seen.iter().any(|other| is_meeting(other) && other.at.place == at.place);
    let runs = |seen: &&Observation| matches!(seen.get(), Some(Sight::Forward(_))) && !failed(&seen.at);
    let right: Vec<Option<usize>> =
        seen.iter().filter(runs).map(|seen| arm_of(cx, branch, &seen.at)).collect();
    for seen in seen {
        let Some(meeting) = seen.get::<Meeting>() else { continue };
        let chosen = [&meeting.one, &meeting.other].iter().any(|side| side.device == Device::Chosen);
        if chosen {
            let arm = arm_of(cx, branch, &seen.at);
            let elsewhere = right.iter().any(|other| *other != arm || other.is_none());
            meeting.excused.set(meeting.excused.get() || elsewhere);
        }
    }
}

/// The arm of a branch in which something happens, there or in what it calls; `otherwise` comes after all others.
fn arm_of(cx: &Interp<'_>, branch: &Branch<'_>, at: &At) -> Option<usize> {
    let (file, tree) = (cx.file(), &cx.module(cx.file()).tree);
    let within = |body: &[StmtId]| {
        let inside = |place: &Place| {
            place.file == file && body.iter().any(|stmt| tree.stmt(*stmt).span.contains(place.span))
        };
        inside(&at.place) || at.calls.iter().any(|(site, _)| inside(site))
    };
    let bodies = branch.arms.iter().map(|(_, body)| &**body).chain([branch.otherwise]);
    bodies.enumerate().find(|(_, body)| within(body)).map(|(index, _)| index)
}

/// A layer and the tensors that it is called with.
fn meet_layer(cx: &mut Interp<'_>, called: &LayerCall<'_>) {
    let (object, call) = (called.layer, called.call);
    meet_in_stand_in(cx, object, call);
    let Some(device) = cx.own_device(object) else { return };
    if device == Device::Unknown && meet_rest_of_batch(cx, object, call) {
        return;
    }
    if note_stranded_input(cx, object, device, call) || device == Device::Unknown {
        return;
    }
    // Who calls a method that nothing here calls has put its object where it is wanted.
    let is_handed = cx.supposed.seeded.is_some() && object.0 < cx.supposed.since && !cx.is_settled(object);
    if is_handed && device == Device::Cpu {
        return;
    }
    let here = cx.heap.get(object);
    if here.module().is_some_and(|module| module.managed || module.scatters) {
        return;
    }
    let inputs = given_tensors(call);
    let apart = |tensor: &&Rc<Tensor>| is_apart(device, tensor);
    // A model that is not seen into may want its lengths on the CPU, whatever else it is given, and moves its inputs
    // where it is told to.
    let hidden =
        here.module().is_some_and(|module| module.weights == Learned::Opaque) && !joins_inputs(cx, object);
    let leads = call.values().next().map_or(call.each.is_some(), |first| !first.is_unknown());
    let told = call.keyword("device").is_some();
    if hidden && (told || !(leads && inputs.iter().all(|input| apart(&input)))) {
        return;
    }
    let Some(input) = inputs.iter().find(apart).cloned() else { return };
    let may_fetch = |cx: &mut Interp<'_>| match is_part_of_batch(&input) {
        true => !is_left_behind(cx, &input) || cx.is_only_loaded(&input),
        false => a_model_fetches(cx),
    };
    if cx.is_just(object, Role::Module) && may_fetch(cx) {
        return;
    }
    meet_input(cx, object, device, &input, call.place);
}

/// Whether nothing around a model brings its inputs to where it is.
fn is_bare(cx: &Interp<'_>, model: ObjId) -> bool {
    cx.heap.get(model).module().is_some_and(|module| !module.managed && !module.scatters)
}

/// Whether an input of a model is where the model is not.
fn is_apart(device: Device, tensor: &Tensor) -> bool {
    tensor.device != Device::Unknown
        && device.differs(tensor.device)
        && !tensor.is_array
        && tensor.rank() != Some(0)
}

/// Whether a model of a framework computes with all that it is given, and moves nothing of it.
fn joins_inputs(cx: &Interp<'_>, model: ObjId) -> bool {
    let mut bases = cx.lineage(cx.heap.get(model).class).into_iter();
    bases.any(|base| matches!(base, Base::Api(class) if cx.apis.joins_inputs(class)))
}

/// `model.generate(**inputs)`: a method that computes with what it is given, as its model does.
fn meet_receiver(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let is_receiver = |operand: &Operand| matches!(operand, Operand::Param(name) if *name == "self");
    let joins = |need: &Apply<Need>| need.verb == Need::Together && need.args.iter().any(is_receiver);
    if !call.api.needs.iter().any(joins) {
        return;
    }
    let Some(model) = call.get("self").as_obj() else { return };
    let Some(device) = cx.own_device(model).filter(|device| *device != Device::Unknown) else { return };
    if !is_bare(cx, model) {
        return;
    }
    let mut inputs = call.tensors();
    let named = call.more.iter().map(|(_, passed)| &passed.value);
    named
        .chain(call.each.as_ref().map(|each| &each.any))
        .for_each(|value| collect_tensors(value, &mut inputs));
    if let Some(input) = inputs.into_iter().find(|input| is_apart(device, input)) {
        meet_input(cx, model, device, &input, call.place);
    }
}

/// A model and one of its inputs on two devices.
fn meet_input(cx: &mut Interp<'_>, object: ObjId, device: Device, input: &Tensor, place: Place) {
    let confidence = cx.heap.get(object).confidence.min(input.confidence);
    let (module, at) = at_fault(cx, object, input).unwrap_or((object, cx.at(place, confidence)));
    let what = Rc::from(format!("`{}`", cx.class_name(module)));
    let back = brought_back(cx, object).filter(|_| device == Device::Cpu);
    let one = Side { device, what, made: back.or(Some(cx.heap.get(module).site)) };
    let other = Side { device: input.device, what: Rc::from("its input"), made: input.made };
    let brought_back = back.is_some();
    let meeting = Meeting { in_forward: true, brought_back, ..Meeting::of(one, other, "the forward pass") };
    let at = At { confidence: confidence.min(at.confidence), ..at };
    cx.observe_at_for_good(at, meeting);
    cx.remember(|all: &mut Forwards| all.0.iter_mut().for_each(|open| open.failed = true));
}

/// `DistributedDataParallel(model, device_ids=[rank])`, of a model that is not there yet.
fn meet_wrapper(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let replicates = call.api.does(Verb::Replicate);
    if !replicates || !matches!(call.get("device_ids").bare(), Value::Obj(_) | Value::Tuple(_)) {
        return;
    }
    let Some(model) = call.get("module").as_obj() else { return };
    let (class, made) = (cx.class_name(model), cx.heap.get(model).site);
    // Who calls a function may have moved what the function did not make.
    let tree = &cx.module(call.place.file).tree;
    let around = |place: Place| innermost(tree, place).map(|function| function.span);
    let is_own = made.file == call.place.file && around(made) == around(call.place);
    let is_handed = cx.supposed.seeded.is_some() && !is_own && !cx.is_settled(model);
    if cx.device_of_module(model) != Device::Cpu || is_handed {
        return;
    }
    let one = Side { device: Device::Cpu, what: Rc::from(format!("`{class}`")), made: Some(made) };
    let what = Rc::from("the copy that `device_ids` asks for");
    let other = Side { device: Device::Accelerator, what, made: None };
    let at = cx.at(call.place, cx.heap.get(model).confidence);
    let meeting = Meeting::of(one, other, "`DistributedDataParallel`");
    cx.observe_at_for_good(at, Meeting { error: WRAPPED, in_forward: true, ..meeting });
}

/// What the whole model was called with, and not what its forward made, is at fault outside.
fn at_fault(cx: &mut Interp<'_>, layer: ObjId, input: &Tensor) -> Option<(ObjId, At)> {
    cx.remember(|all: &mut Forwards| {
        let outer = all.0.first().filter(|outer| outer.module != layer)?;
        let mut given = outer.given.iter();
        let given = given.any(|given| given.device == input.device && !given.is_array);
        given.then(|| (outer.module, outer.at.clone()))
    })
}

/// Two tensors of an operation on two devices. Scalars on the CPU may meet anything.
fn meet(cx: &mut Interp<'_>, operation: &Operation<'_>) {
    let (a, b, place) = (operation.left, operation.right, operation.place);
    let compares = operation.operator == Operator::Compare;
    if compares && [a, b].into_iter().any(|tensor| may_be_left(tensor)) {
        return;
    }
    let copies = |tensor: &Tensor| tensor.what.is_some_and(|what| cx.apis.is_copying(what));
    if copies(a) || copies(b) {
        return;
    }
    let joins = operation.operator == Operator::Binary(BinaryOp::MatMul);
    let scalar = |tensor: &Tensor| !joins && tensor.device == Device::Cpu && !tensor.is_spread();
    if note_stranded(cx, &[a.clone(), b.clone()], place) {
        return;
    }
    if !scalar(a) && !scalar(b) {
        meet_whole(cx, a, b, place, ["the left operand", "the right operand"]);
    }
}

/// The input and the target of a loss.
fn meet_target(cx: &mut Interp<'_>, loss: &LossCall<'_>) {
    let (Some(a), Some(b)) = (loss.input.as_tensor(), loss.target.as_tensor()) else { return };
    let apart = loss.call.api.loss.as_ref().is_some_and(|spec| spec.apart);
    if !apart && !loss.call.open && !cx.apis.is_copying(loss.call.api.name) {
        let place = loss.call.place;
        if !note_stranded(cx, &[a.clone(), b.clone()], place) {
            meet_whole(cx, a, b, place, ["the input of this loss", "its target"]);
        }
    }
}

/// Whether a tensor is on the CPU only because the loop moves another part of the same batch. A model that nobody
/// sees may be spread over several GPUs, and takes its inputs from there.
fn is_part_of_batch(tensor: &Tensor) -> bool {
    tensor.source == Source::Data
        && tensor.device == Device::Cpu
        && tensor.shape.is_none()
        && tensor.made.is_some()
}

/// A model of which nobody knows where it is, and that is given nothing but what stayed on the CPU of a batch.
fn meet_rest_of_batch(cx: &mut Interp<'_>, model: ObjId, call: &Call) -> bool {
    if !is_bare(cx, model) || !cx.is_just(model, Role::Module) {
        return false;
    }
    let confidence = cx.heap.get(model).confidence;
    let inputs = given_tensors(call);
    let leads = call.values().next().is_some_and(|first| first.as_tensor().is_some());
    let Some(input) = inputs.first().filter(|_| leads && inputs.iter().all(|input| is_part_of_batch(input)))
    else {
        return false;
    };
    let input = input.clone();
    if !is_left_behind(cx, &input) || cx.is_only_loaded(&input) {
        return false;
    }
    let one = Side { device: Device::Accelerator, what: Rc::from("the rest of its batch"), made: None };
    let other = Side { device: input.device, what: Rc::from("the input of this model"), made: input.made };
    let at = cx.at(call.place, confidence.min(input.confidence));
    cx.observe_at_for_good(at, Meeting { in_forward: true, ..Meeting::of(one, other, "the forward pass") });
    true
}

/// Whether a part of a batch, of which another part is moved, is a tensor for sure, and no model here fetches its
/// inputs itself.
fn is_left_behind(cx: &Interp<'_>, part: &Tensor) -> bool {
    let Some(made) = part.made else { return false };
    let words = cx.words(made);
    let name = words.rsplit(['[', '.']).next().unwrap_or(words);
    let name = name.trim_matches(|mark| matches!(mark, '"' | '\'' | ']'));
    let of_file = cx.running().rfind(|frame| frame.file == made.file);
    let function = of_file.and_then(|frame| frame.function);
    let module = cx.module(made.file);
    let uses = &module.names.uses;
    let is_tensor = cx.apis.is_input(name) || !uses.of_local(function, Ustr::from(name)).is_empty();
    // `if device is not None: images = images.to(device)`: where it is not moved nothing is.
    let mut acts = module.relations().acts_of(Subject::Local(function, Ustr::from(name)));
    let around = module.relations().innermost_loop(made.span);
    let beside = |call: ExprId| around.is_none_or(|around| around.contains(module.tree.expr(call).span));
    let is_moved = acts.any(|act| act.method.is_some_and(|method| cx.sends(method)) && beside(act.call));
    let is_scattered = || cx.running().any(|frame| cx.apis.scatters(&cx.module(frame.file).source.text));
    is_tensor && !is_moved && !is_scattered() && !a_model_fetches(cx)
}

/// What is only taken for a loss, of an output and a target.
fn meet_in_stand_in(cx: &mut Interp<'_>, criterion: ObjId, call: &Call) {
    let [output, target] = &call.positional[..] else { return };
    if let (Some(a), Some(b)) = (output.value.as_tensor(), target.value.as_tensor())
        && cx.is_just(criterion, Role::Criterion)
        && b.device == Device::Cpu
    {
        let (a, b) = (a.clone(), b.clone());
        meet_whole(cx, &a, &b, call.place, ["the input of this loss", "its target"]);
    }
}

/// Two tensors of which neither may stay behind, such as the input and the target of a loss.
fn meet_whole(cx: &mut Interp<'_>, a: &Tensor, b: &Tensor, place: Place, names: [&str; 2]) {
    if !a.device.differs(b.device) || a.is_array || b.is_array {
        return;
    }
    // Behind a layer that fails for its input nobody knows where what layers give is.
    let has_failed = |all: &mut Forwards| all.0.iter().any(|open| open.failed);
    if a.learned && b.learned && cx.remember(has_failed) {
        return;
    }
    // A number on the CPU may meet anything, one on a GPU nothing on the CPU but numbers.
    let is_number = |tensor: &Tensor| tensor.rank() == Some(0);
    let apart = |number: &Tensor, other: &Tensor| {
        is_number(number)
            && !(number.device.is_chosen_gpu() && other.device == Device::Cpu && other.is_spread())
    };
    if apart(a, b) || apart(b, a) {
        return;
    }
    let side =
        |tensor: &Tensor, what: &str| Side { device: tensor.device, what: Rc::from(what), made: tensor.made };
    let (one, other) = (side(a, names[0]), side(b, names[1]));
    let by_index = names[1] == INDEX;
    let meeting = Meeting { by_index, ..Meeting::of(one, other, "this operation") };
    let confidence = a.confidence.min(b.confidence);
    cx.observe_on_the_way(place, meeting, confidence);
}

/// Numbers on the CPU that are chosen by an index on the GPU. The other way round they are copied.
fn meet_index(cx: &mut Interp<'_>, indexed: &Indexed<'_>) {
    let tensor = indexed.tensor;
    if tensor.is_array || !matches!(tensor.device, Device::Cpu | Device::Unknown) {
        return;
    }
    let mut indices = Vec::new();
    collect_tensors(indexed.index, &mut indices);
    // A single position is read as a number.
    indices.retain(|index| index.is_spread());
    if tensor.on_default_device() && !indices.iter().any(|index| index.on_default_device()) {
        indices.insert(0, tensor.clone());
        if note_stranded(cx, &indices, indexed.place) {
            return;
        }
        indices.remove(0);
    }
    if let Some(index) = indices.iter().find(|index| index.device.is_chosen_gpu()) {
        let (one, other) = (tensor.clone(), index.clone());
        meet_whole(cx, &one, &other, indexed.place, ["what is indexed", INDEX]);
    }
}

/// What a call of a framework needs on one device: the operands that its entry names, else all of those that its
/// transfer combines.
fn meeting_operands(cx: &Interp<'_>, call: &Invocation<'_>) -> Vec<Rc<Tensor>> {
    let together = call.api.needs.iter().find(|need| need.verb == Need::Together);
    let (mut operands, values) = match together {
        Some(need) => (Vec::new(), need.args.iter().map(|operand| call.value_of(operand)).collect()),
        None if call.gives.is_some_and(|gives| gives.verb.meets()) => {
            (call.tensors(), vec![call.nth(0), call.nth(1)])
        }
        None => return Vec::new(),
    };
    for value in values {
        match value.bare() {
            Value::Obj(object) => {
                if let State::List(items) = &cx.heap.get(*object).state {
                    items.exact.iter().flatten().for_each(|item| collect_tensors(item, &mut operands));
                }
            }
            // A parameter of a layer is a tensor as any other.
            Value::Params(params) => operands.push(Rc::new(cx.parameter_tensor(params))),
            value if together.is_some() => collect_tensors(value, &mut operands),
            _ => {}
        }
    }
    operands
}

/// `pack_padded_sequence(x, lengths)`: what is read on the CPU, wherever the rest is.
fn meet_reader(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(need) = call.api.needs.iter().find(|need| need.verb == Need::OnCpu) else { return };
    let Some(Operand::Param(name)) = need.args.first() else { return };
    // What a model that is not seen gives beside its output may be a list.
    let is_there = |read: &&Rc<Tensor>| read.device.is_chosen_gpu() && !read.among;
    let Some(read) = call.get(name).as_tensor().filter(is_there).cloned() else { return };
    let one = Side { device: read.device, what: Rc::from(format!("`{name}`")), made: read.made };
    let reader = call.api.name.rsplit('.').next().unwrap_or_default();
    let other = Side { device: Device::Cpu, what: Rc::from(format!("`{reader}`")), made: None };
    let meeting = Meeting { by_reader: true, error: READ_ON_CPU, ..Meeting::of(one, other, "this call") };
    cx.observe_for_good(call.place, meeting, read.confidence);
}

/// Joins and products take no number on its own, so that none of their operands may stay on the CPU.
fn takes_no_number(call: &Invocation<'_>) -> bool {
    call.gives.is_some_and(|gives| matches!(gives.verb, Transfer::Cat | Transfer::Stack | Transfer::Matmul))
}

/// The operands of a framework's operation that needs them on one device.
fn meet_operands(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    meet_reader(cx, call);
    meet_receiver(cx, call);
    // What is told a device brings its operands there.
    if cx.apis.is_copying(call.api.name) || call.is_given("device") {
        return;
    }
    let operands = meeting_operands(cx, call);
    let compares = call.gives.is_some_and(|gives| gives.verb == Transfer::Compare);
    if compares && operands.iter().any(|tensor| may_be_left(tensor)) {
        return;
    }
    let Some((first, rest)) = operands.split_first() else { return };
    // A number on the CPU may meet anything.
    let always = takes_no_number(call);
    let whole = |tensor: &Rc<Tensor>| {
        always || tensor.device != Device::Cpu || tensor.on_default_device() || tensor.is_spread()
    };
    let apart = |tensor: &&Rc<Tensor>| first.device.differs(tensor.device) && whole(tensor);
    let other = rest.iter().find(apart).filter(|_| whole(first));
    if !note_stranded(cx, &operands, call.place)
        && let Some(other) = other
    {
        meet_whole(cx, first, other, call.place, ["one of its tensors", "another"]);
    }
}
