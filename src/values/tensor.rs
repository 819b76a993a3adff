//! Tensors and arrays: shape, dtype, device, the graph behind them, and what their numbers can be.

use super::device::{Device, DeviceOrigin};
use super::formula::Numbers;
use super::graph::Graph;
use super::hazard::{Hazard, union_hazards};
use super::int::{Int, product};
use super::layout::Turned;
use super::object::{ObjId, ObjSet};
use super::range::Interval;
use super::recipe::Recipe;
use super::relation::Relation;
use super::standing::Standing;
use crate::apis::Mark;
use crate::report::{Confidence, Place};
use std::rc::Rc;

pub type Shape = Rc<[Int]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    Bool,
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
}

impl DType {
    /// By the last part of its name in any framework: `torch.float32`, `np.double`, `"half"`.
    pub fn named(name: &str) -> Option<DType> {
        let last = name.rsplit('.').next().unwrap_or(name);
        Some(match last {
            "bool" | "bool_" => DType::Bool,
            "uint8" | "byte" => DType::UInt8,
            "int8" => DType::Int8,
            "int16" | "short" => DType::Int16,
            "int32" | "int" | "intc" => DType::Int32,
            "int64" | "long" | "int_" => DType::Int64,
            "float16" | "half" => DType::Float16,
            "bfloat16" => DType::BFloat16,
            "float32" | "float" | "single" => DType::Float32,
            "float64" | "double" | "float_" => DType::Float64,
            "complex64" | "cfloat" => DType::Complex64,
            _ => return None,
        })
    }

    pub fn bytes(self) -> i64 {
        match self {
            DType::Bool | DType::UInt8 | DType::Int8 => 1,
            DType::Int16 | DType::Float16 | DType::BFloat16 => 2,
            DType::Int32 | DType::Float32 => 4,
            DType::Int64 | DType::Float64 | DType::Complex64 => 8,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::UInt8 => "uint8",
            DType::Int8 => "int8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
            DType::Complex64 => "complex64",
        }
    }

    /// The nearest number that it holds.
    pub fn round(self, number: f64) -> f64 {
        match self {
            DType::Float16 => half::f16::from_f64(number).to_f64(),
            DType::BFloat16 => half::bf16::from_f64(number).to_f64(),
            DType::Float32 => f64::from(number as f32),
            _ => number,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 | DType::Complex64)
    }

    /// The dtype of a result of both, as the frameworks promote.
    pub fn promote(self, other: DType) -> Option<DType> {
        if self == other || (self.is_float() && !other.is_float()) {
            Some(self)
        } else if other.is_float() && !self.is_float() {
            Some(other)
        } else if self.bytes() != other.bytes() {
            Some(if self.bytes() > other.bytes() { self } else { other })
        } else {
            None
        }
    }
}

/// Whether numbers were multiplied by a scaler of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scaled {
    #[default]
    No,
    By(ObjId),
    /// On some ways, by a scaler that we do not see, or by several.
    Maybe,
}

impl Scaled {
    /// Of what is computed from both.
    pub fn union(self, other: Scaled) -> Scaled {
        match (self, other) {
            (Scaled::No, scaled) | (scaled, Scaled::No) => scaled,
            _ => self.join(other),
        }
    }

    /// Of what is one or the other.
    pub fn join(self, other: Scaled) -> Scaled {
        if self == other { self } else { Scaled::Maybe }
    }
}

/// What a tensor is in the training script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Source {
    #[default]
    Unknown,
    /// Samples or labels, from a dataset, a file or a generator of random numbers.
    Data,
    /// Made by a module.
    Output,
    /// What a criterion gave that nobody sees into; it may give more beside.
    Loss,
    Parameter,
    /// Comparisons and masks.
    Mask,
    Constant,
}

/// Where a value left a graph behind.
#[derive(Clone, Debug, PartialEq)]
pub struct DetachPoint {
    pub place: Place,
    /// The API that did it, by qualified name; `None` where gradients are not recorded.
    pub by: Option<ustr::Ustr>,
    /// Modules and parameters that the graph led to.
    pub lost: ObjSet,
    /// No gradients are recorded there, whatever the API does.
    pub unrecorded: bool,
}

impl DetachPoint {
    /// What `by` says where a number of the language was made of the value.
    pub const NUMBER: &str = "float";
}

#[derive(Clone, Debug)]
pub struct Tensor {
    pub shape: Option<Shape>,
    /// The last size, where nothing else is known of the shape, or a layer has made it whatever the others are.
    pub last: Option<Int>,
    /// The first size of a batch, where nothing else is known of the shape: so many numbers there are at least.
    pub first: Option<Int>,
    /// It has an axis at least, where nothing is known of the shape: a batch, or what was joined along one.
    pub has_axis: bool,
    pub dtype: Option<DType>,
    /// What autocast computes it in, where that is not seen in the dtype.
    pub cast: Option<DType>,
    pub device: Device,
    pub device_origin: Option<DeviceOrigin>,
    pub graph: Graph,
    pub range: Option<Interval>,
    pub mark: Option<(Mark, Place)>,
    pub source: Source,
    /// Held by NumPy, not by the framework.
    pub is_array: bool,
    /// Of an array, where it is a table or a column of one, and no array of NumPy.
    pub is_table: bool,
    /// Of an array, where a view of it was taken that goes backwards through memory: its strides are negative.
    pub backwards: Option<Place>,
    /// Its dimensions lie in memory in another order.
    pub turned: Option<Rc<Turned>>,
    /// How its shape stands to that of what it was computed of; `None` for one of its own.
    pub standing: Option<Standing>,
    /// `requires_grad` was asked for on the tensor itself.
    pub is_leaf: bool,
    /// One number, the mean of a batch, that nothing was multiplied with.
    pub averaged: bool,
    /// A mask of the numbers that equal or exceed a known one, or what is counted by such masks: it may hold nowhere.
    pub selects: bool,
    /// One of several results of a model that nobody sees into: it may be counts or positions, without a graph.
    pub among: bool,
    /// Its numbers depend on what is learned, whether or not a graph says so.
    pub learned: bool,
    pub hazards: Option<Rc<[Hazard]>>,
    /// How it stands to another tensor.
    pub relation: Option<Rc<Relation>>,
    /// What its numbers are computed of, where that is followed.
    pub numbers: Option<Rc<Numbers>>,
    /// The steps of that, where a replay may be made of them.
    pub recipe: Option<Rc<Recipe>>,
    /// Where what it was computed of left a graph behind.
    pub detach_points: Option<Rc<[DetachPoint]>>,
    pub scaled: Scaled,
    /// Numbers of stored images, or computed of such: where the numbers came to their scale.
    pub images: Option<Place>,
    /// Where it was made.
    pub made: Option<Place>,
    /// The pass of a loop in which it was made.
    pub created: u32,
    /// Of a symbolic value: the layers that it came through, on the way from an input.
    pub layers: Option<Rc<ObjSet>>,
    /// The API that made it, by qualified name.
    pub what: Option<ustr::Ustr>,
    pub confidence: Confidence,
}

impl Default for Tensor {
    fn default() -> Tensor {
        Tensor {
            shape: None,
            last: None,
            first: None,
            has_axis: false,
            dtype: None,
            cast: None,
            device: Device::Unknown,
            device_origin: None,
            graph: Graph::Unknown,
            range: None,
            mark: None,
            source: Source::Unknown,
            is_array: false,
            backwards: None,
            turned: None,
            standing: None,
            is_leaf: false,
            averaged: false,
            selects: false,
            among: false,
            learned: false,
            hazards: None,
            relation: None,
            numbers: None,
            recipe: None,
            detach_points: None,
            scaled: Scaled::No,
            images: None,
            made: None,
            created: 0,
            layers: None,
            what: None,
            is_table: false,
            confidence: Confidence::High,
        }
    }
}

impl Tensor {
    /// How sure it is that the numbers are what the mark says: what went through a softmax or a sigmoid is known by
    /// that, if nothing but a name says what it was given.
    pub fn sure_of_mark(&self) -> Confidence {
        match self.mark {
            Some((Mark::Softmax | Mark::Sigmoid, _)) => self.confidence.max(Confidence::Medium),
            _ => self.confidence,
        }
    }

    /// The same tensor, through one more singular operation.
    pub fn with_hazard(&self, hazard: Hazard) -> Tensor {
        let hazards = union_hazards(&self.hazards, &Some(Rc::from([hazard])));
        Tensor { hazards, ..self.clone() }
    }

    pub fn numel(&self) -> Int {
        self.shape.as_ref().map_or(Int::Unknown, |shape| product(shape.iter()))
    }

    /// Size in bytes, where shape and dtype are known.
    pub fn bytes(&self) -> Option<i64> {
        self.numel().known()?.checked_mul(self.dtype?.bytes())
    }

    /// The size along the last axis.
    pub fn last_size(&self) -> Option<Int> {
        match &self.shape {
            Some(shape) => shape.last().cloned().filter(|last| !last.is_unknown()),
            None => self.last.clone(),
        }
    }

    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(|shape| shape.len())
    }

    /// It is more than a number, which may meet any device.
    pub fn is_spread(&self) -> bool {
        self.rank().map_or(self.has_axis, |rank| rank > 0)
    }

    /// It is what a loss is given that nothing calls, as it came.
    pub fn is_given_to_loss(&self) -> bool {
        self.source == Source::Output && self.what.is_none() && matches!(self.graph, Graph::Unknown)
    }

    /// It was made a parameter, which modules find; it does not only ask for gradients.
    pub fn is_parameter(&self) -> bool {
        let only_asks = matches!(&self.graph, Graph::Live(nodes) if nodes.own);
        self.is_leaf && self.source == Source::Parameter && !only_asks
    }

    /// It was made where the framework makes tensors by default, has not been moved, and is more than a
    /// number, which may meet any device.
    /// Where a layer gave these numbers as they are, behind no activation.
    pub fn raw_at(&self) -> Option<Place> {
        match self.mark {
            Some((Mark::Raw, made)) if self.learned => Some(made),
            _ => None,
        }
    }

    pub fn on_default_device(&self) -> bool {
        let Some(DeviceOrigin::Default { whole, .. }) = self.device_origin else { return false };
        let whole = self.rank().map_or(whole || self.has_axis, |rank| rank > 0);
        whole && !self.is_array && matches!(self.device, Device::Cpu | Device::Unknown)
    }

    pub fn with_shape(mut self, shape: Option<Shape>) -> Tensor {
        self.shape = shape;
        self.turned = None;
        self.standing = Some(Standing::RESHAPED);
        self.last = None;
        self.first = None;
        self.has_axis = false;
        self
    }

    /// The value that is this tensor or the other.
    pub fn join(&self, other: &Tensor) -> Tensor {
        let shape = join_shapes(&self.shape, &other.shape);
        let last = match shape {
            Some(_) => self.last.clone().filter(|last| other.last.as_ref() == Some(last)),
            None => self.last_size().filter(|last| other.last_size().as_ref() == Some(last)),
        };
        Tensor {
            shape,
            last,
            first: self.first.clone().filter(|first| other.first.as_ref() == Some(first)),
            has_axis: self.is_spread() && other.is_spread(),
            dtype: if self.dtype == other.dtype { self.dtype } else { None },
            cast: self.cast.filter(|_| self.cast == other.cast),
            device: self.device.join(other.device),
            device_origin: DeviceOrigin::join(self, other),
            graph: self.graph.join(&other.graph),
            range: match (&self.range, &other.range) {
                (Some(a), Some(b)) => Some(a.join(b)),
                _ => None,
            },
            mark: match (&self.mark, &other.mark) {
                (Some(a), Some(b)) if a.0 == b.0 => Some(*a),
                _ => None,
            },
            source: if self.source == other.source { self.source } else { Source::Unknown },
            is_array: self.is_array && other.is_array,
            // An array that is flipped at random is flipped soon.
            backwards: self.backwards.or(other.backwards),
            turned: self.turned.clone().filter(|_| self.turned == other.turned),
            standing: Some(if self.standing_of_each() == other.standing_of_each() {
                self.standing_of_each()
            } else {
                Standing::RESHAPED
            }),
            is_leaf: self.is_leaf && other.is_leaf,
            averaged: self.averaged && other.averaged,
            selects: self.selects && other.selects,
            among: self.among || other.among,
            learned: self.learned || other.learned,
            hazards: union_hazards(&self.hazards, &other.hazards),
            relation: match (&self.relation, &other.relation) {
                (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Some(a.clone()),
                _ => None,
            },
            numbers: Numbers::join(&self.numbers, &other.numbers),
            recipe: match (&self.recipe, &other.recipe) {
                (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Some(a.clone()),
                _ => None,
            },
            detach_points: union_detach_points(&self.detach_points, &other.detach_points),
            scaled: self.scaled.join(other.scaled),
            images: self.images.filter(|_| self.images == other.images),
            made: if self.made == other.made { self.made } else { None },
            created: self.created.max(other.created),
            layers: match (&self.layers, &other.layers) {
                (Some(a), Some(b)) => Some(Rc::new(a.union(b))),
                _ => None,
            },
            what: if self.what == other.what { self.what } else { None },
            is_table: self.is_table && other.is_table,
            confidence: self.confidence.min(other.confidence),
        }
    }

    /// Same as far as a loop's fixpoint cares: the age of graphs does not matter.
    pub fn same(&self, other: &Tensor) -> bool {
        let graphs = match (&self.graph, &other.graph) {
            (Graph::None, Graph::None) | (Graph::Unknown, Graph::Unknown) => true,
            (Graph::Live(a), Graph::Live(b)) => {
                a.leaves == b.leaves && a.others == b.others && a.carried == b.carried && a.maybe == b.maybe
            }
            _ => false,
        };
        graphs
            && self.shape == other.shape
            && self.last == other.last
            && self.has_axis == other.has_axis
            && self.dtype == other.dtype
            && self.device == other.device
            && self.device_origin == other.device_origin
            && self.range == other.range
            && self.mark.map(|mark| mark.0) == other.mark.map(|mark| mark.0)
            && self.source == other.source
            && self.is_leaf == other.is_leaf
            && Numbers::same(&self.numbers, &other.numbers)
            && self.scaled == other.scaled
            && self.images == other.images
    }
}

fn join_shapes(a: &Option<Shape>, b: &Option<Shape>) -> Option<Shape> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    if a.len() != b.len() {
        return None;
    }
    if a == b {
        return Some(a.clone());
    }
    Some(a.iter().zip(b.iter()).map(|(x, y)| x.join(y)).collect())
}

/// More detach points on the way to one value than a report would show are forgotten.
const MOST_CUTS: usize = 4;

pub fn union_detach_points(
    a: &Option<Rc<[DetachPoint]>>,
    b: &Option<Rc<[DetachPoint]>>,
) -> Option<Rc<[DetachPoint]>> {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Some(a.clone()),
        (Some(a), Some(b)) => {
            let mut all = a.to_vec();
            all.extend(b.iter().filter(|cut| !a.iter().any(|known| known.place == cut.place)).cloned());
            all.truncate(MOST_CUTS);
            Some(all.into())
        }
    }
}
