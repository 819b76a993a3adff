//! Activation checkpointing that leaves its way to the framework.

use crate::apis::{Operand, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Fix, Severity};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "checkpoint-without-reentrant-choice",
    summary: "`checkpoint()` is called without an explicit `use_reentrant=`",
    group: Group::Memory,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("checkpoint-without-reentrant-choice"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(recomputed), ..Checker::SILENT };

/// A part of the model is to run again on the way back, and nothing says in which way.
struct Recomputed {
    function: Ustr,
}

/// A call that may hold more arguments says nothing.
fn recomputed(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Recompute {
        return;
    }
    let call = declared.call;
    let chosen = match declared.effect.args.first() {
        Some(Operand::Param(name)) => call.is_given(name),
        _ => true,
    };
    if !chosen && !call.open {
        cx.observe(call.place, Recomputed { function: call.api.name }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, call) in script.observed_once::<Recomputed>() {
        let name = call.function.rsplit('.').next().unwrap_or_default();
        let fix = script.with_argument(at.place, "use_reentrant", "False");
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, format!("`{name}` without `use_reentrant=` depends on the PyTorch version's default"))
                .note("the reentrant variant computes no gradients if no input requires grad; future PyTorch releases will raise an error without it")
                .fix(fix.map(|edits| Fix::guess("pass `use_reentrant=False`", edits)))
                .help("pass `use_reentrant=False`"),
            at,
        );
    }
}
