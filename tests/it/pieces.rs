//! A text that is parsed in pieces gives the tree that it gives as a whole.

use crate::findings::root;
use std::path::{Path, PathBuf};
use trainlint::syntax::{Pieces, parse, parse_again};

fn scripts(folder: &Path, out: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            scripts(&path, out);
        } else if path.extension().is_some_and(|one| one == "py") {
            out.push(path);
        }
    }
}

#[test]
fn pieces_and_wholes_are_the_same() {
    let folder = std::env::var_os("PIECES").map_or_else(|| root().join("fixtures"), PathBuf::from);
    let mut paths = Vec::new();
    scripts(&folder, &mut paths);
    assert!(paths.len() > 1);
    let mut wrong = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let (whole, pieces) = (parse(&text), parse_again(&mut Pieces::default(), &text));
        if format!("{whole:?}") != format!("{pieces:?}") {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{} {wrong:#?}", wrong.len());
}

/// Texts that are cut within classes.
const CLASSES: [&str; 9] = [
    "class A:\n    x = 1\n    def f(self):\n        return lambda: 1\n    # trailing\n# left\ny = 2\n",
    "@d(lambda: 1)\nclass A(B, metaclass=M):\n    @a\n    @b\n    def f(self): yield 1\n    g = lambda self: 2\n\n\nx = A()\n",
    "class A:\n  def f(self): pass\n  class B:\n    def g(self): pass\n  if x:\n    def h(self): pass\n  else:\n    k = 1;\n",
    "class A:\n\tx = 1\n\tdef f(self):\n\t\tpass\n\n\tdef g(self):\n\t\tpass  # end\n\t# after\n",
    "class A:\n    x = 1\n    def f(self): pass\n# left\n    def g(self): pass\n  # between\n    # right\n(x) = 1\n",
    "class A: pass\nclass B:\n    \"\"\"\n    def f(): ...\n    \"\"\"\n    for i in x: pass\n    while y:\n        z; w;\n",
    "class A:\n    x = (\n    1,\n)\n    def f(self, a=[\n    lambda: 2]): pass\n    y = 3  # c",
    "class A:\n    pass\n    async def f(self): pass\n    try: pass\n    except E: pass\n    finally: pass\nclass B:\n    pass\n",
    "class A:\r\n    x = 1\r\n    def f(self):\r\n        pass\r\n    # c\r\n\r\nx = 1\r\n",
];

#[test]
fn classes_are_whole() {
    for text in CLASSES {
        let (whole, pieces) = (parse(text), parse_again(&mut Pieces::default(), text));
        assert!(whole.errors.is_empty(), "{text}");
        assert_eq!(format!("{whole:#?}"), format!("{pieces:#?}"), "{text}");
    }
}

#[test]
fn what_is_broken_leaves_the_other_members() {
    let text = "class A:\n    x = 1\n    def f(self):\n        y = g(a, [\n    def h(self):\n        return 2\n\nclass B: pass\n";
    let tree = parse(text);
    let named = |name: &str| tree.functions.iter().find(|function| function.name == name);
    let class = named("h").and_then(|function| function.class).unwrap();
    assert_eq!(tree.class(class).name, "A");
    assert_eq!(tree.classes.len(), 2);
    assert!(tree.errors.iter().all(|error| (error.start as usize) < text.find("def h").unwrap()));
}
