//! Bytes to text as Python decodes its sources: byte order mark, PEP 263 declaration,
//! else UTF-8. Valid UTF-8 is borrowed, not copied. More lenient than Python where the
//! text is certain all the same: UTF-16 with a mark, or an odd declaration over pure ASCII.

use super::ReadError;
use encoding_rs::{DecoderResult, Encoding};
use std::borrow::Cow;

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A Python source: the declaration in its first two lines counts.
pub(super) fn decode_script(bytes: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    finish(raw_script(bytes)?.0)
}

/// A text that declares nothing, such as JSON: a byte order mark, else UTF-8.
pub(super) fn decode_plain(bytes: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    finish(raw_plain(bytes)?.0)
}

/// A text that is decoded already; what it declares is about a file.
pub(super) fn of_text(text: &str) -> Result<Cow<'_, str>, ReadError> {
    finish(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// The text as it stands in the file, its line ends included, and how it is written there.
pub(super) fn raw_script(bytes: &[u8]) -> Result<(Cow<'_, str>, Coding), ReadError> {
    match declaration(bytes) {
        Some(declared) if !marked(bytes) => decode_declared(bytes, declared),
        _ => raw_plain(bytes),
    }
}

/// [`raw_script`] of a text that declares nothing.
pub(super) fn raw_plain(bytes: &[u8]) -> Result<(Cow<'_, str>, Coding), ReadError> {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) if encoding == encoding_rs::UTF_8 => {
            Ok((utf8(&bytes[mark..], mark)?, Coding::Utf8 { mark }))
        }
        Some((encoding, mark)) => Ok((other(bytes, mark, encoding)?, Coding::Other { encoding, mark })),
        None => Ok((utf8(bytes, 0)?, Coding::Utf8 { mark: 0 })),
    }
}

/// How a text is written as bytes, behind a mark of so many of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coding {
    Utf8 { mark: usize },
    Latin1,
    Other { encoding: &'static Encoding, mark: usize },
}

impl Coding {
    /// The bytes of another text, with the mark of those that were read; `None` where they can't hold it.
    pub(super) fn encode(self, text: &str, read: &[u8]) -> Option<Vec<u8>> {
        let (mark, written) = match self {
            Coding::Utf8 { mark } => (mark, text.as_bytes().to_vec()),
            Coding::Latin1 => (0, text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<_>>()?),
            Coding::Other { encoding, mark } => (mark, encoded(encoding, text)?),
        };
        Some([read.get(..mark)?, &written].concat())
    }
}

fn encoded(encoding: &'static Encoding, text: &str) -> Option<Vec<u8>> {
    // The web writes no UTF-16, so encoding_rs does not either.
    if encoding == encoding_rs::UTF_16LE {
        return Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == encoding_rs::UTF_16BE {
        return Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let (bytes, _, replaced) = encoding.encode(text);
    (!replaced).then(|| bytes.into_owned())
}

fn marked(bytes: &[u8]) -> bool {
    Encoding::for_bom(bytes).is_some()
}

/// What a declaration says, and on which line.
struct Declared<'a> {
    name: &'a str,
    line: u32,
}

/// PEP 263: a comment in the first line, or in the second when the first holds no code.
fn declaration(bytes: &[u8]) -> Option<Declared<'_>> {
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    let mut rest = bytes;
    for line in 1..=2 {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (first, after) = rest.split_at(end);
        let first = first.trim_ascii_start();
        if let Some(name) = declared_in(first) {
            return Some(Declared { name, line });
        }
        if !(first.is_empty() || first.starts_with(b"#")) {
            return None;
        }
        rest = after.strip_prefix(b"\r\n").unwrap_or(after.get(1..).unwrap_or_default());
    }
    None
}

/// `coding[:=]\s*([-\w.]+)` in a comment.
fn declared_in(line: &[u8]) -> Option<&str> {
    if !line.starts_with(b"#") {
        return None;
    }
    memchr::memmem::find_iter(line, b"coding").find_map(|at| {
        let after = line[at + 6..].strip_prefix(b":").or_else(|| line[at + 6..].strip_prefix(b"="))?;
        let after = after.trim_ascii_start();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let end = after.iter().position(|byte| !is_name(byte)).unwrap_or(after.len());
        std::str::from_utf8(&after[..end]).ok().filter(|name| !name.is_empty())
    })
}

fn decode_declared<'a>(bytes: &'a [u8], declared: Declared<'_>) -> Result<(Cow<'a, str>, Coding), ReadError> {
    let name = declared.name.to_ascii_lowercase().replace('_', "-");
    let plain = Coding::Utf8 { mark: 0 };
    let text = match family(&name) {
        Family::Utf8 => utf8(bytes, 0)?,
        // Not encoding_rs's label, which is windows-1252 as on the web.
        Family::Latin1 => return Ok((encoding_rs::mem::decode_latin1(bytes), Coding::Latin1)),
        Family::Ascii => ascii(bytes).ok_or_else(|| {
            let offset = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
            ReadError::Undecodable { encoding: "ASCII", offset, line: line_at(bytes, offset) }
        })?,
        // The declaration was read as ASCII, so the text is not UTF-16, whatever it says.
        Family::Other(Some(encoding))
            if encoding.is_ascii_compatible() || encoding == encoding_rs::ISO_2022_JP =>
        {
            return Ok((other(bytes, 0, encoding)?, Coding::Other { encoding, mark: 0 }));
        }
        Family::Other(_) => ascii(bytes).ok_or_else(|| ReadError::UnknownEncoding {
            name: declared.name.to_owned(),
            line: declared.line,
            suggestion: suggestion(&name),
        })?,
    };
    Ok((text, plain))
}

enum Family {
    Utf8,
    Latin1,
    Ascii,
    Other(Option<&'static Encoding>),
}

/// Python's names, which are not all the web's; Emacs adds `-unix`, `-dos` and `-mac`.
fn family(name: &str) -> Family {
    let is =
        |base: &str| name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if is("utf-8") || matches!(name, "utf8" | "utf8-sig" | "u8" | "utf" | "cp65001") {
        return Family::Utf8;
    }
    if ["latin-1", "iso-8859-1", "iso-latin-1"].into_iter().any(is)
        || matches!(name, "latin1" | "latin" | "l1" | "iso8859-1" | "iso8859" | "8859" | "cp819")
    {
        return Family::Latin1;
    }
    if matches!(name, "ascii" | "us-ascii" | "646") {
        return Family::Ascii;
    }
    let base = ["-unix", "-dos", "-mac"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Family::Other(Encoding::for_label(web_label(base).as_bytes()))
}

/// The web's label for one of Python's names.
fn web_label(name: &str) -> Cow<'_, str> {
    let label = match name {
        "cp936" | "936" | "ms936" | "euc-cn" | "euccn" | "eucgb2312-cn" | "gb2312-80" => "gbk",
        "gb18030-2000" => "gb18030",
        "cp932" | "932" | "ms932" | "mskanji" | "ms-kanji" | "shiftjis" | "s-jis" => "shift_jis",
        "cp949" | "949" | "ms949" | "uhc" | "euckr" | "ks-c-5601" => "euc-kr",
        "cp950" | "950" | "ms950" | "big5-tw" | "big5hkscs" => "big5",
        "eucjp" | "ujis" | "u-jis" => "euc-jp",
        "iso2022jp" | "iso2022-jp" => "iso-2022-jp",
        "latin9" | "latin-9" => "iso-8859-15",
        "latin10" | "latin-10" => "iso-8859-16",
        "mac-cyrillic" | "maccyrillic" => "x-mac-cyrillic",
        "mac-roman" | "macroman" => "macintosh",
        _ => "",
    };
    if !label.is_empty() {
        return Cow::Borrowed(label);
    }
    let page = name.strip_prefix("windows").unwrap_or(name).trim_start_matches('-');
    if page.len() == 4 && page.starts_with("125") {
        return Cow::Owned(format!("cp{page}"));
    }
    match name.strip_prefix("latin-") {
        Some(number) => Cow::Owned(format!("latin{number}")),
        None => Cow::Borrowed(name),
    }
}

/// A known name that a misspelt one is close to.
fn suggestion(name: &str) -> Option<&'static str> {
    const KNOWN: [&str; 12] = [
        "utf-8",
        "latin-1",
        "ascii",
        "cp1252",
        "cp1251",
        "gbk",
        "gb18030",
        "big5",
        "euc-jp",
        "euc-kr",
        "shift_jis",
        "koi8-r",
    ];
    // Of two letters every name is two edits away.
    KNOWN.into_iter().find(|known| name.len() > 3 && strsim::damerau_levenshtein(name, known) <= 2)
}

fn utf8(bytes: &[u8], skipped: usize) -> Result<Cow<'_, str>, ReadError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| ReadError::Undecodable {
        encoding: "UTF-8",
        offset: skipped + error.valid_up_to(),
        line: line_at(bytes, error.valid_up_to()),
    })
}

fn ascii(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if !bytes.is_ascii() {
        return None;
    }
    std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
}

fn other(bytes: &[u8], mark: usize, encoding: &'static Encoding) -> Result<Cow<'static, str>, ReadError> {
    let input = &bytes[mark..];
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(input.len()).unwrap_or(input.len());
    let mut text = String::with_capacity(capacity);
    let mut read = 0;
    loop {
        let (result, consumed) =
            decoder.decode_to_string_without_replacement(&input[read..], &mut text, true);
        read += consumed;
        match result {
            DecoderResult::InputEmpty => return Ok(Cow::Owned(text)),
            DecoderResult::OutputFull => text.reserve(input.len() - read + 16),
            DecoderResult::Malformed(length, after) => {
                let offset = mark + read.saturating_sub(usize::from(length) + usize::from(after));
                let line = text.matches('\n').count() as u32 + 1;
                return Err(ReadError::Undecodable { encoding: encoding.name(), offset, line });
            }
        }
    }
}

/// Refuses NUL, as Python does, and makes lone carriage returns line feeds, as Python does.
fn finish(text: Cow<'_, str>) -> Result<Cow<'_, str>, ReadError> {
    if let Some(offset) = memchr::memchr(0, text.as_bytes()) {
        return Err(ReadError::Nul { offset, line: line_at(text.as_bytes(), offset) });
    }
    let lone = |at: &usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    let Some(first) = memchr::memchr_iter(b'\r', text.as_bytes()).find(lone) else {
        return Ok(text);
    };
    let mut fixed = String::with_capacity(text.len());
    fixed.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
        fixed.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        fixed.push(if rest.starts_with('\n') { '\r' } else { '\n' });
    }
    fixed.push_str(rest);
    Ok(Cow::Owned(fixed))
}

/// The line of an offset, from 1, in bytes that may end lines in any way.
fn line_at(bytes: &[u8], offset: usize) -> u32 {
    let before = &bytes[..offset.min(bytes.len())];
    let lone = memchr::memchr_iter(b'\r', before).filter(|at| bytes.get(at + 1) != Some(&b'\n')).count();
    (memchr::memchr_iter(b'\n', before).count() + lone) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(bytes: &[u8]) -> String {
        decode_script(bytes).unwrap().into_owned()
    }

    #[test]
    fn valid_utf8_is_borrowed() {
        assert!(matches!(decode_script("x = 'é'\r\n".as_bytes()).unwrap(), Cow::Borrowed("x = 'é'\r\n")));
        assert!(matches!(decode_script(b"\xEF\xBB\xBFx\n").unwrap(), Cow::Borrowed("x\n")));
    }

    #[test]
    fn declarations_are_followed_where_python_follows_them() {
        assert_eq!(script(b"# -*- coding: latin-1 -*-\n# \xe9\n"), "# -*- coding: latin-1 -*-\n# é\n");
        assert_eq!(
            script(b"#!/usr/bin/python\r\n# vim: fileencoding=cp1252\r\n# \x80"),
            "#!/usr/bin/python\r\n# vim: fileencoding=cp1252\r\n# €"
        );
        assert_eq!(script(b"\x0c\n#coding=gbk\n# \xc4\xe3\xba\xc3"), "\x0c\n#coding=gbk\n# 你好");
        assert_eq!(script(b"# coding: euc_jp\n# \xa4\xa2"), "# coding: euc_jp\n# あ");
        assert_eq!(script(b"# coding: cp932\n# \x82\xa0"), "# coding: cp932\n# あ");
        assert_eq!(script(b"# coding: koi8-r\n# \xd1"), "# coding: koi8-r\n# я");
        assert_eq!(script("# coding: UTF-8-unix\n# é".as_bytes()), "# coding: UTF-8-unix\n# é");
        assert_eq!(script("# coding: utf-8-sig\n# é".as_bytes()), "# coding: utf-8-sig\n# é");
        assert_eq!(script(b"# coding: 1252\n# \x80"), "# coding: 1252\n# €");
        assert_eq!(script(b"# coding: iso2022_jp\n# \x1b$B$\"\x1b(B"), "# coding: iso2022_jp\n# あ");
        assert_eq!(script(b"# coding: latin-2\n# \xb1"), "# coding: latin-2\n# ą");
        assert_eq!(script(b"# coding: iso-8859-15\n# \xa4"), "# coding: iso-8859-15\n# €");
        assert_eq!(script(b"# coding: windows1252\n# \x80"), "# coding: windows1252\n# €");
    }

    #[test]
    fn latin_1_is_not_the_web_s() {
        assert_eq!(script(b"# coding: latin1\n\x80"), "# coding: latin1\n\u{80}");
    }

    #[test]
    fn a_declaration_below_code_or_on_line_three_is_none() {
        for bytes in [&b"x = 1\n# coding: latin-1\n# \xe9"[..], b"#\n#\n# coding: latin-1\n# \xe9"] {
            let error = decode_script(bytes).unwrap_err();
            assert!(matches!(error, ReadError::Undecodable { encoding: "UTF-8", .. }), "{error:?}");
        }
    }

    #[test]
    fn undecodable_bytes_are_placed() {
        let error = decode_script(b"a = 1\nb = '\xff'\n").unwrap_err();
        assert_eq!(error, ReadError::Undecodable { encoding: "UTF-8", offset: 11, line: 2 });
        let error = decode_script(b"a = 1\rb = '\xff'\r").unwrap_err();
        assert_eq!(error, ReadError::Undecodable { encoding: "UTF-8", offset: 11, line: 2 });
        let error = decode_script(b"# coding: ascii\n#\n# \xe9").unwrap_err();
        assert_eq!(error, ReadError::Undecodable { encoding: "ASCII", offset: 20, line: 3 });
        let error = decode_script(b"# coding: euc-jp\n'\xa4 '").unwrap_err();
        assert_eq!(error, ReadError::Undecodable { encoding: "EUC-JP", offset: 18, line: 2 });
    }

    #[test]
    fn unknown_encodings_are_named_unless_ascii_makes_them_moot() {
        let error = decode_script(b"#\n# coding: utf-9\n# \xe9").unwrap_err();
        let suggestion = Some("utf-8");
        assert_eq!(error, ReadError::UnknownEncoding { name: "utf-9".into(), line: 2, suggestion });
        assert_eq!(
            error.to_string(),
            "line 2 declares the encoding `utf-9`, which is unknown (did you mean `utf-8`?); save the file as UTF-8"
        );
        assert_eq!(script(b"# coding: cp437\nx = 1"), "# coding: cp437\nx = 1");
        assert_eq!(script(b"# coding: utf-16\nx = 1"), "# coding: utf-16\nx = 1");
    }

    #[test]
    fn utf_16_needs_its_mark() {
        let wide: Vec<u8> = "\u{feff}x = 'é😀'\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(script(&wide), "x = 'é😀'\n");
        let wide: Vec<u8> = "\u{feff}x = 'é😀'\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(script(&wide), "x = 'é😀'\n");
        let unmarked = decode_script(&wide[2..]).unwrap_err();
        assert_eq!(unmarked, ReadError::Undecodable { encoding: "UTF-8", offset: 11, line: 1 });
        assert_eq!(decode_script(b"x\0\n\0").unwrap_err(), ReadError::Nul { offset: 1, line: 1 });
    }

    #[test]
    fn nul_is_refused_with_its_place() {
        assert_eq!(decode_script(b"x\ny\0z").unwrap_err(), ReadError::Nul { offset: 3, line: 2 });
    }

    #[test]
    fn line_ends_are_those_of_python() {
        assert_eq!(script(b"a\rb\r\nc\r\rd\r"), "a\nb\r\nc\n\nd\n");
        assert_eq!(script("é\rb\r\n".as_bytes()), "é\nb\r\n");
    }
}
