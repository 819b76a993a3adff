//! What `trainlint versions` tells, for people and for programs.

use crate::engine::versions::{Bound, Needs, Versions, Window};
use std::fmt::Write;

pub(crate) fn versions_json(versions: &Versions) -> Vec<u8> {
    super::json_text(versions)
}

pub(crate) fn versions(versions: &Versions) -> String {
    if versions.projects.is_empty() {
        return "no framework with known releases is used\n".to_owned();
    }
    let told: Vec<String> = versions.projects.iter().map(needs).collect();
    told.join("\n")
}

fn needs(needs: &Needs) -> String {
    let mut text = format!("{}\n", needs.path);
    needs.frameworks.iter().for_each(|one| text.push_str(&window(one)));
    text
}

fn window(window: &Window) -> String {
    let mut text = format!("  {}: {}\n", window.name, summary(window));
    // Writing to a string does not fail.
    let bound = |text: &mut String, word: &str, bound: &Option<Bound>| {
        if let Some(Bound { release, because }) = bound {
            let _ =
                writeln!(text, "    {word} {release}: `{}`, {}:{}", because.name, because.path, because.line);
        }
    };
    bound(&mut text, "from", &window.from);
    bound(&mut text, "to", &window.to);
    for pin in &window.pinned {
        let word = if pin.is_weak { "told" } else { "pinned" };
        let _ = writeln!(text, "    {word}: `{}`, {}:{}", pin.text, pin.path, pin.line);
    }
    for one in &window.missing {
        let _ = writeln!(text, "    not in any release: `{}`, {}:{}", one.name, one.path, one.line);
    }
    if let Some(newest) = window.newest {
        let python = window.python.as_ref().map_or(String::new(), |python| format!(", with Python {python}"));
        let _ = writeln!(text, "    newest that works: {newest}{python}");
    }
    if let Some(requirement) = &window.requirement {
        let _ = writeln!(text, "    as a requirement: {requirement}");
    }
    text
}

fn summary(window: &Window) -> String {
    let words = match (window.is_empty, &window.from, &window.to) {
        (true, ..) => "no release provides everything that is used".to_owned(),
        (_, None, None) => "any known release".to_owned(),
        (_, Some(from), None) => format!("{} or newer", from.release),
        (_, None, Some(to)) => format!("up to {}", to.release),
        (_, Some(from), Some(to)) => format!("{} to {}", from.release, to.release),
    };
    if window.is_outside { format!("{words}, but the pinned version is outside this range") } else { words }
}
