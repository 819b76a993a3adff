//! The lattice: what the interpreter knows of a Python value. `Unknown` is its top.
//! Knows no framework; what calls do comes from `apis`.

mod choices;
pub mod device;
mod entries;
pub mod flow;
pub mod formula;
pub mod graph;
pub mod hazard;
pub mod heap;
mod inside;
pub mod int;
mod layout;
pub mod notes;
pub mod object;
pub mod parameter;
pub mod parts;
pub mod range;
pub mod recipe;
pub mod relation;
mod rounds;
mod standing;
pub mod tensor;

pub use device::{Device, DeviceForm, DeviceOrigin};
pub use entries::{Entries, Key};
pub use flow::{FlowState, FlowStates};
pub use formula::{Formula, Nth, Numbers};
pub use graph::{Graph, Nodes};
pub use hazard::{
    Hazard, HazardKind, LostEpsilon, Singularity, Solver, retain_hazards, union_hazards, without_overflow,
};
pub use heap::Heap;
pub use int::{Int, Symbol};
pub use layout::Turned;
pub use notes::{COPIED, Note, Notes};
pub use object::*;
pub use parameter::{ParamGroup, Parameter, Params};
pub use parts::{Kept, Part, Parts, Unwalked};
pub use range::{End, Interval, Length};
pub use recipe::{Ingredient, Recipe};
pub use relation::{Extreme, Relation};
pub use standing::{Lost, Standing};
pub use tensor::{DType, DetachPoint, Scaled, Shape, Source, Tensor};

use crate::report::{FileId, Place};
use crate::syntax::FnId;
use std::rc::Rc;
use ustr::Ustr;

/// NumPy stops at 64, and so do most kernels of PyTorch.
const MOST_DIMENSIONS: usize = 64;

/// So many values may lie within the items of a tuple.
const MOST_NESTED: usize = 1024;

#[derive(Clone, Debug, Default)]
pub enum Value {
    #[default]
    Unknown,
    None,
    /// This or `None`.
    Maybe(Rc<Value>),
    Bool(Option<bool>),
    Int(Num),
    Float(Option<f64>),
    Str(Option<Rc<str>>),
    /// A value that the user can change from outside (a flag, a config file).
    Given(Rc<Given>),
    Tensor(Rc<Tensor>),
    Tuple(Rc<[Value]>),
    Slice(Rc<(Value, Value, Value)>),
    Ellipsis,
    Obj(ObjId),
    Function(Rc<Closure>),
    Bound(Rc<Bound>),
    Partial(Rc<Partial>),
    /// One of several things that can be called: the class or function that a script chooses by a name.
    AnyOf(Rc<[Value]>),
    /// `super()` of an instance, from a class on.
    Super {
        instance: ObjId,
        after: ObjId,
    },
    /// A module, function or class of a framework, by qualified name.
    Api(Ustr),
    /// A file of the project.
    Module(FileId),
    /// A folder of the project without a file of its own.
    Folder(Rc<str>),
    /// `model.parameters()`, lists of parameters.
    Params(Rc<Params>),
    /// `p.grad`
    Grad(Rc<ObjSet>),
    Device(Device, DeviceForm),
    DType(DType),
    /// A function of the language itself.
    Builtin(Ustr),
}

/// An integer, where it comes from, and whether it counts something.
#[derive(Clone, Debug, Default)]
pub struct Num {
    pub int: Int,
    pub from: Option<Rc<Origin>>,
    pub tag: Tag,
    /// Which index of which loop it is.
    pub nth: Option<Nth>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tag {
    #[default]
    None,
    /// Grows by one each iteration.
    Counter,
    /// A counter modulo something.
    Phase,
}

impl Tag {
    fn max_counter(self, other: Tag) -> Tag {
        if self == Tag::Counter || other == Tag::Counter { Tag::Counter } else { self }
    }
}

/// Where a number was written.
#[derive(Debug, PartialEq)]
pub struct Origin {
    pub place: Place,
    /// The name it got there.
    pub name: Rc<str>,
    /// The user can change it from outside.
    pub given: bool,
}

#[derive(Debug)]
pub struct Given {
    pub value: Value,
    pub origin: Rc<Origin>,
}

#[derive(Clone, Debug)]
pub struct Closure {
    pub file: FileId,
    pub function: FnId,
    /// The frame it was defined in.
    pub env: ObjId,
    pub defaults: Vec<(Ustr, Value)>,
    /// The class whose body defined it, for `super()`.
    pub class: Option<ObjId>,
    pub wrap: Wrap,
}

impl Closure {
    /// What a parameter is given, or nothing where callers may leave it out: `if criterion is None: criterion = …`.
    pub fn as_passed(&self, param: Ustr, value: Value) -> Value {
        let is_nothing = |(name, default): &(Ustr, Value)| *name == param && matches!(default, Value::None);
        match value {
            Value::Unknown | Value::None | Value::Maybe(_) => value,
            known if self.defaults.iter().any(is_nothing) => Value::Maybe(Rc::new(known)),
            known => known,
        }
    }
}

/// What decorators do to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Wrap {
    pub is_static: bool,
    pub is_class: bool,
    pub is_property: bool,
    /// A context (`@torch.no_grad()`) in which the body runs.
    pub context: Option<ContextKind>,
    /// A decorator that is not understood: its body is rehearsed, its result is not trusted.
    pub opaque: bool,
    /// One of them may switch gradients off: it is of a package that is not known to leave them alone.
    pub may_switch: bool,
}

/// Contexts that matter to what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextKind {
    NoGrad,
    EnableGrad,
    UnknownGrad,
    Accumulate,
    Device(Device),
    /// In the scope of a strategy.
    Strategy(ObjId),
    /// In one of a strategy's replicas.
    Replica,
    /// In a function that is recorded as a graph.
    Traced,
    /// A tape records what happens.
    Recording,
    /// An error is expected.
    Failing,
    /// One of several models or functions runs, of which the script chooses: perhaps by what it gives them. So many
    /// calls were running where it was chosen.
    OneOfSeveral {
        frames: usize,
    },
    Autocast(Autocast),
}

/// Operations choose their dtypes by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Autocast {
    /// Where it was made.
    pub place: Option<Place>,
    /// Of which tensors.
    pub device: Device,
    /// `None` when the user decides, or something that we do not see.
    pub on: Option<bool>,
    /// What products are computed in.
    pub dtype: Option<DType>,
}

#[derive(Debug)]
pub struct Bound {
    pub receiver: Value,
    pub method: Method,
}

#[derive(Debug, Clone)]
pub enum Method {
    Closure(Rc<Closure>),
    /// A method of a framework's class, by canonical name.
    Api(Ustr),
    /// A method of a value of the language itself (`list.append`).
    Builtin(Ustr),
}

#[derive(Debug)]
pub struct Partial {
    pub callee: Value,
    pub positional: Vec<Value>,
    pub keywords: Vec<(Ustr, Value)>,
}

impl Num {
    pub fn known(value: i64) -> Num {
        Num { int: Int::Known(value), ..Num::default() }
    }

    pub fn of(int: Int) -> Num {
        Num { int, ..Num::default() }
    }

    pub fn is_given(&self) -> bool {
        self.int.is_given() || self.from.as_ref().is_some_and(|origin| origin.given)
    }

    /// The same number, with where it comes from.
    pub fn set_at(self, origin: &Rc<Origin>) -> Num {
        let int = if origin.given { self.int.given() } else { self.int };
        Num { int, from: Some(origin.clone()), ..self }
    }
}

impl Value {
    pub fn int(value: i64) -> Value {
        Value::Int(Num::known(value))
    }

    pub fn of_int(int: Int) -> Value {
        Value::Int(Num::of(int))
    }

    pub fn str(text: &str) -> Value {
        Value::Str(Some(Rc::from(text)))
    }

    /// The shape of a tensor of more dimensions than frameworks take is not followed.
    pub fn tensor(mut tensor: Tensor) -> Value {
        tensor.shape = tensor.shape.filter(|shape| shape.len() <= MOST_DIMENSIONS);
        Value::Tensor(Rc::new(tensor))
    }

    /// Of tuples in tuples only so many items are told apart: shared parts make trees that have no end.
    pub fn tuple(mut items: Vec<Value>) -> Value {
        let mut left = MOST_NESTED;
        for item in &mut items {
            if !item.takes_from(&mut left) {
                *item = Value::Unknown;
            }
        }
        Value::Tuple(items.into())
    }

    pub fn partial(partial: Partial) -> Value {
        let value = Value::Partial(Rc::new(partial));
        if value.takes_from(&mut MOST_NESTED.clone()) { value } else { Value::Unknown }
    }

    /// Takes what lies within a value from what may be nested; false when that does not suffice.
    fn takes_from(&self, left: &mut usize) -> bool {
        let mut each = |values: &mut dyn Iterator<Item = &Value>| {
            for value in values {
                let Some(fewer) = left.checked_sub(1) else { return false };
                *left = fewer;
                if !value.takes_from(left) {
                    return false;
                }
            }
            true
        };
        match self {
            Value::Tuple(items) => each(&mut items.iter()),
            Value::Maybe(inner) => each(&mut std::iter::once(&**inner)),
            Value::Given(given) => each(&mut std::iter::once(&given.value)),
            Value::Slice(slice) => each(&mut [&slice.0, &slice.1, &slice.2].into_iter()),
            Value::Bound(bound) => each(&mut std::iter::once(&bound.receiver)),
            Value::Partial(partial) => {
                let keywords = partial.keywords.iter().map(|(_, value)| value);
                let callee = std::iter::once(&partial.callee);
                each(&mut callee.chain(&partial.positional).chain(keywords))
            }
            _ => true,
        }
    }

    /// Without the wrappers that only say where it comes from or that it may be missing.
    pub fn bare(&self) -> &Value {
        match self {
            Value::Given(given) => given.value.bare(),
            Value::Maybe(value) => value.bare(),
            other => other,
        }
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Value::Unknown)
    }

    pub fn as_obj(&self) -> Option<ObjId> {
        match self.bare() {
            Value::Obj(object) => Some(*object),
            _ => None,
        }
    }

    pub fn as_tensor(&self) -> Option<&Rc<Tensor>> {
        match self.bare() {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<&Int> {
        match self.bare() {
            Value::Int(num) => Some(&num.int),
            _ => None,
        }
    }

    pub fn as_known_int(&self) -> Option<i64> {
        self.as_int().and_then(Int::known)
    }

    pub fn as_num(&self) -> Option<f64> {
        match self.bare() {
            Value::Int(num) => num.int.known().map(|value| value as f64),
            Value::Float(value) => *value,
            Value::Bool(Some(value)) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self.bare() {
            Value::Str(text) => text.as_deref(),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.bare() {
            Value::Bool(value) => *value,
            _ => None,
        }
    }

    /// Where the value was set, when it is one that a script or a user sets.
    pub fn origin(&self) -> Option<&Rc<Origin>> {
        match self {
            Value::Int(num) => num.from.as_ref(),
            Value::Given(given) => Some(&given.origin),
            Value::Maybe(value) => value.origin(),
            _ => None,
        }
    }

    /// Equal as far as a loop's fixpoint cares.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Unknown, Value::Unknown) | (Value::None, Value::None) => true,
            (Value::Ellipsis, Value::Ellipsis) => true,
            (Value::Maybe(a), Value::Maybe(b)) => a.same(b),
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a.int == b.int && a.tag == b.tag,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Given(a), Value::Given(b)) => Rc::ptr_eq(a, b) || a.value.same(&b.value),
            (Value::Tensor(a), Value::Tensor(b)) => Rc::ptr_eq(a, b) || a.same(b),
            (Value::Tuple(a), Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.same(y))
            }
            (Value::Slice(a), Value::Slice(b)) => a.0.same(&b.0) && a.1.same(&b.1) && a.2.same(&b.2),
            (Value::Obj(a), Value::Obj(b)) => a == b,
            (Value::Function(a), Value::Function(b)) => {
                Rc::ptr_eq(a, b) || (a.file == b.file && a.function == b.function && a.env == b.env)
            }
            (Value::Bound(a), Value::Bound(b)) => {
                Rc::ptr_eq(a, b) || (a.receiver.same(&b.receiver) && a.method.same(&b.method))
            }
            (Value::Partial(a), Value::Partial(b)) => Rc::ptr_eq(a, b),
            (Value::AnyOf(a), Value::AnyOf(b)) => {
                a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| x.same(y)))
            }
            (Value::Super { instance: a, after: b }, Value::Super { instance: c, after: d }) => {
                a == c && b == d
            }
            (Value::Api(a), Value::Api(b)) | (Value::Builtin(a), Value::Builtin(b)) => a == b,
            (Value::Module(a), Value::Module(b)) => a == b,
            (Value::Folder(a), Value::Folder(b)) => a == b,
            (Value::Params(a), Value::Params(b)) => a == b,
            (Value::Grad(a), Value::Grad(b)) => a == b,
            (Value::Device(a, x), Value::Device(b, y)) => a == b && x == y,
            (Value::DType(a), Value::DType(b)) => a == b,
            _ => false,
        }
    }
}

impl Method {
    fn same(&self, other: &Method) -> bool {
        match (self, other) {
            (Method::Closure(a), Method::Closure(b)) => a.file == b.file && a.function == b.function,
            (Method::Api(a), Method::Api(b)) | (Method::Builtin(a), Method::Builtin(b)) => a == b,
            _ => false,
        }
    }
}

/// The interval of a number as an operand of arithmetic.
pub fn interval_of(value: &Value) -> Option<Interval> {
    match value.bare() {
        Value::Tensor(tensor) => tensor.range,
        other => other.as_num().map(Interval::point),
    }
}
