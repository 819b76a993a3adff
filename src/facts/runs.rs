//! What surrounds the training steps of a run: the replicas that take them, arrays that are copied whole, errors
//! that nobody hears of, models that a framework keeps.

use super::{Places, Script};
use crate::report::{Place, Severity};
use crate::trace::{At, LoopId, Sight};
use crate::values::{Int, ObjId, Tensor};
use std::rc::Rc;

/// Arrays below this are tables, not data.
const SMALL_COPY: u64 = 1 << 20;
/// Constants of a graph from this size on are worth a warning.
const LARGE_CONSTANT: u64 = 1 << 25;
/// So many models in one process are noticed.
const MANY_MODELS: i64 = 20;

pub struct BypassedStrategy {
    pub at: At,
    /// Where the optimizer came into the strategy's scope.
    pub scope: Place,
}

pub struct WholeArray {
    pub at: At,
    pub severity: Severity,
    pub bytes: u64,
    pub shape: String,
    pub dtype: &'static str,
    pub made: Option<Place>,
    pub traced: bool,
}

pub struct SwallowedError {
    pub at: At,
    pub severity: Severity,
    pub work: Place,
}

pub struct KeptModel {
    pub at: At,
    pub severity: Severity,
    pub count: Option<i64>,
    pub around: Place,
}

impl Script<'_> {
    pub fn bypassed_strategies(&self) -> Vec<BypassedStrategy> {
        let by_replica = |wanted: ObjId| {
            self.sightings().any(|(_, sight)| {
                matches!(sight, Sight::Replicated { optimizer, by_replica: true, .. } if *optimizer == wanted)
            })
        };
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            if let Sight::Replicated { optimizer, scope, by_replica: false } = sight
                && !by_replica(*optimizer)
                && seen.insert(at.place)
            {
                found.push(BypassedStrategy { at: at.clone(), scope: *scope });
            }
        }
        found
    }

    pub fn whole_arrays(&self) -> Vec<WholeArray> {
        let resident = self.resident_data();
        let spoken_of = |place: Place| {
            resident.iter().any(|data| data.at.place == place && data.severity > Severity::Note)
        };
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            if let Sight::Copied { array, traced } = sight
                && !spoken_of(at.place)
                && let Some(whole) = self.whole_array(at, array, *traced)
                && seen.insert(at.place)
            {
                found.push(whole);
            }
        }
        found
    }

    fn whole_array(&self, at: &At, array: &Rc<Tensor>, traced: bool) -> Option<WholeArray> {
        let bytes = u64::try_from(array.bytes()?).ok().filter(|bytes| *bytes >= SMALL_COPY)?;
        let small = if traced && bytes >= LARGE_CONSTANT { Severity::Warning } else { Severity::Note };
        Some(WholeArray {
            at: at.clone(),
            severity: self.severity_of_size(bytes, small).min(Severity::Warning),
            bytes,
            shape: self.shape(array),
            dtype: array.dtype.map_or("", |dtype| dtype.name()),
            made: array.made.filter(|made| *made != at.place),
            traced,
        })
    }

    pub fn swallowed_errors(&self) -> Vec<SwallowedError> {
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Swallowed { work, trains } = sight else { continue };
            let goes_on = *trains && !at.loops.is_empty();
            let severity = if goes_on { Severity::Warning } else { Severity::Note };
            if seen.insert(at.place) {
                found.push(SwallowedError { at: at.clone(), severity, work: *work });
            }
        }
        found
    }

    pub fn kept_models(&self) -> Vec<KeptModel> {
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            if !matches!(sight, Sight::Kept { .. }) || self.forgets_in(&at.loops) {
                continue;
            }
            let Some(innermost) = at.loops.last() else { continue };
            let count = self.iterations(&at.loops).known();
            let severity = match count {
                Some(count) if count >= MANY_MODELS => Severity::Warning,
                _ => Severity::Note,
            };
            if seen.insert(at.place) {
                let around = self.rehearsal.loop_info(*innermost).place;
                found.push(KeptModel { at: at.clone(), severity, count, around });
            }
        }
        found
    }

    /// Whether the framework is told to forget its models in one of these loops.
    fn forgets_in(&self, loops: &[LoopId]) -> bool {
        self.sightings().any(|(at, sight)| {
            matches!(sight, Sight::SessionCleared) && at.loops.iter().any(|id| loops.contains(id))
        })
    }

    /// How often the innermost of nested loops is run through.
    fn iterations(&self, loops: &[LoopId]) -> Int {
        loops.iter().fold(Int::Known(1), |all, id| all.mul(&self.rehearsal.loop_info(*id).count))
    }
}
