//! Configuration files.

use super::*;
use crate::interp::python::config::Format;
use crate::interp::python::config::node::{Node, parse};

fn build(interp: &mut Interp, text: &str, format: Format) -> Value {
    let root = parse(text, "config.yaml", format).expect("a tree");
    super::super::config::build(interp, &root, at(1))
}

fn get(interp: &mut Interp, value: &Value, keys: &[&str]) -> Value {
    keys.iter().fold(value.clone(), |value, key| {
        super::super::index(interp, &value, &Value::str(key), at(2)).expect("a container")
    })
}

const YAML: &str = "base: &base\n  lr: 0.1\ntrain:\n  <<: *base\n  batch_size: 256\n  width: ${base.lr}\n";

#[test]
fn yaml_knows_the_lines_of_its_values() {
    with(&[], |interp| {
        let config = build(interp, YAML, Format::Yaml);
        let batch = get(interp, &config, &["train", "batch_size"]);
        assert_eq!(batch.as_known_int(), Some(256));
        let origin = batch.origin().expect("an origin");
        assert_eq!(&*origin.name, "config.yaml: train.batch_size (line 5)");
        assert_eq!(get(interp, &config, &["train", "lr"]).as_num(), Some(0.1));
        assert_eq!(get(interp, &config, &["train", "width"]).as_num(), Some(0.1));
    });
}

#[test]
fn set_stands_in_for_an_entry() {
    with(&[("train.batch_size", "8")], |interp| {
        let config = build(interp, YAML, Format::Yaml);
        assert_eq!(get(interp, &config, &["train", "batch_size"]).as_known_int(), Some(8));
    });
}

#[test]
fn json_and_toml_are_read() {
    with(&[], |interp| {
        let json = build(interp, "{\n\t\"a\": {\"b\": [1, 2.5, null]}}", Format::Json);
        let list = get(interp, &json, &["a", "b"]);
        assert_eq!(exact(interp, &list)[0].as_known_int(), Some(1));
        let toml = build(interp, "[train]\nepochs = 3\n", Format::Toml);
        assert_eq!(get(interp, &toml, &["train", "epochs"]).as_known_int(), Some(3));
    });
}

#[test]
fn trees_that_are_broken_deep_or_unfold_are_refused() {
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (name, of) in "bcdefg".chars().zip("abcdef".chars()) {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 9].join(",")));
    }
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for text in [bomb.as_str(), deep.as_str(), "a: [", "{\"a\": "] {
        assert!(parse(text, "config.yaml", Format::Yaml).is_none());
        assert!(parse(text, "config.json", Format::Json).is_none());
    }
    assert!(matches!(parse("a: 1", "config.yaml", Format::Yaml), Some(Node::Map(_))));
}

/// A configuration beside this file.
fn fixture(name: &str) -> String {
    format!("{}/src/interp/python/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn files_are_read_through_open_and_as_text() {
    with(&[], |interp| {
        let path = Value::str(&fixture("hydra/config.yaml"));
        let file = run(interp, "open", 1, vec![path]);
        let config = run(interp, "yaml.safe_load", 2, vec![file.clone()]);
        assert_eq!(get(interp, &config, &["epochs"]).as_known_int(), Some(30));
        let text = method(interp, &file, "read", &Call::new(at(3))).expect("modelled");
        let config = run(interp, "yaml.safe_load", 4, vec![text]);
        let epochs = get(interp, &config, &["epochs"]);
        assert_eq!(
            epochs.origin().map(|origin| origin.name.to_string()),
            Some("config.yaml: epochs (line 4)".into())
        );
        let missing = run(interp, "yaml.safe_load", 5, vec![Value::str("missing.yaml")]);
        assert!(missing.is_unknown());
    });
}

#[test]
fn hydra_merges_the_groups_of_the_defaults_list() {
    with(&[], |interp| {
        let mut call = Call::new(at(1));
        keyword(&mut call, "config_path", Value::str(&fixture("hydra")), at(1));
        keyword(&mut call, "config_name", Value::str("config"), at(1));
        let config = super::super::hydra_config(interp, &call).expect("a configuration");
        assert_eq!(get(interp, &config, &["model", "width"]).as_known_int(), Some(512));
        assert_eq!(get(interp, &config, &["model", "depth"]).as_known_int(), Some(18));
        let width = get(interp, &config, &["model", "width"]);
        assert_eq!(
            width.origin().map(|origin| origin.name.to_string()),
            Some("config.yaml: model.width (line 6)".into())
        );
    });
}
