//! The form of messages: what happens to the run, in lower case, without a full stop, short.

use std::path::PathBuf;

use crate::findings::findings_of;
use crate::fixtures::of_rules;

const LONGEST: usize = 100;

/// What is wrong with a message, if anything is.
fn objection(message: &str) -> Option<&'static str> {
    let first = message.chars().next();
    if message.trim() != message || message.is_empty() {
        return Some("is empty or has blanks around it");
    }
    if first.is_some_and(char::is_uppercase) && !starts_with_abbreviation(message) {
        return Some("starts with a capital");
    }
    if message.ends_with(['.', '!', '?', ':', ',']) {
        return Some("ends with a stop");
    }
    if message.contains('\n') || message.chars().any(char::is_control) {
        return Some("has more than one line");
    }
    if message.chars().count() > LONGEST {
        return Some("is longer than 100 characters");
    }
    if message.matches('`').count() % 2 == 1 {
        return Some("has a backtick too many");
    }
    None
}

/// `GPU memory …`: a word in capitals is no capital at the start of a sentence.
fn starts_with_abbreviation(message: &str) -> bool {
    let word: String = message.chars().take_while(|one| one.is_alphanumeric()).collect();
    word.len() > 1 && word.chars().all(|one| one.is_uppercase() || one.is_numeric())
}

#[test]
fn messages_keep_their_form() {
    let mut folders = of_rules();
    folders.extend(["fixtures/seeds_like", "fixtures/notebooks"].map(PathBuf::from));
    let mut wrong = Vec::new();
    let mut seen = 0;
    for one in folders.iter().flat_map(|folder| findings_of(folder)) {
        seen += 1;
        let related = one.related.iter().map(|label| label.message.as_str());
        for message in related.chain([one.message.as_str()]) {
            if let Some(why) = objection(message) {
                wrong.push(format!("{}:{}: {}: `{message}` {why}", one.path, one.line, one.rule));
            }
        }
        if one.help.as_deref().is_some_and(|help| help.trim().is_empty() || help.ends_with('.')) {
            wrong.push(format!(
                "{}:{}: {}: the help is empty or ends with a stop",
                one.path, one.line, one.rule
            ));
        }
    }
    assert!(seen > 0, "no message was seen");
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn objections_are_raised() {
    for good in
        ["gradients of earlier steps are still in place", "`loss` keeps its graph", "GPU memory runs out"]
    {
        assert_eq!(objection(good), None, "{good}");
    }
    let long = "a ".repeat(51) + "b";
    for bad in ["", " a", "Gradients pile up", "it dies.", "two\nlines", "`half a name", &long] {
        assert!(objection(bad).is_some(), "{bad:?}");
    }
}
