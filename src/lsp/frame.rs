//! Messages as they come: a head that says how long the body is, and the body. The length is a claim, for which no
//! memory is set aside before the bytes are there.

use lsp_server::Message;
use std::io::{self, BufRead, Read};

/// A longer body is no message that an editor sends: the documents of the largest are a tenth of it.
const LONGEST: u64 = 256 << 20;
/// A longer line of the head is none.
const LONGEST_LINE: u64 = 4096;

/// The next message; none at the end. What is no message is passed over.
pub(super) fn next(input: &mut impl BufRead) -> Option<Message> {
    loop {
        let length = head(input).ok()??;
        if length > LONGEST {
            io::copy(&mut input.by_ref().take(length), &mut io::sink()).ok()?;
            continue;
        }
        let mut body = Vec::new();
        input.by_ref().take(length).read_to_end(&mut body).ok()?;
        if (body.len() as u64) < length {
            return None;
        }
        if let Ok(message) = serde_json::from_slice(&body) {
            return Some(message);
        }
    }
}

/// What the head of the next message says of its length; none at the end. A head without a length that can be one,
/// and lines that are none of a head, are passed over.
fn head(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        match text.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<u64>().ok();
            }
            None if text.trim_end().is_empty() && length.is_some() => return Ok(length),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let text = format!("{}noise\r\n{}{}", framed("{not json"), framed("[]"), framed(EXIT));
        let mut input = text.as_bytes();
        assert!(matches!(next(&mut input), Some(Message::Notification(one)) if one.method == "exit"));
        assert!(next(&mut input).is_none());
    }

    #[test]
    fn lengths_that_are_none_set_no_memory_aside() {
        for claim in ["-1", "99999999999999999999999999", "x", ""] {
            let text = format!("Content-Length: {claim}\r\n\r\n{}", framed(EXIT));
            assert!(next(&mut text.as_bytes()).is_some(), "{claim}");
        }
        for claim in [u64::MAX, 1 << 40, LONGEST] {
            let text = format!("Content-Length: {claim}\r\n\r\n{}", framed(EXIT));
            assert!(next(&mut text.as_bytes()).is_none(), "{claim}");
        }
        let endless = "x".repeat(100_000);
        assert!(next(&mut format!("{endless}\r\n{}", framed(EXIT)).as_bytes()).is_some());
    }
}
