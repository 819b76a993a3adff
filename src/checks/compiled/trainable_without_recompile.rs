//! Layers that are frozen, or thawed, when the training is compiled already.

use super::training::{StaleTraining, stale_trainings};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Severity, Span};
use crate::syntax::{Arg, ExprKind};

pub(super) static RULE: Rule = Rule {
    id: "trainable-without-recompile",
    summary: "`trainable` is changed after `compile()` without compiling again",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("trainable-without-recompile"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for stale in stale_trainings(script) {
        let (severity, note) = if stale.is_built {
            (
                Severity::Error,
                "the training step is already built and keeps updating the weights it was built for",
            )
        } else {
            (
                Severity::Warning,
                "`compile` fixes what is trainable; whether a change before the first `fit` takes effect depends on the version",
            )
        };
        let finding = script
            .finding(
                RULE.id,
                severity,
                &stale.at,
                "changing `trainable` here has no effect until the model is compiled again",
            )
            .because(stale.compiled, "the model was compiled here with the old `trainable` settings")
            .because(stale.fitted, "and is trained here as compiled")
            .note(note)
            .help("call `compile()` again before the next `fit()`");
        let fix = compiled_again(script, &stale);
        let fix = fix.map(|edits| Fix::guess("call `compile()` again before the next `fit()`", edits));
        out.push(finding.fix(fix), &stale.at);
    }
}

/// The compilation once more, in front of the training that does not see a change.
fn compiled_again(script: &Script, stale: &StaleTraining) -> Option<Vec<Edit>> {
    let (compiled, fitted) = (stale.compiled, stale.fitted);
    let draft = script.draft(compiled.file);
    let line = draft.line_at(compiled.span).filter(|line| line.code == compiled.span)?;
    let training = draft.line_at(fitted.span).filter(|_| fitted.file == compiled.file)?;
    let receiver = |span: Span| draft.receiver(draft.call_at(span)?).map(|(base, _)| draft.written(base));
    let same_model = receiver(compiled.span)? == receiver(fitted.span)?;
    // An optimizer that has a name has the state of the first training, too.
    let call = draft.call_at(compiled.span)?;
    let is_named = |arg: &Arg| matches!(draft.expr(arg.value).kind, ExprKind::Name(_));
    let reusable = !call.args.iter().any(is_named) && line.indent == training.indent;
    let together = draft.same_function(compiled.span, fitted.span);
    (same_model && reusable && together).then(|| vec![draft.insert_before(training, draft.text(line.code))])
}
