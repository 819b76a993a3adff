//! Under which names objects are kept, as seen from a place: the running frames first, the innermost before
//! the others, and from there through attributes and items, the shortest way.

use crate::values::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Attributes of attributes are followed so deep.
const DEEPEST: u32 = 5;
/// Heaps of large projects are not searched to their end.
const MOST_NAMES: usize = 20_000;

#[derive(Default)]
pub(super) struct ObjectNames(FxHashMap<ObjId, String>);

impl ObjectNames {
    /// Names from some frames, in order, then from all that the heap holds.
    pub(crate) fn seen_from(heap: &Heap, running: impl Iterator<Item = ObjId>) -> ObjectNames {
        let mut names = ObjectNames::default();
        for frame in running {
            names.follow(heap, frame);
        }
        for id in (0..heap.len() as u32).map(ObjId) {
            if matches!(heap.get(id).state, State::Frame) {
                names.follow(heap, id);
            }
        }
        names
    }

    pub(crate) fn of(&self, id: ObjId) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    fn follow(&mut self, heap: &Heap, frame: ObjId) {
        let mut open: VecDeque<(ObjId, u32)> = VecDeque::new();
        for (name, value) in &heap.get(frame).attrs {
            self.keep(heap, value, name.to_string(), 0, &mut open);
        }
        while let Some((id, depth)) = open.pop_front() {
            if self.0.len() > MOST_NAMES {
                return;
            }
            let owner = self.0.get(&id).cloned().unwrap_or_default();
            for (name, value) in parts(heap.get(id), &owner) {
                self.keep(heap, &value, name, depth + 1, &mut open);
            }
        }
    }

    fn keep(
        &mut self,
        heap: &Heap,
        value: &Value,
        name: String,
        depth: u32,
        open: &mut VecDeque<(ObjId, u32)>,
    ) {
        let id = match value.bare() {
            Value::Obj(id) => *id,
            Value::Tensor(tensor) => match leaf(tensor) {
                Some(id) => id,
                None => return,
            },
            _ => return,
        };
        let is_scope = matches!(heap.get(id).state, State::Frame | State::Class(_));
        if is_scope || self.0.contains_key(&id) {
            return;
        }
        self.0.insert(id, name);
        if depth < DEEPEST {
            open.push_back((id, depth));
        }
    }
}

/// The object that stands for a parameter, of a tensor that is one.
fn leaf(tensor: &Tensor) -> Option<ObjId> {
    match &tensor.graph {
        Graph::Live(nodes) if tensor.is_leaf => nodes.only_leaf(),
        _ => None,
    }
}

/// What an object holds, with the names that the script would use.
fn parts(object: &Object, owner: &str) -> Vec<(String, Value)> {
    let attribute = |name: &str| match name.parse::<u32>() {
        Ok(index) => format!("{owner}[{index}]"),
        Err(_) => format!("{owner}.{name}"),
    };
    let mut found: Vec<(String, Value)> =
        object.attrs.iter().map(|(name, value)| (attribute(name), value.clone())).collect();
    match &object.state {
        State::List(items) => {
            let exact = items.exact.iter().flatten().enumerate();
            found.extend(exact.map(|(index, value)| (format!("{owner}[{index}]"), value.clone())));
        }
        State::Dict(entries) => {
            let key = |key: &Key| match key {
                Key::Str(text) => format!("{owner}['{text}']"),
                Key::Int(number) => format!("{owner}[{number}]"),
            };
            found.extend(entries.known.iter().map(|(name, value)| (key(name), value.clone())));
        }
        _ => {}
    }
    found
}
