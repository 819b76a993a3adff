//! Functions and methods that say nothing of training, and that nothing called. What they get wrong is what any Python
//! gets wrong: arguments that nobody takes, results that nobody keeps, layers that are spelt differently.

use super::Interp;
use crate::report::FileId;
use crate::syntax::{ClassId, FnId, Function};
use crate::trace::FnKey;
use crate::values::{ClassRef, ObjId};
use rustc_hash::FxHashSet;

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
    let made = made_classes(interp);
    interp.supposed.beside_training = true;
    for (index, definition) in interp.tree(file).functions.iter().enumerate() {
        if interp.is_out_of_fuel() || interp.budget.fuel <= end {
            break;
        }
        let key = FnKey { file, function: FnId(index as u32) };
        let ran = [&interp.supposed.entered, &interp.supposed.constructing, &entered];
        let ran = interp.out.called.contains(&key) || ran.iter().any(|keys| keys.contains(&key));
        let is_made = |class: ClassId| {
            let object = interp.class_object(file, class);
            object.is_none_or(|object| {
                made.contains(&object) && !interp.supposed.instances.contains_key(&object)
            })
        };
        if !ran && is_plain(definition) && !definition.class.is_some_and(is_made) {
            interp.on_a_small_ration(FUEL_OF_ONE, |interp| interp.seed(key, definition));
        }
    }
    interp.supposed.beside_training = false;
    // What they step and clear says nothing of those that train.
    interp.out.entries.truncate(entries);
    interp.out.out_of_fuel = starved;
}

/// Classes that the script has made instances of: those are known better than one that would be made up.
fn made_classes(interp: &Interp) -> FxHashSet<ObjId> {
    let objects = (0..interp.heap.len() as u32).map(|index| interp.heap.get(ObjId(index)));
    let class = objects.filter_map(|object| match object.class {
        ClassRef::Project(class) => Some(class),
        _ => None,
    });
    class.collect()
}

fn is_plain(definition: &Function) -> bool {
    let is_test = definition.name.starts_with("test");
    definition.parent.is_none()
        && !definition.name.starts_with("__")
        && definition.name != "<lambda>"
        && !is_test
}
