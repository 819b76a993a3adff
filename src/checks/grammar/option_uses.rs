//! What becomes of an option of the command line: whether it is used as it comes, or converted first.

use crate::facts::Script;
use crate::syntax::{CompareOp, ExprId, ExprKind, StmtKind, Tree, UnaryOp};
use rustc_hash::FxHashMap;
use ustr::Ustr;

/// Functions that make a number of a text, or ask whether it is one.
const CONVERTING: [&str; 7] = ["Decimal", "eval", "float", "int", "isinstance", "literal_eval", "loads"];

/// Functions that take whatever they are given: they show it or keep it.
const TAKING_ALL: [&str; 17] = [
    "add", "append", "bool", "critical", "debug", "dict", "error", "format", "getattr", "info", "log",
    "print", "put", "repr", "str", "update", "warning",
];

/// How often an option is used, by how.
#[derive(Clone, Copy, Default)]
pub(super) struct OptionUses {
    /// A number is needed, or taken: in arithmetic, as an argument, as an index.
    pub as_number: usize,
    /// Only whether it is true matters.
    pub as_condition: usize,
    /// Whoever reads it may know that it is a text.
    pub converted: usize,
}

#[derive(Clone, Copy)]
enum Use {
    Number,
    Condition,
    Converted,
}

impl OptionUses {
    /// Of each option, all reads of an attribute of its name: of whatever object, since a namespace is passed on by
    /// many names.
    pub(super) fn of(script: &Script, dests: impl Iterator<Item = Ustr>) -> FxHashMap<Ustr, OptionUses> {
        let mut uses: FxHashMap<Ustr, OptionUses> = dests.map(|dest| (dest, OptionUses::default())).collect();
        if !uses.is_empty() {
            for file in &script.rehearsal.read {
                add(&script.project.module(*file).tree, &mut uses);
            }
        }
        uses
    }
}

fn add(tree: &Tree, uses: &mut FxHashMap<Ustr, OptionUses>) {
    let mut note = |id: ExprId, what: Use| {
        let Some(name) = read(tree, id) else { return };
        let Some(uses) = uses.get_mut(&name) else { return };
        match what {
            Use::Number => uses.as_number += 1,
            Use::Condition => uses.as_condition += 1,
            Use::Converted => uses.converted += 1,
        }
    };
    tree.exprs.iter().for_each(|expr| uses_in(tree, &expr.kind, &mut note));
    for stmt in &tree.stmts {
        // `args.gpus = [int(gpu) for gpu in str(args.gpus).split(",")]`; `self.lr = args.lr` only keeps it.
        tree.each_target(&stmt.kind, &mut |target| {
            if is_of_namespace(tree, target) {
                note(target, Use::Converted);
            }
        });
        match &stmt.kind {
            StmtKind::If { arms, .. } => arms.iter().for_each(|(test, _)| note(*test, Use::Condition)),
            StmtKind::While { test, .. } => note(*test, Use::Condition),
            _ => {}
        }
    }
}

/// `args.lr`, and `args["lr"]` of `vars(args)`.
fn read(tree: &Tree, id: ExprId) -> Option<Ustr> {
    match tree.expr(id).kind {
        ExprKind::Attribute { name, .. } => Some(name),
        ExprKind::Subscript { index, .. } => match &tree.expr(index).kind {
            ExprKind::Str(text) => Ustr::from_existing(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_of_namespace(tree: &Tree, target: ExprId) -> bool {
    let ExprKind::Attribute { base, .. } = tree.expr(target).kind else { return false };
    !matches!(tree.expr(base).kind, ExprKind::Name(name) if name == "self")
}

/// What an expression does with its operands.
fn uses_in(tree: &Tree, kind: &ExprKind, note: &mut dyn FnMut(ExprId, Use)) {
    let is_text = |id: ExprId| matches!(tree.expr(id).kind, ExprKind::Str(_) | ExprKind::FString(_));
    let is_bool = |id: ExprId| matches!(tree.expr(id).kind, ExprKind::True | ExprKind::False);
    match kind {
        ExprKind::Call { callee, args } => {
            let (ExprKind::Name(name) | ExprKind::Attribute { name, .. }) = tree.expr(*callee).kind else {
                return;
            };
            if TAKING_ALL.contains(&name.as_str()) {
                return;
            }
            // Seeds are converted by whom they are given to; own converters say so by their names.
            let converts =
                CONVERTING.contains(&name.as_str()) || name.contains("seed") || name.contains("str");
            let what = if converts { Use::Converted } else { Use::Number };
            args.iter().for_each(|arg| note(arg.value, what));
        }
        ExprKind::Binary { left, right, .. } if !is_text(*left) && !is_text(*right) => {
            [left, right].iter().for_each(|side| note(**side, Use::Number));
        }
        ExprKind::Compare { first, rest } => {
            let others: Vec<ExprId> = rest.iter().map(|(_, other)| *other).collect();
            let asks = |id: ExprId| is_text(id) || is_bool(id);
            let asks_for_text = asks(*first) || others.iter().any(|other| asks(*other));
            let is_order = |op: &CompareOp| !matches!(op, CompareOp::Is | CompareOp::IsNot);
            let what = match rest.iter().all(|(op, _)| is_order(op)) {
                _ if asks_for_text => Use::Converted,
                true => Use::Number,
                false => return,
            };
            others.iter().chain([first]).for_each(|side| note(*side, what));
        }
        ExprKind::Unary { op: UnaryOp::Not, operand } => note(*operand, Use::Condition),
        ExprKind::Unary { operand, .. } => note(*operand, Use::Number),
        ExprKind::Bool { items, .. } => items.iter().for_each(|item| note(*item, Use::Condition)),
        ExprKind::Conditional { test, .. } => note(*test, Use::Condition),
        ExprKind::Subscript { index, .. } => note(*index, Use::Number),
        _ => {}
    }
}
