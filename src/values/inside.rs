//! Modules inside of modules.

use super::*;

/// Modules that are deeper than this inside of others are not looked for.
const DEEPEST: usize = 24;

impl Heap {
    /// A module and all modules inside it, through attributes and containers of modules.
    pub fn descendants(&self, object: ObjId) -> ObjSet {
        let mut found = ObjSet::default();
        let mut containers = ObjSet::default();
        let mut open = vec![(object, 0usize)];
        while let Some((object, depth)) = open.pop() {
            let here = self.get(object);
            let seen = if here.module().is_some() { &mut found } else { &mut containers };
            if seen.contains(object) || depth > DEEPEST {
                continue;
            }
            seen.insert(object);
            let first = open.len();
            let mut visit = |value: &Value| {
                if let Some(child) = value.as_obj()
                    && matches!(self.get(child).state, State::Module(_) | State::List(_) | State::Dict(_))
                {
                    open.push((child, depth + 1));
                }
            };
            match &here.state {
                State::Module(module) => {
                    module.parts.iter().for_each(|part| visit(&Value::Obj(*part)));
                    here.attrs.iter().for_each(|(_, value)| visit(value));
                    let taken = here.attrs.iter().flat_map(|(_, value)| owners_of_one(value));
                    taken.for_each(|owner| visit(&Value::Obj(owner)));
                }
                State::List(items) => {
                    items.exact.iter().flatten().for_each(&mut visit);
                    visit(&items.any);
                }
                State::Dict(entries) => entries.known.iter().for_each(|(_, value)| visit(value)),
                _ => {}
            }
            // Older ones first: they go to the end of the set.
            open[first..].reverse();
        }
        crate::source::looked_through(found.len() + containers.len());
        found
    }
}

/// `self.prototypes = nn.Linear(6, 4).weight`: a parameter of another layer is registered as one of its own.
fn owners_of_one(value: &Value) -> impl Iterator<Item = ObjId> + '_ {
    let is_one = |params: &Params| {
        let only = params.only.as_deref().unwrap_or_default();
        matches!(only, [one] if one.name.is_some()) && params.stream.is_none()
    };
    let one = match value.bare() {
        Value::Params(params) if is_one(params) => Some(params),
        _ => None,
    };
    one.into_iter().flat_map(|params| params.owners.iter())
}
