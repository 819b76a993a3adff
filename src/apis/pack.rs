//! Tables as one block of bytes that costs nothing to load: a hash table of names, and entries
//! that are decoded when they are first asked for.
//!
//! Layout, numbers little-endian `u32`: slots, entries, position of the shared part, its length;
//! then the slots `(name position, name length, entry)`, then the entries `(position, length)`, then bytes.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::model::Api;
use super::parse::Entry;
use super::shared::Shared;

const HEADER: usize = 16;
const SLOT: usize = 12;
const PLACE: usize = 8;
/// The entry of a name that is only the prefix of others.
const PREFIX: u32 = u32::MAX;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Entry(usize),
    Prefix,
}

/// A packed table and its decoded entries.
#[derive(Debug)]
pub(crate) struct Pack {
    bytes: Cow<'static, [u8]>,
    slots: usize,
    decoded: Box<[OnceLock<Option<Box<Api>>>]>,
}

impl Pack {
    pub(crate) fn new(bytes: Cow<'static, [u8]>) -> Pack {
        let mut pack = Pack { bytes, slots: 0, decoded: Box::default() };
        pack.slots = pack.number(0);
        pack.decoded = (0..pack.number(4)).map(|_| OnceLock::new()).collect();
        pack
    }

    fn number(&self, at: usize) -> usize {
        match self.bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => 0,
        }
    }

    fn slice(&self, at: usize) -> &[u8] {
        let (start, length) = (self.number(at), self.number(at + 4));
        self.bytes.get(start..start + length).unwrap_or_default()
    }

    pub(crate) fn shared(&self) -> Shared {
        postcard::from_bytes(self.slice(8)).unwrap_or_default()
    }

    /// Looks up the parts joined by dots.
    pub(crate) fn find(&self, parts: &[&str]) -> Option<Found> {
        let mask = self.slots.checked_sub(1)?;
        let mut slot = hash(parts) as usize & mask;
        loop {
            let at = HEADER + slot * SLOT;
            let name = self.slice(at);
            if name.is_empty() {
                return None;
            }
            if is_joined(name, parts) {
                let entry = self.number(at + 8);
                return Some(if entry == PREFIX as usize { Found::Prefix } else { Found::Entry(entry) });
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The names directly inside a package, in no order.
    pub(crate) fn members<'p>(&'p self, package: &'p str) -> impl Iterator<Item = &'p str> {
        // Each star of a file asks, and of most packages nothing is here.
        let slots = if self.find(&[package]).is_some() { self.slots } else { 0 };
        (0..slots).filter_map(move |slot| {
            let name = self.slice(HEADER + slot * SLOT).strip_prefix(package.as_bytes())?;
            let member = std::str::from_utf8(name.strip_prefix(b".")?).ok()?;
            (!member.contains('.')).then_some(member)
        })
    }

    pub(crate) fn entry(&self, index: usize) -> Option<&Api> {
        let decode = || {
            let at = HEADER + self.slots * SLOT + index * PLACE;
            postcard::from_bytes(self.slice(at)).ok().map(Box::new)
        };
        self.decoded.get(index)?.get_or_init(decode).as_deref()
    }

    pub(crate) fn len(&self) -> usize {
        self.decoded.len()
    }
}

/// FNV-1a over the parts and the dots between them; the same in the build script and here.
fn hash(parts: &[&str]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    for (i, part) in parts.iter().enumerate() {
        let dot = if i == 0 { "" } else { "." };
        for byte in dot.bytes().chain(part.bytes()) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash ^ (hash >> 15)
}

fn is_joined(name: &[u8], parts: &[&str]) -> bool {
    let mut rest = name;
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            match rest.split_first() {
                Some((b'.', after)) => rest = after,
                _ => return false,
            }
        }
        match rest.strip_prefix(part.as_bytes()) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Packs entries; the first that claims a name keeps it.
pub(crate) fn pack(entries: &[Entry], shared: &Shared) -> Result<Vec<u8>, postcard::Error> {
    let mut names: Vec<(&str, u32)> = Vec::new();
    for (index, entry) in (0_u32..).zip(entries) {
        names.push((entry.api.name.as_str(), index));
        names.extend(entry.also.iter().map(|also| (also.as_str(), index)));
    }
    let prefixes: Vec<&str> = names
        .iter()
        .flat_map(|(name, _)| name.match_indices('.').map(|(dot, _)| &name[..dot]))
        .chain(shared.packages.iter().map(ustr::Ustr::as_str))
        .collect();
    names.extend(prefixes.into_iter().map(|prefix| (prefix, PREFIX)));
    names.sort_by_key(|(name, entry)| (*name, *entry));
    names.dedup_by_key(|(name, _)| *name);

    let slots = (names.len() * 2).next_power_of_two();
    let mut table: Vec<Option<(&str, u32)>> = vec![None; slots];
    for &(name, entry) in &names {
        let mut slot = hash(&[name]) as usize & (slots - 1);
        while table[slot].is_some() {
            slot = (slot + 1) & (slots - 1);
        }
        table[slot] = Some((name, entry));
    }
    let mut head = Vec::new();
    let mut tail: Vec<u8> = Vec::new();
    let start = HEADER + slots * SLOT + entries.len() * PLACE;
    let mut put = |bytes: &[u8]| -> [u32; 2] {
        let position = start + tail.len();
        tail.extend_from_slice(bytes);
        [position as u32, bytes.len() as u32]
    };
    let [position, length] = put(&postcard::to_stdvec(shared)?);
    head.extend([slots as u32, entries.len() as u32, position, length]);
    for slot in table {
        let [position, length] = slot.map_or([0, 0], |(name, _)| put(name.as_bytes()));
        head.extend([position, length, slot.map_or(PREFIX, |(_, entry)| entry)]);
    }
    for entry in entries {
        head.extend(put(&postcard::to_stdvec(&entry.api)?));
    }
    let mut bytes: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.append(&mut tail);
    Ok(bytes)
}
