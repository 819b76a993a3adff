//! What the rounds of a loop leave at its head, one after the other, and what a join finds changed.

use super::heap::{Heap, Writes};
use super::{Device, ObjId, Object, State, Value};
use std::rc::Rc;

impl Heap {
    /// Adds to the head of a loop what a round left. Returns whether anything changed.
    pub fn join_round(&mut self, writes: &Writes) -> bool {
        self.at_head = true;
        let changed = self.join_in(writes);
        self.at_head = false;
        self.renewed.clear();
        changed
    }

    /// Whether a round leaves a tensor or a model on the GPU that was on the CPU, or the other way round.
    pub fn moves(&self, writes: &Writes) -> bool {
        writes.objects().any(|id| {
            let (here, left) = (&self.objects[id.0 as usize], &writes.objects[&id]);
            if let (Some(here), Some(left)) = (here.module(), left.module()) {
                return is_elsewhere(here.device, left.device);
            }
            let (here, left) = (&here.attrs, &left.attrs);
            left.iter().any(|(name, value)| {
                let before = value.as_tensor().and_then(|_| here.iter().find(|(other, _)| other == name));
                before.is_some_and(|(_, before)| is_moved(before, value))
            })
        })
    }

    /// Containers that one of two ways made again, and of which the other left what an earlier iteration made: whoever
    /// goes on with one goes on with the new one. They come first, since whoever holds them finds what they hold now.
    pub(super) fn made_again_by_one(&mut self, first: &Writes, second: &Writes, ids: &[ObjId]) -> Vec<ObjId> {
        let mut again = Vec::new();
        for id in ids {
            let ((Some(left), None) | (None, Some(left))) = (first.objects.get(id), second.objects.get(id))
            else {
                continue;
            };
            if is_made_again(self.get(*id), left) {
                let left = left.clone();
                self.put(*id, left);
                again.push(*id);
            }
        }
        again
    }

    /// Weakly adds what another way to this point left. Returns whether anything changed.
    pub fn join_in(&mut self, writes: &Writes) -> bool {
        if let Some(states) = &writes.states {
            self.states = self.states.join(states);
        }
        let mut ids: Vec<ObjId> = writes.objects().collect();
        // Those that stand for several come last: whoever holds them says what became of them. Containers that were made
        // again come first: whoever holds them finds what they hold now.
        let is_old = |id: &ObjId| !is_made_again(self.get(*id), &writes.objects[id]);
        ids.sort_unstable_by_key(|id| (self.members.contains_key(id), is_old(id), *id));
        let mut changed = false;
        for id in ids {
            let here = self.objects[id.0 as usize].clone();
            let renewed = self.renewed.get(&id).map(|left| self.objects[left.0 as usize].clone());
            let again = renewed.is_none() && is_made_again(&here, &writes.objects[&id]);
            let left = renewed.as_ref().unwrap_or(&writes.objects[&id]);
            let joined = if again { left.clone() } else { self.join_objects(&here, left) };
            if Rc::ptr_eq(&joined, &here) {
                continue;
            }
            let same = same_object(&joined, &here);
            if again || !same {
                self.put(id, joined);
            }
            changed |= !again && !same;
        }
        changed
    }
}

/// A container that a round or a way made again: what lies here is of an earlier iteration, and gone.
fn is_made_again(here: &Object, left: &Object) -> bool {
    left.epoch > here.epoch && matches!(left.state, State::List(_) | State::Dict(_))
}

fn same_object(a: &Object, b: &Object) -> bool {
    same_pairs(&a.attrs, &b.attrs)
        && same_pairs(&a.notes, &b.notes)
        && match (&a.state, &b.state) {
            (State::List(x), State::List(y)) => match (&x.exact, &y.exact) {
                (Some(x), Some(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y)),
                (None, None) => x.any.same(&y.any),
                _ => false,
            },
            (State::Dict(x), State::Dict(y)) => {
                same_pairs(&x.known, &y.known)
                    && match (&x.other, &y.other) {
                        (Some(x), Some(y)) => x.same(y),
                        (None, None) => true,
                        _ => false,
                    }
            }
            (State::Module(x), State::Module(y)) => x == y,
            (State::Optimizer(x), State::Optimizer(y)) => x == y,
            (State::Loader(x), State::Loader(y)) => Rc::ptr_eq(x, y),
            (State::Sampler(x), State::Sampler(y)) => x == y,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
}

fn same_pairs<K: PartialEq>(a: &[(K, Value)], b: &[(K, Value)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((n, x), (m, y))| n == m && x.same(y))
}

fn is_moved(before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_tensor(), after.as_tensor()) else { return false };
    is_elsewhere(before.device, after.device)
}

fn is_elsewhere(before: Device, after: Device) -> bool {
    before.is_gpu() && after == Device::Cpu || before == Device::Cpu && after.is_gpu()
}
