#!/usr/bin/env python3
"""How many of the shape faults that people asked about does trainlint report at the right line?

    python3 scripts/shape_faults.py target/release/trainlint
    python3 scripts/shape_faults.py --run PYTHON

`tests/truth/shape_faults` has a script for each fault, written here in the style of the question or issue that its
first line names. `# dies` marks the line where the framework raises its error, `# here` the layer of a stack that does
not fit. What follows `# repaired:` replaces its line, or nothing does; on a line of its own it is a line that is added.

A fault is reported where a finding of `shape-mismatch`, or one about the same targets, is at one of these lines, or
names one of them as related. The repaired script has to be silent. The scripts are in two halves, by their names; the misses of the building half are
listed, of the other half there are sums only (`--list-held-out` spends it).

`--run` runs every script and its repair under the frameworks that PYTHON has, data sets being random
(`tests/truth/stand_ins.py`), and writes down what was raised: `tests/truth/shape_faults.tsv`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TRUTH = Path(__file__).resolve().parent.parent / "tests" / "truth"
SCRIPTS = TRUTH / "shape_faults"
SEEN = TRUTH / "shape_faults.tsv"
RULE = "shape-mismatch"
MARK = re.compile(r"\s*# (dies|here)\b")

#: Rules that say the same of targets in other words.
SAME = {RULE, "broadcast-loss", "label-encoding-mismatch", "wrong-target-dtype"}


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    faulty: str
    repaired: str
    dies: int
    lines: frozenset[int]  # where a finding counts

    @property
    def half(self) -> str:
        return "building" if hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0 else "held-out"


def case(path: Path) -> Case:
    faulty, repaired, lines, dies = [], [], set(), 0
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        before, _, repair = text.partition("# repaired:")
        line, marks = MARK.sub("", before).rstrip(), MARK.findall(before)
        alone = not line.strip() and "# repaired:" in text
        indentation = before[: len(before) - len(before.lstrip())]
        faulty.append("" if alone else line)
        if "# repaired:" not in text:
            repaired.append(line)
        elif repair.strip():
            repaired.append(indentation + repair.strip())
        if "dies" in marks:
            dies = number
        if marks or ("# repaired:" in text and not alone):
            lines.add(number)
    join = "\n".join
    return Case(path.stem, faulty[0].removeprefix("# "), join(faulty) + "\n", join(repaired) + "\n", dies, frozenset(lines))


def findings(binary: str, cases: list[Case], repaired: bool) -> dict[str, list[set[int]]]:
    """Of each script the lines of each finding about shapes."""
    with tempfile.TemporaryDirectory() as folder:
        for one in cases:
            (Path(folder) / f"{one.name}.py").write_text(one.repaired if repaired else one.faulty, encoding="utf-8")
        command = [binary, "check", "--output-format", "json", "--isolated", "--no-cache", "."]
        told = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout)
    found: dict[str, list[set[int]]] = {one.name: [] for one in cases}
    for finding in told["findings"]:
        if finding["rule"] in SAME:
            lines = {finding["line"], *(related["line"] for related in finding.get("related", []))}
            found[Path(finding["path"]).stem].append(lines)
    return found


def measure(binary: str, cases: list[Case], list_held_out: bool) -> int:
    seen, flagged = findings(binary, cases, repaired=False), findings(binary, cases, repaired=True)
    for half in ("building", "held-out"):
        ours = [one for one in cases if one.half == half]
        hits = [one for one in ours if any(lines & one.lines for lines in seen[one.name])]
        wrong = [one for one in ours if flagged[one.name]]
        print(f"{half}: {len(hits)} of {len(ours)} reported, {len(wrong)} repairs flagged")
        if half == "building" or list_held_out:
            for one in ours:
                if one not in hits:
                    print(f"  missed {one.name}:{one.dies}" + (f", found at {seen[one.name]}" if seen[one.name] else ""))
            for one in wrong:
                print(f"  flagged {one.name} at {flagged[one.name]}")
    return 0


def framework(text: str) -> str:
    return next(name for name in ("torch", "tensorflow", "numpy") if f"import {name}" in text or f"from {name}" in text)


def run(python: str, cases: list[Case], only: str) -> int:
    """Runs the scripts and their repairs, and writes down what was raised where the marks say so."""
    kept = dict(line.split("\t", 1) for line in SEEN.read_text(encoding="utf-8").splitlines()[1:]) if SEEN.exists() else {}
    chosen = {one.name: one for one in cases if re.search(only, one.name)}
    told: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("torch", "tensorflow", "numpy"):
            paths = []
            for one in (one for one in chosen.values() if framework(one.faulty) == name):
                for kind, text in (("faulty", one.faulty), ("repaired", one.repaired)):
                    path = Path(folder) / f"{one.name}.{kind}.py"
                    path.write_text(text, encoding="utf-8")
                    paths.append(str(path))
            if paths:
                command = [python, str(TRUTH / "stand_ins.py"), name, *paths]
                process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
                for answer in process.stdout:
                    path, line, said = answer.rstrip("\n").split("\t", 2)
                    told[Path(path).stem] = [line, said]
    bad = 0
    for one in chosen.values():
        (line, said), (after, other) = told.get(f"{one.name}.faulty", ["?", ""]), told.get(f"{one.name}.repaired", ["?", ""])
        if line == str(one.dies) and after == "0":
            kept[one.name] = f"{line}\t{said[:160]}"
            continue
        bad += 1
        kept.pop(one.name, None)
        print(f"{one.name}: dies at {line}, marked {one.dies}: {said}; repaired: {after} {other}")
    rows = ["name\tline\terror", *(f"{name}\t{row}" for name, row in sorted(kept.items()))]
    SEEN.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(chosen) - bad} of {len(chosen)} as marked")
    return int(bad > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="trainlint, or with --run a Python")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--only", default="", help="with --run, names that match this expression")
    parser.add_argument("--list-held-out", action="store_true")
    args = parser.parse_args()
    cases = [case(path) for path in sorted(SCRIPTS.glob("*.py"))]
    if args.run:
        return run(args.program, cases, args.only)
    return measure(os.path.abspath(args.program), cases, args.list_held_out)


if __name__ == "__main__":
    sys.exit(main())
