//! Attributes that a value does not have: Python raises an `AttributeError` where they are read.

use super::hidden_attribute::hidden_attributes;
use super::missing_option;
use super::slips::slips;
use super::tried::is_tried;
use super::tuple_for_tensor::tuples_for_tensors;
use super::unwrapped::unwrapped;
use crate::apis::index::{self, Answer};
use crate::apis::{Role, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Base, Checker, Interp, MissingAttribute};
use crate::report::{Confidence, FileId, Place, Severity};
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind, Function, StmtId, StmtKind, Tree};
use crate::values::{ClassRef, Int, Num, ObjId, State, Tag, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-attribute",
    summary: "a method of tensors or modules is called on a tuple or list, or an attribute that no class defines is read",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-attribute"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_missing_attribute: Some(read), ..Checker::SILENT };

pub(super) const RAISES: &str = "this raises an `AttributeError`";

/// What tuples, lists, sets, named tuples and sizes have as tensors and modules do.
const OF_CONTAINERS: [&str; 10] =
    ["add", "copy", "count", "index", "indices", "numel", "remove", "sort", "update", "values"];

/// What numbers have as tensors do.
const OF_NUMBERS: [&str; 2] = ["imag", "real"];

const DICTIONARY: &str = "a dictionary";

/// What dictionaries had in Python 2.
const OF_PYTHON2: [&str; 7] =
    ["has_key", "iteritems", "iterkeys", "itervalues", "viewitems", "viewkeys", "viewvalues"];

/// By these a class answers for any name.
const ANSWERING: [&str; 2] = ["__getattr__", "__getattribute__"];

/// By these attributes come to be whose names are not written as such.
const BY_NAME: [&str; 6] = ["__dict__", "__setattr__", "exec", "locals", "setattr", "vars"];

/// An attribute that is read and is not there.
struct Absent {
    /// What lacks it, in words.
    of: Rc<str>,
    name: Ustr,
    /// The class is instantiated nowhere that is seen: whoever inherits from it may bind the name.
    is_open: bool,
}

fn read(cx: &mut Interp<'_>, missing: &MissingAttribute<'_>) {
    let &MissingAttribute { value, name, place } = missing;
    if cx.is_provided_for() || !is_written(cx, place, name) || is_tried(cx, place, "AttributeError") {
        return;
    }
    if let Some(seen) = missing_option::unknown_option(cx, value, name) {
        // Whoever chooses this branch has the same options.
        let sure = if cx.undecided_arms() == 0 { Confidence::High } else { Confidence::Medium };
        return cx.observe(place, seen, sure);
    }
    let Some(of) = lacking(cx, value, name) else { return };
    let is_open = value.as_obj().is_some_and(|object| cx.is_made_up(object));
    // Of classes that inherit a method the one is meant that has it.
    let of = if is_open { class_around(cx, place).unwrap_or(of) } else { of };
    // What a value is may depend on the test around it; whose method runs does not.
    let sure = match cx.undecided_arms() {
        // Whether one of two ways is ever taken is not known.
        0 if cx.is_apart() => Confidence::Medium,
        0 => Confidence::High,
        _ if is_of_self(cx, place) || is_bound_in_its_arm(cx, place) => Confidence::Medium,
        _ => Confidence::Low,
    };
    cx.observe(place, Absent { of, name, is_open }, sure);
}

/// The class in whose body a place is.
fn class_around(cx: &Interp<'_>, place: Place) -> Option<Rc<str>> {
    let around = cx.tree(place.file).classes.iter().filter(|class| class.span.contains(place.span));
    let innermost = around.max_by_key(|class| class.span.start)?;
    Some(Rc::from(format!("`{}`", innermost.name)))
}

/// `getattr(x, "name", None)` reads it as well, and says what it is otherwise.
pub(super) fn is_written(cx: &Interp<'_>, place: Place, name: Ustr) -> bool {
    read_at(cx, place).is_some_and(|(_, written)| written == name)
}

fn is_of_self(cx: &Interp<'_>, place: Place) -> bool {
    let base = read_at(cx, place).map(|(base, _)| &cx.tree(place.file).expr(base).kind);
    matches!(base, Some(ExprKind::Name(name)) if name == "self")
}

/// Whether the arm in which a name is read binds it before: what it is then the arm says, and not the test.
fn is_bound_in_its_arm(cx: &Interp<'_>, place: Place) -> bool {
    let tree = cx.tree(place.file);
    let base = read_at(cx, place).map(|(base, _)| &tree.expr(base).kind);
    let Some(ExprKind::Name(name)) = base else { return false };
    let arms = tree.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::If { .. }));
    let around = |block: &&[StmtId]| block.iter().any(|stmt| tree.stmt(*stmt).span.contains(place.span));
    let blocks = arms.flat_map(|stmt| stmt.kind.blocks()).filter(around);
    let Some(own) = blocks.max_by_key(|block| block.first().map(|stmt| tree.stmt(*stmt).span.start)) else {
        return false;
    };
    let before = own.iter().map(|stmt| tree.stmt(*stmt)).filter(|stmt| stmt.span.end <= place.span.start);
    let mut is_bound = false;
    for stmt in before.filter(|stmt| matches!(stmt.kind, StmtKind::Assign { .. })) {
        tree.each_target(&stmt.kind, &mut |target| {
            is_bound |= matches!(tree.expr(target).kind, ExprKind::Name(bound) if bound == *name);
        });
    }
    is_bound
}

/// The attribute that is read at a place, or called there, and of what.
fn read_at(cx: &Interp<'_>, place: Place) -> Option<(ExprId, Ustr)> {
    let module = cx.module(place.file);
    let expr = module.expr_at(place.span)?;
    let read = match module.tree.expr(expr).kind {
        ExprKind::Call { callee, .. } => callee,
        _ => expr,
    };
    match module.tree.expr(read).kind {
        ExprKind::Attribute { base, name, .. } => Some((base, name)),
        _ => None,
    }
}

/// What a value is called that surely lacks an attribute.
///
/// A list may stand for a container that is followed as one, a tuple for nothing else but a batch.
fn lacking(cx: &Interp<'_>, value: &Value, name: Ustr) -> Option<Rc<str>> {
    if let Value::Int(Num { int: Int::Known(_), tag: Tag::None, .. }) | Value::Float(Some(_)) = value {
        let lacks = is_of_frameworks(cx, name) && !OF_NUMBERS.contains(&name.as_str());
        return lacks.then(|| Rc::from("a number"));
    }
    if matches!(value, Value::Tuple(_)) {
        return is_of_frameworks(cx, name).then(|| Rc::from("a tuple or list"));
    }
    let object = value.as_obj()?;
    if is_dictionary(cx, object) && OF_PYTHON2.contains(&name.as_str()) {
        return Some(Rc::from(DICTIONARY));
    }
    // What begins so belongs to the language, or to the inside of a framework.
    let is_public = matches!(cx.heap.get(object).class, ClassRef::Project(_)) && !name.starts_with('_');
    let is_absent = || is_closed(cx, object, name) && !is_bound_anywhere(cx, object, name);
    let is_made = || is_made_here(cx, object) || cx.is_made_up(object) && is_whole(cx, object);
    let lacks = is_public && is_made() && is_absent();
    lacks.then(|| Rc::from(format!("`{}`", cx.class_name(object))))
}

/// What is written as `{...}` is a dictionary, and stands for nothing else.
fn is_dictionary(cx: &Interp<'_>, object: ObjId) -> bool {
    let here = cx.heap.get(object);
    let is_plain = here.class == ClassRef::Builtin && !cx.heap.is_merged(object);
    is_plain && matches!(here.state, State::Dict(_)) && {
        let module = cx.module(here.site.file);
        let made = module.expr_at(here.site.span).map(|expr| &module.tree.expr(expr).kind);
        matches!(made, Some(ExprKind::Dict(_)))
    }
}

fn is_of_frameworks(cx: &Interp<'_>, name: Ustr) -> bool {
    let roles = [Role::Tensor, Role::Module];
    !name.starts_with('_')
        && !OF_CONTAINERS.contains(&name.as_str())
        && roles.iter().any(|role| cx.apis.method_of(*role, name).is_some())
}

/// Whether a call of its class makes an instance: it is of no other class, and nothing is wrapped around it.
fn is_made_here(cx: &Interp<'_>, object: ObjId) -> bool {
    let here = cx.heap.get(object);
    let module = cx.module(here.site.file);
    let made = module.expr_at(here.site.span).map(|expr| &module.tree.expr(expr).kind);
    let Some(ExprKind::Call { callee, .. }) = made else { return false };
    match module.tree.expr(*callee).kind {
        ExprKind::Name(class) | ExprKind::Attribute { name: class, .. } => class == *cx.class_name(object),
        _ => false,
    }
}

/// Whether the class of an instance that nobody makes says itself what it has: it has a constructor, and is not made to
/// be one part of others.
fn is_whole(cx: &Interp<'_>, object: ObjId) -> bool {
    let ClassRef::Project(class) = cx.heap.get(object).class else { return false };
    cx.lineage(ClassRef::Project(class)).into_iter().any(|base| match base {
        Base::Project(base) => cx.heap.attr(base, Ustr::from("__init__")).is_some(),
        _ => false,
    })
}

/// Whether all that an instance has is seen: every base is of the project or a framework's own module, none of them
/// answers for any name, and no file of theirs makes attributes by their names. Settings and other plain objects are
/// filled from anywhere: of them no file at all may.
fn is_closed(cx: &Interp<'_>, object: ObjId, name: Ustr) -> bool {
    let is_module = cx.heap.get(object).module().is_some();
    let fills = |file: FileId| writes_by_name(cx.tree(file)) || is_module && registers_by_name(cx, file);
    if !is_module && cx.read_files().any(fills) {
        return false;
    }
    let module = cx.apis.class_of(Role::Module);
    let is_plain_base = |base: &Value| match base {
        Value::Obj(_) => true,
        Value::Api(class) => Some(*class) == module,
        Value::Builtin(class) => class == "object",
        _ => false,
    };
    cx.lineage(cx.heap.get(object).class).into_iter().all(|base| match base {
        Base::Project(class) => {
            let State::Class(state) = &cx.heap.get(class).state else { return false };
            let written = cx.tree(state.file).class(state.class);
            let by_position = |arg: &Arg| arg.kind == ArgKind::Positional;
            written.decorators.is_empty()
                && written.bases.iter().all(by_position)
                && written.bases.len() == state.bases.len()
                && state.bases.iter().all(is_plain_base)
                && ANSWERING.iter().all(|name| cx.heap.attr(class, Ustr::from(name)).is_none())
                && !fills(state.file)
        }
        Base::Api(class) => {
            let asked = format!("{class}.{name}");
            Some(class) == module && !matches!(index::ask(&asked), Answer::Known(_))
        }
        Base::Unknown => false,
    })
}

fn writes_by_name(tree: &Tree) -> bool {
    tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => BY_NAME.contains(&name.as_str()),
        _ => false,
    })
}

/// `self.add_module(f"layer{i}", layer)`
fn registers_by_name(cx: &Interp<'_>, file: FileId) -> bool {
    let tree = cx.tree(file);
    tree.exprs.iter().any(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return false };
        let ExprKind::Attribute { name, .. } = tree.expr(*callee).kind else { return false };
        let is_said = |first: &Arg| matches!(tree.expr(first.value).kind, ExprKind::Str(_));
        cx.apis.method_does(Role::Module, name, Verb::Register) && !args.first().is_some_and(is_said)
    })
}

/// Whether any file that was read binds a name: as a function, an attribute, a keyword, or in quotes, as modules
/// register what they have.
fn is_bound_anywhere(cx: &Interp<'_>, object: ObjId, name: Ustr) -> bool {
    let registers = cx.heap.get(object).module().is_some();
    cx.read_files().any(|file| binds(cx.tree(file), name, registers))
}

/// Whether a file binds a name so.
pub(super) fn binds(tree: &Tree, name: Ustr, registers: bool) -> bool {
    let by_expr = tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Str(text) => registers && **text == *name.as_str(),
        ExprKind::Call { args, .. } => {
            args.iter().any(|arg| matches!(arg.kind, ArgKind::Keyword(known) if known == name))
        }
        _ => false,
    });
    // A function within another is no method, however it is indented.
    let by_function = |function: &Function| {
        function.name == name && (function.class.is_some() || function.parent.is_none())
    };
    let mut is_written = false;
    let mut see = |target: ExprId| {
        is_written |=
            matches!(tree.expr(target).kind, ExprKind::Attribute { name: known, .. } if known == name);
    };
    tree.stmts.iter().for_each(|stmt| tree.each_target(&stmt.kind, &mut see));
    is_written || by_expr || tree.functions.iter().any(by_function)
}

fn check(script: &Script, out: &mut Findings) {
    let mut told: Places = script.missing_names().iter().map(|missing| missing.at.place).collect();
    // What an instance lacks that the script makes, it lacks whoever inherits.
    let made = script.observed::<Absent>().filter(|(_, absent)| !absent.is_open);
    let made: Places = made.map(|(at, _)| at.place).collect();
    let mut said = FxHashSet::default();
    for (at, absent) in script.observed_once::<Absent>() {
        let Absent { of, name, is_open } = absent;
        let is_open = *is_open && !made.contains(&at.place);
        // Where nothing else is known of a class, one read of a name stands for the others.
        let again = is_open && !said.insert((at.place.file, of, name));
        if at.confidence < Confidence::Medium || again || !script.imports_around(at, "torch") {
            continue;
        }
        if &**of == DICTIONARY && script.is_python2(at.place) {
            continue;
        }
        let message = format!("{of} has no attribute `{name}`");
        let finding = script.finding(RULE.id, RULE.severity, at, message).note(RAISES);
        match is_open {
            true => out.push_unless_bound(finding, at, *name),
            false => out.push(finding, at),
        }
        told.insert(at.place);
    }
    missing_option::unknown_options(script, out);
    hidden_attributes(script, out);
    unwrapped(script, out);
    tuples_for_tensors(script, out);
    slips(script, &told, out);
}
