//! Lowers tree-sitter's concrete tree into the typed one, in one cursor walk that
//! dispatches on kind ids. Never fails; what nests deeper than [`MAX_DEPTH`] becomes
//! `Missing` or is dropped, so that nothing that reads the tree can overflow its stack.

mod compound;
mod definitions;
mod expressions;
mod literals;
mod operators;
mod patterns;
mod statements;

use super::ast::*;
use super::comments::without_long_runs;
use super::kinds::{self, Kind};
use super::pieces::Pieces;
use crate::report::Span;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use tree_sitter::{Node, Parser, TreeCursor};
use unicode_normalization::UnicodeNormalization;
use ustr::{Ustr, ustr};

/// Levels of expressions and blocks that are kept.
pub const MAX_DEPTH: u32 = 200;

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses and lowers `text` with this thread's parser.
pub fn parse(text: &str) -> Tree {
    with_parser(|parser| parse_with(parser, text))
}

/// [`parse`] of a text of which most was parsed before: the same tree, sooner.
pub fn parse_again(pieces: &mut Pieces, text: &str) -> Tree {
    with_parser(|parser| if can_parse(parser, text) { pieces.parse(parser, text) } else { Tree::default() })
}

fn with_parser<T>(work: impl FnOnce(&mut Parser) -> T) -> T {
    PARSER.with(|parser| match parser.try_borrow_mut() {
        Ok(mut parser) => work(&mut parser),
        Err(_) => work(&mut Parser::new()),
    })
}

fn can_parse(parser: &mut Parser, text: &str) -> bool {
    let has_language =
        parser.language().is_some() || parser.set_language(&tree_sitter_python::LANGUAGE.into()).is_ok();
    // Spans have 32 bits.
    has_language && u32::try_from(text.len()).is_ok()
}

/// Parses and lowers `text`. The parser may be new or have parsed other texts.
pub fn parse_with(parser: &mut Parser, text: &str) -> Tree {
    if !can_parse(parser, text) {
        return Tree::default();
    }
    let (seen, _) = without_long_runs(text);
    match parser.parse(&*seen, None) {
        // How a parser recovers depends on everything around; in pieces, only on the piece that is broken.
        Some(concrete) if concrete.root_node().has_error() => Pieces::default().parse(parser, text),
        Some(concrete) => lower(&concrete, text),
        None => Tree::default(),
    }
}

/// Lowers an already parsed tree of `text`.
pub fn lower(concrete: &tree_sitter::Tree, text: &str) -> Tree {
    lower_within(0, concrete, text)
}

/// Lowers what stands so many levels deep in a module.
pub(super) fn lower_within(depth: u32, concrete: &tree_sitter::Tree, text: &str) -> Tree {
    let root = concrete.root_node();
    let mut lowering = Lowering::new(root, text);
    lowering.depth = depth;
    lowering.tree.body = lowering.block();
    let mut tree = lowering.tree;
    tree.comments.extend(without_long_runs(text).1);
    if root.has_error() {
        tree.errors = errors(root);
    }
    // Broken code and long runs of comments are the only reasons for disorder; a node visited twice gives doubles.
    for spans in [&mut tree.comments, &mut tree.lines] {
        if !spans.windows(2).all(|pair| pair[0] < pair[1]) {
            spans.sort_unstable();
            spans.dedup();
        }
    }
    tree
}

/// The error and missing nodes below `root`, outermost only.
/// A name as Python takes it, which knows a letter by its form in NFKC.
fn identifier(text: &str) -> Ustr {
    if text.is_ascii() { ustr(text) } else { ustr(&text.nfkc().collect::<String>()) }
}

fn errors(root: Node) -> Vec<Span> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let broken = node.is_error() || node.is_missing();
        if broken {
            found.push(span_of(node));
        }
        // A root that is an error itself says nothing of where the trouble is.
        let inside = node.has_error() && (!broken || node == root);
        if inside && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn span_of(node: Node) -> Span {
    Span::new(node.start_byte() as u32, node.end_byte() as u32)
}

/// The walk: every method that lowers a node finds the cursor on it and leaves it there.
struct Lowering<'t> {
    text: &'t str,
    cursor: TreeCursor<'t>,
    kinds: &'static [Kind],
    tree: Tree,
    names: FxHashMap<&'t str, Ustr>,
    depth: u32,
    function: Option<FnId>,
    class: Option<ClassId>,
    /// The target of an `as` inside of the expression that was lowered last.
    bound: Option<ExprId>,
    // Children that wait for their parent; each user takes what it put there.
    exprs: Vec<ExprId>,
    stmts: Vec<StmtId>,
    args: Vec<Arg>,
    pairs: Vec<(Option<ExprId>, ExprId)>,
}

impl<'t> Lowering<'t> {
    fn new(root: Node<'t>, text: &'t str) -> Self {
        // Measured on training code: a node of ours per 10 to 12 bytes of text.
        let tree = Tree { exprs: Vec::with_capacity(text.len() / 12), ..Tree::default() };
        Lowering {
            text,
            cursor: root.walk(),
            kinds: kinds::table(),
            tree,
            names: FxHashMap::default(),
            depth: 0,
            function: None,
            class: None,
            bound: None,
            exprs: Vec::new(),
            stmts: Vec::new(),
            args: Vec::new(),
            pairs: Vec::new(),
        }
    }

    fn kind_of(&self, node: Node) -> Kind {
        self.kinds.get(node.kind_id() as usize).copied().unwrap_or(Kind::Error)
    }

    fn here(&self) -> (Kind, Node<'t>) {
        let node = self.cursor.node();
        (self.kind_of(node), node)
    }

    fn text_of(&self, span: Span) -> &'t str {
        self.text.get(span.range()).unwrap_or("")
    }

    fn name(&mut self, span: Span) -> Ustr {
        let text = self.text_of(span);
        *self.names.entry(text).or_insert_with(|| identifier(text))
    }

    /// To the first child that is no comment.
    fn down(&mut self) -> Option<(Kind, Node<'t>)> {
        if !self.cursor.goto_first_child() {
            return None;
        }
        let found = self.past_extras();
        if found.is_none() {
            self.cursor.goto_parent();
        }
        found
    }

    /// To the next sibling that is no comment; the cursor stays at the last child if there is none.
    fn next(&mut self) -> Option<(Kind, Node<'t>)> {
        if !self.cursor.goto_next_sibling() {
            return None;
        }
        self.past_extras()
    }

    fn past_extras(&mut self) -> Option<(Kind, Node<'t>)> {
        loop {
            let (kind, node) = self.here();
            if !kind.is_extra() {
                return Some((kind, node));
            }
            if kind == Kind::Comment {
                self.tree.comments.push(span_of(node));
            }
            if !self.cursor.goto_next_sibling() {
                return None;
            }
        }
    }

    /// Back up `levels` parents, past what is left of each one's children.
    fn rise(&mut self, levels: usize) {
        for _ in 0..levels {
            while self.next().is_some() {}
            self.cursor.goto_parent();
        }
    }

    /// Visits the children of the node that the cursor is on.
    fn each(&mut self, mut visit: impl FnMut(&mut Self, Kind, Node<'t>)) {
        let mut child = self.down();
        let any = child.is_some();
        while let Some((kind, node)) = child {
            visit(self, kind, node);
            child = self.next();
        }
        if any {
            self.cursor.goto_parent();
        }
    }

    /// Keeps the comments of a part of the tree that is not lowered.
    fn scan(&mut self) {
        let mut levels = 0;
        loop {
            if self.down().is_some() {
                levels += 1;
                continue;
            }
            loop {
                if levels == 0 {
                    return;
                }
                if self.next().is_some() {
                    break;
                }
                self.cursor.goto_parent();
                levels -= 1;
            }
        }
    }

    fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(self.tree.exprs.len() as u32);
        self.tree.exprs.push(Expr { kind, span });
        id
    }

    fn missing(&mut self, span: Span) -> ExprId {
        self.push(ExprKind::Missing, span)
    }

    fn take_exprs(&mut self, mark: usize) -> Exprs {
        self.exprs.drain(mark..).collect()
    }

    fn take_stmts(&mut self, mark: usize) -> Block {
        self.stmts.drain(mark..).collect()
    }
}
