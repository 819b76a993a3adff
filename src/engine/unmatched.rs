//! Values that the user states (`--set`) under names that no script has, and which therefore change nothing.

use crate::apis::Literal;
use crate::engine::analysis::{Project, source};
use crate::engine::suggest::nearest;
use crate::report::FileId;
use std::collections::BTreeSet;

/// A name that no script has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    pub name: String,
    /// The name that was most likely meant.
    pub near: Option<String>,
    /// Some of the values that could be set, if none is near.
    pub known: Vec<String>,
}

/// So many names are a hint, and more are a list that nobody reads.
const SHOWN: usize = 8;

/// The stated names that stand in none of the scripts that were read.
pub(crate) fn unmatched(project: &Project, stated: &[(String, Literal)]) -> Vec<Unmatched> {
    let files = u32::try_from(project.len()).unwrap_or(u32::MAX);
    if stated.is_empty() || files == 0 {
        return Vec::new();
    }
    let sources: Vec<_> = (0..files).map(|file| source(project, FileId(file))).collect();
    let words: BTreeSet<String> = sources.iter().flat_map(|source| words(&source.text)).map(plain).collect();
    let missing = stated.iter().map(|(name, _)| name).filter(|name| !words.contains(&plain(last_part(name))));
    let settable: BTreeSet<&str> = sources.iter().flat_map(|source| settable(&source.text)).collect();
    let describe = |name: &String| {
        let near = nearest(name, settable.iter().copied()).map(str::to_owned);
        let known = settable.iter().take(SHOWN).map(|name| (*name).to_owned());
        Unmatched { name: name.clone(), known: known.filter(|_| near.is_none()).collect(), near }
    };
    missing.map(describe).collect()
}

/// `trainer.batch_size` is an attribute of something.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// `--batch-size` and `batch_size` are one name.
fn plain(name: &str) -> String {
    name.trim_matches('-').replace('-', "_")
}

/// Names, and the same with hyphens as command lines have them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let names = text.split(move |letter| !is_name(letter));
    names.chain(text.split(move |letter| !is_name(letter) && letter != '-'))
}

/// What is likely meant to be changed from outside: flags in quotes, and names that a script sets at its top.
fn settable(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let flag = line.split(['"', '\'']).find_map(|part| part.strip_prefix("--"));
        let (name, value) = line.split_once('=').unwrap_or_default();
        let name = name.trim_end();
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let is_plain = is_name
            && !name.is_empty()
            && value
                .trim_start()
                .starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''));
        [flag.filter(|flag| !flag.is_empty()), is_plain.then_some(name)].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_lets_one_set_is_listed() {
        let text = "p.add_argument('--batch-size', type=int)\nlr = 1e-3\nx == 3\n    y = 4\nmodel = Net()\n";
        assert_eq!(settable(text).collect::<Vec<_>>(), ["batch-size", "lr"]);
        assert!(words(text).any(|word| plain(word) == "batch_size"));
    }
}
