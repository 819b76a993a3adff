//! A call of a function of the project with other arguments than it takes.

use super::bare_hooks::unfit_hooks;
use super::framework_arguments::lacking_arguments;
use super::handed_hooks::outgrown_hooks;
use super::slips::{NEAR, nearest};
use super::super_arguments::mismatches;
use super::tried::is_tried;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Base, Call, Checker, Interp, Unfit, UnfitCall, UnfitFields, WRAPPED};
use crate::names::Module;
use crate::report::{Confidence, FileId, Fix, Place, Severity};
use crate::syntax::{Arg, ArgKind, Class, ExprId, ExprKind, FnId, Function, ParamKind};
use crate::trace::At;
use crate::values::{ClassRef, State, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "mismatched-arguments",
    summary: "a function, a class or a `forward` is called with other arguments than it takes",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("mismatched-arguments"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_unfit_call: Some(on_unfit_call), on_unfit_fields: Some(on_unfit_fields), ..Checker::SILENT };

/// What becomes of a call that does not fit.
pub(super) const RAISES: &str = "this raises TypeError as soon as it is reached";

/// What a call of an instance runs.
const CALLED: [&str; 3] = ["forward", "__call__", "call"];

/// A call that does not fit the function that it is of.
pub(super) struct Mismatch {
    /// As Python's own message names it.
    pub function: Rc<str>,
    pub unfit: Unfit,
    /// The parameters that it has, and those that the call gives already by name.
    pub takes: Vec<Ustr>,
    pub given: Vec<Ustr>,
    pub defined: Place,
}

fn on_unfit_call(cx: &mut Interp<'_>, unfit: &UnfitCall<'_>) {
    let UnfitCall { closure, receiver, call, .. } = unfit;
    let is_another = is_of_many(cx, unfit) || is_taken_by_others(cx, unfit) || is_behind_unseen(cx, unfit);
    if cx.is_provided_for() || is_another {
        return;
    }
    let Some(place) = written(cx, unfit).filter(|place| !is_tried(cx, *place, "TypeError")) else { return };
    let tree = cx.tree(closure.file);
    let function = tree.function(closure.function);
    let class = function.class.map(|class| format!("{}.", tree.class(class).name));
    let skip = usize::from(receiver.is_some() && !closure.wrap.is_static);
    let plain = function.params.iter().skip(skip);
    let plain = plain.filter(|param| !matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar));
    let seen = Mismatch {
        function: Rc::from(format!("{}{}", class.unwrap_or_default(), function.name)),
        unfit: unfit.unfit.clone(),
        takes: plain.map(|param| param.name).collect(),
        given: call.keywords.iter().map(|(name, _)| *name).collect(),
        defined: Place::new(closure.file, function.name_span),
    };
    // A branch that the script chooses may be meant for another model.
    let chosen = cx.undecided_arms() > 0 && CALLED.contains(&function.name.as_str());
    let sure = if chosen { Confidence::Low } else { Confidence::High };
    cx.observe(place, seen, sure);
}

/// The same of a class whose constructor is made of its fields.
fn on_unfit_fields(cx: &mut Interp<'_>, unfit: &UnfitFields<'_>) {
    let UnfitFields { class, call, takes, .. } = unfit;
    let State::Class(state) = &cx.heap.get(*class).state else { return };
    let definition = cx.tree(state.file).class(state.class);
    let (name, defined) = (definition.name, Place::new(state.file, definition.name_span));
    let is_it = |called: Option<Ustr>| called == Some(name) || cx.supposed.seeded.is_none();
    let written = if cx.is_provided_for() { None } else { as_written(cx, call, &unfit.unfit, is_it) };
    let Some(place) = written.filter(|place| !is_tried(cx, *place, "TypeError")) else { return };
    let seen = Mismatch {
        function: Rc::from(format!("{name}.__init__")),
        unfit: unfit.unfit.clone(),
        takes: takes.to_vec(),
        given: call.keywords.iter().map(|(name, _)| *name).collect(),
        defined,
    };
    cx.observe(place, seen, Confidence::High);
}

/// Whether a method may be another one where it runs: a subclass of a class that nobody here makes an instance of may
/// have its own, and an instance may have been given another one.
fn is_of_many(cx: &Interp<'_>, unfit: &UnfitCall<'_>) -> bool {
    let Some(object) = unfit.receiver.and_then(Value::as_obj) else { return false };
    let entered = cx.running().find_map(|frame| frame.receiver);
    let here = cx.heap.get(object);
    let site = cx.module(here.site.file);
    let is_made = site
        .expr_at(here.site.span)
        .is_some_and(|expr| matches!(site.tree.expr(expr).kind, ExprKind::Call { .. }));
    let is_replaced = CALLED.iter().any(|name| here.attrs.iter().any(|(own, _)| own == name));
    let is_imagined = cx.supposed.seeded.is_some() && entered == Some(object);
    let is_open = if is_imagined { !is_of_its_own(cx, here.class, unfit) } else { !is_made };
    is_open || is_replaced
}

/// Whether a class calls a method of its own, and no other class may have another one in its place.
fn is_of_its_own(cx: &Interp<'_>, class: ClassRef, unfit: &UnfitCall<'_>) -> bool {
    let ClassRef::Project(object) = class else { return false };
    let State::Class(state) = &cx.heap.get(object).state else { return false };
    let is_own = |file: FileId, function: FnId| {
        file == state.file && cx.tree(file).function(function).class == Some(state.class)
    };
    let caller = cx.running().last().and_then(|frame| Some((frame.file, frame.function?)));
    let callee = (unfit.closure.file, unfit.closure.function);
    let function = cx.tree(callee.0).function(callee.1);
    let by_name = !CALLED.contains(&function.name.as_str()) && function.name != "__init__";
    let are_own = is_own(callee.0, callee.1) && caller.is_some_and(|(file, function)| is_own(file, function));
    by_name && are_own && !is_derived_from(cx, class)
}

/// Whether a class has others that inherit from it where it is written, or is made for them.
fn is_derived_from(cx: &Interp<'_>, class: ClassRef) -> bool {
    let ClassRef::Project(class) = class else { return true };
    let State::Class(state) = &cx.heap.get(class).state else { return true };
    let (module, tree) = (cx.module(state.file), cx.tree(state.file));
    let name = tree.class(state.class).name;
    let inherits = |other: &Class| other.bases.iter().any(|base| last_name(module, base.value) == Some(name));
    let is_marked = |function: &Function| {
        function.decorators.iter().any(|mark| last_name(module, *mark) == Some(Ustr::from("abstractmethod")))
    };
    let is_made_for_others = |(id, function): (FnId, &Function)| {
        function.class == Some(state.class) && (cx.is_abstract(state.file, id) || is_marked(function))
    };
    tree.classes.iter().any(inherits) || (0..).map(FnId).zip(&tree.functions).any(is_made_for_others)
}

/// Keras hands `training` and `mask` on to a `call` that has them, and a metaclass may make what it likes of a constructor's
/// arguments, to which a decorator may add.
fn is_taken_by_others(cx: &Interp<'_>, unfit: &UnfitCall<'_>) -> bool {
    let tree = cx.tree(unfit.closure.file);
    let function = tree.function(unfit.closure.function);
    let is_flag = |name: &Ustr| matches!(name.as_str(), "training" | "mask");
    let by_keras = function.name == "call"
        && match &unfit.unfit {
            Unfit::Unexpected(name) | Unfit::Twice(name) => is_flag(name),
            Unfit::Missing(names) => names.iter().all(is_flag),
            Unfit::TooMany { .. } => false,
        };
    let is_metaclass = |arg: &Arg| matches!(arg.kind, ArgKind::Keyword(name) if name == "metaclass");
    let made = unfit.receiver.and_then(Value::as_obj).filter(|_| function.name == "__init__");
    let is_missing = matches!(unfit.unfit, Unfit::Missing(_));
    let by_decorator = is_missing
        && made.is_some_and(|object| match cx.heap.get(object).class {
            ClassRef::Project(class) => cx.heap.noted(class, WRAPPED).is_some(),
            _ => false,
        });
    let by_metaclass = made.is_some_and(|object| {
        cx.lineage(cx.heap.get(object).class).into_iter().any(|base| {
            let Base::Project(class) = base else { return false };
            let State::Class(state) = &cx.heap.get(class).state else { return false };
            let bases = &cx.tree(state.file).class(state.class).bases;
            bases.iter().any(|base| {
                is_metaclass(base)
                    && last_name(cx.module(state.file), base.value) != Some(Ustr::from("ABCMeta"))
            })
        })
    });
    by_keras || by_decorator || by_metaclass
}

/// Whether the constructor of a base that nobody sees comes first: `super().__init__` runs that one.
fn is_behind_unseen(cx: &Interp<'_>, unfit: &UnfitCall<'_>) -> bool {
    let Some(object) = unfit.receiver.and_then(Value::as_obj) else { return false };
    let own = cx.tree(unfit.closure.file).function(unfit.closure.function);
    let is_its = |base: &Base| match base {
        Base::Project(class) => matches!(&cx.heap.get(*class).state, State::Class(state)
            if state.file == unfit.closure.file && Some(state.class) == own.class),
        _ => false,
    };
    let lineage = cx.lineage(cx.heap.get(object).class);
    own.name == "__init__"
        && lineage.into_iter().take_while(|base| !is_its(base)).any(|base| cx.is_unseen_base(base))
}

/// Where the call of a function is in the text, under the name of what it calls.
fn written(cx: &Interp<'_>, unfit: &UnfitCall<'_>) -> Option<Place> {
    let UnfitCall { closure, call, .. } = unfit;
    let function = cx.tree(closure.file).function(closure.function);
    let class = function.class.map(|class| cx.tree(closure.file).class(class).name);
    as_written(cx, call, &unfit.unfit, |called| match function.name.as_str() {
        name if CALLED.contains(&name) => true,
        // What the script itself keeps under another name is no guess.
        "__init__" => called == class || called == Some(function.name) || cx.supposed.seeded.is_none(),
        _ => called == Some(function.name),
    })
}

/// Where a call is in the text, with these very arguments: frameworks call back with arguments of their own. What is not
/// expected is shown where it is written.
fn as_written(
    cx: &Interp<'_>,
    call: &Call,
    unfit: &Unfit,
    is_it: impl Fn(Option<Ustr>) -> bool,
) -> Option<Place> {
    let module = cx.module(call.place.file);
    let ExprKind::Call { callee, args } = &module.tree.expr(module.expr_at(call.place.span)?).kind else {
        return None;
    };
    let is_named = |arg: &&Arg| matches!(arg.kind, ArgKind::Keyword(_));
    // What follows is a syntax error already.
    if args.iter().skip_while(|arg| !is_named(arg)).any(|arg| arg.kind == ArgKind::Positional) {
        return None;
    }
    let by_position = args.iter().filter(|arg| arg.kind == ArgKind::Positional).count();
    let by_name = args.iter().filter(is_named).count();
    let same = by_position == call.positional.len()
        && by_name == call.keywords.len()
        && by_position + by_name == args.len();
    let is_strange = |arg: &&Arg| match (arg.kind, unfit) {
        (ArgKind::Keyword(name), Unfit::Unexpected(strange) | Unfit::Twice(strange)) => name == *strange,
        _ => false,
    };
    let strange = args.iter().find(is_strange).map(|arg| arg.span);
    let place = Place::new(call.place.file, strange.unwrap_or(call.place.span));
    (same && is_it(last_name(module, *callee))).then_some(place)
}

fn last_name(module: &Module, callee: ExprId) -> Option<Ustr> {
    match module.tree.expr(callee).kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => Some(name),
        _ => None,
    }
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, mismatch) in script.observed_once::<Mismatch>() {
        seen.insert(at.place);
        report(script, at, mismatch, out);
    }
    for (at, mismatch) in mismatches(script) {
        if seen.insert(at.place) {
            report(script, &at, &mismatch, out);
        }
    }
    unfit_hooks(script, &RULE, out);
    outgrown_hooks(script, &RULE, out);
    lacking_arguments(script, out);
}

fn report(script: &Script, at: &At, seen: &Mismatch, out: &mut Findings) {
    let function = seen.function.trim_end_matches(".__init__");
    let near = near(seen);
    let message = match &seen.unfit {
        Unfit::Unexpected(name) => format!("`{function}` has no argument `{name}`"),
        Unfit::Twice(name) => format!("`{function}` receives `{name}` by position and by name"),
        Unfit::Missing(names) => format!("`{function}` is called without {}", listed(names)),
        Unfit::TooMany { takes, given } => {
            let s = if *takes == 1 { "" } else { "s" };
            format!("`{function}` takes {takes} positional argument{s}, but {given} are given")
        }
    };
    let help = match (near, &seen.takes[..]) {
        (Some(near), _) => format!("did you mean `{near}`"),
        (None, []) => "it takes no arguments".to_owned(),
        (None, takes) => format!("it takes {}", listed(takes)),
    };
    let fix = near.and_then(|near| {
        let Unfit::Unexpected(name) = &seen.unfit else { return None };
        Some(Fix::guess(format!("write `{near}`"), script.renamed(at.place, name, &near)?))
    });
    let finding = script
        .finding(RULE.id, RULE.severity, at, message)
        .because(seen.defined, "it is defined here")
        .note(RAISES)
        .help(help)
        .fix(fix);
    out.push(finding, at);
}

/// The parameter that is meant by one that does not exist.
fn near(seen: &Mismatch) -> Option<Ustr> {
    let Unfit::Unexpected(name) = &seen.unfit else { return None };
    let free = seen.takes.iter().filter(|other| !seen.given.contains(other));
    nearest(*name, NEAR, free.copied()).filter(|_| name.len() > NEAR + 1)
}

pub(super) fn listed(names: &[Ustr]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [others @ .., last] => format!("{}, and {last}", others.join(", ")),
        [] => String::new(),
    }
}
