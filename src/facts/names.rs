//! What objects are called in the script. Names are for people: facts compare objects, and ask for a name when
//! they hand over what they found.

use super::Script;
use crate::report::Place;
use crate::trace::Effect;
use crate::values::{Heap, ObjId, State};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// The names under which variables and attributes keep objects, of each object the first.
pub struct Names(FxHashMap<ObjId, Rc<str>>);

impl Names {
    fn of(heap: &Heap) -> Names {
        let mut names = FxHashMap::default();
        for holder in (0..heap.len() as u32).map(|id| heap.get(ObjId(id))) {
            let said = match holder.state {
                State::Frame => |name: &Ustr| Rc::from(name.as_str()),
                State::Plain | State::Module(_) => |name: &Ustr| Rc::from(format!("self.{name}")),
                _ => continue,
            };
            for (name, value) in &holder.attrs {
                if let Some(object) = value.as_obj() {
                    names.entry(object).or_insert_with(|| said(name));
                }
            }
        }
        Names(names)
    }
}

impl Script<'_> {
    /// The name of the variable or attribute that keeps an object.
    pub(crate) fn display_name(&self, object: ObjId) -> Option<&str> {
        let names = self.names.get_or_init(|| Names::of(&self.rehearsal.heap));
        names.0.get(&object).map(AsRef::as_ref)
    }

    pub(crate) fn name_or(&self, object: ObjId, role: &str) -> String {
        self.display_name(object).unwrap_or(role).to_owned()
    }

    pub fn optimizer_name(&self, optimizer: ObjId) -> String {
        self.name_or(optimizer, "optimizer")
    }

    /// A scaler that no name keeps goes by what the script writes before its calls: `amp["scaler"]`.
    pub(crate) fn scaler_name(&self, scaler: ObjId) -> String {
        let said = self.display_name(scaler).or_else(|| self.written_scaler(scaler));
        said.unwrap_or("scaler").to_owned()
    }

    fn written_scaler(&self, scaler: ObjId) -> Option<&str> {
        let calls = self.places_of(|effect| match effect {
            Effect::Scaler { scaler: own, .. } => *own == scaler,
            Effect::Step { scaler: own, .. } => *own == Some(scaler),
            _ => false,
        });
        calls.iter().find_map(|call| self.written_receiver(*call))
    }

    fn written_receiver(&self, place: Place) -> Option<&str> {
        let draft = self.draft(place.file);
        let (receiver, _) = draft.receiver(draft.call_at(place.span)?)?;
        draft.plain(receiver)
    }
}
