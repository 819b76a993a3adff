//! An option whose text is converted by `bool`, which is true of every text but the empty one.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, DeclaredOption, Interp};
use crate::report::{Confidence, Fix, Severity};
use crate::values::Value;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "always-true-option",
    summary: "a command-line option with `type=bool` is true for every value",
    group: Group::Syntax,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("always-true-option"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_option: Some(declared), ..Checker::SILENT };

/// What reads a text as people mean it.
const READS_TEXT: &str = "lambda text: text.lower() in (\"true\", \"yes\", \"1\")";

/// An option that `bool` converts.
struct AlwaysTrue {
    name: Rc<str>,
    /// It is on unless somebody turns it off, which nobody can.
    is_on: bool,
}

fn declared(cx: &mut Interp<'_>, option: &DeclaredOption<'_>) {
    let Some(kind) = option.call.keyword("type") else { return };
    if !matches!(&kind.value, Value::Builtin(name) if name == "bool") {
        return;
    }
    let default = option.call.keyword("default").and_then(|passed| passed.value.as_bool());
    let seen = AlwaysTrue { name: Rc::from(option.name), is_on: default == Some(true) };
    cx.observe(kind.place, seen, Confidence::High);
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<AlwaysTrue>() {
        let name = &seen.name;
        let message = match seen.is_on {
            true => format!("`{name} False` does not turn this option off: `bool(\"False\")` is true"),
            false => format!("`{name} False` turns this option on: `bool(\"False\")` is true"),
        };
        let draft = script.draft(at.place.file);
        let edit = draft.replace(at.place.span, READS_TEXT);
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("`bool` is true of every text but the empty one")
            .fix(Some(Fix::guess("read the text", vec![edit])))
            .help(
                "use `action=argparse.BooleanOptionalAction` (`--x`, `--no-x`), or `action=\"store_true\"`",
            );
        out.push(finding, at);
    }
}
