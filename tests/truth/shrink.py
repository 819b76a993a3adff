"""Makes a script smaller as long as it shows the same: statements go, and compound statements give way to their bodies."""

from __future__ import annotations

import ast
import builtins
import copy
import time
from typing import Callable, Iterator

Files = dict[str, str]
REDUCIBLE = (ast.Call, ast.BinOp, ast.IfExp)


def shrunk(files: Files, shows: Callable[[Files], bool], seconds: float = 60) -> Files:
    """The smallest script on the way down; it shows what the first one does."""
    until = time.monotonic() + seconds
    now = {name: _normal(text) for name, text in files.items()}
    if not shows(now):
        return files
    before: Files = {}
    while now != before and time.monotonic() < until:
        before = now
        for name in sorted(now, key=lambda one: -len(now[one])):
            for candidates in (_without_statements, _simplified):
                now = _pass(now, name, shows, until, candidates)
    return _merged(now, shows)


def _pass(files: Files, name: str, shows: Callable[[Files], bool], until: float, candidates: Callable[[str, int], list[str] | None]) -> Files:
    """Tries every change of one file once, from its end to its start, and keeps those after which it still shows."""
    number = 0
    while time.monotonic() < until:
        several = candidates(files[name], number)
        if several is None:
            return files
        for text in several:
            if text != files[name] and is_bound({**files, name: text}) and shows({**files, name: text}):
                files = {**files, name: text}
                break
        else:
            number += 1
    return files


def is_bound(files: Files) -> bool:
    """Whether every name that is read is bound somewhere, so that a run is worth its time."""
    bound, read = set(dir(builtins)) | {"__file__", "__name__"}, set()
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).split(".")[0])
    return read <= bound


def _without_statements(text: str, number: int) -> list[str] | None:
    """The script without the statement that is so far from its end, or with its body instead."""
    tree = ast.parse(text)
    places = list(_places(tree))
    if number >= len(places):
        return None
    # Outer statements come first, so that much goes at once.
    changes = [_changed(tree, number, how) for how in ("drop", "unwrap")]
    return [one for one in changes if one is not None]


def _simplified(text: str, number: int) -> list[str] | None:
    tree = ast.parse(text)
    count = sum(isinstance(node, REDUCIBLE) for node in ast.walk(tree))
    return None if number >= count else list(_expressions(tree, number))


def _merged(files: Files, shows: Callable[[Files], bool]) -> Files:
    """Without files that are no longer needed."""
    for name in [name for name in files if name != "train.py"]:
        rest = {other: text for other, text in files.items() if other != name}
        if shows(rest):
            files = rest
    return files


def _normal(text: str) -> str:
    return ast.unparse(ast.parse(text)) + "\n"


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every statement, as its block and its index in it: the outer ones first, and of a block the last."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for index, statement in reversed(list(enumerate(block))):
                    if isinstance(statement, ast.stmt):
                        yield block, index


def _changed(tree: ast.Module, number: int, how: str) -> str | None:
    tree = copy.deepcopy(tree)
    block, index = list(_places(tree))[number]
    statement = block[index]
    if how == "drop":
        if isinstance(statement, ast.Pass) and len(block) == 1:
            return None
        del block[index]
        if not block:
            block.append(ast.Pass())
    else:
        body = getattr(statement, "body", None)
        if not isinstance(body, list) or isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            return None
        block[index:index + 1] = body
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "script", "exec")
    except (SyntaxError, ValueError):
        return None
    return text


def _expressions(tree: ast.Module, number: int) -> Iterator[str]:
    """Arguments that go, and calls and operations that give way to a part of them."""
    for how in range(6):
        changed = copy.deepcopy(tree)
        node = [one for one in ast.walk(changed) if isinstance(one, REDUCIBLE)][number]
        if isinstance(node, ast.Call):
            if how < len(node.keywords):
                del node.keywords[how]
            elif how - len(node.keywords) < len(node.args) and len(node.args) > 1:
                del node.args[how - len(node.keywords)]
            elif how == 5 and len(node.args) == 1 and not node.keywords:
                _replaced(changed, node, node.args[0])
            else:
                continue
        elif how < 2:
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.body, node.orelse)
            _replaced(changed, node, sides[how])
        else:
            continue
        try:
            text = ast.unparse(ast.fix_missing_locations(changed)) + "\n"
            compile(text, "script", "exec")
            yield text
        except (ValueError, AttributeError, SyntaxError):
            continue


def _replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else super().generic_visit(node)

    return Replace().visit(tree)


def shape(files: Files) -> str:
    """The script without its names and numbers: what scripts with the same cause have in common."""
    class Plain(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            return ast.Constant(0)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Name("n", node.ctx)

    return "\n".join(ast.dump(Plain().visit(ast.parse(text))) for _, text in sorted(files.items()))
