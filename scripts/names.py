"""What names a package binds, read from its sources without running them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import handed

OPEN = "*"


@dataclass
class Module:
    name: str
    bound: dict[str, object] = field(default_factory=dict)
    # Names that `__all__` lists, if it is a plain list.
    listed: set[str] | None = None
    # Names are bound in a way that only running shows.
    is_open: bool = False
    # Part of it is in a Python that is not read: even what is told to be closed is open.
    is_broken: bool = False
    # Modules whose names it takes where only type checkers come.
    checked: set[str] = field(default_factory=set)


@dataclass
class Class:
    name: str
    module: str
    node: ast.ClassDef
    # Further bodies of the same class: that of a stub.
    others: list[ast.ClassDef] = field(default_factory=list)
    # Where else it is written.
    sources: list[Ref] = field(default_factory=list)


@dataclass
class Function:
    name: str
    module: str
    nodes: list[ast.FunctionDef]


@dataclass
class Ref:
    """A name of another module."""

    module: str
    name: str


@dataclass
class Inner:
    """A module itself."""

    module: str


class Value:
    """Something else: a number, a result of a call, an alias that is not followed."""


class Star(str):
    """`from module import *`"""


VALUE = Value()


class Library:
    """The sources of one version of a package."""

    def __init__(self, files: dict[str, str], closed: list[str], shut: list[str], only: list[str], makers: list[str] = ()):
        self.closed, self.shut, self.only, self.makers = set(closed), shut, only, makers
        self.sources: dict[str, list[str]] = {}
        for name, text in files.items():
            # TensorFlow 1.15 kept itself in a folder of another name.
            name = name.replace("tensorflow_core/", "tensorflow/")
            module = name.rsplit(".", 1)[0].replace("/", ".").removesuffix(".__init__")
            self.sources.setdefault(module, []).append(text)
        self.children: dict[str, set[str]] = {}
        for module in list(self.sources):
            parts = module.split(".")
            for end in range(1, len(parts)):
                self.children.setdefault(".".join(parts[:end]), set()).add(parts[end])
        self.is_package = {
            name.replace("tensorflow_core/", "tensorflow/").rsplit("/", 1)[0].replace("/", ".")
            for name in files if name.rsplit("/", 1)[-1].startswith("__init__.py")
        }
        self.modules: dict[str, Module | None] = {}

    def is_shut(self, name: str) -> bool:
        """Whether a module is of no interest: then it is open, and nothing in it is listed."""
        within = lambda parts: any(name == one or name.startswith(one + ".") for one in parts)
        return within(self.shut) or bool(self.only) and "." in name and not within(self.only)

    def makes(self, name: str) -> bool:
        """Whether it is of interest what making the classes of a module takes."""
        return any(name == one or name.startswith(one + ".") for one in self.makers)

    def module(self, name: str) -> Module | None:
        if name not in self.modules:
            self.modules[name] = None
            if name in self.sources:
                self.modules[name] = module = Module(name)
                for text in self.sources[name]:
                    try:
                        body = ast.parse(text).body
                    except (SyntaxError, ValueError, RecursionError):
                        module.is_broken = True
                        continue
                    Binder(self, module).run(body)
                if name in self.closed:
                    module.is_open = False
            elif name in self.children:
                self.modules[name] = Module(name)
        return self.modules[name]

    def resolve(self, what: object, depth: int = 20) -> object:
        """What a binding is in the end; `None` when that is not known."""
        while isinstance(what, Ref):
            depth -= 1
            if depth < 0:
                return None
            module = self.module(what.module)
            if module is not None and what.name in module.bound:
                what = module.bound[what.name]
            elif f"{what.module}.{what.name}" in self.sources or f"{what.module}.{what.name}" in self.children:
                return Inner(f"{what.module}.{what.name}")
            elif module is not None:
                found = self.starred(module, what.name)
                if found is None:
                    return None
                what = found
            else:
                return None
        return what

    def starred(self, module: Module, name: str, seen: frozenset = frozenset()) -> object | None:
        for key in module.bound:
            if isinstance(key, Star) and str(key) not in seen:
                other = self.module(str(key))
                if other is None:
                    continue
                if name in other.bound:
                    return other.bound[name]
                found = self.starred(other, name, seen | {str(key)})
                if found is not None:
                    return found
        return None

    def namespace(self, module: Module, seen: frozenset = frozenset()) -> tuple[dict[str, object], bool]:
        """All names of a module, those of its stars and its submodules included, and whether it is open."""
        names: dict[str, object] = {}
        is_open = module.is_open or module.is_broken
        for key, what in module.bound.items():
            if not isinstance(key, Star):
                continue
            other = self.module(str(key))
            if str(key) in seen:
                continue
            if other is None:
                is_open = is_open or module.name not in self.closed
                continue
            inner, inner_open = self.namespace(other, seen | {module.name})
            is_open = is_open or inner_open and (module.name not in self.closed or other.is_broken)
            for name, value in inner.items():
                if other.listed is None and name.startswith("_"):
                    continue
                # Only type checkers come here: what runs loads what is asked for, and no submodules along with it.
                if str(key) in module.checked and isinstance(value, Inner):
                    continue
                names.setdefault(name, value)
        names.update({name: what for name, what in module.bound.items() if not isinstance(name, Star)})
        listed = module.listed or set()
        for child in self.children.get(module.name, ()):
            # `__all__` may list a submodule that nothing binds but its import.
            if names.get(child, VALUE) is VALUE and (child in listed or child not in names):
                names[child] = Inner(f"{module.name}.{child}")
        return names, is_open


class Binder:
    """Runs through the statements of a module and notes what they bind, on whichever way."""

    def __init__(self, library: Library, module: Module):
        self.library, self.module = library, module

    def run(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def bind(self, name: str, what: object) -> None:
        if what == Ref(self.module.name, name):
            # `from . import name` binds the submodule.
            what = Inner(f"{self.module.name}.{name}")
        known = self.module.bound.get(name)
        if isinstance(known, Class) and isinstance(what, Class):
            known.others.append(what.node)
        elif isinstance(known, Function) and isinstance(what, Function):
            known.nodes.extend(what.nodes)
        elif isinstance(known, (Class, Function, Inner, Ref)) and isinstance(what, Value):
            # Rebound by a call that wraps it, most likely: its parameters are not known any more.
            if isinstance(known, Function):
                self.module.bound[name] = VALUE
        elif isinstance(known, Class) and isinstance(what, Ref):
            # A stub tells of the class, and the source has it in another module.
            known.sources.append(what)
        elif isinstance(known, Function) and isinstance(what, Ref):
            pass
        else:
            self.module.bound[name] = what

    def statement(self, node: ast.stmt) -> None:
        name = self.module.name
        match node:
            case ast.Import():
                for alias in node.names:
                    if alias.asname:
                        self.bind(alias.asname, Inner(alias.name))
                    else:
                        top = alias.name.split(".")[0]
                        self.bind(top, Inner(top))
            case ast.ImportFrom():
                source = self.source(node)
                for alias in node.names:
                    if alias.name == "*":
                        self.module.bound[Star(source)] = VALUE
                    else:
                        self.bind(alias.asname or alias.name, Ref(source, alias.name))
            case ast.ClassDef():
                self.bind(node.name, Class(node.name, name, node))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if node.name == "__getattr__":
                    self.getattr(node)
                self.bind(node.name, Function(node.name, name, [node]))
            case ast.Assign():
                for target in node.targets:
                    self.target(target, node.value)
            case ast.AnnAssign():
                self.target(node.target, node.value)
            case ast.AugAssign():
                if isinstance(node.target, ast.Name) and node.target.id == "__all__":
                    self.listed(node.value)
            case ast.If() | ast.For() | ast.While():
                if isinstance(node, ast.For):
                    self.target(node.target, None)
                    if self.members_of_enums(node):
                        return
                if isinstance(node, ast.If) and chain(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                    self.module.checked.update(
                        self.source(one) for one in node.body
                        if isinstance(one, ast.ImportFrom) and one.names[0].name == "*"
                    )
                self.run(node.body)
                self.run(node.orelse)
            case ast.With():
                self.run(node.body)
            case ast.Try():
                self.run(node.body)
                for handler in node.handlers:
                    self.run(handler.body)
                self.run(node.orelse)
                self.run(node.finalbody)
            case ast.Expr(value=ast.Call() as call):
                self.call(call)

    def members_of_enums(self, node: ast.For) -> bool:
        """Binds what `for enum in (A, B): for item in enum: setattr(module, item.name, item.value)` does."""
        match node:
            case ast.For(
                target=ast.Name(id=enum), iter=ast.Tuple(elts=classes),
                body=[ast.For(target=ast.Name(id=item), iter=ast.Name(id=other), body=[ast.Expr(value=ast.Call(
                    func=ast.Name(id="setattr"), args=[_, ast.Attribute(value=ast.Name(id=named), attr="name"), _],
                ))])],
            ) if enum == other and item == named:
                for name in classes:
                    known = self.module.bound.get(name.id) if isinstance(name, ast.Name) else None
                    for one in known.node.body if isinstance(known, Class) else []:
                        if isinstance(one, ast.Assign):
                            for target in one.targets:
                                self.target(target, None)
                return True
        return False

    def source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module.name.split(".")
        drop = node.level - (1 if self.module.name in self.library.is_package else 0)
        parts = parts[: len(parts) - drop] if drop else parts
        return ".".join([*parts, node.module] if node.module else parts)

    def target(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id="__all__"):
                self.listed(value)
            case ast.Name():
                what: object = VALUE
                if isinstance(value, ast.Name):
                    what = Ref(self.module.name, value.id) if value.id != target.id else VALUE
                elif isinstance(value, ast.Attribute) and (dotted := chain(value)):
                    base, attr = dotted.rsplit(".", 1)
                    inner = self.module.bound.get(base)
                    if isinstance(inner, Inner):
                        what = Ref(inner.module, attr)
                self.bind(target.id, what)
                if target.id in ("_import_structure", "_deprecations") and isinstance(value, ast.Dict):
                    self.lazy(value)
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self.target(part, None)
            case ast.Starred():
                self.target(target.value, None)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars"))):
                self.module.is_open = True
            case ast.Subscript(value=ast.Name(id="_import_structure"), slice=ast.Constant(value=str() as key)):
                self.lazy(ast.Dict(keys=[ast.Constant(key)], values=[value]))
            case ast.Subscript(value=ast.Attribute(attr="modules")):
                # `sys.modules[__name__] = ...` puts something else in the module's place.
                wrapper = ast.dump(value.func) if isinstance(value, ast.Call) else ""
                if not any(name in wrapper for name in ("LazyModule", "TFModuleWrapper", "DeprecationWrapper")):
                    self.module.is_open = True

    def lazy(self, table: ast.Dict) -> None:
        """A table of names by the submodule that binds them, or of deprecated names."""
        for key, value in zip(table.keys, table.values):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(value, ast.List):
                for item in value.elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        self.bind(item.value, Ref(f"{self.module.name}.{key.value}", item.value))
            else:
                self.bind(key.value, VALUE)

    def getattr(self, node: ast.FunctionDef) -> None:
        self.module.is_open = True

    def listed(self, value: ast.expr | None) -> None:
        if not isinstance(value, (ast.List, ast.Tuple)):
            return
        self.module.listed = self.module.listed or set()
        for item in value.elts:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self.module.listed.add(item.value)
                self.module.bound.setdefault(item.value, VALUE)

    def call(self, call: ast.Call) -> None:
        function = chain(call.func) or ""
        dynamic = function in ("globals().update", "setattr") or function.endswith("_export_all")
        if function.endswith(".update") and isinstance(call.func, ast.Attribute):
            inner = call.func.value
            dynamic = isinstance(inner, ast.Call) and chain(inner.func) in ("globals", "vars")
        if dynamic and not (function == "setattr" and call.args and "modules" not in ast.dump(call.args[0])):
            self.module.is_open = True
        if function == "_import_structure.update" and call.args and isinstance(call.args[0], ast.Dict):
            self.lazy(call.args[0])


def chain(node: ast.expr) -> str | None:
    """`a.b.c` as text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := chain(node.value)):
        return f"{base}.{node.attr}"
    return None


@dataclass
class Seen:
    """What one release has under a path."""

    kind: str
    # The path that it is another name of, or nothing.
    alias: str = ""
    # The names of its parameters; `None` for any.
    params: list[str] | None = None
    # It may hold more than was found.
    is_open: bool = False

    def also(self, other: Seen) -> Seen:
        """What two sources of one release say of it. Where one knows only that it is there, the other counts."""
        if "v" in (self.kind, other.kind) and "m" in (self.kind, other.kind):
            return self if self.kind == "m" else other
        is_same = (self.kind, self.alias) == (other.kind, other.alias)
        params = None
        if self.params is not None and other.params is not None:
            params = self.params + [name for name in other.params if name not in self.params]
        is_open = self.is_open or other.is_open or not is_same
        return Seen(self.kind, self.alias if is_same else "", params, is_open)


class Public:
    """The public names of a package over its versions."""

    def __init__(self, package: str, lists_members: bool, elsewhere: dict[str, str]):
        self.package, self.lists_members, self.elsewhere = package, lists_members, elsewhere
        self.versions: list[str] = []
        self.pythons: list[str] = []
        # Releases that tell too little of themselves.
        self.opened: set[int] = set()
        # By path, and there by the number of the release.
        self.entities: dict[str, dict[int, Seen]] = {}

    def release(self, version: str, pythons: str) -> None:
        self.versions.append(version)
        self.pythons.append(pythons)

    def add(self, library: Library, roots: list[tuple[str, str]]) -> None:
        """The names of the last release: of each root the module, and the name that it has in public."""
        Walk(self, library).run(roots)

    def note(self, path: str, seen: Seen, at: int | None = None) -> None:
        at = len(self.versions) - 1 if at is None else at
        if at in self.opened:
            seen = Seen(seen.kind, seen.alias, None, True)
        releases = self.entities.setdefault(path, {})
        releases[at] = releases[at].also(seen) if at in releases else seen

    def text(self, others: list[str]) -> str:
        lines = [f"versions {' '.join(self.versions)}", f"pythons {' '.join(self.pythons)}", f"others {' '.join(others)}"]
        self.entities = {path: releases for path, releases in self.entities.items() if releases}
        for path, releases in list(self.entities.items()):
            for above in prefixes(path):
                # Reached by another way: nobody saw what else it holds.
                known = self.entities.setdefault(above, {})
                for at in releases:
                    known.setdefault(at, Seen("m", is_open=True))
        for path in sorted(self.entities, key=lambda path: path.split(".")):
            if any(self.alias(above) or self.kind(above) in "fv" for above in prefixes(path)):
                continue
            lines.append("." * path.count(".") + path.rsplit(".", 1)[-1] + " " + self.line(path))
        return "\n".join(lines) + "\n"

    def line(self, path: str) -> str:
        releases = self.entities[path]
        alias = self.alias(path)
        kind = self.kind(path)
        # What is now this and now that is known where it is what it is last.
        odd = [at for at, one in releases.items() if not alias and (one.is_open or one.alias or one.kind != kind)]
        words = [kind + (OPEN + self.within(odd, releases) if odd and kind in "mc" else "")]
        if span := self.span(releases):
            words.append("@" + span)
        if alias:
            words.append(">" + alias)
        elif (params := self.params(releases, kind)) is not None:
            words.append("(" + " ".join(params) + ")")
        return " ".join(words)

    def kind(self, path: str) -> str:
        """What it is in the last release that has it."""
        releases = self.entities[path]
        return releases[max(releases)].kind

    def shown(self, path: str, param: str, releases: range) -> None:
        """What importing shows goes before what sources say."""
        for at in releases:
            seen = self.entities.get(path, {}).get(at)
            if seen is None:
                self.note(path, Seen("v"), at)
            elif param:
                seen.params = both(seen.params, [param])

    def alias(self, path: str) -> str:
        """Where it leads in every version that has it, if that is another path."""
        if path in self.elsewhere:
            return self.elsewhere[path]
        targets = {one.alias for one in self.entities[path].values()}
        return targets.pop() if len(targets) == 1 else ""

    def span(self, releases) -> str:
        """The first and the last of some releases, where they do not begin and end with all."""
        first, last = min(releases), max(releases)
        return "" if (first, last) == (0, len(self.versions) - 1) else f"{first}-{last}"

    def within(self, some, releases) -> str:
        """As `span`, of some of the releases that have something."""
        return "" if (min(some), max(some)) == (min(releases), max(releases)) else f"{min(some)}-{max(some)}"

    def params(self, releases: dict[int, Seen], kind: str) -> list[str] | None:
        if kind not in "fc":
            return None
        seen: dict[str, list[int]] = {}
        free = []
        for at, one in releases.items():
            if one.kind != kind or one.alias or one.params is None:
                free.append(at)
                continue
            for name in one.params:
                seen.setdefault(name, []).append(at)
        if free and not self.within(free, releases):
            return None
        words = [name + (f"@{span}" if (span := self.within(versions, releases)) else "") for name, versions in seen.items()]
        return words + ([f"{OPEN}@{min(free)}-{max(free)}"] if free else [])


def prefixes(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


class Walk:
    """Goes through the public names of one version, those of the shortest paths first."""

    def __init__(self, public: Public, library: Library):
        self.public, self.library = public, library
        # The path by which a module or class was found first.
        self.first: dict[str, str] = {}
        self.queue: list[tuple[str, Module]] = []
        self.opened: set[tuple[str, str]] = set()
        self.roots: list[tuple[str, str]] = []

    def own_name(self, module: str) -> str | None:
        """The public name that a module has by where it lies."""
        for root, path in self.roots:
            if module == root or module.startswith(root + "."):
                name = path + module[len(root):]
                return None if any(part.startswith("_") for part in name.split(".")) else name
        return None

    def run(self, roots: list[tuple[str, str]]) -> None:
        # The longest first: `keras.api.layers` is `keras.layers`.
        self.roots = sorted(roots, key=lambda root: len(root[0]), reverse=True)
        for root, path in roots:
            module = self.library.module(root)
            if module is not None and (root in self.library.sources or root in self.library.children):
                self.module(path, module)
        at = 0
        while at < len(self.queue):
            self.open(*self.queue[at])
            at += 1

    def note(self, path, kind, params=None, is_open=False, alias=""):
        self.public.note(path, Seen(kind, alias, params, is_open))

    def module(self, path: str, module: Module) -> None:
        own = self.own_name(module.name)
        first = self.first.setdefault(module.name, own if own else path)
        if first != path and (first, module.name) not in self.opened:
            self.module(first, module)
        if first != path:
            self.note(path, "m", alias=first)
        elif (path, module.name) not in self.opened:
            self.opened.add((path, module.name))
            self.queue.append((path, module))

    def open(self, path: str, module: Module) -> None:
        names, is_open = self.library.namespace(module)
        if self.library.is_shut(module.name):
            is_open, names = True, {}
        is_open = is_open or bool(self.library.only)
        self.note(path, "m", is_open=is_open)
        own = module.name.split(".")[0]
        for name, what in names.items():
            if not name.startswith("_"):
                self.bound(f"{path}.{name}", what, own)

    def bound(self, path: str, what: object, own: str) -> None:
        if isinstance(what, (Ref, Class)) and self.library.makes(what.module):
            target = self.library.resolve(what)
            if isinstance(target, Class) and self.library.makes(target.module):
                self.made(path, target)
                return
        if isinstance(what, (Ref, Class, Function)) and self.library.is_shut(what.module):
            # Where only some parts are of interest, the others are not even listed.
            if not self.library.only:
                self.note(path, "v")
            return
        target = self.library.resolve(what)
        match target:
            case Inner():
                inner = self.library.module(target.module)
                if inner is None or target.module.split(".")[0] != own:
                    self.note(path, "v")
                else:
                    self.module(path, inner)
            case Class():
                key = f"{target.module}:{target.name}"
                first = self.first.setdefault(key, path)
                if first == path:
                    self.klass(path, target)
                else:
                    self.note(path, "c", alias=first)
            case Function():
                if not all(only_raises(node) for node in target.nodes):
                    self.note(path, "f", self.compiled(self.signature(target.nodes, 0), target.module))
            case _:
                self.note(path, "v")

    def made(self, path: str, target: Class) -> None:
        """A class of which is told what making one takes, and nothing else."""
        first = self.first.setdefault(f"{target.module}:{target.name}", path)
        # Which of two names in one module comes first changes between releases.
        if first.rpartition(".")[0] == path.rpartition(".")[0]:
            params = handed.init(self, target)
            self.note(path, "c", self.members(target, 0)[1] if params is None else params, is_open=True)
        else:
            self.note(path, "c", alias=first)

    @property
    def plain(self) -> set[str]:
        return PLAIN_DECORATORS

    @property
    def plain_metaclasses(self) -> set[str]:
        return PLAIN_METACLASSES

    def written(self, node: ast.expr) -> str | None:
        return chain(node)

    def decorators(self, node) -> list[str]:
        return decorators(node)

    def tops(self, module: str, name: str) -> list[ast.stmt]:
        """The statements of the module that a name of another one leads to."""
        inner = self.library.resolve(Ref(module, name))
        texts = self.library.sources.get(inner.module, []) if isinstance(inner, Inner) else []
        return [statement for text in texts for statement in ast.parse(text).body]

    def klass(self, path: str, target: Class) -> None:
        members, params, is_open = self.members(target, 0)
        # What is not listed is not known to be missing; and of compiled classes stubs tell little.
        is_compiled = target.module.startswith("torch._C") and target.name not in ("_TensorBase", "TensorBase")
        is_open = is_open or is_compiled or not self.public.lists_members or path.count(".") > 3
        self.note(path, "c", params, is_open)
        if not is_open:
            for name, member in members.items():
                if not name.startswith("_"):
                    self.note(f"{path}.{name}", "v" if member is VALUE else "f", None if member is VALUE else member)

    def is_wild(self, target: Class, depth: int = 0) -> bool:
        """Whether a metaclass decides what making one takes."""
        for node in [target.node, *target.others]:
            own = [chain(keyword.value) for keyword in node.keywords if keyword.arg == "metaclass"]
            if depth <= 12 and any(name not in PLAIN_METACLASSES for name in own):
                return True
            for base in node.bases:
                found = self.dotted(target.module, name) if depth <= 12 and (name := chain(base)) else None
                if isinstance(found, Class) and found is not target and self.is_wild(found, depth + 1):
                    return True
        return False

    def members(self, target: Class, depth: int):
        """Members with their parameters, the parameters of making one, and whether there may be more."""
        members: dict[str, object] = {}
        # A metaclass of the package may take anything and hand on what it likes.
        params, is_open, free = None, False, self.is_wild(target)
        bases = []
        for node in [target.node, *target.others]:
            if depth > 12 or any(chain(keyword.value) not in PLAIN_METACLASSES for keyword in node.keywords):
                is_open = True
            for base in node.bases:
                if isinstance(base, ast.Subscript):
                    base = base.value
                name = chain(base)
                if name in ("object", "Generic", "ABC", "abc.ABC", "Protocol", "NamedTuple", "Exception", "RuntimeError", "ValueError"):
                    is_open = is_open or name not in ("object", "Generic", "ABC", "abc.ABC", "Protocol")
                    continue
                if name in ENUMS:
                    # Called by the value, with what its metaclass takes.
                    free = is_open = True
                    continue
                found = self.dotted(target.module, name) if name else None
                if isinstance(found, Class) and found is not target:
                    bases.append(found)
                else:
                    is_open = True
        inherited = None
        for base in reversed(bases):
            inner, inner_params, inner_open = self.members(base, depth + 1)
            members.update(inner)
            inherited, is_open = inner_params, is_open or inner_open
        own_init = False
        own: dict[str, object] = {}
        for node in [target.node, *target.others]:
            inits = []
            if any(name not in PLAIN_DECORATORS for name in decorators(node)):
                own_init, params = True, None
            for item in node.body:
                if self.public.lists_members:
                    self.member(item, own, target.module)
                if isinstance(item, ast.FunctionDef):
                    if item.name in ("__getattr__", "__getattribute__"):
                        is_open = True
                    if item.name == "__init__":
                        inits.append(item)
            if "dataclass" in decorators(node) and not inits:
                fields = [item.target.id for item in node.body
                          if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
                if inherited is not None or not bases:
                    own_init, params = True, [*(inherited or []), *(name for name in fields if name not in (inherited or []))]
                continue
            made = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            if inits:
                params = both(params, self.signature(inits, 1)) if own_init else self.signature(inits, 1)
                own_init = True
            if "__new__" in made:
                own_init, params = True, None
        members.update(own)
        for source in target.sources:
            other = self.library.resolve(source)
            if isinstance(other, Class) and other is not target and depth <= 12:
                also, also_params, also_open = self.members(other, depth + 1)
                is_open = is_open or also_open
                for name, member in also.items():
                    members[name] = joined(members[name], member) if name in members else member
                params = both(params, also_params) if own_init else also_params
                own_init = True
        if free or is_open and not own_init:
            return members, None, is_open
        return members, params if own_init else inherited, is_open

    def member(self, item: ast.stmt, members: dict[str, object], module: str) -> None:
        match item:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kind = decorators(item)
                if any("property" in name or name.endswith(".setter") for name in kind):
                    members[item.name] = VALUE
                else:
                    params = self.compiled(self.signature([item], 0 if "staticmethod" in kind else 1), module)
                    # Overloads, and a stub beside a source.
                    members[item.name] = joined(members[item.name], params) if item.name in members else params
                for node in ast.walk(item):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                        members.setdefault(node.attr, VALUE)
            case ast.Assign():
                for target in item.targets:
                    if isinstance(target, ast.Name):
                        members[target.id] = VALUE
            case ast.AnnAssign(target=ast.Name(id=name)):
                members[name] = VALUE
            case ast.ClassDef():
                members[item.name] = VALUE
            case ast.If():
                for inner in [*item.body, *item.orelse]:
                    self.member(inner, members, module)

    def dotted(self, module: str, name: str) -> object:
        parts = name.split(".")
        what: object = Ref(module, parts[0])
        for part in parts[1:]:
            found = self.library.resolve(what)
            if not isinstance(found, Inner):
                return None
            what = Ref(found.module, part)
        return self.library.resolve(what)

    def signature(self, nodes: list[ast.FunctionDef], skip: int) -> list[str] | None:
        """The names that may be given by keyword; `None` when that may be any."""
        names: list[str] = []
        for node in nodes:
            args = node.args
            if args.kwarg or any(name not in PLAIN_DECORATORS for name in decorators(node)):
                return None
            # What a stub takes by place only the source may take by name.
            given = [*[*args.posonlyargs, *args.args][skip:], *args.kwonlyargs]
            names.extend(one.arg for one in given if one.arg not in names)
        return names

    def compiled(self, names: list[str] | None, module: str) -> list[str] | None:
        """Functions of the compiled part of torch take NumPy's names of arguments as well."""
        if names is None or not module.startswith("torch._C"):
            return names
        return names + [other for name in names for other in NUMPY_NAMES.get(name, ()) if other not in names]


ENUMS = {"Enum", "enum.Enum", "IntEnum", "enum.IntEnum", "Flag", "enum.Flag", "StrEnum", "enum.StrEnum"}


def both(one: list[str] | None, other: list[str] | None) -> list[str] | None:
    """The parameters that either of two signatures takes."""
    if one is None or other is None:
        return None
    return one + [name for name in other if name not in one]


def joined(one: object, other: object) -> object:
    """A member as two sources tell of it."""
    return VALUE if VALUE in (one, other) else both(one, other)


NUMPY_NAMES = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}

# Metaclasses that add no members.
PLAIN_METACLASSES = {"_TensorMeta", "ABCMeta", "abc.ABCMeta", "type"}

# Decorators that leave the names of parameters as they are.
PLAIN_DECORATORS = {
    "staticmethod", "classmethod", "overload", "_overload", "typing.overload", "t.overload", "torch.no_grad",
    "abstractmethod", "abc.abstractmethod", "final", "override", "tf_export", "keras_export", "dispatch.add_dispatch_support",
    "dispatch.dispatch_for_api", "dispatch.register_unary_elementwise_api", "dispatch.register_binary_elementwise_api",
    "deprecation.deprecated", "torch.jit.export", "compatibility", "dataclass_transform", "torch.inference_mode",
    # Those of scikit-learn bind what they get to the parameters of the function.
    "validate_params", "_deprecate_positional_args",
}


def only_raises(node: ast.FunctionDef) -> bool:
    """Whether a function is a tombstone: it is gone, and says so."""
    body = node.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or not isinstance(body[0].exc, ast.Call):
        return False
    return chain(body[0].exc.func) == "RuntimeError"


def decorators(node) -> list[str]:
    out = []
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        out.append(chain(call) or "?")
    return out
