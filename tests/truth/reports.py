"""What trainlint says of a script."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    rule: str
    lines: tuple[str, ...]  # the finding's own, and then the related ones
    message: str
    confidence: str
    severity: str

    @property
    def line(self) -> str:
        return self.lines[0]


@dataclass(frozen=True)
class Report:
    findings: tuple[Finding, ...]
    not_judged: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Trainlint:
    binary: str
    pedantic: bool = True

    def check(self, script: Path) -> Report:
        # All that it says, notes and guesses too: whoever compares decides what counts.
        command = [self.binary, "check", "--output-format", "json", "--isolated", "--no-cache", "--threads", "1", *(["--pedantic"] if self.pedantic else []), "."]
        done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=60)
        if done.returncode > 1:
            raise RuntimeError(f"{script}: {done.stderr}")
        told = json.loads(done.stdout)
        unjudged = tuple((f"{_file(one['path'])}:{one['line']}", one["message"]) for one in told["coverage"]["by_contract"] + told["coverage"]["not_judged"])
        return Report(tuple(_finding(one) for one in told["findings"]), unjudged)

    def reveal(self, script: Path, file: str, line: int) -> dict:
        command = [self.binary, "reveal", "--output-format", "json", "--isolated", f"{file}:{line}"]
        done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {"ways": []}


def _file(path: str) -> str:
    return path.removeprefix("./")


def _finding(one: dict) -> Finding:
    lines = [f"{_file(place['path'])}:{place['line']}" for place in (one, *one["related"])]
    return Finding(one["rule"], tuple(lines), one["message"], one["confidence"], one["severity"])
