//! What is shown under the pointer: why there is a finding, or what a suppression is about.

use super::findings::View;
use super::plain;
use super::server::Server;
use crate::engine::selection::find_rule;
use crate::render::{self, help_uri};
use crate::report::{Applicability, Diagnostic as Finding, Place};
use crate::source::SourceFile;
use gen_lsp_types::{Hover, HoverParams, MarkupContent, MarkupKind, Range};

impl Server {
    pub(crate) fn hover(&self, view: &View<'_>, params: &HoverParams) -> Option<Hover> {
        let asked = &params.text_document_position_params;
        let (seat, source) =
            (self.documents.seat(&asked.text_document.uri.0)?, view.checked.source.as_ref()?);
        let at = asked.position;
        let here = view.of_cell(seat.cell).filter(|(_, range)| range.start <= at && at <= range.end);
        let found: Vec<(&Finding, Range)> = here.collect();
        let mut texts: Vec<String> = found.iter().map(|(finding, _)| self.told(view, finding)).collect();
        let offset = view.encoding().offset(source, seat.cell, at);
        if texts.is_empty() {
            texts.extend(offset.and_then(|offset| suppressed(source, offset)));
        }
        if texts.is_empty() {
            return None;
        }
        let range = found
            .iter()
            .map(|(_, range)| *range)
            .min_by_key(|range| (range.end.line - range.start.line, range.end));
        Some(Hover { contents: self.shown(&texts.join("\n\n---\n\n")).into(), range })
    }

    /// A finding, and what a replay of it came to.
    fn told(&self, view: &View<'_>, finding: &Finding) -> String {
        let told = told(view, finding);
        match self.verdict_of(view, finding) {
            Some(known) => format!("{told}\n\n```text\n{}```", known.told),
            None => told,
        }
    }

    fn shown(&self, markdown: &str) -> MarkupContent {
        match self.client.can.markdown {
            true => MarkupContent::new(MarkupKind::Markdown, markdown.to_owned()),
            false => MarkupContent::new(MarkupKind::PlainText, plain::text(markdown)),
        }
    }
}

/// A finding with everything that is known of it, but for what its diagnostic says where both are shown.
fn told(view: &View<'_>, finding: &Finding) -> String {
    let (severity, confidence) = (render::severity(finding.severity), render::confidence(finding.confidence));
    let mut text = format!("**{}** · {severity}, {confidence} confidence", finding.rule);
    let is_alone = !view.can.hovers_beside_diagnostics;
    if is_alone {
        text.push_str(&format!("\n\n{}", finding.message));
    }
    let steps = steps(view, finding);
    if steps.len() > 1 {
        text.push_str("\n\n");
        text.push_str(&if view.can.tables { table(&steps) } else { list(&steps) });
    }
    for note in &finding.notes {
        text.push_str(&format!("\n\n{note}"));
    }
    if is_alone {
        text.push_str(&advice(finding));
    }
    text
}

/// What to do about a finding, and where to read on.
fn advice(finding: &Finding) -> String {
    let mut text = String::new();
    for help in &finding.help {
        text.push_str(&format!("\n\n**help:** {help}"));
    }
    if let Some(fix) = &finding.fix {
        let kind = match fix.applicability {
            Applicability::Safe => "fix",
            Applicability::Unsafe => "unsafe fix",
            Applicability::DisplayOnly => "possible fix",
        };
        text.push_str(&format!("\n\n**{kind}:** {}", fix.title));
    }
    text.push_str("\n\n");
    text.push_str(&match help_uri(finding.rule) {
        Some(link) => format!("[about {}]({link})", finding.rule),
        None => format!("about the rule: `trainlint explain {}`", finding.rule),
    });
    text
}

/// A place on the way to a finding.
struct Step<'a> {
    place: String,
    code: String,
    what: &'a str,
}

fn table(steps: &[Step<'_>]) -> String {
    let row = |step: &Step<'_>| format!("\n| {} | {} | {} |", step.place, cell(&step.code), cell(step.what));
    let rows: String = steps.iter().map(row).collect();
    format!("| where | code | what |\n| --- | --- | --- |{rows}")
}

/// Reads well as it is, too.
fn list(steps: &[Step<'_>]) -> String {
    let line = |(number, step): (usize, &Step<'_>)| {
        let code = if step.code.is_empty() { String::new() } else { format!(" {}", step.code) };
        format!("{number}. {}{code}: {}", step.place, step.what.replace('\n', " "))
    };
    (1..).zip(steps).map(line).collect::<Vec<_>>().join("\n")
}

/// The places that lead to a finding, and its own: what stands there, and what happens.
fn steps<'a>(view: &View<'_>, finding: &'a Finding) -> Vec<Step<'a>> {
    let is_named = finding.related.iter().any(|label| label.place == finding.place);
    let own = (!is_named).then_some((finding.place, ""));
    let related = finding.related.iter().map(|label| (label.place, label.message.as_str()));
    let step = |(place, said): (Place, &'a str)| {
        let what = if said.is_empty() { finding.message.as_str() } else { said };
        Some(Step { place: view.spelled(place)?, code: code(view, place)?, what })
    };
    related.chain(own).filter_map(step).collect()
}

/// What stands at a place, the first line of it.
fn code(view: &View<'_>, place: Place) -> Option<String> {
    const MOST: usize = 60;
    let shown = view.checked.outcome.sources.get(place.file)?;
    let said = shown.source.text.get(place.span.range())?;
    let line = said.lines().next().unwrap_or_default().trim();
    let cut: String = line.chars().take(MOST).collect();
    let more = if cut.len() < line.len() || said.lines().nth(1).is_some() { " …" } else { "" };
    // A code span of Markdown can't hold its own mark.
    Some(if cut.is_empty() { String::new() } else { format!("`{}{more}`", cut.replace('`', "'")) })
}

/// The text of a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The page of the rule that a suppression names at an offset.
fn suppressed(source: &SourceFile, offset: u32) -> Option<String> {
    let line = source.line_text(offset);
    let range = source.line_range(source.line_index(offset));
    let at = (offset as usize).checked_sub(range.start)?;
    let comment = line.rfind("trainlint:").filter(|comment| line[..*comment].contains('#'))?;
    let is_id = |letter: char| letter.is_ascii_lowercase() || letter == '-' || letter.is_ascii_digit();
    let (before, after) = (line.get(..at)?, line.get(at..)?);
    let start = before.rfind(|letter| !is_id(letter)).map_or(0, |at| at + 1);
    let end = at + after.find(|letter| !is_id(letter)).unwrap_or(after.len());
    let rule = find_rule(line.get(start..end)?).filter(|_| comment < start)?;
    Some(rule.page.to_owned())
}
