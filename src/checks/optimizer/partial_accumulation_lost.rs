//! Gradients of micro-batches that no step applies: the branch that steps is not taken after the last of them, or
//! its test is inverted.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Parts, Timeline, Whose, reached};
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, Diagnostic, Fix, Place, Severity};
use crate::syntax::{BinaryOp, CompareOp, ExprId, ExprKind, StmtKind, UnaryOp};
use crate::trace::{At, LoopId};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "partial-accumulation-lost",
    summary: "accumulated gradients are discarded, or the test that triggers the step is inverted",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("partial-accumulation-lost"),
    check,
};

/// An accumulation of which a part is not applied.
struct Partial {
    at: At,
    test: Place,
    backward: Place,
    every: Option<i64>,
    fault: Fault,
}

#[derive(Clone, Copy)]
enum Fault {
    /// What is left when the batches end is cleared here.
    Cleared(Place),
    /// `if i % k:` is the opposite of what is meant.
    Inverted,
}

/// How a test is written that a branch is taken every so often.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Every,
    AllBut,
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for timeline in script.timelines(Parts::Together) {
        if timeline.state.managed {
            continue;
        }
        let events = reached(&timeline);
        for (index, step) in events.iter().enumerate().filter(|(_, event)| event.is_own_step()) {
            let Some(partial) = partial(script, &timeline, &events, index) else { continue };
            if seen.insert(step.place) {
                out.push(finding(script, &partial), &partial.at);
            }
        }
    }
}

fn finding(script: &Script, partial: &Partial) -> Diagnostic {
    let at = &partial.at;
    match partial.fault {
        // A few samples of an epoch that is shuffled: many do without them on purpose.
        Fault::Cleared(cleared) => script
            .finding(
                RULE.id,
                Severity::Note,
                at,
                "the last micro-batches of each epoch are discarded: no step applies their gradients",
            )
            .because(partial.backward, "gradients accumulate here")
            .because(cleared, "and are zeroed here, before the next epoch")
            .note(left_over(partial.every))
            .help("also step after the last batch: `or i + 1 == len(loader)`, or once more after the loop"),
        Fault::Inverted => inverted(script, partial),
    }
}

fn inverted(script: &Script, partial: &Partial) -> Diagnostic {
    let message = match partial.every {
        Some(every) => {
            format!("the optimizer steps in {} of {every} iterations, not once in {every}", every - 1)
        }
        None => "the optimizer steps in all but every n-th iteration, not once in n".to_owned(),
    };
    let draft = script.draft(partial.test.file);
    let edit = draft.expr_at(partial.test.span).and_then(|test| {
        let (counter, every) = remainder(draft, test)?;
        let counted = draft.plain(counter)?;
        Some(draft.replace(partial.test.span, format!("({counted} + 1) % {} == 0", draft.written(every))))
    });
    let fix = edit.map(|edit| Fix::guess("step once per accumulation", vec![edit]));
    script
        .finding(RULE.id, RULE.severity, &partial.at, message)
        .because(partial.test, "true where the remainder is not zero: this test is inverted")
        .because(partial.backward, "gradients accumulate here")
        .help("compare the remainder with zero: `if (i + 1) % n == 0:`")
        .fix(fix)
}

fn left_over(every: Option<i64>) -> String {
    match every {
        Some(every) => format!("up to {} batches, unless their number is divisible by {every}", every - 1),
        None => "unless the number of batches is divisible by that of an accumulation".to_owned(),
    }
}

/// The step of an accumulation, if some of its gradients are not applied.
fn partial(
    script: &Script,
    timeline: &Timeline,
    events: &[Rc<OptimizerEvent>],
    index: usize,
) -> Option<Partial> {
    let step = &events[index];
    let pace = step.pace.as_ref()?;
    let (&batches, outer) = step.loops.split_last()?;
    let every = pace.every.known();
    if every.is_some_and(|every| every <= 1) || !only_steps_here(events, step) {
        return None;
    }
    let each = |event: &&Rc<OptimizerEvent>| {
        event.is_backward() && event.pace.is_none() && event.loops == step.loops
    };
    let backward = events.iter().find(each)?;
    let is_test = |event: &&Rc<OptimizerEvent>| {
        matches!(event.kind, Kind::Paced(_)) && event.loops == step.loops && event.calls == step.calls
    };
    let test = events[..index].iter().rfind(is_test)?.place;
    let fault = match form_around(script.draft(test.file), test, step.place)? {
        Form::AllBut if every != Some(2) && clears_beside(events, step) => Fault::Inverted,
        Form::AllBut => return None,
        Form::Every if divides(script, batches, pace.every.known()) => return None,
        Form::Every if outer.is_empty() && timeline.seeded.is_none() => return None,
        Form::Every => Fault::Cleared(cleared_around(events, outer)?),
    };
    // Who reads the number of batches may have made it fit.
    let confidence = match fault {
        Fault::Inverted => step.confidence,
        _ => step.confidence.min(Confidence::Medium),
    };
    let at = timeline.at(step, confidence);
    Some(Partial { at, test, backward: backward.place, every, fault })
}

/// Whether nothing else applies, clears or may use the gradients of an accumulation.
fn only_steps_here(events: &[Rc<OptimizerEvent>], step: &OptimizerEvent) -> bool {
    events.iter().all(|event| match &event.kind {
        Kind::Step { whose: Whose::Own, .. } => event.loops == step.loops && event.pace == step.pace,
        Kind::Step { whose: Whose::Shared, .. } | Kind::UnseenStep | Kind::NamedStep => false,
        Kind::Clear { .. } => event.loops != step.loops || event.pace == step.pace,
        Kind::Touched(touched) => !touched.gradients,
        _ => true,
    })
}

/// Whether the gradients are cleared where the optimizer steps.
fn clears_beside(events: &[Rc<OptimizerEvent>], step: &OptimizerEvent) -> bool {
    let clears =
        |event: &OptimizerEvent| matches!(event.kind, Kind::Clear { certainty: Certainty::Must, .. });
    events.iter().any(|event| clears(event) && event.loops == step.loops && event.pace == step.pace)
}

/// Where the gradients are cleared once for each run of the loop over the batches.
fn cleared_around(events: &[Rc<OptimizerEvent>], outer: &[LoopId]) -> Option<Place> {
    let clears =
        |event: &OptimizerEvent| matches!(event.kind, Kind::Clear { certainty: Certainty::Must, .. });
    let around = events.iter().find(|event| clears(event) && *event.loops == *outer && event.pace.is_none());
    around.map(|event| event.place)
}

/// Whether the last batch ends an accumulation.
fn divides(script: &Script, batches: LoopId, every: Option<i64>) -> bool {
    let count = script.rehearsal.loop_info(batches).count.known();
    count.zip(every).is_some_and(|(count, every)| count % every == 0)
}

/// How the test of the branch around a step is written; `None` where more than a remainder decides.
fn form_around(draft: Draft<'_>, test: Place, step: Place) -> Option<Form> {
    if test.file != step.file {
        return None;
    }
    let expr = draft.expr_at(test.span)?;
    let is_inside = draft.statements_around(step.span).into_iter().any(|stmt| {
        let StmtKind::If { arms, .. } = &draft.statement(stmt).kind else { return false };
        let inside = |body: &[_]| body.iter().any(|stmt| draft.statement(*stmt).span.contains(step.span));
        arms.first().is_some_and(|(first, body)| *first == expr && inside(body))
    });
    match form(draft, expr)? {
        form if is_inside => Some(form),
        // `if (i + 1) % k != 0: continue`
        Form::AllBut => Some(Form::Every),
        Form::Every => None,
    }
}

fn form(draft: Draft<'_>, test: ExprId) -> Option<Form> {
    match &draft.expr(test).kind {
        ExprKind::Compare { rest, .. } => match &**rest {
            [(CompareOp::NotEq, zero)] if matches!(draft.expr(*zero).kind, ExprKind::Int(0)) => {
                remainder(draft, test).map(|_| Form::AllBut)
            }
            [(CompareOp::Eq | CompareOp::GreaterEq, _)] => Some(Form::Every),
            _ => None,
        },
        ExprKind::Unary { op: UnaryOp::Not, operand } => match form(draft, *operand)? {
            Form::AllBut => Some(Form::Every),
            Form::Every => None,
        },
        ExprKind::Binary { .. } => remainder(draft, test).map(|_| Form::AllBut),
        _ => None,
    }
}

/// The operands of the remainder that a test asks for.
fn remainder(draft: Draft<'_>, test: ExprId) -> Option<(ExprId, ExprId)> {
    match draft.expr(test).kind {
        ExprKind::Binary { op: BinaryOp::Mod, left, right } => Some((left, right)),
        ExprKind::Compare { first, .. } => remainder(draft, first),
        _ => None,
    }
}
