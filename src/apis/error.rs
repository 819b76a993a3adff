//! What is wrong with a table, and where.

use std::ops::Range;

/// A table that cannot be read: a place, what is wrong there, and perhaps what was meant.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}:{line}:{column}: {message}{}", help.as_ref().map(|h| format!("; {h}")).unwrap_or_default())]
pub struct ApiError {
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
    /// ``did you mean `x`?``
    pub help: Option<String>,
}

/// A file being read: turns byte offsets into places.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Input<'_> {
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> ApiError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ApiError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            help: None,
        }
    }

    /// An unknown word, with the nearest of those that were possible.
    pub(crate) fn unknown<'k>(
        &self,
        offset: usize,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> ApiError {
        let mut error = self.error(offset, format!("unknown {what} `{word}`"));
        error.help = nearest(word, known).map(|near| format!("did you mean `{near}`?"));
        error
    }

    pub(crate) fn toml(&self, error: &toml::de::Error) -> ApiError {
        let offset = error.span().map_or(0, |Range { start, .. }| start);
        self.error(offset, error.message())
    }
}

/// The closest of the known words, if any is close enough to be what was meant.
fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2.max(word.len().min(candidate.len()) / 3))
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}
