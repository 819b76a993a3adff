//! State of an analysis that follows the paths of the script: it forks where a branch begins, is rolled back
//! with the heap's journal, and joins where paths meet. Each analysis has one state, found by its type, and no
//! other can name it.

use std::any::{Any, TypeId};
use std::rc::Rc;

/// What an analysis knows at a point of the script. The default holds at the start of the rehearsal.
///
/// A state is never a reason for another pass of a loop: it takes over what the passes leave.
pub trait FlowState: Any + Clone + Default {
    /// What holds on either of two paths.
    fn join(&self, other: &Self) -> Self;
}

/// The states of all analyses at one point; a copy costs a reference count.
#[derive(Clone, Default)]
pub struct FlowStates(Rc<Vec<Rc<dyn Joined>>>);

trait Joined {
    fn join(&self, other: &dyn Any) -> Option<Rc<dyn Joined>>;
    fn join_start(&self) -> Rc<dyn Joined>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn copy(&self) -> Rc<dyn Joined>;
}

impl<S: FlowState> Joined for S {
    fn join(&self, other: &dyn Any) -> Option<Rc<dyn Joined>> {
        let other = other.downcast_ref::<S>()?;
        Some(Rc::new(FlowState::join(self, other)))
    }

    fn join_start(&self) -> Rc<dyn Joined> {
        Rc::new(FlowState::join(self, &S::default()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn copy(&self) -> Rc<dyn Joined> {
        Rc::new(self.clone())
    }
}

impl FlowStates {
    /// The state of one analysis; `None` while it is what it was at the start.
    pub fn get<S: FlowState>(&self) -> Option<&S> {
        self.0.iter().find_map(|state| (**state).as_any().downcast_ref())
    }

    /// Changes the state of one analysis.
    pub fn update<S: FlowState, R>(&mut self, change: impl FnOnce(&mut S) -> R) -> R {
        let states = Rc::make_mut(&mut self.0);
        let known = states.iter_mut().find(|state| kind(&***state) == TypeId::of::<S>());
        if let Some(state) = known {
            if Rc::get_mut(state).is_none() {
                *state = (**state).copy();
            }
            let own = Rc::get_mut(state).and_then(|state| state.as_any_mut().downcast_mut());
            if let Some(own) = own {
                return change(own);
            }
        }
        let mut state = S::default();
        let result = change(&mut state);
        states.push(Rc::new(state));
        result
    }

    /// What holds on either of two paths.
    #[must_use]
    pub fn join(&self, other: &FlowStates) -> FlowStates {
        if self.same(other) {
            return self.clone();
        }
        let mut all: Vec<Rc<dyn Joined>> = Vec::with_capacity(self.0.len().max(other.0.len()));
        for state in self.0.iter() {
            all.push(match other.of_kind(&**state) {
                Some(there) if Rc::ptr_eq(there, state) => state.clone(),
                Some(there) => state.join((**there).as_any()).unwrap_or_else(|| state.clone()),
                None => state.join_start(),
            });
        }
        let new = other.0.iter().filter(|state| self.of_kind(&***state).is_none());
        all.extend(new.map(|state| state.join_start()));
        FlowStates(Rc::new(all))
    }

    /// Nothing was changed since one is a copy of the other.
    pub fn same(&self, other: &FlowStates) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    fn of_kind(&self, state: &dyn Joined) -> Option<&Rc<dyn Joined>> {
        self.0.iter().find(|known| kind(&***known) == kind(state))
    }
}

fn kind(state: &dyn Joined) -> TypeId {
    state.as_any().type_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// May be open.
    #[derive(Clone, Default, PartialEq, Debug)]
    struct Open(bool);

    /// How often something surely happened.
    #[derive(Clone, Default, PartialEq, Debug)]
    struct Least(u32);

    impl FlowState for Open {
        fn join(&self, other: &Open) -> Open {
            Open(self.0 || other.0)
        }
    }

    impl FlowState for Least {
        fn join(&self, other: &Least) -> Least {
            Least(self.0.min(other.0))
        }
    }

    #[test]
    fn a_copy_keeps_what_was_known() {
        let mut states = FlowStates::default();
        states.update(|least: &mut Least| least.0 = 2);
        let before = states.clone();
        states.update(|least: &mut Least| least.0 += 1);
        assert_eq!(before.get(), Some(&Least(2)));
        assert_eq!(states.get(), Some(&Least(3)));
        assert!(!before.same(&states));
    }

    #[test]
    fn analyses_join_apart_from_each_other() {
        let (mut one, mut other) = (FlowStates::default(), FlowStates::default());
        one.update(|open: &mut Open| open.0 = true);
        one.update(|least: &mut Least| least.0 = 3);
        other.update(|least: &mut Least| least.0 = 1);
        for joined in [one.join(&other), other.join(&one)] {
            assert_eq!(joined.get(), Some(&Open(true)));
            assert_eq!(joined.get(), Some(&Least(1)));
        }
    }

    #[test]
    fn a_path_that_never_touched_a_state_has_it_as_at_the_start() {
        let mut one = FlowStates::default();
        one.update(|least: &mut Least| least.0 = 3);
        assert_eq!(one.join(&FlowStates::default()).get(), Some(&Least(0)));
    }
}
