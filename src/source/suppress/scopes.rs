//! Which of many stretches of a text lie around a place, found without looking at all of them.

use std::ops::Range;

/// Offsets at which the findings begin that are covered.
pub(super) type Scope = Range<u32>;

/// Stretches, each with the number of what it belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes {
    all: Vec<(Scope, usize)>,
    /// The farthest end of each stretch and those before it.
    reach: Vec<u32>,
}

impl Scopes {
    pub(super) fn push(&mut self, scope: Scope, owner: usize) {
        self.all.push((scope, owner));
    }

    /// Before the first question.
    pub(super) fn sort(&mut self) {
        self.all.sort_by_key(|(scope, _)| scope.start);
        let mut reach = 0;
        self.reach.clear();
        self.reach.extend(self.all.iter().map(|(scope, _)| {
            reach = reach.max(scope.end);
            reach
        }));
    }

    /// The owners of the stretches around a place.
    pub(super) fn around(&self, at: u32) -> impl Iterator<Item = usize> + '_ {
        let before = self.all.partition_point(|(scope, _)| scope.start <= at);
        let near = self.all[..before].iter().zip(&self.reach).rev();
        near.take_while(move |(_, reach)| **reach > at)
            .filter(move |((scope, _), _)| scope.contains(&at))
            .map(|((_, owner), _)| *owner)
    }
}
