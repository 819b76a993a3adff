//! Why nothing is known of a line: what is around it was not entered, the script left before it, or there is
//! nothing to tell of in it.

use crate::report::Span;
use crate::syntax::{Block, FunctionBody, Stmt, StmtId, StmtKind, Tree};
use rustc_hash::FxHashSet;

/// Why a line has no values, in words that follow a colon.
pub(super) fn why(tree: &Tree, text: &str, reached: &FxHashSet<StmtId>, line: Span) -> String {
    let words = text.get(line.range()).unwrap_or_default();
    let code = words.trim_start();
    if code.is_empty() || code.starts_with('#') {
        return "there is no code in it".to_owned();
    }
    let at = line.start + (words.len() - code.len()) as u32;
    let search = Search { tree, text, reached, at };
    search.block(&tree.body, "the script")
}

/// It was reached.
const NOTHING: &str = "it neither reads nor assigns a tracked value";

struct Search<'a> {
    tree: &'a Tree,
    text: &'a str,
    reached: &'a FxHashSet<StmtId>,
    /// Where the code of the line begins.
    at: u32,
}

impl Search<'_> {
    /// Looks for the line in a block, whose owner was reached.
    fn block(&self, block: &[StmtId], owner: &str) -> String {
        let holds = |id: &StmtId| {
            let span = self.tree.stmt(*id).span;
            span.start <= self.at && self.at < span.end
        };
        let Some(index) = block.iter().position(holds) else {
            return NOTHING.to_owned();
        };
        if self.reached.contains(&block[index]) {
            return self.inside(self.tree.stmt(block[index]));
        }
        let before = block[..index].iter().rev().find(|id| self.reached.contains(id));
        match before.map(|id| self.tree.stmt(*id)) {
            None => format!("{owner} is not entered"),
            Some(last) => format!("the script never gets past line {}", self.line(last.span)),
        }
    }

    /// Looks for the line in the blocks of a statement that was reached.
    fn inside(&self, stmt: &Stmt) -> String {
        let line = self.line(stmt.span);
        for (block, owner) in blocks(self.tree, stmt) {
            let spans = |id: &StmtId| self.tree.stmt(*id).span;
            let (Some(first), Some(last)) = (block.first().map(spans), block.last().map(spans)) else {
                continue;
            };
            if first.start <= self.at && self.at < last.end {
                return self.block(block, &format!("{owner} of line {line}"));
            }
        }
        NOTHING.to_owned()
    }

    fn line(&self, span: Span) -> usize {
        self.text.get(..span.start as usize).map_or(0, |before| before.matches('\n').count()) + 1
    }
}

/// The blocks of a statement, and what each is called.
fn blocks<'t>(tree: &'t Tree, stmt: &'t Stmt) -> Vec<(&'t Block, &'static str)> {
    match &stmt.kind {
        StmtKind::If { arms, otherwise } => {
            let arms = arms.iter().map(|(_, body)| (body, "because of its condition, the branch"));
            arms.chain([(otherwise, "because of a condition, the `else`")]).collect()
        }
        StmtKind::While { body, otherwise, .. } => {
            vec![(body, "because its condition is false, the loop"), (otherwise, "the `else`")]
        }
        StmtKind::For { body, otherwise, .. } => {
            vec![(body, "because its iterable is empty, the loop"), (otherwise, "the `else`")]
        }
        StmtKind::With { body, .. } => vec![(body, "the `with`")],
        StmtKind::Try { body, handlers, otherwise, finally } => {
            let handlers = handlers.iter().map(|handler| (&handler.body, "the handler"));
            let rest = [(otherwise, "the `else`"), (finally, "the `finally`")];
            std::iter::once((body, "the `try`")).chain(handlers).chain(rest).collect()
        }
        StmtKind::Function(id) => match &tree.function(*id).body {
            FunctionBody::Block(body) => vec![(body, "because no analyzed code calls it, the function")],
            FunctionBody::Expr(_) => Vec::new(),
        },
        StmtKind::Class(id) => vec![(&tree.class(*id).body, "the class")],
        StmtKind::Match { cases, .. } => {
            cases.iter().map(|case| (&case.body, "because another case matches, the case")).collect()
        }
        _ => Vec::new(),
    }
}
