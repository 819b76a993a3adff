//! The formats of `render` as values of flags: what they are called there, and what `--help` says of each.

use crate::render::Format;
use clap::ValueEnum;
use clap::builder::PossibleValue;

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        &[
            Format::Full,
            Format::Concise,
            Format::Grouped,
            Format::Json,
            Format::JsonLines,
            Format::Sarif,
            Format::Github,
            Format::Gitlab,
            Format::Junit,
            Format::Rdjson,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Format::Full => ("full", "Source code, explanations and fixes"),
            Format::Concise => ("concise", "One line per finding"),
            Format::Grouped => ("grouped", "Grouped by file"),
            Format::Json => ("json", "A single JSON object"),
            Format::JsonLines => ("json-lines", "One JSON object per line, one per finding"),
            Format::Sarif => ("sarif", "SARIF 2.1.0, for GitHub code scanning and SARIF viewers"),
            Format::Github => ("github", "GitHub Actions annotations"),
            Format::Gitlab => ("gitlab", "GitLab code quality report"),
            Format::Junit => ("junit", "JUnit XML, which most CI services show"),
            Format::Rdjson => ("rdjson", "For reviewdog"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}
