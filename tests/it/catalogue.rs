//! A rule is the same everywhere: in the list, as a page, as a folder of fixtures, in the index.

use std::fmt::Write;

use crate::findings::{listed_rules, root};
use crate::fixtures::of_rules;
use crate::pages::pages;

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

#[test]
fn the_index_of_rules_is_current() {
    let mut index = String::from(
        "# The rules\n\nWritten by `UPDATE=1 cargo test the_index`; edit the pages instead.\n\n| rule | what it reports |\n| --- | --- |\n",
    );
    for page in pages() {
        writeln!(index, "| [{0}]({0}.md) | {1} |", page.id, page.summary()).unwrap();
    }
    let path = root().join("rules/README.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &index).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(current, index, "rules/README.md is old; `UPDATE=1 cargo test the_index` writes it");
}

#[test]
fn the_readme_links_every_rule() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for page in pages() {
        let link = format!("[{0}](rules/{0}.md)", page.id);
        assert!(readme.contains(&link), "README.md lacks {link}");
    }
}
