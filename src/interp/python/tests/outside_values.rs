//! Options, flags and the environment.

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
fn what_is_written_into_vars_is_the_objects() {
    with(&[], |interp| {
        let args = parsed(interp);
        let all = run(interp, "vars", 70, vec![args.clone()]);
        let mut update = Call::new(at(71));
        keyword(&mut update, "batch_size", Value::int(7), at(72));
        method(interp, &all, "update", &update).expect("modelled");
        assert_eq!(attr(interp, &args, "batch_size").as_known_int(), Some(7));
        let copy = method(interp, &all, "copy", &Call::new(at(73))).expect("modelled");
        super::super::store(interp, &copy, &Value::str("batch_size"), Value::int(8));
        assert_eq!(attr(interp, &args, "batch_size").as_known_int(), Some(7));
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
