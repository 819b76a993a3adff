//! Names that a file calls without saying what they are of: an import binds them, by name or by a star.

use super::{Changed, Script};
use crate::apis::index::{self, Answer};
use crate::names::{Mention, Star, Target, bare_calls, starred_calls};

impl Script<'_> {
    /// Calls of imported names, as they stand, that mean something else since a release.
    pub(super) fn changed_bare_calls(&self) -> Vec<Changed> {
        let module = self.project.module(self.file);
        let is_counted = |mention: &Mention| {
            !mention.guarded && index::of(&mention.path).is_some_and(|(package, _)| !self.is_own(package))
        };
        let calls = bare_calls(&module.tree, &module.names).into_iter().filter(is_counted);
        let changed = calls.filter_map(|mention| match index::ask(&mention.path) {
            Answer::Known(known) => self.changed_call(&mention, Some(&known)),
            _ => None,
        });
        changed.collect()
    }

    /// Calls of what star imports brought, under the names that frameworks have for it.
    pub(super) fn starred(&self) -> Vec<Mention> {
        let module = self.project.module(self.file);
        let (stars, calls) = starred_calls(&module.tree, &module.names);
        let named =
            |mention: Mention| Some(Mention { path: self.brought(&stars, &mention.path)?, ..mention });
        calls.into_iter().filter_map(named).collect()
    }

    /// What the last of some star imports that has a name calls it. Nobody knows where one may have it.
    fn brought(&self, stars: &[Star], name: &str) -> Option<String> {
        /// Nobody knows what more of them hide.
        const MOST: usize = 16;
        if stars.len() > MOST {
            return None;
        }
        for star in stars.iter().rev() {
            match self.project.resolve(self.file, star.level, star.module) {
                Target::Outside => {}
                Target::File(file) => {
                    let names = &self.project.module(file).names;
                    let may_have = names.bindings.contains_key(&name.into()) || !names.stars.is_empty();
                    if may_have {
                        return None;
                    }
                    continue;
                }
                _ => return None,
            }
            let path = format!("{}.{name}", star.module?);
            match index::ask(&path) {
                Answer::Known(_) => return Some(path),
                Answer::Missing(missing) if missing.unsure.is_none() => {}
                _ => return None,
            }
        }
        None
    }
}
