//! What becomes of an option of the command line: whether it is used as it comes, or converted first.

use crate::facts::Script;
use crate::syntax::{CompareOp, ExprId, ExprKind, StmtKind, Tree, UnaryOp};
use rustc_hash::FxHashMap;
use ustr::Ustr;

/// Functions that take a number and its text alike: they convert it, or only show it.
const TAKING_TEXTS: [&str; 18] = [
    "Decimal",
    "bool",
    "critical",
    "debug",
    "error",
    "eval",
    "float",
    "format",
    "info",
    "int",
    "join",
    "literal_eval",
    "log",
    "loads",
    "print",
    "repr",
    "str",
    "warning",
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
        let ExprKind::Attribute { name, .. } = tree.expr(id).kind else { return };
        let Some(uses) = uses.get_mut(&name) else { return };
        match what {
            Use::Number => uses.as_number += 1,
            Use::Condition => uses.as_condition += 1,
            Use::Converted => uses.converted += 1,
        }
    };
    tree.exprs.iter().for_each(|expr| uses_in(tree, &expr.kind, &mut note));
    for stmt in &tree.stmts {
        match &stmt.kind {
            StmtKind::If { arms, .. } => arms.iter().for_each(|(test, _)| note(*test, Use::Condition)),
            StmtKind::While { test, .. } => note(*test, Use::Condition),
            _ => {}
        }
    }
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
            // Seeds are converted by whom they are given to; own converters say so by their names.
            let converts =
                TAKING_TEXTS.contains(&name.as_str()) || name.contains("seed") || name.contains("str");
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
