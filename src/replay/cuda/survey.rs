//! What a driver says of itself and of all its cards, for `trainlint doctor`. Computes nothing.

use super::driver::{Context, memory_of};
use super::probe::{NoGpu, dotted, survey as ask};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Survey {
    /// The CUDA release that the driver's library is for.
    pub cuda: Option<String>,
    pub cards: Vec<Seen>,
    /// Why there are no cards.
    pub none: Option<NoGpu>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Seen {
    pub name: String,
    /// Such as 9.0.
    pub capability: String,
    /// In bytes.
    pub memory: u64,
    pub free: u64,
}

/// Asks the driver, in a process of its own, since it may hang or crash.
pub fn survey() -> Survey {
    let (version, count) = ask();
    let cuda = version.map(dotted);
    let count = match count {
        Ok(count) => i32::try_from(count).unwrap_or_default(),
        Err(none) => return Survey { cuda, cards: Vec::new(), none: Some(none) },
    };
    let mut none = None;
    let mut cards = Vec::new();
    for ordinal in 0..count {
        match Context::of(ordinal) {
            Ok(context) => cards.extend(seen(&context, ordinal)),
            Err(refused) => none = Some(refused),
        }
    }
    let none = none.filter(|_| cards.is_empty());
    Survey { cuda, cards, none }
}

fn seen(context: &Context, ordinal: i32) -> Option<Seen> {
    let (major, minor) = context.capability().ok()?;
    let (free, total) = context.memory().ok()?;
    let memory = memory_of(ordinal).unwrap_or(total);
    Some(Seen { name: context.name().ok()?, capability: format!("{major}.{minor}"), memory, free })
}
