//! What the events of the rehearsal tell: plain views of what happened, without a word about whether it is right.

use super::{Call, Invocation, Unfit};
use crate::apis::{Api, EffectSpec, Transfer, Verb};
use crate::report::Place;
use crate::syntax::{BinaryOp, Block, CompareOp, ExprId, Handler, StmtId};
use crate::trace::{CompiledLoss, Exit, FnKey};
use crate::values::*;
use std::cell::RefCell;
use std::rc::Rc;
use ustr::Ustr;

/// An instance, and its constructor.
pub struct Constructed {
    pub object: ObjId,
    /// The name of `__init__` where it is defined.
    pub constructor: Place,
}

/// A call of a function of the project that ends in a `TypeError`.
pub struct UnfitCall<'e> {
    pub closure: &'e Closure,
    pub receiver: Option<&'e Value>,
    pub call: &'e Call,
    pub unfit: Unfit,
}

/// A call of a class that ends in a `TypeError`: its constructor is made of its fields.
pub struct UnfitFields<'e> {
    pub object: ObjId,
    pub class: ObjId,
    pub call: &'e Call,
    /// The names of all parameters.
    pub takes: &'e [Ustr],
    pub unfit: Unfit,
}

/// A value whose items are bound to several names, of which one may take the rest.
pub struct Unpacked<'e> {
    pub names: usize,
    pub rest: bool,
    pub value: &'e Value,
    /// The names.
    pub place: Place,
}

/// `parser.add_argument("--epochs", type=int)`, of a parser that converts texts as the type says.
pub struct DeclaredOption<'e> {
    /// As users write it.
    pub name: &'e str,
    /// The attribute of the namespace that has it.
    pub dest: Ustr,
    pub call: &'e Call,
}

/// A call that was not followed to its end.
pub struct Abandoned<'e> {
    pub receiver: Option<&'e Value>,
}

/// `receiver.name = value`.
pub struct AttributeWrite<'e> {
    pub receiver: &'e Value,
    pub name: Ustr,
    pub value: &'e Value,
    pub place: Place,
}

/// `target = value`.
pub struct Assignment {
    pub target: ExprId,
    pub value: ExprId,
    /// The moment at which the value began to be evaluated.
    pub began: u32,
    /// A checker may follow it under a mark of its own.
    pub result: RefCell<Value>,
}

/// `target += …`
pub struct Update<'e> {
    pub target: ExprId,
    pub before: &'e Value,
    pub result: RefCell<Value>,
}

/// `target op= value`, whichever operator it is.
pub struct Augment<'e> {
    pub target: ExprId,
    pub operator: BinaryOp,
    pub value: ExprId,
    pub before: &'e Value,
    pub operand: &'e Value,
}

/// `left operator right`, where both were evaluated.
pub struct Arithmetic {
    pub operator: BinaryOp,
    pub left: ExprId,
    pub right: ExprId,
}

/// `into.append(value)`, `into[computed] = value`, `into += values`
pub struct ContainerWrite<'e> {
    pub container: ObjId,
    pub into: ExprId,
    pub place: Place,
    pub value: &'e RefCell<Value>,
}

/// An iterator that is gone through once more.
pub struct Exhausted<'e> {
    pub iterator: &'e Value,
    /// Where it is gone through now, where it was to its end, and where it was made.
    pub place: Place,
    pub first: Place,
    pub made: Place,
}

/// An object that a call made.
pub struct Instance {
    pub object: ObjId,
    pub place: Place,
}

/// A call of a module.
pub struct ForwardCall<'e> {
    pub module: ObjId,
    pub call: &'e Call,
}

/// A framework is about to go through data with a model.
pub struct FitCall<'e> {
    pub call: &'e Invocation<'e>,
    /// What the model is given at a time.
    pub input: &'e Value,
    /// The losses of its outputs, with what each of these is compared with.
    pub losses: &'e [(&'e CompiledLoss, Value)],
    /// What the model was laid out for.
    pub declared: Option<&'e Tensor>,
}

/// A call of a layer, as it is written.
pub struct LayerCall<'e> {
    pub layer: ObjId,
    pub call: &'e Call,
}

/// A layer that computes as a function of the tables does.
pub struct AppliedLayer<'e> {
    pub layer: ObjId,
    pub transfer: Transfer,
    pub call: &'e Invocation<'e>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Binary(BinaryOp),
    Compare,
}

/// `left operator right`, of two tensors.
pub struct Operation<'e> {
    pub operator: Operator,
    pub left: &'e Rc<Tensor>,
    pub right: &'e Rc<Tensor>,
    pub place: Place,
}

/// `a - b`, of which at least one is a tensor.
pub struct Difference<'e> {
    pub left: &'e Value,
    pub right: &'e Value,
    pub place: Place,
}

/// An operation, and what it gave; a checker may change what is known of it.
pub struct OperationResult<'e> {
    pub operator: Operator,
    pub left: &'e Rc<Tensor>,
    pub right: &'e Rc<Tensor>,
    pub place: Place,
    pub result: RefCell<Value>,
}

/// `tensor op number`, and what it gives.
pub struct NumberApplied<'e> {
    pub operator: BinaryOp,
    pub tensor: &'e Rc<Tensor>,
    /// The other operand.
    pub other: &'e Value,
    pub result: &'e Value,
    pub place: Place,
}

/// `container["key"]` is read.
pub struct EntryRead<'v> {
    pub container: &'v Value,
    pub key: Ustr,
    pub place: Place,
}

/// A loop is about to run over these values.
pub struct LoopOver<'v> {
    pub place: Place,
    pub any: &'v Value,
}

/// A stack of layers was put together.
pub struct StackMade {
    pub stack: ObjId,
    pub place: Place,
}

/// A layer that was called because the stack that holds it was.
pub struct StackedLayer {
    /// Where the layer was put into the stack.
    pub made: Place,
    /// Where the stack was called.
    pub called: Place,
    /// The point at which the layer began to run.
    pub began: TracePoint,
}

/// A call of a loss.
pub struct LossCall<'e> {
    pub input: &'e Value,
    pub target: &'e Value,
    pub call: &'e Invocation<'e>,
}

/// An effect of a call, as the tables declare it.
pub struct Declared<'e> {
    pub effect: &'e EffectSpec,
    pub call: &'e Invocation<'e>,
}

impl Declared<'_> {
    pub fn verb(&self) -> Verb {
        self.effect.verb
    }

    /// An operand of the effect; `None` of Python where the entry names no such operand.
    pub fn arg(&self, index: usize) -> Value {
        self.effect.args.get(index).map_or(Value::None, |arg| self.call.value_of(arg))
    }
}

/// A call of a framework, and what it gave.
pub struct ApiResult<'e> {
    pub call: &'e Invocation<'e>,
    pub value: &'e Value,
}

/// `receiver.method(...)`, where the tables know the method.
pub struct MethodResult<'e> {
    pub api: &'e Api,
    pub receiver: &'e Value,
    /// The receiver comes first.
    pub call: &'e Call,
}

/// `batches.next()` of an iterator over a loader.
pub struct DrawnByName {
    pub loader: ObjId,
    pub place: Place,
}

/// `next(batches)`, `batches.__next__()`
pub struct Drawn {
    pub loader: ObjId,
    /// The iterator over it.
    pub iterator: ObjId,
    pub place: Place,
}

/// `something.name(...)`
pub struct UnknownMethod<'e> {
    pub name: Ustr,
    pub call: &'e Call,
}

/// A statement that is an expression, and what it came to.
pub struct ExpressionStatement<'e> {
    pub expr: ExprId,
    pub value: &'e Value,
}

/// `tensor.detach.cpu()`, or `with torch.no_grad:`
pub struct Uncalled<'e> {
    /// The method, or the function.
    pub value: &'e Value,
    /// What is asked of it: an attribute, or `__enter__`.
    pub attribute: Ustr,
    pub place: Place,
}

/// `(logits, hidden).argmax(1)`
pub struct MissingAttribute<'e> {
    pub value: &'e Value,
    pub name: Ustr,
    pub place: Place,
}

/// What Python does with tuples is to count their items: `outputs[:, 0]`, `outputs - 1`.
pub struct TupleUse<'e> {
    pub items: &'e [Value],
    /// The index, or the other operand.
    pub with: &'e Value,
    /// `None` of an index.
    pub operator: Option<BinaryOp>,
    pub place: Place,
}

/// `DataParallel(model).encode`
pub struct HiddenAttribute {
    pub object: ObjId,
    /// The class of the wrapper.
    pub wrapper: Ustr,
    /// It is wrapped on all paths.
    pub sure: bool,
    pub name: Ustr,
    pub place: Place,
}

/// `left == right`
pub struct TensorCompare<'e> {
    pub left: &'e Value,
    pub right: &'e Value,
    pub place: Place,
}

/// `tensor[index]`, read.
pub struct Indexed<'e> {
    pub tensor: &'e Rc<Tensor>,
    pub index: &'e Value,
    pub place: Place,
}

/// `tensor[index]`, and what it gives; a checker may change what is known of it.
pub struct IndexResult<'e> {
    pub tensor: &'e Rc<Tensor>,
    pub index: &'e Value,
    pub place: Place,
    pub result: RefCell<Value>,
}

/// The call that makes a loader.
pub struct LoaderCall<'e> {
    pub call: &'e Invocation<'e>,
    pub dataset: &'e Value,
    pub sample_order: SampleOrder,
}

/// A call that walks back through the graph of a loss.
pub struct BackwardCall<'e> {
    pub loss: &'e Tensor,
    /// Modules and parameters that the graph is known to lead to.
    pub leaves: &'e ObjSet,
    pub call: &'e Invocation<'e>,
}

/// A `try` statement that has handlers.
pub struct Tried<'e> {
    pub handlers: &'e [Handler],
    pub began: TracePoint,
}

/// A point of the rehearsal, by what it had left behind until then.
#[derive(Clone, Copy, Default)]
pub struct TracePoint {
    pub(super) nodes: usize,
    pub(super) observations: usize,
}

/// `left op right`, of values that are no tensors.
pub struct Compare<'e> {
    pub op: CompareOp,
    pub left: &'e Value,
    pub right: &'e Value,
    /// Where the operands stand.
    pub places: [Place; 2],
}

/// A test of an `if`, and what it gave.
pub struct Test<'e> {
    pub expr: ExprId,
    pub value: &'e Value,
    /// The moment at which it began to be evaluated.
    pub began: u32,
}

/// An `if`.
pub struct Branch<'p> {
    /// The tests, and what runs where they hold.
    pub arms: &'p [(ExprId, Block)],
    pub otherwise: &'p [StmtId],
    /// The only arm that can run, where the tests decide that; `otherwise` comes after all others.
    pub taken: Option<usize>,
    /// The moment at which the first test began to be evaluated.
    pub began: u32,
}

/// How an arm of an `if` ended.
pub struct ArmEnd {
    /// `None` where the statement after the `if` is next.
    pub exit: Option<Exit>,
}

/// A function of the project is called, and its parameters are bound; the caller's frame is still the last.
pub struct Entered<'e> {
    pub key: FnKey,
    pub call: &'e Call,
    /// Parameters before those that the call gives: `self`.
    pub bound: usize,
}

/// `return value`.
pub struct Return<'e> {
    pub expr: Option<ExprId>,
    pub value: &'e Value,
}

/// `tensor[at]`, where nothing but indices of loops picks.
pub struct ElementRead<'e> {
    pub tensor: &'e Tensor,
    /// The indices that pick, also those of the views that led here.
    pub at: &'e [Nth],
    /// What is read.
    pub part: &'e Tensor,
    pub place: Place,
}

/// `tensor[index] = value`
pub struct ElementWrite<'e> {
    pub tensor: &'e Tensor,
    pub index: &'e Value,
    /// The indices of loops that pick, also those of the views that led here.
    pub at: &'e [Nth],
    pub value: &'e Value,
    /// What is written, as far as it is computed of elements at the same indices.
    pub formula: Option<&'e Formula>,
    pub place: Place,
}

/// The forward of a custom autograd function, after it ran.
pub struct FunctionApplied<'e> {
    pub class: ObjId,
    pub forward: &'e Closure,
    pub context: &'e Value,
    pub inputs: &'e [Value],
    pub result: &'e Value,
    pub place: Place,
}
