//! Small texts that scripts read: configuration files.

use super::read_regular;
use super::reads::note_text;
use std::path::Path;

/// Larger files are data, not configuration.
const LARGEST: u64 = 1 << 20;

/// The text of a file of at most 1 MiB in UTF-8; `None` when there is none, or it is something else.
pub fn read_text(path: &Path) -> Option<String> {
    note_text(path);
    let text = String::from_utf8(read_regular(path, LARGEST).ok()?).ok()?;
    Some(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}
