//! What each thread remembers of the answers of the tables: a rehearsal asks the same few questions again
//! and again, and most answers are that there is no such name.

use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use ustr::Ustr;

use super::model::Role;

/// Where an entry lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub pack: u32,
    pub entry: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Entry(Ustr),
    /// An entry, or a method that a class inherits.
    Name(Ustr),
    Method(Ustr, Ustr),
}

#[derive(Default)]
struct Memo {
    /// The tables that it is about.
    of: u32,
    places: FxHashMap<Question, Option<Place>>,
    joined: FxHashMap<(Ustr, Ustr), Ustr>,
    roles: FxHashMap<Ustr, Option<Role>>,
    named: FxHashMap<Ustr, Option<Role>>,
}

thread_local! {
    static MEMO: RefCell<Memo> = RefCell::default();
}

/// A number for tables that were just read.
pub(super) fn new_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn remembered(of: u32, question: Question, find: impl FnOnce() -> Option<Place>) -> Option<Place> {
    answer(of, |memo| &mut memo.places, question, find)
}

pub(super) fn joined(of: u32, package: Ustr, name: Ustr, find: impl FnOnce() -> Ustr) -> Ustr {
    answer(of, |memo| &mut memo.joined, (package, name), find)
}

pub(super) fn role(of: u32, class: Ustr, find: impl FnOnce() -> Option<Role>) -> Option<Role> {
    answer(of, |memo| &mut memo.roles, class, find)
}

pub(super) fn named(of: u32, name: Ustr, find: impl FnOnce() -> Option<Role>) -> Option<Role> {
    answer(of, |memo| &mut memo.named, name, find)
}

/// Nothing is borrowed while the answer is found, for finding it asks on.
fn answer<K: Eq + Hash + Copy, V: Copy>(
    of: u32,
    map: fn(&mut Memo) -> &mut FxHashMap<K, V>,
    key: K,
    find: impl FnOnce() -> V,
) -> V {
    let known = MEMO.with_borrow_mut(|memo| {
        if memo.of != of {
            *memo = Memo { of, ..Memo::default() };
        }
        map(memo).get(&key).copied()
    });
    known.unwrap_or_else(|| {
        let found = find();
        MEMO.with_borrow_mut(|memo| {
            if memo.of == of {
                map(memo).insert(key, found);
            }
        });
        found
    })
}
