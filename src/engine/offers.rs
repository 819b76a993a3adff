//! Losses that a project offers, and whether anything in it uses them, as far as texts say: whoever does may keep
//! bounds that nobody sees.

use crate::engine::analysis::{self, FileReport, FunctionKey, Project};
use crate::report::{FileId, Span};
use crate::source::words;
use crate::syntax::FnId;
use rustc_hash::FxHashSet;

/// The losses judged by what they take their parameters for that the texts of these files speak of.
pub(super) fn used(project: &Project, reports: &[(FileId, FileReport)]) -> FxHashSet<FunctionKey> {
    let supposed: FxHashSet<FunctionKey> =
        reports.iter().flat_map(|(_, report)| report.supposed.iter().copied()).collect();
    let is_used = |key: &FunctionKey| {
        let (name, span) = offered(project, *key);
        reports.iter().any(|(file, _)| {
            let own = (*file == key.0).then_some(span);
            speaks_of(&analysis::source(project, *file).text, &name, own)
        })
    };
    supposed.into_iter().filter(is_used).collect()
}

/// Leaves out attributes that are missing of a class only as long as nothing else in the project binds them: a class
/// that inherits from it may.
pub(super) fn drop_bound(project: &Project, reports: &mut [(FileId, FileReport)]) {
    let files: Vec<FileId> = reports.iter().map(|(file, _)| *file).collect();
    for (_, report) in reports {
        let is_bound = |(at, name): &(u32, String)| {
            let own = report.findings.get(*at as usize).map(|(finding, _)| finding.place.file);
            let mut others = files.iter().filter(|file| Some(**file) != own);
            others.any(|file| binds(&analysis::source(project, *file).text, name))
        };
        let dropped: Vec<u32> =
            report.unless_bound.iter().filter(|one| is_bound(one)).map(|one| one.0).collect();
        if dropped.is_empty() {
            continue;
        }
        // What holds where GPUs are used goes by its place among all of them.
        let left = |at: &u32| at - dropped.iter().filter(|gone| *gone < at).count() as u32;
        report.for_gpus = report.for_gpus.iter().filter(|at| !dropped.contains(at)).map(left).collect();
        let findings = std::mem::take(&mut report.findings).into_iter().zip(0..);
        report.findings = findings.filter(|(_, at)| !dropped.contains(at)).map(|(one, _)| one).collect();
    }
}

/// Whether a text binds a name: by a definition, an assignment or a keyword, or in quotes.
fn binds(text: &str, name: &str) -> bool {
    words(text, name).any(|at| {
        let (before, after) = (&text[..at], text[at + name.len()..].trim_start());
        let is_defined = before.trim_end().ends_with("def") || before.trim_end().ends_with("class");
        let is_assigned = after.starts_with('=') && !after.starts_with("==") || after.starts_with(':');
        is_defined || is_assigned || before.ends_with(['"', '\''])
    })
}

/// What others call a loss by, and where that is defined: its class, or the function around it.
fn offered(project: &Project, (file, function): FunctionKey) -> (String, Span) {
    let tree = &project.module(file).tree;
    let mut definition = tree.function(FnId(function));
    while let (None, Some(parent)) = (definition.class, definition.parent) {
        definition = tree.function(parent);
    }
    match definition.class {
        Some(class) => (tree.class(class).name.to_string(), tree.class(class).span),
        None => (definition.name.to_string(), definition.span),
    }
}

/// Whether a text has a name in it outside of its definition, and does more with it than to hand it on.
fn speaks_of(text: &str, name: &str, definition: Option<Span>) -> bool {
    words(text, name).any(|at| {
        let before = &text[..at];
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]).trim_start();
        let is_handed_on = line.starts_with("from ") || line.starts_with("import ") || line.starts_with('#');
        !before.ends_with(['"', '\''])
            && !is_handed_on
            && !definition.is_some_and(|span| span.range().contains(&at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_used_where_more_is_done_than_to_import_it() {
        assert!(speaks_of("criterion = FocalLoss()", "FocalLoss", None));
        assert!(!speaks_of("from losses import FocalLoss\n__all__ = [\"FocalLoss\"]", "FocalLoss", None));
        assert!(!speaks_of("class BinaryFocalLoss:", "FocalLoss", None));
        let own = "class FocalLoss(Module):\n    super(FocalLoss, self)";
        assert!(!speaks_of(own, "FocalLoss", Some(Span::new(0, own.len() as u32))));
    }
}
