//! Layers in a plain list, dict or tuple, and layers that a forward makes anew.

use super::{made_in_forward::MadeInForward, plain_tensors::PlainTensor, registration::UnregisteredParts};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::ExprKind;

pub(super) static RULE: Rule = Rule {
    id: "unregistered-submodule",
    summary: "layers in a plain list or dict, or created in `forward`, are not registered as submodules",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("unregistered-submodule"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, hidden) in script.observed::<UnregisteredParts>() {
        let (class, attribute, container) = (&hidden.class, hidden.attribute, hidden.container);
        let message = format!(
            "the layers in `self.{attribute}` are not registered: `{class}` holds them in a plain {container}"
        );
        let instead = if container == "dict" { "nn.ModuleDict" } else { "nn.ModuleList" };
        let part = hidden.part.rsplit('.').next().unwrap_or_default();
        let finding = match hidden.learnt {
            true => script
                .finding(RULE.id, RULE.severity, at, message)
                .replay(script.replay_of_layers(layers::HIDDEN))
                .note(format!(
                    "each `{part}` in it is missing from `parameters()`, `.to(device)` and `state_dict()`"
                ))
                .help(format!(
                    "wrap it: `self.{attribute} = {instead}(...)` (`nn.ParameterList` for parameters)"
                )),
            false => script
                .finding(RULE.id, Severity::Warning, at, message)
                .note(format!("`eval()` does not reach each `{part}` in it: it stays in training mode"))
                .help(format!("wrap it: `self.{attribute} = {instead}(...)`")),
        };
        let fix = registered(script, at.place, hidden);
        let fix = fix.map(|(said, edits)| Fix::guess(format!("wrap the {container} in `{said}`"), edits));
        out.push(finding.fix(fix), at);
    }
    for (at, plain) in script.observed_once::<PlainTensor>() {
        let (class, attribute) = (&plain.class, plain.attribute);
        let (message, note) = match plain.is_buffer {
            true => (
                format!("`self.{attribute}` is never trained: this parameter is registered as a buffer"),
                format!("it is missing from `{class}.parameters()`: the optimizer does not get it"),
            ),
            false => (
                format!("`self.{attribute}` is never trained: a tensor with `requires_grad` is no parameter"),
                format!(
                    "it is missing from `{class}.parameters()`, `.to(device)` and `state_dict()`: the optimizer does not get it"
                ),
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .replay(script.replay_of_layers(layers::HIDDEN))
            .note(note)
            .help(format!("make it a parameter: `self.{attribute} = nn.Parameter(...)`"));
        out.push(finding, at);
    }
    for (at, made) in script.observed_once::<MadeInForward>() {
        let (class, method) = (&made.class, made.method);
        let layer = made.layer.rsplit('.').next().unwrap_or_default();
        let severity = if made.scales { Severity::Warning } else { RULE.severity };
        out.push(
            script
                .finding(
                    RULE.id,
                    severity,
                    at,
                    format!(
                        "this `{layer}` is never trained: `{method}` creates a new one in every forward pass"
                    ),
                )
                .replay(script.replay_of_layers(layers::HIDDEN))
                .note(format!(
                    "its parameters are initialized again each time, and missing from `{class}.parameters()`"
                ))
                .help("create the layer in `__init__`, as an attribute, and call it here"),
            at,
        );
    }
}

/// The container of layers as one that the framework looks into, and what it is called here.
fn registered(script: &Script, place: Place, hidden: &UnregisteredParts) -> Option<(String, Vec<Edit>)> {
    let purpose = match (hidden.part.ends_with("Parameter"), hidden.container == "dict") {
        (true, true) => "parameter-dict",
        (true, false) => "parameter-list",
        (false, true) => "module-dict",
        (false, false) => "module-list",
    };
    let draft = script.draft(place.file);
    let (said, mut edits) = draft.say(script.apis.repair(purpose)?).filter(|_| hidden.alike)?;
    let container = match hidden.container {
        // A tuple has no place of its own: the first part has.
        "tuple" => draft.expr(draft.assigned_value(place.span)?),
        _ => draft.expr(draft.expr_at(place.span)?),
    };
    let text = draft.text(container.span);
    let is_empty = match &container.kind {
        ExprKind::List(items) | ExprKind::Tuple(items) => items.is_empty(),
        ExprKind::Dict(items) => items.is_empty(),
        ExprKind::Call { .. } | ExprKind::Comprehension(_) | ExprKind::Binary { .. } => false,
        _ => return None,
    };
    if is_empty {
        edits.push(draft.replace(container.span, format!("{said}()")));
    } else if matches!(container.kind, ExprKind::Tuple(_)) && !text.starts_with('(') {
        edits.extend(draft.wrap(container.span, &format!("{said}(("), "))"));
    } else {
        edits.extend(draft.wrap(container.span, &format!("{said}("), ")"));
    }
    Some((said, edits))
}
