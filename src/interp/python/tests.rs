//! The functions of the language on an interpreter without a script.

use super::super::{Call, Interp, Passed, Settings};
use super::{call, compare, iterate, method};
use crate::apis::Apis;
use crate::names::Project;
use crate::report::{Confidence, FileId, Place, Span};
use crate::syntax::{BinaryOp, CompareOp, UnaryOp};
use crate::trace::Rehearsal;
use crate::values::*;
use rustc_hash::FxHashMap;
use ustr::ustr;

/// Runs a test on a fresh interpreter.
fn with(settings: &[(&str, &str)], test: impl FnOnce(&mut Interp)) {
    let project = Project {};
    let apis = Apis {};
    let values = settings.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let settings = Settings { values, fuel: None };
    let mut interp = Interp {
        project: &project,
        apis: &apis,
        settings: &settings,
        heap: Heap::default(),
        out: Rehearsal::default(),
        trace: Vec::new(),
        frames: Vec::new(),
        active: Vec::new(),
        epoch: 0,
        grad: Some(true),
        contexts: Vec::new(),
        path: 0,
        sites: FxHashMap::default(),
        scopes: FxHashMap::default(),
        modules: FxHashMap::default(),
        length_symbols: FxHashMap::default(),
        seeded: None,
        trust: Confidence::High,
        carried: 0,
        fuel: 1000,
        depth: 0,
    };
    test(&mut interp);
}

fn at(start: u32) -> Place {
    Place::new(FileId(0), Span::new(start, start + 1))
}

fn keyword(call: &mut Call, name: &str, value: Value, place: Place) {
    call.keywords.push((ustr(name), Passed { value, place }));
}

fn run(interp: &mut Interp, name: &str, start: u32, values: Vec<Value>) -> Value {
    call(interp, name, &Call::with(at(start), values)).expect("modelled")
}

fn exact(interp: &mut Interp, value: &Value) -> Vec<Value> {
    iterate(interp, value, at(900)).exact.expect("known one by one")
}

fn attr(interp: &Interp, object: &Value, name: &str) -> Value {
    interp.heap.attr(object.as_obj().expect("an object"), ustr(name)).cloned().expect("an attribute")
}

/// An interpreter in the second pass of a loop, so that objects made before are older.
fn enter_loop(interp: &mut Interp) {
    interp.epoch = 5;
    let active = super::super::ActiveLoop {
        id: crate::trace::LoopId(0),
        since: 5,
        breaks: Vec::new(),
        continues: Vec::new(),
    };
    interp.active.push(active);
}

mod containers_and_iteration {
    use super::*;

    #[test]
    fn a_range_counts_and_knows_its_length() {
        with(&[], |interp| {
            let range = run(interp, "range", 1, vec![Value::int(2), Value::int(11), Value::int(3)]);
            let items = iterate(interp, &range, at(0));
            assert!(items.exact.is_none());
            assert_eq!(items.len.int, Int::Known(3));
            assert!(matches!(items.any, Value::Int(Num { int: Int::Unknown, tag: Tag::Counter, .. })));
            let down = run(interp, "range", 2, vec![Value::int(5), Value::int(0), Value::int(-2)]);
            assert_eq!(iterate(interp, &down, at(0)).len.int, Int::Known(3));
        });
    }

    #[test]
    fn enumerate_of_known_items_knows_the_indexes() {
        with(&[], |interp| {
            let list = interp.list(at(1), vec![Value::str("a"), Value::str("b")]);
            let pairs = run(interp, "enumerate", 2, vec![list]);
            let pairs = exact(interp, &pairs);
            assert!(pairs[1].same(&Value::tuple(vec![Value::int(1), Value::str("b")])));
            let range = run(interp, "range", 3, vec![Value::int(10)]);
            let pairs = run(interp, "enumerate", 4, vec![range]);
            let items = iterate(interp, &pairs, at(0));
            assert!(items.exact.is_none());
            assert_eq!(items.len.int, Int::Known(10));
        });
    }

    #[test]
    fn zip_ends_with_the_shortest() {
        with(&[], |interp| {
            let one = interp.list(at(1), vec![Value::int(1), Value::int(2)]);
            let zipped = run(interp, "zip", 2, vec![one, Value::tuple(vec![Value::None])]);
            assert_eq!(exact(interp, &zipped).len(), 1);
        });
    }

    #[test]
    fn appending_in_a_loop_forgets_the_number_of_items() {
        with(&[], |interp| {
            let old = interp.list(at(1), vec![]);
            method(interp, &old, "append", &Call::with(at(2), [Value::int(1)]));
            assert_eq!(exact(interp, &old).len(), 1);
            enter_loop(interp);
            method(interp, &old, "append", &Call::with(at(3), [Value::int(1)]));
            assert!(iterate(interp, &old, at(0)).exact.is_none());
            let new = interp.list(at(4), vec![]);
            method(interp, &new, "append", &Call::with(at(5), [Value::int(1)]));
            assert_eq!(exact(interp, &new).len(), 1);
        });
    }

    #[test]
    fn a_deque_with_a_length_is_bounded() {
        with(&[], |interp| {
            let mut bounded = Call::new(at(1));
            keyword(&mut bounded, "maxlen", Value::int(100), at(1));
            let bounded = call(interp, "collections.deque", &bounded).expect("modelled");
            let endless = run(interp, "collections.deque", 2, vec![]);
            assert!(super::super::is_bounded(interp, &bounded));
            assert!(!super::super::is_bounded(interp, &endless));
        });
    }

    #[test]
    fn lists_pop_slice_and_extend() {
        with(&[], |interp| {
            let list = interp.list(at(1), (0..4).map(Value::int).collect());
            let last = method(interp, &list, "pop", &Call::new(at(2))).expect("modelled");
            assert_eq!(last.as_known_int(), Some(3));
            let slice = run(interp, "slice", 3, vec![Value::int(1), Value::None, Value::None]);
            let part = super::super::index(interp, &list, &slice, at(4)).expect("a list");
            assert_eq!(exact(interp, &part).len(), 2);
            method(interp, &list, "extend", &Call::with(at(5), [part]));
            assert_eq!(run(interp, "len", 6, vec![list]).as_known_int(), Some(5));
        });
    }

    #[test]
    fn parameters_stay_parameters_through_lists_and_filters() {
        with(&[], |interp| {
            let module = |id| Params { owners: ObjSet::one(ObjId(id)), whole: true, others: false };
            let (a, b) = (Value::Params(module(1).into()), Value::Params(module(2).into()));
            let a = run(interp, "list", 1, vec![a]);
            let b = run(interp, "filter", 2, vec![Value::None, b]);
            let both = run(interp, "itertools.chain", 3, vec![a.clone(), b.clone()]);
            let sum = super::super::binary(interp, BinaryOp::Add, &a, &b, at(4)).expect("parameters");
            for all in [both, sum] {
                let Value::Params(params) = all else { panic!("{all:?}") };
                assert_eq!(params.owners.len(), 2);
                assert!(params.whole);
            }
        });
    }

    #[test]
    fn dicts_look_up_known_keys_and_join_for_given_ones() {
        with(&[], |interp| {
            let mut made = Call::new(at(1));
            keyword(&mut made, "lr", Value::Float(Some(0.1)), at(1));
            keyword(&mut made, "wd", Value::Float(Some(0.2)), at(1));
            let dict = call(interp, "dict", &made).expect("modelled");
            let id = dict.as_obj().expect("an object");
            assert_eq!(super::super::lookup(interp, id, &Value::str("lr")).as_num(), Some(0.1));
            assert!(matches!(super::super::lookup(interp, id, &Value::Str(None)), Value::Float(None)));
            let missing = method(interp, &dict, "get", &Call::with(at(2), [Value::str("x"), Value::int(7)]));
            assert_eq!(missing.expect("modelled").as_known_int(), Some(7));
            assert_eq!(super::super::contains(interp, &dict, &Value::str("lr")), Some(true));
            assert_eq!(super::super::contains(interp, &dict, &Value::str("x")), Some(false));
        });
    }

    #[test]
    fn a_default_made_in_a_loop_does_not_replace_its_dict() {
        with(&[], |interp| {
            enter_loop(interp);
            let dict = run(interp, "collections.defaultdict", 1, vec![Value::Builtin(ustr("dict"))]);
            let id = dict.as_obj().expect("an object");
            super::super::lookup(interp, id, &Value::str("a"));
            assert_eq!(super::super::contains(interp, &dict, &Value::str("a")), Some(true));
        });
    }

    #[test]
    fn a_deep_copy_is_another_object_all_the_way_down() {
        with(&[], |interp| {
            let inner = interp.list(at(1), vec![Value::int(1)]);
            let outer = interp.list(at(2), vec![inner.clone(), inner.clone()]);
            let copy = run(interp, "copy.deepcopy", 3, vec![outer.clone()]);
            let items = exact(interp, &copy);
            assert!(!items[0].same(&inner));
            assert!(items[0].same(&items[1]));
            let flat = run(interp, "copy.copy", 4, vec![outer]);
            assert!(exact(interp, &flat)[0].same(&inner));
        });
    }

    #[test]
    fn a_named_tuple_has_fields_and_goes_through_them() {
        with(&[], |interp| {
            let class =
                run(interp, "collections.namedtuple", 1, vec![Value::str("Batch"), Value::str("x y")]);
            let Value::Partial(partial) = class else { panic!("{class:?}") };
            let Value::Builtin(maker) = partial.callee else { panic!("{:?}", partial.callee) };
            let mut values = partial.positional.clone();
            values.extend([Value::int(1), Value::int(2)]);
            let batch = run(interp, maker.as_str(), 2, values);
            assert_eq!(attr(interp, &batch, "y").as_known_int(), Some(2));
            assert_eq!(exact(interp, &batch).len(), 2);
        });
    }
}

mod numbers {
    use super::*;

    fn binary(interp: &mut Interp, op: BinaryOp, a: &Value, b: &Value) -> Value {
        super::super::binary(interp, op, a, b, at(0)).expect("plain values")
    }

    fn counter() -> Value {
        Value::Int(Num { tag: Tag::Counter, ..Num::default() })
    }

    #[test]
    fn arithmetic_is_pythons() {
        with(&[], |interp| {
            let cases = [(7, 2, 3, 1), (-7, 2, -4, 1)];
            for (a, b, quotient, rest) in cases {
                let (a, b) = (Value::int(a), Value::int(b));
                assert_eq!(binary(interp, BinaryOp::FloorDiv, &a, &b).as_known_int(), Some(quotient));
                assert_eq!(binary(interp, BinaryOp::Mod, &a, &b).as_known_int(), Some(rest));
            }
            let negative = binary(interp, BinaryOp::FloorDiv, &Value::int(7), &Value::int(-2));
            assert_eq!(negative.as_known_int(), Some(-4));
            assert_eq!(
                binary(interp, BinaryOp::Shl, &Value::int(1), &Value::int(4)).as_known_int(),
                Some(16)
            );
            assert_eq!(binary(interp, BinaryOp::Div, &Value::int(1), &Value::int(4)).as_num(), Some(0.25));
            let by_zero = binary(interp, BinaryOp::Div, &Value::int(1), &Value::int(0));
            assert!(matches!(by_zero, Value::Float(None)));
        });
    }

    #[test]
    fn counters_stay_counters_and_have_phases() {
        with(&[], |interp| {
            let next = binary(interp, BinaryOp::Add, &counter(), &Value::int(1));
            assert!(matches!(&next, Value::Int(num) if num.tag == Tag::Counter));
            let phase = binary(interp, BinaryOp::Mod, &next, &Value::int(4));
            assert!(matches!(&phase, Value::Int(num) if num.tag == Tag::Phase && num.int.is_unknown()));
            assert_eq!(compare(CompareOp::Eq, &phase, &Value::int(0)), None);
        });
    }

    #[test]
    fn results_keep_where_their_operands_come_from() {
        with(&[("size", "32")], |interp| {
            let given = super::super::outside::outside(
                interp,
                &["batch"],
                super::super::outside::Kind::Int,
                Value::int(64),
                at(7),
            );
            let twice = binary(interp, BinaryOp::Mul, &given, &Value::int(2));
            assert_eq!(twice.as_known_int(), Some(128));
            assert_eq!(twice.origin().map(|origin| origin.place), Some(at(7)));
            assert_eq!(compare(CompareOp::Eq, &twice, &Value::int(128)), None);
            let share = binary(interp, BinaryOp::Div, &given, &Value::int(2));
            assert!(matches!(&share, Value::Given(given) if given.value.as_num() == Some(32.0)));
        });
    }

    #[test]
    fn comparisons_say_only_what_is_sure() {
        let cases = [
            (CompareOp::Less, Value::int(1), Value::Float(Some(1.5)), Some(true)),
            (CompareOp::Eq, Value::str("a"), Value::int(1), Some(false)),
            (CompareOp::Eq, Value::Unknown, Value::Unknown, None),
            (CompareOp::Is, Value::None, Value::None, Some(true)),
            (CompareOp::IsNot, Value::int(3), Value::None, Some(true)),
            (CompareOp::Is, Value::Maybe(Value::int(1).into()), Value::None, None),
            (CompareOp::In, Value::str("b"), Value::str("abc"), Some(true)),
            (CompareOp::In, Value::Str(None), Value::tuple(vec![Value::str("a")]), None),
            (CompareOp::NotIn, Value::str("b"), Value::tuple(vec![Value::str("a")]), Some(true)),
        ];
        for (op, left, right, expected) in cases {
            assert_eq!(compare(op, &left, &right), expected, "{left:?} {op:?} {right:?}");
        }
    }

    #[test]
    fn conversions_and_extremes() {
        with(&[], |interp| {
            assert_eq!(run(interp, "int", 1, vec![Value::Float(Some(-1.9))]).as_known_int(), Some(-1));
            assert_eq!(run(interp, "int", 1, vec![Value::str(" 1_000 ")]).as_known_int(), Some(1000));
            assert_eq!(run(interp, "float", 1, vec![Value::str("1e-3")]).as_num(), Some(1e-3));
            let tensor = Value::tensor(Tensor::default());
            assert!(matches!(run(interp, "float", 1, vec![tensor.clone()]), Value::Float(None)));
            assert_eq!(run(interp, "max", 1, vec![Value::int(3), Value::int(9)]).as_known_int(), Some(9));
            assert!(call(interp, "max", &Call::with(at(1), [tensor, Value::int(1)])).is_none());
            assert_eq!(run(interp, "math.ceil", 1, vec![Value::Float(Some(2.1))]).as_known_int(), Some(3));
            assert_eq!(run(interp, "round", 1, vec![Value::Float(Some(2.5))]).as_known_int(), Some(2));
            assert_eq!(
                super::super::unary(UnaryOp::Minus, &Value::int(4)).and_then(|v| v.as_known_int()),
                Some(-4)
            );
        });
    }
}

mod strings {
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
}

mod outside_values {
    use super::*;

    fn option(interp: &mut Interp, parser: &Value, flag: &str, start: u32, more: &[(&str, Value)]) {
        let mut call = Call::with(at(start), [Value::str(flag)]);
        for (name, value) in more {
            keyword(&mut call, name, value.clone(), at(start + 1));
        }
        method(interp, parser, "add_argument", &call).expect("modelled");
    }

    fn builtin(name: &str) -> Value {
        Value::Builtin(ustr(name))
    }

    fn parsed(interp: &mut Interp) -> Value {
        let parser = run(interp, "argparse.ArgumentParser", 1, vec![]);
        let group = method(interp, &parser, "add_argument_group", &Call::new(at(2))).expect("modelled");
        option(interp, &parser, "--batch-size", 10, &[("type", builtin("int")), ("default", Value::int(64))]);
        option(interp, &group, "--lr", 20, &[("type", builtin("float")), ("default", Value::str("1e-3"))]);
        option(interp, &parser, "--amp", 30, &[("action", Value::str("store_true"))]);
        option(interp, &parser, "--resume", 40, &[]);
        option(interp, &parser, "data", 50, &[]);
        method(interp, &parser, "parse_args", &Call::new(at(60))).expect("modelled")
    }

    #[test]
    fn options_have_defaults_with_their_places() {
        with(&[], |interp| {
            let args = parsed(interp);
            let batch = attr(interp, &args, "batch_size");
            assert_eq!(batch.as_known_int(), Some(64));
            let origin = batch.origin().expect("an origin");
            assert_eq!((origin.place, &*origin.name, origin.given), (at(11), "batch_size", true));
            assert_eq!(attr(interp, &args, "lr").as_num(), Some(1e-3));
            assert!(
                matches!(attr(interp, &args, "amp"), Value::Given(given) if given.value.as_bool() == Some(false))
            );
            assert!(matches!(attr(interp, &args, "resume"), Value::Maybe(_)));
            assert!(matches!(attr(interp, &args, "data"), Value::Given(_)));
        });
    }

    #[test]
    fn set_stands_in_for_an_option() {
        with(&[("batch-size", "1_024"), ("amp", "true"), ("resume", "last.pt")], |interp| {
            let args = parsed(interp);
            assert_eq!(attr(interp, &args, "batch_size").as_known_int(), Some(1024));
            assert!(matches!(attr(interp, &args, "amp"), Value::Bool(Some(true))));
            assert_eq!(attr(interp, &args, "resume").as_str(), Some("last.pt"));
        });
    }

    #[test]
    fn defaults_can_be_set_later() {
        with(&[], |interp| {
            let parser = run(interp, "argparse.ArgumentParser", 1, vec![]);
            option(interp, &parser, "--epochs", 10, &[("type", builtin("int")), ("default", Value::int(3))]);
            let mut set = Call::new(at(20));
            keyword(&mut set, "epochs", Value::int(5), at(21));
            method(interp, &parser, "set_defaults", &set).expect("modelled");
            let parsed = method(interp, &parser, "parse_known_args", &Call::new(at(30))).expect("modelled");
            let args = exact(interp, &parsed)[0].clone();
            let epochs = attr(interp, &args, "epochs");
            assert_eq!(epochs.as_known_int(), Some(5));
            assert_eq!(epochs.origin().map(|origin| origin.place), Some(at(21)));
        });
    }

    #[test]
    fn flags_and_click_options_have_defaults() {
        with(&[("width", "8")], |interp| {
            run(
                interp,
                "absl.flags.DEFINE_integer",
                1,
                vec![Value::str("batch"), Value::int(16), Value::str("")],
            );
            let flags = super::super::constant(interp, "absl.flags.FLAGS").expect("flags");
            assert_eq!(attr(interp, &flags, "batch").as_known_int(), Some(16));
            let mut width = Call::with(at(5), [Value::str("-w"), Value::str("--width")]);
            keyword(&mut width, "default", Value::int(4), at(6));
            let verbose = Call::with(at(7), [Value::str("--verbose/--quiet")]);
            let decorators = [(ustr("click.option"), width), (ustr("click.option"), verbose)];
            let defaults = super::super::click_defaults(interp, &decorators);
            assert_eq!(defaults[0].0, "width");
            assert_eq!(defaults[0].1.as_known_int(), Some(8));
            assert_eq!(defaults[1].0, "verbose");
            assert_eq!(defaults[1].1.as_bool(), Some(false));
        });
    }

    #[test]
    fn the_environment_is_given() {
        with(&[("WORLD_SIZE", "4")], |interp| {
            let rank = run(interp, "os.environ.get", 1, vec![Value::str("RANK"), Value::int(0)]);
            assert!(rank.origin().is_some_and(|origin| origin.given));
            let size = run(interp, "os.getenv", 2, vec![Value::str("WORLD_SIZE"), Value::int(1)]);
            assert_eq!(size.as_known_int(), Some(4));
        });
    }
}

mod configurations {
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

    const YAML: &str =
        "base: &base\n  lr: 0.1\ntrain:\n  <<: *base\n  batch_size: 256\n  width: ${base.lr}\n";

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
}
