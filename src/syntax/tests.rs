//! Lowering of every kind of statement and expression, of broken code and of code too deep.

use super::ast::*;
use super::dump::{dump, expr};
use super::{MAX_DEPTH, logical_lines, parse};
use std::time::{Duration, Instant};

#[track_caller]
fn same(text: &str, expected: &str) {
    let tree = parse(text);
    assert_eq!(dump(&tree), expected, "from {text:?}");
    assert_eq!(tree.errors, [], "in {text:?}");
}

#[test]
fn names_attributes_calls_and_subscripts() {
    same("a.b.c", "a.b.c");
    same("f(x, *y, k=1, **z)", "f(x, *y, k=1, **z)");
    same("f(g for g in h)", "f(<Generator g for g in h>)");
    same("f(type=1, match=2, print=3)", "f(type=1, match=2, print=3)");
    same("x[0]", "x[0]");
    same("x[0,]", "x[(0,)]");
    same("x[1:2, ::3, ..., None]", "x[(1:2:, ::3, ..., None,)]");
    same("x[:, -1]", "x[(::, (Minus 1),)]");
    same("x[*y]", "x[*y]");
}

#[test]
fn numbers() {
    same("1_000; 0x1F; 1e-8; .5; 1_0.5", "1000; 31; 1e-8; 0.5; 10.5");
    same("99999999999999999999; 3j; 1.5J", "1e20; ?; ?");
    same("True, False, None, ...", "(True, False, None, ...,)");
}

#[test]
fn strings() {
    same(r#" "a" 'b' """c\n""" "#.trim(), r#""abc\n""#);
    same(r"r'\d' '\\'", r#""\\d\\""#);
    same("b'x'; b'x' b'y'; u'x'; ''", r#"b''; b''; "x"; """#);
    same("f'{a} {b.c:>{w}} {d!r}' 'x'", "f<a, b.c, w, d>");
    same("f'{{}}' 'x'; f'{x=}'; rf'{y}'", r#""{}x"; f<x>; f<y>"#);
    same("f'{f(f\"{x}\")}'", "f<f(f<x>)>");
    same("'''a\nb'''", r#""a\nb""#);
}

#[test]
fn displays_and_comprehensions() {
    same("(); (1,); (1, 2); [1, *a]; {1, 2}; {}", "(,); (1,); (1, 2,); [1, *a]; {1, 2}; {}");
    same("{'a': 1, **b}", r#"{"a": 1, **b}"#);
    same(
        "[x for x in y if a if b for z in x]",
        "[<List x for x in y if a if b for z in x>]".trim_matches(['[', ']']),
    );
    same("{k: v for k, v in d.items()}", "<Dict k: v for (k, v,) in d.items()>");
    same("{x for x in y}; (x for x in y)", "<Set x for x in y>; <Generator x for x in y>");
    same("[await x async for x in y]", "<List (await x) for x in y>");
}

#[test]
fn operators() {
    same("a + b * c ** -d", "(a Add (b Mul (c Pow (Minus d))))");
    same("a - b / c // d % e @ f", "(a Sub ((((b Div c) FloorDiv d) Mod e) MatMul f))");
    same("a & b | c ^ ~d << 1 >> 2", "((a And b) Or (c Xor (((Invert d) Shl 1) Shr 2)))");
    same("a < b <= c != d", "(a Less b LessEq c NotEq d)");
    same("a is not b; a not in b; a is b; a in b", "(a IsNot b); (a NotIn b); (a Is b); (a In b)");
    same("a == b > c >= d", "(a Eq b Greater c GreaterEq d)");
    same("a and b and c", "(a and b and c)");
    same("a or b and c or d", "(a or (b and c) or d)");
    same("a and b or c", "((a and b) or c)");
    same("a and (b and c)", "(a and (b and c))");
    same("not a and not b", "((Not a) and (Not b))");
    same("+a", "(Plus a)");
    same("x if t else y if u else z", "(x if t else (y if u else z))");
    same("(y := f(x))", "(y := f(x))");
}

#[test]
fn lambdas_await_and_yield() {
    same("lambda x, *y, k=1: x", "def <lambda>(x, *y, =k = 1) {x}");
    same("lambda: 0", "def <lambda>() {0}");
    same(
        "async def f():\n  await x\n  async for a in b: pass\n  async with c: pass",
        "async def f() {(await x); for a in b {pass}; with c {pass}}",
    );
    same(
        "def f():\n  yield\n  x = yield 1\n  yield from y\n  yield 1, 2",
        "def* f() {(yield ); x = (yield 1); (yield from y); (yield (1, 2,))}",
    );
    same("def f():\n  def g():\n    yield 1", "def f() {def* g() {(yield 1)}}");
    same("def f():\n  return lambda: (yield)", "def f() {return def* <lambda>() {(yield )}}");
}

#[test]
fn simple_statements() {
    same("a = b = c, d", "a = b = (c, d,)");
    same("a, *b = c", "(a, *b,) = c");
    same("[a, b] = (c, d) = e", "[a, b] = (c, d,) = e");
    same("a.b[0] += 1; a **= 2; a //= 3; a @= b", "a.b[0] Add= 1; a Pow= 2; a FloorDiv= 3; a MatMul= b");
    same("a: int = 1\nb: List[int]\nc: x.Y | None = z", "a: int = 1; b: List[int]; c: (x.Y Or None) = z");
    same("d: dict[str, Tuple[int, ...]]", "d: dict[(str, Tuple[(int, ...,)],)]");
    same("return; return 1, 2", "return; return (1, 2,)");
    same("raise; raise E(x) from y; assert a, 'b'", "raise; raise E(x); assert a");
    same("del a, b[0]; del (c)", "del a, b[0]; del c");
    same("pass; break; continue; global a, b; nonlocal c", "pass; break; continue; global a, b; nonlocal c");
    same("a,", "(a,)");
    same("x = yield", "x = (yield )");
}

#[test]
fn imports() {
    same("import a, b.c as d", "import a, b.c as d");
    same("from .. import x as y, z", "from .. import x as y, z");
    same("from ...a.b import (c,\n d,)", "from ...a.b import c, d");
    same("from a . b import *", "from a.b import *");
    same("from __future__ import annotations", "from __future__ import annotations");
}

#[test]
fn python2_statements_are_calls() {
    same("print 'x', y", r#"print("x", y)"#);
    same("print >>f, x", "print(file=f, x)");
    same("exec code in a, b", "exec(code, a, b)");
    same("print(x)", "print(x)");
    same("try:\n  pass\nexcept E, e:\n  pass", "try {pass} except E as e {pass}");
}

#[test]
fn compound_statements() {
    same("if a:\n  b\nelif c:\n  d\nelif e: f\nelse:\n  g", "if a {b} elif c {d} elif e {f} else {g}");
    same("while a:\n  b\nelse:\n  c", "while a {b} else {c}");
    same("for i, (a, b) in x, y:\n  pass\nelse: z", "for (i, (a, b,),) in (x, y,) {pass} else {z}");
    same("with a as b, c(), d as (e, f): pass", "with a as b, c(), d as (e, f,) {pass}");
    same("with (a as b, c):\n  pass", "with a as b, c {pass}");
    same("with (open(x) as f):\n  pass", "with open(x) as f {pass}");
    same("with (a): pass", "with a {pass}");
    same(
        "try:\n  a\nexcept (B, C) as d:\n  e\nexcept* F: g\nexcept:\n  h\nelse:\n  i\nfinally:\n  j",
        "try {a} except (B, C,) as d {e} except F {g} except {h} else {i} finally {j}",
    );
    same("if a: b; c", "if a {b; c}");
}

#[test]
fn match_statements() {
    same(
        "match x, y:\n  case [a, *rest] if a: pass\n  case P(q, r=s) | {'k': t, **u}: pass\n  case m.N | 1: pass\n  case _: z",
        "match (x, y,) {case [a, rest] if a {pass} case [q, s, t, u] {pass} case [] {pass} case! [] {z}}",
    );
    same(
        "match x:\n  case a, b: p\n  case (1 | 2) as n: q\n  case v: r",
        "match x {case [a, b] {p} case [n] {q} case! [v] {r}}",
    );
    same("match = 1; match.x; type = 2", "match = 1; match.x; type = 2");
}

#[test]
fn functions_and_classes() {
    same(
        "def f(a, b: int, /, c=1, *args, d: T = 2, **kw: Any) -> R[int]: pass",
        "def f(/a, /b: int, c = 1, *args, =d: T = 2, **kw: Any) -> R[int] {pass}",
    );
    same("def f(a, *, b): pass", "def f(a, =b) {pass}");
    same("@d.e(1)\n@g\nasync def f(): pass", "@d.e(1) @g async def f() {pass}");
    same("@d\nclass A(B, metaclass=M):\n  x = 1", "@d class A(B, metaclass=M) {x = 1}");
    same("class A: ...", "class A() {...}");
    same("def f[T](x: T) -> T: return x", "def f(x: T) -> T {return x}");
    same("class A[T](B): pass\ntype X = int", "class A(B) {pass}");
}

#[test]
fn functions_know_what_holds_them() {
    let tree =
        parse("class A:\n  def m(self):\n    class B:\n      def n(self): return lambda: 0\n  x = lambda: 1");
    let of = |name: &str| tree.functions.iter().find(|function| function.name == name).unwrap();
    let (m, n) = (of("m"), of("n"));
    assert_eq!((m.class, m.parent), (Some(ClassId(0)), None));
    assert_eq!((n.class, n.parent), (Some(ClassId(1)), Some(FnId(0))));
    assert_eq!(tree.class(ClassId(1)).parent, Some(FnId(0)));
    let lambdas: Vec<_> =
        tree.functions.iter().filter(|f| f.name == "<lambda>").map(|f| (f.class, f.parent)).collect();
    assert_eq!(lambdas, [(None, Some(FnId(1))), (Some(ClassId(0)), None)]);
}

#[test]
fn spans_cover_the_text() {
    let text = "value = (obj.attr(\n  1, key = 2))";
    let tree = parse(text);
    let StmtKind::Assign { value, .. } = &tree.stmt(tree.body[0]).kind else { panic!("no assignment") };
    let call = tree.expr(*value);
    assert_eq!(&text[call.span.range()], "obj.attr(\n  1, key = 2)");
    let ExprKind::Call { callee, args } = &call.kind else { panic!("no call") };
    assert_eq!(&text[args[1].span.range()], "key = 2");
    let ExprKind::Attribute { name_span, .. } = tree.expr(*callee).kind else { panic!("no attribute") };
    assert_eq!(&text[name_span.range()], "attr");
}

#[test]
fn comments_are_kept_wherever_they_stand() {
    let text = "# 0\nx = [  # 1\n  1,  # 2\n]  # 3\nif (a  # 4\n    and b):  # 5\n  # 6\n  f(  # 7\n    )\n\
                with (  # 8\n  a as b,  # 9\n):\n  pass\nreturn ((1  # 10\n))\n@d  # 11\ndef f(a,  # 12\n  ): pass\n# 13";
    let tree = parse(text);
    let found: Vec<_> = tree.comments.iter().map(|span| text[span.range()].to_owned()).collect();
    let expected: Vec<_> = (0..14).map(|number| format!("# {number}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn logical_lines_are_statements_and_headers() {
    let text = "@a\ndef f(\n  x,\n):  # c\n  y = (1,\n    2); z\nif a:\n  pass\nelif b: c\nelse:\n  d\ntry:\n  e\nexcept E:\n  f";
    let tree = parse(text);
    let found: Vec<_> = logical_lines(&tree).map(|span| &text[span.range()]).collect();
    let expected = [
        "@a",
        "def f(\n  x,\n):",
        "y = (1,\n    2)",
        "z",
        "if a:",
        "pass",
        "elif b:",
        "c",
        "else:",
        "d",
        "try:",
        "e",
        "except E:",
        "f",
    ];
    assert_eq!(found, expected);
}

#[test]
fn code_around_a_broken_line_survives() {
    for broken in ["x = = 3", "def :", "for x y:", "class", "x = 'abc", "else:", "a b c", "?!$"] {
        let text = format!(
            "import before\n\ndef first():\n    return 1\n\n{broken}\n\ndef second():\n    return 2\n"
        );
        let tree = parse(&text);
        let dumped = dump(&tree);
        assert!(!tree.errors.is_empty(), "{broken}");
        assert!(dumped.contains("import before"), "{broken}: {dumped}");
        assert!(dumped.contains("def first() {return 1"), "{broken}: {dumped}");
        assert!(dumped.contains("return 2"), "{broken}: {dumped}");
    }
}

#[test]
fn code_before_an_unclosed_bracket_survives() {
    for broken in ["foo(1, 2", "x = [1, 2", "y = {"] {
        let tree = parse(&format!(
            "import before\n\ndef first():\n    return 1\n\n{broken}\n\ndef second():\n    pass\n"
        ));
        assert!(!tree.errors.is_empty(), "{broken}");
        assert!(
            dump(&tree).starts_with("import before; def first() {return 1}"),
            "{broken}: {}",
            dump(&tree)
        );
    }
}

#[test]
fn broken_lines_in_a_function_leave_the_rest() {
    let text = "def f(x):\n    a = 1\n    b = (\n    for i in x:\n        c(i)\n    return a\n\nafter = 3\n";
    let dumped = dump(&parse(text));
    for kept in ["a = 1", "c(i)", "return a", "after = 3"] {
        assert!(dumped.contains(kept), "{kept} in {dumped}");
    }
}

#[test]
fn every_prefix_lowers() {
    let text = "@d\nclass A(B):\n  def f(self, *a, k: int = 1):\n    with x as y: return f'{a:{b}}' or {1: [2 for i in j]}\n  \
                try: del z\n  except E as e: lambda q: (w := 3)\nmatch a:\n  case [b, *c] if d: pass\n";
    for end in 0..text.len() {
        let tree = parse(&text[..end]);
        assert!(tree.stmts.len() < 40);
        dump(&tree);
    }
}

fn quickly(text: &str) -> Tree {
    let start = Instant::now();
    let tree = parse(text);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?} for {} bytes", start.elapsed(), text.len());
    // Nothing that reads the tree may overflow its stack either.
    assert!(!dump(&tree).is_empty());
    tree
}

#[test]
fn deep_code_ends_in_missing() {
    let n = 10_000;
    let sum = quickly(&vec!["a"; n].join(" + "));
    assert!(sum.exprs.len() <= 2 * MAX_DEPTH as usize + 1);
    assert!(dump(&sum).contains('?'));
    quickly(&format!("x{}", ".a".repeat(n)));
    quickly(&format!("x{}", ".f()".repeat(n)));
    quickly(&format!("x{}", "[0]".repeat(n)));
    quickly(&format!("{}a", "not ".repeat(n)));
    quickly(&format!("{}a", "lambda: ".repeat(n)));
    quickly(&format!("{}a", "b if c else ".repeat(n)));
    quickly(&format!("{}1", "2 ** ".repeat(n)));
    quickly(&format!("{}{}", "[".repeat(n), "]".repeat(n)));
    quickly(&format!("f{}{}", "(f".repeat(n), ")".repeat(n)));
    let blocks: String = (0..1000).map(|level| format!("{}if a:\n", " ".repeat(level))).collect();
    quickly(&format!("{blocks}{}b\n", " ".repeat(1000)));
}

#[test]
fn flat_code_is_kept_whole() {
    let n = 10_000;
    let tree = quickly(&format!("{}x{}", "(".repeat(n), ")".repeat(n)));
    assert_eq!(dump(&tree), "x");
    let tree = quickly(&vec!["a"; n].join(" or "));
    let StmtKind::Expr(value) = tree.stmt(tree.body[0]).kind else { panic!("no expression") };
    assert!(matches!(&tree.expr(value).kind, ExprKind::Bool { and: false, items } if items.len() == n));
    let elifs = "elif a:\n  b\n".repeat(5000);
    let tree = quickly(&format!("if x:\n  y\n{elifs}else:\n  z\n"));
    assert!(matches!(&tree.stmt(tree.body[0]).kind, StmtKind::If { arms, .. } if arms.len() == 5001));
    let tree = quickly(&format!("{}1", "a = ".repeat(n)));
    assert!(matches!(&tree.stmt(tree.body[0]).kind, StmtKind::Assign { targets, .. } if targets.len() == n));
    let tree = quickly(&format!("x = [{}]", "1, ".repeat(n)));
    assert_eq!(tree.exprs.len(), n + 2);
}

#[test]
fn unclosed_brackets_end() {
    let n = 2000;
    for open in ["(", "[", "{", "f(", "x[", "{a:"] {
        let start = Instant::now();
        let tree = parse(&open.repeat(n));
        assert!(tree.stmts.len() <= n, "{open}");
        assert!(start.elapsed() < Duration::from_secs(10), "{open}: {:?}", start.elapsed());
    }
}

#[test]
fn odd_texts() {
    for text in ["", "\n", "\u{feff}x = 1", "\0", "é = 'ü'", "x = 1\r\ny = 2\r\n", "\tx", "\u{c}x = 1"] {
        parse(text);
    }
    same("é = 'ü'", "é = \"ü\"");
    same("x = 1\r\ny = 2\r\n", "x = 1; y = 2");
    let tree = parse("\u{feff}x = 1");
    let StmtKind::Assign { value, .. } = tree.stmt(tree.body[0]).kind else { panic!("no assignment") };
    assert_eq!(expr(&tree, value), "1");
}
