//! Whatever a script passes, nothing panics.

use super::*;

/// Values at the edges of what the functions expect.
fn values(interp: &mut Interp) -> Vec<Value> {
    let list = interp.list(at(500), vec![Value::int(i64::MAX), Value::str("é{"), Value::Unknown]);
    let open = interp.list_of(at(510), Value::Unknown);
    let known = vec![(Key::Int(i64::MIN), Value::None)];
    let dict = interp.dict(at(520), Entries::new(known, Some(Value::Float(Some(f64::NAN)))));
    vec![
        Value::Unknown,
        Value::None,
        Value::int(i64::MIN),
        Value::int(-1),
        Value::int(i64::MAX),
        Value::of_int(Int::symbol(Symbol(0))),
        Value::Float(Some(f64::INFINITY)),
        Value::Bool(Some(true)),
        Value::str(""),
        Value::str("é%{0!r:>3}}"),
        Value::tuple(vec![]),
        Value::tuple(vec![Value::None, Value::int(i64::MIN)]),
        Value::Slice((Value::int(i64::MIN), Value::int(i64::MAX), Value::None).into()),
        Value::Slice((Value::int(3), Value::int(1), Value::int(1)).into()),
        Value::Maybe(Value::str("x").into()),
        Value::tensor(Tensor::default()),
        Value::tensor(Tensor::default().with_shape(Some([].into()))),
        Value::Params(Params::default().into()),
        Value::Builtin(ustr("os.environ")),
        list,
        open,
        dict,
    ]
}

#[test]
fn functions_take_anything() {
    with(&[], |interp| {
        interp.out.symbols.push("n".into());
        let values = values(interp);
        let mut answered = 0;
        for name in super::super::CALLS.keys() {
            let mut calls = vec![Call::new(at(1))];
            for one in &values {
                calls.push(Call::with(at(1), [one.clone()]));
                let other = |other: &Value| Call::with(at(1), [one.clone(), other.clone()]);
                calls.extend(values.iter().map(other));
            }
            answered += calls.iter().filter_map(|made| call(interp, name, made)).count();
        }
        assert!(answered > 10_000);
    });
}

#[test]
fn methods_and_operators_take_anything() {
    use BinaryOp::*;
    let names = [
        "append",
        "insert",
        "extend",
        "pop",
        "remove",
        "sort",
        "reverse",
        "index",
        "copy",
        "union",
        "get",
        "update",
        "setdefault",
        "popitem",
        "items",
        "format",
        "join",
        "split",
        "strip",
        "replace",
        "startswith",
        "read_text",
        "joinpath",
        "__getitem__",
        "clear",
        "keys",
        "values",
    ];
    let operators = [Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, And, Or, Xor, Shl, Shr];
    with(&[], |interp| {
        interp.out.symbols.push("n".into());
        let mut answered = 0;
        for (row, name) in names.iter().enumerate() {
            let values = values(interp);
            for one in &values {
                for other in &values {
                    let made = Call::with(at(600 + row as u32), [other.clone(), one.clone()]);
                    answered += usize::from(method(interp, one, name, &made).is_some());
                    super::super::index(interp, one, other, at(700));
                    super::super::store(interp, one, other, Value::None);
                    super::super::contains(interp, one, other);
                    for op in operators {
                        super::super::binary(interp, op, one, other, at(701));
                    }
                }
            }
        }
        assert!(answered > 1000);
    });
}
