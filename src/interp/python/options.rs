//! Whether all options of a command line are in sight: what a parser was told, and who else had hold of it or of its
//! namespace. Knows nothing of what an option is used for.

use super::super::Interp;
use super::arguments::{NAMESPACE, PARSER};
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;
use ustr::{Ustr, ustr};

static CLASSES: LazyLock<[Ustr; 2]> = LazyLock::new(|| [ustr(PARSER), ustr(NAMESPACE)]);

#[derive(Default)]
struct Options {
    /// Parsers and namespaces that may have more than what was seen, on any path.
    open: FxHashSet<ObjId>,
    /// Of each namespace, the parsers that made it.
    parsers: FxHashMap<ObjId, ObjSet>,
}

impl Interp<'_> {
    /// An option was declared whose name is not known, or somebody got hold of the object who is not seen.
    pub(in super::super) fn open_options(&mut self, object: ObjId) {
        let class = self.heap.get(object).class;
        if matches!(class, ClassRef::Api(class) if CLASSES.contains(&class)) {
            self.remember(|all: &mut Options| _ = all.open.insert(object));
        }
    }

    pub(super) fn has_open_options(&mut self, object: ObjId) -> bool {
        self.remember(|all: &mut Options| all.open.contains(&object))
    }

    pub(super) fn note_parsed(&mut self, namespace: ObjId, parser: ObjId) {
        self.remember(|all: &mut Options| all.parsers.entry(namespace).or_default().insert(parser));
    }

    /// Whether an object is what a parser has made of the command line, and nothing else may have given it attributes
    /// but what is written in the files that were read.
    pub fn sees_all_options(&mut self, object: ObjId) -> bool {
        self.remember(|all: &mut Options| {
            let is_closed = |one: ObjId| !all.open.contains(&one);
            let parsers = all.parsers.get(&object);
            is_closed(object) && parsers.is_some_and(|parsers| parsers.iter().all(is_closed))
        })
    }
}
