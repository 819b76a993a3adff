//! Parameters below modules, together and one by one. Their shapes and whether they ask for gradients are
//! looked up at their owners, so that a parameter costs nothing where nobody tells it from others.

use super::{DeviceOrigin, Graph, Heap, ModuleState, ObjId, ObjSet, Source, Tensor, Value};
use crate::report::Confidence;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// More parameters than this are not told apart.
pub const MOST_LISTED: usize = 256;

/// `model.parameters()`, lists of parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params {
    pub owners: ObjSet,
    /// All parameters of the owners, not some.
    pub whole: bool,
    /// There may be others.
    pub others: bool,
    /// The iterator that gives them, where they can be gone through once only.
    pub stream: Option<ObjId>,
    /// These of the owners' only, where the script told them apart.
    pub only: Option<Rc<[Parameter]>>,
    /// A text beside it is its name.
    pub named: bool,
}

/// One parameter, or those of one owner that are not told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The layer that registered it; `nn.Parameter` is an owner itself.
    pub owner: ObjId,
    /// What the owner calls it; `None` for all that the owner itself has.
    pub name: Option<Ustr>,
    /// Its name below the module that was asked, where that is known.
    pub path: Option<Rc<str>>,
    /// It is not among the others on every path.
    pub maybe: bool,
}

/// What an optimizer does to some of its parameters.
#[derive(Clone, Debug)]
pub struct ParamGroup {
    pub params: Params,
    /// `lr`, `weight_decay` and their kin: as the group says, else as the constructor does.
    pub options: Rc<[(Ustr, Value)]>,
}

impl PartialEq for ParamGroup {
    fn eq(&self, other: &ParamGroup) -> bool {
        let same = |((a, x), (b, y)): (&(Ustr, Value), &(Ustr, Value))| a == b && x.same(y);
        self.params == other.params
            && self.options.len() == other.options.len()
            && self.options.iter().zip(other.options.iter()).all(same)
    }
}

impl Params {
    /// The one that a layer calls by this name, where it is no list: `layer.weight`.
    pub fn only_one(&self) -> Option<&Parameter> {
        match self.only.as_deref() {
            Some([one]) if one.name.is_some() && !one.maybe && !self.others && self.stream.is_none() => {
                Some(one)
            }
            _ => None,
        }
    }

    /// The parameters of both.
    pub fn union(&self, other: &Params) -> Params {
        Params {
            owners: self.owners.union(&other.owners),
            whole: self.whole && other.whole,
            others: self.others || other.others,
            stream: None,
            only: self.both(other, true),
            named: false,
        }
    }

    /// The parameters of one or the other.
    pub fn join(&self, other: &Params) -> Params {
        let same = self.only == other.only;
        Params {
            owners: self.owners.union(&other.owners),
            whole: false,
            others: self.others || other.others,
            stream: self.stream.filter(|_| self.stream == other.stream),
            only: if same { self.only.clone() } else { self.both(other, false) },
            named: self.named && other.named,
        }
    }

    /// Those of two lists, each once: of both or, where `all` does not hold, of either.
    fn both(&self, other: &Params, all: bool) -> Option<Rc<[Parameter]>> {
        // Of nobody there is nothing to choose from.
        let chosen = |params: &Params| match &params.only {
            None if params.owners.is_empty() => Some(Rc::from([])),
            only => only.clone(),
        };
        if self.only.is_none() && other.only.is_none() {
            return None;
        }
        let (first, second) = (chosen(self)?, chosen(other)?);
        let key = |one: &Parameter| (one.owner, one.name);
        let mut left: FxHashMap<_, &Parameter> = second.iter().map(|one| (key(one), one)).collect();
        let mut found = Vec::with_capacity(first.len().max(second.len()));
        for one in first.iter() {
            let maybe = match left.remove(&key(one)) {
                Some(other) if all => one.maybe && other.maybe,
                Some(other) => one.maybe || other.maybe,
                None => one.maybe || !all,
            };
            found.push(Parameter { maybe, ..one.clone() });
        }
        let rest = second.iter().filter(|one| left.contains_key(&key(one)));
        found.extend(rest.map(|one| Parameter { maybe: one.maybe || !all, ..one.clone() }));
        (found.len() <= MOST_LISTED).then(|| found.into())
    }

    /// One of several that were listed.
    pub fn one(&self, parameter: &Parameter) -> Params {
        Params { stream: None, only: Some(Rc::from([parameter.clone()])), named: false, ..self.clone() }
    }
}

impl ModuleState {
    /// Sets `requires_grad` of all its own parameters; `None` where nobody knows.
    pub fn freeze(&mut self, frozen: Option<bool>) {
        self.frozen = frozen;
        self.apart.clear();
    }

    /// Sets `requires_grad` of one of them, out of `all`.
    pub fn freeze_one(&mut self, name: Ustr, all: &[Ustr], frozen: Option<bool>) {
        if self.apart.is_empty() {
            self.apart = all.iter().map(|name| (*name, self.frozen)).collect();
        }
        match self.apart.iter_mut().find(|(known, _)| *known == name) {
            Some((_, slot)) => *slot = frozen,
            None => self.apart.push((name, frozen)),
        }
        let alike = self.apart.iter().all(|(_, other)| *other == frozen);
        self.frozen = frozen.filter(|_| alike);
        if alike {
            self.apart.clear();
        }
    }

    /// What is known of them one by one where either of two states holds.
    pub fn joined_apart(&self, other: &ModuleState) -> Vec<(Ustr, Option<bool>)> {
        let apart = if self.apart.is_empty() { &other.apart } else { &self.apart };
        let agreed = |name: Ustr| {
            let frozen = self.is_frozen(Some(name));
            (name, frozen.filter(|_| frozen == other.is_frozen(Some(name))))
        };
        apart.iter().map(|(name, _)| agreed(*name)).collect()
    }

    /// Whether `requires_grad` of one of its own parameters is off; of all of them where none is named.
    pub fn is_frozen(&self, name: Option<Ustr>) -> Option<bool> {
        let apart = self.apart.iter().find(|(known, _)| Some(*known) == name);
        apart.map_or(self.frozen, |(_, frozen)| *frozen)
    }
}

impl Heap {
    /// A parameter of a layer, as the tensor that it is.
    pub fn weight_of_layer(&self, one: &Parameter) -> Option<Tensor> {
        let module = self.get(one.owner).module()?;
        let graph = match module.is_frozen(one.name) {
            Some(false) => Graph::leaf(one.owner, u32::MAX),
            Some(true) => Graph::None,
            None => Graph::Unknown,
        };
        let learned = module.is_frozen(one.name) != Some(true);
        Some(Tensor { device: module.device, dtype: module.dtype, learned, ..Tensor::of_parameter(graph) })
    }

    /// `x = embedding.weight`, which a loop makes more of: it is a tensor all along.
    pub(super) fn join_weight(&self, params: &Params, tensor: &Rc<Tensor>) -> Value {
        match params.only_one().and_then(|one| self.weight_of_layer(one)) {
            Some(weight) => self.join_tensors(&weight, tensor),
            None => Value::Unknown,
        }
    }
}

impl Tensor {
    /// A parameter, whose numbers and shape are not known.
    pub fn of_parameter(graph: Graph) -> Tensor {
        Tensor {
            graph,
            is_leaf: true,
            source: Source::Parameter,
            device_origin: Some(DeviceOrigin::Module),
            confidence: Confidence::Medium,
            ..Tensor::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ustr::ustr;

    fn parameter(owner: u32) -> Parameter {
        Parameter { owner: ObjId(owner), name: Some(ustr("weight")), path: None, maybe: false }
    }

    fn chosen(owner: u32) -> Params {
        let params = Params { owners: ObjSet::one(ObjId(owner)), whole: true, ..Params::default() };
        params.one(&parameter(owner))
    }

    #[test]
    fn a_layer_knows_its_parameters_apart_until_they_agree() {
        let (weight, bias) = (ustr("weight"), ustr("bias"));
        let mut layer = ModuleState::default();
        layer.freeze_one(bias, &[weight, bias], Some(true));
        assert_eq!(layer.frozen, None);
        assert_eq!(layer.is_frozen(Some(weight)), Some(false));
        assert_eq!(layer.is_frozen(Some(bias)), Some(true));
        layer.freeze_one(weight, &[weight, bias], Some(true));
        assert_eq!(layer.frozen, Some(true));
        assert!(layer.apart.is_empty());
    }

    #[test]
    fn ways_that_freeze_one_parameter_agree_on_the_other() {
        let (weight, bias) = (ustr("weight"), ustr("bias"));
        let (mut one, other) = (ModuleState::default(), ModuleState::default());
        one.freeze_one(bias, &[weight, bias], Some(true));
        assert_eq!(one.joined_apart(&other), [(weight, Some(false)), (bias, None)]);
        assert_eq!(other.joined_apart(&one), [(weight, Some(false)), (bias, None)]);
    }

    #[test]
    fn both_are_sure_and_either_is_not() {
        let (a, b) = (chosen(1), chosen(2));
        let sure = |params: &Params| {
            params.only.iter().flat_map(|only| only.iter()).map(|one| one.maybe).collect::<Vec<_>>()
        };
        assert_eq!(sure(&a.union(&b)), [false, false]);
        assert_eq!(sure(&a.join(&b)), [true, true]);
        assert_eq!(sure(&a.join(&a)), [false]);
        assert_eq!(sure(&a.union(&b).join(&a)), [false, true]);
    }

    #[test]
    fn a_parameter_is_listed_once() {
        let (a, b) = (chosen(1), chosen(2));
        let both = a.union(&b);
        assert_eq!(both.union(&both).only.map(|only| only.len()), Some(2));
        assert_eq!(both.join(&a).union(&b).only.map(|only| only.len()), Some(2));
    }

    #[test]
    fn all_of_one_and_some_of_another_are_not_listed() {
        let all = Params { owners: ObjSet::one(ObjId(3)), whole: true, ..Params::default() };
        assert_eq!(all.union(&chosen(1)).only, None);
        assert_eq!(Params::default().union(&chosen(1)).only.map(|only| only.len()), Some(1));
    }
}
