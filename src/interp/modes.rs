//! Training and evaluation mode: what sets it, and which layers it matters to. Knows no layer by name:
//! the tables say whose output depends on its mode.

use super::lineage::Base;
use super::{Interp, Invocation};
use crate::apis::{Api, ModeDependence, Role, Transfer, Verb};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprKind, StmtId, StmtKind};
use crate::trace::Effect;
use crate::values::*;
use std::rc::Rc;
use ustr::{Ustr, ustr};

/// The method that puts a module into evaluation mode.
const PUTS_INTO_EVAL: &str = "eval";

impl<'p> Interp<'p> {
    /// Without a flag a module is put into training; with one, the flag says.
    pub(super) fn train(&mut self, target: &Value, flag: Option<&Value>, place: Place) {
        let mode = match flag.map(|flag| self.truth(flag)) {
            None | Some(Some(true)) => Mode::Train,
            Some(Some(false)) => Mode::Eval,
            Some(None) => Mode::Unknown,
        };
        self.set_mode(target, mode, place);
    }

    pub(super) fn set_mode(&mut self, target: &Value, mode: Mode, place: Place) {
        self.for_each_part(target, |module| {
            module.mode = mode;
            (module.mode_set, module.mode_may_be_set) = (true, true);
            module.mode_of_its_own = false;
        });
        self.event(place, Effect::Mode { module: target.as_obj(), mode }, Confidence::High);
    }

    /// `model.training = True` is about the module alone, and not about its parts.
    pub(super) fn assigns_mode(&mut self, object: ObjId, name: Ustr, value: &Value) -> bool {
        let is_flag =
            || self.apis.method_of(Role::Module, name).and_then(Api::transfer) == Some(Transfer::ModeFlag);
        if self.heap.get(object).module().is_none() || !is_flag() {
            return false;
        }
        let mode = match self.truth(value) {
            Some(true) => Mode::Train,
            Some(false) => Mode::Eval,
            None => Mode::Unknown,
        };
        if let State::Module(module) = &mut self.heap.get_mut(object).state {
            (module.mode, module.mode_set, module.mode_may_be_set) = (mode, true, true);
            module.mode_of_its_own = true;
        }
        true
    }

    /// A method that is not seen and is called like one that sets the mode: of something unknown, which may be any
    /// module, or of an instance whose class has a base from elsewhere, which may pass it on to its parts.
    pub(super) fn mode_by_unknown(&mut self, receiver: &Value, method: Ustr, place: Place) {
        let api = self.apis.method_of(Role::Module, method);
        let sets = api.is_some_and(|api| {
            api.effects.iter().any(|effect| matches!(effect.verb, Verb::Train | Verb::Eval))
        });
        if !sets {
            return;
        }
        let is_module = |part: &ObjId| self.heap.get(*part).module().is_some();
        let mut reached: Vec<Option<ObjId>> = match receiver.as_obj() {
            Some(object) => {
                let attributes = self.heap.get(object).attrs.iter();
                attributes.filter_map(|(_, value)| value.as_obj()).filter(is_module).map(Some).collect()
            }
            None => Vec::new(),
        };
        if reached.is_empty() {
            reached.push(None);
        }
        for module in reached {
            self.event(place, Effect::Mode { module, mode: Mode::Unknown }, Confidence::High);
        }
    }

    /// Whether a layer that is made here does something else in training than in evaluation.
    pub(super) fn is_mode_dependent(&mut self, api: &Api, call: &Invocation) -> bool {
        match self.apis.mode_dependent(api.name) {
            Some(ModeDependence::Always) => true,
            Some(ModeDependence::If(rate)) => self.drops(&call.get(&rate)),
            // What is an option may be more than its default.
            Some(ModeDependence::Between(rate, count)) => {
                let count = call.get(&count);
                let is_one = !matches!(count, Value::Given(_)) && count.as_known_int() == Some(1);
                !is_one && self.drops(&call.get(&rate))
            }
            Some(ModeDependence::Never) | None => false,
        }
    }

    /// Whether a rate or a flag of a layer makes it do something else in training.
    fn drops(&mut self, rate: &Value) -> bool {
        match rate {
            Value::None => false,
            value => match value.as_num() {
                Some(number) => number != 0.0,
                // Whoever gives a rate, and be it an option, means to drop something.
                None => self.truth(value) != Some(false),
            },
        }
    }

    /// The flag that says whether a module is in training: whoever reads it in a forward does as it says.
    pub(super) fn mode_flag(&mut self, call: &Invocation) -> Value {
        let reader = self.frames.iter().rev().find_map(|frame| frame.receiver.as_ref()?.as_obj());
        if let Some(object) = call.nth(0).as_obj()
            && reader == Some(object)
            && let Some((mode, is_known)) =
                self.heap.get(object).module().map(|module| (module.mode, module.mode_dependent))
            && !self.only_counts(call.place)
        {
            self.graphs.trained |= mode == Mode::Train;
            if !is_known && let State::Module(module) = &mut self.heap.get_mut(object).state {
                module.mode_dependent = true;
            }
        }
        let object = call.nth(0).as_obj();
        let asked = object.and_then(|object| self.heap.get(object).module());
        // Whoever calls the methods of what nothing constructs may have said otherwise.
        let is_imagined = || self.supposed.instances.values().any(|instance| instance.as_obj() == object);
        Value::Bool(match asked.map(|module| (module.mode, module.mode_set)) {
            Some((Mode::Eval, _)) => Some(false),
            Some((Mode::Train, true)) => Some(true),
            Some((Mode::Train, false)) if !is_imagined() => Some(true),
            _ => None,
        })
    }

    /// `if self.training: self.steps += 1` computes nothing else in evaluation.
    fn only_counts(&self, test: Place) -> bool {
        let tree = self.tree(test.file);
        let counts = |stmt: &StmtId| match tree.stmt(*stmt).kind {
            StmtKind::AugAssign { value, .. } => matches!(tree.expr(value).kind, ExprKind::Int(_)),
            _ => false,
        };
        tree.stmts.iter().any(|stmt| match &stmt.kind {
            StmtKind::If { arms, otherwise } if otherwise.is_empty() => match &**arms {
                [(asked, body)] => tree.expr(*asked).span == test.span && body.iter().all(counts),
                _ => false,
            },
            _ => false,
        })
    }

    /// A part of a module whose output depends on its mode, and that is in training; its class.
    pub(super) fn part_in_training(&self, object: ObjId) -> Option<Rc<str>> {
        let trains = |part: &ObjId| {
            let module = self.heap.get(*part).module();
            module.is_some_and(|module| module.is_mode_dependent() && module.mode == Mode::Train)
                && self.may_have_mode(*part)
        };
        let part = self.descendants(object).iter().find(trains)?;
        let name = self.class_name(part);
        Some(Rc::from(name.rsplit('.').next().unwrap_or(&name)))
    }

    /// Whether a module may be put into evaluation mode. Where a framework has no method for that, each call says
    /// whether it is one of training.
    fn may_have_mode(&self, module: ObjId) -> bool {
        let lineage = self.lineage(self.heap.get(module).class);
        let sets_none = |base: &Base| match base {
            Base::Api(name) => {
                self.apis.class(*name).is_some() && self.apis.method(*name, ustr(PUTS_INTO_EVAL)).is_none()
            }
            Base::Project(_) => true,
            Base::Unknown => false,
        };
        !lineage.iter().any(|base| matches!(base, Base::Api(_))) || !lineage.iter().all(sets_none)
    }
}
