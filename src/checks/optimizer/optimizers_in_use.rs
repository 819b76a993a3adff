//! Which optimizers an entry is about, and what is known of who made them.

use crate::apis::{Role, Verb};
use crate::facts::Script;
use crate::facts::timeline::{each_effect, with_submodules};
use crate::report::Confidence;
use crate::syntax::FnId;
use crate::trace::{Effect, EntryPoint};
use crate::values::{ClassRef, ObjId, ObjSet, State};
use ustr::Ustr;

/// The optimizers that an entry clears or names, also those in the care of an engine, which steps none by itself.
/// One that is not even cleared may be there for its settings only.
pub(super) fn in_use(script: &Script, entry: &EntryPoint) -> ObjSet {
    let heap = &script.rehearsal.heap;
    let mut used = ObjSet::default();
    let mut cleared = ObjSet::default();
    each_effect(&entry.nodes, &mut |_, effect| match effect {
        Effect::Clear { targets, whole } => {
            used = used.union(targets);
            if *whole {
                cleared = cleared.union(targets);
            }
        }
        Effect::NamedStep { optimizer } => used.insert(*optimizer),
        _ => {}
    });
    let used: ObjSet = used.iter().filter(|object| heap.get(*object).optimizer().is_some()).collect();
    used.union(&cleared_through_modules(script, &cleared))
}

/// The optimizers of the script whose modules are cleared as a whole, and are no stepping optimizer's at all.
fn cleared_through_modules(script: &Script, cleared: &ObjSet) -> ObjSet {
    let heap = &script.rehearsal.heap;
    let parts_of =
        |object: ObjId| heap.get(object).optimizer().map(|state| with_submodules(heap, &state.owns));
    let stepping = script.stepping_optimizers();
    let applied =
        stepping.iter().filter_map(parts_of).fold(ObjSet::default(), |all, parts| all.union(&parts));
    let inside = with_submodules(heap, cleared);
    let is_left = |object: &ObjId| {
        let is_whole = heap.get(*object).optimizer().is_some_and(|state| !state.others);
        parts_of(*object).filter(|_| is_whole).is_some_and(|parts| {
            !parts.is_empty() && parts.iter().all(|part| inside.contains(part) && !applied.contains(part))
        })
    };
    optimizers_of_script(script).iter().filter(is_left).collect()
}

/// All optimizers that a script makes; of those whose parameters are not seen, only its own: a library may hand them on.
pub(super) fn optimizers_of_script(script: &Script) -> ObjSet {
    let heap = &script.rehearsal.heap;
    let made = |object: &ObjId| {
        let is_whole = heap.get(*object).optimizer().is_some_and(|state| !state.others);
        let is_own = heap.get(*object).site.file == script.file && is_made(script, *object);
        is_whole && heap.get(*object).confidence == Confidence::High || is_own
    };
    heap.optimizers().filter(made).collect()
}

/// Whether the script is seen to make an optimizer, of a framework's class.
pub(super) fn is_made(script: &Script, object: ObjId) -> bool {
    let object = script.rehearsal.heap.get(object);
    object.confidence == Confidence::High && matches!(object.class, ClassRef::Api(_))
}

/// Whether an optimizer is of a class of the project that hooks into backward passes: what they give is of use to it,
/// though nothing steps.
pub(super) fn listens(script: &Script, optimizer: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let is_hook = |name: Ustr| script.apis.method_does(Role::Module, name, Verb::Call);
    let hooks = |object: ObjId| {
        let ClassRef::Project(class) = heap.get(object).class else { return false };
        let State::Class(state) = &heap.get(class).state else { return false };
        let module = script.project.module(state.file);
        let functions = (0..).map(FnId).zip(&module.tree.functions);
        let mut own = functions.filter(|(_, function)| function.class == Some(state.class));
        own.any(|(id, _)| module.names.scope(id).mentions.iter().any(is_hook))
    };
    hooks(optimizer) || heap.stands_for(optimizer).iter().any(hooks)
}
