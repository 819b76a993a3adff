//! SARIF 2.1.0, with what GitHub's code scanning asks for and uses. The shapes are in `model`.

mod model;

use super::line_hash::line_hashes;
use super::{Position, confidence, help_uri, json_line, severity, uri};
use crate::checks::Rule;
use crate::engine::fingerprint::{Fingerprint, Occurrences, fingerprints};
use crate::engine::selection::known_rules;
use crate::engine::{Outcome, Problem};
use crate::report::{Confidence, Diagnostic, Fix, Label, Place, Severity};
use crate::source::Kind;
use model::*;
use rustc_hash::FxHashMap;

/// `replays` has what came out of the finding at the same place, if it was run.
pub(crate) fn render(outcome: &Outcome, replays: &[Option<serde_json::Value>]) -> Vec<u8> {
    let rules = known_rules();
    let mut writer = Writer { outcome, hashes: FxHashMap::default(), occurrences: Occurrences::default() };
    let prints = fingerprints(outcome);
    let replays = replays.iter().cloned().chain(std::iter::repeat(None));
    let results = outcome.findings.iter().zip(&prints).zip(replays);
    let results = results.filter_map(|((finding, print), replay)| {
        let index = rules.iter().position(|rule| rule.id == finding.rule)?;
        let mut result = writer.result(finding, index, print)?;
        result.properties.replay = replay;
        Some(result)
    });
    let results = results.collect();
    json_line(&Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool { driver: driver(outcome, &rules) },
            automation_details: Id { id: "trainlint/" },
            column_kind: "unicodeCodePoints",
            original_uri_base_ids: Bases {
                srcroot: Described { description: text("the root of the repository") },
            },
            invocations: [Invocation {
                execution_successful: !outcome.failed(),
                tool_execution_notifications: notifications(outcome),
            }],
            results,
        }],
    })
}

fn driver<'a>(outcome: &Outcome, rules: &[&'a Rule]) -> Driver<'a> {
    Driver {
        name: "trainlint",
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: Some(env!("CARGO_PKG_REPOSITORY")).filter(|uri| !uri.is_empty()),
        rules: rules.iter().map(|rule| descriptor(outcome, rule)).collect(),
    }
}

fn descriptor<'a>(outcome: &Outcome, rule: &'a Rule) -> Descriptor<'a> {
    let page = rule.page.split_once('\n').map_or(rule.page, |(_, rest)| rest).trim();
    let lead = page.split("\n\n").next().unwrap_or(rule.summary).replace('\n', " ");
    // A rule is as precise as the surest of what it found.
    let found = outcome.findings.iter().filter(|finding| finding.rule == rule.id);
    let precision = found.map(|finding| finding.confidence).max().unwrap_or(Confidence::High);
    Descriptor {
        id: rule.id,
        name: pascal_case(rule.id),
        short_description: text(sentence(rule.summary)),
        full_description: text(lead),
        help: Help { text: page, markdown: page },
        help_uri: help_uri(rule.id),
        default_configuration: Configuration { level: severity(rule.severity) },
        properties: RuleProperties {
            tags: [rule.group.name(), "machine-learning"],
            precision: confidence(precision),
            severity: match rule.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "recommendation",
            },
        },
    }
}

/// `missing-zero-grad` as `MissingZeroGrad`, which is how SARIF wants names for people.
fn pascal_case(id: &str) -> String {
    let words = id.split('-').map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        first.to_uppercase() + rest
    });
    words.collect()
}

/// A text with a capital and a full stop, which our messages do without.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

fn text(text: impl Into<String>) -> Text {
    Text { text: text.into() }
}

fn notifications(outcome: &Outcome) -> Vec<Notification> {
    let one = |problem: &Problem| Notification {
        level: if problem.fatal { "error" } else { "warning" },
        message: text(sentence(&problem.message)),
        locations: [Location {
            id: None,
            physical_location: PhysicalLocation {
                artifact_location: artifact(&outcome.roots.in_repository(&problem.path)),
                region: None,
            },
            logical_locations: Vec::new(),
            message: None,
        }],
    };
    outcome.problems.iter().map(one).collect()
}

fn artifact(path: &str) -> ArtifactLocation {
    // What lies outside of the repository can't be told from its root on.
    if path.starts_with('/') {
        return ArtifactLocation { uri: format!("file://{}", uri(path)), uri_base_id: None };
    }
    ArtifactLocation { uri: uri(path), uri_base_id: Some("%SRCROOT%") }
}

struct Writer<'a> {
    outcome: &'a Outcome,
    hashes: FxHashMap<&'a str, Vec<String>>,
    occurrences: Occurrences,
}

impl<'a> Writer<'a> {
    fn result(
        &mut self,
        finding: &'a Diagnostic,
        index: usize,
        print: &Fingerprint,
    ) -> Option<ResultEntry<'a>> {
        let position = Position::of(&self.outcome.sources, finding.place)?;
        let others = finding.related.iter().filter(|label| label.place != finding.place);
        let others: Vec<&Label> = others.collect();
        let mut logical = Vec::new();
        if let Some(cell) = position.cell {
            logical.push(LogicalLocation { fully_qualified_name: format!("cell {cell}"), kind: "cell" });
        }
        if !print.context.is_empty() {
            logical.push(LogicalLocation { fully_qualified_name: print.context.clone(), kind: "function" });
        }
        let primary = Location { logical_locations: logical, ..self.location(finding.place)? };
        Some(ResultEntry {
            rule_id: finding.rule,
            rule_index: index,
            level: severity(finding.severity),
            message: text(message(finding, &others, &position)),
            locations: [primary],
            related_locations: self.related(&others),
            code_flows: self.flow(finding, &others),
            partial_fingerprints: self.partial_fingerprints(&position, finding.place, print),
            fixes: finding.fix.iter().filter_map(|fix| self.fix(fix)).collect(),
            properties: ResultProperties { confidence: confidence(finding.confidence), replay: None },
        })
    }

    fn location(&self, place: Place) -> Option<Location> {
        let position = Position::of(&self.outcome.sources, place)?;
        Some(Location {
            id: None,
            physical_location: PhysicalLocation {
                artifact_location: artifact(&self.outcome.roots.in_repository(position.path)),
                region: Some(region(&position)),
            },
            logical_locations: Vec::new(),
            message: None,
        })
    }

    /// Places with their words, numbered as the message links them.
    fn related(&self, others: &[&Label]) -> Vec<Location> {
        let numbered = others.iter().zip(1..).filter_map(|(label, number)| {
            let message = Some(text(&label.message)).filter(|message| !message.text.is_empty());
            Some(Location { id: Some(number), message, ..self.location(label.place)? })
        });
        numbered.collect()
    }

    /// The way from where it began to where it goes wrong.
    fn flow(&self, finding: &Diagnostic, others: &[&Label]) -> Vec<CodeFlow> {
        if others.is_empty() {
            return Vec::new();
        }
        let step = |place: Place, said: &str| {
            let message = Some(text(said)).filter(|message| !message.text.is_empty());
            Some(Step { location: Location { message, ..self.location(place)? } })
        };
        let mut steps: Vec<Step> =
            others.iter().filter_map(|label| step(label.place, &label.message)).collect();
        steps.extend(step(finding.place, &finding.message));
        vec![CodeFlow { thread_flows: [ThreadFlow { locations: steps }] }]
    }

    /// GitHub's own hash needs the text of the file, which of a notebook is not kept: the action
    /// that uploads adds it.
    fn partial_fingerprints(
        &mut self,
        position: &Position<'a>,
        place: Place,
        print: &Fingerprint,
    ) -> PartialFingerprints {
        let digest = print.digest();
        let key = format!("{}:{digest}", position.path);
        let shown = self.outcome.sources.get(place.file).filter(|shown| shown.source.kind != Kind::Notebook);
        let line_hash = shown.and_then(|shown| {
            let hashes = self.hashes.entry(position.path).or_insert_with(|| line_hashes(&shown.source.text));
            hashes.get((position.file_line as usize).saturating_sub(1)).cloned()
        });
        let own = format!("{digest}:{}", self.occurrences.next(&key));
        PartialFingerprints { primary_location_line_hash: line_hash, own }
    }

    /// None in notebooks, whose text stands in JSON.
    fn fix(&self, fix: &'a Fix) -> Option<FixEntry<'a>> {
        let mut changes: Vec<ArtifactChange<'a>> = Vec::new();
        for edit in &fix.edits {
            let position = Position::of(&self.outcome.sources, edit.place)?;
            if position.cell.is_some() {
                return None;
            }
            let replacement = Replacement {
                deleted_region: region(&position),
                inserted_content: Content { text: &edit.text },
            };
            let location = artifact(&self.outcome.roots.in_repository(position.path));
            match changes.iter_mut().find(|change| change.artifact_location.uri == location.uri) {
                Some(change) => change.replacements.push(replacement),
                None => changes
                    .push(ArtifactChange { artifact_location: location, replacements: vec![replacement] }),
            }
        }
        Some(FixEntry { description: text(sentence(&fix.title)), artifact_changes: changes })
    }
}

/// The message, what explains it, and links to the other places.
fn message(finding: &Diagnostic, others: &[&Label], position: &Position<'_>) -> String {
    let cell = position.in_cell().map(|cell| format!("{cell}: ")).unwrap_or_default();
    let here = finding.related.iter().filter(|label| label.place == finding.place);
    let mut lines = vec![sentence(&format!("{cell}{}", finding.message))];
    lines.extend(here.filter(|label| !label.message.is_empty()).map(|label| label.message.clone()));
    lines.extend(others.iter().zip(1..).map(|(label, number)| {
        let said = if label.message.is_empty() { "see here" } else { &label.message };
        let said = said.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
        format!("[{said}]({number})")
    }));
    lines.extend(finding.notes.iter().cloned());
    lines.extend(finding.help.iter().map(|help| format!("help: {help}")));
    lines.join("\n")
}

/// In a notebook only the line is known: it is that of the JSON, which has other columns.
fn region(position: &Position<'_>) -> Region {
    let in_script = position.cell.is_none();
    Region {
        start_line: position.file_line,
        start_column: in_script.then_some(position.column),
        end_line: position.end_file_line.max(position.file_line),
        end_column: in_script.then_some(position.end_column),
    }
}
