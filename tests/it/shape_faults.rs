//! Shape faults as people make them, in `tests/truth/shape_faults`: no fewer are reported than were, and no repair is.
//! `scripts/shape_faults.py` says what the marks of these scripts mean, and lists what is missed.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::findings::{findings_of, root};
use crate::harness::Project;

/// How many are reported of each half.
const REPORTED: [(&str, usize); 2] = [("building", 71), ("held-out", 55)];

/// Rules that say the same of targets in other words.
const SAME: [&str; 4] = ["shape-mismatch", "broadcast-loss", "label-encoding-mismatch", "wrong-target-dtype"];

struct Case {
    name: String,
    faulty: String,
    repaired: String,
    /// Where a finding counts.
    lines: BTreeSet<u32>,
}

impl Case {
    fn of(path: &Path) -> Case {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut case = Case { name, faulty: String::new(), repaired: String::new(), lines: BTreeSet::new() };
        for (number, line) in (1..).zip(std::fs::read_to_string(path).unwrap().lines()) {
            case.add(number, line);
        }
        case
    }

    fn add(&mut self, number: u32, text: &str) {
        let (before, repair) = text
            .split_once("# repaired:")
            .map_or((text, None), |(before, repair)| (before, Some(repair.trim())));
        let marked = before.contains("# dies") || before.contains("# here");
        let line = before.replace("# dies", "").replace("# here", "");
        let line = line.trim_end();
        let added = repair.is_some() && line.is_empty();
        let indentation = &before[..before.len() - before.trim_start().len()];
        self.faulty += line;
        self.faulty.push('\n');
        match repair {
            None => self.repaired += &format!("{line}\n"),
            Some("") => {}
            Some(repair) => self.repaired += &format!("{indentation}{repair}\n"),
        }
        if marked || (repair.is_some() && !added) {
            self.lines.insert(number);
        }
    }

    fn half(&self) -> &'static str {
        if Sha256::digest(self.name.as_bytes())[0] % 2 == 0 { "building" } else { "held-out" }
    }
}

fn cases() -> Vec<Case> {
    let folder = std::fs::read_dir(root().join("tests/truth/shape_faults")).unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::of(path)).collect()
}

fn written(cases: &[Case], text: impl Fn(&Case) -> &str) -> Project {
    cases.iter().fold(Project::new(), |folder, case| folder.file(&format!("{}.py", case.name), text(case)))
}

#[test]
fn faults_that_were_reported_are() {
    let cases = cases();
    let findings = findings_of(written(&cases, |case| &case.faulty).root());
    let reported = |case: &&Case| {
        let own = |finding: &&crate::findings::Finding| {
            Path::new(&finding.path).file_stem().is_some_and(|stem| *stem == *case.name)
                && SAME.contains(&finding.rule.as_str())
        };
        findings.iter().filter(own).any(|finding| {
            let related = finding.related.iter().map(|related| related.line);
            related.chain([finding.line]).any(|line| case.lines.contains(&line))
        })
    };
    for (half, least) in REPORTED {
        let all: Vec<&Case> = cases.iter().filter(|case| case.half() == half).collect();
        let found = all.iter().copied().filter(reported).count();
        println!("{half}: {found} of {}", all.len());
        assert!(found >= least, "{half}: {found} of {} are reported, {least} were", all.len());
    }
}

#[test]
fn no_repair_is_flagged() {
    let findings = findings_of(written(&cases(), |case| &case.repaired).root());
    let wrong: Vec<String> = findings
        .iter()
        .filter(|finding| finding.rule == "shape-mismatch")
        .map(|finding| format!("{}:{} {}", finding.path, finding.line, finding.message))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
