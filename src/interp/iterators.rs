//! Iterators that can be gone through once: who goes through them to the end, and who comes too late.
//! How much is left of one is noted on it: nothing said yet is `None`, gone through is the number of
//! the place, and the lattice joins the ways.

use super::{Call, Exhausted, Interp, loops};
use crate::report::Place;
use crate::syntax::{Comprehension, ComprehensionKind};
use crate::trace::Node;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Where an iterator was gone through.
const SPENT: Note = Note::new("spent");
/// The iterator that it draws from.
const SOURCE: Note = Note::new("source");
/// Iterators of iterators are followed so deep.
const DEEPEST: u32 = 4;

/// Functions of the language that go through an iterable to its end.
const TO_THE_END: [&str; 9] = ["dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"];
/// Those that stop where they know enough.
const PART_OF_THE_WAY: [&str; 3] = ["all", "any", "next"];
/// Those that give an iterator over what they are given.
const LAZY: [&str; 8] = [
    "enumerate",
    "filter",
    "itertools.chain",
    "itertools.chain.from_iterable",
    "itertools.islice",
    "map",
    "reversed",
    "zip",
];

impl<'p> Interp<'p> {
    /// The list that holds what an iterator of the language gives.
    pub(super) fn items_of_iterator(&self, iterator: ObjId) -> Option<ObjId> {
        let items = self.heap.attr(iterator, Ustr::from("iterable")).and_then(Value::as_obj)?;
        let is_list = matches!(self.heap.get(items).state, State::List(_));
        (is_list && self.heap.get(iterator).class == ClassRef::Builtin).then_some(items)
    }

    /// Makes an iterator of a list or of parameters: a fresh one, that draws from another where it does.
    pub(super) fn one_shot(&mut self, value: Value, source: Option<Value>, place: Place) -> Value {
        let (stream, value) = match value {
            Value::Params(params) => {
                let stream = self.alloc(place, ClassRef::Builtin, State::Plain);
                let params = Params { stream: Some(stream), ..(*params).clone() };
                (stream, Value::Params(Rc::new(params)))
            }
            Value::Obj(list) if matches!(self.heap.get(list).state, State::List(_)) => {
                (list, Value::Obj(list))
            }
            other => return other,
        };
        let object = self.heap.get_mut(stream);
        object.note(SPENT, Value::None);
        if let Some(source) = source {
            object.note(SOURCE, source);
        }
        value
    }

    /// The iterator that a value is; `None` for what can be gone through again.
    fn stream_of(&self, value: &Value) -> Option<ObjId> {
        let object = match value.bare() {
            Value::Params(params) => params.stream?,
            Value::Obj(object) => *object,
            _ => return None,
        };
        let here = self.heap.get(object);
        here.noted(SPENT).map(|_| object)
    }

    /// Somebody goes through a value to its end.
    pub(super) fn spend(&mut self, value: &Value, place: Place) {
        self.spend_deep(value, place, DEEPEST);
    }

    fn spend_deep(&mut self, value: &Value, place: Place, depth: u32) {
        let Some(stream) = self.stream_of(value).filter(|_| depth > 0) else {
            // A progress bar around an iterator.
            let inner = value.as_obj().and_then(|object| self.heap.attr(object, Ustr::from("iterable")));
            if let Some(inner) = inner.cloned().filter(|_| depth > 0) {
                self.spend_deep(&inner, place, depth - 1);
            }
            return;
        };
        let number = self.ending(place);
        let before = self.heap.noted(stream, SPENT).cloned().unwrap_or_default();
        if let Some(first) = self.spent_at(&before, number) {
            let made = self.heap.get(stream).site;
            self.on_exhausted(&Exhausted { iterator: value, place, first, made });
        }
        // Who came first stays: the head of a loop knows no second one.
        if !matches!(before, Value::Int(_)) {
            self.heap.note(stream, SPENT, Value::int(number));
        }
        if let Some(source) = self.heap.noted(stream, SOURCE).cloned() {
            self.spend_deep(&source, place, depth - 1);
        }
    }

    /// Where an iterator was surely gone through before it is now.
    fn spent_at(&self, before: &Value, number: i64) -> Option<Place> {
        let at =
            |number: i64| self.passes.endings.get(usize::try_from(number).ok()?).map(|(_, place)| *place);
        match before {
            Value::Int(num) => num.int.known().and_then(at),
            // Whoever comes here again, in a later iteration, was here before.
            Value::Maybe(inner) => inner.as_known_int().filter(|known| *known == number).and_then(at),
            _ => None,
        }
    }

    /// The number of a place on the way that leads to it.
    fn ending(&mut self, place: Place) -> i64 {
        let key = (self.sites.path, place);
        let known = self.passes.endings.iter().position(|known| *known == key);
        let index = known.unwrap_or_else(|| {
            self.passes.endings.push(key);
            self.passes.endings.len() - 1
        });
        i64::try_from(index).unwrap_or(i64::MAX)
    }

    /// What an optimizer is given: a generator, or groups of them.
    pub(super) fn spend_all(&mut self, value: &Value, place: Place, depth: u32) {
        if self.stream_of(value).is_some() {
            return self.spend(value, place);
        }
        let Some(object) = value.as_obj().filter(|_| depth > 0) else { return };
        let parts: Vec<Value> = match &self.heap.get(object).state {
            State::List(Items { exact: Some(exact), .. }) => exact.clone(),
            State::Dict(entries) => entries.get(&Key::Str(Rc::from("params"))).cloned().into_iter().collect(),
            _ => return,
        };
        parts.iter().for_each(|part| self.spend_all(part, place, depth - 1));
    }

    /// Somebody may have gone through a value, or part of the way.
    pub(super) fn lose_track(&mut self, value: &Value) {
        let mut next = Some(value.clone());
        for _ in 0..DEEPEST {
            let Some(stream) = next.and_then(|value| self.stream_of(&value)) else { return };
            self.heap.note(stream, SPENT, Value::Unknown);
            next = self.heap.noted(stream, SOURCE).cloned();
        }
    }

    /// Any of several values by an index. Each iteration of the loop that counts it takes another one: what an earlier
    /// one went through is not taken again.
    pub(super) fn any_in_turn(&mut self, items: &[Value], index: &Value) -> Value {
        if self.counts_this_loop(index) {
            items.iter().for_each(|item| self.lose_track(item));
        }
        self.heap.any_of(&Items::exact(items.to_vec())).unwrap_or_default()
    }

    /// What a function of the language does to the iterators that it is given.
    pub(super) fn go_through(&mut self, name: &str, call: &Call) {
        let Some(first) = call.positional.first().map(|passed| passed.value.clone()) else { return };
        if TO_THE_END.contains(&name) {
            self.spend(&first, call.place);
        } else if PART_OF_THE_WAY.contains(&name) {
            self.lose_track(&first);
        } else if name == "iter"
            && let Some(loader) = self.loader_of(&first).filter(|loader| self.is_from_before(*loader))
        {
            self.goes_round(loader);
        }
    }

    /// Whether an object was made before the loop that runs.
    fn is_from_before(&self, object: ObjId) -> bool {
        self.active.last().is_some_and(|active| self.heap.get(object).epoch < active.since)
    }

    /// What a function of the language gives, as far as it can be gone through once only.
    pub(super) fn iterated(&mut self, name: &str, call: &Call, value: Value) -> Value {
        if TO_THE_END.contains(&name) {
            return match &value {
                Value::Params(params) if params.stream.is_some() => {
                    Value::Params(Rc::new(Params { stream: None, ..(**params).clone() }))
                }
                _ => value,
            };
        }
        if !LAZY.contains(&name) || self.stream_of(&value).is_some() {
            return value;
        }
        let source = call.values().find(|value| self.stream_of(value).is_some()).cloned();
        self.one_shot(value, source, call.place)
    }

    /// Whether the loop that was just run may end before what it goes through does.
    pub(super) fn may_break_off(&self) -> bool {
        match self.trace.last().and_then(|open| open.last()) {
            Some(Node::Loop { body, .. }) => loops::may_leave(body),
            _ => false,
        }
    }

    /// A generator expression goes through its source when it is gone through itself.
    pub(super) fn comprehended(
        &mut self,
        comprehension: &Comprehension,
        value: Value,
        source: Option<Value>,
        place: Place,
    ) -> Value {
        match comprehension.kind {
            ComprehensionKind::Generator => self.one_shot(value, source, place),
            _ => value,
        }
    }
}
