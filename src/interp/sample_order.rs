//! How loaders and samplers go through datasets. Knows samplers by what the tables say of them.

use super::{Interp, Invocation};
use crate::apis::{Api, Order};
use crate::values::*;

/// The name of the number of processors of the machine.
pub(super) const PROCESSORS: &str = "processors";

impl<'p> Interp<'p> {
    pub(super) fn sampler_state(&mut self, api: &Api, call: &Invocation) -> SamplerState {
        let orders = match self.apis.order(api.name) {
            Some(Order::Sequential) => Orders::SEQUENTIAL,
            Some(Order::Random) => Orders::RANDOM,
            Some(Order::Shared(flag)) => match self.truth(&call.get(&flag)) {
                Some(true) => Orders::SHARED_RANDOM,
                Some(false) => Orders::SHARED,
                None => Orders::SHARED.union(Orders::SHARED_RANDOM),
            },
            _ => Orders::UNKNOWN,
        };
        SamplerState { orders, shared_at: orders.meets(Orders::SHARED_RANDOM).then_some(call.place) }
    }

    /// What the arguments of a loader say of the way it goes through its dataset.
    pub(super) fn sample_order(&mut self, call: &Invocation) -> SampleOrder {
        let given = |name: &str| {
            let more = call.more.iter().find(|(known, _)| *known == name);
            more.map_or_else(|| call.get(name), |(_, passed)| passed.value.clone())
        };
        let absent = |name: &str| {
            let listed = call.api.params.iter().any(|param| param.name == name);
            !call.open && (matches!(given(name), Value::None) || (!listed && given(name).is_unknown()))
        };
        let listed = call.api.params.iter().any(|param| param.name == "shuffle");
        let shuffled = if listed { self.truth(&given("shuffle")) } else { None };
        let unsampled = absent("sampler") && absent("batch_sampler");
        let perhaps = matches!(given("sampler"), Value::Maybe(_)) && absent("batch_sampler") && !call.open;
        SampleOrder {
            in_order: shuffled.filter(|_| unsampled).map(|shuffled| !shuffled),
            unsampled,
            unless_sampled: perhaps && shuffled == Some(false),
            workers: given("num_workers").as_int().and_then(|count| self.workers(count)),
        }
    }

    fn workers(&self, count: &Int) -> Option<Workers> {
        match count {
            Int::Known(count) | Int::Given(count) => Some(Workers::Known((*count).max(0))),
            Int::Sum(sum) if sum.is_positive() => {
                let mut symbols = count.symbols();
                symbols.all(|symbol| self.is_of_processors(symbol)).then_some(Workers::PerProcessor)
            }
            Int::Sum(_) | Int::Unknown => None,
        }
    }

    fn is_of_processors(&self, symbol: Symbol) -> bool {
        self.out.symbols.get(symbol.0 as usize).is_some_and(|name| **name == *PROCESSORS)
    }
}
