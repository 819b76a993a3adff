//! Options of the command line that no parser declares: their namespace lacks the attribute.

use super::missing_attribute::{RAISES, RULE};
use super::slips::{NEAR, nearest};
use crate::facts::{Findings, Script};
use crate::interp::Interp;
use crate::report::Place;
use crate::syntax::{Arg, ArgKind, CompareOp, ExprId, ExprKind, StmtKind, Tree};
use crate::values::Value;
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// What asks for an attribute by its name, or gives it.
const ASKING: [&str; 4] = ["delattr", "getattr", "hasattr", "setattr"];

/// Functions that only look at a dictionary which they are given.
const LOOKING: [&str; 9] = ["dict", "enumerate", "len", "list", "pprint", "print", "repr", "sorted", "str"];

/// Methods of a dictionary that leave it as it is.
const READING: [&str; 5] = ["copy", "get", "items", "keys", "values"];

/// What declares options of the command line, by a name without hyphens as well.
const DECLARING: [&str; 3] = ["add", "add_arg", "add_argument"];

/// A read of an option that does not exist.
pub(super) struct UnknownOption {
    name: Ustr,
    /// The option that is meant, as far as the spelling tells.
    near: Option<Ustr>,
    parsed: Place,
}

/// An attribute of a namespace of options that neither the parser nor anything that was read may have given to it.
pub(super) fn unknown_option(cx: &mut Interp<'_>, value: &Value, name: Ustr) -> Option<UnknownOption> {
    let namespace = value.as_obj()?;
    // What begins so belongs to the language.
    if name.starts_with('_') || !cx.sees_all_options(namespace) {
        return None;
    }
    let by_variable = cx.read_files().any(|file| asks_by_variable(cx.tree(file)));
    let is_given = |tree: &Tree| is_filled_by_name(tree) || gives(tree, name, by_variable);
    if cx.read_files().any(|file| is_given(cx.tree(file))) {
        return None;
    }
    let object = cx.heap.get(namespace);
    let there = object.attrs.iter().map(|(other, _)| *other);
    let near = nearest(name, NEAR, there).filter(|_| name.len() > NEAR + 1);
    Some(UnknownOption { name, near, parsed: object.site })
}

/// Whether a file may give attributes to a namespace by names that are not written: by `setattr`, or as the dictionary
/// that it is. What only looks at that dictionary gives nothing.
fn is_filled_by_name(tree: &Tree) -> bool {
    let is_dict = |id: ExprId| is_dictionary_of_attributes(tree, id);
    let mut looked_at: FxHashSet<ExprId> = FxHashSet::default();
    let mut look = |id: ExprId| {
        if is_dict(id) {
            looked_at.insert(id);
        }
    };
    for expr in &tree.exprs {
        match &expr.kind {
            ExprKind::Attribute { base, name, .. } if READING.contains(&name.as_str()) => look(*base),
            ExprKind::Subscript { base, .. } => look(*base),
            ExprKind::Compare { rest, .. } => rest.iter().for_each(|(_, other)| look(*other)),
            ExprKind::FString(parts) => parts.iter().for_each(|part| look(*part)),
            ExprKind::Comprehension(made) => made.clauses.iter().for_each(|clause| look(clause.iter)),
            ExprKind::Dict(pairs) => pairs.iter().for_each(|(_, value)| look(*value)),
            ExprKind::Call { callee, args } => {
                let looks = match &tree.expr(*callee).kind {
                    ExprKind::Name(name) => LOOKING.contains(&name.as_str()),
                    kind => matches!(kind, ExprKind::Attribute { .. }),
                };
                let is_copied = |arg: &&Arg| looks || matches!(arg.kind, ArgKind::DoubleStar);
                args.iter().filter(is_copied).for_each(|arg| look(arg.value));
            }
            _ => {}
        }
    }
    for stmt in &tree.stmts {
        if let StmtKind::For { iter, .. } = stmt.kind {
            look(iter);
        }
    }
    let mut written: FxHashSet<ExprId> = FxHashSet::default();
    let mut note_written = |target: ExprId| {
        if let ExprKind::Subscript { base, .. } = tree.expr(target).kind {
            written.insert(base);
        }
    };
    tree.stmts.iter().for_each(|stmt| tree.each_target(&stmt.kind, &mut note_written));
    let fills = |id: ExprId| {
        let by_dictionary = is_dict(id) && (!looked_at.contains(&id) || written.contains(&id));
        by_dictionary || sets_by_name(tree, id)
    };
    (0..tree.exprs.len() as u32).map(ExprId).any(fills)
}

/// `vars(args)`, `args.__dict__`: not of the instance that a method is of, which is no namespace.
fn is_dictionary_of_attributes(tree: &Tree, id: ExprId) -> bool {
    match &tree.expr(id).kind {
        ExprKind::Call { callee, args } => match (&tree.expr(*callee).kind, &args[..]) {
            (ExprKind::Name(name), [one]) => name == "vars" && !is_self(tree, one.value),
            _ => false,
        },
        ExprKind::Attribute { base, name, .. } => name == "__dict__" && !is_self(tree, *base),
        _ => false,
    }
}

fn is_self(tree: &Tree, id: ExprId) -> bool {
    named(tree, id).is_some_and(|name| name == "self")
}

fn is_text(tree: &Tree, id: ExprId) -> bool {
    matches!(tree.expr(id).kind, ExprKind::Str(_))
}

/// `setattr(args, key, value)`, `exec(f"args.{key} = {value}")`
fn sets_by_name(tree: &Tree, id: ExprId) -> bool {
    let ExprKind::Call { callee, args } = &tree.expr(id).kind else { return false };
    match (&tree.expr(*callee).kind, &args[..]) {
        (ExprKind::Name(name), [of, key, ..]) if name == "setattr" => {
            !is_self(tree, of.value) && !is_text(tree, key.value)
        }
        (ExprKind::Name(name), _) => name == "exec",
        (ExprKind::Attribute { base, name, .. }, _) => name == "__setattr__" && !is_self(tree, *base),
        _ => false,
    }
}

/// `hasattr(args, name)`, where the name may be any text of the files.
fn asks_by_variable(tree: &Tree) -> bool {
    tree.exprs.iter().any(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return false };
        let (ExprKind::Name(asked), [of, key, ..]) = (&tree.expr(*callee).kind, &args[..]) else {
            return false;
        };
        ASKING.contains(&asked.as_str()) && !is_self(tree, of.value) && !is_text(tree, key.value)
    })
}

/// Whether a file says anywhere that something has an attribute of a name: an option that is declared, an assignment,
/// a question whether it is there.
fn gives(tree: &Tree, name: Ustr, in_any_text: bool) -> bool {
    let says = |id: ExprId| matches!(&tree.expr(id).kind, ExprKind::Str(text) if **text == *name.as_str());
    let by_expr = tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Str(text) if text.starts_with('-') => is_option(text, name),
        ExprKind::Str(text) => in_any_text && **text == *name.as_str(),
        ExprKind::Compare { first, rest } => {
            says(*first) && rest.iter().any(|(op, _)| matches!(op, CompareOp::In | CompareOp::NotIn))
        }
        ExprKind::Call { callee, args } => {
            let (ExprKind::Name(called) | ExprKind::Attribute { name: called, .. }) = tree.expr(*callee).kind
            else {
                return false;
            };
            let called = called.as_str();
            let by_name = ASKING.contains(&called) || DECLARING.contains(&called);
            args.iter().any(|arg| match arg.kind {
                ArgKind::Keyword(key) if key == "dest" => says(arg.value),
                ArgKind::Keyword(key) => key == name && called == "set_defaults",
                _ => by_name && says(arg.value),
            })
        }
        _ => false,
    });
    let is_written = tree.stmts.iter().any(|stmt| {
        let copied = copied_from(tree, &stmt.kind, name);
        let mut is_written = false;
        tree.each_target(&stmt.kind, &mut |target| {
            is_written |= match tree.expr(target).kind {
                ExprKind::Attribute { base, name: known, .. } => {
                    let is_other = || copied.zip(named(tree, base)).is_some_and(|(from, to)| from != to);
                    known == name && !is_self(tree, base) && !is_other()
                }
                ExprKind::Subscript { index, .. } => says(index),
                _ => false,
            };
        });
        is_written
    });
    by_expr || is_written
}

/// `cfg.size = args.size` gives the option to something else: where it is read from.
fn copied_from(tree: &Tree, stmt: &StmtKind, name: Ustr) -> Option<Ustr> {
    let StmtKind::Assign { value, .. } = *stmt else { return None };
    match tree.expr(value).kind {
        ExprKind::Attribute { base, name: read, .. } if read == name => named(tree, base),
        _ => None,
    }
}

fn named(tree: &Tree, id: ExprId) -> Option<Ustr> {
    match tree.expr(id).kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

/// `--batch-size` is the attribute `batch_size`.
fn is_option(text: &str, name: Ustr) -> bool {
    let text = text.trim_start_matches('-');
    text.len() == name.len()
        && text.chars().zip(name.chars()).all(|(one, other)| one == other || (one, other) == ('-', '_'))
}

pub(super) fn unknown_options(script: &Script, out: &mut Findings) {
    // One declaration repairs all of its reads.
    let mut told: FxHashSet<(Ustr, Place)> = FxHashSet::default();
    for (at, seen) in script.observed_once::<UnknownOption>() {
        let UnknownOption { name, near, parsed } = seen;
        if !told.insert((*name, *parsed)) {
            continue;
        }
        let message = format!("the parser declares no option `{name}`: `Namespace` has no such attribute");
        let help = match near {
            Some(near) => format!("read `{near}`, or declare `--{name}`"),
            None => format!("declare it: `parser.add_argument(\"--{name}\")`"),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(*parsed, "the options are parsed here")
            .note(RAISES)
            .help(help);
        out.push(finding, at);
    }
}
