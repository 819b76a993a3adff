//! Scopes of every kind, uses, and the resolution of imports on a tree of files.
#![allow(clippy::disallowed_methods, reason = "tests write their projects")]

use super::*;
use crate::source::SourceFile;
use crate::syntax::parse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use ustr::ustr;

fn of(text: &str) -> (Tree, Names) {
    let tree = parse(text);
    assert_eq!(tree.errors, []);
    let names = Names::of(&tree);
    (tree, names)
}

fn function(tree: &Tree, name: &str) -> FnId {
    FnId(tree.functions.iter().position(|function| function.name == name).unwrap() as u32)
}

#[track_caller]
fn locals(text: &str, name: &str, expected: &[&str]) {
    let (tree, names) = of(text);
    let found = names.scope(function(&tree, name)).locals.to_sorted();
    assert_eq!(found.iter().map(ustr::Ustr::as_str).collect::<Vec<_>>(), expected);
}

/// The lines of the statements that bind `name` in the module.
fn bound_at(text: &str, name: &str) -> Vec<usize> {
    let (tree, names) = of(text);
    let Some(stmts) = names.bindings.get(&ustr(name)) else { return Vec::new() };
    stmts.iter().map(|id| 1 + text[..tree.stmt(*id).span.start as usize].matches('\n').count()).collect()
}

fn words(names: &[Ustr]) -> Vec<&str> {
    names.iter().map(ustr::Ustr::as_str).collect()
}

#[test]
fn every_binder_makes_a_local() {
    let text = "def f(p, *q, r=1, **s):\n  a = b, *c = 1\n  d += 1\n  e: int\n  for g, (h, i) in x: pass\n  \
                with y as j, z as (k, l): pass\n  import m.n, o as t\n  from u import v as w, aa\n  \
                try: pass\n  except E as bb: pass\n  del cc, dd.ee\n  def ff(): gg = 1\n  class hh: ii = 1\n  \
                (jj := 1)\n  match x:\n    case [kk, *ll]: pass\n";
    let expected = [
        "a", "aa", "b", "bb", "c", "cc", "d", "e", "ff", "g", "h", "hh", "i", "j", "jj", "k", "kk", "l",
        "ll", "m", "p", "q", "r", "s", "t", "w",
    ];
    locals(text, "f", &expected);
}

#[test]
fn comprehensions_keep_their_targets_but_not_their_walrus() {
    locals("def f(x):\n  return [(y := a) for a in x for b in a if (z := b)]", "f", &["x", "y", "z"]);
    locals("def f():\n  g = lambda p: (q := p)", "f", &["g"]);
    locals("def f():\n  g = lambda p: (q := p)", "<lambda>", &["p", "q"]);
}

#[test]
fn global_and_nonlocal_names_belong_elsewhere() {
    let text = "count = 0\ndef f():\n  global count\n  count += 1\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n    x.a\n    count.b\n";
    let (tree, names) = of(text);
    let (f, g) = (function(&tree, "f"), function(&tree, "g"));
    assert!(names.scope(f).globals.contains(ustr("count")) && !names.scope(f).locals.contains(ustr("count")));
    assert!(names.scope(g).nonlocals.contains(ustr("x")) && names.scope(g).locals.is_empty());
    assert_eq!(names.owner(&tree, Some(g), ustr("x")), Some(f));
    assert_eq!(names.owner(&tree, Some(g), ustr("count")), None);
    assert_eq!(words(names.uses.of_local(Some(f), ustr("x"))), ["a"]);
    assert_eq!(words(names.uses.of_local(None, ustr("count"))), ["b"]);
    assert!(names.rebound.contains(&ustr("count")) && !names.rebound.contains(&ustr("x")));
}

#[test]
fn class_bodies_hide_their_names_from_methods() {
    let text = "x = 1\nclass A:\n  x = 2\n  x.here\n  def m(self):\n    x.there\n";
    let (_, names) = of(text);
    assert!(names.class_locals(ClassId(0)).contains(ustr("x")));
    assert!(names.class_locals(ClassId(0)).contains(ustr("m")));
    assert_eq!(words(names.uses.of_local(None, ustr("x"))), ["there"]);
    assert_eq!(bound_at(text, "x"), [1]);
    assert_eq!(bound_at(text, "m"), [0; 0]);
}

#[test]
fn module_bindings_in_order_wherever_they_nest() {
    let text = "try:\n  import a\nexcept E as e:\n  a = None\nif x:\n  def a(): pass\nelse:\n  a: int = 2\n\
                for i in y:\n  with z as a: pass\nwhile (w := 1): pass\na: str\ndef f():\n  a = 3\n[a for a in b]\n";
    assert_eq!(bound_at(text, "a"), [2, 4, 6, 8, 10]);
    assert_eq!(bound_at(text, "e"), [1]);
    assert_eq!(bound_at(text, "i"), [9]);
    assert_eq!(bound_at(text, "w"), [11]);
    assert_eq!(bound_at("import a.b\nfrom c import d as e\nimport f.g as h", "a"), [1]);
    assert_eq!(bound_at("import a.b\nfrom c import d as e\nimport f.g as h", "h"), [3]);
    assert_eq!(bound_at("(a, [b, *c]) = a = d", "c"), [1]);
}

#[test]
fn stars_and_dunder_all() {
    let (_, names) =
        of("from a import *\nif x:\n  from b import *\n__all__ = ['c'] + ['d']\n__all__ += ('e',)\n\
                         __all__.append('f')\n__all__.extend(['g'])");
    assert_eq!(names.stars.len(), 2);
    assert_eq!(words(names.dunder_all.as_deref().unwrap()), ["c", "d", "e", "f", "g"]);
    assert_eq!(of("__all__ = []").1.dunder_all.as_deref(), Some(&[][..]));
    assert_eq!(of("__all__ = ['a'] + b.__all__").1.dunder_all, None);
    assert_eq!(of("__all__ = ['a']\n__all__.remove('a')").1.dunder_all, None);
    assert_eq!(of("try:\n    __all__ = ['a']\nexcept E:\n    __all__ = []").1.dunder_all, None);
    assert_eq!(of("x = 1").1.dunder_all, None);
}

#[test]
fn uses_belong_to_the_scope_that_owns_the_name() {
    let text = "model = 1\ndef f(model, opt):\n  def g():\n    opt.step()\n    return model(1)\n  opt.zero_grad()\n  \
                opt.step\nmodel.eval()\n";
    let (tree, names) = of(text);
    let f = function(&tree, "f");
    assert_eq!(words(names.uses.of_local(Some(f), ustr("opt"))), ["step", "zero_grad"]);
    assert!(names.uses.called_local(Some(f), ustr("model")));
    assert!(!names.uses.called_local(None, ustr("model")) && !names.uses.called_local(Some(f), ustr("opt")));
    assert_eq!(words(names.uses.of_local(None, ustr("model"))), ["eval"]);
    assert_eq!(words(names.uses.of_local(Some(f), ustr("nothing"))), [""; 0]);
}

#[test]
fn comprehension_targets_hide_uses() {
    let text = "def f(x, y):\n  [x.a for x in x.b]\n  [(lambda x: x.c) for x in y]\n  {y.d: x.e for z in y.g if x.h}\n";
    let (tree, names) = of(text);
    let f = function(&tree, "f");
    assert_eq!(words(names.uses.of_local(Some(f), ustr("x"))), ["b", "h", "e"]);
    let lambda = function(&tree, "<lambda>");
    assert_eq!(words(names.uses.of_local(Some(lambda), ustr("x"))), ["c"]);
    let mut of_y = words(names.uses.of_local(Some(f), ustr("y")));
    of_y.sort_unstable();
    assert_eq!(of_y, ["d", "g"]);
}

#[test]
fn uses_of_attributes_of_self() {
    let text = "class A:\n  def m(this):\n    this.opt.step()\n    def inner(): this.opt.zero_grad()\n    this.net(1)\n  \
                def n(self, other):\n    other.opt.no()\n    self.opt.step()\n  @staticmethod\n  def s(self): self.opt.no()\n\
                def free(self): self.opt.no()\n";
    let (_, names) = of(text);
    assert_eq!(words(names.uses.of_self(ClassId(0), ustr("opt"))), ["step", "zero_grad"]);
    assert!(
        names.uses.called_self(ClassId(0), ustr("net")) && !names.uses.called_self(ClassId(0), ustr("opt"))
    );
}

#[test]
fn mentions_hold_those_of_nested_functions() {
    let text = "def f():\n  a.b\n  c(d)\n  def g(): e.h()\n  lambda: i()\n";
    let (tree, names) = of(text);
    let mentions = names.scope(function(&tree, "f")).mentions.to_sorted();
    assert_eq!(words(&mentions), ["b", "c", "h", "i"]);
    assert_eq!(words(&names.scope(function(&tree, "g")).mentions.to_sorted()), ["h"]);
}

/// A directory of its own for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("trainlint-names-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        for (path, text) in files {
            let path = folder.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn open(&self, project: &Project, path: &str) -> crate::report::FileId {
        project.open(&self.0.join(path)).unwrap()
    }

    /// What `module` means in the file `from`, as a path below the folder; `/` ends a namespace.
    fn resolve(&self, project: &Project, from: &str, level: u32, module: &str) -> String {
        let from = self.open(project, from);
        let module = (!module.is_empty()).then(|| ustr(module));
        self.shown(project, &project.resolve(from, level, module))
    }

    fn shown(&self, project: &Project, target: &Target) -> String {
        let below = |path: &Path| path.strip_prefix(&self.0).unwrap().to_string_lossy().replace('\\', "/");
        match target {
            Target::File(id) => below(&project.source(*id).path),
            Target::Namespace(path) => below(path) + "/",
            Target::Outside => "outside".to_owned(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn modules_lie_in_folders_above_a_script() {
    let folder = Folder::new(&[
        ("scripts/deep/train.py", ""),
        ("core/__init__.py", ""),
        ("core/nets.py", ""),
        ("scripts/tools.py", ""),
        ("bare/x.py", ""),
        ("data/raw/1.txt", ""),
    ]);
    let project = Project::new();
    let resolve = |module| folder.resolve(&project, "scripts/deep/train.py", 0, module);
    assert_eq!(resolve("core.nets"), "core/nets.py");
    assert_eq!(resolve("tools"), "scripts/tools.py");
    assert_eq!(resolve("bare.x"), "bare/x.py");
    assert_eq!(resolve("bare"), "bare/", "a folder of modules, of which one is imported by its name");
    assert_eq!(resolve("data"), "outside", "a folder without modules may be anything");
    let marked = Folder::new(&[("a/b/c/d/train.py", ""), ("a/x.py", ""), ("a/setup.py", ""), ("y.py", "")]);
    let project = Project::new();
    let resolve = |module| marked.resolve(&project, "a/b/c/d/train.py", 0, module);
    assert_eq!(resolve("x"), "a/x.py");
    assert_eq!(resolve("y"), "outside", "it lies above the root of the project");
}

#[test]
fn plain_imports_of_a_script() {
    let folder = Folder::new(&[
        ("pyproject.toml", ""),
        ("top.py", ""),
        ("scripts/train.py", ""),
        ("scripts/local.py", ""),
        ("scripts/pkg.py", ""),
        ("pkg/__init__.py", "from .core import Net"),
        ("pkg/core.py", ""),
        ("src/inner/__init__.py", ""),
        ("src/inner/deep/x.py", ""),
        ("data/raw.csv", ""),
        ("broken/__init__.py/x", ""),
    ]);
    let project = Project::new();
    let resolve = |module| folder.resolve(&project, "scripts/train.py", 0, module);
    assert_eq!(resolve("local"), "scripts/local.py");
    assert_eq!(resolve("top"), "top.py");
    assert_eq!(resolve("pkg"), "scripts/pkg.py");
    assert_eq!(resolve("pkg.core"), "pkg/core.py");
    assert_eq!(resolve("inner"), "src/inner/__init__.py");
    assert_eq!(resolve("inner.deep"), "src/inner/deep/");
    assert_eq!(resolve("inner.deep.x"), "src/inner/deep/x.py");
    assert_eq!(resolve("data"), "data/");
    assert_eq!(resolve("torch.nn"), "outside");
    assert_eq!(resolve("local.x"), "outside");
    assert_eq!(resolve(""), "outside");
}

#[test]
fn relative_imports_by_level() {
    let folder = Folder::new(&[
        ("a/__init__.py", ""),
        ("a/m.py", ""),
        ("a/b/__init__.py", ""),
        ("a/b/n.py", ""),
        ("a/c/p.py", ""),
    ]);
    let project = Project::new();
    let resolve = |from, level, module| folder.resolve(&project, from, level, module);
    assert_eq!(resolve("a/b/n.py", 1, ""), "a/b/__init__.py");
    assert_eq!(resolve("a/b/__init__.py", 1, "n"), "a/b/n.py");
    assert_eq!(resolve("a/b/n.py", 2, ""), "a/__init__.py");
    assert_eq!(resolve("a/b/n.py", 2, "m"), "a/m.py");
    assert_eq!(resolve("a/b/n.py", 2, "c"), "a/c/");
    assert_eq!(resolve("a/b/n.py", 2, "c.p"), "a/c/p.py");
    assert_eq!(resolve("a/b/n.py", 2, "gone"), "outside");
    assert_eq!(resolve("a/b/n.py", 99, ""), "outside");
}

#[test]
fn modules_of_a_package_prefer_the_top_and_pythons_own() {
    let folder = Folder::new(&[
        ("lib/p/__init__.py", ""),
        ("lib/p/m.py", ""),
        ("lib/p/logging.py", ""),
        ("lib/p/helper.py", ""),
        ("lib/helper.py", ""),
        ("lib/p/side.py", ""),
    ]);
    let project = Project::new();
    let resolve = |module| folder.resolve(&project, "lib/p/m.py", 0, module);
    assert_eq!(resolve("p.m"), "lib/p/m.py");
    assert_eq!(resolve("p"), "lib/p/__init__.py");
    assert_eq!(resolve("helper"), "lib/helper.py");
    assert_eq!(resolve("side"), "lib/p/side.py");
    assert_eq!(resolve("logging"), "outside");
    let name = |path| project.module_name(folder.open(&project, path)).unwrap().as_str();
    assert_eq!(
        (name("lib/p/m.py"), name("lib/p/__init__.py"), name("lib/helper.py")),
        ("p.m", "p", "helper")
    );
}

#[test]
fn submodules_of_packages_and_namespaces() {
    let folder = Folder::new(&[("p/__init__.py", ""), ("p/m.py", ""), ("n/x.py", ""), ("main.py", "")]);
    let project = Project::new();
    let main = folder.open(&project, "main.py");
    let of = |module: &str, name: &str| {
        let target = project.resolve(main, 0, Some(ustr(module)));
        project.submodule(&target, ustr(name)).map(|target| folder.shown(&project, &target))
    };
    assert_eq!(of("p", "m").as_deref(), Some("p/m.py"));
    assert_eq!(of("n", "x").as_deref(), Some("n/x.py"));
    assert_eq!(of("p", "gone"), None);
    assert_eq!(of("main", "x"), None);
    assert_eq!(of("torch", "nn"), None);
}

#[test]
fn files_are_read_and_parsed_once_also_in_cycles() {
    let folder = Folder::new(&[("a.py", "import b\n"), ("b.py", "import a\n")]);
    let project = Project::new();
    let (a, b) = (folder.open(&project, "a.py"), folder.open(&project, "b.py"));
    assert_eq!(folder.open(&project, "./x/../a.py"), a);
    assert_eq!(project.resolve(a, 0, Some(ustr("b"))), Target::File(b));
    assert_eq!(project.resolve(b, 0, Some(ustr("a"))), Target::File(a));
    assert!(std::ptr::eq(project.module(a), project.module(a)));
    assert!(project.module(a).names.bindings.contains_key(&ustr("b")));
    assert_eq!(project.open(&folder.0.join("none.py")), None);
    fs::write(folder.0.join("none.py"), "x = 1").unwrap();
    assert_eq!(project.open(&folder.0.join("none.py")), None, "a failure is remembered");
    assert_eq!(project.len(), 2);
}

#[test]
fn threads_share_a_project() {
    let files: Vec<_> =
        (0..40).map(|number| (format!("m{number}.py"), format!("import m{}\n", (number + 1) % 40))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = Folder::new(&files);
    let project = Project::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..40 {
                    let id = folder.open(&project, &format!("m{number}.py"));
                    assert_eq!(project.module(id).names.bindings.len(), 1);
                    assert!(matches!(
                        project.resolve(id, 0, Some(ustr(&format!("m{}", (number + 1) % 40)))),
                        Target::File(_)
                    ));
                }
            });
        }
    });
    assert_eq!(project.len(), 40);
}

#[test]
fn a_text_that_was_given_stands_for_its_file() {
    let folder = Folder::new(&[("main.py", "old = 1"), ("other.py", "")]);
    let project = Project::new();
    let given = SourceFile::from_bytes(&folder.0.join("main.py"), b"new = 1").unwrap();
    let id = project.add(given);
    let other = folder.open(&project, "other.py");
    assert_eq!(project.resolve(other, 0, Some(ustr("main"))), Target::File(id));
    assert!(project.module(id).names.bindings.contains_key(&ustr("new")));
}

#[test]
fn what_is_set_aside_is_parsed_again() {
    let mut project = Project::new();
    let file = project.add(SourceFile::from_text(Path::new("/p/a.py"), "x = 1\n").unwrap());
    let tree = std::sync::Arc::downgrade(&project.module(file).tree);
    project.set_aside();
    assert!(tree.upgrade().is_none());
    assert_eq!(project.module(file).tree.body.len(), 1);
}
