//! Parameters from a generator with nothing left in it.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "exhausted-parameters",
    summary: "parameters are taken from a generator that is used up",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("exhausted-parameters"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for spent in script.spent_iterators() {
        let first = if spent.first == spent.at.place {
            "the iteration before has used it up here"
        } else {
            "this has gone through it to its end"
        };
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &spent.at,
                "nothing is left of these parameters: the generator is used up",
            )
            .because(spent.made, "can be gone through once")
            .because(spent.first, first);
        // An optimizer without parameters steps none.
        let replay = script.makes_optimizer(spent.at.place).then(|| script.replay_of_layers(layers::MISSED));
        let fix = script.as_list(spent.made).map(|edits| Fix::safe("keep a list of the parameters", edits));
        out.push(
            finding
                .fix(fix)
                .replay(replay)
                .note("an empty list of parameters is stepped, clipped or counted without a word, or refused")
                .help("keep a list, `list(model.parameters())`, or ask for the parameters again"),
            &spent.at,
        );
    }
}
