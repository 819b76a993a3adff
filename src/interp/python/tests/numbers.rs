//! Arithmetic, comparisons and conversions.

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
        assert_eq!(binary(interp, BinaryOp::Shl, &Value::int(1), &Value::int(4)).as_known_int(), Some(16));
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
        let phase = binary(interp, BinaryOp::Mod, &next, &Value::Unknown);
        assert!(matches!(&phase, Value::Int(num) if num.tag == Tag::Phase && num.int.is_unknown()));
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
