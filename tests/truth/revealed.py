"""Whether what a run saw of an expression lies within what `trainlint reveal` says of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports import Trainlint


@dataclass(frozen=True)
class Outside:
    what: str
    line: str
    detail: str


def outside(trainlint: Trainlint, script: Path, seen: dict, cuda: bool) -> list[Outside]:
    return []
