//! An option whose text is converted by `bool`, which is true of every text but the empty one; or by nothing.

use super::option_uses::OptionUses;
use crate::apis::Literal;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Call, Checker, DeclaredOption, Interp, Invocation};
use crate::report::{Confidence, Fix, Severity};
use crate::syntax::ExprKind;
use crate::values::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "always-true-option",
    summary: "a command-line option with `type=bool`, or without `type`, is true for every value",
    group: Group::Syntax,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("always-true-option"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_option: Some(declared), on_arguments: Some(given), on_call: Some(given), ..Checker::SILENT };

/// What reads a text as people mean it.
const READS_TEXT: &str = "lambda text: text.lower() in (\"true\", \"yes\", \"1\")";

/// An option that `bool` converts, or nothing does.
struct AlwaysTrue {
    name: Rc<str>,
    /// Of one that is not converted, the attribute under which it is read.
    unconverted: Option<Ustr>,
    /// It is on unless somebody turns it off, which nobody can.
    is_on: bool,
}

fn declared(cx: &mut Interp<'_>, option: &DeclaredOption<'_>) {
    let DeclaredOption { name, dest, call } = *option;
    let default = call.keyword("default");
    let is_on = default.and_then(|passed| passed.value.as_bool());
    let (place, unconverted) = match call.keyword("type") {
        Some(kind) => match &kind.value {
            Value::Builtin(name) if name == "bool" && stores(call) => (kind.place, None),
            _ => return,
        },
        None => match default {
            Some(default) if is_on.is_some() && is_free(call) => (default.place, Some(dest)),
            _ => return,
        },
    };
    if let Some(dest) = unconverted {
        cx.remember(|dests: &mut Unconverted| dests.0.insert(dest, is_on == Some(true)));
    }
    let seen = AlwaysTrue { name: Rc::from(name), unconverted, is_on: is_on == Some(true) };
    cx.observe(place, seen, Confidence::High);
}

/// An option of this name is given to a parameter of a framework that is true or false.
struct GivenAsFlag(Ustr);

/// The attributes under which options are read that nothing converts, and whether they are on.
#[derive(Default)]
struct Unconverted(FxHashMap<Ustr, bool>);

fn given(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if cx.remember(|dests: &mut Unconverted| dests.0.is_empty()) {
        return;
    }
    for param in &call.api.params {
        let Some(place) = call.place_of(&param.name) else { continue };
        let module = cx.module(place.file);
        let written = module.expr_at(place.span).map(|expr| &module.tree.expr(expr).kind);
        let Some(ExprKind::Attribute { name, .. }) = written else { continue };
        let name = *name;
        let is_flag = match param.default {
            Some(Literal::Bool(_)) => true,
            // What may be true and is nothing by default is a flag, too; what is false may be a number that is left out.
            Some(Literal::None) => cx.remember(|dests: &mut Unconverted| dests.0.get(&name) == Some(&true)),
            _ => false,
        };
        if is_flag && cx.remember(|dests: &mut Unconverted| dests.0.contains_key(&name)) {
            cx.observe(place, GivenAsFlag(name), Confidence::High);
        }
    }
}

/// Whether what is typed is converted and kept: any other action takes no value, or does with it what it likes.
fn stores(call: &Call) -> bool {
    let action = call.keyword("action").map(|action| action.value.as_str());
    action.is_none_or(|action| matches!(action, Some("store" | "append" | "extend")))
}

/// Whether users choose the value: no action sets it, and no list of values is asked for.
fn is_free(call: &Call) -> bool {
    !call.open && ["action", "nargs", "choices"].iter().all(|name| call.keyword(name).is_none())
}

fn check(script: &Script, out: &mut Findings) {
    let dests = script.observed::<AlwaysTrue>().filter_map(|(_, seen)| seen.unconverted);
    let all = OptionUses::of(script, dests);
    // Whether the script takes an option for what its default is: it asks whether it is true.
    let flags: FxHashSet<Ustr> = script.observed::<GivenAsFlag>().map(|(_, given)| given.0).collect();
    let is_asked = |dest: Ustr, uses: &OptionUses| {
        (uses.as_condition > 0 || flags.contains(&dest)) && uses.converted == 0
    };
    for (at, seen) in script.observed_once::<AlwaysTrue>() {
        if seen.unconverted.is_some_and(|dest| !all.get(&dest).is_some_and(|uses| is_asked(dest, uses))) {
            continue;
        }
        let name = &seen.name;
        let text = if seen.unconverted.is_some() { "the string \"False\"" } else { "`bool(\"False\")`" };
        let message = match seen.is_on {
            true => format!("`{name} False` does not turn this option off: {text} is true"),
            false => format!("`{name} False` turns this option on: {text} is true"),
        };
        let draft = script.draft(at.place.file);
        let edit = match seen.unconverted {
            Some(_) => draft.insert(at.place.span.end, format!(", type={READS_TEXT}")),
            None => draft.replace(at.place.span, READS_TEXT),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("every string but the empty one is true")
            .fix(Some(Fix::guess("read the text", vec![edit])))
            .help(
                "use `action=argparse.BooleanOptionalAction` (`--x`, `--no-x`), or `action=\"store_true\"`",
            );
        out.push(finding, at);
    }
}
