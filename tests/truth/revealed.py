"""Whether what a run saw of an expression lies within what `trainlint reveal` says of it."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports import Trainlint

DTYPES = {
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128",
}
# Where rounding may end up beyond an end that exact numbers do not pass.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Outside:
    """A value that lies outside of what was said: what about it, where, and both."""

    what: str
    line: str
    detail: str


@dataclass
class Said:
    """What `reveal` says of one value; what it leaves open is None."""

    kind: str
    dims: list[int | None] | None = None
    last: int | None = None
    dtypes: set[str] = field(default_factory=set)
    device: str | None = None
    grad: bool | None = None
    low: float = -math.inf
    high: float = math.inf
    nan: bool = True
    value: Any = None
    optional: bool = False
    cls: str = ""
    training: bool | None = None
    count: int | None = None
    frozen: str = ""


def said(words: str) -> Said | None:
    """Reads the words of `reveal`; None where nothing is claimed that a run could contradict."""
    text, optional = (words.removesuffix(" or None"), words.endswith(" or None"))
    if text.startswith("Tensor["):
        return _tensor(text, optional)
    if text in ("True", "False"):
        return Said("bool", value=text == "True", optional=optional)
    if text == "None":
        return Said("none")
    if text == "bool":
        return Said("bool", optional=optional)
    number = re.match(r"int(?: (-?\d+))?(?:$|,| )", text)
    if number:
        exact = re.match(r"int (-?\d+)(?:$|,)", text) and "counts" not in text
        return Said("int", value=int(number[1]) if exact and number[1] else None, optional=optional)
    number = re.match(r"float(?: (\S+?))?(?:$|,)", text)
    if number:
        return Said("float", value=float(number[1]) if number[1] else None, optional=optional)
    module = re.match(r"(\w+), (train|eval|mode \?)", text)
    if module:
        return _module(text, module)
    return None


def _module(text: str, module: re.Match) -> Said:
    rest = text[module.end():]
    words = [word.strip() for word in rest.split(",")]
    counts = re.search(r"(\d+) parameters?", rest)
    count = int(counts[1]) if counts else 0 if "no parameters" in rest else None
    frozen = next((word for word in words if word in ("frozen", "some frozen", "perhaps frozen")), "")
    device = next((word for word in words if word in ("cpu", "cuda")), None)
    dtypes = {word for word in words if word in DTYPES}
    training = {"train": True, "eval": False}.get(module[2])
    return Said("module", cls=module[1], training=training, count=count, frozen=frozen, device=device, dtypes=dtypes)


def _tensor(text: str, optional: bool) -> Said:
    end = text.index("]")
    dims, last = _shape(text[len("Tensor["):end])
    head, _, tail = text[end + 1:].partition(",")
    words = head.split()
    dtypes = {word.strip("()") for word in words if word.strip("()") in DTYPES}
    device = next((word for word in words if word in ("cpu", "cuda")), None)
    if re.search(r"(perhaps graph|graph \?)", tail):
        grad = None
    else:
        # A parameter's own graph is itself; where it is frozen it has none.
        grad = bool(re.search(r"(^| )graph of", tail)) if "parameter" not in tail.split(",")[0] else None
    said = Said("tensor", dims, last, dtypes, device, grad, optional=optional)
    if point := re.search(r"\ball (-?[\d.e+-]+|-?∞)", tail):
        said.low = said.high = _number(point[1])
        said.nan = False
    elif ends := re.search(r"in [\[(]~?(-?[\d.e+-]+|-?∞)(?: singly)?, ~?(-?[\d.e+-]+|-?∞)(?: singly)?[\])]", tail):
        said.low, said.high = _number(ends[1]), _number(ends[2])
        said.nan = False
    return said


def _shape(text: str) -> tuple[list[int | None] | None, int | None]:
    sizes = [int(size) if re.fullmatch(r"\d+", size.strip()) else None for size in text.split(",")] if text else []
    if text.startswith(".."):
        return None, sizes[-1] if len(sizes) > 1 else None
    return sizes, None


def _number(text: str) -> float:
    return float(text.replace("∞", "inf"))


def differences(claim: Said, kind: dict, cuda: bool) -> list[str]:
    """In what an observation lies outside of a claim."""
    observed = kind["kind"]
    if observed == "none":
        return [] if claim.kind == "none" or claim.optional else ["type"]
    if claim.kind != observed:
        # Python's numbers count as each other where one is expected.
        numbers = {"int", "float", "bool"}
        return [] if {claim.kind, observed} <= numbers and claim.value is None else ["type"]
    if observed == "tensor":
        return _tensor_differences(claim, kind, cuda)
    if observed == "module":
        return _module_differences(claim, kind, cuda)
    if claim.value is not None and kind["value"] != claim.value:
        return ["value"]
    return []


def _tensor_differences(claim: Said, kind: dict, cuda: bool) -> list[str]:
    found = []
    shape = kind["shape"]
    if claim.dims is not None:
        if len(claim.dims) != len(shape) or any(a is not None and a != b for a, b in zip(claim.dims, shape)):
            found.append("shape")
    elif claim.last is not None and (not shape or shape[-1] != claim.last):
        found.append("shape")
    if claim.dtypes and kind["dtype"] not in claim.dtypes:
        found.append("dtype")
    # Scripts that ask for a GPU are rehearsed on a machine that has one.
    if claim.device and claim.device != kind["device"] and (cuda or claim.device == "cpu"):
        found.append("device")
    if claim.grad is not None and claim.grad != kind["grad"]:
        found.append("grad")
    if "low" in kind:
        slack = TOLERANCE * max(1.0, *(abs(end) for end in (claim.low, claim.high) if math.isfinite(end)), 0)
        if kind["low"] < claim.low - slack or kind["high"] > claim.high + slack:
            found.append("range")
    if kind.get("nan") and not claim.nan:
        found.append("range (NaN)")
    return found


def _module_differences(claim: Said, kind: dict, cuda: bool) -> list[str]:
    if claim.cls != kind["class"]:
        return []
    found = []
    if claim.training is not None and claim.training != kind["training"]:
        found.append("mode")
    if claim.count is not None and claim.count != kind["count"]:
        found.append("count")
    if claim.dtypes and kind["dtype"] and not claim.dtypes & set(kind["dtype"]):
        found.append("module dtype")
    if cuda and claim.device and kind["device"] and [claim.device] != list(kind["device"]):
        found.append("module device")
    states = list(kind["frozen"])
    if states and claim.frozen != "perhaps frozen":
        expected = {"frozen": [True], "some frozen": [False, True], "": [False]}[claim.frozen]
        if states != expected:
            found.append("frozen")
    return found


def outside(trainlint: Trainlint, script: Path, seen: dict, cuda: bool) -> list[Outside]:
    """All values of a run that lie outside; `seen["compared"]` counts those that were compared."""
    lines: dict[tuple[str, int], list[dict]] = defaultdict(list)
    for value in seen["values"]:
        lines[value["file"], value["line"]].append(value)
    found: list[Outside] = []
    compared = 0
    for (file, line), values in sorted(lines.items()):
        told = trainlint.reveal(script, file, line)
        # What holds of a function that nobody calls need not hold where another file calls it.
        if any(way["uncalled"] for way in told["ways"]):
            continue
        ways = told["ways"]
        if not ways:
            if told.get("version"):
                found.append(Outside("unreached", f"{file}:{line}", told.get("unreached") or told.get("why") or ""))
            continue
        for value in values:
            claims = _claims(ways, value)
            if not claims or any(claim is None for claim in claims):
                continue
            compared += 1
            found += _strays(value, [claim for claim in claims if claim is not None], f"{file}:{line}", cuda, _words(ways, value))
    seen["compared"] = compared
    return found


def _matching(ways: list[dict], value: dict) -> list[str]:
    found = []
    for way in ways:
        for one in way["values"]:
            same = one["expression"] == value["text"] or one["expression"].endswith("…") and value["text"].startswith(one["expression"][:-1])
            if same and one["column"] == value["column"] and one["bound"] == value["bound"]:
                found.append(one["value"])
    return found


def _claims(ways: list[dict], value: dict) -> list[Said | None]:
    return [said(words) for words in _matching(ways, value)]


def _words(ways: list[dict], value: dict) -> str:
    return " | ".join(dict.fromkeys(_matching(ways, value)))


def _strays(value: dict, claims: list[Said], line: str, cuda: bool, words: str) -> list[Outside]:
    found = []
    for kind in value["kinds"]:
        several = [differences(claim, kind, cuda) for claim in claims]
        if any(not one for one in several):
            continue
        nearest = min(several, key=len)
        # Of a loop's passes `reveal` tells the last one.
        when = "" if kind["last"] == value["times"] else " before the last round"
        seen = {key: part for key, part in kind.items() if key != "last"}
        for what in nearest:
            found.append(Outside(what + when, line, f"`{value['text']}` is said to be `{words}`, was {seen}"))
    return found
