//! The findings of a file below its name.

use super::{BOLD, Look, Position, label, paint};
use crate::engine::Outcome;
use crate::report::{escaped, escaped_path};
use std::io::Write;

pub(crate) fn render(outcome: &Outcome, look: Look) -> Vec<u8> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for finding in &outcome.findings {
        if let Some(position) = Position::of(&outcome.sources, finding.place) {
            let place = position.to_string();
            let place = place[escaped_path(position.path).len() + 1..].to_owned();
            rows.push(Row {
                path: position.path,
                place,
                name: label(finding, look),
                message: &finding.message,
            });
        }
    }
    let mut out = Vec::new();
    for group in rows.chunk_by(|a, b| a.path == b.path) {
        let wide = group.iter().map(|row| row.place.len()).max().unwrap_or(0);
        let path = group.first().map_or("", |row| row.path);
        // Writing to a `Vec` does not fail.
        let _ = writeln!(out, "{}", paint(&escaped_path(path), BOLD, look.color));
        for Row { place, name, message, .. } in group {
            let _ = writeln!(out, "  {place:wide$}  {name} {}", escaped(message));
        }
        let _ = writeln!(out);
    }
    out
}

struct Row<'a> {
    path: &'a str,
    place: String,
    name: String,
    message: &'a str,
}
