//! What is known of a line, as text and for machines.

use super::json_line;
use crate::engine::reveal::{Answer, Known, Site, Way};
use crate::report::{escaped, escaped_path};
use std::fmt::Write;

pub fn reveal_json(answer: &Answer) -> Vec<u8> {
    json_line(answer)
}

pub fn reveal(answer: &Answer) -> String {
    let cell = answer.cell.map(|cell| format!("{cell}:")).unwrap_or_default();
    let mut text =
        format!("{}:{cell}{}: {}\n", escaped_path(&answer.path), answer.line, escaped(&answer.text));
    for way in &answer.ways {
        self::way(&mut text, way, answer);
    }
    if answer.more > 0 {
        let _ = write!(text, "\n{} more paths with different values are not shown\n", answer.more);
    }
    text
}

fn way(text: &mut String, way: &Way, answer: &Answer) {
    text.push('\n');
    if let Some(function) = &way.uncalled {
        let _ = writeln!(text, "  nothing calls `{}`: its parameters are guessed", escaped(function));
    }
    for calls in way.callers.iter().filter(|calls| !calls.is_empty()) {
        let sites: Vec<String> = calls.iter().map(|site| self::site(site, answer)).collect();
        let _ = writeln!(text, "  from {}", sites.join(", from "));
    }
    if way.values.is_empty() {
        text.push_str("  reached, but it has no values\n");
    }
    let label = |known: &Known| match known.bound {
        true => format!("{} =", escaped(&known.expression)),
        false => escaped(&known.expression).into_owned(),
    };
    let wide = way.values.iter().map(|known| label(known).chars().count()).max().unwrap_or(0);
    for known in &way.values {
        let label = label(known);
        let _ = write!(text, "  {label:wide$}  ");
        match &known.unknown_since {
            Some(since) => {
                let place = in_file(&since.path, since.line, answer);
                let _ = writeln!(text, "unknown since {place}: {}", escaped(&since.why));
            }
            None => {
                let _ = writeln!(text, "{}", escaped(&known.value));
            }
        }
    }
}

fn site(site: &Site, answer: &Answer) -> String {
    format!("{}, which calls `{}`", in_file(&site.path, site.line, answer), escaped(&site.function))
}

/// A line; with its file where that is another one.
fn in_file(path: &str, line: u32, answer: &Answer) -> String {
    if path == answer.path { format!("line {line}") } else { format!("{}:{line}", escaped(path)) }
}
