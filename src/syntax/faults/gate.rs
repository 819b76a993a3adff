//! Whether a text may be broken at all: most are done with here, by a look at the tree. The recovering parser
//! takes more than Python does: `print x`, blocks without a statement, lines that stand anywhere, `async` as a name.

use crate::report::Span;
use crate::syntax::ast::*;

pub(super) fn may_be_broken(text: &str, tree: &Tree) -> bool {
    !tree.errors.is_empty()
        || mixes_blanks(text)
        || !is_even(text, tree, &tree.body, Some(""))
        || tree
            .stmts
            .iter()
            .any(|stmt| is_lacking(text, tree, &stmt.kind) || lacks_value(text, tree, &stmt.kind))
        || tree.exprs.iter().any(|expr| is_old(text, tree, &expr.kind))
        || tree.functions.iter().any(|function| function.params.iter().any(|param| param.name == "async"))
}

/// Whether some lines begin with a tab and others with a blank, or one with both.
fn mixes_blanks(text: &str) -> bool {
    let begins = |blank: &str| text.contains(blank);
    text.contains('\t') && (begins("\n\t") && begins("\n ") || begins(" \t"))
}

/// Whether a statement has a block that Python would not take for one.
fn is_lacking(text: &str, tree: &Tree, kind: &StmtKind) -> bool {
    let lacks = |block: &[StmtId]| block.is_empty() || !is_even(text, tree, block, None);
    let uneven = |block: &[StmtId]| !is_even(text, tree, block, None);
    match kind {
        StmtKind::Function(id) => match &tree.functions[id.0 as usize].body {
            FunctionBody::Block(body) => lacks(body),
            FunctionBody::Expr(_) => false,
        },
        StmtKind::Class(id) => lacks(&tree.classes[id.0 as usize].body),
        StmtKind::If { arms, otherwise } => arms.iter().any(|(_, body)| lacks(body)) || uneven(otherwise),
        StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
            lacks(body) || uneven(otherwise)
        }
        StmtKind::With { body, .. } => lacks(body),
        StmtKind::Try { body, handlers, otherwise, finally } => {
            lacks(body)
                || (handlers.is_empty() && finally.is_empty())
                || handlers.iter().any(|handler| lacks(&handler.body))
                || uneven(otherwise)
                || uneven(finally)
        }
        StmtKind::Match { cases, .. } => cases.iter().any(|case| lacks(&case.body)),
        _ => false,
    }
}

/// `threshold =`, and a line that stands no further in. Where a comment says that it is to be filled in, an exercise is.
fn lacks_value(text: &str, tree: &Tree, kind: &StmtKind) -> bool {
    let span = |expr: &ExprId| tree.exprs[expr.0 as usize].span;
    let (target, value) = match kind {
        StmtKind::Assign { targets, value } => (targets.last().map(span), span(value)),
        StmtKind::AugAssign { target, value, .. } => (Some(span(target)), span(value)),
        _ => return false,
    };
    target.is_some_and(|target| {
        breaks_off(text, target, value) && !text[target.end as usize..value.start as usize].contains('#')
    })
}

/// Whether all statements of a block that begin a line are indented as the first, or as is said.
fn is_even(text: &str, tree: &Tree, block: &[StmtId], indent: Option<&str>) -> bool {
    let mut first = indent;
    block.iter().all(|stmt| {
        let Some(own) = indent_of(text, tree.stmts[stmt.0 as usize].span) else { return true };
        *first.get_or_insert(own) == own
    })
}

/// What stands before a statement on its line, where that is nothing but blanks.
fn indent_of(text: &str, span: Span) -> Option<&str> {
    let before = &text[..span.start as usize];
    let line = before.trim_end_matches([' ', '\t', '\x0c']);
    (line.is_empty() || line.ends_with('\n')).then(|| before[line.len()..].trim_start_matches('\x0c'))
}

/// `f(a=1, b)`
fn is_late(args: &[Arg]) -> bool {
    let named = args.iter().position(|arg| matches!(arg.kind, ArgKind::Keyword(_)));
    named.is_some_and(|at| args[at..].iter().any(|arg| arg.kind == ArgKind::Positional))
}

/// `total = a *`, and a line that stands no further in: outside of brackets the operator has no operand.
fn breaks_off(text: &str, left: Span, right: Span) -> bool {
    let between = &text[left.end as usize..(right.start as usize).max(left.end as usize)];
    let line = |at: u32| text[..at as usize].rfind('\n').map_or(0, |end| end + 1);
    let indent = |at: u32| {
        let line = &text[line(at)..];
        line.len() - line.trim_start_matches([' ', '\t']).len()
    };
    between.contains('\n')
        && !between.contains('\\')
        && text[line(right.start)..right.start as usize].trim_start_matches([' ', '\t']).is_empty()
        && indent(right.start) <= indent(left.start)
}

/// `print x`, and `async` where a name is expected.
fn is_old(text: &str, tree: &Tree, kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Name(name) => *name == "async",
        ExprKind::Binary { left, right, .. } => {
            let span = |operand: &ExprId| tree.exprs[operand.0 as usize].span;
            breaks_off(text, span(left), span(right))
        }
        ExprKind::Compare { first, rest } => {
            let span = |operand: &ExprId| tree.exprs[operand.0 as usize].span;
            rest.first().is_some_and(|(_, second)| breaks_off(text, span(first), span(second)))
        }
        ExprKind::Call { callee, args } => {
            let callee = &tree.exprs[callee.0 as usize];
            let may_be_statement =
                matches!(&callee.kind, ExprKind::Name(name) if *name == "print" || *name == "exec");
            let is_statement = || {
                !text[callee.span.end as usize..].trim_start_matches([' ', '\t', '\\', '\n']).starts_with('(')
            };
            let is_async = |arg: &Arg| matches!(arg.kind, ArgKind::Keyword(name) if name == "async");
            (may_be_statement && is_statement()) || args.iter().any(is_async) || is_late(args)
        }
        _ => false,
    }
}
