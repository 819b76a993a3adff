//! Which rules are on: ids, group names and `ALL`, layered from the defaults over the
//! configuration to the command line. Knows the list of rules, not what they do.

use crate::checks::{self, Group, Replayed, Rule};
use crate::engine::suggest::did_you_mean;
use crate::report::Severity;
use rustc_hash::FxHashSet;
use std::fmt;

/// Found by the engine itself, since no single script shows it: a suppression that hides nothing.
pub static UNUSED_SUPPRESSION: Rule = Rule {
    id: "unused-suppression",
    summary: "a suppression comment hides nothing",
    group: Group::Suppressions,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: include_str!("../../rules/unused-suppression.md"),
    check: |_, _| {},
};

/// Every rule a user can name, sorted by id.
pub fn known_rules() -> Vec<&'static Rule> {
    let mut known: Vec<&'static Rule> = checks::all().to_vec();
    known.push(&UNUSED_SUPPRESSION);
    known.sort_by_key(|rule| rule.id);
    known
}

/// What a suppression may name: rules and groups.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    known_rules().into_iter().map(|rule| rule.id).chain(Group::ALL.into_iter().map(Group::name))
}

/// The rule of an id.
pub fn find_rule(id: &str) -> Option<&'static Rule> {
    known_rules().into_iter().find(|rule| rule.id == id)
}

/// What `select`, `ignore` and their kin take, in order of precision: a later one overrules an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    All,
    Group(Group),
    Rule(&'static str),
}

impl Selector {
    /// Reads an id, a group's name or `ALL`; the error says what was meant.
    pub fn parse(text: &str) -> Result<Selector, String> {
        if text == "ALL" {
            return Ok(Selector::All);
        }
        if let Some(group) = Group::ALL.into_iter().find(|group| group.name() == text) {
            return Ok(Selector::Group(group));
        }
        if let Some(rule) = find_rule(text) {
            return Ok(Selector::Rule(rule.id));
        }
        let hint = match did_you_mean(text, known_names().chain(["ALL"])) {
            none if none.is_empty() => " (`trainlint rules` lists the rules)".to_owned(),
            hint => hint,
        };
        Err(format!("unknown rule or group `{text}`{hint}"))
    }

    fn precision(self) -> u8 {
        match self {
            Selector::All => 0,
            Selector::Group(_) => 1,
            Selector::Rule(_) => 2,
        }
    }

    /// Whether a rule is meant.
    pub fn matches(self, rule: &Rule) -> bool {
        match self {
            Selector::All => true,
            Selector::Group(group) => rule.group == group,
            Selector::Rule(id) => rule.id == id,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Selector::All => "ALL",
            Selector::Group(group) => group.name(),
            Selector::Rule(id) => id,
        })
    }
}

/// A set of rules, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(FxHashSet<&'static str>);

impl RuleSet {
    /// Everything, as it is without any configuration.
    pub fn all() -> RuleSet {
        RuleSet(known_rules().iter().map(|rule| rule.id).collect())
    }

    /// What the selectors name.
    pub fn of(selectors: &[Selector]) -> RuleSet {
        RuleSet(RuleSet::matching(selectors).collect())
    }

    fn matching(selectors: &[Selector]) -> impl Iterator<Item = &'static str> {
        known_rules()
            .into_iter()
            .filter(|rule| selectors.iter().any(|one| one.matches(rule)))
            .map(|rule| rule.id)
    }

    /// Applies one layer: `select` starts afresh, and within a layer the more precise selector wins,
    /// `ignore` over `select` where both are equally precise.
    pub fn apply(&mut self, select: Option<&[Selector]>, extend: &[Selector], ignore: &[Selector]) {
        if select.is_some() {
            self.0.clear();
        }
        let wanted: Vec<Selector> = select.unwrap_or_default().iter().chain(extend).copied().collect();
        for precision in 0..=2 {
            let exactly = |selectors: &[Selector]| -> Vec<Selector> {
                selectors.iter().copied().filter(|one| one.precision() == precision).collect()
            };
            self.0.extend(RuleSet::matching(&exactly(&wanted)));
            for id in RuleSet::matching(&exactly(ignore)) {
                self.0.remove(id);
            }
        }
    }

    pub fn contains(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    /// The ids, sorted.
    pub fn ids(&self) -> Vec<&'static str> {
        let mut ids: Vec<&'static str> = self.0.iter().copied().collect();
        ids.sort_unstable();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(texts: &[&str]) -> Vec<Selector> {
        texts.iter().map(|text| Selector::parse(text).unwrap()).collect()
    }

    #[test]
    fn the_more_precise_selector_wins() {
        let mut set = RuleSet::all();
        set.apply(Some(&selectors(&["ALL"])), &selectors(&["retained-graph"]), &selectors(&["memory"]));
        assert!(set.contains("retained-graph"));
        assert!(!set.contains("full-dataset-batch"));
        assert!(set.contains("unsafe-division"));
    }

    #[test]
    fn a_later_layer_overrules_an_earlier_one() {
        let mut set = RuleSet::all();
        set.apply(None, &[], &selectors(&["unsafe-division"]));
        assert!(!set.contains("unsafe-division"));
        set.apply(None, &selectors(&["numerics"]), &[]);
        assert!(set.contains("unsafe-division"));
        set.apply(Some(&selectors(&["gradients"])), &[], &[]);
        assert_eq!(set.ids(), RuleSet::of(&selectors(&["gradients"])).ids());
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_hint() {
        let error = Selector::parse("missing-zerograd").unwrap_err();
        assert_eq!(error, "unknown rule or group `missing-zerograd`; did you mean `missing-zero-grad`?");
        assert_eq!(
            Selector::parse("gradient").unwrap_err(),
            "unknown rule or group `gradient`; did you mean `gradients`?"
        );
    }
}
