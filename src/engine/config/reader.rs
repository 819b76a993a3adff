//! Typed access to a TOML table that knows where everything stands, so that every complaint
//! has a line and a column. Knows no key.

use super::ConfigError;
use crate::engine::suggest::did_you_mean;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// One file while it is read.
pub(crate) struct Reader<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl<'a> Reader<'a> {
    pub(crate) fn parse(&self) -> Result<DeTable<'a>, ConfigError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let message = error.message().trim().replace('\n', ", ");
            self.error(error.span().unwrap_or(0..0), format!("not valid TOML: {message}"))
        })?;
        Ok(table.into_inner())
    }

    /// An error at a range of bytes.
    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        ConfigError { path: self.path.to_owned(), at: Some((line, column)), message: message.into() }
    }

    pub(crate) fn unknown_key(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        known: &[&str],
    ) -> ConfigError {
        let given = key.get_ref();
        let hint = did_you_mean(given, known.iter().copied());
        self.error(key.span(), format!("unknown key `{given}`{hint}"))
    }

    fn wrong_type(&self, key: &str, value: &Value<'_>, wanted: &str) -> ConfigError {
        let given = value.get_ref().type_str();
        self.error(value.span(), format!("`{key}` must be {wanted}, but is of type {given}"))
    }

    pub(crate) fn string<'v>(&self, key: &str, value: &'v Value<'_>) -> Result<&'v str, ConfigError> {
        value.get_ref().as_str().ok_or_else(|| self.wrong_type(key, value, "a string"))
    }

    pub(crate) fn flag(&self, key: &str, value: &Value<'_>) -> Result<bool, ConfigError> {
        value.get_ref().as_bool().ok_or_else(|| self.wrong_type(key, value, "`true` or `false`"))
    }

    pub(crate) fn whole(&self, key: &str, value: &Value<'_>) -> Result<u32, ConfigError> {
        let number = value.get_ref().as_integer();
        number
            .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
            .filter(|number| *number > 0)
            .ok_or_else(|| self.wrong_type(key, value, "a positive integer"))
    }

    pub(crate) fn table<'v>(&self, key: &str, value: &'v Value<'a>) -> Result<&'v DeTable<'a>, ConfigError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong_type(key, value, "a table"))
    }

    /// A list of strings, each read by `read`, whose complaint is placed at the string.
    pub(crate) fn each<T>(
        &self,
        key: &str,
        value: &Value<'_>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, ConfigError> {
        let items =
            value.get_ref().as_array().ok_or_else(|| self.wrong_type(key, value, "a list of strings"))?;
        items
            .iter()
            .map(|item| {
                let text = self.string(key, item)?;
                read(text).map_err(|message| self.error(item.span(), message))
            })
            .collect()
    }

    /// A string read by `read`, whose complaint is placed at the string.
    pub(crate) fn one<T>(
        &self,
        key: &str,
        value: &Value<'_>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        let text = self.string(key, value)?;
        read(text).map_err(|message| self.error(value.span(), message))
    }
}
