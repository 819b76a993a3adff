//! Findings that are known and not to be reported again. A finding is recognised by its
//! fingerprint, and equal ones are counted, so that a copy of a known mistake is news.

use crate::engine::Outcome;
use crate::engine::fingerprint::{Fingerprint, fingerprints};
use crate::report::Diagnostic;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the file's form.
const VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<KnownFinding, usize>);

/// What is written of a finding: enough to find it again, and for people to see what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct KnownFinding {
    path: String,
    rule: String,
    context: String,
    code: String,
}

#[derive(Serialize, Deserialize)]
struct CountedFinding {
    #[serde(flatten)]
    known: KnownFinding,
    count: usize,
}

#[derive(Deserialize)]
struct File {
    version: u32,
    #[serde(default)]
    findings: Vec<serde_json::Value>,
}

impl Baseline {
    /// What a run found, all of it.
    pub fn of(outcome: &Outcome) -> Baseline {
        let mut baseline = Baseline::default();
        for known in known(outcome) {
            *baseline.0.entry(known).or_insert(0) += 1;
        }
        baseline
    }

    pub fn parse(text: &str) -> Result<Baseline, String> {
        let file: File = serde_json::from_str(text).map_err(|error| format!("is not a baseline: {error}"))?;
        if file.version != VERSION {
            return Err(format!(
                "is a baseline of version {}, but this trainlint reads version {VERSION}",
                file.version
            ));
        }
        let entry = |value| serde_json::from_value::<CountedFinding>(value);
        let entries: Result<Vec<CountedFinding>, _> = file.findings.into_iter().map(entry).collect();
        let entries = entries.map_err(|error| format!("has a finding that can't be read: {error}"))?;
        Ok(Baseline(entries.into_iter().map(|entry| (entry.known, entry.count)).collect()))
    }

    /// One finding a line and in order, so that a change of it is a change of few lines.
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\n  \"version\": {VERSION},\n  \"findings\": [");
        for (place, (known, count)) in self.0.iter().enumerate() {
            let entry = CountedFinding { known: known.clone(), count: *count };
            text.push_str(if place == 0 { "\n    " } else { ",\n    " });
            // Plain structs with string keys serialise.
            text.push_str(&serde_json::to_string(&entry).unwrap_or_default());
        }
        text.push_str(if self.0.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" });
        text
    }

    /// How many findings it stands for.
    pub fn len(&self) -> usize {
        self.0.values().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out of an outcome what is known, but for the findings that are to be shown in any case.
    pub fn hide(&self, outcome: &mut Outcome, is_news: impl Fn(&Outcome, &Diagnostic) -> bool) {
        let found = known(outcome);
        let mut hidden = vec![false; found.len()];
        let news: Vec<bool> = outcome.findings.iter().map(|finding| is_news(outcome, finding)).collect();
        // The likeliest first: in its place, then in a renamed file, then in a renamed function.
        for kin in [|one: &KnownFinding| one.clone(), KnownFinding::anywhere, KnownFinding::in_any_function] {
            let mut left: FxHashMap<KnownFinding, usize> = FxHashMap::default();
            for (known, count) in &self.0 {
                *left.entry(kin(known)).or_insert(0) += count;
            }
            // What was recognised more surely is used up.
            let used = found.iter().zip(&hidden).filter(|(_, hidden)| **hidden);
            for (known, _) in used {
                if let Some(count) = left.get_mut(&kin(known)) {
                    *count = count.saturating_sub(1);
                }
            }
            for (place, known) in found.iter().enumerate().filter(|(place, _)| !news[*place]) {
                let count = left.get_mut(&kin(known)).filter(|count| **count > 0 && !hidden[place]);
                if let Some(count) = count {
                    *count -= 1;
                    hidden[place] = true;
                }
            }
        }
        outcome.known += hidden.iter().filter(|hidden| **hidden).count();
        let mut hidden = hidden.into_iter();
        outcome.findings.retain(|_| !hidden.next().unwrap_or(false));
    }
}

impl KnownFinding {
    fn anywhere(&self) -> KnownFinding {
        KnownFinding { path: String::new(), ..self.clone() }
    }

    fn in_any_function(&self) -> KnownFinding {
        KnownFinding { path: String::new(), context: String::new(), ..self.clone() }
    }
}

fn known(outcome: &Outcome) -> Vec<KnownFinding> {
    let path = |finding: &Diagnostic| {
        let shown = outcome.sources.get(finding.place.file);
        shown.map(|shown| outcome.roots.in_repository(&shown.path)).unwrap_or_default()
    };
    let prints = fingerprints(outcome).into_iter().zip(&outcome.findings);
    let known = prints.map(|(Fingerprint { rule, context, code }, finding)| KnownFinding {
        path: path(finding),
        rule: rule.to_owned(),
        context,
        code,
    });
    known.collect()
}
