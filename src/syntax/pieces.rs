//! A text parsed piece by piece. Pieces that were parsed before are not parsed again, so that an edit costs the
//! parsing of what it touches; and what is broken breaks its own piece only.

use super::ast::*;
use super::comments::without_long_runs;
use super::lower::lower_within;
use crate::source::{Chunk, chunks};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use tree_sitter::{Node, Parser};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// A piece that has not been part of the text for so many rounds is forgotten: an edit is often taken back.
const KEPT_ROUNDS: u64 = 16;

/// The pieces of the latest texts of a file.
#[derive(Default)]
pub struct Pieces {
    /// By the digest of their texts.
    known: FxHashMap<u128, Piece>,
    round: u64,
}

struct Piece {
    /// As if it were the whole text.
    tree: Tree,
    /// Where the class ends that ends with it.
    end: u32,
    /// The last round in which it was part of the text.
    used: u64,
}

impl Pieces {
    /// Parses and lowers a text.
    pub fn parse(&mut self, parser: &mut Parser, text: &str) -> Tree {
        self.round += 1;
        let mut whole = Whole::default();
        let chunks = chunks(text);
        for (index, chunk) in chunks.iter().enumerate() {
            let next = chunks.get(index + 1);
            let end = next.map_or(text.len(), |next| next.start);
            let Some(piece) = self.piece(parser, &text[chunk.start..end], chunk.is_member) else {
                return Tree::default();
            };
            whole.append(piece, *chunk, next.is_some_and(|next| next.is_member));
        }
        let oldest = self.round.saturating_sub(KEPT_ROUNDS);
        self.known.retain(|_, piece| piece.used >= oldest);
        whole.finish()
    }

    fn piece(&mut self, parser: &mut Parser, text: &str, is_member: bool) -> Option<&Piece> {
        let digest = xxh3_128_with_seed(text.as_bytes(), u64::from(is_member));
        let piece = match self.known.entry(digest) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Piece::of(parser, text, is_member)?),
        };
        piece.used = self.round;
        Some(piece)
    }
}

impl Piece {
    fn of(parser: &mut Parser, text: &str, is_member: bool) -> Option<Piece> {
        let concrete = parser.parse(&*without_long_runs(text).0, None)?;
        let (depth, end) =
            if is_member { (MEMBER_DEPTH, block_end(concrete.root_node(), text)) } else { (0, 0) };
        Some(Piece { tree: lower_within(depth, &concrete, text), end, used: 0 })
    }
}

/// The class around a member counts.
const MEMBER_DEPTH: u32 = 1;

/// The pieces so far, as one module.
#[derive(Default)]
struct Whole {
    tree: Tree,
    body: Vec<StmtId>,
    class: Option<Open>,
}

/// A class whose members follow, taken from the statements, among which it comes behind them.
struct Open {
    id: ClassId,
    stmt: Stmt,
    members: Vec<StmtId>,
    end: u32,
}

impl Whole {
    fn append(&mut self, piece: &Piece, chunk: Chunk, has_members: bool) {
        if !chunk.is_member {
            self.close();
        }
        let start = chunk.start as u32;
        let functions = self.tree.functions.len();
        let block = self.tree.append(&piece.tree, start);
        match &mut self.class {
            Some(class) => {
                class.members.extend(block);
                class.end = start + piece.end;
                for function in &mut self.tree.functions[functions..] {
                    // What is in no function and no class of the piece is in the class around it.
                    if function.parent.is_none() && function.class.is_none() {
                        function.class = Some(class.id);
                    }
                }
            }
            None => self.body.extend(block),
        }
        if has_members && !chunk.is_member {
            self.open();
        }
    }

    /// The class that has just come is to have more members; in broken text there may be none.
    fn open(&mut self) {
        let last = self.tree.stmts.len().checked_sub(1).map(|last| StmtId(last as u32));
        if self.body.last().copied() != last {
            return;
        }
        let is_class = |stmt: &mut Stmt| matches!(stmt.kind, StmtKind::Class(_));
        let Some(stmt) = self.tree.stmts.pop_if(is_class) else { return };
        self.body.pop();
        if let StmtKind::Class(id) = stmt.kind {
            let class = &mut self.tree.classes[id.0 as usize];
            let members = std::mem::take(&mut class.body).into_vec();
            self.class = Some(Open { id, stmt, members, end: class.span.end });
        }
    }

    fn close(&mut self) {
        let Some(Open { id, mut stmt, members, end }) = self.class.take() else { return };
        let class = &mut self.tree.classes[id.0 as usize];
        class.body = members.into_boxed_slice();
        (class.span.end, stmt.span.end) = (end, end);
        self.body.push(StmtId(self.tree.stmts.len() as u32));
        self.tree.stmts.push(stmt);
    }

    fn finish(mut self) -> Tree {
        self.close();
        self.tree.body = self.body.into_boxed_slice();
        self.tree
    }
}

/// Where a block ends whose last statements these are: comments after them belong to it as far as they are
/// indented as much.
fn block_end(root: Node<'_>, text: &str) -> u32 {
    let indent = width(text);
    let (mut end, mut is_open) = (0, true);
    for node in root.children(&mut root.walk()) {
        let is_comment = node.kind() == "comment";
        let line = text[..node.start_byte()].rfind('\n').map_or(0, |feed| feed + 1);
        is_open = !is_comment || (is_open && width(&text[line..]) >= indent);
        if is_open {
            end = node.end_byte() as u32;
        }
    }
    end
}

/// Of the blanks that a line begins with.
fn width(line: &str) -> usize {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.map(|blank| if blank == b'\t' { 8 } else { 1 }).sum()
}
