//! Sets of the states of an automaton, a bit for each: all that may be the case where several paths meet.
//! Sets of two automata are different types.

use std::marker::PhantomData;

/// A set of states. None that an automaton is in is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Powerset<S>(u16, PhantomData<S>);

/// The states of an automaton; at most sixteen.
pub(crate) trait States: Copy + 'static {
    const ALL: &'static [Self];
    fn bit(self) -> u16;
}

/// Declares the states of an automaton as an enum that can be an element of a [`Powerset`].
macro_rules! states {
    ($(#[$of:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $state:ident,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$doc])* $state,)* }

        impl $crate::facts::timeline::States for $name {
            const ALL: &'static [$name] = &[$($name::$state),*];

            fn bit(self) -> u16 {
                1 << self as u16
            }
        }
    };
}
pub(crate) use states;

impl<S: States> Powerset<S> {
    pub(crate) fn one(state: S) -> Powerset<S> {
        Powerset(state.bit(), PhantomData)
    }

    fn of(states: &[S]) -> Powerset<S> {
        Powerset(states.iter().fold(0, |all, state| all | state.bit()), PhantomData)
    }

    pub(crate) fn union(self, other: Powerset<S>) -> Powerset<S> {
        Powerset(self.0 | other.0, PhantomData)
    }

    pub(crate) fn with(self, state: S) -> Powerset<S> {
        self.union(Powerset::one(state))
    }

    /// What becomes of each state.
    pub(crate) fn map(self, each: impl Fn(S) -> S) -> Powerset<S> {
        let states = S::ALL.iter().filter(|state| self.may_be(&[**state]));
        Powerset(states.fold(0, |all, state| all | each(*state).bit()), PhantomData)
    }

    /// Whether one of these may be the case.
    pub(crate) fn may_be(self, states: &[S]) -> bool {
        self.0 & Powerset::of(states).0 != 0
    }

    /// Whether one of these is the case on every path.
    pub(crate) fn must_be(self, states: &[S]) -> bool {
        self.0 != 0 && self.0 & !Powerset::of(states).0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    states! {
        enum Lamp { Off, On, Broken, }
    }
    use Lamp::*;

    #[test]
    fn what_may_be_is_one_path_and_what_must_be_is_all() {
        let set = Powerset::one(Off).with(On);
        assert!(set.may_be(&[On]) && set.may_be(&[On, Broken]) && !set.may_be(&[Broken]));
        assert!(set.must_be(&[Off, On, Broken]) && set.must_be(&[Off, On]) && !set.must_be(&[On]));
    }

    #[test]
    fn a_transition_is_made_from_each_state() {
        let toggled = |one| match one {
            Off => On,
            On => Off,
            Broken => Broken,
        };
        assert_eq!(Powerset::one(Off).with(Broken).map(toggled), Powerset::one(On).with(Broken));
        assert_eq!(Powerset::one(Off).with(On).map(|_| Broken), Powerset::one(Broken));
    }
}
