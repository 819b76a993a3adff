//! How loaders and samplers go through datasets. Knows samplers by what the tables say of them.

use super::{Interp, Invocation};
use crate::apis::{Api, Order};
use crate::values::*;

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
        SampleOrder {
            in_order: shuffled.filter(|_| unsampled).map(|shuffled| !shuffled),
            unsampled,
            workers: given("num_workers").as_known_int(),
        }
    }
}
