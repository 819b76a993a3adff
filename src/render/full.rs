//! Findings with their code, for people. Each cell of a notebook is shown as a file of its
//! own, since that is how its lines are counted.

use super::{Look, Position, linked};
use crate::engine::{Outcome, Shown, Sources};
use crate::report::{
    self, Applicability, Diagnostic, FileId, Fix, Place, Severity, escaped, escaped_lines, escaped_path,
    steers,
};
use codespan_reporting::diagnostic::{self as shape, Label, LabelStyle};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::termcolor::{Buffer, Color};
use codespan_reporting::term::{self, Chars, Config, Styles, StylesWriter};
use memchr::memchr_iter;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;

/// A longer line is data or generated, and would bury the rest of the screen.
const LONGEST_LINE: usize = 1000;

/// The findings; beneath each the note of the same place in `verdicts`, which is painted already and holds no text
/// of strangers as it came.
pub(crate) fn render(outcome: &Outcome, verdicts: &[String], look: Look) -> Vec<u8> {
    let shelf = Shelf::new(outcome);
    let config = Config { chars: Chars::box_drawing(), ..Config::default() };
    let styles = styles();
    let mut whole = Vec::new();
    let blank = || if look.color { Buffer::ansi() } else { Buffer::no_color() };
    for (index, finding) in outcome.findings.iter().enumerate() {
        let mut shown = shelf.shape(&outcome.sources, finding);
        shown.notes.extend(verdicts.get(index).cloned());
        let mut buffer = blank();
        let mut writer = StylesWriter::new(&mut buffer, &styles);
        // The buffer can't fail, and every place was clamped into its file.
        let _ = term::emit_to_write_style(&mut writer, &config, &shelf, &shown);
        let text = String::from_utf8(buffer.into_inner()).unwrap_or_default();
        whole.extend(linked(&text, finding.rule, look).into_bytes());
    }
    whole
}

fn styles() -> Styles {
    let mut styles = Styles::default();
    styles.secondary_label.set_fg(Some(Color::Blue));
    styles.source_border.set_fg(Some(Color::Blue));
    styles.line_number.set_fg(Some(Color::Blue));
    styles.note_bullet.set_fg(Some(Color::Blue));
    styles
}

/// What codespan calls a file: a script, or a cell of a notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct View {
    file: FileId,
    cell: Option<u32>,
}

/// One file, ready to be shown: its lines are found once, whatever the number of findings.
struct Volume<'a> {
    shown: &'a Shown,
    text: Cow<'a, str>,
    starts: Vec<usize>,
}

struct Shelf<'a>(FxHashMap<FileId, Volume<'a>>);

impl<'a> Shelf<'a> {
    fn new(outcome: &'a Outcome) -> Shelf<'a> {
        let mut volumes = FxHashMap::default();
        for finding in &outcome.findings {
            let related = finding.related.iter().map(|label| label.place.file);
            for file in related.chain([finding.place.file]) {
                if let Some(shown) = outcome.sources.get(file) {
                    volumes.entry(file).or_insert_with(|| Volume::new(shown));
                }
            }
        }
        Shelf(volumes)
    }

    fn shape(&self, sources: &Sources, finding: &Diagnostic) -> shape::Diagnostic<View> {
        let mut notes: Vec<String> = Vec::new();
        let mut labels: Vec<Label<View>> = Vec::new();
        // A related place that is the primary one says what is to be said there.
        let said: Vec<&str> = finding
            .related
            .iter()
            .filter(|label| label.place == finding.place)
            .map(|label| label.message.as_str())
            .collect();
        let others = finding.related.iter().filter(|label| label.place != finding.place);
        let primary = (LabelStyle::Primary, finding.place, said.join(", "));
        let others = others.map(|label| (LabelStyle::Secondary, label.place, label.message.clone()));
        for (style, place, message) in std::iter::once(primary).chain(others) {
            if let Some(label) = self.label(style, place) {
                labels.push(label.with_message(escaped(&message)));
            } else if let Some(position) = Position::of(sources, place) {
                let gap = if message.is_empty() { "" } else { ": " };
                notes.push(format!("at {position}, in a line too long to show{gap}{message}"));
            }
        }
        notes.extend(finding.notes.iter().cloned());
        notes.extend(finding.help.iter().map(|help| format!("help: {help}")));
        notes.extend(finding.fix.as_ref().map(offer));
        let notes = notes.iter().map(|note| escaped_lines(note).into_owned()).collect();
        shape::Diagnostic::new(severity(finding.severity))
            .with_code(finding.rule)
            .with_message(escaped(&finding.message))
            .with_labels(labels)
            .with_notes(notes)
    }

    /// None where the line is too long to show.
    fn label(&self, style: LabelStyle, place: Place) -> Option<Label<View>> {
        let volume = self.0.get(&place.file)?;
        let range = volume.first_line_of(place.span);
        let line = volume.line_range(volume.line_of(range.start))?;
        let cell = volume.shown.source.locate(place.span.start).cell;
        (line.len() <= LONGEST_LINE).then(|| Label::new(style, View { file: place.file, cell }, range))
    }

    fn volume(&self, view: View) -> Result<&Volume<'a>, Error> {
        self.0.get(&view.file).ok_or(Error::FileMissing)
    }
}

impl<'a> Volume<'a> {
    fn new(shown: &'a Shown) -> Volume<'a> {
        let text = harmless(&shown.source.text);
        let starts = std::iter::once(0).chain(memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Volume { shown, text, starts }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(line)?;
        Some(start..self.starts.get(line + 1).copied().unwrap_or(self.text.len()))
    }

    /// What a span covers of its first line: a statement of many lines is pointed at, not copied.
    fn first_line_of(&self, span: report::Span) -> Range<usize> {
        let start = floor(&self.text, span.start as usize);
        let line_end = self.line_range(self.line_of(start)).map_or(start, |line| line.end);
        let code_end = self.text[..line_end].trim_end().len().max(start);
        start..floor(&self.text, span.end as usize).clamp(start, code_end)
    }
}

fn offer(fix: &Fix) -> String {
    let kind = match fix.applicability {
        Applicability::Safe => "fix available",
        Applicability::Unsafe => "unsafe fix available",
        Applicability::DisplayOnly => "possible fix",
    };
    format!("{kind}: {}", fix.title)
}

/// The nearest boundary of a character at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The text without characters that would command the terminal, every byte in its place.
fn harmless(text: &str) -> Cow<'_, str> {
    let commands = |c: char| steers(c) && !matches!(c, '\t' | '\n' | '\r');
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let stand_in = |c: char| match c {
        c if !commands(c) => c,
        // Controls past ASCII take two bytes, and so does a middle dot.
        c if c.len_utf8() == 2 => '·',
        c if c.len_utf8() == 3 => '\u{fffd}',
        _ => ' ',
    };
    Cow::Owned(text.chars().map(stand_in).collect())
}

fn severity(severity: Severity) -> shape::Severity {
    match severity {
        Severity::Note => shape::Severity::Note,
        Severity::Warning => shape::Severity::Warning,
        Severity::Error => shape::Severity::Error,
    }
}

impl<'s> Files<'s> for Shelf<'_> {
    type FileId = View;
    type Name = String;
    type Source = &'s str;

    fn name(&'s self, view: View) -> Result<String, Error> {
        let path = escaped_path(&self.volume(view)?.shown.path);
        Ok(view.cell.map_or_else(|| path.clone().into_owned(), |cell| format!("{path}:cell {cell}")))
    }

    fn source(&'s self, view: View) -> Result<&'s str, Error> {
        Ok(&self.volume(view)?.text)
    }

    fn line_index(&'s self, view: View, offset: usize) -> Result<usize, Error> {
        Ok(self.volume(view)?.line_of(offset))
    }

    fn line_number(&'s self, view: View, line: usize) -> Result<usize, Error> {
        if view.cell.is_none() {
            return Ok(line + 1);
        }
        let volume = self.volume(view)?;
        let start = volume.line_range(line).ok_or(Error::FileMissing)?.start;
        let number = volume.shown.source.locate(u32::try_from(start).unwrap_or(u32::MAX)).line;
        Ok(number.max(1) as usize)
    }

    fn line_range(&'s self, view: View, line: usize) -> Result<Range<usize>, Error> {
        let volume = self.volume(view)?;
        let max = volume.starts.len();
        volume.line_range(line).ok_or(Error::LineTooLarge { given: line, max })
    }
}
