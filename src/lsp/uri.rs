//! URIs of documents, kept as the client writes them, and the paths that they stand for.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::path::{Path, PathBuf};

/// What is written as it is in a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The path of a `file:` URI; none for any other.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    // `/C:/x`, as Windows has it.
    let drive = decoded.strip_prefix('/').filter(|rest| is_drive(rest));
    Some(match drive {
        Some(path) => PathBuf::from(path),
        None if host.is_empty() || host == "localhost" => PathBuf::from(&*decoded),
        None => PathBuf::from(format!("//{host}{decoded}")),
    })
}

/// The URI of an absolute path.
pub(crate) fn of_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() };
    let gap = if is_drive(&text) { "/" } else { "" };
    format!("file://{gap}{}", utf8_percent_encode(&text, KEPT))
}

/// What a document that is no file yet is called: `untitled:` of most clients, `buffer:` of Sublime Text.
pub(crate) fn untitled_name(uri: &str) -> Option<String> {
    let name = uri.strip_prefix("untitled:").or(uri.strip_prefix("buffer:"))?;
    let decoded = percent_decode_str(name).decode_utf8().ok()?;
    (!decoded.is_empty()).then(|| decoded.into_owned())
}

fn is_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1..3] == *b":/"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/a/b.py", "/with space/ü😀#?%.py", "/a:b/c"] {
            assert_eq!(path_of(&of_path(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of("file:///c%3A/x/y.py"), Some(PathBuf::from("c:/x/y.py")));
        assert_eq!(path_of("file://localhost/x.py"), Some(PathBuf::from("/x.py")));
        assert_eq!(path_of("untitled:Untitled-1"), None);
        assert_eq!(path_of("file://"), None);
        assert_eq!(untitled_name("untitled:Untitled-1").as_deref(), Some("Untitled-1"));
        assert_eq!(untitled_name("buffer:7").as_deref(), Some("7"));
        assert_eq!(untitled_name("git:/x.py"), None);
    }
}
