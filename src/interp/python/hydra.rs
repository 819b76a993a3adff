//! `@hydra.main`: the primary configuration and the groups that its defaults list names.

use super::super::{Call, Interp};
use super::config::{Format, build, node::Node, tree};
use crate::values::{Key, Value};
use std::rc::Rc;

/// Groups that name groups that name groups.
const DEEPEST: usize = 8;

/// The configuration that a function under `@hydra.main(config_path=…, config_name=…)` is called with.
pub fn hydra_config(interp: &mut Interp, call: &Call) -> Option<Value> {
    let folder = call.arg(0, "config_path").and_then(Value::as_str).unwrap_or("").to_owned();
    let name = call.arg(1, "config_name")?.as_str()?.to_owned();
    let root = compose(interp, &folder, &name, 0)?;
    Some(build(interp, &root, call.place))
}

fn compose(interp: &Interp, folder: &str, name: &str, depth: usize) -> Option<Node> {
    let file = if name.ends_with(".yaml") || name.ends_with(".yml") {
        name.to_owned()
    } else {
        format!("{name}.yaml")
    };
    let path = if folder.is_empty() { file } else { format!("{folder}/{file}") };
    let Node::Map(mut own) = tree(interp, &path, Format::Yaml)? else { return None };
    let defaults = own.iter().position(|(key, _)| is_named(key, "defaults")).map(|at| own.remove(at).1);
    let Some(Node::List(defaults)) = defaults else { return Some(Node::Map(own)) };
    if depth >= DEEPEST {
        return Some(Node::Map(own));
    }
    let mut result = Node::Map(Vec::new());
    let mut own = Some(Node::Map(own));
    for item in &defaults {
        match default_of(item) {
            Some(Default::Own) => merge(&mut result, own.take().unwrap_or_else(|| Node::Map(Vec::new()))),
            Some(Default::File(name)) => {
                // A name is relative to the folder of the file that names it.
                if let Some(node) = compose(interp, folder, &name, depth + 1) {
                    merge(&mut result, node);
                }
            }
            Some(Default::Group { group, package, name }) => {
                let folder = if folder.is_empty() { group } else { format!("{folder}/{group}") };
                if let Some(node) = compose(interp, &folder, &name, depth + 1) {
                    merge(&mut result, nest(&package, node));
                }
            }
            None => {}
        }
    }
    // Without `_self_` the file itself comes last.
    if let Some(own) = own {
        merge(&mut result, own);
    }
    Some(result)
}

enum Default {
    Own,
    File(String),
    Group { group: String, package: String, name: String },
}

/// `- _self_`, `- base`, `- model: resnet`, `- optional db@backup: mysql`.
fn default_of(item: &Node) -> Option<Default> {
    match item {
        Node::Scalar(scalar) => Some(match scalar.value.as_str()? {
            "_self_" => Default::Own,
            name => Default::File(name.to_owned()),
        }),
        Node::Map(entries) => {
            let (Key::Str(key), Node::Scalar(choice)) = entries.first().map(|(key, node)| (key, node))?
            else {
                return None;
            };
            let group = key.trim_start_matches("override ").trim_start_matches("optional ");
            let (group, package) = group.split_once('@').unwrap_or((group, group));
            let group = group.trim_start_matches('/').to_owned();
            let package = package.trim_start_matches('/').replace('/', ".");
            Some(Default::Group { group, package, name: choice.value.as_str()?.to_owned() })
        }
        Node::List(_) => None,
    }
}

fn is_named(key: &Key, name: &str) -> bool {
    matches!(key, Key::Str(text) if &**text == name)
}

fn nest(package: &str, node: Node) -> Node {
    if package.is_empty() || package == "_global_" {
        return node;
    }
    package.rsplit('.').fold(node, |node, name| Node::Map(vec![(Key::Str(Rc::from(name)), node)]))
}

/// What comes later wins, key by key.
fn merge(base: &mut Node, more: Node) {
    match (base, more) {
        (Node::Map(base), Node::Map(more)) => {
            for (key, node) in more {
                match base.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, slot)) => merge(slot, node),
                    None => base.push((key, node)),
                }
            }
        }
        (slot, more) => *slot = more,
    }
}
