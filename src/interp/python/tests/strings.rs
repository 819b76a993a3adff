//! Formatting and paths.

use super::*;

#[test]
fn formatting_of_known_values_is_known() {
    with(&[], |interp| {
        let text = Value::str("cuda:{}");
        let device = method(interp, &text, "format", &Call::with(at(1), [Value::int(1)]));
        assert_eq!(device.expect("modelled").as_str(), Some("cuda:1"));
        let unknown = method(interp, &text, "format", &Call::with(at(1), [Value::Unknown]));
        assert!(matches!(unknown, Some(Value::Str(None))));
        let percent =
            super::super::binary(interp, BinaryOp::Mod, &Value::str("cuda:%d"), &Value::int(2), at(1));
        assert_eq!(percent.expect("a string").as_str(), Some("cuda:2"));
    });
}

#[test]
fn broken_formats_are_unknown() {
    with(&[], |interp| {
        for text in ["{", "}", "{0", "{{}", "{9}", "é{", "%"] {
            let value = Value::str(text);
            method(interp, &value, "format", &Call::with(at(1), [Value::int(1)])).expect("modelled");
            let percent = super::super::binary(interp, BinaryOp::Mod, &value, &Value::int(1), at(1));
            assert!(matches!(percent, Some(Value::Str(_))), "{text}");
        }
    });
}

#[test]
fn paths_join_and_come_apart() {
    with(&[], |interp| {
        let joined = run(interp, "os.path.join", 1, vec![Value::str("a/b"), Value::str("c.yaml")]);
        assert_eq!(joined.as_str(), Some("a/b/c.yaml"));
        let slash = super::super::binary(interp, BinaryOp::Div, &Value::str("x"), &joined, at(1));
        assert_eq!(slash.expect("a path").as_str(), Some("x/a/b/c.yaml"));
        let stem = super::super::attribute(interp, &joined, "stem").expect("a path");
        assert_eq!(stem.as_str(), Some("c"));
        assert_eq!(run(interp, "os.path.dirname", 1, vec![joined]).as_str(), Some("a/b"));
    });
}
