//! A choice of GPUs that comes too late: the driver was asked for them before.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::trace::FnKey;
use crate::values::FlowState;

pub(super) static RULE: Rule = Rule {
    id: "late-visible-devices",
    summary: "`CUDA_VISIBLE_DEVICES` is set after CUDA was initialized, and has no effect",
    group: Group::Device,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("late-visible-devices"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_effect: Some(effect), on_visible_devices: Some(chosen), ..Checker::SILENT };

/// What this process has settled about its GPUs on every path to this point.
#[derive(Clone, Default)]
struct Devices {
    /// Where the framework looked for them, and in which function that nothing here calls.
    found: Option<(Place, Option<FnKey>)>,
    /// The script has said which of them it is to see.
    chosen: bool,
}

impl FlowState for Devices {
    fn join(&self, other: &Devices) -> Devices {
        Devices { found: self.found.filter(|_| other.found.is_some()), chosen: self.chosen || other.chosen }
    }
}

/// GPUs are chosen, and were found before.
struct LateChoice {
    found: Place,
}

fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    match declared.verb() {
        Verb::FindDevices => {
            let found = Some((declared.call.place, cx.supposed.seeded));
            cx.heap.update(|devices: &mut Devices| devices.found = devices.found.or(found));
        }
        // A process of its own looks for itself.
        Verb::Spawn => cx.heap.update(|devices: &mut Devices| *devices = Devices::default()),
        _ => {}
    }
}

/// What a second choice changes is not known: the first may be the same.
fn chosen(cx: &mut Interp<'_>, place: Place) {
    let devices = cx.heap.state::<Devices>().cloned().unwrap_or_default();
    let found = devices.found.filter(|(_, within)| *within == cx.supposed.seeded && !devices.chosen);
    if let Some((found, _)) = found {
        cx.observe(place, LateChoice { found }, Confidence::High);
    }
    cx.heap.update(|devices: &mut Devices| devices.chosen = true);
}

fn check(script: &Script, out: &mut Findings) {
    // What is chosen for other processes is in time.
    if !script.rehearsal.uses_gpu {
        return;
    }
    for (at, late) in script.observed_once::<LateChoice>() {
        let message = "`CUDA_VISIBLE_DEVICES` has no effect: CUDA is already initialized";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(late.found, "CUDA is initialized here")
            .note("the driver reads the variable once, so the run uses the GPUs that were visible until now")
            .help("set it before this call, or on the command line: `CUDA_VISIBLE_DEVICES=1 python ...`");
        out.push(finding, at);
    }
}
