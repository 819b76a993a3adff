//! A text parsed piece by piece. Pieces that were parsed before are not parsed again, so that an edit costs the
//! parsing of what it touches; and what is broken breaks its own piece only.

use super::Tree;
use super::lower::lower_all;
use crate::source::cuts;
use rustc_hash::FxHashMap;
use tree_sitter::{Node, Parser, Point};
use xxhash_rust::xxh3::xxh3_128;

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
    tree: tree_sitter::Tree,
    /// The last round in which it was part of the text.
    used: u64,
}

impl Pieces {
    /// Parses and lowers a text.
    pub fn parse(&mut self, parser: &mut Parser, text: &str) -> Tree {
        self.round += 1;
        let mut starts = cuts(text);
        starts.push(text.len());
        let mut trees = Vec::with_capacity(starts.len());
        for pair in starts.windows(2) {
            let Some(tree) = self.piece(parser, &text[pair[0]..pair[1]]) else { return Tree::default() };
            trees.push((tree, pair[0]));
        }
        let oldest = self.round.saturating_sub(KEPT_ROUNDS);
        self.known.retain(|_, piece| piece.used >= oldest);
        // Only offsets count here; rows and columns nobody asks for.
        let roots: Vec<Node<'_>> =
            trees.iter().map(|(tree, start)| tree.root_node_with_offset(*start, Point::default())).collect();
        lower_all(&roots, text)
    }

    fn piece(&mut self, parser: &mut Parser, text: &str) -> Option<tree_sitter::Tree> {
        let digest = xxh3_128(text.as_bytes());
        if let Some(piece) = self.known.get_mut(&digest) {
            piece.used = self.round;
            return Some(piece.tree.clone());
        }
        let tree = parser.parse(text, None)?;
        self.known.insert(digest, Piece { tree: tree.clone(), used: self.round });
        Some(tree)
    }
}
