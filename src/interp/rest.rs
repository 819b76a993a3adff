//! Functions and methods that say nothing of training, and that nothing called. What they get wrong is what any Python
//! gets wrong: arguments that nobody takes, results that nobody keeps, layers that are spelt differently.

use super::Interp;
use crate::apis::Role;
use crate::report::FileId;
use crate::syntax::{ClassId, FnId, Function};
use crate::trace::FnKey;
use crate::values::{ClassRef, ObjId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps for all of them in a file.
const FUEL: u32 = 6_000;
/// Steps for each of them.
const FUEL_OF_ONE: u32 = 2_000;

/// Rehearses them last, with little fuel.
pub(super) fn rehearse_the_rest(interp: &mut Interp<'_>, file: FileId) {
    // Tests call what fails on purpose.
    if interp.is_of_a_suite(file) {
        return;
    }
    let (starved, entries) = (interp.out.out_of_fuel, interp.out.entries.len());
    let end = interp.budget.fuel.saturating_sub(FUEL);
    let entered: FxHashSet<FnKey> = interp.out.entries.iter().filter_map(|entry| entry.function).collect();
    interp.supposed.made = made_instances(interp);
    interp.supposed.beside_training = true;
    for (index, definition) in interp.tree(file).functions.iter().enumerate() {
        if interp.is_out_of_fuel() || interp.budget.fuel <= end {
            break;
        }
        let key = FnKey { file, function: FnId(index as u32) };
        let ran = [&interp.supposed.entered, &interp.supposed.constructing, &entered];
        let ran = interp.out.called.contains(&key) || ran.iter().any(|keys| keys.contains(&key));
        if !ran
            && is_plain(definition)
            && definition.class.is_none_or(|class| interp.has_instance(file, class))
        {
            interp.on_a_small_ration(FUEL_OF_ONE, |interp| interp.seed(key, definition));
        }
    }
    interp.supposed.beside_training = false;
    interp.supposed.made.clear();
    // What they step and clear says nothing of those that train.
    interp.out.entries.truncate(entries);
    interp.out.out_of_fuel = starved;
}

/// The instances that the script itself has made of its classes, the last of each.
fn made_instances(interp: &Interp) -> FxHashMap<ObjId, ObjId> {
    let by_class = interp.project_instances(interp.heap.len() as u32);
    by_class.filter(|(class, _)| !interp.supposed.instances.contains_key(class)).collect()
}

impl Interp<'_> {
    /// Whether a method of a class finds an instance to run on: one that is made up, or, of a module, the one that the
    /// script has made, which is known better. What else the script has made is in a state of its own.
    fn has_instance(&self, file: FileId, class: ClassId) -> bool {
        let object = self.class_object(file, class);
        object.is_some_and(|object| {
            !self.supposed.made.contains_key(&object)
                || self.role_of(ClassRef::Project(object)) == Some(Role::Module)
        })
    }
}

fn is_plain(definition: &Function) -> bool {
    let is_test = definition.name.starts_with("test");
    definition.parent.is_none()
        && !definition.name.starts_with("__")
        && definition.name != "<lambda>"
        && !is_test
}
