//! Lists, dicts, ranges and what goes through them.

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
        let mut all_of = |line| {
            let module = interp.alloc(at(line), ClassRef::Builtin, State::Module(ModuleState::default()));
            let params = Params { owners: ObjSet::one(module), whole: true, ..Params::default() };
            Value::Params(params.into())
        };
        let (a, b) = (all_of(5), all_of(6));
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
        let made = super::super::lookup(interp, id, &Value::str("a"));
        assert!(!made.same(&dict));
        assert!(super::super::lookup(interp, id, &Value::str("a")).same(&made));
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
        let class = run(interp, "collections.namedtuple", 1, vec![Value::str("Batch"), Value::str("x y")]);
        let Value::Partial(partial) = class else { panic!("{class:?}") };
        let Value::Builtin(maker) = partial.callee else { panic!("{:?}", partial.callee) };
        let mut values = partial.positional.clone();
        values.extend([Value::int(1), Value::int(2)]);
        let batch = run(interp, maker.as_str(), 2, values);
        assert_eq!(attr(interp, &batch, "y").as_known_int(), Some(2));
        assert_eq!(exact(interp, &batch).len(), 2);
    });
}
