//! Where text goes, and whether it is coloured. A closed pipe ends the output, not the program.

use super::args::ColorWhen;
use crate::render::Look;
use crate::report::escaped_lines;
use anstream::AutoStream;
use std::io::{self, ErrorKind, IsTerminal, Write};

pub(crate) struct Output {
    pub color: bool,
    /// Rules are links to their pages: a terminal shows them, and a file would hold their codes.
    pub links: bool,
    /// Warnings are not for everybody.
    pub is_quiet: bool,
    /// Results go to a terminal, and not to another program.
    pub is_read_by_people: bool,
    color_errors: bool,
}

impl Output {
    pub(crate) fn new(when: ColorWhen) -> Output {
        let decide = |terminal: bool| match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => wished(|name| std::env::var(name).ok()).unwrap_or(terminal),
        };
        let color = decide(io::stdout().is_terminal());
        Output {
            color,
            links: wants_links(|name| std::env::var(name).ok(), color && io::stdout().is_terminal()),
            is_quiet: false,
            is_read_by_people: io::stdout().is_terminal(),
            color_errors: decide(io::stderr().is_terminal()),
        }
    }

    /// What text for stdout may hold.
    pub(crate) fn look(&self) -> Look {
        Look { color: self.color, links: self.links }
    }

    /// Results.
    pub(crate) fn out(&self, bytes: &[u8]) -> anyhow::Result<()> {
        // The stream translates colours where a console does not understand them itself.
        let written = if self.color {
            let mut stream = AutoStream::always(io::stdout().lock());
            stream.write_all(bytes).and_then(|()| stream.flush())
        } else {
            let mut stream = io::stdout().lock();
            stream.write_all(bytes).and_then(|()| stream.flush())
        };
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// What is said where stdout has something else to hold.
    pub(crate) fn aside(&self, bytes: &[u8]) {
        // There is nobody left to tell when stderr is closed.
        let _ = io::stderr().lock().write_all(bytes);
    }

    /// What went wrong, beside the results.
    pub(crate) fn complain(&self, level: &str, message: &str) {
        if self.is_quiet && level == "warning" {
            return;
        }
        let code = if level == "error" { "1;31" } else { "1;33" };
        let message = escaped_lines(message);
        let text = if self.color_errors {
            format!("\x1b[{code}m{level}\x1b[0m: {message}\n")
        } else {
            format!("{level}: {message}\n")
        };
        // There is nobody left to tell when stderr is closed.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// What the environment asks for, if it asks: a refusal of colour before a demand for it.
fn wished(variable: impl Fn(&str) -> Option<String>) -> Option<bool> {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let on = |name: &str| set(name) && variable(name).is_some_and(|value| value != "0");
    if set("NO_COLOR") {
        Some(false)
    } else if on("FORCE_COLOR") || on("CLICOLOR_FORCE") {
        Some(true)
    } else if variable("TERM").is_some_and(|term| term == "dumb")
        || variable("CLICOLOR").is_some_and(|on| on == "0")
    {
        Some(false)
    } else {
        None
    }
}

/// Whether text may be a link: `FORCE_HYPERLINK` decides, as other tools have it.
fn wants_links(variable: impl Fn(&str) -> Option<String>, terminal: bool) -> bool {
    match variable("FORCE_HYPERLINK") {
        Some(value) if !value.is_empty() => value != "0",
        _ => terminal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(variables: &[(&str, &str)]) -> Option<bool> {
        wished(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_environment_decides_in_order() {
        assert_eq!(wish(&[]), None);
        assert_eq!(wish(&[("NO_COLOR", "1"), ("FORCE_COLOR", "1")]), Some(false));
        assert_eq!(wish(&[("NO_COLOR", "")]), None);
        assert_eq!(wish(&[("FORCE_COLOR", "1"), ("TERM", "dumb")]), Some(true));
        assert_eq!(wish(&[("CLICOLOR_FORCE", "1")]), Some(true));
        assert_eq!(wish(&[("CLICOLOR_FORCE", "0")]), None);
        assert_eq!(wish(&[("TERM", "dumb")]), Some(false));
    }

    #[test]
    fn links_are_for_terminals_and_for_those_who_insist() {
        let links = |value: Option<&str>, terminal| wants_links(|_| value.map(str::to_owned), terminal);
        assert!(links(None, true) && !links(None, false));
        assert!(links(Some("1"), false) && !links(Some("0"), true));
        assert!(links(Some(""), true));
    }
}
