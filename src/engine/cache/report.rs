//! The report of a script as bytes. Files go by their place in the list of what the script's
//! rehearsal read, since the ids of a run mean nothing to the next.

use crate::engine::analysis::{FileReport, FunctionKey};
use crate::engine::selection::known_rules;
use crate::report::replay::Replay;
use crate::report::{Cause, Confidence, Diagnostic, FileId, Fix, Label, Place, Severity, TrainingStep};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

#[derive(Serialize, Deserialize)]
struct Stored {
    findings: Vec<(StoredFinding, Option<FunctionKey>)>,
    training_steps: usize,
    unfollowed: Vec<TrainingStep>,
    followed: Vec<Place>,
    by_contract: Vec<Place>,
    rehearsed: Vec<FunctionKey>,
    supposed: Vec<FunctionKey>,
    for_gpus: Vec<u32>,
    unless_bound: Vec<(u32, String)>,
    uses_gpu: bool,
    out_of_fuel: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredFinding {
    rule: String,
    severity: Severity,
    confidence: Confidence,
    place: Place,
    message: String,
    related: Vec<Label>,
    notes: Vec<String>,
    help: Vec<String>,
    fix: Option<Fix>,
    replay: Option<Box<Replay>>,
    cause: Option<Cause>,
}

/// None where the report names a file that is not among those read.
pub(crate) fn to_bytes(report: &FileReport, reads: &[FileId]) -> Option<Vec<u8>> {
    let local = |file: FileId| reads.iter().position(|read| *read == file).map(|at| FileId(at as u32));
    let key = |(file, function): FunctionKey| Some((local(file)?, function));
    let FileReport {
        findings,
        training_steps,
        unfollowed,
        followed,
        by_contract,
        rehearsed,
        supposed,
        for_gpus,
        unless_bound,
        uses_gpu,
        out_of_fuel,
    } = report;
    let placed = |place: &Place| Some(Place { file: local(place.file)?, ..*place });
    let step = |step: &TrainingStep| Some(TrainingStep { place: placed(&step.place)?, ..step.clone() });
    let mut stored = Vec::with_capacity(findings.len());
    for (finding, seeded) in findings {
        let mut finding = finding.clone();
        for place in finding.places_mut() {
            place.file = local(place.file)?;
        }
        let seeded = match seeded {
            Some(function) => Some(key(*function)?),
            None => None,
        };
        stored.push((StoredFinding::from(finding), seeded));
    }
    let rehearsed = rehearsed.iter().copied().map(key).collect::<Option<_>>()?;
    let supposed = supposed.iter().copied().map(key).collect::<Option<_>>()?;
    let unfollowed = unfollowed.iter().map(step).collect::<Option<_>>()?;
    let followed = followed.iter().map(placed).collect::<Option<_>>()?;
    let by_contract = by_contract.iter().map(placed).collect::<Option<_>>()?;
    let stored = Stored {
        findings: stored,
        training_steps: *training_steps,
        unfollowed,
        followed,
        by_contract,
        rehearsed,
        supposed,
        for_gpus: for_gpus.clone(),
        unless_bound: unless_bound.clone(),
        uses_gpu: *uses_gpu,
        out_of_fuel: *out_of_fuel,
    };
    postcard::to_stdvec(&stored).ok()
}

/// None where the bytes are damaged.
pub(crate) fn from_bytes(bytes: &[u8], reads: &[FileId]) -> Option<FileReport> {
    let stored: Stored = postcard::from_bytes(bytes).ok()?;
    let file = |local: FileId| reads.get(local.0 as usize).copied();
    let key = |(local, function): FunctionKey| Some((file(local)?, function));
    let mut findings = Vec::with_capacity(stored.findings.len());
    for (finding, seeded) in stored.findings {
        let mut finding = finding.into_diagnostic()?;
        for place in finding.places_mut() {
            place.file = file(place.file)?;
        }
        let seeded = match seeded {
            Some(function) => Some(key(function)?),
            None => None,
        };
        findings.push((finding, seeded));
    }
    let rehearsed = stored.rehearsed.into_iter().map(key).collect::<Option<_>>()?;
    let supposed = stored.supposed.into_iter().map(key).collect::<Option<_>>()?;
    let placed = |place: Place| Some(Place { file: file(place.file)?, ..place });
    let step = |step: TrainingStep| Some(TrainingStep { place: placed(step.place)?, ..step });
    let unfollowed = stored.unfollowed.into_iter().map(step).collect::<Option<_>>()?;
    let followed = stored.followed.into_iter().map(placed).collect::<Option<_>>()?;
    let by_contract = stored.by_contract.into_iter().map(placed).collect::<Option<_>>()?;
    let Stored { training_steps, for_gpus, unless_bound, uses_gpu, out_of_fuel, .. } = stored;
    Some(FileReport {
        findings,
        training_steps,
        unfollowed,
        followed,
        by_contract,
        rehearsed,
        supposed,
        for_gpus,
        unless_bound,
        uses_gpu,
        out_of_fuel,
    })
}

impl From<Diagnostic> for StoredFinding {
    fn from(finding: Diagnostic) -> StoredFinding {
        let Diagnostic {
            rule,
            severity,
            confidence,
            place,
            message,
            related,
            notes,
            help,
            fix,
            replay,
            cause,
        } = finding;
        let rule = rule.to_owned();
        StoredFinding { rule, severity, confidence, place, message, related, notes, help, fix, replay, cause }
    }
}

impl StoredFinding {
    fn into_diagnostic(self) -> Option<Diagnostic> {
        static RULES: LazyLock<Vec<&'static str>> =
            LazyLock::new(|| known_rules().into_iter().map(|rule| rule.id).collect());
        let StoredFinding {
            rule,
            severity,
            confidence,
            place,
            message,
            related,
            notes,
            help,
            fix,
            replay,
            cause,
        } = self;
        // The list of rules is sorted by id.
        let rule = RULES[RULES.binary_search(&rule.as_str()).ok()?];
        Some(Diagnostic {
            rule,
            severity,
            confidence,
            place,
            message,
            related,
            notes,
            help,
            fix,
            replay,
            cause,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Applicability, Edit, Span};

    #[test]
    fn a_report_comes_back_as_it_was_under_other_ids() {
        let place = |file: u32, at: u32| Place::new(FileId(file), Span::new(at, at + 2));
        let finding = |ids: [u32; 2]| {
            let edits = vec![Edit { place: place(ids[1], 9), text: "x".to_owned() }];
            let title = "do it".to_owned();
            Diagnostic::new("retained-graph", Severity::Warning, place(ids[0], 1), "a message")
                .because(place(ids[1], 5), "why")
                .note("a note")
                .help("some help")
                .confidence(Confidence::Medium)
                .fix(Fix { title, applicability: Applicability::Unsafe, edits })
        };
        let report = |ids: [u32; 2]| FileReport {
            findings: vec![(finding(ids), Some((FileId(ids[1]), 3))), (finding(ids), None)],
            training_steps: 3,
            unfollowed: vec![TrainingStep { place: place(ids[1], 4), unknown: "why".to_owned() }],
            followed: vec![place(ids[0], 6)],
            by_contract: vec![place(ids[1], 8)],
            rehearsed: vec![(FileId(ids[0]), 7)],
            supposed: Vec::new(),
            for_gpus: vec![0],
            unless_bound: vec![(0, "decoder".to_owned())],
            uses_gpu: true,
            out_of_fuel: true,
        };
        let bytes = to_bytes(&report([8, 5]), &[FileId(8), FileId(5)]).unwrap();
        let back = from_bytes(&bytes, &[FileId(0), FileId(1)]).unwrap();
        let same = report([0, 1]);
        assert_eq!(back.findings, same.findings);
        assert_eq!(
            (back.training_steps, back.unfollowed, back.followed, back.by_contract),
            (same.training_steps, same.unfollowed, same.followed, same.by_contract)
        );
        assert_eq!((back.rehearsed, back.out_of_fuel), (vec![(FileId(0), 7)], true));
        assert!(to_bytes(&report([8, 5]), &[FileId(8)]).is_none(), "a file that was not read");
        assert!(from_bytes(&bytes[..bytes.len() - 3], &[FileId(0), FileId(1)]).is_none());
        assert!(from_bytes(&bytes, &[FileId(0)]).is_none());
    }
}
