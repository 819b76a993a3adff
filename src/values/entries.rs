//! What dictionaries hold.

use super::{Heap, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Str(Rc<str>),
    Int(i64),
}

#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub known: Vec<(Key, Value)>,
    /// What a key that is not listed may hold; `None` when the list is complete.
    pub other: Option<Value>,
    /// Keys of the list that are there on some ways only.
    optional: Vec<Key>,
}

impl Entries {
    pub fn new(known: Vec<(Key, Value)>, other: Option<Value>) -> Entries {
        Entries { known, other, optional: Vec::new() }
    }

    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.known.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub fn set(&mut self, key: Key, value: Value) {
        self.optional.retain(|known| *known != key);
        match self.known.iter_mut().find(|(known, _)| *known == key) {
            Some((_, slot)) => *slot = value,
            None => self.known.push((key, value)),
        }
    }

    /// Sets what is there on some ways only.
    fn set_perhaps(&mut self, key: Key, value: Value) {
        let is_sure = self.get(&key).is_some() && !self.may_lack(&key);
        self.set(key.clone(), value);
        if !is_sure {
            self.optional.push(key);
        }
    }

    /// Whether a key that is listed may be missing.
    pub fn may_lack(&self, key: &Key) -> bool {
        self.optional.contains(key)
    }

    /// Whether nothing is there but what is listed, and all of that.
    pub fn is_complete(&self) -> bool {
        self.other.is_none() && self.optional.is_empty()
    }

    /// The same keys with other values.
    pub fn map(&self, mut change: impl FnMut(&Value) -> Value) -> Entries {
        let known = self.known.iter().map(|(key, value)| (key.clone(), change(value))).collect();
        let other = self.other.as_ref().map(change);
        Entries { known, other, optional: self.optional.clone() }
    }

    fn sure_keys(&self) -> FxHashSet<&Key> {
        self.known.iter().map(|(key, _)| key).filter(|key| !self.may_lack(key)).collect()
    }
}

impl Heap {
    /// Sets the listed entries of another dictionary: `entries.update(more)`.
    pub fn set_all(&mut self, entries: &mut Entries, more: &Entries) {
        for (key, value) in &more.known {
            if more.may_lack(key) {
                let before = entries.get(key).cloned();
                let value = before.map_or_else(|| value.clone(), |before| self.join(&before, value));
                entries.set_perhaps(key.clone(), value);
            } else {
                entries.set(key.clone(), value.clone());
            }
        }
    }

    pub(super) fn join_entries(&mut self, a: &Entries, b: &Entries) -> Entries {
        let mut known = self.join_pairs(&a.known, &b.known);
        for (key, value) in &mut known {
            // What one way does not list may be among what it has not listed.
            let unlisted = [a, b].into_iter().filter(|way| way.get(key).is_none());
            for other in unlisted.filter_map(|way| way.other.as_ref()) {
                *value = self.join(value, other);
            }
        }
        let other = match (&a.other, &b.other) {
            (Some(a), Some(b)) => Some(self.join(a, b)),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let (sure_of_a, sure_of_b) = (a.sure_keys(), b.sure_keys());
        let is_sure = |key: &&Key| sure_of_a.contains(*key) && sure_of_b.contains(*key);
        let optional = known.iter().map(|(key, _)| key).filter(|key| !is_sure(key)).cloned().collect();
        Entries { known, other, optional }
    }
}
