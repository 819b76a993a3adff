//! Parameter groups of optimizers: what each holds, and the options that it or the constructor says.

use super::{Interp, Invocation, python};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Groups are lists of parameters in dicts in lists.
const DEEPEST: u32 = 4;
/// So many groups of an optimizer are copied for one step.
const GROUPS_A_STEP: usize = 32;

impl<'p> Interp<'p> {
    pub(super) fn optimizer_state(&mut self, params: &Value) -> OptimizerState {
        let groups = self.groups_in(params);
        let params = self.collect_params(params, DEEPEST);
        OptimizerState {
            owns: params.owners,
            others: params.others,
            groups: groups.map(Rc::from),
            ..OptimizerState::default()
        }
    }

    /// The groups in the first argument of an optimizer; `None` where their number is not known.
    fn groups_in(&mut self, params: &Value) -> Option<Vec<ParamGroup>> {
        let Some(State::List(items)) = params.as_obj().map(|list| self.heap.get(list).state.clone()) else {
            return Some(vec![self.group_of(params)]);
        };
        let exact = match items.exact {
            Some(exact) => exact,
            None if self.is_dict(&items.any) => return None,
            None => return Some(vec![self.group_of(params)]),
        };
        if !exact.iter().any(|item| self.is_dict(item)) {
            return Some(vec![self.group_of(params)]);
        }
        Some(exact.iter().map(|item| self.group_of(item)).collect())
    }

    fn is_dict(&self, value: &Value) -> bool {
        value.as_obj().is_some_and(|object| matches!(self.heap.get(object).state, State::Dict(_)))
    }

    /// One group: a dict with options of its own, or parameters.
    fn group_of(&mut self, value: &Value) -> ParamGroup {
        // The optimizer makes a list of them, whatever they come from.
        let params = Params { stream: None, ..self.collect_params(value, DEEPEST) };
        let state = value.as_obj().map(|object| &self.heap.get(object).state);
        let option = |(key, value): &(Key, Value)| match key {
            Key::Str(name) if **name != *"params" => Some((Ustr::from(name), value.clone())),
            _ => None,
        };
        let options = match state {
            Some(State::Dict(entries)) => entries.known.iter().filter_map(option).collect(),
            _ => Rc::default(),
        };
        ParamGroup { params, options }
    }

    /// What groups do not say themselves is as the constructor says it.
    pub(super) fn fill_options(&self, state: &mut OptimizerState, call: &Invocation) {
        let Some(groups) = &state.groups else { return };
        let filled = groups.iter().map(|group| {
            let mut options = group.options.to_vec();
            for param in call.api.params.iter().skip(1) {
                if options.iter().all(|(name, _)| *name != param.name) {
                    options.push((param.name, call.get(&param.name)));
                }
            }
            ParamGroup { params: group.params.clone(), options: options.into() }
        });
        state.groups = Some(filled.collect());
    }

    /// `optimizer.add_param_group(...)`
    pub(super) fn add_params(&mut self, optimizer: &Value, group: &Value, place: Place) {
        let Some(object) = optimizer.as_obj() else { return };
        self.spend_all(group, place, DEEPEST);
        let more = self.group_of(group);
        let State::Optimizer(state) = self.heap.get(object).state.clone() else { return };
        let owns = state.owns.union(&more.params.owners);
        let others = state.others || more.params.others;
        // Each is written down again.
        self.burn((state.groups.as_ref().map_or(0, |groups| groups.len()) / GROUPS_A_STEP) as u32);
        let groups = state.groups.as_ref().map(|groups| {
            let inherited = self.defaults_of(object, groups, &more);
            let options = more.options.iter().cloned().chain(inherited).collect();
            groups.iter().cloned().chain([ParamGroup { params: more.params.clone(), options }]).collect()
        });
        self.heap.get_mut(object).state = State::Optimizer(OptimizerState { owns, others, groups, ..state });
        self.note_gathered(object, false, place);
    }

    /// The options that a group which is added later takes from the optimizer's constructor.
    fn defaults_of(&self, optimizer: ObjId, groups: &[ParamGroup], more: &ParamGroup) -> Vec<(Ustr, Value)> {
        let names = groups.first().into_iter().flat_map(|group| group.options.iter()).map(|(name, _)| *name);
        let missing = names.filter(|name| more.options.iter().all(|(own, _)| own != name));
        missing.filter_map(|name| Some((name, self.heap.attr(optimizer, name)?.clone()))).collect()
    }

    /// `optimizer.param_groups`: the dicts of the groups, or one for what they hold together.
    pub(super) fn param_groups(&mut self, call: &Invocation) -> Value {
        let owner = call.nth(0).as_obj();
        let Some(state) = owner.and_then(|object| self.heap.get(object).optimizer().cloned()) else {
            return Value::Unknown;
        };
        let together = Params { owners: state.owns, whole: true, others: state.others, ..Params::default() };
        match state.groups.as_deref() {
            Some([group]) => {
                let only = group.params.only.clone();
                let group = self.group_dict(&Params { only, ..together }, &group.options, 0, call.place);
                self.list(call.place, vec![group])
            }
            Some(groups) => {
                let dict = |(nth, group): (usize, &ParamGroup)| {
                    self.group_dict(&group.params, &group.options, nth, call.place)
                };
                let groups = groups.iter().enumerate().map(dict).collect();
                self.list(call.place, groups)
            }
            None => {
                let group = self.group_dict(&together, &[], 0, call.place);
                self.list_of(call.place, group)
            }
        }
    }

    /// Schedules and the script itself change the options of a group: what they were is known, and decides nothing.
    fn group_dict(&mut self, params: &Params, options: &[(Ustr, Value)], nth: usize, place: Place) -> Value {
        let changing = |(name, value): &(Ustr, Value)| {
            let number = value.bare();
            number.as_num()?;
            let origin = Origin { place, name: Rc::from(name.as_str()), given: true };
            let value = Value::Given(Rc::new(Given { value: number.clone(), origin: Rc::new(origin) }));
            Some((Key::Str(Rc::from(name.as_str())), value))
        };
        let params = (Key::Str(Rc::from("params")), Value::Params(Rc::new(params.clone())));
        let known = std::iter::once(params).chain(options.iter().filter_map(changing)).collect();
        let state = State::Dict(Entries::new(known, Some(Value::Unknown)));
        Value::Obj(python::alloc_part(self, place, nth as u64, ClassRef::Builtin, state))
    }

    /// All parameters in an argument of an optimizer: generators, lists, groups.
    pub(crate) fn collect_params(&mut self, value: &Value, depth: u32) -> Params {
        let mut all = Params { whole: true, ..Params::default() };
        let mut add = |more: Params| all = all.union(&more);
        match value.bare() {
            Value::Params(params) => add((**params).clone()),
            Value::Tensor(tensor) => match &tensor.graph {
                Graph::Live(nodes) if tensor.is_leaf => add(Params {
                    owners: nodes.leaves.clone(),
                    whole: true,
                    others: nodes.others,
                    ..Params::default()
                }),
                _ => add(Params { others: true, ..Params::default() }),
            },
            Value::Tuple(items) if depth > 0 => {
                for item in items.clone().iter() {
                    // Pairs of a name and a parameter.
                    if !matches!(item.bare(), Value::Str(_)) {
                        add(self.collect_params(item, depth - 1));
                    }
                }
            }
            Value::Obj(object) if depth > 0 => {
                let object = *object;
                match self.heap.get(object).state.clone() {
                    State::List(items) => match items.exact {
                        Some(exact) => {
                            for item in &exact {
                                add(self.collect_params(item, depth - 1));
                            }
                        }
                        None => add(self.collect_params(&items.any, depth - 1)),
                    },
                    State::Dict(entries) => match entries.get(&Key::Str(Rc::from("params"))) {
                        Some(params) => add(self.collect_params(&params.clone(), depth - 1)),
                        None => {
                            for (_, value) in &entries.known {
                                add(self.collect_params(value, depth - 1));
                            }
                            all.others |= entries.other.is_some();
                        }
                    },
                    State::Module(_) => {
                        add(Params { owners: ObjSet::one(object), whole: true, ..Params::default() });
                    }
                    _ => add(Params { others: true, ..Params::default() }),
                }
            }
            _ => add(Params { others: true, ..Params::default() }),
        }
        all
    }
}
