//! Operations whose value or gradient may be no finite number, in what a backward walks: each of them once, for
//! the rule that says what is wrong with it.

use super::programs;
use crate::apis::{RangeFunction, RangeSpec};
use crate::facts::{Places, Script};
use crate::interp::Offered;
use crate::names::Module;
use crate::report::replay::{Program, Replay};
use crate::report::{Diagnostic, Edit, Place, Severity};
use crate::syntax::{Arg, ExprId, ExprKind, ImportNames, StmtKind};
use crate::trace::{At, Sight};
use crate::values::{End, Hazard, HazardKind, Interval, LostEpsilon, Tensor};
use std::rc::Rc;
use ustr::Ustr;

/// Why an operation is unsafe, one for each rule that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Division,
    Count,
    Log,
    LogOfShare,
    Root,
    Power,
    Arc,
    WrittenOut,
    Inverse,
    /// A guard that the dtype cannot hold, or on the wrong side.
    LostGuard,
    /// A choice that leaves the value out and not its gradient.
    Masked,
    /// The deviation of a single number.
    SingleSample,
}

/// An unsafe operation on the way to a loss.
pub(super) struct UnsafeOperation {
    pub at: At,
    pub range: Interval,
    /// The operand as it is written, where it can be told.
    pub operand: Option<String>,
    /// Where the operand is written; none where the operation adds to it first.
    pub operand_at: Option<Place>,
    /// Where its numbers come from: an API by name, and the place.
    pub what: Option<&'static str>,
    pub made: Option<Place>,
    pub lost_epsilon: Option<LostEpsilon>,
    pub chosen: Option<Place>,
    pub nearness: End,
    /// The value is finite at the pole; only the gradient is not.
    pub of_gradient: bool,
    /// Its operand was clamped to these bounds just before.
    pub clamped: bool,
    pub loss: Place,
    /// What can be run to see it.
    pub replay: Option<Program>,
}

impl UnsafeOperation {
    /// On the way to a loss that a backward walks.
    fn new(script: &Script, (at, loss): (&At, &Rc<Tensor>), hazard: &Hazard) -> UnsafeOperation {
        let written = operand(script, hazard);
        UnsafeOperation {
            at: At {
                place: hazard.place,
                confidence: hazard.confidence.min(at.confidence),
                calls: Default::default(),
                ..at.clone()
            },
            range: hazard.range,
            operand: written.and_then(|place| operand_text(script, place, hazard)),
            operand_at: written.filter(|_| hazard.plus == 0.0),
            what: hazard.what.map(|what| what.as_str()),
            made: hazard.made_at.filter(|made| *made != hazard.place),
            lost_epsilon: hazard.lost_epsilon,
            chosen: hazard.chosen,
            nearness: hazard.nearness,
            of_gradient: hazard.is_of_gradient(),
            clamped: hazard.what.is_some_and(|what| is_clamp(script, what)),
            loss: at.place,
            replay: programs::of(script, loss, hazard),
        }
    }

    /// What the operand can be, in words.
    pub(super) fn range(&self) -> String {
        self.range.describe()
    }

    /// The operand as it is written, or what it is.
    pub(super) fn subject(&self, otherwise: &str) -> String {
        self.operand.as_ref().map_or_else(|| otherwise.to_owned(), |text| format!("`{text}`"))
    }

    /// A finding on it: where the operand comes from, and which loss it reaches.
    pub(super) fn finding(
        &self,
        script: &Script,
        rule: &'static str,
        severity: Severity,
        message: impl Into<String>,
    ) -> Diagnostic {
        let mut finding = script.finding(rule, severity, &self.at, message);
        if let Some(made) = self.made {
            let by = self.what.map_or_else(String::new, |what| format!("comes from `{what}`, "));
            finding = finding.because(made, format!("{by}values in {}", self.range()));
        }
        if self.loss != self.at.place {
            finding = finding.because(self.loss, "`backward()` starts from this loss");
        }
        match &self.replay {
            Some(program) => finding.replay(Replay::Program(program.clone())),
            None => finding,
        }
    }

    /// A small number added to its operand.
    pub(super) fn kept_from_zero(&self, script: &Script, by: &str) -> Option<Vec<Edit>> {
        script.with_summand(self.operand_at?, by)
    }
}

/// The operations that suffer from one fault, each once.
/// Whether what an API gives is its operand, kept between two bounds.
fn is_clamp(script: &Script, what: Ustr) -> bool {
    let range = script.apis.get(what).and_then(|api| api.range.as_ref());
    matches!(range, Some(RangeSpec::Of(apply)) if apply.verb == RangeFunction::Clamp)
}

pub(super) fn unsafe_operations(script: &Script, fault: Fault) -> Vec<UnsafeOperation> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    let walked = script.sightings().filter_map(|(at, sight)| match sight {
        Sight::Backward { loss, .. } | Sight::Walked { loss, .. } => Some((at, loss)),
        _ => None,
    });
    let offered = script.observed::<Offered>().map(|(at, offered)| (at, &offered.loss, Some(offered)));
    for (at, loss, offered) in walked.map(|(at, loss)| (at, loss, None)).chain(offered) {
        let hazards: &[Hazard] = loss.hazards.as_deref().unwrap_or_default();
        for (index, hazard) in hazards.iter().enumerate() {
            // Of several things to say of one operation, the first is said.
            let told =
                hazards[..index].iter().any(|other| other.place == hazard.place && fault_of(other).is_some());
            let counts = offered.is_none_or(|offered| is_told_enough(hazard, offered));
            if told || !counts || fault_of(hazard) != Some(fault) || !seen.insert(hazard.place) {
                continue;
            }
            found.push(UnsafeOperation::new(script, (at, loss), hazard));
        }
    }
    found
}

/// Whether enough is known of an operation in a loss that nobody calls here. Who takes a logarithm of what may be
/// any number, divides by it, or takes an inverse, knows bounds that the caller keeps.
fn is_told_enough(hazard: &Hazard, offered: &Offered) -> bool {
    match hazard.kind {
        HazardKind::Count | HazardKind::Division | HazardKind::WrittenOut if offered.of_layer => false,
        HazardKind::InverseTrig => hazard.range.low.is_finite() && hazard.range.high.is_finite(),
        HazardKind::Division => hazard.range.low >= -WRONG_SIDE || hazard.range.high <= WRONG_SIDE,
        HazardKind::Log | HazardKind::Root | HazardKind::Power => hazard.range.low >= -WRONG_SIDE,
        HazardKind::Inverse(_) => false,
        _ => true,
    }
}

/// The operand of an operation: the base, the first argument or the receiver.
pub(super) fn operand(script: &Script, hazard: &Hazard) -> Option<Place> {
    let module = script.project.module(hazard.place.file);
    let whole = module.expr_at(hazard.place.span)?;
    let is_number = |id: ExprId| matches!(module.tree.expr(id).kind, ExprKind::Int(_) | ExprKind::Float(_));
    let operand = match &module.tree.expr(whole).kind {
        // A division is shown where its denominator stands.
        _ if matches!(hazard.kind, HazardKind::Division | HazardKind::Count) => whole,
        ExprKind::Binary { left, .. } => *left,
        ExprKind::Call { callee, args } => match (args.first(), &module.tree.expr(*callee).kind) {
            // `x.log()`, `x.pow(exponent)`
            (first, ExprKind::Attribute { base, .. })
                if first.is_none_or(|arg| is_number(arg.value)) || !is_imported(module, *base) =>
            {
                *base
            }
            (Some(Arg { value, .. }), _) => *value,
            _ => return None,
        },
        _ => whole,
    };
    Some(Place::new(hazard.place.file, module.tree.expr(operand).span))
}

/// An operand as a message names it.
pub(super) fn operand_text(script: &Script, operand: Place, hazard: &Hazard) -> Option<String> {
    let text = script.project.module(operand.file).source.text.get(operand.span.range())?;
    let is_short = text.len() <= MOST_TEXT && !text.contains('\n');
    is_short.then(|| if hazard.plus == 1.0 { format!("1 + {text}") } else { text.to_owned() })
}

/// Whether an expression names a module that was imported, or a part of one: a name that nothing binds a star import
/// brings.
fn is_imported(module: &Module, expr: ExprId) -> bool {
    let tree = &module.tree;
    let root = match &tree.expr(expr).kind {
        ExprKind::Attribute { base, .. } => return is_imported(module, *base),
        ExprKind::Name(_) if module.names.unbound.contains(&expr) => return true,
        ExprKind::Name(name) => *name,
        _ => return false,
    };
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Import(items) => items.iter().any(|item| match item.alias {
            Some(alias) => alias == root,
            None => item.name.split('.').next() == Some(root.as_str()),
        }),
        StmtKind::ImportFrom { names: ImportNames::Items(items), .. } => {
            items.iter().any(|item| item.alias.unwrap_or(item.name) == root)
        }
        _ => false,
    })
}

/// Longer operands are not repeated in a message.
const MOST_TEXT: usize = 40;

/// So far below zero a guard on the wrong side takes a number.
const WRONG_SIDE: f64 = 0.01;

fn fault_of(hazard: &Hazard) -> Option<Fault> {
    let just_below = hazard.range.low < 0.0 && hazard.range.low >= -WRONG_SIDE;
    if hazard.chosen.is_some() {
        return Some(Fault::Masked);
    }
    if hazard.lost_epsilon.is_some() {
        return Some(Fault::LostGuard);
    }
    Some(match hazard.kind {
        HazardKind::Log | HazardKind::Root if just_below => Fault::LostGuard,
        HazardKind::Division => Fault::Division,
        HazardKind::Count => Fault::Count,
        HazardKind::Log => Fault::Log,
        HazardKind::LogOfShare => Fault::LogOfShare,
        HazardKind::Root => Fault::Root,
        HazardKind::Power => Fault::Power,
        HazardKind::InverseTrig => Fault::Arc,
        HazardKind::WrittenOut => Fault::WrittenOut,
        HazardKind::Inverse(_) => Fault::Inverse,
        HazardKind::StandardDeviation => Fault::SingleSample,
        HazardKind::Overflow | HazardKind::PairwiseBroadcast => return None,
    })
}
