//! What runs have shown of the examples of the pages and of the fixtures, as `tests/truth/golden.py` wrote it down:
//! nothing that a page claims may have stayed away, and nothing of it may have come in its repaired form. These
//! tests need no framework; whoever adds a page runs `python tests/truth/golden.py --missing` with PyTorch.

use std::collections::BTreeSet;

use crate::findings::root;
use crate::marks::marks;
use crate::pages::pages;

/// Pages whose example ran and did not show what they claim, each with the reason.
const UNSEEN: [(&str, &str); 4] = [
    (
        "matrix-inverse-in-loss",
        "only a matrix that is singular shows it, and data drawn at random gives none",
    ),
    (
        "unsafe-arccos",
        "only a cosine of exactly one shows it, and `clamp` of PyTorch 2.15 stops its gradient",
    ),
    (
        "unsafe-exponential",
        "only values beyond the range of float32 show it, and the data that was guessed has none",
    ),
    (
        "vanishing-epsilon",
        "only a probability of exactly zero or one shows it, and the data that was guessed gives none",
    ),
];

/// Pages of whose repaired example the oracle says the same, each with the reason.
const STILL_SEEN: [(&str, &str); 1] = [(
    "scaler-not-updated",
    "on the pretended GPU an update comes without a step before it, which is not explained yet",
)];

/// Behind the name of a page whose repaired example was run.
const REPAIRED: &str = " (repaired)";

/// What was seen of one mark.
struct Row {
    script: String,
    rule: String,
    line: u32,
    how: String,
    why: String,
}

fn seen() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("tests/truth/seen.tsv")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [script, rule, line, how, why, _release] = parts[..] else { panic!("{line}: no row") };
        let line = line.parse().unwrap();
        Row { script: script.into(), rule: rule.into(), line, how: how.into(), why: why.into() }
    };
    lines.map(row).collect()
}

/// The first block of Python of a page.
fn example(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```python\n")?;
    rest.split_once("```").map(|(code, _)| code)
}

#[test]
fn what_pages_claim_was_seen_where_their_examples_ran() {
    let seen = seen();
    let mut wrong = Vec::new();
    for page in pages() {
        let Some(code) = example(&page.text).filter(|code| code.contains("expect")) else { continue };
        let path = format!("rules/{}.md", page.id);
        let rows: Vec<&Row> = seen.iter().filter(|row| row.script == path).collect();
        let told: BTreeSet<(String, u32)> = rows.iter().map(|row| (row.rule.clone(), row.line)).collect();
        let marked: BTreeSet<(String, u32)> =
            marks(code).unwrap().into_iter().map(|mark| (mark.rule, mark.line)).collect();
        if told != marked {
            wrong.push(format!("{path}: its example is another than the one that was run"));
        }
        let own = rows.iter().filter(|row| row.rule == page.id);
        let stayed_away = own.clone().any(|row| row.why.ends_with("not seen"));
        let is_known = UNSEEN.iter().any(|(rule, _)| *rule == page.id);
        if stayed_away != is_known {
            wrong.push(format!(
                "{path}: ran, and what it claims was{} seen",
                if is_known { "" } else { " not" }
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_that_pages_claim_was_seen_in_their_repaired_form() {
    let wrong: Vec<String> = seen()
        .iter()
        .filter(|row| row.script.ends_with(REPAIRED) && !row.how.is_empty())
        .filter(|row| !STILL_SEEN.iter().any(|(rule, _)| *rule == row.rule))
        .map(|row| format!("{}: {} ({})", row.script, row.rule, row.how))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_seen_is_of_scripts_that_are_there() {
    let mut wrong = Vec::new();
    for row in seen() {
        let path = row.script.strip_suffix(REPAIRED).unwrap_or(&row.script);
        if !root().join(path).exists() {
            wrong.push(path.to_owned());
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "run `python tests/truth/golden.py --missing`: gone are\n{}", wrong.join("\n"));
}
