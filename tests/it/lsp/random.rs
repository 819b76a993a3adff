//! Random edits of real scripts: whatever the way to a text, what is said of it is what `check` says.

use super::editing::{checked, shown};
use super::talk::{Client, pulling};
use crate::findings::root;
use crate::harness::Project;
use serde_json::{Value, json};

/// Marsaglia's generator: the same edits on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// A boundary of characters.
    fn place(&mut self, text: &str) -> usize {
        let at = self.roll(text.len() + 1);
        (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap()
    }
}

const INSERTED: [&str; 16] = [
    "(",
    ")",
    "\"\"\"",
    "'",
    "[",
    "\n",
    "    ",
    "\r\n",
    "#",
    "😀é",
    ":",
    "\\\n",
    "x = 1\n",
    "def f():\n    pass\n",
    "loss.backward()\n",
    "optimizer.zero_grad()\n",
];

#[derive(Clone, Copy)]
enum Unit {
    Utf8,
    Utf16,
    Utf32,
}

fn width(text: &str, unit: Unit) -> usize {
    match unit {
        Unit::Utf8 => text.len(),
        Unit::Utf16 => text.encode_utf16().count(),
        Unit::Utf32 => text.chars().count(),
    }
}

/// The place as a client would say it; a lone carriage return ends a line, too.
fn position(text: &str, at: usize, unit: Unit) -> Value {
    let before = &text[..at];
    let joined = before.replace("\r\n", " \n").replace('\r', "\n");
    let start = joined.rfind('\n').map_or(0, |feed| feed + 1);
    json!({ "line": joined.matches('\n').count(), "character": width(&before[start..], unit) })
}

/// An edit, and the text after it.
fn edit(dice: &mut Dice, text: &str, unit: Unit) -> (Value, String) {
    let start = dice.place(text);
    let length = if dice.roll(3) == 0 { dice.roll(40) } else { 0 };
    let end =
        (start..=text.len()).rev().find(|at| *at <= start + length && text.is_char_boundary(*at)).unwrap();
    // Between the two bytes of a line end no client can point.
    let splits = |at: usize| at > 0 && text[..at].ends_with('\r') && text[at..].starts_with('\n');
    let (start, end) = (start - usize::from(splits(start)), end + usize::from(splits(end)));
    let inserted = if length > 0 { "" } else { INSERTED[dice.roll(INSERTED.len())] };
    let range = json!({ "start": position(text, start, unit), "end": position(text, end, unit) });
    let after = format!("{}{inserted}{}", &text[..start], &text[end..]);
    (json!({ "range": range, "text": inserted }), after)
}

fn wander(script: &str, encoding: &str, unit: Unit, seed: u64) {
    let mut abilities = pulling();
    abilities["general"]["positionEncodings"] = json!([encoding]);
    let mut client = Client::new(Project::new(), abilities);
    let uri = client.uri("train.py");
    let mut text = std::fs::read_to_string(root().join("fixtures").join(script)).unwrap();
    if seed % 2 == 1 {
        text = text.replace('\n', "\r\n");
    }
    client.open(&uri, &text);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut version = 1;
    for _ in 0..12 {
        // Several edits at once, and several changes in a message, as fast typing and multiple cursors give.
        for _ in 0..=dice.roll(4) {
            let mut changes = Vec::new();
            for _ in 0..=dice.roll(2) {
                let (change, after) = edit(&mut dice, &text, unit);
                changes.push(change);
                text = after;
            }
            version += 1;
            client.change(&uri, version, Value::Array(changes));
        }
        let found = client.pull(&uri);
        client.project.write("train.py", &text);
        let columns = |found: Vec<(String, u64, u64, u64, u64)>| -> Vec<_> {
            found.into_iter().map(|(rule, line, column, end, _)| (rule, line, column, end)).collect()
        };
        let fresh =
            checked(&client.project, "train.py").into_iter().map(|(rule, line, column, end, last)| {
                let start = text.split_inclusive(['\n']).nth(line as usize).unwrap_or_default();
                let prefix: String = start.chars().take(column as usize).collect();
                (rule, line, width(&prefix, unit) as u64, end, last)
            });
        // A lone carriage return is a line end for clients, and for us; not for the lines that are counted here.
        if !text.replace("\r\n", "").contains('\r') {
            assert_eq!(
                columns(shown(&found)),
                columns(fresh.collect()),
                "{script} {encoding} {seed}:\n{text}"
            );
        }
    }
    assert!(!client.has_seen("window/logMessage"), "{script} {encoding} {seed}");
}

#[test]
fn whatever_the_way_to_a_text_the_findings_are_those_of_a_fresh_run() {
    let scripts = [
        "missing-zero-grad/bad_amp_scaler.py",
        "unsafe-log/bad_after_relu.py",
        "softmax-before-cross-entropy/bad_direct.py",
        "retained-graph/bad_appended_loss.py",
    ];
    for (at, script) in scripts.iter().enumerate() {
        for (encoding, unit) in [("utf-8", Unit::Utf8), ("utf-16", Unit::Utf16), ("utf-32", Unit::Utf32)] {
            wander(script, encoding, unit, at as u64 + 1);
        }
    }
}
