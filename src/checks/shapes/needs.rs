//! Holds what the tables say that a call needs against the shapes that it is given. Only what is surely unequal is a
//! fault: sizes that the user may change, and sizes that nobody knows, fit.

use super::faults::Fault;
use crate::apis::{Apply, Need};
use crate::interp::transfer::build::{Sequence, ints_of, known_ints, named, sequence};
use crate::interp::transfer::{dims, exceeding_window};
use crate::interp::{Interp, Invocation};
use crate::values::{Int, ObjId, Relation, Shape, Tensor, Value};
use std::rc::Rc;

/// What was found wrong, and the operands that it is about: what arrived, and what it met.
pub(super) struct Broken {
    pub fault: Fault,
    pub input: Rc<Tensor>,
    pub other: Option<Rc<Tensor>>,
    /// The argument of the constructor that says something else.
    pub argument: Option<ustr::Ustr>,
}

/// An application of a need to the operands of a call.
struct Applied<'a, 'p> {
    cx: &'a Interp<'p>,
    need: &'a Apply<Need>,
    call: &'a Invocation<'a>,
    /// The layer that is called.
    layer: Option<ObjId>,
    /// It runs in the stack that it was just put into.
    in_trial: bool,
}

/// A list in a list is looked into so deep.
const MOST_NESTED: usize = 4;

/// A tensor of several numbers in a list.
fn several_in(cx: &Interp<'_>, list: &Value, depth: usize) -> Option<Rc<Tensor>> {
    let items = match sequence(cx, list)? {
        Sequence::Exact(items) => items,
        Sequence::Any(any, _) => vec![any],
    };
    items.iter().find_map(|item| match item.as_tensor() {
        Some(tensor) if !tensor.is_array && holds_several(tensor) => Some(tensor.clone()),
        Some(_) => None,
        None => several_in(cx, item, depth.checked_sub(1)?),
    })
}

fn holds_several(tensor: &Tensor) -> bool {
    let is_longer = |size: &Int| !size.is_given() && size.known().is_some_and(|size| size > 1);
    tensor.shape.as_deref().is_some_and(|shape| shape.iter().any(is_longer))
}

/// The need of a call that is surely not met.
pub(super) fn broken(
    cx: &Interp<'_>,
    need: &Apply<Need>,
    call: &Invocation<'_>,
    layer: Option<ObjId>,
    in_trial: bool,
) -> Option<Broken> {
    Applied { cx, need, call, layer, in_trial }.broken()
}

impl Applied<'_, '_> {
    fn value(&self, index: usize) -> Value {
        self.need.args.get(index).map_or(Value::None, |operand| self.call.value_of(operand))
    }

    fn tensor(&self, index: usize) -> Option<Rc<Tensor>> {
        self.value(index).as_tensor().cloned()
    }

    fn shape(&self, index: usize) -> Option<Shape> {
        self.tensor(index)?.shape.clone()
    }

    fn int(&self, index: usize) -> Option<Int> {
        self.value(index).as_int().cloned()
    }

    /// The numbers that an operand and those after it say.
    fn ints(&self, index: usize) -> Option<Vec<Int>> {
        let mut all = Vec::new();
        for index in index..self.need.args.len() {
            let value = self.value(index);
            if !matches!(value.bare(), Value::None) {
                all.extend(ints_of(self.cx, &value)?);
            }
        }
        Some(all)
    }

    /// The name of an operand that is a parameter.
    fn name(&self, index: usize) -> Option<ustr::Ustr> {
        match self.need.args.get(index)? {
            crate::apis::Operand::Param(name) => Some(*name),
            crate::apis::Operand::Literal(_) => None,
        }
    }

    fn broken(&self) -> Option<Broken> {
        let of_input = |fault: Option<Fault>| {
            Some(Broken { fault: fault?, input: self.tensor(0)?, other: None, argument: None })
        };
        match self.need.verb {
            Need::Last => self.sized(self.tensor(0)?.last_size()?, "features"),
            Need::Features => self.sized(self.shape(0)?.get(1)?.clone(), "channels"),
            Need::Channels => self.channels(),
            Need::Rank => of_input(self.rank()),
            Need::Trailing => of_input(self.trailing()),
            Need::State => self.state(),
            Need::Count => of_input(self.count(0)),
            Need::CountEach => of_input(self.count(1)),
            Need::Dense => of_input(self.dense()),
            Need::Expand => {
                of_input(self.expand()).or_else(|| beside_reduced(&self.tensor(0)?, &self.tensor(1)?, true))
            }
            Need::Axis => of_input(self.axis()),
            Need::Axes => of_input(self.axes()),
            Need::Numbers => self.numbers(),
            Need::Window => of_input(self.window()),
            Need::Product => self.product(),
            Need::Weight => self.weight(),
            Need::PerChannel => of_input(self.per_channel()),
            Need::Broadcast => self.broadcast(),
            Need::Meet => self.meet(),
            // Of devices and graphs.
            Need::Together | Need::OnCpu | Need::Array | Need::ArrayItems => None,
            Need::Join => self.join(false),
            Need::Stack => self.join(true),
            // Of numbers only: held where something is made of them.
            Need::Multiple => None,
        }
    }

    fn sized(&self, gets: Int, unit: &'static str) -> Option<Broken> {
        let wants = self.int(1)?;
        let input = self.tensor(0)?;
        let by_chance = |layer| self.cx.equal_by_chance(layer, &input, &gets, &wants);
        // What the user may change of one layer fits the next by chance, and as it is written it does not.
        let by_default = || self.in_trial && both_numbers(&gets, &wants) && gets.known() != wants.known();
        (gets.surely_differs(&wants) || self.layer.is_some_and(by_chance) || by_default()).then_some(())?;
        let fault = Fault::Size { gets, wants, unit };
        Some(Broken { fault, input, other: None, argument: self.name(1) })
    }

    fn channels(&self) -> Option<Broken> {
        let (shape, rank) = (self.shape(0)?, usize::try_from(self.int(2)?.known()?).ok()?);
        if !(rank + 1..=rank + 2).contains(&shape.len()) {
            let fault = Fault::Rank { gets: shape.len(), wants: vec![rank + 1, rank + 2] };
            return Some(Broken { fault, input: self.tensor(0)?, other: None, argument: None });
        }
        self.sized(shape[shape.len() - rank - 1].clone(), "channels")
    }

    fn per_channel(&self) -> Option<Fault> {
        let shape = self.shape(0)?;
        let channels = shape.get(shape.len().checked_sub(3)?)?;
        let channels = channels.known().filter(|_| !channels.is_given())?;
        let is_wrong = |numbers: &i64| *numbers > 1 && *numbers != channels;
        let numbers = (1..self.need.args.len()).filter_map(|index| self.length(index)).find(is_wrong)?;
        Some(Fault::PerChannel { numbers, channels })
    }

    /// How many numbers there are in a sequence.
    fn length(&self, index: usize) -> Option<i64> {
        match sequence(self.cx, &self.value(index))? {
            Sequence::Exact(items) => i64::try_from(items.len()).ok(),
            Sequence::Any(..) => None,
        }
    }

    fn rank(&self) -> Option<Fault> {
        let gets = self.shape(0)?.len();
        let wants: Vec<usize> =
            self.ints(1)?.iter().filter_map(|rank| usize::try_from(rank.known()?).ok()).collect();
        (!wants.contains(&gets)).then_some(Fault::Rank { gets, wants })
    }

    fn trailing(&self) -> Option<Fault> {
        let (shape, wants) = (self.shape(0)?, self.ints(1)?);
        let fits = shape.len().checked_sub(wants.len()).is_some_and(|first| {
            shape[first..].iter().zip(&wants).all(|(gets, wants)| !gets.surely_differs(wants))
        });
        (!fits && !wants.is_empty()).then_some(Fault::Trailing { wants })
    }

    /// Whether the axes behind so many hold as many numbers as are wanted.
    fn count(&self, before: usize) -> Option<Fault> {
        let (shape, wanted) = (self.shape(0)?.get(before..)?.to_vec(), self.ints(1)?);
        if wanted.is_empty() || wanted.iter().any(Int::is_given) {
            return None;
        }
        let open = wanted.iter().filter(|size| size.known() == Some(-1)).count();
        let rest = wanted.iter().filter(|size| size.known() != Some(-1));
        let (old, new) = dims::without_common(&shape, rest);
        let (old, new) = (crate::values::int::product(&old), crate::values::int::product(&new));
        let wrong = match open {
            0 => old.surely_differs(&new),
            1 if !old.is_given() && !new.is_given() => old.modulo(&new).known().is_some_and(|rest| rest != 0),
            _ => false,
        };
        if wrong {
            return Some(Fault::Count { wanted });
        }
        if before == 0 { rows(&shape, &wanted) } else { None }
    }

    /// More stretches of memory than there are sizes to take them.
    fn dense(&self) -> Option<Fault> {
        let turned = self.tensor(0)?.turned.clone()?;
        let taken = self.ints(1)?.iter().filter(|size| **size != Int::Known(1)).count();
        let stretches = turned.stretches(!self.cx.goes_through_single_samples());
        (taken > 0 && stretches > taken).then_some(Fault::Scattered(turned))
    }

    fn expand(&self) -> Option<Fault> {
        let (shape, wanted) = (self.shape(0)?, self.sizes()?);
        let Some(new) = wanted.len().checked_sub(shape.len()) else {
            return (!wanted.is_empty()).then_some(Fault::Count { wanted });
        };
        let refuses = |(old, wanted): (&Int, &Int)| {
            wanted.known() != Some(-1) && *old != Int::Known(1) && both_known(old, wanted) && old != wanted
        };
        shape.iter().zip(&wanted[new..]).any(refuses).then_some(Fault::Count { wanted })
    }

    /// Sizes that are given one by one, or as those of another tensor.
    fn sizes(&self) -> Option<Vec<Int>> {
        match self.tensor(1) {
            Some(model) => Some(model.shape.as_ref()?.to_vec()),
            None => self.ints(1),
        }
    }

    fn axis(&self) -> Option<Fault> {
        let rank = self.shape(0)?.len();
        let value = self.value(1);
        if matches!(value.bare(), Value::None | Value::Tensor(_)) {
            return None;
        }
        let axes = known_ints(self.cx, &value)?;
        // A single number has an axis 0, too.
        let most = rank.max(1);
        let missing = |axis: &&i64| dims::normalise_dim(**axis, most).is_none();
        let given = ints_of(self.cx, &value)?.iter().any(Int::is_given);
        axes.iter().find(missing).filter(|_| !given).map(|axis| Fault::Axis { axis: *axis, rank })
    }

    /// A tensor in a list that holds more numbers than one, or none.
    fn numbers(&self) -> Option<Broken> {
        let input = match self.call.rest.as_slice() {
            [] => several_in(self.cx, &self.value(0), MOST_NESTED),
            rest => rest.iter().find_map(|one| several_in(self.cx, one, MOST_NESTED)),
        }?;
        Some(Broken { fault: Fault::Several, input, other: None, argument: None })
    }

    fn axes(&self) -> Option<Fault> {
        let (rank, axes) = (self.shape(0)?.len(), self.ints(1)?);
        (!axes.is_empty() && axes.len() != rank).then_some(Fault::Axes { gets: axes.len(), rank })
    }

    fn window(&self) -> Option<Fault> {
        let (window, room) = exceeding_window(self.cx, self.call)?;
        (!window.is_given() && !room.is_given()).then_some(Fault::Window { window, room })
    }

    /// The state that a recurrent layer starts from: one tensor, or two of one shape.
    fn state(&self) -> Option<Broken> {
        let states: Vec<Rc<Tensor>> = match self.value(0).bare() {
            Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor().cloned()).collect(),
            other => other.as_tensor().cloned().into_iter().collect(),
        };
        let (inputs, both) = (self.shape(1)?, self.value(4).as_bool()?);
        let layers = self.int(3)?.mul(&Int::Known(if both { 2 } else { 1 }));
        let batch = match (&*inputs, self.value(5).as_bool()?) {
            ([_, _], _) => None,
            ([batch, _, _], true) | ([_, batch, _], false) => Some(batch.clone()),
            _ => return None,
        };
        let wants: Vec<Int> = [Some(layers), batch, Some(self.int(2)?)].into_iter().flatten().collect();
        // Projected, one of them has another size.
        let projected = named(self.call, "proj_size").is_some_and(|size| size.as_known_int() != Some(0));
        let differs = |gets: &Shape| {
            gets.len() != wants.len() || gets.iter().zip(&wants).any(|(a, b)| a.surely_differs(b))
        };
        let wrong = states.into_iter().find(|state| state.shape.as_ref().is_some_and(differs))?;
        let fault = Fault::State { gets: wrong.shape.clone()?, wants };
        (!projected).then_some(Broken { fault, input: wrong, other: self.tensor(1), argument: None })
    }

    fn product(&self) -> Option<Broken> {
        let (x, y) = (self.tensor(0)?, self.tensor(1)?);
        let flags: Vec<Value> = (2..self.need.args.len()).map(|index| self.value(index)).collect();
        let left = dims::turned(x.shape.as_ref()?, flags.iter().step_by(2))?;
        let right = dims::turned(y.shape.as_ref()?, flags.iter().skip(1).step_by(2))?;
        let fault = product(&left, &right)?;
        Some(Broken { fault, input: x, other: Some(y), argument: None })
    }

    fn weight(&self) -> Option<Broken> {
        let (x, weight) = (self.tensor(0)?, self.tensor(1)?);
        let (gets, wants) = (x.last_size()?, weight.shape.as_ref()?.last()?.clone());
        gets.surely_differs(&wants).then_some(())?;
        let fault = Fault::Size { gets, wants, unit: "features" };
        Some(Broken { fault, input: x, other: Some(weight), argument: None })
    }

    fn broadcast(&self) -> Option<Broken> {
        let all: Vec<Rc<Tensor>> = (0..self.need.args.len()).filter_map(|index| self.tensor(index)).collect();
        let (x, y) = (all.first()?, all.get(1)?);
        if let Some(found) = beside_reduced(x, y, false).or_else(|| beside_reduced(y, x, false)) {
            return Some(found);
        }
        let fault = broadcast(x.shape.as_ref()?, y.shape.as_ref()?)?;
        Some(Broken { fault, input: x.clone(), other: Some(y.clone()), argument: None })
    }

    /// What meets number by number, after the first of them.
    fn meet(&self) -> Option<Broken> {
        let Some(Sequence::Exact(items)) = sequence(self.cx, &self.value(0)) else { return None };
        let mut shaped = items.iter().filter_map(Value::as_tensor).filter(|tensor| tensor.shape.is_some());
        let first = shaped.next()?;
        shaped.filter(|other| other.rank() == first.rank()).find_map(|other| {
            let fault = broadcast(first.shape.as_ref()?, other.shape.as_ref()?)?;
            Some(Broken { fault, input: first.clone(), other: Some(other.clone()), argument: None })
        })
    }

    fn join(&self, stacks: bool) -> Option<Broken> {
        let items = match sequence(self.cx, &self.value(0))? {
            Sequence::Exact(items) => items,
            Sequence::Any(any, _) => return scalar(&[any]).filter(|_| !stacks),
        };
        if !stacks && let Some(broken) = scalar(&items) {
            return Some(broken);
        }
        let axis = if stacks { None } else { Some(self.value(1).as_known_int()?) };
        let tensors: Vec<&Rc<Tensor>> = items.iter().filter_map(Value::as_tensor).collect();
        // Of old an empty vector may be joined with anything.
        let counts = |tensor: &&&Rc<Tensor>| stacks || tensor.rank() != Some(1) || !has_no_numbers(tensor);
        let mut shaped = tensors.iter().filter(counts).filter(|tensor| tensor.shape.is_some());
        let first = *shaped.next()?;
        shaped.find_map(|other| {
            let fault = join(first.shape.as_ref()?, other.shape.as_ref()?, axis)?;
            Some(Broken { fault, input: first.clone(), other: Some((*other).clone()), argument: None })
        })
    }
}

/// What a list gathers that has no dimension: losses of batches, for one.
fn scalar(items: &[Value]) -> Option<Broken> {
    let is_scalar = |tensor: &&Rc<Tensor>| tensor.rank() == Some(0);
    let input = items.iter().filter_map(Value::as_tensor).find(is_scalar)?.clone();
    Some(Broken { fault: Fault::Scalar, input, other: None, argument: None })
}

fn has_no_numbers(tensor: &Tensor) -> bool {
    tensor.shape.as_deref().is_some_and(|shape| shape.iter().any(|size| size.known().is_none_or(|n| n <= 0)))
}

/// Whether both are numbers, if of a default.
fn both_numbers(a: &Int, b: &Int) -> bool {
    a.known().is_some() && b.known().is_some()
}

fn both_known(a: &Int, b: &Int) -> bool {
    matches!((a, b), (Int::Known(_), Int::Known(_)))
}

/// `x.view(-1, 400)` of samples of 576 numbers: where it does not fail it mixes samples.
fn rows(shape: &[Int], wanted: &[Int]) -> Option<Fault> {
    let ([Int::Known(-1), Int::Known(row)], [batch, rest @ ..]) = (wanted, shape) else { return None };
    let Int::Known(sample) = crate::values::int::product(rest) else { return None };
    let fits = *row <= 0 || sample <= 0 || sample % row == 0 || row % sample == 0;
    // Of a known batch it is known whether it fails.
    (rest.len() >= 2 && !fits && !matches!(batch, Int::Known(_))).then_some(Fault::Rows { sample, row: *row })
}

/// A sum or a maximum of rows beside the rows: without the axis that it lost it is laid along another.
pub(super) fn beside_reduced(reduced: &Rc<Tensor>, whole: &Rc<Tensor>, expanded: bool) -> Option<Broken> {
    let lost = reduced.lost_beside(whole, expanded).filter(|_| !reduced.is_table && !whole.is_table)?;
    // A product of a matrix with itself is the same turned around.
    let may_be_turned = matches!(whole.relation.as_deref(), Some(Relation::Product(_)));
    (!may_be_turned).then_some(())?;
    let (input, other) = (whole.clone(), Some(reduced.clone()));
    Some(Broken { fault: Fault::Reduced(lost), input, other, argument: None })
}

/// Whether two shapes cannot be factors of a matrix product.
pub(super) fn product(a: &Shape, b: &Shape) -> Option<Fault> {
    let (gets, wants) = (a.last()?, if b.len() == 1 { &b[0] } else { b.get(b.len().checked_sub(2)?)? });
    if gets.surely_differs(wants) {
        let (gets, wants) = (gets.clone(), wants.clone());
        return Some(Fault::Product { left: a.clone(), right: b.clone(), gets, wants });
    }
    let (Some(m), Some(n)) = (a.len().checked_sub(2), b.len().checked_sub(2)) else { return None };
    broadcast(&Rc::from(&a[..m]), &Rc::from(&b[..n]))
}

/// Whether two shapes cannot meet number by number.
pub(super) fn broadcast(a: &Shape, b: &Shape) -> Option<Fault> {
    let rank = a.len().max(b.len());
    let at = |shape: &Shape, axis: usize| (axis + shape.len()).checked_sub(rank).map(|at| shape[at].clone());
    (0..rank).rev().find_map(|axis| {
        let (gets, wants) = (at(a, axis)?, at(b, axis)?);
        let one = |size: &Int| *size == Int::Known(1);
        let refused = both_known(&gets, &wants) && gets != wants && !one(&gets) && !one(&wants);
        refused.then(|| Fault::Broadcast { left: a.clone(), right: b.clone(), axis, gets, wants })
    })
}

fn join(a: &Shape, b: &Shape, axis: Option<i64>) -> Option<Fault> {
    let along = axis.and_then(|axis| dims::normalise_dim(axis, a.len()));
    let apart =
        a.len() != b.len() || (0..a.len()).any(|at| Some(at) != along && a[at].surely_differs(&b[at]));
    apart.then(|| Fault::Join { left: a.clone(), right: b.clone(), axis: along })
}
