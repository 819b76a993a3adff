"""The values of a script's expressions: each is handed through a function that notes what it is.

The script is compiled with calls of that function around names, attributes, calls, subscripts and operations, and
after each binding. What is noted is what `trainlint reveal` says of the same expression.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

NOTE = "__noted__"
# Different values that are kept of one expression.
MOST_KINDS = 24
TELLING = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.IfExp)


@dataclass
class Seen:
    """One expression, and what it was in the run, in order of first appearance."""

    file: str
    line: int
    column: int
    text: str
    bound: bool
    kinds: list[dict] = field(default_factory=list)
    index: dict[tuple, dict] = field(default_factory=dict)
    times: int = 0


class Values:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen: list[Seen] = []
        setattr(builtins, NOTE, self.note)

    def compiled(self, path: str) -> Any:
        with open(path) as file:
            return self.transformed(file.read(), path)

    def transformed(self, text: str, path: str) -> Any:
        tree = ast.parse(text, path)
        name = os.path.realpath(path)[len(self.folder):]
        tree = _Noting(self.seen, text, name).visit(tree)
        return compile(ast.fix_missing_locations(tree), path, "exec")

    def import_hook(self) -> None:
        """Files of the script that it imports are compiled in the same way."""
        sys.dont_write_bytecode = True
        original = importlib.machinery.SourceFileLoader.source_to_code

        def source_to_code(loader: Any, data: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
            if os.path.realpath(path).startswith(self.folder) and isinstance(data, bytes):
                return self.transformed(data.decode(), path)
            return original(loader, data, path, *args, **kwargs)

        importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]

    def note(self, number: int, value: Any) -> Any:
        seen = self.seen[number]
        seen.times += 1
        try:
            key = kind_of(value)
        except AttributeError:  # a module whose constructor is still at work
            return value
        if key is None:
            return value
        kind = seen.index.get(key)
        if kind is None:
            if len(seen.kinds) >= MOST_KINDS:
                return value
            kind = dict(zip(("kind", *FIELDS[key[0]]), key))
            seen.index[key] = kind
            seen.kinds.append(kind)
        kind["last"] = seen.times
        if isinstance(value, torch.Tensor):
            widen(kind, value)
        return value

    def told(self) -> list[dict]:
        return [
            {"file": one.file, "line": one.line, "column": one.column, "text": one.text, "bound": one.bound,
             "times": one.times, "kinds": one.kinds}
            for one in self.seen if one.kinds
        ]


FIELDS = {
    "tensor": ("shape", "dtype", "device", "grad", "parameter"),
    "module": ("class", "training", "device", "dtype", "count", "frozen"),
    "optimizer": ("class",),
    "int": ("value",), "float": ("value",), "bool": ("value",), "str": ("value",), "none": (),
}


def kind_of(value: Any) -> tuple | None:
    """What is told apart of a value; nothing of values that nobody asks about."""
    if isinstance(value, torch.Tensor):
        dtype, device = str(value.dtype).removeprefix("torch."), value.device.type
        if torch.nn.parameter.is_lazy(value):
            return None
        return ("tensor", tuple(value.shape), dtype, device, value.requires_grad, isinstance(value, nn.Parameter))
    if isinstance(value, nn.Module):
        parameters = [p for p in value.parameters() if not torch.nn.parameter.is_lazy(p)]
        devices = tuple(sorted({p.device.type for p in parameters}))
        dtypes = tuple(sorted({str(p.dtype).removeprefix("torch.") for p in parameters}))
        frozen = tuple(sorted({not p.requires_grad for p in parameters}))
        return ("module", type(value).__name__, value.training, devices, dtypes, sum(p.numel() for p in parameters), frozen)
    if isinstance(value, torch.optim.Optimizer):
        return ("optimizer", type(value).__name__)
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
        if type(value) is kind:
            return (name, value)
    return ("none",) if value is None else None


def widen(kind: dict, tensor: torch.Tensor) -> None:
    """The least and the greatest number that were seen; those that are none are counted apart."""
    if not tensor.numel() or tensor.dtype.is_complex or tensor.layout is not torch.strided:
        return
    numbers = tensor.detach()
    with torch.no_grad():
        nan = bool(torch.isnan(numbers).any()) if numbers.is_floating_point() else False
        if nan:
            kind["nan"] = True
            numbers = numbers[~torch.isnan(numbers)]
            if not numbers.numel():
                return
        low, high = float(numbers.min()), float(numbers.max())
    kind["low"], kind["high"] = min(low, kind.get("low", low)), max(high, kind.get("high", high))


class _Noting(ast.NodeTransformer):
    def __init__(self, seen: list[Seen], text: str, file: str) -> None:
        self.seen, self.text, self.file = seen, text, file

    def _noted(self, node: ast.expr, value: ast.expr, bound: bool) -> ast.expr:
        source = ast.get_source_segment(self.text, node) or ""
        self.seen.append(Seen(self.file, node.lineno, node.col_offset + 1, source, bound))
        arguments: list[ast.expr] = [ast.Constant(len(self.seen) - 1), value]
        return ast.copy_location(ast.Call(ast.Name(NOTE, ast.Load()), arguments, []), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        whole = isinstance(node, TELLING) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.Call):
            # What is called is no value of its own; its receiver is.
            if not isinstance(node.func, ast.Name):
                node.func = super().generic_visit(node.func)  # type: ignore[assignment]
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
        else:
            node = super().generic_visit(node)
        return self._noted(node, node, False) if whole and isinstance(node, ast.expr) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node  # places in them are not told

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node  # annotations are not evaluated for their value

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._block(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = self._block(node.body)
        return node

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        return node

    visit_ImportFrom = visit_Global = visit_Nonlocal = visit_Import  # type: ignore[assignment]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return [node, *self._bindings(node.target)] if node.value is not None else node

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        return [node, *(one for target in node.targets for one in self._bindings(target))]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        node.value = self.visit(node.value)
        return [node, *self._bindings(node.target)]

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.body = [*self._bindings(node.target), *self._block(node.body)]
        node.orelse = self._block(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.ifs = [self.visit(one) for one in node.ifs]
        return node

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            done = self.visit(statement)
            out.extend(done if isinstance(done, list) else [done])
        return out

    def _bindings(self, target: ast.expr) -> list[ast.stmt]:
        """Statements that note what a target was given."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return [one for part in target.elts for one in self._bindings(part)]
        if isinstance(target, ast.Starred):
            return []
        if not isinstance(target, (ast.Name, ast.Attribute)):
            return []
        source = ast.get_source_segment(self.text, target) or ""
        again = ast.parse(source, mode="eval").body
        ast.increment_lineno(again, target.lineno - 1)
        return [ast.copy_location(ast.Expr(self._noted(target, again, True)), target)]
