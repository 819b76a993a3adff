//! The words of a suppression: `trainlint: ignore[id, id] -- reason`, also after another
//! comment (`# type: ignore  # trainlint: …`) and several in a row. What follows the list is a reason.

use crate::report::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Ignore,
    FileIgnore,
    Disable,
    Enable,
    /// `noqa: id`, a word of other tools.
    Noqa,
}

const ACTIONS: [Action; 4] = [Action::Ignore, Action::FileIgnore, Action::Disable, Action::Enable];

impl Action {
    pub(super) fn name(self) -> &'static str {
        match self {
            Action::Ignore => "ignore",
            Action::FileIgnore => "file-ignore",
            Action::Disable => "disable",
            Action::Enable => "enable",
            Action::Noqa => "noqa",
        }
    }

    fn named(word: &str) -> Option<Action> {
        ACTIONS.into_iter().find(|action| word.eq_ignore_ascii_case(action.name()))
    }
}

#[derive(Debug)]
pub(super) enum Found {
    Directive(Directive),
    /// A bare `# noqa`, by the span of its comment.
    Noqa(Span),
    Malformed(Malformed),
}

#[derive(Debug)]
pub(super) struct Directive {
    pub action: Action,
    pub comment: Span,
    /// Ids and where they stand; never empty.
    pub rules: Vec<(String, Span)>,
}

/// A directive that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub span: Span,
    pub message: String,
    pub help: String,
}

/// Finds what a comment says to us. A `#` within it begins another comment.
pub(super) fn parse(text: &str, comment: Span, out: &mut Vec<Found>) {
    let Some(whole) = text.get(comment.range()) else {
        return;
    };
    for (hash, _) in whole.match_indices('#') {
        let body = whole[hash + 1..].split('#').next().unwrap_or_default();
        let mut words = Words { text: body, at: 0, base: comment.start + hash as u32 + 1, comment };
        if words.eat_word("trainlint") {
            words.directives(out);
        } else if words.eat_word("noqa") {
            words.noqa(out);
        }
    }
}

/// Whether a word of a `noqa` is written as our ids are: other tools have codes of capitals and digits.
pub(super) fn is_id(word: &str) -> bool {
    word.contains('-') && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

/// A reader of one comment.
struct Words<'a> {
    text: &'a str,
    at: usize,
    /// Offset of `text` in the file.
    base: u32,
    comment: Span,
}

impl<'a> Words<'a> {
    fn directives(&mut self, out: &mut Vec<Found>) {
        if !self.eat(':') {
            // «trainlint is …» is prose; «trainlint ignore[…]» is meant for us.
            if self.next_is_action() {
                let help = "write `# trainlint: ignore[rule-id]`";
                out.push(self.malformed(self.comment, "there is no `:` after `trainlint`", help));
            }
            return;
        }
        loop {
            match self.directive() {
                Ok(directive) => out.push(Found::Directive(directive)),
                Err(malformed) => return out.push(malformed),
            }
            if !self.eat(',') {
                self.eat(';');
            }
            if !self.next_is_action() {
                return;
            }
        }
    }

    /// Everything, or after a `:` the ids in a list that may hold codes of other tools.
    fn noqa(&mut self, out: &mut Vec<Found>) {
        if !self.eat(':') {
            return out.push(Found::Noqa(self.comment));
        }
        let mut rules = Vec::new();
        loop {
            let (word, span) = self.word();
            if word.is_empty() {
                break;
            }
            if is_id(word) {
                rules.push((word.to_owned(), span));
            }
            self.eat(',');
        }
        if !rules.is_empty() {
            out.push(Found::Directive(Directive { action: Action::Noqa, comment: self.comment, rules }));
        }
    }

    /// `action[id, id]`
    fn directive(&mut self) -> Result<Directive, Found> {
        let (word, span) = self.word();
        let Some(action) = Action::named(word) else {
            return Err(self.unknown(word, span));
        };
        let name = action.name();
        let help = format!("name the rules: `{name}[rule-id]`");
        if !self.eat('[') {
            return Err(self.malformed(span, format!("`{name}` names no rule"), help));
        }
        let start = self.at;
        let Some(length) = self.text[start..].find(']') else {
            let message = format!("the list of `{name}` has no `]`");
            return Err(self.malformed(self.span(start - 1, self.text.trim_end().len()), message, help));
        };
        self.at = start + length + 1;
        let mut rules = Vec::new();
        let mut at = start;
        for item in self.text[start..start + length].split(',') {
            let lead = item.len() - item.trim_start().len();
            let rule = item.trim();
            if !rule.is_empty() {
                rules.push((rule.to_owned(), self.span(at + lead, at + lead + rule.len())));
            }
            at += item.len() + 1;
        }
        if rules.is_empty() {
            return Err(self.malformed(
                self.span(start - 1, self.at),
                format!("the list of `{name}` is empty"),
                help,
            ));
        }
        Ok(Directive { action, comment: self.comment, rules })
    }

    fn unknown(&self, word: &str, span: Span) -> Found {
        if word.is_empty() {
            return self.malformed(
                self.comment,
                "`trainlint:` says nothing",
                "write `# trainlint: ignore[rule-id]`",
            );
        }
        let distance =
            |action: &Action| strsim::damerau_levenshtein(&word.to_ascii_lowercase(), action.name());
        let near = ACTIONS.into_iter().min_by_key(distance).filter(|action| distance(action) <= 2);
        let help = match near {
            Some(action) => format!("did you mean `{}`?", action.name()),
            None => "there are `ignore`, `file-ignore`, `disable` and `enable`".to_owned(),
        };
        self.malformed(span, format!("`{word}` is no directive of trainlint"), help)
    }

    fn malformed(&self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Found {
        Found::Malformed(Malformed { span, message: message.into(), help: help.into() })
    }

    /// True when `ignore[` or its like comes next.
    fn next_is_action(&mut self) -> bool {
        let at = self.at;
        let (word, _) = self.word();
        let is_action = Action::named(word).is_some() && self.eat('[');
        self.at = at;
        is_action
    }

    /// The next word of letters, digits, `-` and `_`; empty when something else is next.
    fn word(&mut self) -> (&'a str, Span) {
        self.skip_space();
        let start = self.at;
        let is_word = |character: char| character.is_alphanumeric() || "-_".contains(character);
        let rest = &self.text[start..];
        self.at += rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        (&self.text[start..self.at], self.span(start, self.at))
    }

    fn eat_word(&mut self, wanted: &str) -> bool {
        let at = self.at;
        let found = self.word().0.eq_ignore_ascii_case(wanted);
        if !found {
            self.at = at;
        }
        found
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start as u32, self.base + end as u32)
    }
}
