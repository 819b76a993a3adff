//! What commands install: in Dockerfiles, jobs, scripts of the shell, and cells of notebooks.

use super::Notes;

/// Images that carry a release in their tag, and what it is a release of.
const IMAGES: [(&str, &str); 3] =
    [("pytorch/pytorch:", "torch"), ("tensorflow/tensorflow:", "tensorflow"), ("python:", "python")];

pub(super) fn dockerfile(text: &str, notes: &mut Notes<'_>) {
    for (at, line) in text.lines().enumerate() {
        let Some(image) = line.trim_start().strip_prefix("FROM ") else { continue };
        let carried = IMAGES.iter().find_map(|(name, package)| Some((*package, after(image, name)?)));
        if let Some((package, tag)) = carried {
            notes.pin(at, package, &exactly(package, &digits(tag)));
        }
    }
    shell(text, notes);
}

pub(super) fn shell(text: &str, notes: &mut Notes<'_>) {
    installed(text.lines().enumerate(), notes);
}

/// Lines of the cells of a notebook lie in its JSON as strings.
pub(super) fn cells(text: &str, notes: &mut Notes<'_>) {
    for (at, line) in text.lines().enumerate() {
        for command in line.split('"').filter_map(|word| word.trim_start().strip_prefix(['!', '%'])) {
            let command = command.split("\\n").next().unwrap_or_default();
            if let Some(major) = command.strip_prefix("tensorflow_version ") {
                notes.pin(at, "tensorflow", &format!("={}", major.trim().trim_end_matches(".x")));
            }
            installed(std::iter::once((at, command)), notes);
        }
    }
}

/// Requirements after `pip install` and their like. A line that ends in a backslash goes on.
fn installed<'t>(lines: impl Iterator<Item = (usize, &'t str)>, notes: &mut Notes<'_>) {
    const COMMANDS: [&str; 5] =
        ["pip install ", "pip3 install ", "conda install ", "conda create ", "mamba install "];
    let mut goes_on = false;
    for (at, line) in lines {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let command =
            COMMANDS.iter().filter_map(|command| after(line, command)).min_by_key(|rest| rest.len());
        let Some(words) = command.or(goes_on.then_some(line)) else { continue };
        goes_on = line.trim_end().ends_with('\\');
        let words = words.split([';', '#', '|']).next().unwrap_or_default();
        let words = words.split("&&").next().unwrap_or_default();
        for word in words.split_whitespace() {
            let word = word.trim_matches(['"', '\'', '\\', '`', ',']);
            match word.split_once('=') {
                // `name=version` of conda.
                Some((name, rest)) if !rest.starts_with('=') && !name.ends_with(['<', '>', '~', '!']) => {
                    notes.pin(at, name, &format!("={rest}"));
                }
                _ => notes.requirement(at, word),
            }
        }
    }
}

fn after<'t>(line: &'t str, what: &str) -> Option<&'t str> {
    line.find(what).map(|at| &line[at + what.len()..])
}

/// Tags of Python leave the patch out, or all but the major version.
fn exactly(package: &str, digits: &str) -> String {
    if package == "python" { format!("={digits}") } else { digits.to_owned() }
}

/// `1.7.1` of `1.7.1-cuda11.0`
fn digits(tag: &str) -> String {
    let end = tag.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(tag.len());
    tag[..end].trim_end_matches('.').to_owned()
}
