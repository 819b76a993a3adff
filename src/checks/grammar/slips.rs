//! Attributes that nothing defines, on values that nobody knows: a slip of the keyboard away from one of tensors,
//! modules or optimizers.

use super::missing_attribute::{RAISES, RULE, binds};
use crate::apis::{Apis, Role, index};
use crate::facts::{Findings, Places, Script};
use crate::names::guards;
use crate::report::{Confidence, Fix, Place};
use crate::syntax::{ExprKind, Tree};
use crate::trace::At;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::OnceLock;
use ustr::Ustr;

const PACKAGE: &str = "torch";
/// Whose attributes are meant.
const ROLES: [Role; 3] = [Role::Tensor, Role::Module, Role::Optimizer];
/// Shorter names are all near each other.
const LONG: usize = 5;
/// Of names that begin so each class has its own: `is_shard`, beside `is_shared`.
const QUESTIONS: [&str; 2] = ["has_", "is_"];

/// What is read in a file that imports PyTorch, unless its place is among those that another finding is at.
pub(super) fn slips(script: &Script, told: &Places, out: &mut Findings) {
    if !script.imports(script.file, PACKAGE) {
        return;
    }
    let tree = &script.project.module(script.file).tree;
    let mut seen = FxHashSet::default();
    let read = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Attribute { base, name, name_span } => Some((base, name, name_span)),
        _ => None,
    });
    // Most names are read often.
    let mut known: FxHashMap<Ustr, Option<&'static str>> = FxHashMap::default();
    let slips = read.filter_map(|(base, name, span)| {
        let meant = *known.entry(name).or_insert_with(|| meant(&name));
        Some((base, name, span, meant?))
    });
    for (base, name, span, meant) in slips {
        let place = Place::new(script.file, span);
        let is_told = told.iter().any(|other| other.file == place.file && other.span.contains(span));
        let draft = script.draft(script.file);
        // What an import brings is looked up by its whole name.
        let is_imported = || draft.qualified(base).is_some();
        let is_provided_for =
            || script.is_tried(place) || guards(tree).iter().any(|guard| guard.contains(span));
        if is_told || is_imported() || is_provided_for() || is_known(script, name) || !seen.insert(name) {
            continue;
        }
        let at = At::of_text(place, Confidence::High);
        let fix = script.renamed(place, &name, meant);
        let finding = script
            .finding(RULE.id, RULE.severity, &at, format!("nothing has an attribute `{name}`"))
            .note("no class of this project has it, and none of the packages that are known")
            .note(RAISES)
            .fix(fix.map(|edits| Fix::guess(format!("write `{meant}`"), edits)))
            .help(format!("did you mean `{meant}`"));
        out.push_unless_bound(finding, &at, name);
    }
}

/// Whether anything may have an attribute of this name: a file binds it, another reads it, too, or a package has it
/// somewhere.
fn is_known(script: &Script, name: Ustr) -> bool {
    let reads = |tree: &Tree| {
        tree.exprs
            .iter()
            .any(|expr| matches!(expr.kind, ExprKind::Attribute { name: read, .. } if read == name))
    };
    let files = std::iter::once(&script.file).chain(&script.rehearsal.read);
    let trees = files.map(|file| (*file, &script.project.module(*file).tree));
    trees.into_iter().any(|(file, tree)| binds(tree, name, true) || file != script.file && reads(tree))
        || index::all().iter().any(|(_, index)| index.has_part(&name))
}

/// The attribute of a tensor, a module or an optimizer that a name is one inner letter away from: one too many, one too
/// few, or two that changed places. Another first or last letter, a digit or an underscore makes another name of it.
fn meant(name: &str) -> Option<&'static str> {
    let is_of_its_own = name.starts_with('_') || QUESTIONS.iter().any(|question| name.starts_with(question));
    if name.len() < LONG || is_of_its_own {
        return None;
    }
    let alike = Known::get().0.get(&ends(name)?)?;
    let is_slip = |meant: &&&'static str| {
        strsim::osa_distance(name, meant) == 1
            && (name.len() != meant.len() || is_swapped(name, meant))
            && meant.replace('_', "") != name.replace('_', "")
    };
    if alike.contains(&name) { None } else { alike.iter().filter(is_slip).min().copied() }
}

/// Whether two neighbours of a name changed places.
fn is_swapped(name: &str, other: &str) -> bool {
    name.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count() == 2
}

/// The first and the last letter of a name.
fn ends(name: &str) -> Option<(u8, u8)> {
    name.is_ascii().then(|| Some((*name.as_bytes().first()?, *name.as_bytes().last()?)))?
}

/// The attributes that may be meant, by their first and last letters, which a slip leaves alone.
struct Known(FxHashMap<(u8, u8), Vec<&'static str>>);

impl Known {
    fn get() -> &'static Known {
        static KNOWN: OnceLock<Known> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let mut known: FxHashMap<_, Vec<_>> = FxHashMap::default();
            let classes = ROLES.iter().filter_map(|role| Apis::builtin().class_of(*role));
            let methods = classes.flat_map(|class| Apis::builtin().methods(class));
            for name in methods.map(|name| name.as_str()).filter(|name| name.len() >= LONG) {
                if let Some(ends) = ends(name) {
                    known.entry(ends).or_default().push(name);
                }
            }
            Known(known)
        })
    }
}

/// Further apart than this is another word.
pub(super) const NEAR: usize = 2;

/// Of the names that are there the one that is meant by another: the nearest, and of several the first.
pub(super) fn nearest(name: Ustr, within: usize, there: impl Iterator<Item = Ustr>) -> Option<Ustr> {
    let distance = |other: &Ustr| strsim::damerau_levenshtein(&name, other);
    there.min_by_key(distance).filter(|other| distance(other) <= within)
}
