"""What making a class takes whose `__init__` hands its `**kwargs` to that of a base, read from sources.

A layer of Keras takes `**kwargs` for what every layer has, and the base of all layers raises an error for whatever
is left. Where each step of the way is plain, the names are known; where one is not, any may be given.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

MOST = 24

# A decorator that says which names of an older interface are understood as well.
LEGACY = "interfaces."

# Those that note something down of what they decorate.
QUIET = {"no_automatic_dependency_tracking", "register_keras_serializable", "add_metaclass"}

# One that takes a `kernel_layout` for each `kernel_initializer`.
LAYOUTS = "allow_initializer_layout"


def init(walk, target) -> list[str] | None:
    """The names of the arguments of making one, or `None` where that may be any."""
    order = resolution(walk, target, 0)
    known = [one for one in order if not isinstance(one, Unseen)]
    return _init(walk, order, 0) if all(is_plain(walk, one) for one in known) else None


@dataclass(frozen=True)
class Unseen:
    """A base whose source is not there."""

    module: str
    name: str


def resolution(walk, target, depth: int) -> list:
    """The order in which Python looks into bases."""
    if depth > MOST:
        return [Unseen(target.module, target.name)]
    found = [target]
    for node in [target.node, *target.others]:
        for base in node.bases:
            name = walk.written(base)
            if name in ("object", "Generic", "ABC", "abc.ABC"):
                continue
            other = walk.dotted(target.module, name) if name else None
            if other is None or other is target or not hasattr(other, "others"):
                found.append(Unseen(target.module, name or ast.unparse(base)))
            else:
                found.extend(resolution(walk, other, depth + 1))
    # What several bases have in common comes after all of them.
    return [one for at, one in enumerate(found) if not any(is_same(one, later) for later in found[at + 1:])]


def is_same(one, other) -> bool:
    return one is other or isinstance(one, Unseen) and one == other


def leaves_as_is(walk, decorator: str) -> bool:
    """Whether what is decorated takes the same arguments."""
    return (
        decorator in walk.plain or decorator.startswith("doc_controls.")
        or decorator.rpartition(".")[2] in QUIET
    )


def is_plain(walk, target) -> bool:
    """Whether making one is up to its `__init__` alone."""
    nodes = [target.node, *target.others]
    news = [item for node in nodes for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__new__"]
    return (
        all(leaves_as_is(walk, name) for node in nodes for name in walk.decorators(node))
        and all(walk.written(keyword.value) in walk.plain_metaclasses for node in nodes for keyword in node.keywords)
        and all(new.args.kwarg is not None and len(new.args.args) == 1 for new in news)
    )


def _init(walk, order: list, at: int) -> list[str] | None:
    for place, one in enumerate(order[at:], at):
        if isinstance(one, Unseen):
            return None
        inits = [item for node in [one.node, *one.others] for item in node.body
                 if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
        if inits:
            return together(takes(walk, node, order, place) for node in inits)
    return []


def together(several) -> list[str] | None:
    names: list[str] = []
    for one in several:
        if one is None:
            return None
        names.extend(name for name in one if name not in names)
    return names


def takes(walk, node: ast.FunctionDef, order: list, place: int) -> list[str] | None:
    """What one `__init__` takes by name, with what it hands on."""
    module = order[place].module
    names: list[str] = []
    given = [*[*node.args.posonlyargs, *node.args.args][1:], *node.args.kwonlyargs]
    for name in walk.decorators(node):
        if name.startswith(LEGACY):
            names.extend(older(walk, module, *name.split(".")))
        elif name.rpartition(".")[2] == LAYOUTS:
            names.extend(one.arg.replace("initializer", "layout") for one in given)
        elif not leaves_as_is(walk, name):
            return None
    names.extend(one.arg for one in given if one.arg not in names)
    rest = [] if node.args.kwarg is None else Rest(walk, node, node.args.kwarg.arg, order, place).names()
    return together([names, rest])


def older(walk, module: str, interfaces: str, name: str) -> list[str]:
    """The words of what a decorator is made of, and of the functions that it is made with."""
    tops = walk.tops(module, interfaces)
    made = [one.value for one in tops if isinstance(one, ast.Assign) and walk.written(one.targets[0]) == name]
    used = {one.id for value in made for one in ast.walk(value) if isinstance(one, ast.Name)}
    functions = [one for one in tops if isinstance(one, ast.FunctionDef) and one.name in used | {name}]
    words = [one.value for node in [*made, *functions] for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return sorted({word for word in words if isinstance(word, str) and word.isidentifier()})


class Rest:
    """What becomes of the `**kwargs` of an `__init__`, or of a method that is given them."""

    def __init__(self, walk, node: ast.FunctionDef, kwargs: str, order: list, place: int):
        self.walk, self.node, self.kwargs, self.order, self.place = walk, node, kwargs, order, place
        self.above = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        self.found: list[str] = []
        self.is_closed = False

    def names(self) -> list[str] | None:
        for use in ast.walk(self.node):
            if isinstance(use, ast.Name) and use.id == self.kwargs and not self.is_understood(use):
                return None
        return self.found if self.is_closed else None

    def is_understood(self, use: ast.Name) -> bool:
        above = self.above[use]
        match above:
            case ast.Attribute(attr="pop" | "get" | "setdefault"):
                call = self.above[above]
                return isinstance(call, ast.Call) and call.func is above and self.take(call.args[:1])
            case ast.Attribute(attr="keys"):
                call = self.above[above]
                return isinstance(call, ast.Call) and self.is_understood_as(call, self.above[call])
            case ast.Subscript(value=value) if value is use:
                return isinstance(above.slice, ast.Name) and self.is_each(above.slice) or self.take([above.slice])
            case ast.keyword(arg=None):
                return self.hand_on(self.above[above])
        return self.is_understood_as(use, above)

    def is_understood_as(self, what: ast.expr, above: ast.AST) -> bool:
        match above:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], left=left, comparators=[right]) if right is what:
                return self.take([left])
            case ast.If(test=test, body=[*_, ast.Raise()]) if test is what:
                self.is_closed = True
                return True
            case ast.For(target=ast.Name(id=name), iter=iter, body=body) if iter is what:
                return self.each(name, body)
            case ast.Call(func=ast.Attribute(attr="update"), args=[one]) if one is what:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=method), args=[one]) if one is what:
                return self.give(method)
            case ast.Call(func=func, args=[first, allowed, *_]) if first is what:
                is_check = (self.walk.written(func) or "").rpartition(".")[2] == "validate_kwargs"
                return is_check and self.close(allowed)
        return self.is_told(above)

    def is_told(self, node: ast.AST | None) -> bool:
        """Whether a use only says in an error what was given."""
        while node is not None and not isinstance(node, ast.stmt):
            node = self.above.get(node)
        return isinstance(node, ast.Raise)

    def take(self, keys: list[ast.expr]) -> bool:
        words = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        self.found.extend(word for word in words if word not in self.found)
        return len(words) == 1

    def each(self, name: str, body: list[ast.stmt]) -> bool:
        """`for one in kwargs:` with a test of each against what is allowed."""
        match body:
            case [ast.If(test=ast.Compare(left=ast.Name(id=one), ops=[ast.NotIn()], comparators=[allowed]), body=[*_, ast.Raise()]), *_]:
                return one == name and self.close(allowed)
            case [ast.Assert(test=ast.Compare(left=ast.Name(id=one), ops=[ast.In()], comparators=[allowed])), *_]:
                return one == name and self.close(allowed)
            case [ast.If(body=[*_, ast.Raise()], orelse=[*_, ast.Raise()])]:
                self.is_closed = True
                return True
        return False

    def is_each(self, name: ast.Name) -> bool:
        """Whether a name is what a loop over them binds."""
        node: ast.AST | None = name
        while (node := self.above.get(node)) is not None:
            match node:
                case ast.For(target=ast.Name(id=one), iter=ast.Name(id=gone)) if one == name.id and gone == self.kwargs:
                    return True
        return False

    def give(self, method: str) -> bool:
        """`self.method(kwargs)`, which may look at each of them."""
        for one in self.order:
            if isinstance(one, Unseen):
                return False
            for item in one.node.body:
                if isinstance(item, ast.FunctionDef) and item.name == method and len(item.args.args) == 2:
                    names = Rest(self.walk, item, item.args.args[1].arg, self.order, self.place).names()
                    self.is_closed = self.is_closed or names is not None
                    self.found.extend(name for name in names or [] if name not in self.found)
                    return names is not None
        return False

    def close(self, allowed: ast.expr) -> bool:
        if isinstance(allowed, ast.Name):
            values = [item.value for item in ast.walk(self.node) if isinstance(item, ast.Assign)
                      and any(isinstance(one, ast.Name) and one.id == allowed.id for one in item.targets)]
            allowed = values[0] if len(values) == 1 else allowed
        if not isinstance(allowed, (ast.Set, ast.List, ast.Tuple)):
            return False
        self.is_closed = True
        return all([self.take([one]) for one in allowed.elts])

    def hand_on(self, call: ast.AST) -> bool:
        """`super().__init__(**kwargs)`, or that of a base by its name."""
        match call:
            case ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"), args=args))):
                own = self.order[self.place].name
                if args and self.walk.written(args[0]) != own:
                    return False
                names = _init(self.walk, self.order, self.place + 1)
            case ast.Call(func=ast.Attribute(attr="__init__", value=base)) if name := self.walk.written(base):
                other = self.walk.dotted(self.order[self.place].module, name)
                at = next((at for at, one in enumerate(self.order) if one is other), None)
                names = None if at is None else _init(self.walk, self.order, at)
            case _:
                return False
        if names is None:
            return False
        self.is_closed = True
        self.found.extend(name for name in names if name not in self.found)
        return True
