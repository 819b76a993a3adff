//! Reports of single files into one outcome: the same finding once, guesses dropped where
//! facts stand, comments and settings applied, everything in one order.

use crate::engine::analysis::{self, Comments, Complaint, FileReport, FunctionKey, Project};
use crate::engine::discovery::Asked;
use crate::engine::selection::{Selector, UNUSED_SUPPRESSION, known_names};
use crate::engine::suggest::nearest;
use crate::engine::{Coverage, Outcome, Request, Roots, Sources};
use crate::engine::{causes, offers};
use crate::report::{Confidence, Diagnostic, Edit, FileId, Fix, Place, Severity, TrainingStep};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// `reports` come in the order of the files asked for.
pub(crate) fn merge(
    request: &Request,
    project: &Project,
    asked: &[Asked],
    mut reports: Vec<(FileId, FileReport)>,
    on_gpus: bool,
) -> Outcome {
    let cwd = request.cwd.as_path();
    let incomplete: FxHashSet<FileId> =
        reports.iter().filter(|(_, report)| report.out_of_fuel).map(|(file, _)| *file).collect();
    let entries: Vec<FileId> = reports.iter().map(|(file, _)| *file).collect();
    let wanted = Wanted::new(project, asked);
    let mut outcome = Outcome {
        roots: Roots::around(cwd, asked.first().map(|file| file.path.as_path())),
        ..Outcome::default()
    };
    let mut comments: FxHashMap<FileId, Comments> = FxHashMap::default();
    for file in &entries {
        comments.insert(*file, Comments::of(project, *file));
    }
    outcome.coverage = coverage(&reports, &wanted);
    let mut found = Vec::new();
    let used = offers::used(project, &reports);
    offers::drop_bound(project, &mut reports);
    for finding in distinct(reports, used, on_gpus) {
        let file = finding.place.file;
        let Some(at) = wanted.find(file) else { continue };
        let comments = comments.entry(file).or_insert_with(|| Comments::of(project, file));
        // Asked first, so that a comment counts as used whether or not the finding is selected.
        if comments.covers(finding.rule, finding.place.span) && !request.ignore_suppressions {
            outcome.suppressed += 1;
            continue;
        }
        let finding = at.settings.adapted(finding);
        if at.settings.shows(&finding) {
            *outcome.tally.entry((at.path.clone(), finding.rule)).or_default() += 1;
        }
        if at.settings.selects(finding.rule, &at.path) {
            found.push(wanted.fixable(finding));
        }
    }
    // A file that was not rehearsed to its end says nothing about its comments.
    for file in entries.into_iter().filter(|file| !incomplete.contains(file)) {
        if request.ignore_suppressions {
            break;
        }
        let (Some(at), Some(comments)) = (wanted.find(file), comments.get(&file)) else {
            continue;
        };
        if at.settings.selects(UNUSED_SUPPRESSION.id, &at.path) {
            let complaints = comments.complaints().into_iter().map(|one| unused(file, one));
            let complaints: Vec<_> = complaints.map(|one| at.settings.adapted(one)).collect();
            *outcome.tally.entry((at.path.clone(), UNUSED_SUPPRESSION.id)).or_default() += complaints.len();
            found.extend(complaints);
        }
    }
    found.retain(|finding| {
        let settings = wanted.find(finding.place.file).map(|at| &at.settings);
        let shown = settings.is_some_and(|settings| settings.shows(finding));
        outcome.hidden += usize::from(!shown);
        // What is shown without any flag is hidden by one.
        outcome.excluded += usize::from(!shown && is_usual(finding));
        shown
    });
    for finding in &found {
        let named = finding.places().map(|place| place.file);
        let edited = finding.fix.iter().flat_map(|fix| &fix.edits).map(|edit| edit.place.file);
        for file in named.chain(edited) {
            outcome.sources.insert(cwd, file, analysis::source(project, file));
        }
    }
    for step in outcome.coverage.by_contract.iter().chain(&outcome.coverage.unjudged) {
        let file = step.place.file;
        outcome.sources.insert(cwd, file, analysis::source(project, file));
    }
    sort(&mut found, &outcome.sources);
    outcome.findings = causes::folded(found);
    outcome
}

/// Whether a run without flags and configuration shows it.
fn is_usual(finding: &Diagnostic) -> bool {
    finding.severity > Severity::Note && finding.confidence > Confidence::Low
}

/// The files asked for, by id: also those that entered the project because another file needs them.
struct Wanted<'a> {
    project: &'a Project,
    by_path: FxHashMap<&'a Path, &'a Asked>,
}

impl<'a> Wanted<'a> {
    fn new(project: &'a Project, asked: &'a [Asked]) -> Self {
        Wanted { project, by_path: asked.iter().map(|file| (file.path.as_path(), file)).collect() }
    }

    /// A finding without its fix, if that would change a file that nobody asked for.
    fn fixable(&self, mut finding: Diagnostic) -> Diagnostic {
        let asked = |fix: &Fix| fix.edits.iter().all(|edit| self.find(edit.place.file).is_some());
        finding.fix = finding.fix.filter(asked);
        finding
    }

    fn find(&self, file: FileId) -> Option<&'a Asked> {
        self.by_path.get(analysis::source(self.project, file).path.as_path()).copied()
    }
}

/// The training steps of the files asked for; what one rehearsal can't follow another may.
fn coverage(reports: &[(FileId, FileReport)], wanted: &Wanted<'_>) -> Coverage {
    let followed: FxHashSet<Place> =
        reports.iter().flat_map(|(_, report)| report.followed.iter().copied()).collect();
    let asked = reports.iter().filter(|(file, _)| wanted.find(*file).is_some());
    let training_steps = asked.clone().map(|(_, report)| report.training_steps).sum();
    let contracted: FxHashSet<Place> =
        reports.iter().flat_map(|(_, report)| report.by_contract.iter().copied()).collect();
    let unfollowed =
        asked.flat_map(|(_, report)| &report.unfollowed).filter(|step| !followed.contains(&step.place));
    let mut unfollowed: Vec<TrainingStep> = unfollowed.cloned().collect();
    unfollowed.sort_by_key(|step| (wanted.find(step.place.file).map(|at| &at.path), step.place.span));
    let (by_contract, unjudged) = unfollowed.into_iter().partition(|step| contracted.contains(&step.place));
    Coverage { training_steps, by_contract, unjudged }
}

/// The same rule at the same place with the same words is one finding, the best founded of them.
fn distinct(
    reports: Vec<(FileId, FileReport)>,
    mut rehearsed: FxHashSet<FunctionKey>,
    on_gpus: bool,
) -> Vec<Diagnostic> {
    rehearsed.extend(reports.iter().flat_map(|(_, report)| report.rehearsed.iter().copied()));
    let mut place_of: FxHashMap<(&'static str, Place, String), usize> = FxHashMap::default();
    let mut found: Vec<(Diagnostic, bool)> = Vec::new();
    let on_gpus = on_gpus || reports.iter().any(|(_, report)| report.uses_gpu);
    let counting = |(_, report): (FileId, FileReport)| {
        let for_gpus = report.for_gpus;
        let counts = move |at: &u32| on_gpus || !for_gpus.contains(at);
        (0..).zip(report.findings).filter(move |(at, _)| counts(at)).map(|(_, found)| found)
    };
    for (finding, seeded) in reports.into_iter().flat_map(counting) {
        if seeded.is_some_and(|function| rehearsed.contains(&function)) {
            continue;
        }
        let key = (finding.rule, finding.place, finding.message.clone());
        let rank = |finding: &Diagnostic, real: bool| (real, finding.confidence, finding.severity);
        let real = seeded.is_none();
        match place_of.get(&key) {
            // On a tie the first stays, and reports come in the order of the files.
            Some(&at) if rank(&finding, real) > rank(&found[at].0, found[at].1) => {
                found[at] = (finding, real);
            }
            Some(_) => {}
            None => {
                place_of.insert(key, found.len());
                found.push((finding, real));
            }
        }
    }
    found.into_iter().map(|(finding, _)| finding).collect()
}

fn unused(file: FileId, complaint: Complaint) -> Diagnostic {
    let Complaint { span, rule, message, help, removal } = complaint;
    let unknown = rule.as_deref().filter(|rule| Selector::parse(rule).is_err());
    let removed = removal.map(|removal| {
        let edit = Edit { place: Place::new(file, removal), text: String::new() };
        Fix::safe("remove the unused suppression", vec![edit])
    });
    let (message, hint, fix) = match unknown {
        None => (message, None, removed),
        Some(rule) => {
            let near = nearest(rule, known_names());
            let message = format!("unknown rule `{rule}`: this comment suppresses nothing");
            // Whoever meant another rule does not want the comment gone.
            (message, near.map(|id| format!("did you mean `{id}`?")), removed.filter(|_| near.is_none()))
        }
    };
    let remove = || rule.as_ref().map(|rule| format!("remove `{rule}` from the comment"));
    let finding =
        Diagnostic::new(UNUSED_SUPPRESSION.id, UNUSED_SUPPRESSION.severity, Place::new(file, span), message)
            .fix(fix);
    match hint.or(help).or_else(remove) {
        Some(help) => finding.help(help),
        None => finding,
    }
}

/// By path and place, never by the number of a file, which depends on who was read first.
fn sort(found: &mut [Diagnostic], sources: &Sources) {
    let path = |finding: &Diagnostic| sources.get(finding.place.file).map(|shown| shown.path.as_str());
    found.sort_by(|a, b| {
        let (at, other) = (a.place.span, b.place.span);
        path(a)
            .cmp(&path(b))
            .then(at.start.cmp(&other.start))
            .then(a.rule.cmp(b.rule))
            .then(at.end.cmp(&other.end))
            .then_with(|| a.message.cmp(&b.message))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Span;

    fn finding(confidence: Confidence, start: u32) -> Diagnostic {
        let place = Place::new(FileId(0), Span::new(start, start + 1));
        Diagnostic::new("unsafe-division", Severity::Warning, place, "a divisor can be zero")
            .confidence(confidence)
    }

    fn report(findings: Vec<(Diagnostic, Option<FunctionKey>)>, rehearsed: Vec<FunctionKey>) -> FileReport {
        FileReport { findings, rehearsed, ..FileReport::default() }
    }

    #[test]
    fn the_same_finding_of_two_entries_is_one_and_the_best_founded() {
        let guess = report(vec![(finding(Confidence::Low, 0), Some((FileId(0), 1)))], vec![]);
        let fact = report(vec![(finding(Confidence::High, 0), None)], vec![]);
        let found = distinct(vec![(FileId(0), guess), (FileId(1), fact)], FxHashSet::default(), false);
        assert_eq!(found, [finding(Confidence::High, 0)]);
    }

    #[test]
    fn a_guess_is_dropped_where_another_entry_knows_the_arguments() {
        let key = (FileId(0), 7);
        let guess = report(vec![(finding(Confidence::Medium, 0), Some(key))], vec![]);
        let other = report(vec![(finding(Confidence::Medium, 5), None)], vec![key]);
        let found = distinct(vec![(FileId(0), guess), (FileId(1), other)], FxHashSet::default(), false);
        assert_eq!(found, [finding(Confidence::Medium, 5)]);
    }
}
