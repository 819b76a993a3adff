use super::*;
use std::fs;

fn script(text: &[u8]) -> SourceFile {
    SourceFile::from_bytes(Path::new("a.py"), text).unwrap()
}

/// A folder of its own for each test, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("trainlint-source-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn extensions_decide() {
    let kind = |path: &str| Kind::of(Path::new(path));
    assert_eq!(kind("a/b.py"), Some(Kind::Script));
    assert_eq!(kind("b.pyw"), Some(Kind::Script));
    assert_eq!(kind("b.PY"), Some(Kind::Script));
    assert_eq!(kind("b.pyi"), Some(Kind::Stub));
    assert_eq!(kind("b.ipynb"), Some(Kind::Notebook));
    assert_eq!(kind("train"), None);
    assert_eq!(kind(".py"), None);
    assert_eq!(SourceFile::from_bytes(Path::new("train"), b"x").unwrap().kind, Kind::Script);
    assert_eq!(SourceFile::from_bytes(Path::new("a.pyi"), b"x").unwrap().kind, Kind::Stub);
}

#[test]
fn columns_count_code_points() {
    let file = script("a = 1\r\nb = 'é😀', x\r\n\x0cc\n".as_bytes());
    let at = |what: &str| {
        let place = file.locate(file.text.find(what).unwrap() as u32);
        assert_eq!((place.cell, place.file_line), (None, place.line));
        (place.line, place.column)
    };
    assert_eq!(at("a"), (1, 1));
    assert_eq!(at("b"), (2, 1));
    assert_eq!(at("x"), (2, 11));
    assert_eq!(at("c\n"), (3, 2));
    let inside = file.text.find('😀').unwrap() as u32 + 2;
    assert_eq!(file.locate(inside).column, 7);
    assert_eq!(file.locate(u32::MAX).line, 4);
}

#[test]
fn lines_are_cut_at_line_feeds_only() {
    let file = script("one\r\ntwo \u{2028}\x0c\n\nlast".as_bytes());
    assert_eq!(file.line_text(0), "one");
    assert_eq!(file.line_text(4), "one");
    assert_eq!(file.line_text(5), "two \u{2028}\x0c");
    assert_eq!(file.line_text(u32::MAX), "last");
    assert_eq!(file.line_index(7), 1);
    assert_eq!(&file.text[file.line_range(0)], "one\r\n");
    assert_eq!(&file.text[file.line_range(3)], "last");
    assert!(file.line_range(9).is_empty());
    let empty = script(b"");
    assert_eq!(empty.line_text(0), "");
    assert_eq!(empty.locate(0), Location { line: 1, column: 1, cell: None, file_line: 1 });
}

#[test]
fn marks_and_lone_carriage_returns_are_gone() {
    let file = script(b"\xEF\xBB\xBFa\rb\r\n");
    assert_eq!(&*file.text, "a\nb\r\n");
    assert_eq!(file.locate(2), Location { line: 2, column: 1, cell: None, file_line: 2 });
}

#[test]
fn files_are_read_by_their_extension() {
    let folder = Folder::new("kinds");
    let file = SourceFile::read(&folder.file("a.py", b"# coding: latin-1\n# \xe9")).unwrap();
    assert_eq!((file.kind, &*file.text), (Kind::Script, "# coding: latin-1\n# é"));
    let json = br#"{"cells": [{"cell_type": "code", "source": "x"}]}"#;
    let file = SourceFile::read(&folder.file("a.ipynb", json)).unwrap();
    assert_eq!((file.kind, &*file.text), (Kind::Notebook, "x\n"));
}

#[test]
fn what_cannot_be_read_says_why() {
    let folder = Folder::new("refusals");
    let refusal = |path: &Path| SourceFile::read(path).unwrap_err();
    assert_eq!(refusal(&folder.0.join("none.py")), ReadError::NotFound);
    assert_eq!(refusal(&folder.file("a.py", b"x").join("b.py")), ReadError::NotFound);
    let directory = folder.0.join("x.py");
    fs::create_dir(&directory).unwrap();
    assert_eq!(refusal(&directory), ReadError::Directory);
    assert!(matches!(refusal(&folder.file("b.py", b"\x7fELF\0\0")), ReadError::Nul { offset: 4, line: 1 }));
    assert!(matches!(
        refusal(&folder.file("c.py", b"a\n\xff")),
        ReadError::Undecodable { offset: 2, line: 2, .. }
    ));
}

#[cfg(unix)]
#[test]
fn links_pipes_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("unix");
    let refusal = |path: &Path| SourceFile::read(path).unwrap_err();
    let link = folder.0.join("link.py");
    symlink("gone.py", &link).unwrap();
    assert_eq!(
        refusal(&link).to_string(),
        "is a link to `gone.py`, which does not exist; repair the link or exclude it"
    );
    folder.file("gone.py", b"x = 1");
    assert_eq!(&*SourceFile::read(&link).unwrap().text, "x = 1");
    let socket = folder.0.join("socket.py");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(refusal(&socket), ReadError::NotAFile { what: "a socket" });
    assert_eq!(refusal(Path::new("/dev/zero")), ReadError::NotAFile { what: "a device" });
    let pipe = folder.0.join("pipe.py");
    if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        assert_eq!(refusal(&pipe), ReadError::NotAFile { what: "a named pipe" });
    }
    let secret = folder.file("secret.py", b"x");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::File::open(&secret).is_err() {
        assert_eq!(refusal(&secret), ReadError::Permission);
    }
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let folder = Folder::new("huge");
    let path = folder.0.join("huge.py");
    fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
    let error = SourceFile::read(&path).unwrap_err();
    assert_eq!(error, ReadError::TooLarge { size: 1 << 30, limit: SCRIPT_LIMIT });
    assert_eq!(error.to_string(), "has 1024 MiB, and at most 16 MiB are analyzed; exclude it");
    let growing = read_limited(std::io::repeat(b'x'), 0, 1000).unwrap_err();
    assert_eq!(growing, ReadError::TooLarge { size: 1001, limit: 1000 });
    let bytes = vec![b'x'; SCRIPT_LIMIT as usize + 1];
    assert!(matches!(SourceFile::from_bytes(Path::new("-"), &bytes), Err(ReadError::TooLarge { .. })));
}

#[test]
fn messages_have_the_form_of_messages() {
    let line = 1;
    let errors = [
        ReadError::NotFound,
        ReadError::Permission,
        ReadError::Directory,
        ReadError::NotAFile { what: "a socket" },
        ReadError::Undecodable { encoding: "UTF-8", offset: 3, line },
        ReadError::Nul { offset: 3, line },
        ReadError::NotPython { language: "R".to_owned() },
        ReadError::UnknownEncoding { name: "x".to_owned(), line, suggestion: None },
    ];
    for error in errors {
        let message = error.to_string();
        assert!(message.starts_with(|first: char| first.is_lowercase()), "{message}");
        assert!(!message.ends_with('.') && message.contains(';'), "{message}");
    }
}

/// Cuts and garbles an awkward script and notebook: reading refuses or gives places within the text.
#[test]
fn nothing_panics_on_broken_input() {
    let code = "# coding: utf-8\r\nx = f('é(', # trainlint: ignore[a,]\n)\n%time y = '''\\\n!ls \\\n@d?\n\
                # noqa\n\t%%bash\r a=!b\n# trainlint: disable[b]\nfrom torch import nn\n  w";
    let cell = serde_json::to_string(code).unwrap();
    let json = format!(
        r#"{{"cells": [{{"cell_type": "code", "source": [{cell}, "  q"]}}, {{"cell_type": "code", "source": {cell}}}]}}"#
    );
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut read = 0;
    for (name, whole) in [("a.py", code), ("a.ipynb", &json)] {
        for cut in 0..=whole.len() {
            read += usize::from(survives(name, &whole.as_bytes()[..cut]));
        }
        for _ in 0..3000 {
            let mut bytes = whole.as_bytes().to_vec();
            for _ in 0..=next(4) {
                let (to, from) = (next(bytes.len()), next(bytes.len()));
                bytes[to] = bytes[from];
            }
            read += usize::from(survives(name, &bytes));
        }
    }
    assert!(read > 3000, "only {read} were read at all");
}

/// False when reading refuses.
fn survives(name: &str, bytes: &[u8]) -> bool {
    mentions_framework(bytes, &["torch"]);
    let Ok(file) = SourceFile::from_bytes(Path::new(name), bytes) else { return false };
    let length = file.text.len() as u32;
    let mut last = Location { line: 0, column: 0, cell: None, file_line: 0 };
    for offset in 0..=length {
        let place = file.locate(offset);
        assert!((place.cell, place.line, place.column) >= (last.cell, last.line, last.column), "{place:?}");
        assert!(file.text.contains(file.line_text(offset)));
        last = place;
    }
    let mut end = 0;
    for line in logical_lines(&file.text) {
        assert!(end <= line.start && line.start < line.end && line.end <= length);
        end = line.end;
    }
    let hashes = file.text.match_indices('#').map(|(at, _)| at as u32);
    let to_end = |at: u32| at + file.text[at as usize..].lines().next().unwrap_or_default().len() as u32;
    let comments: Vec<_> = hashes.map(|at| crate::report::Span::new(at, to_end(at))).collect();
    let mut suppressions = Suppressions::collect(&file.text, &comments, || logical_lines(&file.text));
    suppressions.covers(&["a"], crate::report::Span::new(0, length));
    true
}
