//! Layers in a plain list, dict or tuple.

use super::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unregistered-submodule",
    summary: "layers are kept where no optimizer and no `.to()` finds them",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("unregistered-submodule"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for hidden in script.hidden_parts() {
        let (class, attribute, container) = (&hidden.class, hidden.attribute, hidden.container);
        let message =
            format!("`{class}` does not know the layers in `self.{attribute}`: it is a plain {container}");
        let instead = if container == "dict" { "nn.ModuleDict" } else { "nn.ModuleList" };
        let part = hidden.part.rsplit('.').next().unwrap_or_default();
        let finding = script
            .finding(RULE.id, RULE.severity, &hidden.at, message)
            .replay(script.replay_of_layers(layers::HIDDEN))
            .note(format!(
                "each `{part}` in it is left out of `parameters()`, `.to(device)` and `state_dict()`"
            ))
            .help(format!(
                "wrap it: `self.{attribute} = {instead}(...)` (`nn.ParameterList` for parameters)"
            ));
        let fix = script.registered(&hidden);
        let fix = fix.map(|(said, edits)| Fix::guess(format!("wrap the {container} into `{said}`"), edits));
        out.push(finding.fix(fix), &hidden.at);
    }
}
