//! The tree of a configuration file, whatever its format, with the line of each scalar where the format
//! tells. What is too deep, too large or broken gives no tree.

use super::Format;
use crate::values::{Key, Value};
use saphyr::{LoadableYamlNode, MarkedYaml, YamlData};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(in super::super) enum Node {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(in super::super) struct Scalar {
    pub value: Value,
    pub file: Rc<str>,
    /// From one.
    pub line: Option<usize>,
}

const DEEPEST: usize = 64;
/// Aliases may stand for texts many times as long; more than this is not unfolded.
const MOST_UNFOLDED: u64 = 10_000;

pub(in super::super) fn parse(text: &str, file: &str, format: Format) -> Option<Node> {
    let file: Rc<str> = Rc::from(file);
    match format {
        Format::Yaml => parse_yaml(text, &file),
        // As YAML it has lines, and nearly all of JSON is YAML.
        Format::Json if nested(text) < DEEPEST => parse_yaml(text, &file).or_else(|| parse_json(text, &file)),
        Format::Json => None,
        Format::Toml => parse_toml(text, &file),
    }
}

/// How deep brackets nest, at most.
fn nested(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Whether aliases in aliases would unfold to more than we want to hold.
fn unfolds(text: &str) -> bool {
    let words =
        || text.split(|char: char| char.is_whitespace() || matches!(char, ',' | '[' | ']' | '{' | '}'));
    let anchors = words().filter_map(|word| word.strip_prefix('&')).filter(|name| !name.is_empty());
    let uses = |name: &str| words().filter(|word| word.strip_prefix('*') == Some(name)).count() as u64;
    let mut product = 1_u64;
    for name in anchors {
        product = product.saturating_mul(1 + uses(name));
        if product > MOST_UNFOLDED {
            return true;
        }
    }
    false
}

fn parse_yaml(text: &str, file: &Rc<str>) -> Option<Node> {
    if nested(text) >= DEEPEST || unfolds(text) {
        return None;
    }
    let documents = MarkedYaml::load_from_str(text).ok()?;
    from_yaml(documents.first()?, file, 0)
}

fn from_yaml(yaml: &MarkedYaml, file: &Rc<str>, depth: usize) -> Option<Node> {
    if depth > DEEPEST {
        return None;
    }
    let scalar = |value: Value| {
        Some(Node::Scalar(Scalar { value, file: file.clone(), line: Some(yaml.span.start.line()) }))
    };
    match &yaml.data {
        YamlData::Value(value) => scalar(from_scalar(value)),
        YamlData::Sequence(items) => {
            items.iter().map(|item| from_yaml(item, file, depth + 1)).collect::<Option<_>>().map(Node::List)
        }
        YamlData::Mapping(entries) => {
            let mut known = Vec::with_capacity(entries.len());
            let mut inherited = Vec::new();
            for (key, value) in entries {
                let node = from_yaml(value, file, depth + 1)?;
                match key_of(key) {
                    Some(Key::Str(name)) if &*name == "<<" => inherited.push(node),
                    Some(key) => known.push((key, node)),
                    None => {}
                }
            }
            inherited.into_iter().for_each(|node| inherit(&mut known, node));
            Some(Node::Map(known))
        }
        YamlData::Tagged(_, inner) => from_yaml(inner, file, depth + 1),
        _ => scalar(Value::Unknown),
    }
}

/// `<<: *base` gives what the mapping itself does not say.
fn inherit(known: &mut Vec<(Key, Node)>, node: Node) {
    match node {
        Node::Map(entries) => {
            for (key, node) in entries {
                if !known.iter().any(|(other, _)| *other == key) {
                    known.push((key, node));
                }
            }
        }
        Node::List(nodes) => nodes.into_iter().for_each(|node| inherit(known, node)),
        Node::Scalar(_) => {}
    }
}

fn key_of(yaml: &MarkedYaml) -> Option<Key> {
    match &yaml.data {
        YamlData::Value(saphyr::Scalar::String(text)) => Some(Key::Str(Rc::from(text.as_ref()))),
        YamlData::Value(saphyr::Scalar::Integer(value)) => Some(Key::Int(*value)),
        _ => None,
    }
}

fn from_scalar(scalar: &saphyr::Scalar) -> Value {
    match scalar {
        saphyr::Scalar::Null => Value::None,
        saphyr::Scalar::Boolean(value) => Value::Bool(Some(*value)),
        saphyr::Scalar::Integer(value) => Value::int(*value),
        saphyr::Scalar::FloatingPoint(value) => Value::Float(Some(value.into_inner())),
        saphyr::Scalar::String(text) => Value::str(text),
    }
}

fn parse_json(text: &str, file: &Rc<str>) -> Option<Node> {
    serde_json::from_str(text).ok().map(|json| from_json(json, file))
}

fn from_json(json: serde_json::Value, file: &Rc<str>) -> Node {
    let scalar = |value: Value| Node::Scalar(Scalar { value, file: file.clone(), line: None });
    match json {
        serde_json::Value::Null => scalar(Value::None),
        serde_json::Value::Bool(value) => scalar(Value::Bool(Some(value))),
        serde_json::Value::Number(number) => {
            scalar(number.as_i64().map_or_else(|| Value::Float(number.as_f64()), Value::int))
        }
        serde_json::Value::String(text) => scalar(Value::str(&text)),
        serde_json::Value::Array(items) => {
            Node::List(items.into_iter().map(|item| from_json(item, file)).collect())
        }
        serde_json::Value::Object(entries) => {
            let entries = entries.into_iter();
            Node::Map(entries.map(|(key, value)| (Key::Str(Rc::from(key)), from_json(value, file))).collect())
        }
    }
}

fn parse_toml(text: &str, file: &Rc<str>) -> Option<Node> {
    toml::from_str::<toml::Table>(text).ok().map(|table| from_toml(toml::Value::Table(table), file))
}

fn from_toml(toml: toml::Value, file: &Rc<str>) -> Node {
    let scalar = |value: Value| Node::Scalar(Scalar { value, file: file.clone(), line: None });
    match toml {
        toml::Value::String(text) => scalar(Value::str(&text)),
        toml::Value::Integer(value) => scalar(Value::int(value)),
        toml::Value::Float(value) => scalar(Value::Float(Some(value))),
        toml::Value::Boolean(value) => scalar(Value::Bool(Some(value))),
        toml::Value::Datetime(_) => scalar(Value::Unknown),
        toml::Value::Array(items) => {
            Node::List(items.into_iter().map(|item| from_toml(item, file)).collect())
        }
        toml::Value::Table(entries) => {
            let entries = entries.into_iter();
            Node::Map(entries.map(|(key, value)| (Key::Str(Rc::from(key)), from_toml(value, file))).collect())
        }
    }
}
