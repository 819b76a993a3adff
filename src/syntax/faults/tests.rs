use super::super::parse;
use super::*;

fn whole(text: &str) -> Faults {
    faults(text, &parse(text), &[Span::new(0, text.len() as u32)])
}

/// Line and kind of each fault.
fn told(text: &str) -> Vec<(usize, FaultKind)> {
    let line = |fault: &Fault| text[..fault.span.start as usize].matches('\n').count() + 1;
    whole(text).found.into_iter().map(|fault| (line(&fault), fault.kind)).collect()
}

#[test]
fn each_broken_place_is_told_once() {
    use FaultKind::*;
    for (text, expected) in [
        ("opt.step(\nfor x in y:\n    z = 1\n", vec![(1, Unclosed)]),
        ("def f():\n    x = g(1, [2\n    return x\n\ndef h():\n    pass\n", vec![(2, Unclosed)]),
        ("x = (1]\n", vec![(1, Mismatched)]),
        ("x = 1)\ny = 2\n", vec![(1, Unmatched)]),
        ("if x\n    y = 1\nelse:\n    y = 2\n", vec![(1, MissingColon)]),
        ("def f(x)\n    return x\n", vec![(1, MissingColon)]),
        ("<<<<<<< HEAD\nx = 1\n=======\nx = (2\n>>>>>>> b\ny = 3\n", vec![(1, Conflict)]),
        ("x = 'abc\ny = 1\nz = f(\"a)\nw = 1\n", vec![(1, OpenString), (3, OpenString)]),
        ("f(a,\n<<<<<<< HEAD\n  b)\n=======\n  c)\n>>>>>>> z\ny = (\n", vec![(2, Conflict), (7, Unclosed)]),
        ("<<<<<<<< HEAD\nx = 1\n========\nx = (2\n>>>>>>>> b\ny = 3\n", vec![(1, Conflict)]),
        ("f(a\n  b)\n", vec![(1, MissingComma)]),
        ("x = '''abc\ny = 1\n", vec![(1, OpenString)]),
        ("x = 1\n   y = 2\n   z = 3\nw = 1\n", vec![(2, Indent)]),
        ("if x:\n        y = 2\n    z = 3\n", vec![(3, Unindent)]),
        ("if x:\n        y = 1\n\tz = 2\n", vec![(3, Tabs)]),
        ("if x:\n    if y:\n\tz = 2\n\tw = 3\nif x:\n    if y:\n\tz = 2\n", vec![(3, Tabs)]),
        (
            "def f(x):\n  if (x:\n    y = 1\n    if y:\n      return 1\n    else:\n      return 2\n",
            vec![(2, Unclosed)],
        ),
        (
            "def f(x):\n  if (x:\n    return 1\n  else:\n    return 2\n\nif x:\n    y = 1\n  z = 2\n",
            vec![(2, Unclosed), (9, Unindent)],
        ),
        ("def f():\n\ndef g():\n    pass\n", vec![(3, MissingBlock)]),
        ("if x:\n    !ls\ny = 1\nif z:\n    %cd a\n", vec![(2, Magic)]),
        ("try:\n    x = 1\ny = 2\n", vec![(3, LoneTry)]),
        ("x = 1\nelse:\n    y = 2\n", vec![(2, LoneClause)]),
        ("f(a b)\n", vec![(1, MissingComma)]),
        ("f(a=1, b)\n", vec![(1, LatePositional)]),
        ("if x = 3:\n    pass\n", vec![(1, AssignedInTest)]),
        ("x.cuda(async=True)\n", vec![(1, Keyword)]),
        ("x =\nprint(1)\n", vec![(1, Expected("an expression"))]),
        ("x = 1\nx +=\nprint(x)\n", vec![(2, Expected("an expression"))]),
        ("x = y ==\nprint(1)\n", vec![(1, Expected("an expression"))]),
        ("x = \n", vec![(1, Expected("an expression"))]),
        ("this is english\nand so is this line\nand this\nx = 1\n", vec![(2, Expected("an expression"))]),
        ("x = 12abc\n", vec![(1, Number)]),
        ("x = 1，2\n", vec![(1, Character)]),
        ("for x in y:\n    f(\n    if x:\n        z\n", vec![(2, Unclosed)]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn python_2_is_told_apart() {
    let old = "print 'x'\nraise E, 'y'\nx = `y`\nif a <> b: exec code in c\nz = 0777 + 10L\n";
    assert!(whole(old).is_python2);
    assert_eq!(whole(old).found.len(), 7);
    let mixed = "x = f'{y}'\nprint x\n";
    assert!(!whole(mixed).is_python2);
    assert_eq!(told(mixed), [(2, FaultKind::Python2("`print` is a function"))]);
    assert_eq!(whole("if x:\n    if y:\n\tprint 'x'\n").found.len(), 1);
    assert_eq!(whole("if x:\n\ty = 1\nif x:\n    y = 1\n\t# no code\n\t\n"), Faults::default());
    assert_eq!(whole("print >>f, x\nprint (a), b\n"), Faults::default());
}

/// What the recovering parser takes is not looked at, so these are read as if it had stumbled.
fn read(text: &str) -> Vec<Fault> {
    of_piece(text, Span::new(0, text.len() as u32)).0
}

#[test]
fn what_a_release_takes_is_never_refused() {
    for text in [
        "def f[T: (int, str) = int, *Ts, **P](a: T, /, b: *Ts = 1, *, c, **d) -> T: ...\n",
        "class A[T](B, metaclass=C): x: int = 1\ntype X[T] = list[T]\n",
        "match x:\n    case [1, *_] | (2, 3) as y if z: pass\n    case {'a': A(b=1 as c), **rest}:\n        pass\n    case -1 + 2j: pass\n    case _: pass\nmatch = 1\nmatch[x]\nmatch (x)\nmatch.x()\n",
        "try:\n    pass\nexcept* (A, B) as e:\n    pass\nelse:\n    pass\nfinally:\n    pass\n",
        "try: pass\nexcept A, B: pass\n",
        "with (open(a) as b, open(c) as d,): pass\nwith (a, b): pass\nwith (a), b as c: pass\nwith (yield): pass\n",
        "x = f'{a['b']}' f\"{x!r:>{w}} {{}} {y:%H:%M}\" rf'\\d{z}'\nt = t'{x}'\n",
        "f'''{\nx  # it's\n}'''\nf'{x:{'>'}10}'\nf'{ {1: 2}[1] }'\n",
        "if (n := 1) > 0: print(n, end='')\n[y := 1, y**2]\nx[a:=1]\n",
        "async def f():\n    async with a as b, c: await d\n    async for x in y: yield x\n    return [x async for x in y if await z]\n",
        "@a.b(c)[d]\n@e if f else g\ndef h(): pass\n",
        "print >>f, x\nprint\nexec(code)\nprint = 3\n",
        "a = b = yield\nx = yield y, z\nx = *a, *b\nreturn_ = 1\n",
        "for x, *y in z, w: pass\nfor (a, b), c in d: pass\nfor x in *a, b: pass\n",
        "lambda: (yield)\nlambda *a, b=1, **c: a\nlambda x, /, y: x\n",
        "x[1:2, ::3, ..., *y]\nx[:]\nx[a:b:c]\nf(*a, b, c=1, *d, **e)\nf(x for x in y)\n",
        "{**a, 'b': 1}\n{*a, b}\n{a: b for a, b in c}\n{}\n()\n[]\n",
        "x = 1if y else 2\nz = 0_1.5e-3j + 1_000 + 0b1 + .5 + 1. + 1e5\n",
        "from . import a\nfrom .. import (b, c as d,)\nfrom ...e import *\nimport a.b as c, d\n",
        "global a, b\ndel a, b[c], (d)\nassert x, 'y'\nraise\nraise A from B\n",
        "if x: pass; y = 1;\nelif z: pass\nelse: pass\nwhile 1: break\nelse: pass\n",
        "x = (\n  1,\n# c\n  2)\ny = a \\\n  + b\n",
        "\x0cclass A:\n\tdef f(self):\n\t\tpass\n\n\tx = 1\n",
        "s = 'a' \"b\" '''c\n''' b'd' Rb'\\'' u'e'\n",
        "!pip install x\n%matplotlib inline\nx = 1\n",
        "not x in y\nx is not y\nx not in y\n-x ** -y\nnot -x\na if b else c if d else e\n",
        "x: int\nx.y: int = 3\n(x): int = 3\nx: (yield)\n",
        "def f(a, *, b: int = 1, **kwargs: C): return a\n",
        "case = 1\ntype = 2\ntype(x)\n_ = 3\nprint(case)\n",
    ] {
        assert_eq!(read(text), [], "{text}");
    }
}

#[test]
fn templates_are_no_python() {
    assert_eq!(whole("import {{ package }}\n{% if x %}\ny = (\n{% endif %}\n"), Faults::default());
    assert_eq!(whole("name = {{cookiecutter.name}}\nx = = 1\n"), Faults::default());
}

#[test]
fn depth_is_bounded() {
    assert_eq!(read(&"(".repeat(100_000)).len(), 0);
    assert!(read(&"if x:\n".repeat(10_000)).len() < 10_001);
}

#[test]
fn faults_lie_between_characters() {
    for text in
        ["if x:\n    y\n  \u{feff}  z\n", "f(é é)\n", "x = (é\n", "é é\n", "if 𝒳\n    y\n", "x = [é 1]\n"]
    {
        for fault in whole(text).found {
            assert!(text.get(fault.span.range()).is_some(), "{text:?}: {:?}", fault.span);
        }
    }
}
