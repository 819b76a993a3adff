"""Makes a script smaller as long as it shows the same: statements go, and compound statements give way to their bodies."""

from __future__ import annotations

import ast
import copy
import time
from typing import Callable, Iterator

Files = dict[str, str]


def shrunk(files: Files, shows: Callable[[Files], bool], seconds: float = 60) -> Files:
    """The smallest script on the way down; it shows what the first one does."""
    until = time.monotonic() + seconds
    now = {name: _normal(text) for name, text in files.items()}
    if not shows(now):
        return files
    tried: set[str] = set()
    while time.monotonic() < until:
        for smaller in _smaller(now):
            key = repr(sorted(smaller.items()))
            if key in tried:
                continue
            tried.add(key)
            if shows(smaller):
                now = smaller
                break
            if time.monotonic() > until:
                break
        else:
            break
    return _merged(now, shows)


def _merged(files: Files, shows: Callable[[Files], bool]) -> Files:
    """Without files that are no longer needed."""
    for name in [name for name in files if name != "train.py"]:
        rest = {other: text for other, text in files.items() if other != name}
        if shows(rest):
            files = rest
    return files


def _normal(text: str) -> str:
    return ast.unparse(ast.parse(text)) + "\n"


def _smaller(files: Files) -> Iterator[Files]:
    """Candidates, those that save most first."""
    for name in sorted(files, key=lambda one: -len(files[one])):
        tree = ast.parse(files[name])
        places = list(_places(tree))
        changes = [(index, how) for index in range(len(places)) for how in ("drop", "unwrap")]
        weight = {index: len(ast.unparse(places[index][0][places[index][1]])) for index in range(len(places))}
        for index, how in sorted(changes, key=lambda change: -weight[change[0]] if change[1] == "drop" else 0):
            changed = _changed(tree, index, how)
            if changed is not None:
                yield {**files, name: changed}
        for changed in _expressions(tree):
            yield {**files, name: changed}


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every statement, as its block and its index in it."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for index, statement in enumerate(block):
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


def _expressions(tree: ast.Module) -> Iterator[str]:
    """Arguments that go, and calls that give way to what they are called on."""
    calls = [node for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.BinOp, ast.IfExp))]
    for number in range(len(calls)):
        for how in range(6):
            changed = copy.deepcopy(tree)
            node = [one for one in ast.walk(changed) if isinstance(one, (ast.Call, ast.BinOp, ast.IfExp))][number]
            if isinstance(node, ast.Call):
                if how < len(node.keywords):
                    del node.keywords[how]
                elif how - len(node.keywords) < len(node.args) and len(node.args) > 1:
                    del node.args[how - len(node.keywords)]
                elif how == 5 and isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
                    node = _replaced(changed, node, node.func.value)
                else:
                    continue
            elif how < 2:
                sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.body, node.orelse)
                _replaced(changed, node, sides[how])
            else:
                continue
            try:
                yield ast.unparse(ast.fix_missing_locations(changed)) + "\n"
            except (ValueError, AttributeError):
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
