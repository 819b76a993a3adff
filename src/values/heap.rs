//! All objects, with a journal: an arm of a branch is run, taken back, and joined with the other arm
//! at the price of what it wrote.

use super::object::*;
use super::{FlowState, FlowStates, Note, Num, Tag, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// More objects than this are not told apart from anything.
const MOST_MERGED: usize = 16;

/// An open run: what has to be put back to take it back.
struct Journal {
    /// The objects as they were before their first write.
    before: FxHashMap<ObjId, Rc<Object>>,
    /// How many objects there were.
    len: usize,
    states: FlowStates,
}

/// What a run wrote: the objects, and the states of analyses, as it left them.
#[derive(Clone, Default)]
pub struct Writes {
    pub(super) objects: FxHashMap<ObjId, Rc<Object>>,
    /// `None` where it left them as they were.
    pub(super) states: Option<FlowStates>,
}

impl Writes {
    pub fn objects(&self) -> impl Iterator<Item = ObjId> + '_ {
        self.objects.keys().copied()
    }

    pub fn get(&self, object: ObjId) -> Option<&Object> {
        self.objects.get(&object).map(Rc::as_ref)
    }
}

/// The open runs of a heap while they are suspended.
pub struct Journals(Vec<Journal>);

#[derive(Default)]
pub struct Heap {
    pub(super) objects: Vec<Rc<Object>>,
    /// What analyses know at this point of the script.
    pub(super) states: FlowStates,
    journals: Vec<Journal>,
    /// The object that stands for any of several, and the other way round.
    merged: FxHashMap<ObjSet, ObjId>,
    pub(super) members: FxHashMap<ObjId, ObjSet>,
    /// What is joined is what the rounds of a loop leave at its head, one after the other.
    pub(super) at_head: bool,
    /// What stands for several, of which the round that is joined left a certain one.
    pub(super) renewed: FxHashMap<ObjId, ObjId>,
    /// Names and items that were joined since somebody asked.
    joined: usize,
}

impl Heap {
    pub fn get(&self, id: ObjId) -> &Object {
        &self.objects[id.0 as usize]
    }

    /// What an analysis knows at this point; `None` while nothing was said to it.
    pub fn state<S: FlowState>(&self) -> Option<&S> {
        self.states.get()
    }

    /// Changes what an analysis knows from this point on.
    pub fn update<S: FlowState, R>(&mut self, change: impl FnOnce(&mut S) -> R) -> R {
        self.states.update(change)
    }

    pub fn alloc(&mut self, object: Object) -> ObjId {
        let id = ObjId(self.objects.len() as u32);
        self.objects.push(Rc::new(object));
        id
    }

    /// An object as it is now, to be compared with what it is later: a write makes another one of it.
    pub fn shared(&self, id: ObjId) -> Rc<Object> {
        self.objects[id.0 as usize].clone()
    }

    pub fn get_mut(&mut self, id: ObjId) -> &mut Object {
        let slot = &mut self.objects[id.0 as usize];
        if let Some(journal) = self.journals.last_mut()
            && (id.0 as usize) < journal.len
        {
            journal.before.entry(id).or_insert_with(|| slot.clone());
        }
        Rc::make_mut(slot)
    }

    /// Puts a fresh object in the place of an old one (the same site, the next iteration).
    pub fn replace(&mut self, id: ObjId, object: Object) {
        self.put(id, Rc::new(object));
    }

    /// The same for one that others hold, too. The old one is not copied, as where a part of it is written.
    pub(super) fn put(&mut self, id: ObjId, object: Rc<Object>) {
        let before = std::mem::replace(&mut self.objects[id.0 as usize], object);
        if let Some(journal) = self.journals.last_mut()
            && (id.0 as usize) < journal.len
        {
            journal.before.entry(id).or_insert(before);
        }
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// How many names and items were joined since this was last asked.
    pub fn take_joined(&mut self) -> usize {
        std::mem::take(&mut self.joined)
    }

    /// Whether what is written now is what one of several ways leaves.
    pub fn is_tentative(&self) -> bool {
        !self.journals.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// From here on writes can be taken back.
    pub fn begin(&mut self) {
        let (len, states) = (self.objects.len(), self.states.clone());
        self.journals.push(Journal { before: FxHashMap::default(), len, states });
    }

    /// From here on writes stay, until `resume`.
    pub fn suspend(&mut self) -> Journals {
        Journals(std::mem::take(&mut self.journals))
    }

    pub fn resume(&mut self, journals: Journals) {
        self.journals = journals.0;
    }

    /// Takes the writes since `begin` back and hands them over.
    pub fn rollback(&mut self) -> Writes {
        let Some(journal) = self.journals.pop() else { return Writes::default() };
        let mut objects = FxHashMap::with_capacity_and_hasher(journal.before.len(), Default::default());
        for (id, before) in journal.before {
            let after = std::mem::replace(&mut self.objects[id.0 as usize], before);
            objects.insert(id, after);
        }
        let after = std::mem::replace(&mut self.states, journal.states);
        let states = (!after.same(&self.states)).then_some(after);
        Writes { objects, states }
    }

    /// Makes the writes of a run that was taken back.
    pub fn apply(&mut self, writes: Writes) {
        for (id, object) in writes.objects {
            self.put(id, object);
        }
        if let Some(states) = writes.states {
            self.states = states;
        }
    }

    /// Goes on with what either of two runs left.
    pub fn join_writes(&mut self, mut first: Writes, mut second: Writes) {
        let mut ids: Vec<ObjId> = first.objects().chain(second.objects()).collect();
        ids.sort_unstable();
        ids.dedup();
        let again = self.made_again_by_one(&first, &second, &ids);
        ids.retain(|id| !again.contains(id));
        for id in ids {
            let before = self.objects[id.0 as usize].clone();
            let a = first.objects.remove(&id).unwrap_or_else(|| before.clone());
            let b = second.objects.remove(&id).unwrap_or(before);
            let mut joined = self.join_objects(&a, &b);
            if a.stacked() != b.stacked() {
                Rc::make_mut(&mut joined).open_stack();
            }
            self.put(id, joined);
        }
        let of = |writes: Writes, here: &FlowStates| writes.states.unwrap_or_else(|| here.clone());
        self.states = of(first, &self.states).join(&of(second, &self.states));
    }

    pub(super) fn join_objects(&mut self, a: &Rc<Object>, b: &Rc<Object>) -> Rc<Object> {
        if Rc::ptr_eq(a, b) {
            return a.clone();
        }
        self.joined += a.attrs.len().max(a.state.held()) + b.attrs.len().max(b.state.held());
        let attrs = self.join_pairs(&a.attrs, &b.attrs);
        let notes = self.join_pairs(&a.notes, &b.notes);
        let state = self.join_states(&a.state, &b.state);
        Rc::new(Object {
            // Optimizers, and scalers, of two classes answer to the same methods; models of two classes answer as their parts do.
            class: match (&a.state, a.class == b.class) {
                (State::Optimizer(_) | State::Scaler, _) | (_, true) => a.class,
                _ => ClassRef::Builtin,
            },
            attrs,
            notes,
            state,
            site: a.site,
            epoch: a.epoch.min(b.epoch),
            confidence: a.confidence.min(b.confidence),
        })
    }

    /// What either way keeps under its names.
    pub(super) fn join_pairs<K: Clone + PartialEq>(
        &mut self,
        a: &[(K, Value)],
        b: &[(K, Value)],
    ) -> Vec<(K, Value)> {
        let mut joined = Vec::with_capacity(a.len());
        let mut next = 0;
        for (name, value) in a {
            // A name that only one way binds keeps that value: reading it on the other way would be an error.
            let other = found_from(b, &mut next, name);
            joined.push((name.clone(), other.map_or_else(|| value.clone(), |other| self.join(value, other))));
        }
        let mut next = 0;
        joined.extend(b.iter().filter(|(name, _)| found_from(a, &mut next, name).is_none()).cloned());
        joined
    }

    pub(super) fn join_states(&mut self, a: &State, b: &State) -> State {
        match (a, b) {
            (State::Frame, State::Frame) => State::Frame,
            (State::Scaler, State::Scaler) => State::Scaler,
            (State::Class(class), State::Class(_)) => State::Class(class.clone()),
            (State::List(a), State::List(b)) => State::List(self.join_items(a, b)),
            (State::Dict(a), State::Dict(b)) => State::Dict(self.join_entries(a, b)),
            (State::Module(a), State::Module(b)) => State::Module(ModuleState {
                mode: if a.mode == b.mode { a.mode } else { Mode::Unknown },
                mode_set: a.mode_set && b.mode_set,
                mode_may_be_set: a.mode_may_be_set || b.mode_may_be_set,
                mode_of_its_own: a.mode_of_its_own && b.mode_of_its_own,
                mode_dependent: a.mode_dependent || b.mode_dependent,
                recurrent: a.recurrent || b.recurrent,
                open: a.open || b.open,
                refilled: a.refilled || b.refilled,
                repeats: a.repeats || b.repeats,
                hooked: a.hooked || b.hooked,
                device: a.device.join(b.device),
                dtype: if a.dtype == b.dtype { a.dtype } else { None },
                frozen: if a.frozen == b.frozen { a.frozen } else { None },
                apart: a.joined_apart(b),
                weights: a.weights.join(b.weights),
                managed: a.managed || b.managed,
                engine: if a.engine == b.engine { a.engine } else { None },
                scatters: a.scatters || b.scatters,
                buffers: {
                    let new = b.buffers.iter().filter(|name| !a.buffers.contains(name));
                    a.buffers.iter().chain(new).copied().collect()
                },
                parts: a.parts.iter().chain(&b.parts).copied().collect::<ObjSet>().iter().collect(),
            }),
            (State::Optimizer(a), State::Optimizer(b)) => State::Optimizer(OptimizerState {
                owns: a.owns.union(&b.owns),
                others: a.others || b.others,
                managed: a.managed || b.managed,
                proportional: a.proportional && b.proportional,
                groups: if a.groups == b.groups { a.groups.clone() } else { None },
            }),
            (State::Sampler(a), State::Sampler(b)) => State::Sampler(SamplerState {
                orders: a.orders.union(b.orders),
                shared_at: a.shared_at.or(b.shared_at),
            }),
            (State::Loader(a), State::Loader(b)) => {
                if Rc::ptr_eq(a, b) {
                    return State::Loader(a.clone());
                }
                State::Loader(Rc::new(LoaderState {
                    dataset: self.join(&a.dataset, &b.dataset),
                    batch_size: self.join(&a.batch_size, &b.batch_size),
                    batch: self.join(&a.batch, &b.batch),
                    sample_order: a.sample_order.join(b.sample_order),
                    managed: a.managed || b.managed,
                    rounds: a.rounds || b.rounds,
                }))
            }
            _ => State::Plain,
        }
    }

    fn join_items(&mut self, a: &Items, b: &Items) -> Items {
        if let (Some(x), Some(y)) = (&a.exact, &b.exact)
            && x.len() == y.len()
        {
            let items = Items::exact(x.iter().zip(y).map(|(x, y)| self.join(x, y)).collect());
            return Items { len: a.len.clone(), ..items };
        }
        let any = match (self.any_of(a), self.any_of(b)) {
            (Some(a), Some(b)) => self.join(&a, &b),
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => Value::Unknown,
        };
        Items { exact: None, any, len: Num::default() }
    }

    /// What any item is; `None` for an empty list.
    pub fn any_of(&mut self, items: &Items) -> Option<Value> {
        match &items.exact {
            None => Some(items.any.clone()),
            Some(exact) => {
                let mut all = exact.iter();
                let first = all.next()?.clone();
                Some(all.fold(first, |joined, value| self.join(&joined, value)))
            }
        }
    }

    /// The value that is one or the other.
    pub fn join(&mut self, a: &Value, b: &Value) -> Value {
        if a.same(b) {
            return match (a, b) {
                // Keep the older graph: what was carried over an iteration stays carried.
                (Value::Tensor(x), Value::Tensor(y)) if !Rc::ptr_eq(x, y) => self.join_tensors(x, y),
                _ => a.clone(),
            };
        }
        match (a, b) {
            (Value::None, Value::None) => Value::None,
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (Value::None, value) | (value, Value::None) => match self.or_nothing(value) {
                value @ Value::Maybe(_) => value,
                value => Value::Maybe(Rc::new(value)),
            },
            (Value::Maybe(x), Value::Maybe(y)) => self.maybe(x.clone(), y.clone()),
            (Value::Maybe(x), y) | (y, Value::Maybe(x)) => self.maybe(x.clone(), Rc::new(y.clone())),
            (Value::Given(x), y) | (y, Value::Given(x)) => self.join(&x.value, y),
            (Value::Bool(_), Value::Bool(_)) => Value::Bool(None),
            (Value::Int(x), Value::Int(y)) => {
                let counts = x.tag == Tag::Counter || y.tag == Tag::Counter;
                let tag = if x.tag == y.tag || counts { x.tag.max_counter(y.tag) } else { Tag::None };
                let nth = x.nth.filter(|_| x.nth == y.nth);
                Value::Int(Num { int: x.int.join(&y.int), from: None, tag, nth })
            }
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => Value::Float(None),
            (Value::Str(Some(x)), Value::Str(Some(y))) => {
                chosen(super::Device::named(x), super::Device::named(y))
            }
            (Value::Device(x, _), Value::Str(Some(y))) | (Value::Str(Some(y)), Value::Device(x, _)) => {
                Value::Device(x.choice(super::Device::named(y)), super::DeviceForm::Unsure)
            }
            (Value::Str(_), Value::Str(_)) => Value::Str(None),
            (Value::Tensor(x), Value::Tensor(y)) => self.join_tensors(x, y),
            // `total = 0` before a loop that adds tensors to it.
            (Value::Int(_) | Value::Float(_), Value::Tensor(t))
            | (Value::Tensor(t), Value::Int(_) | Value::Float(_)) => Value::Tensor(Rc::new(super::Tensor {
                mark: None,
                shape: None,
                range: None,
                numbers: None,
                graph: if self.at_head { t.graph.clone() } else { t.graph.unsure() },
                ..(**t).clone()
            })),
            (Value::Tuple(x), Value::Tuple(y)) if x.len() == y.len() => {
                let items: Vec<Value> = x.iter().zip(y.iter()).map(|(x, y)| self.join(x, y)).collect();
                Value::tuple(items)
            }
            (Value::Params(x), Value::Params(y)) => Value::Params(Rc::new(x.join(y))),
            (Value::Grad(x), Value::Grad(y)) => Value::Grad(Rc::new(x.union(y))),
            (Value::Device(x, a), Value::Device(y, b)) => Value::Device(x.choice(*y), a.join(*b)),
            (Value::Obj(x), Value::Obj(y)) => match self.merge(*x, *y) {
                Some(either) => Value::Obj(either),
                None if self.goes_through(*x, b) => a.clone(),
                None if self.goes_through(*y, a) => b.clone(),
                None => self.join_callables(a, b),
            },
            _ => self.join_callables(a, b),
        }
    }

    pub(super) fn join_tensors(&self, x: &super::Tensor, y: &super::Tensor) -> Value {
        let mut joined = x.join(y);
        if self.at_head {
            let parts = x.graph.parts().union(&y.graph.parts());
            joined.graph = joined.graph.with_parts(parts, joined.graph.is_bare());
        }
        Value::tensor(joined)
    }

    /// A value that is not there on another way.
    fn or_nothing(&self, value: &Value) -> Value {
        match value {
            Value::Tensor(tensor) if !self.at_head && !tensor.graph.parts().is_empty() => {
                Value::tensor(super::Tensor { graph: tensor.graph.unsure(), ..(**tensor).clone() })
            }
            Value::Tuple(items) if !self.at_head && !items.is_empty() => {
                Value::tuple(items.iter().map(|item| self.or_nothing(item)).collect())
            }
            other => other.clone(),
        }
    }

    fn maybe(&mut self, a: Rc<Value>, b: Rc<Value>) -> Value {
        match self.join(&a, &b) {
            Value::Unknown => Value::Unknown,
            joined @ (Value::Maybe(_) | Value::None) => joined,
            joined => Value::Maybe(Rc::new(joined)),
        }
    }

    /// The objects that one stands for: itself, or those that were merged into it.
    pub fn stands_for(&self, id: ObjId) -> ObjSet {
        self.members.get(&id).cloned().unwrap_or_else(|| ObjSet::one(id))
    }

    /// Whether an object is no one's own, but stands for several.
    pub fn is_merged(&self, id: ObjId) -> bool {
        self.members.contains_key(&id)
    }

    /// One object that stands for either of two of a kind.
    fn merge(&mut self, a: ObjId, b: ObjId) -> Option<ObjId> {
        let stands_for = self.stands_for(a).union(&self.stands_for(b));
        if stands_for == self.stands_for(a) {
            if self.at_head {
                // What was done to the one of before is gone with it.
                self.renewed.insert(a, b);
            }
            return Some(a);
        }
        if stands_for == self.stands_for(b) {
            return Some(b);
        }
        if let Some(known) = self.merged.get(&stands_for).copied() {
            self.renew_merged(known, a, b);
            return Some(known);
        }
        if stands_for.len() > MOST_MERGED {
            return None;
        }
        let (x, y) = (self.objects[a.0 as usize].clone(), self.objects[b.0 as usize].clone());
        if std::mem::discriminant(&x.state) != std::mem::discriminant(&y.state) {
            return None;
        }
        match (&x.state, &y.state) {
            (State::Class(_) | State::Frame, _) => return None,
            (State::Plain, State::Plain) if x.class != y.class && !self.have_classes(&stands_for) => {
                return None;
            }
            _ => {}
        }
        // Reserve the id first: the attributes of the two may lead back to them.
        let id = self.alloc((*x).clone());
        self.merged.insert(stands_for.clone(), id);
        self.members.insert(id, stands_for.clone());
        let mut joined = (*self.join_objects(&x, &y)).clone();
        if let State::Module(module) = &mut joined.state {
            module.parts = stands_for.iter().collect();
            if x.stacked() != y.stacked() {
                // Neither stack of layers is a mixture of both.
                joined.class = ClassRef::Builtin;
            }
        }
        if let (State::Optimizer(_), ClassRef::Project(_), class @ ClassRef::Api(_)) =
            (&joined.state, joined.class, if x.class == joined.class { y.class } else { x.class })
        {
            // Methods of a class of the project would not find in the other what their own has.
            joined.class = class;
        }
        self.objects[id.0 as usize] = Rc::new(joined);
        Some(id)
    }

    pub fn attr(&self, id: ObjId, name: Ustr) -> Option<&Value> {
        self.get(id).attr(name)
    }

    pub fn noted(&self, id: ObjId, note: Note) -> Option<&Value> {
        self.get(id).noted(note)
    }

    pub fn note(&mut self, id: ObjId, note: Note, value: Value) {
        self.get_mut(id).note(note, value);
    }
}

/// What stands under a name: most often behind the one that was found before it.
fn found_from<'a, K: PartialEq>(pairs: &'a [(K, Value)], next: &mut usize, name: &K) -> Option<&'a Value> {
    let at = match pairs.get(*next) {
        Some((known, _)) if known == name => *next,
        _ => pairs.iter().position(|(known, _)| known == name)?,
    };
    *next = at + 1;
    pairs.get(at).map(|(_, value)| value)
}

/// One of two texts: where both name devices, the one that the script runs on.
fn chosen(a: super::Device, b: super::Device) -> Value {
    match a.choice(b) {
        super::Device::Unknown => Value::Str(None),
        device => Value::Device(device, super::DeviceForm::Unsure),
    }
}
