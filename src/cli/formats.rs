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
            Format::Full => ("full", "With the code and everything that explains it"),
            Format::Concise => ("concise", "One line each"),
            Format::Grouped => ("grouped", "Under the name of their file"),
            Format::Json => ("json", "One object for machines"),
            Format::JsonLines => ("json-lines", "One object a line and a finding"),
            Format::Sarif => ("sarif", "SARIF 2.1.0, for GitHub's code scanning and viewers"),
            Format::Github => ("github", "Commands that annotate a run of GitHub Actions"),
            Format::Gitlab => ("gitlab", "A code quality report of GitLab"),
            Format::Junit => ("junit", "A report of tests, which most services show"),
            Format::Rdjson => ("rdjson", "For reviewdog"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}
