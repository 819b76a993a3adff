//! A rule is the same everywhere: in the list, as a page, as a folder of fixtures, in the index.

use std::fmt::Write;

use crate::findings::{listed_rules, root};
use crate::fixtures::of_rules;
use crate::pages::pages;
use trainlint::checks::Group;
use trainlint::engine::selection::known_rules;
use trainlint::render;

#[test]
fn every_rule_has_a_page_and_fixtures() {
    let mut listed = listed_rules();
    listed.sort();
    let written: Vec<String> = pages().into_iter().map(|page| page.id).collect();
    assert_eq!(listed, written, "the list of rules and the pages in rules/");
    assert_eq!(listed, fixture_folders(), "the list of rules and the folders in fixtures/");
}

#[test]
fn every_page_has_fixtures() {
    let written: Vec<String> = pages().into_iter().map(|page| page.id).collect();
    assert_eq!(written, fixture_folders());
}

fn fixture_folders() -> Vec<String> {
    of_rules()
        .iter()
        .filter_map(|path| path.file_name())
        .map(|one| one.to_string_lossy().into_owned())
        .collect()
}

/// The groups in the order of the index, with their titles.
const TITLES: [(Group, &str); 13] = [
    (Group::Gradients, "Gradients, optimizers and schedulers"),
    (Group::Losses, "Losses and train/eval mode"),
    (Group::Numerics, "Numerical stability"),
    (Group::Memory, "Memory"),
    (Group::Data, "Data"),
    (Group::Device, "Devices"),
    (Group::Distributed, "Distributed training"),
    (Group::Tensorflow, "TensorFlow and Keras"),
    (Group::Kernels, "Custom kernels and autograd functions"),
    (Group::Speed, "Speed"),
    (Group::Reproducibility, "Framework names and releases"),
    (Group::Syntax, "Syntax"),
    (Group::Suppressions, "Suppressions"),
];

const INDEX: &str = "\
# Rules

Written by `UPDATE=1 cargo test the_index`; edit the pages instead.

All rules are enabled by default. An **error** means wrong results or a crash, a **warning** a run that is slower or
worse than it should be; **notes** and findings of low confidence are shown with `--pedantic`.
";

#[test]
fn the_index_of_rules_is_current() {
    let rules = known_rules();
    let mut index = INDEX.to_owned();
    for (group, title) in TITLES {
        let members: Vec<_> = rules.iter().filter(|rule| rule.group == group).collect();
        if members.is_empty() {
            continue;
        }
        writeln!(
            index,
            "\n## {title} (`{}`)\n\n| rule | reports | severity |\n| --- | --- | --- |",
            group.name()
        )
        .unwrap();
        for rule in members {
            let severity = render::severity(rule.severity);
            writeln!(index, "| [{0}]({0}.md) | {1} | {severity} |", rule.id, rule.summary).unwrap();
        }
    }
    assert_eq!(index.matches(".md) |").count(), rules.len(), "every group has a title");
    let path = root().join("rules/README.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &index).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(current, index, "rules/README.md is old; `UPDATE=1 cargo test the_index` writes it");
}
