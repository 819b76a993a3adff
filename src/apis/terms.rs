//! The small languages inside strings of a table: parameters, applications, intervals, products.
//! Each reader is given where its string stands, so that errors have a place.

use ustr::{Ustr, ustr};

use super::error::{ApiError, Input};
use super::model::{
    Apply, Context, Dim, Expects, Handed, Literal, LossSpec, Operand, ParamKind, ParamSpec, ParameterSpec,
    RangeSpec, Weights,
};
use super::vocabulary::{CONTEXTS, EXPECTATIONS};
use super::words::Vocabulary;

/// A string of the table and where it begins.
#[derive(Clone, Copy)]
pub(super) struct Term<'a> {
    pub input: Input<'a>,
    pub text: &'a str,
    pub offset: usize,
}

/// A word in a term and where it begins in it.
type Token<'a> = (usize, &'a str);

impl<'a> Term<'a> {
    fn error(&self, at: usize, message: impl Into<String>) -> ApiError {
        self.input.error(self.offset + at, message)
    }

    /// Words between blanks; a quoted one may hold blanks.
    fn tokens(&self) -> Vec<Token<'a>> {
        let mut tokens = Vec::new();
        let mut start = None;
        let mut quoted = false;
        for (at, c) in self.text.char_indices() {
            if c == '\'' {
                quoted = !quoted;
            }
            match start {
                Some(from) if c == ' ' && !quoted => {
                    tokens.push((from, &self.text[from..at]));
                    start = None;
                }
                None if c != ' ' => start = Some(at),
                _ => {}
            }
        }
        tokens.extend(start.map(|from| (from, &self.text[from..])));
        tokens
    }

    /// The call of a method and the release that began to call it so: `log(logs, start_time) 4.47`.
    pub(crate) fn handed(self) -> Result<Handed, ApiError> {
        let wrong =
            || self.error(0, "a call and a release belong here, such as `log(logs, start_time) 4.47`");
        let (method, rest) = self.text.split_once('(').ok_or_else(wrong)?;
        let (arguments, release) = rest.split_once(')').ok_or_else(wrong)?;
        let (major, minor) = release.trim().split_once('.').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        let (named, positional): (Vec<&str>, Vec<&str>) =
            arguments.split(',').map(str::trim).partition(|argument| argument.ends_with('='));
        Ok(Handed {
            method: ustr(method),
            positional: positional.into_iter().map(ustr).collect(),
            named: named.into_iter().map(|name| ustr(name.trim_end_matches('='))).collect(),
            since: (number(major)?, number(minor)?),
        })
    }

    /// A parameter as Python writes it, `reduction='mean'`. `None` for the markers `*` and `/`.
    pub(crate) fn param(&self, keyword_only: bool) -> Result<Option<ParamSpec>, ApiError> {
        let (name, default) = match self.text.split_once('=') {
            Some((name, default)) => (name.trim(), Some(default.trim())),
            None => (self.text.trim(), None),
        };
        if name == "*" || name == "/" {
            return Ok(None);
        }
        let (kind, name) = if let Some(name) = name.strip_prefix("**") {
            (ParamKind::DoubleStar, name)
        } else if let Some(name) = name.strip_prefix('*') {
            (ParamKind::Star, name)
        } else if keyword_only {
            (ParamKind::KeywordOnly, name)
        } else {
            (ParamKind::Plain, name)
        };
        if !is_identifier(name) {
            return Err(self.error(0, format!("`{name}` is not the name of a parameter")));
        }
        let may_be_left_out = default.is_some();
        let default = match default {
            None | Some("...") => None,
            Some(text) => Some(literal(text).ok_or_else(|| {
                self.error(0, format!("`{text}` is not a literal; write `{name}=...` for other defaults"))
            })?),
        };
        Ok(Some(ParamSpec { name: ustr(name), kind, default, may_be_left_out }))
    }

    fn operand(&self, (at, word): Token<'a>, names: &[Ustr]) -> Result<Operand, ApiError> {
        if let Some(literal) = literal(word) {
            return Ok(Operand::Literal(literal));
        }
        if names.iter().any(|name| name.as_str() == word) {
            return Ok(Operand::Param(ustr(word)));
        }
        Err(self.input.unknown(self.offset + at, "parameter", word, names.iter().map(Ustr::as_str)))
    }

    /// The whole text as one operand.
    pub(crate) fn single_operand(&self, names: &[Ustr]) -> Result<Operand, ApiError> {
        self.operand((0, self.text), names)
    }

    /// The first word from a closed list, and the operands that follow it.
    pub(crate) fn apply<W: Vocabulary>(&self, names: &[Ustr]) -> Result<Apply<W>, ApiError> {
        let tokens = self.tokens();
        let Some((&(at, name), operands)) = tokens.split_first() else {
            return Err(self.error(0, format!("the {} is missing here", W::KIND)));
        };
        let Some(verb) = W::named(name) else {
            let known = W::ALL.iter().map(|word| word.name());
            return Err(self.input.unknown(self.offset + at, W::KIND, name, known));
        };
        let word = verb.word();
        self.count(name, operands.len(), word.required.len(), word.most().unwrap_or(usize::MAX))?;
        let args = operands.iter().map(|&token| self.operand(token, names)).collect::<Result<_, _>>()?;
        Ok(Apply { verb, args })
    }

    fn count(&self, word: &str, given: usize, min: usize, max: usize) -> Result<(), ApiError> {
        if given < min {
            Err(self.error(0, format!("`{word}` takes at least {min} operands, this gives {given}")))
        } else if given > max {
            Err(self.error(0, format!("`{word}` takes at most {max} operands, this gives {given}")))
        } else {
            Ok(())
        }
    }

    pub(crate) fn range(&self, names: &[Ustr]) -> Result<RangeSpec, ApiError> {
        if self.text.starts_with(['[', '(']) {
            return self.interval();
        }
        Ok(RangeSpec::Of(self.apply(names)?))
    }

    fn interval(&self) -> Result<RangeSpec, ApiError> {
        let bad = || self.error(0, format!("`{}` is not an interval such as `[0, 1)`", self.text));
        let low_open = self.text.starts_with('(');
        let high_open = self.text.ends_with(')');
        if !high_open && !self.text.ends_with(']') {
            return Err(bad());
        }
        let inner = &self.text[1..self.text.len() - 1];
        let (low, high) = inner.split_once(',').ok_or_else(bad)?;
        let low = low.trim().parse::<f64>().map_err(|_| bad())?;
        let high = high.trim().parse::<f64>().map_err(|_| bad())?;
        if low > high || low.is_nan() || high.is_nan() {
            return Err(bad());
        }
        Ok(RangeSpec::Interval { low, low_open, high, high_open })
    }

    pub(crate) fn context(&self, names: &[Ustr]) -> Result<Context, ApiError> {
        let tokens = self.tokens();
        let Some((&(at, word), operands)) = tokens.split_first() else {
            return Err(self.error(0, "a context is missing here"));
        };
        let wanted = match word {
            "set-grad" | "device" | "strategy" => 1,
            "autocast" => 3,
            _ => 0,
        };
        if CONTEXTS.contains(&word) {
            self.count(word, operands.len(), wanted, wanted)?;
        }
        let nth = |index: usize| match operands.get(index) {
            Some(&token) => self.operand(token, names),
            None => Err(self.error(0, "an operand is missing here")),
        };
        match word {
            "no-grad" => Ok(Context::NoGrad),
            "enable-grad" => Ok(Context::EnableGrad),
            "set-grad" => Ok(Context::SetGrad(nth(0)?)),
            "accumulate" => Ok(Context::Accumulate),
            "strategy" => Ok(Context::Strategy(nth(0)?)),
            "recording" => Ok(Context::Recording),
            "failing" => Ok(Context::Failing),
            "traced" => Ok(Context::Traced),
            "device" => Ok(Context::Device(nth(0)?)),
            "autocast" => Ok(Context::Autocast(nth(0)?, nth(1)?, nth(2)?)),
            "transparent" => Ok(Context::Transparent),
            "result" => Ok(Context::Result),
            _ => Err(self.input.unknown(self.offset + at, "context", word, CONTEXTS.iter().copied())),
        }
    }

    /// `logits`, or `logits if from_logits`.
    pub(crate) fn expects(&self, names: &[Ustr]) -> Result<Expects, ApiError> {
        let tokens = self.tokens();
        let condition = match tokens.get(1..) {
            Some([(_, "if"), token]) => match self.operand(*token, names)? {
                Operand::Param(name) => Some(name),
                Operand::Literal(_) => return Err(self.error(0, "the condition is the name of a parameter")),
            },
            Some([]) => None,
            _ => return Err(self.error(0, "written `logits` or `logits if from_logits`")),
        };
        match (tokens[0].1, condition) {
            ("logits", None) => Ok(Expects::Logits),
            ("logits", Some(name)) => Ok(Expects::LogitsIf(name)),
            ("binary-logits", None) => Ok(Expects::BinaryLogits),
            ("binary-logits", Some(name)) => Ok(Expects::BinaryLogitsIf(name)),
            ("probabilities", None) => Ok(Expects::Probabilities),
            ("binary-probabilities", None) => Ok(Expects::BinaryProbabilities),
            ("log-probabilities", None) => Ok(Expects::LogProbabilities),
            ("log-distribution", None) => Ok(Expects::LogDistribution),
            ("anything", None) => Ok(Expects::Anything),
            (word, _) => {
                Err(self.input.unknown(self.offset, "expectation", word, EXPECTATIONS.iter().copied()))
            }
        }
    }

    pub(crate) fn loss(
        input: Term<'a>,
        target: Term<'a>,
        expects: Term<'a>,
        names: &[Ustr],
    ) -> Result<LossSpec, ApiError> {
        let named = |term: Term<'a>| match term.operand((0, term.text), names)? {
            Operand::Param(name) => Ok(name),
            Operand::Literal(_) => Err(term.error(0, "the name of a parameter belongs here")),
        };
        let (input, target) = (named(input)?, named(target)?);
        Ok(LossSpec {
            input,
            target,
            expects: expects.expects(names)?,
            pairs: None,
            classes: None,
            targets: None,
            strict: false,
            apart: false,
            turned: false,
            labels: None,
            sibling: None,
        })
    }

    /// A sum of products of parameters and integers; a flag counts as one or zero.
    pub(crate) fn weights(&self, names: &[Ustr]) -> Result<Weights, ApiError> {
        Ok(Weights::Sum(self.products(names)?))
    }

    pub(crate) fn products(&self, names: &[Ustr]) -> Result<Box<[Box<[Operand]>]>, ApiError> {
        let mut start = 0;
        let mut sum = Vec::new();
        for product in self.text.split('+') {
            let mut at = start;
            let mut factors = Vec::new();
            for factor in product.split('*') {
                let inside = at + factor.len() - factor.trim_start().len();
                factors.push(self.operand((inside, factor.trim()), names)?);
                at += factor.len() + 1;
            }
            sum.push(factors.into_boxed_slice());
            start += product.len() + 1;
        }
        Ok(sum.into_boxed_slice())
    }
}

impl<'a> Term<'a> {
    /// A parameter of a layer: `bias if affine and bias: num_features`.
    pub(crate) fn parameter(&self, names: &[Ustr]) -> Result<ParameterSpec, ApiError> {
        let known = |word: &str| match names.iter().find(|name| name.as_str() == word) {
            Some(name) => Ok(*name),
            None => Err(self.error(0, format!("the constructor has no parameter `{word}`"))),
        };
        let Some((head, dims)) = self.text.split_once(':') else {
            return Err(
                self.error(0, "a name, a colon and the dimensions belong here: `weight: out_features`")
            );
        };
        let (name, when) = head.split_once(" if ").unwrap_or((head, ""));
        if !is_identifier(name.trim()) {
            return Err(self.error(0, format!("`{name}` is not the name of a parameter")));
        }
        let words = |text: &'a str, separator: &'static str| {
            text.split(separator).map(str::trim).filter(|word| !word.is_empty())
        };
        let dim = |word: &str| match word.strip_prefix('*') {
            Some(name) => known(name).map(Dim::Each),
            None if word == "_" => Ok(Dim::Unknown),
            None => known(word).map(Dim::Of),
        };
        Ok(ParameterSpec {
            name: ustr(name.trim()),
            when: words(when, " and ").map(known).collect::<Result<_, _>>()?,
            dims: words(dims, ",").map(dim).collect::<Result<_, _>>()?,
        })
    }
}

/// A Python literal that tables use.
pub(super) fn literal(text: &str) -> Option<Literal> {
    match text {
        "None" => return Some(Literal::None),
        "True" => return Some(Literal::Bool(true)),
        "False" => return Some(Literal::Bool(false)),
        _ => {}
    }
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(Literal::Str(ustr(inner)));
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(Literal::Int(number));
    }
    text.parse::<f64>().ok().map(Literal::Float)
}

fn is_identifier(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c == '_' || c.is_alphanumeric())
}
