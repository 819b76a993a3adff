//! What an analysis notes of an object, beside the attributes that Python sees: no code of the script can read
//! it, and none but whoever declares the key.

use super::Value;

/// The key of a note. It is declared once, as a private constant of the file that keeps the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note(&'static str);

impl Note {
    /// The name tells keys apart and says what the note is about.
    pub const fn new(name: &'static str) -> Note {
        Note(name)
    }
}

/// Of a copy, what it is one of: whoever was made before it has nothing of it. The interpreter notes it for all.
pub const COPIED: Note = Note::new("copied");

/// The notes on one object. They join as attributes do.
pub type Notes = Vec<(Note, Value)>;
