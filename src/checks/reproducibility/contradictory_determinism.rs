//! A script that asks for deterministic operations, and for the fastest algorithm of each run.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{AttributeWrite, Checker, Declared, Interp};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::syntax::StmtKind;
use crate::values::{FlowState, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "contradictory-determinism",
    summary: "`cudnn.benchmark` is on beside deterministic operations",
    group: Group::Reproducibility,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("contradictory-determinism"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_attribute_write: Some(written), on_effect: Some(called), ..Checker::SILENT };

/// Where the two are switched on, on every path to this point.
#[derive(Clone, Default)]
struct Algorithms {
    fixed: Option<Place>,
    tried: Option<Place>,
}

impl FlowState for Algorithms {
    fn join(&self, other: &Algorithms) -> Algorithms {
        Algorithms {
            fixed: self.fixed.filter(|_| other.fixed.is_some()),
            tried: self.tried.filter(|_| other.tried.is_some()),
        }
    }
}

/// Both are on.
struct Contradiction {
    fixed: Place,
}

/// One of them is switched off, or by something that is not known.
struct Reconsidered;

/// `torch.backends.cudnn.benchmark = True`
fn written(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    let Value::Api(package) = write.receiver else { return };
    let Some(flag) = cx.apis.get(Ustr::from(&format!("{package}.{}", write.name))) else { return };
    for effect in &flag.effects {
        switched(cx, effect.verb, write.value.as_bool(), write.place);
    }
}

/// `torch.use_deterministic_algorithms(True)`
fn called(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if !declared.effect.args.is_empty() {
        switched(cx, declared.verb(), declared.arg(0).as_bool(), declared.call.place);
    }
}

fn switched(cx: &mut Interp<'_>, verb: Verb, on: Option<bool>, place: Place) {
    if !matches!(verb, Verb::FixAlgorithms | Verb::TryAlgorithms) {
        return;
    }
    let here = (on == Some(true)).then_some(place);
    if here.is_none() {
        cx.observe(place, Reconsidered, Confidence::High);
    }
    let both = cx.heap.update(|algorithms: &mut Algorithms| {
        match verb {
            Verb::FixAlgorithms => algorithms.fixed = here,
            _ => algorithms.tried = here,
        }
        algorithms.tried.zip(algorithms.fixed)
    });
    if let Some((tried, fixed)) = both.filter(|_| here.is_some()) {
        cx.observe(tried, Contradiction { fixed }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    // What is decided again may be decided otherwise where it counts.
    if script.observed::<Reconsidered>().next().is_some() {
        return;
    }
    for (at, seen) in script.observed_once::<Contradiction>() {
        let message =
            "runs differ in spite of deterministic operations: `cudnn.benchmark` picks algorithms by timing";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(seen.fixed, "deterministic operations are requested here")
            .note("each run times several convolution algorithms and takes the fastest, and their rounding differs")
            .help("set `torch.backends.cudnn.benchmark = False`, or leave both out for speed");
        let fix = off(script, at.place).map(|edit| Fix::guess("switch the benchmark off", vec![edit]));
        out.push(finding.fix(fix), at);
    }
}

/// `True` becomes `False` where the flag is written.
fn off(script: &Script, written: Place) -> Option<Edit> {
    let draft = script.draft(written.file);
    let StmtKind::Assign { targets, value } = &draft.statement(draft.statement_at(written.span)?).kind else {
        return None;
    };
    let span = draft.expr(*value).span;
    (targets.len() == 1 && draft.written(*value) == "True").then(|| draft.replace(span, "False"))
}
