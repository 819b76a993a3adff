//! A name or an argument of a framework that newer releases warn of, or no longer have.

use crate::apis::Transfer;
use crate::apis::deprecated::{self, Row};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Deprecated, Fate, Findings, Script};
use crate::interp::{AttributeWrite, Base, Checker, DrawnByName, Indexed, Interp, MethodResult};
use crate::report::{Cause, Confidence, Diagnostic, Place, Severity};
use crate::values::{ClassRef, Tensor, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "deprecated-api",
    summary: "a function, class or parameter that newer releases deprecate or have removed",
    group: Group::Reproducibility,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("deprecated-api"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_method_result: Some(on_method),
    on_drawn_by_name: Some(on_drawn),
    on_index: Some(on_index),
    on_attribute_write: Some(on_write),
    ..Checker::SILENT
};

/// What iterators of loaders had for scripts of Python 2.
const NEXT: &str = "torch.utils.data.dataloader._BaseDataLoaderIter.next";

/// A deprecated method was called, or was given a deprecated argument.
struct MethodUsed {
    name: Ustr,
    argument: Option<Ustr>,
}

/// An attribute was assigned that a class of a framework no longer lets anybody assign.
struct AttributeAssigned(Ustr);

/// A tensor without dimensions was asked for an item.
struct ScalarIndexed;

fn on_method(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let Some(name) = method_of(result.api.name) else { return };
    if !is_of_its_class(cx, result.receiver, name) {
        return;
    }
    let is_deprecated = |argument: &Ustr| deprecated::of_argument(&name, argument).is_some();
    let arguments = result.call.keywords.iter().map(|(argument, _)| *argument);
    let mut used: Vec<Option<Ustr>> = arguments.filter(is_deprecated).map(Some).collect();
    used.extend(deprecated::of(&name).is_some().then_some(None));
    for argument in used {
        let confidence = match result.receiver {
            Value::Obj(object) => cx.heap.get(*object).confidence,
            other => other.as_tensor().map_or(Confidence::High, |tensor| tensor.confidence),
        };
        cx.observe(result.call.place, MethodUsed { name, argument }, confidence);
    }
}

/// Arrays and tables are looked up alike, and what nobody knows to be a table may be a list.
fn is_of_its_class(cx: &Interp<'_>, receiver: &Value, method: Ustr) -> bool {
    let class = method.rsplit_once('.').and_then(|(class, _)| cx.apis.get(Ustr::from(class))?.class.as_ref());
    let makes = class.and_then(|class| class.makes.as_ref()).map(|makes| makes.verb);
    let is_table = |tensor: &Tensor| tensor.is_table && tensor.rank() != Some(0);
    makes != Some(Transfer::Table) || receiver.as_tensor().is_some_and(|tensor| is_table(tensor))
}

fn on_drawn(cx: &mut Interp<'_>, drawn: &DrawnByName) {
    let loader = cx.heap.get(drawn.loader);
    let is_torch = matches!(loader.class, ClassRef::Api(class) if class.starts_with("torch."));
    if is_torch && cx.supposed.seeded.is_none() {
        let confidence = loader.confidence;
        cx.observe(drawn.place, MethodUsed { name: Ustr::from(NEXT), argument: None }, confidence);
    }
}

/// `self.hparams = hparams`, of a module for which a framework keeps that.
fn on_write(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    let Value::Obj(object) = *write.receiver.bare() else { return };
    for base in cx.lineage(cx.heap.get(object).class) {
        let class = match base {
            // A class of the project may have a property of its own.
            Base::Project(class) if cx.heap.attr(class, write.name).is_some() => return,
            Base::Project(_) => continue,
            Base::Api(class) => class,
            Base::Unknown => return,
        };
        if deprecated::of_assigned(&class, &write.name).is_some() && !cx.is_provided_for() {
            let name = Ustr::from(&format!("{class}.{}", write.name));
            let confidence = cx.heap.get(object).confidence;
            cx.observe(write.place, AttributeAssigned(name), confidence);
        }
    }
}

/// The name of a method with its class. Functions that are methods, too, stand for both in the tables, and the method
/// of a tensor may go on where the function does not.
fn method_of(name: Ustr) -> Option<Ustr> {
    let (holder, last) = name.rsplit_once('.')?;
    let is_class = holder.rsplit('.').next()?.starts_with(char::is_uppercase);
    if is_class {
        return Some(name);
    }
    deprecated::of(&name).is_some().then(|| Ustr::from(&format!("torch.Tensor.{last}")))
}

fn on_index(cx: &mut Interp<'_>, index: &Indexed<'_>) {
    let is_scalar = index.tensor.rank() == Some(0) && matches!(index.index.bare(), Value::Int(_));
    // Of data, which a collate function may get in another shape, nobody knows for sure.
    if is_scalar && !index.tensor.is_array && index.tensor.learned {
        cx.observe(index.place, ScalarIndexed, index.tensor.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    let called = script.observed_once::<MethodUsed>();
    let called =
        called.filter_map(|(at, used)| script.deprecated_call(&used.name, used.argument.as_deref(), at));
    let assigned = script.observed_once::<AttributeAssigned>();
    let assigned = assigned.filter_map(|(at, assigned)| script.deprecated_assignment(&assigned.0, at));
    let called: Vec<Deprecated> = called.chain(assigned).chain(script.deprecated_attributes()).collect();
    let named = script.deprecated_names().iter();
    // What a class inherits is seen in the text and by the rehearsal.
    let is_told = |one: &Deprecated| {
        let is_same = |other: &Deprecated| other.at.place.span.contains(one.at.place.span);
        one.row.assigned && called.iter().any(is_same)
    };
    let named = named.filter(|one| !matches!(one.fate, Fate::Apart { .. }) && !is_told(one));
    for one in named.chain(&called) {
        out.push(finding(script, one), &one.at);
    }
    for (at, _) in script.observed_once::<ScalarIndexed>() {
        let Some(one) = script.scalar_index(at) else { continue };
        let said = finding(script, &one);
        let message = "a 0-dim tensor has no item 0: this raises an IndexError";
        out.push(Diagnostic { message: message.to_owned(), ..said }, at);
    }
}

fn finding(script: &Script, one: &Deprecated) -> Diagnostic {
    let Deprecated { at, row, package, fate, fix, .. } = one;
    let what = what(one);
    let ends = row.fate.as_deref().unwrap_or("this raises an error");
    let went = |gone: &str| match row.assigned {
        true => format!("{what} raises an error since {package} {gone}"),
        false => format!("{what} was removed in {package} {gone}: {ends}"),
    };
    let (severity, message) = match fate {
        Fate::Warned { gone: None } => {
            (RULE.severity, format!("{what} is deprecated since {package} {}", row.since))
        }
        Fate::Warned { gone: Some(gone) } => {
            (RULE.severity, format!("{what} is removed in {package} {gone}: {ends}"))
        }
        Fate::Outlived { gone, .. } => (Severity::Warning, went(gone)),
        Fate::Dead { gone, .. } | Fate::Apart { gone, .. } => {
            let severity = if row.fate.is_some() { Severity::Warning } else { Severity::Error };
            (severity, went(gone))
        }
    };
    let mut finding = script.finding(RULE.id, severity, at, message);
    match fate {
        Fate::Warned { gone: Some(_) } if row.gone.as_ref() != Some(&row.since) => {
            finding = finding.note(format!("deprecated since {}", row.since));
        }
        Fate::Warned { .. } => {}
        Fate::Dead { pin: Some(pin), .. } => {
            finding = finding.note(format!("the project requires {pin}"));
        }
        Fate::Outlived { pin: Some(pin), .. } => {
            finding = finding.note(format!("the project requires {pin}, which allows newer ones"));
        }
        Fate::Outlived { pin: None, .. } => {
            finding = finding.note(format!("the project requires no release of {package}"));
        }
        Fate::Apart { other, .. } => {
            let place = Place::new(script.file, other.at);
            finding =
                finding.because(place, format!("no release has both this and `{}`", shown(&other.name)));
        }
        Fate::Dead { pin: None, .. } => {}
    }
    if let Some(back) = &row.back {
        finding = finding.note(format!("since {package} {back} the name means something else"));
    }
    let key = row.group.as_ref().unwrap_or(&one.name);
    let asked = script.asked_key(package);
    let boundary = match fate {
        Fate::Outlived { boundary, .. } if row.fate.is_none() => Some(boundary.clone()),
        _ => None,
    };
    let cause = Cause { what: format!("{key} {severity:?} {asked}"), boundary };
    if let Some(help) = instead_of(row) {
        finding = finding.help(help);
    }
    finding.fix(fix.clone()).cause(cause)
}

/// What to do in place of a row.
pub(super) fn instead_of(row: &'static Row) -> Option<String> {
    row.help.clone().or_else(|| Some(format!("use `{}`", shown(row.instead.as_ref()?))))
}

fn what(one: &Deprecated) -> String {
    let last = one.name.rsplit('.').next().unwrap_or_default();
    match &one.argument {
        _ if one.row.assigned => {
            let from = one.name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
            format!("assigning to `{}`", &one.name[from..])
        }
        Some(argument) => format!("`{argument}` of `{last}`"),
        None => format!("`{}`", shown(&one.name)),
    }
}

/// As scripts call it; of a long name what it is known by.
pub(super) fn shown(name: &str) -> String {
    /// More leaves no room for what is said of it.
    const LONGEST: usize = 40;
    match name.split_once('.') {
        _ if name.len() > LONGEST => {
            let from = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
            name[from..].to_owned()
        }
        Some(("tensorflow", rest)) => format!("tf.{rest}"),
        Some(("numpy", rest)) => format!("np.{rest}"),
        _ => name.to_owned(),
    }
}
