//! An attribute that the framework does not have, and a method that is named and not called: Python takes most
//! of it without a word.

use crate::apis::index::{self, Answer};
use crate::apis::{Role, Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{AttributeWrite, Base, Checker, ExpressionStatement, Interp, Uncalled, is_parameter};
use crate::report::{Confidence, Fix, Place, Severity, Span};
use crate::syntax::ExprKind;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "misspelt-attribute",
    summary: "a misspelled attribute, or a method that is never called, silently has no effect",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("misspelt-attribute"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_expression_statement: Some(on_expression),
    on_attribute_write: Some(on_attribute_write),
    on_uncalled: Some(on_uncalled),
    ..Checker::SILENT
};

/// A method without its call, where what a call gives is used.
struct Uncallable {
    method: Rc<str>,
    asked: Asked,
}

/// What is asked of a method that is not called.
#[derive(Clone, Copy)]
enum Asked {
    Attribute(Ustr),
    /// A `with` enters it.
    Context,
    /// A condition wants to know whether it holds.
    Truth,
}

/// A statement without an effect.
enum Idle {
    /// `model.eval`
    Named(Rc<str>),
    /// `parameter.require_grad = False`, and the method or property that is meant.
    Written { name: Ustr, meant: Ustr, is_method: bool, severity: Severity },
    /// `torch.backends.cudnn.benchmarks = True`, and the setting that is meant.
    Set { name: Ustr, meant: Ustr },
}

/// Further apart than this is another word.
const NEAR: usize = 2;

/// A method of a framework that changes something, as a statement of its own.
fn on_expression(cx: &mut Interp<'_>, statement: &ExpressionStatement<'_>) {
    let Value::Bound(bound) = statement.value else { return on_unknown(cx, statement) };
    let Method::Api(name) = bound.method else { return };
    let attribute = matches!(cx.tree(cx.file()).expr(statement.expr).kind, ExprKind::Attribute { .. });
    // What `step` without its call costs is said where the optimizer's timeline is known.
    let changes = cx.apis.get(name).is_some_and(|api| {
        !api.property && !api.effects.is_empty() && api.effects.iter().all(|effect| effect.verb != Verb::Step)
    });
    if attribute && changes {
        let place = cx.expr_place(statement.expr);
        // Whatever it is called on, naming it does nothing: of something unknown that is said, too.
        let confidence = confidence_in(cx, &bound.receiver).max(Confidence::Medium);
        let written = Rc::from(cx.words(place));
        cx.observe(place, Idle::Named(written), confidence);
    }
}

/// The same of something unknown, whose attribute is called as nothing but a method of models and optimizers is.
fn on_unknown(cx: &mut Interp<'_>, statement: &ExpressionStatement<'_>) {
    let ExprKind::Attribute { name, .. } = cx.tree(cx.file()).expr(statement.expr).kind else { return };
    let changes = [Role::Module, Role::Optimizer].into_iter().any(|role| {
        let api = cx.apis.method_of(role, name);
        api.is_some_and(|api| !api.property && !api.effects.is_empty())
    });
    if statement.value.is_unknown() && changes {
        let place = cx.expr_place(statement.expr);
        let written = Rc::from(cx.words(place));
        cx.observe(place, Idle::Named(written), Confidence::Medium);
    }
}

/// `tensor.detach.cpu()`, `with torch.no_grad:`, `if torch.cuda.is_available:`
fn on_uncalled(cx: &mut Interp<'_>, uncalled: &Uncalled<'_>) {
    let (name, receiver) = match uncalled.value {
        Value::Api(name) => (*name, None),
        Value::Bound(bound) => match bound.method {
            Method::Api(name) => (name, Some(&bound.receiver)),
            _ => return,
        },
        _ => return,
    };
    let Some(api) = cx.apis.get(name).filter(|api| !api.property) else { return };
    let asked = match uncalled.attribute.as_str() {
        "__enter__" => Asked::Context,
        "__bool__" => Asked::Truth,
        _ => Asked::Attribute(uncalled.attribute),
    };
    let is_meant = match (asked, receiver) {
        (Asked::Context, _) => api.context.is_some(),
        (Asked::Truth, _) => {
            matches!(api.transfer(), Some(Transfer::Bool | Transfer::IsTensor | Transfer::OnGpu))
        }
        // What a call gives has the methods of what it is called on; `data.mean` may be a field of something else.
        (Asked::Attribute(attribute), Some(receiver)) => {
            let method = name.rsplit('.').next().map(Ustr::from);
            method.is_some_and(|method| cx.apis.role_by_use(&[method], false).is_some())
                && classes_of(cx, receiver).iter().any(|class| cx.apis.method(*class, attribute).is_some())
        }
        (Asked::Attribute(_), None) => false,
    };
    let Some(place) = before(cx, uncalled.place, asked).filter(|_| is_meant) else { return };
    let confidence = receiver.map_or(Confidence::High, |receiver| confidence_in(cx, receiver));
    cx.observe(place, Uncallable { method: Rc::from(cx.words(place)), asked }, confidence);
}

/// The part of an expression that stands in front of an attribute.
fn before(cx: &Interp<'_>, place: Place, asked: Asked) -> Option<Place> {
    let Asked::Attribute(attribute) = asked else { return Some(place) };
    let length = cx.words(place).rfind(&format!(".{attribute}"))? as u32;
    Some(Place::new(place.file, Span::new(place.span.start, place.span.start + length)))
}

/// How sure it is what a method is called on.
fn confidence_in(cx: &Interp<'_>, receiver: &Value) -> Confidence {
    match receiver.as_obj() {
        Some(object) => cx.heap.get(object).confidence,
        None => receiver.as_tensor().map_or(Confidence::High, |tensor| tensor.confidence),
    }
}

/// An attribute that decides over gradients is written under a name that the framework does not read.
fn on_attribute_write(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    if let Value::Api(package) = *write.receiver {
        if let Some(meant) = setting_meant(cx, package, write.name) {
            cx.observe(write.place, Idle::Set { name: write.name, meant }, Confidence::High);
        }
        return;
    }
    if !matches!(write.value.bare(), Value::Bool(_)) || is_own(cx, write) {
        return;
    }
    let classes = classes_of(cx, write.receiver);
    if classes.iter().any(|class| cx.apis.method(*class, write.name).is_some()) {
        return;
    }
    let is_meant = |method: &Ustr| {
        let distance = strsim::damerau_levenshtein(method.trim_end_matches('_'), &write.name);
        distance <= NEAR && classes.iter().any(|class| decides_gradients(cx, *class, *method))
    };
    let methods = classes.iter().flat_map(|class| cx.apis.methods(*class));
    let Some(meant) = methods.into_iter().find(is_meant) else { return };
    let is_method =
        classes.iter().any(|class| cx.apis.method(*class, meant).is_some_and(|api| !api.property))
            && write.receiver.as_obj().is_some();
    let confidence = match write.receiver {
        Value::Obj(object) => cx.heap.get(*object).confidence,
        _ => Confidence::High,
    };
    // A tensor that is no parameter asks for no gradient to begin with.
    let decides = !matches!(write.receiver, Value::Tensor(_)) || is_parameter(write.receiver);
    let severity = if decides { RULE.severity } else { Severity::Warning };
    cx.observe(write.place, Idle::Written { name: write.name, meant, is_method, severity }, confidence);
}

/// The setting of a framework's module that a name is a slip away from, where the module has nothing of this name.
fn setting_meant(cx: &Interp<'_>, package: Ustr, name: Ustr) -> Option<Ustr> {
    if matches!(index::ask(&format!("{package}.{name}")), Answer::Known(_)) {
        return None;
    }
    let members = cx.apis.members(package);
    let is_setting =
        |path: Ustr| cx.apis.get(path).is_some_and(|api| api.property && !api.effects.is_empty());
    let is_near = |other: &str| strsim::damerau_levenshtein(other, &name) <= NEAR;
    let known = members.iter().any(|(other, _)| *other == name);
    let mut meant = members.iter().filter(|(other, path)| is_near(other) && is_setting(*path));
    meant.next().filter(|_| !known).map(|(other, _)| *other)
}

fn decides_gradients(cx: &Interp<'_>, class: Ustr, method: Ustr) -> bool {
    let decides = |verb: &Verb| matches!(verb, Verb::RequiresGrad | Verb::Trainable);
    cx.apis.method(class, method).is_some_and(|api| api.effects.iter().any(|effect| decides(&effect.verb)))
}

/// The framework's classes that a value is of.
fn classes_of(cx: &Interp<'_>, value: &Value) -> Vec<Ustr> {
    match value {
        Value::Obj(object) if cx.heap.get(*object).module().is_some() => {
            let lineage = cx.lineage(cx.heap.get(*object).class).into_iter();
            let of_framework = |base| match base {
                Base::Api(class) => Some(class),
                _ => None,
            };
            lineage.filter_map(of_framework).collect()
        }
        Value::Params(_) => cx.apis.classes_of(crate::apis::Role::Parameter).to_vec(),
        Value::Tensor(tensor) if !tensor.is_array => {
            cx.apis.classes_of(crate::apis::Role::Parameter).to_vec()
        }
        _ => Vec::new(),
    }
}

/// A class of the project may keep a flag of its own under any name.
fn is_own(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) -> bool {
    let Value::Obj(object) = *write.receiver else { return false };
    cx.running().any(|frame| frame.receiver == Some(object)) || cx.find_attr(object, write.name).is_some()
}

fn check(script: &Script, out: &mut Findings) {
    super::misspelt_method::check(script, &RULE, out);
    for (at, idle) in script.observed_once::<Idle>() {
        let finding = |severity, message: String| script.finding(RULE.id, severity, at, message);
        let found = match idle {
            Idle::Named(written) => {
                let fix = script.called(at.place).map(|edits| Fix::guess("call it", edits));
                finding(
                    RULE.severity,
                    format!("`{written}` is not called: without `()` this line has no effect"),
                )
                .note("Python evaluates the method object and discards it")
                .help(format!("call it: `{written}()`"))
                .fix(fix)
            }
            Idle::Written { name, meant, is_method, severity } => {
                let bare = meant.trim_end_matches('_');
                let help = if *is_method {
                    format!("call `.{meant}(False)`, which sets it for all parameters of the module")
                } else {
                    format!("assign to `.{bare}`")
                };
                finding(
                    *severity,
                    format!("`.{name} = …` has no effect: the framework has no attribute of this name"),
                )
                .note("Python silently creates a new attribute, and the parameters are unchanged")
                .help(help)
            }
            Idle::Set { name, meant } => {
                let message =
                    format!("`.{name} = …` has no effect: the framework has no setting of this name");
                let fix = script
                    .renamed(at.place, name, meant)
                    .map(|edits| Fix::guess(format!("write `{meant}`"), edits));
                script
                    .finding(RULE.id, Severity::Warning, at, message)
                    .note(format!("Python silently creates a new attribute, and `{meant}` stays as it was"))
                    .help(format!("did you mean `{meant}`"))
                    .fix(fix)
            }
        };
        out.push(found, at);
    }
    for (at, seen) in script.observed_once::<Uncallable>() {
        let method = &seen.method;
        let (lack, note) = match seen.asked {
            Asked::Attribute(name) => {
                (format!("a method has no `{name}`"), "Python raises an `AttributeError` here")
            }
            Asked::Context => {
                ("`with` needs the object it returns".to_owned(), "Python raises a `TypeError` here")
            }
            Asked::Truth => (
                "a function is always true".to_owned(),
                "the condition holds on every machine, regardless of what the function would return",
            ),
        };
        let fix = script.called(at.place).map(|edits| Fix::safe("call it", edits));
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, format!("`{method}` is not called: {lack}"))
                .note(note)
                .help(format!("call it: `{method}()`"))
                .fix(fix),
            at,
        );
    }
}
