//! Small texts that scripts read: configuration files.

use super::read_regular;
use super::reads::note_text;
use memchr::memmem;
use std::path::Path;

/// Where a text has a word in it, not as part of another.
pub fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter == '_' || letter.is_alphanumeric());
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !is_part(text[..*at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// Whether a text puts something on a GPU, or asks for one.
pub fn speaks_of_gpus(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"cuda").is_some()
}

/// Larger files are data, not configuration.
const LARGEST: u64 = 1 << 20;

/// The text of a file of at most 1 MiB in UTF-8; `None` when there is none, or it is something else.
pub fn read_text(path: &Path) -> Option<String> {
    note_text(path);
    let text = String::from_utf8(read_regular(path, LARGEST).ok()?).ok()?;
    Some(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}
