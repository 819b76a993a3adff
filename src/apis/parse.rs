//! One table file to entries: which keys there are and what stands in them.
//! Whether a name that an entry mentions exists is asked later, when all files are known.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use ustr::{Ustr, ustr};

use super::error::{ApiError, Input};
use super::model::{
    Api, ClassSpec, DatasetSpec, Draws, Literal, LossSpec, ModeDependence, Operand, Order, ParamKind,
    ParamSpec, Pooled, Role, Weights,
};
use super::shared::Shared;
use super::terms::{Term, literal};
use super::vocabulary::{
    CLASS_KEYS, ENTRY_KEYS, FILE_KEYS, LABELS, MARKS, ORDERS, OWNED, PAIRS, ROLES, TARGETS,
};

/// Everything one file says.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
    pub shared: Shared,
    /// Names that entries mention, and where.
    pub mentioned: Vec<(Ustr, usize)>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub api: Api,
    pub also: Vec<Ustr>,
    pub offset: usize,
}

type Value<'a> = Spanned<DeValue<'a>>;

pub(crate) fn parse(input: Input<'_>) -> Result<Table, ApiError> {
    let document = DeTable::parse(input.text).map_err(|error| input.toml(&error))?;
    let document = document.get_ref();
    let mut reader = Reader { input, base: "", table: Table::default() };
    if let Some(base) = document.get("base") {
        reader.base = reader.string(base)?.text;
    }
    for (key, value) in document {
        let name: &str = key.get_ref();
        if name.contains('.') {
            reader.entry(name, key.span().start, value)?;
        } else {
            reader.file_key(name, key.span().start, value)?;
        }
    }
    reader.table.entries.sort_by_key(|entry| entry.offset);
    Ok(reader.table)
}

struct Reader<'a> {
    input: Input<'a>,
    base: &'a str,
    table: Table,
}

impl<'a> Reader<'a> {
    fn file_key(&mut self, key: &str, at: usize, value: &Value<'a>) -> Result<(), ApiError> {
        match key {
            "base" => {}
            "packages" => self.table.shared.packages = self.words(value)?,
            "shuffling" => self.table.shared.shuffling = self.words(value)?,
            "labels" => self.table.shared.labels = self.words(value)?,
            "losses" => self.table.shared.losses = self.words(value)?,
            "criteria" => self.table.shared.criteria = self.words(value)?,
            "poles" => self.table.shared.poles = self.words(value)?,
            "making" => self.table.shared.making = self.words(value)?,
            "drawing" => self.table.shared.drawing = self.words(value)?,
            "learning" => self.table.shared.learning = self.words(value)?,
            "pretrained" => self.table.shared.pretrained = self.words(value)?,
            "testing" => self.table.shared.testing = self.words(value)?,
            "suites" => self.table.shared.suites = self.words(value)?,
            "scattering" => self.table.shared.scattering = self.words(value)?,
            "inputs" => self.table.shared.inputs = self.words(value)?,
            "sharing" => self.table.shared.sharing = self.words(value)?,
            "random" => self.table.shared.random = self.words(value)?,
            "tensor_methods" => self.table.shared.tensor_methods = self.words(value)?,
            "makers" => self.table.shared.makers = self.words(value)?,
            "protocol" => self.table.shared.protocol = self.words(value)?,
            "trigger" => self.table.shared.trigger = self.words(value)?,
            "copying" => self.table.shared.copying = self.words(value)?,
            "transparent" => self.table.shared.transparent = self.words(value)?,
            "failures" => self.table.shared.failures = self.words(value)?,
            "nans" => self.table.shared.nans = self.words(value)?,
            "frameworks" => self.table.shared.frameworks = self.words(value)?,
            "pure" => self.table.shared.pure = self.words(value)?,
            "trackers" => self.table.shared.trackers = self.words(value)?,
            "same" => self.table.shared.same = self.names_of(value)?,
            "usual" => self.table.shared.usual = self.names_of(value)?,
            "repairs" => self.table.shared.repairs = self.names_of(value)?,
            "roles" => {
                for (role, value) in self.table_of(value)? {
                    let role_at = role.span().start;
                    let role =
                        self.role(Term { input: self.input, text: role.get_ref(), offset: role_at })?;
                    for (key, used) in self.table_of(value)? {
                        let words = self.words(used)?;
                        match key.get_ref().as_ref() {
                            "used" => self.table.shared.roles.push((role, words)),
                            "called" => self.table.shared.called.push((role, words)),
                            "classes" => self.table.shared.classes.push((role, words)),
                            other => {
                                let known = ["used", "called", "classes"];
                                return Err(self.input.unknown(key.span().start, "key", other, known));
                            }
                        }
                    }
                }
            }
            "names" => {
                for (role, patterns) in self.table_of(value)? {
                    let role_at = role.span().start;
                    let role =
                        self.role(Term { input: self.input, text: role.get_ref(), offset: role_at })?;
                    let patterns = self.words(patterns)?;
                    self.table.shared.names.push((role, patterns));
                }
            }
            _ => return Err(self.input.unknown(at, "key", key, FILE_KEYS.iter().copied())),
        }
        Ok(())
    }

    /// A table of names for names.
    fn names_of(&self, value: &Value<'a>) -> Result<Vec<(Ustr, Ustr)>, ApiError> {
        let names = self.table_of(value)?.iter();
        names.map(|(name, meant)| Ok((ustr(name.get_ref()), ustr(self.string(meant)?.text)))).collect()
    }

    fn entry(&mut self, name: &str, offset: usize, value: &Value<'a>) -> Result<(), ApiError> {
        let keys = Keys { input: self.input, table: self.table_of(value)? };
        for (key, _) in keys.table {
            if !ENTRY_KEYS.contains(&key.get_ref().as_ref()) {
                let known = ENTRY_KEYS.iter().copied();
                return Err(self.input.unknown(key.span().start, "key", key.get_ref(), known));
            }
        }
        let params = self.params(keys.get("params"))?;
        let class = self.class(&keys, &params)?;
        let mut names: Vec<Ustr> = params.iter().map(|param| param.name).collect();
        if let Some(class) = &class {
            names.extend(class.call_params.iter().map(|param| param.name));
            names.push(ustr("self"));
        }
        let property = self.flag(keys.get("property"))?;
        if property {
            names.push(ustr("self"));
        }
        let term = |key| keys.get(key).map(|value| self.string(value)).transpose();
        let api = Api {
            name: ustr(name),
            gives: term("gives")?.map(|term| term.apply(&names)).transpose()?,
            range: term("range")?.map(|term| term.range(&names)).transpose()?,
            pole: term("pole")?.map(|term| term.apply(&names)).transpose()?,
            computes: term("computes")?.map(|term| term.apply(&names)).transpose()?,
            mark: term("mark")?.map(|term| self.one_of("mark", term, MARKS)).transpose()?,
            effects: self
                .terms(keys.get("effects"))?
                .iter()
                .map(|term| term.apply(&names))
                .collect::<Result<_, _>>()?,
            needs: self
                .terms(keys.get("needs"))?
                .iter()
                .map(|term| term.apply(&names))
                .collect::<Result<_, _>>()?,
            context: term("context")?.map(|term| term.context(&names)).transpose()?,
            loss: keys.get("loss").map(|value| self.loss(value, &names)).transpose()?,
            class: class.map(Box::new),
            dataset: keys.get("dataset").map(|value| self.dataset(value, &names)).transpose()?.map(Box::new),
            property,
            pooled: keys
                .get("pooled")
                .map(|value| self.flag_or_parameter(value, &names))
                .transpose()?
                .map(|flag| flag.map_or_else(Pooled::UnlessMicro, |_| Pooled::Always)),
            saves_input: self.flag(keys.get("saves_input"))?,
            saves_result: self.flag(keys.get("saves_result"))?,
            source: term("source")?.map_or_else(String::new, |term| self.address(term.text)).into(),
            params,
        };
        let also = keys.get("also").map(|value| self.words(value)).transpose()?.unwrap_or_default();
        self.table.entries.push(Entry { api, also, offset });
        Ok(())
    }

    fn address(&self, text: &str) -> String {
        if text.contains("://") { text.to_owned() } else { format!("{}{text}", self.base) }
    }

    fn params(&self, value: Option<&Value<'a>>) -> Result<Box<[ParamSpec]>, ApiError> {
        let mut params: Vec<ParamSpec> = Vec::new();
        let mut keyword_only = false;
        for term in self.terms(value)? {
            match term.param(keyword_only)? {
                Some(param) => {
                    keyword_only |= param.kind == ParamKind::Star;
                    params.push(param);
                }
                None => keyword_only |= term.text == "*",
            }
        }
        Ok(params.into_boxed_slice())
    }

    /// A class is what has a key that only classes have.
    fn class(&mut self, keys: &Keys<'a, '_>, params: &[ParamSpec]) -> Result<Option<ClassSpec>, ApiError> {
        if !CLASS_KEYS.iter().any(|key| keys.get(key).is_some()) {
            return Ok(None);
        }
        let names: Vec<Ustr> = params.iter().map(|param| param.name).collect();
        let mut class = ClassSpec::default();
        if let Some(value) = keys.get("role") {
            class.role = Some(self.role(self.string(value)?)?);
        }
        if let Some(value) = keys.get("is") {
            let bases = self.terms(Some(value))?;
            class.is = bases.iter().map(|term| ustr(term.text)).collect();
            self.table.mentioned.extend(bases.iter().map(|term| (ustr(term.text), term.offset)));
        }
        match keys.get("call") {
            Some(value) if value.get_ref().is_str() => {
                let term = self.string(value)?;
                class.call = Some(ustr(term.text));
                self.table.mentioned.push((ustr(term.text), term.offset));
            }
            value => class.call_params = self.params(value)?,
        }
        class.owns = self
            .terms(keys.get("owns"))?
            .into_iter()
            .map(|term| match OWNED.contains(&term.text) {
                true => Ok(ustr(term.text)),
                false => Err(self.input.unknown(term.offset, "part", term.text, OWNED.iter().copied())),
            })
            .collect::<Result<_, _>>()?;
        let words = |key: &str| keys.get(key).map_or(Ok(Vec::new()), |value| self.words(value));
        class.walks = words("walks")?.into();
        class.walks_while = words("walks_while")?.into();
        class.each_batch = words("each_batch")?.into();
        class.epoch_end = words("epoch_end")?.into();
        class.bare_hooks = words("bare_hooks")?.into();
        class.called_first = words("called_first")?.into();
        class.trains_on = words("trains_on")?.into();
        class.scores_on = words("scores_on")?.into();
        let handed = self.terms(keys.get("handed"))?;
        class.handed = handed.into_iter().map(Term::handed).collect::<Result<_, _>>()?;
        class.weights = keys.get("weights").map(|value| self.weights(value, &names)).transpose()?;
        class.parameters = self
            .terms(keys.get("parameters"))?
            .into_iter()
            .map(|term| term.parameter(&names))
            .collect::<Result<_, _>>()?;
        class.remembers = keys.get("remembers").map(|value| self.remembers(value, &names)).transpose()?;
        if let Some(value) = keys.get("lasts") {
            class.lasts = self.string(value)?.products(&names)?;
        }
        class.decays =
            keys.get("decays").map(|value| self.string(value)?.single_operand(&names)).transpose()?;
        class.mode_dependent =
            keys.get("mode_dependent").map(|value| self.mode_dependent(value, &names)).transpose()?;
        class.draws = keys
            .get("draws")
            .map(|value| self.flag_or_parameter(value, &names))
            .transpose()?
            .map(|flag| flag.map_or_else(Draws::Whether, |_| Draws::Always));
        class.told = keys.get("told").map(|value| Ok(ustr(self.string(value)?.text))).transpose()?;
        class.order = keys.get("order").map(|value| self.order(value, &names)).transpose()?;
        class.proportional = self.flag(keys.get("proportional"))?;
        class.makes = keys.get("makes").map(|value| self.string(value)?.apply(&names)).transpose()?;
        Ok(Some(class))
    }

    fn remembers(&self, value: &Value<'a>, names: &[Ustr]) -> Result<Operand, ApiError> {
        match value.get_ref().as_bool() {
            Some(flag) => Ok(Operand::Literal(Literal::Bool(flag))),
            None => self.string(value)?.single_operand(names),
        }
    }

    /// `true`, or the parameter that decides it.
    fn flag_or_parameter(&self, value: &Value<'a>, names: &[Ustr]) -> Result<Result<bool, Ustr>, ApiError> {
        match value.get_ref().as_bool() {
            Some(flag) => Ok(Ok(flag)),
            None => Ok(Err(self.parameter(self.string(value)?, names)?)),
        }
    }

    fn mode_dependent(&self, value: &Value<'a>, names: &[Ustr]) -> Result<ModeDependence, ApiError> {
        if value.get_ref().as_bool().is_none() {
            let term = self.string(value)?;
            if let Some((rate, count)) = term.text.split_once(" between ") {
                let offset = term.offset + rate.len() + " between ".len();
                let rate = self.parameter(Term { text: rate, ..term }, names)?;
                let count = self.parameter(Term { text: count, offset, ..term }, names)?;
                return Ok(ModeDependence::Between(rate, count));
            }
        }
        Ok(match self.flag_or_parameter(value, names)? {
            Ok(true) => ModeDependence::Always,
            Ok(false) => ModeDependence::Never,
            Err(parameter) => ModeDependence::If(parameter),
        })
    }

    fn order(&self, value: &Value<'a>, names: &[Ustr]) -> Result<Order, ApiError> {
        let term = self.string(value)?;
        if let Some(flag) = term.text.strip_prefix("shared ") {
            let flag = Term { text: flag, offset: term.offset + "shared ".len(), ..term };
            return Ok(Order::Shared(self.parameter(flag, names)?));
        }
        self.one_of("order", term, ORDERS)
    }

    /// The name of one of the entry's parameters.
    fn parameter(&self, term: Term<'a>, names: &[Ustr]) -> Result<Ustr, ApiError> {
        match names.iter().find(|name| name.as_str() == term.text) {
            Some(name) => Ok(*name),
            None => {
                let known = names.iter().map(Ustr::as_str);
                Err(self.input.unknown(term.offset, "parameter", term.text, known))
            }
        }
    }

    fn weights(&self, value: &Value<'a>, names: &[Ustr]) -> Result<Weights, ApiError> {
        match value.get_ref().as_bool() {
            Some(true) => Ok(Weights::Some),
            Some(false) => Ok(Weights::None),
            None => self.string(value)?.weights(names),
        }
    }

    fn loss(&self, value: &Value<'a>, names: &[Ustr]) -> Result<LossSpec, ApiError> {
        let keys = Keys { input: self.input, table: self.table_of(value)? };
        keys.only(&[
            "input", "target", "expects", "pairs", "classes", "targets", "strict", "apart", "turned",
            "labels", "sibling",
        ])?;
        let term = |key| match keys.get(key) {
            Some(value) => self.string(value),
            None => Err(self.input.error(value.span().start, format!("a loss has `{key}`"))),
        };
        let spec = Term::loss(term("input")?, term("target")?, term("expects")?, names)?;
        let pairs = keys.get("pairs").map(|value| self.one_of("pairing", self.string(value)?, PAIRS));
        let classes = keys.get("classes").map(|value| self.integer(value));
        let labels =
            keys.get("labels").map(|value| self.one_of("kind of labels", self.string(value)?, LABELS));
        let sibling = keys.get("sibling").map(|value| Ok(Ustr::from(self.string(value)?.text)));
        let targets = keys.get("targets").map(|value| self.one_of("shape", self.string(value)?, TARGETS));
        let strict = self.flag(keys.get("strict"))?;
        let apart = self.flag(keys.get("apart"))?;
        let turned = self.flag(keys.get("turned"))?;
        Ok(LossSpec {
            pairs: pairs.transpose()?,
            classes: classes.transpose()?,
            targets: targets.transpose()?,
            strict,
            apart,
            turned,
            labels: labels.transpose()?,
            sibling: sibling.transpose()?,
            ..spec
        })
    }

    fn dataset(&self, value: &Value<'a>, names: &[Ustr]) -> Result<DatasetSpec, ApiError> {
        let keys = Keys { input: self.input, table: self.table_of(value)? };
        keys.only(&["by", "samples", "sample", "bytes", "labelled", "column", "record"])?;
        let mut spec = DatasetSpec { bytes_per_element: 4, ..DatasetSpec::default() };
        if let Some(by) = keys.get("by") {
            spec.by = Some(self.parameter(self.string(by)?, names)?);
        }
        if let Some(samples) = keys.get("samples") {
            spec.samples = match samples.get_ref().as_table() {
                None => Box::new([(None, self.integer(samples)?)]),
                Some(table) => table
                    .iter()
                    .map(|(key, count)| Ok((Some(sample_key(key.get_ref())), self.integer(count)?)))
                    .collect::<Result<_, ApiError>>()?,
            };
        }
        if let Some(sample) = keys.get("sample") {
            spec.sample = self.array(sample)?.iter().map(|v| self.integer(v)).collect::<Result<_, _>>()?;
        }
        spec.labelled = self.flag(keys.get("labelled"))?;
        spec.record =
            keys.get("record").map(|name| self.string(name).map(|name| Ustr::from(name.text))).transpose()?;
        spec.column = self.flag(keys.get("column"))?;
        if let Some(bytes) = keys.get("bytes") {
            spec.bytes_per_element = self.integer(bytes)?;
        }
        Ok(spec)
    }

    fn role(&self, term: Term<'_>) -> Result<Role, ApiError> {
        self.one_of("role", term, ROLES)
    }

    fn one_of<T: Copy>(&self, what: &str, term: Term<'_>, list: &[(&'static str, T)]) -> Result<T, ApiError> {
        match list.iter().find(|(name, _)| *name == term.text) {
            Some((_, found)) => Ok(*found),
            None => Err(self.input.unknown(term.offset, what, term.text, list.iter().map(|(name, _)| *name))),
        }
    }

    fn flag(&self, value: Option<&Value<'a>>) -> Result<bool, ApiError> {
        let Some(value) = value else { return Ok(false) };
        value.get_ref().as_bool().ok_or_else(|| self.wrong(value, "true or false"))
    }

    fn integer(&self, value: &Value<'a>) -> Result<i64, ApiError> {
        let integer = value.get_ref().as_integer();
        integer
            .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.wrong(value, "an integer"))
    }

    /// A string of the file; the slice is of the text itself, so escapes are not for these.
    fn string(&self, value: &Value<'a>) -> Result<Term<'a>, ApiError> {
        let span = value.span();
        let quoted = value.get_ref().as_str().and_then(|parsed| {
            let offset = span.start + 1;
            let text = self.input.text.get(offset..span.end.checked_sub(1)?)?;
            (text == parsed).then_some(Term { input: self.input, text, offset })
        });
        quoted.ok_or_else(|| self.wrong(value, "a plain string without escapes"))
    }

    fn array<'t>(&self, value: &'t Value<'a>) -> Result<&'t [Value<'a>], ApiError> {
        value.get_ref().as_array().map(|array| &**array).ok_or_else(|| self.wrong(value, "an array"))
    }

    fn terms(&self, value: Option<&Value<'a>>) -> Result<Vec<Term<'a>>, ApiError> {
        let Some(value) = value else { return Ok(Vec::new()) };
        self.array(value)?.iter().map(|value| self.string(value)).collect()
    }

    fn words(&self, value: &Value<'a>) -> Result<Vec<Ustr>, ApiError> {
        Ok(self.terms(Some(value))?.iter().map(|term| ustr(term.text)).collect())
    }

    fn table_of<'t>(&self, value: &'t Value<'a>) -> Result<&'t DeTable<'a>, ApiError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(value, "a table"))
    }

    fn wrong(&self, value: &Value<'a>, wanted: &str) -> ApiError {
        let found = value.get_ref().type_str();
        self.input.error(value.span().start, format!("{wanted} belongs here, this is a {found}"))
    }
}

/// The keys of a table of known keys.
struct Keys<'a, 't> {
    input: Input<'a>,
    table: &'t DeTable<'a>,
}

impl<'a, 't> Keys<'a, 't> {
    fn get(&self, key: &str) -> Option<&'t Value<'a>> {
        self.table.get(key)
    }

    fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        for (key, _) in self.table {
            if !known.contains(&key.get_ref().as_ref()) {
                return Err(self.input.unknown(
                    key.span().start,
                    "key",
                    key.get_ref(),
                    known.iter().copied(),
                ));
            }
        }
        Ok(())
    }
}

/// Bare TOML keys have no types: `true`, `10` and `train` are what they look like.
fn sample_key(key: &str) -> Literal {
    match key {
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        _ => literal(key).unwrap_or_else(|| Literal::Str(ustr(key))),
    }
}
