//! A call's arguments: as they are written, and bound to the parameters of an API entry.

use crate::apis::{Api, Apply, Literal, Operand, ParamKind, ParamSpec, Slot, Transfer, Vocabulary};
use crate::report::Place;
use crate::values::{Items, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Keywords of NumPy that functions on tensors take for their own.
const SAME_KEYWORDS: [(&str, &str); 3] = [("axis", "dim"), ("keepdims", "keepdim"), ("other", "dim")];

/// One argument.
#[derive(Clone, Debug)]
pub struct Passed {
    pub value: Value,
    pub place: Place,
}

impl Passed {
    /// As an operand of an entry: what one of several types or functions does to a result is not known.
    fn as_operand(&self) -> Passed {
        match self.value {
            Value::AnyOf(_) => Passed { value: Value::Unknown, place: self.place },
            _ => self.clone(),
        }
    }
}

/// A call as it is written, its arguments evaluated.
#[derive(Clone, Debug)]
pub struct Call {
    pub place: Place,
    pub positional: Vec<Passed>,
    pub keywords: Vec<(Ustr, Passed)>,
    /// `*items` or `**items` that are not known one by one: any further parameter may be given.
    pub open: bool,
    /// What each of such items is, and how many there are.
    pub each: Option<Rc<Items>>,
    /// What is given by position behind such items: at which one nobody knows.
    pub behind: Vec<Passed>,
}

impl Call {
    pub fn new(place: Place) -> Call {
        Call {
            place,
            positional: Vec::new(),
            keywords: Vec::new(),
            open: false,
            each: None,
            behind: Vec::new(),
        }
    }

    pub fn with(place: Place, values: impl IntoIterator<Item = Value>) -> Call {
        let positional = values.into_iter().map(|value| Passed { value, place }).collect();
        Call { positional, ..Call::new(place) }
    }

    /// The argument at a position or under a name.
    pub fn arg(&self, position: usize, name: &str) -> Option<&Value> {
        self.passed(position, name).map(|passed| &passed.value)
    }

    pub fn passed(&self, position: usize, name: &str) -> Option<&Passed> {
        self.positional.get(position).or_else(|| self.keyword(name))
    }

    pub fn keyword(&self, name: &str) -> Option<&Passed> {
        self.keywords.iter().find(|(known, _)| *known == name).map(|(_, passed)| passed)
    }

    /// All values passed, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional
            .iter()
            .chain(self.keywords.iter().map(|(_, passed)| passed))
            .chain(&self.behind)
            .map(|passed| &passed.value)
    }

    pub fn with_first(&self, value: Value) -> Call {
        let mut call = self.clone();
        call.positional.insert(0, Passed { value, place: self.place });
        call
    }
}

/// A call bound to the parameters of an API entry.
#[derive(Clone, Debug)]
pub struct Invocation<'a> {
    pub api: &'a Api,
    /// What is applied: the entry's `gives`, or another part of it.
    pub gives: Option<&'a Apply<Transfer>>,
    pub place: Place,
    /// Where the layer was made whose call this is.
    pub layer: Option<Place>,
    bound: Vec<(Ustr, Passed)>,
    /// How many of them are given by position.
    by_position: usize,
    /// What `*args` takes.
    pub rest: Vec<Value>,
    /// What `**kwargs` takes, and keywords that the entry does not list.
    pub more: Vec<(Ustr, Passed)>,
    pub open: bool,
    /// What each item is that is not known one by one.
    pub each: Option<Rc<Items>>,
}

impl<'a> Invocation<'a> {
    /// Binds by position and by name; never fails, for the entry may be incomplete.
    pub fn bind(api: &'a Api, call: &Call) -> Invocation<'a> {
        Invocation::bind_to(api, &api.params, call)
    }

    /// Binds to other parameters than the entry's own (those of an instance's call).
    pub fn bind_to(api: &'a Api, params: &[ParamSpec], call: &Call) -> Invocation<'a> {
        let mut invocation = Invocation {
            api,
            gives: api.gives.as_ref(),
            place: call.place,
            layer: None,
            bound: Vec::with_capacity(params.len()),
            by_position: 0,
            rest: Vec::new(),
            more: Vec::new(),
            open: call.open,
            each: call.each.clone(),
        };
        let mut positional = call.positional.iter().map(Passed::as_operand);
        // The receiver of a property is its operand, listed or not.
        if api.property && params.is_empty() {
            invocation.bound.extend(positional.next().map(|receiver| (Ustr::from("self"), receiver)));
        }
        for param in params {
            match param.kind {
                ParamKind::Plain => {
                    if let Some(passed) = positional.next() {
                        invocation.bound.push((param.name, passed));
                    }
                }
                ParamKind::Star => invocation.rest = positional.by_ref().map(|p| p.value).collect(),
                ParamKind::KeywordOnly | ParamKind::DoubleStar => {}
            }
        }
        invocation.by_position = invocation.bound.len();
        invocation.rest.extend(positional.map(|passed| passed.value));
        invocation.rest.extend(call.behind.iter().map(|passed| passed.as_operand().value));
        for (name, passed) in &call.keywords {
            let lists = |name: &str| {
                params.iter().any(|param| param.name == name && param.kind != ParamKind::DoubleStar)
            };
            let same = SAME_KEYWORDS.iter().find(|(numpy, own)| name == numpy && lists(own) && !lists(name));
            let name = same.map_or(*name, |(_, own)| Ustr::from(own));
            let list = if lists(&name) { &mut invocation.bound } else { &mut invocation.more };
            list.push((name, passed.as_operand()));
        }
        invocation
    }

    /// The same arguments for another part of the entry than its `gives`.
    pub fn applying(mut self, apply: &'a Apply<Transfer>) -> Invocation<'a> {
        self.gives = Some(apply);
        self
    }

    /// Adds a binding that the call itself does not give (a constructor's argument, in a call of the instance).
    pub fn fill(&mut self, name: Ustr, value: Value) {
        if !self.is_given(name.as_str()) {
            self.bound.push((name, Passed { value, place: self.place }));
        }
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.bound.iter().any(|(known, _)| *known == name)
    }

    pub fn is_given_by_position(&self, name: &str) -> bool {
        self.bound[..self.by_position].iter().any(|(known, _)| *known == name)
    }

    /// A parameter that is given by position and by name, and where it is given again.
    pub fn given_twice(&self) -> Option<(Ustr, Place)> {
        let (by_position, by_name) = self.bound.split_at(self.by_position);
        let again = |(name, _): &&(Ustr, Passed)| by_position.iter().any(|(known, _)| known == name);
        by_name.iter().find(again).map(|(name, passed)| (*name, passed.place))
    }

    /// The value of a parameter: as passed, its default, or unknown.
    pub fn get(&self, name: &str) -> Value {
        if let Some((_, passed)) = self.bound.iter().find(|(known, _)| *known == name) {
            return passed.value.clone();
        }
        if self.open {
            return Value::Unknown;
        }
        let param = self.api.params.iter().find(|param| param.name == name);
        if let Some(param) = param
            && param.kind == ParamKind::Star
        {
            return Value::tuple(self.rest.clone());
        }
        param.and_then(|param| param.default.as_ref()).map_or(Value::Unknown, literal)
    }

    pub fn place_of(&self, name: &str) -> Option<Place> {
        self.bound.iter().find(|(known, _)| *known == name).map(|(_, passed)| passed.place)
    }

    /// What an operand of the entry is in this call.
    pub fn value_of(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Param(name) => self.get(name.as_str()),
            Operand::Literal(value) => literal(value),
        }
    }

    /// The operand of the entry's `gives` by its name, `Unknown` when there is none.
    pub fn operand(&self, slot: Slot) -> Value {
        self.position(slot).map_or(Value::Unknown, |index| self.nth(index))
    }

    /// Where the transfer has an operand of this name.
    pub fn position(&self, slot: Slot) -> Option<usize> {
        self.gives?.verb.word().position(slot)
    }

    /// The operand at an index of the entry's `gives`, `Unknown` when there is none.
    pub fn nth(&self, index: usize) -> Value {
        let operand = self.gives.and_then(|apply| apply.args.get(index));
        operand.map_or(Value::Unknown, |operand| self.value_of(operand))
    }

    pub fn nth_tensor(&self, index: usize) -> Option<Rc<Tensor>> {
        self.nth(index).as_tensor().cloned()
    }

    /// Every tensor among the arguments, in order, also inside tuples.
    pub fn tensors(&self) -> Vec<Rc<Tensor>> {
        fn collect(value: &Value, all: &mut Vec<Rc<Tensor>>) {
            match value.bare() {
                Value::Tensor(tensor) => all.push(tensor.clone()),
                Value::Tuple(items) => items.iter().for_each(|item| collect(item, all)),
                _ => {}
            }
        }
        let mut all = Vec::new();
        self.bound.iter().for_each(|(_, passed)| collect(&passed.value, &mut all));
        self.rest.iter().for_each(|value| collect(value, &mut all));
        all
    }

    /// What was passed by name, or to a parameter with a name.
    pub fn named(&self) -> impl Iterator<Item = &(Ustr, Passed)> {
        self.bound.iter().chain(&self.more)
    }

    /// All values passed to parameters of the entry.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.bound.iter().map(|(_, passed)| &passed.value).chain(&self.rest)
    }
}

pub fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::None => Value::None,
        Literal::Bool(value) => Value::Bool(Some(*value)),
        Literal::Int(value) => Value::int(*value),
        Literal::Float(value) => Value::Float(Some(*value)),
        Literal::Str(value) => Value::str(value.as_str()),
    }
}

/// The call of a layer as that of the function that computes it. What its constructor is told, its call is not told
/// again: a layer that can't take so many arguments is another one of several, and of its call nothing is known.
pub(super) fn of_layer<'a>(layer: &Api, function: &'a Api, call: &Call) -> Invocation<'a> {
    let is_told = |name: Ustr| layer.params.iter().any(|own| own.name == name);
    let given = call.positional.len();
    let takes = || function.params.iter().filter(|param| !is_told(param.name)).count();
    if given <= 2 || function.params.len() < given || given <= takes() {
        return Invocation::bind(function, call);
    }
    let mut taken = Call { open: true, ..call.clone() };
    taken.positional.truncate(takes());
    Invocation::bind(function, &taken)
}
