//! Callbacks that watch a number which the training does not have: they only warn, and do nothing.

use super::missing_history_key::{METRICS, OF_VALIDATION, are_as_compiled, other_name};
use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::values::{ClassRef, ObjId, State, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "unavailable-monitor",
    summary: "a callback monitors a number that the training does not have",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unavailable-monitor"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(fitted), ..Checker::SILENT };

/// A training was given a callback that watches this.
struct Monitored {
    callback: Ustr,
    monitor: Rc<str>,
    fitted: Place,
    lacks: Option<Lacks>,
}

#[derive(Clone)]
enum Lacks {
    /// There is nothing to validate on.
    Validation,
    /// The metric has this name.
    Named(&'static str),
}

fn fitted(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    let call = declared.call;
    // Of an older call nobody lists what it may be given.
    let lists = |name: &str| call.api.params.iter().any(|param| param.name == name);
    if declared.verb() != Verb::Fit || call.open || !lists("validation_data") {
        return;
    }
    let is_given = |name: &str| call.is_given(name) && !matches!(call.get(name).bare(), Value::None);
    let validates = is_given("validation_data") || is_given("validation_split");
    let metrics = declared.arg(0).as_obj().and_then(|model| cx.heap.noted(model, METRICS).cloned());
    for callback in callbacks(cx, &call.get("callbacks")) {
        let here = cx.heap.get(callback);
        let ClassRef::Api(class) = here.class else { continue };
        // What saves each time watches nothing.
        if here.attr(Ustr::from("save_best_only")).is_some_and(|best| best.as_bool() != Some(true)) {
            continue;
        }
        let Some(monitor) = here.attr(Ustr::from("monitor")).and_then(Value::as_str) else { continue };
        let lacks = match monitor.starts_with(OF_VALIDATION) && !validates {
            true => Some(Lacks::Validation),
            false => metrics.as_ref().and_then(|metrics| misnamed(metrics, monitor)),
        };
        let (site, monitor) = (here.site, Rc::from(monitor));
        let seen = Monitored { callback: class, monitor, fitted: call.place, lacks };
        cx.observe(site, seen, Confidence::High);
    }
}

fn callbacks(cx: &Interp<'_>, given: &Value) -> Vec<ObjId> {
    let list = given.as_obj();
    match list.map(|list| &cx.heap.get(list).state) {
        Some(State::List(items)) => items.exact.iter().flatten().filter_map(Value::as_obj).collect(),
        _ => list.into_iter().collect(),
    }
}

/// The name under which the metric was compiled, where it is watched under its other one.
fn misnamed(metrics: &Value, monitor: &str) -> Option<Lacks> {
    let Value::Tuple(metrics) = metrics else { return None };
    let has = |name: &str| metrics.iter().any(|metric| metric.as_str() == Some(name));
    let asked = monitor.strip_prefix(OF_VALIDATION).unwrap_or(monitor);
    let other = other_name(asked).filter(|other| has(other) && !has(asked))?;
    Some(Lacks::Named(other))
}

fn check(script: &Script, out: &mut Findings) {
    // One training may have what another lacks.
    let served = script.observed::<Monitored>().filter(|(_, seen)| seen.lacks.is_none());
    let served: Places = served.map(|(at, _)| at.place).collect();
    for (at, seen) in
        script.observed_once_where(|at, seen: &Monitored| seen.lacks.is_some() && !served.contains(&at.place))
    {
        let callback = seen.callback.rsplit('.').next().unwrap_or_default();
        let monitor = &seen.monitor;
        let (message, help) = match seen.lacks {
            Some(Lacks::Named(_)) if !are_as_compiled(script) => continue,
            Some(Lacks::Named(other)) => {
                let there = match monitor.starts_with(OF_VALIDATION) {
                    true => format!("{OF_VALIDATION}{other}"),
                    false => other.to_owned(),
                };
                (
                    format!(
                        "`{callback}` has nothing to go by: it monitors `{monitor}`, and the metric is `{there}`"
                    ),
                    format!("pass `monitor=\"{there}\"`"),
                )
            }
            _ => (
                format!("`{callback}` has nothing to go by: it monitors `{monitor}` without validation data"),
                "pass `validation_data=` or `validation_split=` to `fit()`, or monitor `loss`".to_owned(),
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(seen.fitted, "trained here")
            .note("Keras only warns: nothing is stopped or reduced, and the best model is not told from the others")
            .help(help);
        out.push(finding, at);
    }
}
