//! One finding for one cause: what the same name is missing from in many places, and what a project uses of
//! releases that it does not ask for.

use crate::report::units::plural;
use crate::report::{Boundary, Cause, Diagnostic, Edit, FileId, Fix, Label};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many names on the wrong side of a release are told one by one.
const FEW: usize = 3;
/// So many further places are shown.
const SHOWN: usize = 12;

/// The findings in their order, of each cause the first, which names the others.
pub(crate) fn folded(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let found = by(found, |cause| {
        let side = cause.boundary.as_ref().map_or("", |boundary| &boundary.key);
        Some(format!("{} {side}", cause.what))
    });
    let mut names: FxHashMap<String, usize> = FxHashMap::default();
    for boundary in found.iter().filter_map(|group| group[0].cause.as_ref()?.boundary.as_ref()) {
        *names.entry(boundary.key.clone()).or_default() += 1;
    }
    let is_many =
        |boundary: &&Boundary| boundary.is_open || names.get(&boundary.key).is_some_and(|count| *count > FEW);
    let of_name: Vec<Diagnostic> = found.into_iter().map(same_name).collect();
    let groups = by(of_name, |cause| Some(cause.boundary.as_ref().filter(is_many)?.key.clone()));
    groups.into_iter().map(|group| shortened(same_side(group))).collect()
}

/// Groups of findings with the same key, in the order of their firsts.
fn by(found: Vec<Diagnostic>, key: impl Fn(&Cause) -> Option<String>) -> Vec<Vec<Diagnostic>> {
    let mut place: FxHashMap<(&'static str, String), usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Diagnostic>> = Vec::new();
    for finding in found {
        let key = finding.cause.as_ref().and_then(&key).map(|key| (finding.rule, key));
        match key.as_ref().and_then(|key| place.get(key)) {
            Some(at) => groups[*at].push(finding),
            None => {
                place.extend(key.map(|key| (key, groups.len())));
                groups.push(vec![finding]);
            }
        }
    }
    groups
}

/// Uses of one name: the first tells of the others.
fn same_name(group: Vec<Diagnostic>) -> Diagnostic {
    let group = led(group);
    let said = group[0].message.clone();
    joined(group, |other| if other.message == said { "and here".to_owned() } else { other.message.clone() })
}

/// Names on the wrong side of what the project asks for: what would have them all is said once.
fn same_side(group: Vec<Diagnostic>) -> Diagnostic {
    let open = outlived(&group);
    if group.len() == 1 {
        let mut only = joined(group, |other| other.message.clone());
        only.help.extend(open.map(|(_, help)| format!("or {help}")));
        return only;
    }
    let group = led(group);
    let (names, edge) = (group.len(), edge(&group));
    let places = |finding: &Diagnostic| -> Vec<FileId> { finding.places().map(|place| place.file).collect() };
    let uses: Vec<FileId> = group.iter().flat_map(places).collect();
    let files = uses.iter().collect::<FxHashSet<_>>().len();
    let mut first = joined(group, |other| other.message.clone());
    let (uses, files) = (plural(uses.len(), "place"), plural(files, "file"));
    first = first.note(format!("{names} names have the same cause, at {uses} in {files}"));
    let (message, help) = open.map_or((None, edge), |(message, help)| (Some(message), Some(help)));
    if let Some(message) = message {
        first.related.insert(0, Label { place: first.place, message: first.message });
        first.message = message;
        // What is said of the first name does not hold of the others.
        first.notes = first.notes.split_off(first.notes.len() - 1);
        first.help.clear();
    }
    first.help.extend(help);
    first
}

/// What is said where nothing keeps newer releases away, which lack some names: the message, and what to require.
fn outlived(group: &[Diagnostic]) -> Option<(String, String)> {
    let all = group.iter().filter_map(|finding| finding.cause.as_ref()?.boundary.as_ref());
    let bound = all.filter(|boundary| boundary.is_open).min_by_key(|boundary| boundary.rank)?;
    let Boundary { package, release, .. } = bound;
    let names = plural(group.len(), "name");
    let message = format!("releases after {package} {release} lack {names} used here: this raises an error");
    let them = if group.len() == 1 { "it" } else { "them all" };
    Some((message, format!("require {package} {release}, which has {them}")))
}

/// The finding whose fix may be trusted most comes first: its place is one that the fix of all mends.
fn led(mut group: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let trust = |finding: &Diagnostic| finding.fix.as_ref().map(|fix| fix.applicability);
    let best = group.iter().map(trust).max().flatten();
    let first = group.iter().position(|finding| trust(finding) == best).unwrap_or_default();
    group[..=first].rotate_right(1);
    group
}

fn joined(mut group: Vec<Diagnostic>, words: impl Fn(&Diagnostic) -> String) -> Diagnostic {
    // Groups are made with their first.
    let others = group.split_off(1);
    let mut first = group.remove(0);
    first.fix = joined_fix(first.fix, &others);
    for other in others {
        first.related.push(Label { place: other.place, message: words(&other) });
        for label in other.related {
            if !first.related.contains(&label) {
                first.related.push(label);
            }
        }
    }
    first
}

/// What mends all places, as far as it may be trusted in the same way: the fixes of several findings, each where no
/// other touches it.
fn joined_fix(first: Option<Fix>, others: &[Diagnostic]) -> Option<Fix> {
    let all = first.iter().chain(others.iter().filter_map(|other| other.fix.as_ref()));
    let best = all.clone().map(|fix| fix.applicability).max()?;
    let mut fixes = all.filter(|fix| fix.applicability == best);
    let mut joined = fixes.next()?.clone();
    let said = joined.title.clone();
    for fix in fixes {
        let touches = |edit: &Edit, other: &Edit| {
            let (one, two) = (edit.place.span, other.place.span);
            edit.place.file == other.place.file && one.start <= two.end && two.start <= one.end
        };
        let new: Vec<Edit> = fix.edits.iter().filter(|edit| !joined.edits.contains(edit)).cloned().collect();
        if !new.iter().any(|edit| joined.edits.iter().any(|other| touches(edit, other))) {
            joined.edits.extend(new);
            if fix.title != said {
                "write what takes the place of each".clone_into(&mut joined.title);
            }
        }
    }
    Some(joined)
}

/// The release that has all names, where one bound is enough to say so.
fn edge(group: &[Diagnostic]) -> Option<String> {
    let all = group.iter().filter_map(|finding| finding.cause.as_ref()?.boundary.as_ref());
    let first = group.first()?.cause.as_ref()?.boundary.as_ref()?;
    let package = &first.package;
    Some(match first.is_last {
        true => {
            let bound = all.min_by_key(|boundary| boundary.rank)?;
            format!("or require {package} {}, which has them all", bound.release)
        }
        false => {
            let bound = all.max_by_key(|boundary| boundary.rank)?;
            format!("or require {package} {}, the first release that has them all", bound.release)
        }
    })
}

/// Nobody reads on for ever.
fn shortened(mut finding: Diagnostic) -> Diagnostic {
    if finding.cause.is_none() || finding.related.len() <= SHOWN {
        return finding;
    }
    // The first use of each name, before further ones.
    let (names, again): (Vec<Label>, Vec<Label>) =
        finding.related.into_iter().partition(|label| label.message != "and here");
    let left = names.len() + again.len() - SHOWN;
    finding.related = names.into_iter().chain(again).take(SHOWN).collect();
    finding.note(format!("{} more {} not shown", left, if left == 1 { "place is" } else { "places are" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Place, Severity, Span};

    fn finding(file: u32, name: &str, rank: u8, key: Option<&str>) -> Diagnostic {
        let place = Place::new(FileId(file), Span::new(u32::from(rank), u32::from(rank) + 1));
        let boundary = key.map(|key| Boundary {
            key: key.to_owned(),
            package: "torch".to_owned(),
            release: format!("1.{rank}"),
            rank,
            is_last: true,
            is_open: key.starts_with("open"),
        });
        Diagnostic::new("removed-api", Severity::Error, place, format!("no `{name}`"))
            .cause(Cause { what: name.to_owned(), boundary })
    }

    #[test]
    fn uses_of_a_name_are_one_finding() {
        let found = folded(vec![
            finding(0, "a", 3, Some("p")),
            finding(1, "a", 3, Some("p")),
            finding(0, "b", 4, None),
        ]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].related.len(), 1);
        assert_eq!(found[0].related[0].place.file, FileId(1));
    }

    #[test]
    fn few_names_are_told_apart_and_many_are_one_fact() {
        let of = |names: &[&str]| {
            let all = names.iter().zip(1..).map(|(name, rank)| finding(0, name, rank, Some("p"))).collect();
            folded(all)
        };
        assert_eq!(of(&["a", "b", "c"]).len(), 3);
        let many = of(&["a", "b", "c", "d"]);
        assert_eq!(many.len(), 1);
        assert_eq!(many[0].related.len(), 3);
        assert!(many[0].notes[0].contains("4 names"), "{:?}", many[0].notes);
        assert!(many[0].help[0].contains("torch 1.1"), "{:?}", many[0].help);
    }

    #[test]
    fn names_that_newer_releases_lack_are_one_fact() {
        let all = folded(vec![finding(0, "a", 3, Some("open")), finding(1, "b", 2, Some("open"))]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].message, "releases after torch 1.2 lack 2 names used here: this raises an error");
        assert_eq!(all[0].related.len(), 2);
        let one = folded(vec![finding(0, "a", 3, Some("open"))]);
        assert_eq!(one[0].message, "no `a`");
        assert!(one[0].help[0].contains("torch 1.3, which has it"), "{:?}", one[0].help);
    }

    #[test]
    fn what_has_no_cause_in_common_stays_as_it_is() {
        let mut one = finding(0, "a", 1, None);
        one.cause = None;
        assert_eq!(folded(vec![one.clone(), one.clone()]), [one.clone(), one]);
    }
}
