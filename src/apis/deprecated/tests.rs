use super::*;
use crate::apis::index::{self, Answer, Known};

fn known(path: &str) -> Option<Known> {
    match index::ask(path) {
        Answer::Known(known) => Some(known),
        _ => None,
    }
}

/// The name of a rewriting, without its arguments.
fn written(rewrite: &Rewrite) -> &str {
    rewrite.write.split('(').next().unwrap_or_default()
}

#[test]
fn every_row_is_of_a_package_that_is_known() {
    assert!(all().len() > 100);
    for row in all() {
        for name in &row.names {
            let (_, index) = index::of(name).unwrap_or_else(|| panic!("{name}: of no package of the index"));
            for release in
                [&row.until, &row.gone, &row.back, &row.came].into_iter().flatten().chain([&row.since])
            {
                assert!(index.releases.from(release).is_some(), "{name}: no release from {release} on");
            }
        }
        assert!(row.instead.is_some() || row.help.is_some(), "{:?}: nothing takes its place", row.names);
        assert!(!row.source.is_empty());
    }
}

#[test]
fn names_are_those_that_releases_have() {
    let mut wrong = Vec::new();
    for row in all() {
        for name in row.names.iter().filter(|name| !name.contains('[')) {
            if let Answer::Missing(missing) = index::ask(name)
                && missing.unsure.is_none()
            {
                wrong.push(format!("{name}: no release has it"));
            }
            let (Some(known), Some((package, index))) = (known(name), index::of(name)) else { continue };
            // An alias may lead into another package.
            if index::of(&known.path).is_none_or(|(own, _)| own != package) {
                continue;
            }
            let gone = row.gone.as_ref().filter(|_| {
                row.argument.is_none() && row.fate.is_none() && row.back.is_none() && !row.raises
            });
            if let Some(gone) = gone.and_then(|gone| index.releases.from(gone))
                && known.span.last >= gone
            {
                wrong.push(format!(
                    "{name}: {} has it, gone {:?}",
                    index.releases.name(known.span.last),
                    row.gone
                ));
            }
            if let Some(since) = index.releases.from(&row.since)
                && known.unsure.is_none_or(|unsure| unsure.last <= known.span.last)
                && known.span.last + 1 < since
            {
                wrong.push(format!(
                    "{name}: gone before it was deprecated, after {}",
                    index.releases.name(known.span.last)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_written_exists_while_the_old_name_does() {
    let mut wrong = Vec::new();
    for row in all() {
        for rewrite in &row.rewrite {
            let name = written(rewrite);
            if !name.contains('.') || name.starts_with(['.', '$']) || row.argument.is_some() {
                continue;
            }
            match index::ask(name) {
                Answer::Known(new) => {
                    let Some((_, index)) = index::of(name) else { continue };
                    if let Some(came) = row.came.as_ref().and_then(|came| index.releases.from(came))
                        && new.unsure.is_none()
                        && came < new.span.first
                    {
                        wrong.push(format!(
                            "{name}: came with {}, not {:?}",
                            index.releases.name(new.span.first),
                            row.came
                        ));
                    }
                    if new.span.last < index.releases.last() && new.unsure.is_none() {
                        wrong.push(format!("{name}: gone after {}", index.releases.name(new.span.last)));
                    }
                }
                Answer::Missing(missing) if missing.unsure.is_none() => {
                    wrong.push(format!("{name}: no release has it"));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_name_has_two_rows() {
    let rows = all().iter();
    let named: usize = rows.map(|row| row.names.len()).sum();
    assert_eq!(BY_NAME.len(), named);
}
