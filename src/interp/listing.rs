//! The parameters below a module one by one: what they are called, which shape they have, whether they ask
//! for gradients. They are listed where somebody tells them apart, and not before.

use super::items::{position, slice_bounds};
use super::{Interp, lineage::Base, modules::DEEPEST, parameters::is_parameter};
use crate::apis::{Dim, ParameterSpec};
use crate::syntax::*;
use crate::values::parameter::MOST_LISTED;
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// What was listed so far. Whoever is met again was counted before, as the frameworks do it.
#[derive(Default)]
struct Listing {
    found: Vec<Parameter>,
    seen: FxHashSet<ObjId>,
}

impl<'p> Interp<'p> {
    /// The parameters that a value stands for, one by one; `None` where their modules are not known.
    pub(super) fn listed_parameters(&self, params: &Params) -> Option<Rc<[Parameter]>> {
        if params.only.is_some() {
            return params.only.clone();
        }
        if !params.whole || params.others || params.owners.is_empty() {
            return None;
        }
        let mut listing = Listing::default();
        params.owners.iter().for_each(|owner| self.list_parameters(owner, Some(""), 0, &mut listing));
        (listing.found.len() <= MOST_LISTED).then(|| listing.found.into())
    }

    fn list_parameters(&self, object: ObjId, prefix: Option<&str>, depth: usize, listing: &mut Listing) {
        let here = self.heap.get(object);
        let Some(module) = here.module() else { return };
        if depth > DEEPEST || !listing.seen.insert(object) {
            return;
        }
        let within = |name: &str| prefix.map(|prefix| format!("{prefix}{name}"));
        match self.parameters_of_layer(object) {
            Some(own) => listing.found.extend(own.into_iter().map(|(spec, maybe)| Parameter {
                owner: object,
                name: Some(spec.name),
                path: within(spec.name.as_str()).map(Rc::from),
                maybe,
            })),
            None => listing.found.push(Parameter { owner: object, name: None, path: None, maybe: false }),
        }
        let told = self.tells_children(object);
        for (name, value) in &here.attrs {
            let path = within(name.as_str()).filter(|_| told);
            match value.bare() {
                Value::Obj(child) => {
                    let path = path.map(|path| path + ".");
                    self.list_parameters(*child, path.as_deref(), depth + 1, listing);
                }
                Value::Tensor(tensor) if is_parameter(value) => {
                    let leaves = tensor.graph.leaves();
                    for owner in leaves.iter().filter(|leaf| listing.seen.insert(*leaf)) {
                        let path = path.as_deref().map(Rc::from);
                        listing.found.push(Parameter { owner, name: None, path, maybe: false });
                    }
                }
                _ => {}
            }
        }
        for part in &module.parts {
            self.list_parameters(*part, None, depth + 1, listing);
        }
    }

    /// What a layer has itself, and whether it may lack it; `None` where that is not known.
    fn parameters_of_layer(&self, object: ObjId) -> Option<Vec<(&'p ParameterSpec, bool)>> {
        let here = self.heap.get(object);
        if here.module()?.weights == Learned::Nothing {
            return Some(Vec::new());
        }
        let specs = self.parameter_specs(here.class)?.iter();
        Some(specs.filter_map(|spec| Some((spec, may_lack(here, spec)?))).collect())
    }

    /// What the tables say of the parameters of a class.
    fn parameter_specs(&self, class: ClassRef) -> Option<&'p [ParameterSpec]> {
        let apis = self.apis;
        let of_base = |base: Base| match base {
            Base::Api(name) => apis
                .class(name)?
                .class
                .as_deref()
                .map(|class| &*class.parameters)
                .filter(|all| !all.is_empty()),
            _ => None,
        };
        self.lineage(class).into_iter().find_map(of_base)
    }

    /// Whether the attributes of a module are called as its submodules are: those of the project's classes
    /// are, and the items of containers all of which are known.
    fn tells_children(&self, object: ObjId) -> bool {
        match self.heap.get(object).class {
            ClassRef::Project(_) => true,
            ClassRef::Api(_) => self.indexed_children(object).is_some(),
            ClassRef::Builtin => false,
        }
    }

    /// Whether one asks for gradients; `None` where that is not known.
    pub(super) fn asks_for_gradients(&self, parameter: &Parameter) -> Option<bool> {
        let frozen = self.heap.get(parameter.owner).module()?.is_frozen(parameter.name);
        frozen.map(|frozen| !frozen)
    }

    /// The shape of one, where its layer says it.
    pub(super) fn shape_of_parameter(&self, parameter: &Parameter) -> Option<Shape> {
        let (name, here) = (parameter.name?, self.heap.get(parameter.owner));
        let spec = self.parameter_specs(here.class)?.iter().find(|spec| spec.name == name)?;
        let size = |value: &Value| value.as_int().cloned().unwrap_or_default();
        let mut shape = Vec::new();
        for dim in &spec.dims {
            match dim {
                Dim::Unknown => shape.push(Int::Unknown),
                Dim::Of(name) => shape.push(here.attr(*name).map(size).unwrap_or_default()),
                Dim::Each(name) => match here.attr(*name)?.bare() {
                    Value::Int(num) => shape.push(num.int.clone()),
                    Value::Tuple(items) => shape.extend(items.iter().map(size)),
                    _ => return None,
                },
            }
        }
        Some(shape.into())
    }

    /// An attribute that parameters which were told apart have in common.
    pub(super) fn attribute_of_listed(&self, params: &Params, name: Ustr) -> Option<Value> {
        let listed = params.only.as_deref()?;
        let shared = |of: &dyn Fn(&Parameter) -> Option<Value>| {
            let first = of(listed.first()?)?;
            listed.iter().all(|one| of(one).is_some_and(|value| value.same(&first))).then_some(first)
        };
        let shape = |one: &Parameter| self.shape_of_parameter(one);
        match name.as_str() {
            "requires_grad" => {
                let asks = shared(&|one| self.asks_for_gradients(one).map(|asks| Value::Bool(Some(asks))));
                Some(asks.unwrap_or(Value::Bool(None)))
            }
            "ndim" => shared(&|one| shape(one).map(|shape| Value::int(shape.len() as i64))),
            "shape" => shared(&|one| {
                shape(one).map(|shape| Value::tuple(shape.iter().cloned().map(Value::of_int).collect()))
            }),
            _ => None,
        }
    }

    /// `p.requires_grad = flag` of parameters that were told apart.
    pub(super) fn freeze_listed(&mut self, listed: &[Parameter], sure: bool, frozen: Option<bool>) {
        for parameter in listed {
            let frozen = frozen.filter(|_| sure && !parameter.maybe);
            let names: Vec<Ustr> = match self.parameters_of_layer(parameter.owner) {
                Some(own) if parameter.name.is_some() => own.iter().map(|(spec, _)| spec.name).collect(),
                _ => Vec::new(),
            };
            let State::Module(module) = &mut self.heap.get_mut(parameter.owner).state else { continue };
            match parameter.name {
                Some(name) => module.freeze_one(name, &names, frozen),
                None => module.freeze(frozen),
            }
        }
    }

    /// The parameter of a layer that an expression names: `model.head.weight`.
    pub(super) fn parameter_written(&mut self, expr: ExprId) -> Option<Params> {
        let ExprKind::Attribute { base, name, .. } = self.here().expr(expr).kind else {
            return None;
        };
        let owner = self.eval(base).as_obj()?;
        self.parameter_of_layer(owner, name).or_else(|| self.own_parameter(owner, name))
    }

    /// `self.token`, where that is an `nn.Parameter`.
    fn own_parameter(&self, owner: ObjId, name: Ustr) -> Option<Params> {
        let held = self.heap.get(owner).attr(name).filter(|value| is_parameter(value))?;
        let owners = held.as_tensor()?.graph.leaves().clone();
        let params = Params { owners: owners.clone(), whole: true, ..Params::default() };
        let owner = owners.iter().next()?;
        Some(params.one(&Parameter { owner, name: None, path: None, maybe: false }))
    }

    /// `layer.weight`, unless the script has put something else there. `bias` is also what its constructor was told.
    pub(super) fn parameter_named(&self, owner: ObjId, name: Ustr) -> Option<Params> {
        let here = self.heap.get(owner);
        let is_flag = |value: &Value| matches!(value.bare(), Value::Bool(_));
        if here.attr(name).is_some_and(|value| !is_flag(value)) {
            return None;
        }
        self.parameter_of_layer(owner, name)
    }

    fn parameter_of_layer(&self, owner: ObjId, name: Ustr) -> Option<Params> {
        let here = self.heap.get(owner);
        if here.module()?.weights == Learned::Nothing {
            return None;
        }
        let mut named = self.parameter_specs(here.class)?.iter().filter(|spec| spec.name == name);
        let (spec, maybe) = named.find_map(|spec| Some((spec, may_lack(here, spec)?)))?;
        let params = Params { owners: ObjSet::one(owner), whole: true, ..Params::default() };
        Some(params.one(&Parameter { owner, name: Some(spec.name), path: None, maybe }))
    }

    /// What a loop over parameters goes through, one by one, where its tests come out differently for them, or where
    /// it may end before all have had their turn.
    pub(super) fn told_apart(
        &mut self,
        target: ExprId,
        any: &Value,
        tests: &[ExprId],
        breaks: bool,
    ) -> Option<Vec<Value>> {
        let params = params_within(any).filter(|_| breaks || !tests.is_empty())?.clone();
        let names = names_bound(self.here(), target);
        let said = |test: &&ExprId| {
            let text = self.written(**test);
            names.iter().any(|name| text.contains(name.as_str()))
        };
        let about: Vec<ExprId> = tests.iter().filter(said).copied().collect();
        if about.is_empty() && !breaks {
            return None;
        }
        let listed = self.listed_parameters(&params)?;
        let is_counted = !listed.iter().any(|parameter| parameter.path.is_none() || parameter.maybe);
        if breaks && !is_counted {
            return None;
        }
        let nth = |index: usize| i64::try_from(index).ok().filter(|_| is_counted);
        let rows = listed.iter().enumerate().map(|(index, parameter)| row(any, parameter, nth(index)));
        let mut rows: Vec<Value> = rows.collect();
        if breaks {
            for row in &mut rows {
                if tests.iter().any(|test| self.tested(target, row, *test).is_none()) {
                    *row = doubted(row);
                }
            }
            return Some(rows);
        }
        let tells = about.iter().any(|test| {
            let mut truths = rows.iter().map(|row| self.tested(target, row, *test));
            let first = truths.next();
            first.is_some_and(|first| truths.any(|other| other != first))
        });
        tells.then_some(rows)
    }

    /// Those of some parameters of which a function is true.
    pub(super) fn chosen(
        &mut self,
        params: &Params,
        mut test: impl FnMut(&mut Self, Value) -> Option<bool>,
    ) -> Params {
        let Some(listed) = self.listed_parameters(params) else { return params.clone() };
        let mut kept = Vec::new();
        for parameter in listed.iter() {
            match test(self, Value::Params(Rc::new(params.one(parameter)))) {
                Some(false) => {}
                Some(true) => kept.push(parameter.clone()),
                None => kept.push(Parameter { maybe: true, ..parameter.clone() }),
            }
        }
        if kept.len() == listed.len() {
            return params.clone();
        }
        Params { only: Some(kept.into()), named: false, ..params.clone() }
    }

    /// `list(model.parameters())[:4]`, where each of them is known.
    pub(super) fn parameters_at(&self, params: &Params, index: &Value) -> Option<Value> {
        let listed = self.listed_parameters(params)?;
        if listed.iter().any(|parameter| parameter.path.is_none() || parameter.maybe) {
            return None;
        }
        let only = match index.bare() {
            Value::Slice(_) => &listed[slice_bounds(index, listed.len())?],
            _ => std::slice::from_ref(&listed[position(index.as_known_int()?, listed.len())?]),
        };
        Some(Value::Params(Rc::new(Params {
            stream: None,
            only: Some(only.into()),
            named: false,
            ..params.clone()
        })))
    }

    /// What a test says of one item of a loop, and nothing else comes of it.
    fn tested(&mut self, target: ExprId, item: &Value, test: ExprId) -> Option<bool> {
        self.heap.begin();
        let truth = self.quietly(|interp| {
            interp.assign(target, item.clone());
            let value = interp.eval(test);
            interp.truth(&value)
        });
        self.heap.rollback();
        truth
    }
}

/// Whether a layer may lack a parameter; `None` where its constructor was told that it has none.
fn may_lack(layer: &Object, spec: &ParameterSpec) -> Option<bool> {
    let told = |name: &Ustr| layer.attr(*name).and_then(flag);
    let conditions = || spec.when.iter().map(told);
    (!conditions().any(|has| has == Some(false))).then(|| conditions().any(|has| has.is_none()))
}

/// Whether an argument of a constructor is true.
fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => *flag,
        Value::None => Some(false),
        Value::Int(num) if !num.is_given() => num.int.known().map(|value| value != 0),
        _ => None,
    }
}

/// The parameters in an item of a loop, alone or in tuples with something else.
pub(super) fn params_within(item: &Value) -> Option<&Params> {
    match item {
        Value::Params(params) => Some(params),
        Value::Tuple(items) => items.iter().find_map(params_within),
        _ => None,
    }
}

/// An item of a loop for one of the parameters in it, and the index beside it where that is known.
fn row(any: &Value, parameter: &Parameter, nth: Option<i64>) -> Value {
    match any {
        Value::Int(Num { nth: Some(index), .. }) => {
            nth.map_or_else(|| any.clone(), |nth| Value::int(index.plus.saturating_add(nth)))
        }
        Value::Params(params) => Value::Params(Rc::new(params.one(parameter))),
        Value::Tuple(items) => match &**items {
            [Value::Str(None), Value::Params(params)] if params.named => {
                let name = Value::Str(parameter.path.clone());
                Value::tuple(vec![name, Value::Params(Rc::new(params.one(parameter)))])
            }
            items => Value::tuple(items.iter().map(|item| row(item, parameter, nth)).collect()),
        },
        other => other.clone(),
    }
}

/// An item of a loop that may have ended before: it stands for its parameters on some paths only.
pub(super) fn doubted(item: &Value) -> Value {
    let maybe = |one: &Parameter| Parameter { maybe: true, ..one.clone() };
    rechosen(item, &|all| all.iter().map(maybe).collect())
}

/// The same of an item that stands for all parameters at once: it is some of them, and nobody knows which.
pub(super) fn some_of(item: Value) -> Value {
    match item {
        Value::Params(params) => {
            Value::Params(Rc::new(Params { whole: false, stream: None, named: false, ..(*params).clone() }))
        }
        Value::Tuple(items) => Value::tuple(items.iter().cloned().map(some_of).collect()),
        other => other,
    }
}

/// An item of a loop that chose none of the parameters, or one that may not have chosen those of its item.
pub(super) fn rechosen(item: &Value, change: &impl Fn(&[Parameter]) -> Vec<Parameter>) -> Value {
    match item {
        Value::Params(params) => {
            let only = change(params.only.as_deref().unwrap_or_default());
            Value::Params(Rc::new(Params { only: Some(only.into()), named: false, ..(**params).clone() }))
        }
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| rechosen(item, change)).collect()),
        other => other.clone(),
    }
}

/// The names that a target binds.
fn names_bound(tree: &Tree, target: ExprId) -> Vec<Ustr> {
    match &tree.expr(target).kind {
        ExprKind::Name(name) => vec![*name],
        ExprKind::Tuple(items) | ExprKind::List(items) => {
            items.iter().flat_map(|item| names_bound(tree, *item)).collect()
        }
        _ => Vec::new(),
    }
}

/// What a loop's body asks, and whether it may end the loop.
#[derive(Default)]
pub(super) struct Asked {
    pub tests: Vec<ExprId>,
    pub breaks: bool,
}

impl Asked {
    pub(crate) fn of(tree: &Tree, body: &[StmtId]) -> Asked {
        let mut asked = Asked::default();
        asked.look(tree, body);
        asked
    }

    fn look(&mut self, tree: &Tree, body: &[StmtId]) {
        for statement in body {
            match &tree.stmt(*statement).kind {
                StmtKind::If { arms, otherwise } => {
                    for (test, body) in arms {
                        self.tests.push(*test);
                        self.look(tree, body);
                    }
                    self.look(tree, otherwise);
                }
                StmtKind::With { body, .. } => self.look(tree, body),
                StmtKind::Break | StmtKind::Return(_) => self.breaks = true,
                _ => {}
            }
        }
    }
}
