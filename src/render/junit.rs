//! A report of tests: a suite a file, a failed case a finding, an error a file that was not
//! checked. Without any of them there is one case that passed, since an empty report reads as a
//! run that did not happen.

use super::words::{explanation, printable};
use super::{Position, severity};
use crate::engine::{Outcome, Problem};
use crate::report::{Diagnostic, escaped};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

pub(crate) fn render(outcome: &Outcome) -> Vec<u8> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // A `Vec` can be written to.
    let _ = report(&mut writer, outcome);
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    bytes
}

fn report(writer: &mut Writer<Vec<u8>>, outcome: &Outcome) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let (failures, errors) = (outcome.findings.len(), outcome.problems.len());
    let counts = [("tests", (failures + errors).max(1)), ("failures", failures), ("errors", errors)]
        .map(|(name, count)| (name, count.to_string()));
    let root = writer.create_element("testsuites").with_attribute(("name", "trainlint"));
    let root = root.with_attributes(counts.iter().map(|(name, count)| (*name, count.as_str())));
    root.write_inner_content(|writer| {
        for group in outcome.findings.chunk_by(|a, b| a.place.file == b.place.file) {
            failed(writer, outcome, group)?;
        }
        for problem in &outcome.problems {
            broken(writer, problem)?;
        }
        if failures + errors == 0 {
            passed(writer)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The findings of a file.
fn failed(writer: &mut Writer<Vec<u8>>, outcome: &Outcome, group: &[Diagnostic]) -> io::Result<()> {
    let Some(shown) = group.first().and_then(|first| outcome.sources.get(first.place.file)) else {
        return Ok(());
    };
    let path = printable(&escaped(&outcome.roots.in_repository(&shown.path)));
    suite(writer, &path, group.len(), 0, |writer| {
        for finding in group {
            let Some(position) = Position::of(&outcome.sources, finding.place) else { continue };
            let cell = position.cell.map(|cell| format!("cell {cell}:")).unwrap_or_default();
            let name = format!("{} at {cell}{}:{}", finding.rule, position.line, position.column);
            let mut text = vec![format!("{path}:{cell}{}:{}", position.line, position.column)];
            text.extend(explanation(outcome, finding));
            case(writer, &path, &name, |writer| {
                let failure = writer.create_element("failure");
                failure
                    .with_attribute(("message", printable(&finding.message).as_str()))
                    .with_attribute(("type", severity(finding.severity)))
                    .write_text_content(BytesText::new(&printable(&text.join("\n"))))?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

fn broken(writer: &mut Writer<Vec<u8>>, problem: &Problem) -> io::Result<()> {
    let path = printable(&escaped(&problem.path));
    suite(writer, &path, 0, 1, |writer| {
        case(writer, &path, "not checked", |writer| {
            let message = printable(&problem.message);
            let error = writer.create_element("error").with_attribute(("message", message.as_str()));
            error.with_attribute(("type", "unreadable")).write_empty()?;
            Ok(())
        })
    })
}

fn passed(writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let suite = writer.create_element("testsuite").with_attribute(("name", "trainlint"));
    let suite = suite.with_attributes([("tests", "1"), ("failures", "0"), ("errors", "0")]);
    suite.write_inner_content(|writer| {
        let case = writer.create_element("testcase").with_attribute(("name", "no findings"));
        case.with_attribute(("classname", "trainlint")).write_empty()?;
        Ok(())
    })?;
    Ok(())
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    path: &str,
    failures: usize,
    errors: usize,
    cases: impl FnOnce(&mut Writer<Vec<u8>>) -> io::Result<()>,
) -> io::Result<()> {
    let counts = [failures + errors, failures, errors].map(|count| count.to_string());
    let element = writer.create_element("testsuite").with_attributes([("name", path), ("file", path)]);
    let counts = ["tests", "failures", "errors"].into_iter().zip(counts.iter().map(String::as_str));
    element.with_attributes(counts).write_inner_content(cases)?;
    Ok(())
}

/// Has no attributes but these: readers that validate refuse a file and a line here.
fn case(
    writer: &mut Writer<Vec<u8>>,
    path: &str,
    name: &str,
    content: impl FnOnce(&mut Writer<Vec<u8>>) -> io::Result<()>,
) -> io::Result<()> {
    let class = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let element = writer.create_element("testcase").with_attribute(("name", name));
    element.with_attribute(("classname", class)).write_inner_content(content)?;
    Ok(())
}
