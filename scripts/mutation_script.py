"""A parsed script that knows where its nodes stand in its bytes, and the questions that operators ask of nodes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Iterator


@dataclass(frozen=True)
class Edit:
    """Bytes from `start` to `end` are replaced."""

    start: int
    end: int
    text: str


Mutants = Iterator[tuple[int, list[Edit]]]


class Script:
    """A parsed file whose nodes know where they are in its bytes, and what they are in."""

    def __init__(self, text: str):
        self.bytes = text.encode()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def text(self) -> str:
        return self.bytes.decode()

    def start(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, node: ast.AST) -> str:
        return self.bytes[self.start(node) : self.end(node)].decode()

    def applied(self, edits: list[Edit]) -> str:
        out = self.bytes
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            out = out[: edit.start] + edit.text.encode() + out[edit.end :]
        return out.decode()

    def walk(self, *kinds: type) -> Iterator:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        """The function that a node is in, or the module."""
        return next((one for one in self.above(node) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))), self.tree)

    def loop(self, node: ast.AST) -> ast.AST | None:
        """The innermost loop around a node in its function."""
        for one in self.above(node):
            if isinstance(one, (ast.For, ast.While)):
                return one
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return None
        return None

    def is_left_before(self, line: int) -> bool:
        """Whether the script itself ends before a line, which no run comes to."""
        blocks = [self.tree.body, *(one.body for one in self.tree.body if isinstance(one, ast.If))]
        ends = [one for block in blocks for one in block if isinstance(one, ast.Expr) and called(one.value, "exit", "quit")]
        return any(end.lineno < line and any(line <= one.end_lineno for one in self.block(end)) for end in ends)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which a statement stands."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            if statement in (getattr(parent, name, None) or []):
                return getattr(parent, name)
        return [statement]

    # Edits

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def drop(self, statement: ast.stmt) -> Edit:
        return self.replace(statement, "pass")

    def margin(self, statement: ast.stmt) -> str:
        """What a line of its own begins with beside a statement: blanks as the file has them, tabs too."""
        line = self.bytes[: self.start(statement)].rpartition(b"\n")[2].decode()
        return line[: len(line) - len(line.lstrip())]

    def put_before(self, target: ast.stmt, statement: ast.stmt) -> Edit:
        margin = self.margin(target)
        return Edit(self.start(target), self.start(target), f"{self.source(statement)}\n{margin}")

    def put_after(self, target: ast.stmt, statement: ast.stmt) -> Edit:
        margin = self.margin(target)
        return Edit(self.end(target), self.end(target), f"\n{margin}{self.source(statement)}")


# What nodes are


def called(node: ast.AST, *names: str) -> bool:
    """Whether a node calls something of one of these last names."""
    return isinstance(node, ast.Call) and last_name(node.func) in names


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def receiver(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def method_statements(script: Script, name: str) -> list[tuple[ast.Expr, ast.Call]]:
    """Statements that are nothing but a call of a method of this name."""
    found = [node for node in script.walk(ast.Expr) if called(node.value, name) and isinstance(node.value.func, ast.Attribute)]
    return [(node, node.value) for node in sorted(found, key=lambda node: node.lineno)]


def inside(outer: ast.AST, *names: str) -> list[ast.Call]:
    return [node for node in ast.walk(outer) if called(node, *names)]


def optimizer_steps(script: Script, within: ast.AST) -> list[ast.Call]:
    """Calls of `step` on what the script clears or builds as an optimizer."""
    names = {receiver(call) for _, call in method_statements(script, "zero_grad")}
    return [call for call in inside(within, "step") if receiver(call) in names or "opt" in receiver(call).lower()]


def scheduler_statements(script: Script) -> list[ast.Expr]:
    return [node for node, call in method_statements(script, "step") if re.search(r"sched|lr_", receiver(call), re.I)]


def moves(node: ast.AST) -> bool:
    """`x.to(device)` or `x.cuda()` of a plain name."""
    if not (called(node, "to", "cuda") and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)):
        return False
    return called(node, "cuda") or (bool(node.args) and "device" in ast.unparse(node.args[0]).lower())
