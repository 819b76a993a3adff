//! Names that are imported from a file of the project, or read in it, which does not have them.

use super::brought::{brought_by_stars, names_by_text};
use super::module_reads::reads_of_modules;
use super::slips::{NEAR, nearest};
use crate::apis::index::{self, Answer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::names::{Project, Target, guards, is_standard};
use crate::report::{Confidence, FileId, Place, Severity, Span};
use crate::syntax::{ImportItem, ImportNames, StmtKind, faults};
use crate::trace::At;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "undefined-import",
    summary: "a name is imported or read from a file that does not define it",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("undefined-import"),
    check,
};

/// Folders around a script from which it may be run.
const MOST_FOLDERS: usize = 8;
/// A module with this answers for any name.
const BY_FUNCTION: &str = "__getattr__";

fn check(script: &Script, out: &mut Findings) {
    let guarded = guards(&script.project.module(script.file).tree);
    imported(script, &guarded, out);
    reads_of_modules(script, &guarded, out);
}

fn imported(script: &Script, guarded: &[Span], out: &mut Findings) {
    let tree = &script.project.module(script.file).tree;
    for stmt in &tree.stmts {
        let StmtKind::ImportFrom { level, module: from, names: ImportNames::Items(items) } = &stmt.kind
        else {
            continue;
        };
        if guarded.iter().any(|span| span.contains(stmt.span)) {
            continue;
        }
        let target = script.project.resolve(script.file, *level, *from);
        let Target::File(file) = target else { continue };
        let is_lost = |item: &&ImportItem| {
            lacks(script.project, file, item.name)
                && script.project.submodule(&target, item.name).is_none()
                && (*level > 0 || from.is_some_and(|from| is_surely_meant(script, file, from, item.name)))
        };
        for item in items.iter().filter(is_lost) {
            report(script, out, &Lost { file, name: item.name, span: item.span, raises: "ImportError" });
        }
    }
}

/// Whether a file surely does not have a name: nothing in it binds it, and nothing unseen may.
pub(super) fn lacks(project: &Project, file: FileId, name: Ustr) -> bool {
    let module = project.module(file);
    let names = &module.names;
    let is_package = project.path(file).file_stem().is_some_and(|stem| stem == "__init__");
    // A compiled extension, or a module that is generated, does not lie in the folder before it is built.
    let may_be_built = is_package && !name.starts_with(|first: char| first.is_ascii_uppercase());
    let has = |name: Ustr| names.bindings.contains_key(&name) || names.rebound.contains(&name);
    !may_be_built
        && !name.starts_with("__")
        && !has(name)
        && !has(Ustr::from(BY_FUNCTION))
        && !names_by_text(project, file)
        && faults(&module.source.text, &module.tree, &module.source.cells()).found.is_empty()
        && brought_by_stars(project, file).is_some_and(|brought| !brought.contains(&name))
}

/// Whether an absolute import means this file: no package of that name has it, and no file under the same name in a
/// folder from which the script may be run.
pub(super) fn is_surely_meant(script: &Script, file: FileId, from: Ustr, name: Ustr) -> bool {
    let top = from.split('.').next().unwrap_or(&from);
    // A file that imports its own name means another, of Python or of a package.
    if file == script.file
        || is_standard(top)
        || !matches!(index::ask(&format!("{from}.{name}")), Answer::Unknown)
    {
        return false;
    }
    // Where the project itself imports the file by another name, a package may be meant that is installed. Two have no
    // dotted name in common.
    if script.project.module_name(file) != Some(from) && !from.contains('.') {
        return false;
    }
    let here = script.project.path(script.file);
    here.ancestors().skip(1).take(MOST_FOLDERS).all(|folder| {
        let mut parts = from.split('.').map(Ustr::from);
        let found =
            parts.try_fold(Target::Namespace(folder.into()), |at, part| script.project.submodule(&at, part));
        match found {
            Some(Target::File(other)) => other == file || lacks(script.project, other, name),
            // A folder without `__init__.py` is a package as well, of whatever lies in it.
            Some(Target::Namespace(_)) => false,
            Some(Target::Outside) | None => true,
        }
    })
}

/// A name that a file does not have.
pub(super) struct Lost {
    pub file: FileId,
    pub name: Ustr,
    pub span: Span,
    pub raises: &'static str,
}

pub(super) fn report(script: &Script, out: &mut Findings, lost: &Lost) {
    let &Lost { file, name, span, raises } = lost;
    let at = At::of_text(Place::new(script.file, span), Confidence::High);
    let path = script.project.path(file);
    let stem = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let place = match stem.as_str() {
        "__init__.py" => {
            let folder = path.parent().and_then(|folder| folder.file_name());
            format!("{}/{stem}", folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned()))
        }
        _ => stem,
    };
    let mut there: Vec<Ustr> = script.project.module(file).names.bindings.keys().copied().collect();
    there.sort_by_key(Ustr::as_str);
    let help = match nearest(name, NEAR.min(name.len() / 3), there.into_iter()) {
        Some(near) => format!("`{near}` is defined there: is it meant?"),
        None => format!("define `{name}` there, or import it from where it is"),
    };
    let finding = script
        .finding(RULE.id, RULE.severity, &at, format!("`{place}` defines no `{name}`"))
        .note(format!("Python raises an `{raises}` where this runs"))
        .help(help);
    out.push(finding, &at);
}
