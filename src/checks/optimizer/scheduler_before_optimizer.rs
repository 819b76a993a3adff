//! A schedule that goes on before its optimizer has stepped.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "scheduler-before-optimizer",
    summary: "the schedule steps before the optimizer does",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("scheduler-before-optimizer"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for early in script.early_schedules() {
        let name = &early.scheduler;
        let fix = script.schedule_moved(&early);
        let title = format!("move `{name}.step()` behind the optimizer's step");
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &early.at,
                    "the first learning rate of the schedule is skipped: it steps before the optimizer",
                )
                .because(early.step, "the first step of the optimizer comes after it")
                .note("since PyTorch 1.1 a schedule sets the learning rate for the steps that follow it")
                .replay(script.replay_of_schedule(early.step, early.at.place))
                .fix(fix.map(|edits| Fix::safe(title, edits)))
                .help(format!(
                    "call `{name}.step()` behind the optimizer's step, at the end of the iteration or epoch"
                )),
            &early.at,
        );
    }
}
