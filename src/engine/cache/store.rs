//! What lies in the cache: tables of paths and files, and the scripts that were rehearsed. One file,
//! with a digest of itself in front, so that half a file is no file.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// What else has the form of a store does not begin with this.
const MAGIC: &[u8; 8] = b"tlcache1";

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Store {
    pub paths: Vec<String>,
    pub files: Vec<File>,
    pub scripts: Vec<Script>,
}

/// A file that a rehearsal read, or a folder in which it looked for modules.
#[derive(Serialize, Deserialize)]
pub(crate) struct File {
    pub path: u32,
    /// None for a folder.
    pub digest: Option<u128>,
    /// By which name the project imports it.
    pub name: Option<String>,
    /// What its imports lead to: the level, the module, the goal.
    pub imports: Vec<(u32, Option<String>, Goal)>,
    /// The modules in it that were asked for.
    pub members: Vec<(String, Option<Goal>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Goal {
    File(u32),
    Folder(u32),
    Outside,
}

/// A script, and what its rehearsal found.
#[derive(Serialize, Deserialize)]
pub(crate) struct Script {
    pub path: u32,
    /// The settings that a rehearsal heeds.
    pub settings: u128,
    /// The releases that the project asked for.
    pub pins: u64,
    /// The files that were read, as they were, by their place in the table.
    pub reads: Vec<u32>,
    pub texts: Vec<(u32, Option<u64>)>,
    pub report: Vec<u8>,
}

impl File {
    /// Stands for everything that is said of the file; one path may have been seen in several states.
    pub(crate) fn state(&self) -> u64 {
        // Plain structs serialise.
        xxh3_64(&postcard::to_stdvec(self).unwrap_or_default())
    }
}

impl Store {
    /// None for what is damaged, was cut off, or comes from another build.
    pub(crate) fn from_bytes(bytes: &[u8], build: u64) -> Option<Store> {
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&build.to_le_bytes())?;
        let (digest, rest) = rest.split_first_chunk::<8>()?;
        let whole = xxh3_64(rest) == u64::from_le_bytes(*digest);
        whole.then(|| postcard::from_bytes(rest).ok())?
    }

    pub(crate) fn to_bytes(&self, build: u64) -> Option<Vec<u8>> {
        let body = postcard::to_stdvec(self).ok()?;
        let head = [&MAGIC[..], &build.to_le_bytes(), &xxh3_64(&body).to_le_bytes()].concat();
        Some([head, body].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_stores_and_those_of_other_builds_are_none() {
        let store = Store { paths: vec!["/a/b.py".to_owned()], ..Store::default() };
        let bytes = store.to_bytes(7).unwrap();
        assert_eq!(Store::from_bytes(&bytes, 7).unwrap().paths, store.paths);
        assert!(Store::from_bytes(&bytes, 8).is_none());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Store::from_bytes(&damaged, 7).is_none(), "byte {at}");
            assert!(Store::from_bytes(&bytes[..at], 7).is_none(), "cut at {at}");
        }
    }
}
