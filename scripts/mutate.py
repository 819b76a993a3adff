#!/usr/bin/env python3
"""Public training scripts that are right, broken on purpose: does trainlint say so, at the place?

    python3 scripts/mutate.py CHECKOUTS target/release/trainlint --half building --table mutants.tsv
    python3 scripts/mutate.py CHECKOUTS OLD NEW --operators clear_deleted,softmax_added

`tests/truth/originals.tsv` lists the scripts: repository, commit, the folder of it that is checked, and the file that is
broken. Nothing is fetched: CHECKOUTS is a folder with `OWNER+NAME` for each repository, as of that commit. Each operator
of `mutation_operators.py` breaks a script at up to `--places` places; every mutant is checked within a copy of its
folder. A notebook is broken as the script of its cells.

A mutant is caught where a finding of the operator's rules is new, and is in the function that was broken (in a script:
in the statement of the module), at most three lines from the place, or names a place there. It is caught elsewhere
where such a finding is new in other code: a softmax in a model is reported at the loss of another file. Notes and
findings of low confidence count only as `hidden`.

Repositories are in two halves by their names, as in `truth_reported.py`; misses are listed for the building half only.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from mutation_operators import OPERATORS
from mutation_script import Script
from truth_reported import lines_of, moved, span, touches

TABLE = Path(__file__).resolve().parent.parent / "tests" / "truth" / "originals.tsv"

#: Mutants that were read and found right, or outside of what the rule is about: they are left out.
EQUIVALENT = TABLE.with_name("equivalent_mutants.tsv")


@dataclass(frozen=True)
class Original:
    """A right script, in the folder that is checked with it."""

    repository: str
    commit: str
    root: str
    path: str

    @property
    def building(self) -> bool:
        return sum(map(ord, self.repository)) % 2 == 0


@dataclass(frozen=True)
class Mutant:
    """An original, broken by one operator at one line; `text` is what the file is then."""

    original: Original
    operator: str
    line: int
    text: str
    outcome: str = ""
    others: str = ""


def main() -> int:
    options = arguments()
    originals = [one for one in read(options.originals) if options.half in ("both", half(one))]
    there = [one for one in originals if (options.checkouts / one.repository.replace("/", "+") / one.root / one.path).is_file()]
    print(f"{len(originals)} scripts, {len(originals) - len(there)} not there", flush=True)
    for binary in options.binaries:
        with ThreadPoolExecutor(options.jobs) as pool:
            judged = [mutant for some in pool.map(lambda one: judge_all(options, binary, one), there) for mutant in some]
        print(f"\n# {binary}\n")
        report(options, judged)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUTS", type=Path, help="a folder with a folder for each repository")
    parser.add_argument("binaries", metavar="TRAINLINT", type=Path, nargs="+", help="builds of trainlint, each asked for itself")
    parser.add_argument("--originals", metavar="FILE", type=Path, default=TABLE, help="the scripts (default: tests/truth/originals.tsv)")
    parser.add_argument("--operators", metavar="NAMES", type=lambda text: text.split(","), default=[one.__name__ for one in OPERATORS], help="the operators to apply (default: all)")
    parser.add_argument("--half", choices=["building", "held-out", "both"], default="both", help="the repositories that are asked about (default: both)")
    parser.add_argument("--places", metavar="N", type=int, default=2, help="places of a script that an operator breaks, each in a mutant of its own (default: 2)")
    parser.add_argument("--table", metavar="FILE", type=Path, help="write a line of tab-separated results for each mutant of the building half")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="write the mutants of the building half that were missed into this folder")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="scripts that are checked at once (default: 1)")
    options = parser.parse_args()
    options.binaries = [binary.resolve() for binary in options.binaries]
    return options


def read(path: Path) -> list[Original]:
    with open(path, encoding="utf-8", newline="") as file:
        return [Original(one["repository"], one["commit"], one["root"], one["path"]) for one in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def half(original: Original) -> str:
    return "building" if original.building else "held-out"


# One script


def judge_all(options: argparse.Namespace, binary: Path, original: Original) -> list[Mutant]:
    """Every mutant of a script, judged; the first is the script itself, for its own findings."""
    source = options.checkouts / original.repository.replace("/", "+") / original.root
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "tree"
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "*.ipynb"), symlinks=True)
        original = as_script(original, source, folder)
        place, out = folder / original.path, []
        right = check(binary, folder)
        before = place.read_text(encoding="utf-8")
        for mutant in mutants(options, original, before):
            place.write_text(mutant.text, encoding="utf-8")
            out.append(judge(mutant, place, before.splitlines(), right, check(binary, folder)))
    noise = [one for one in right if shown(one) and one["path"] == original.path]
    listed = "; ".join(sorted(f"{one['line']}: {one['rule']}" for one in noise))
    return [Mutant(original, "original", 0, before, "noisy" if noise else "silent", listed), *out]


def as_script(original: Original, source: Path, folder: Path) -> Original:
    """A notebook is broken as the script of its cells, which is written beside it."""
    if not original.path.endswith(".ipynb"):
        return original
    cells = json.loads((source / original.path).read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    script = replace(original, path=original.path.removesuffix(".ipynb") + ".py")
    (folder / script.path).write_text("\n".join(re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in lines) + "\n", encoding="utf-8")
    return script


def mutants(options: argparse.Namespace, original: Original, text: str) -> list[Mutant]:
    script, out = Script(text), []
    for operator in OPERATORS:
        if operator.__name__ in options.operators:
            places = sorted(operator(script), key=lambda place: place[0])
            out += [Mutant(original, operator.__name__, line, script.applied(edits)) for line, edits in places[: options.places]]
    out = [one for one in out if not script.is_left_before(one.line)]
    known = equivalent()
    return [one for one in out if (original.repository, original.root, original.path, one.operator, str(one.line)) not in known]


def equivalent() -> set[tuple[str, ...]]:
    with open(EQUIVALENT, encoding="utf-8", newline="") as file:
        return {(one["repository"], one["root"], one["path"], one["operator"], one["line"]) for one in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def check(binary: Path, folder: Path) -> list[dict]:
    command = [binary, "check", "--isolated", "--no-cache", "--no-progress", "--pedantic", "--threads", "1", "--output-format", "json", "."]
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=600)
    return json.loads(ran.stdout)["findings"]


def judge(mutant: Mutant, place: Path, before: list[str], right: list[dict], wrong: list[dict]) -> Mutant:
    """What is new in the mutant, and whether it is about what was broken."""
    after, path = lines_of(place), mutant.original.path
    known = {(one["path"], one["rule"], moved(before, after, one["line"]) if one["path"] == path else one["line"]) for one in right}
    new = [one for one in wrong if (one["path"], one["rule"], one["line"]) not in known]
    rules = next(rules for operator, rules in OPERATORS.items() if operator.__name__ == mutant.operator)
    expected = [one for one in new if one["rule"] in rules]
    near = span(after, min(moved(before, after, mutant.line) or mutant.line, len(after)))
    here = [one for one in expected if touches(path, near, one)]
    outcome = "miss"
    for name, found in (("hidden", expected), ("elsewhere", [*filter(shown, expected)]), ("caught", [*filter(shown, here)])):
        outcome = name if found else outcome
    others = sorted({f"{one['line']}: {one['rule']}" for one in new if one["rule"] not in rules and shown(one)})
    return replace(mutant, outcome=outcome, others="; ".join(others))


def shown(finding: dict) -> bool:
    return finding["confidence"] != "low" and finding["severity"] != "note"


# What is said of all


def report(options: argparse.Namespace, judged: list[Mutant]) -> None:
    broken = [one for one in judged if one.operator != "original"]
    print("misses of the building half, with what else is new\n")
    for one in sorted(broken, key=lambda one: (one.operator, one.original.repository, one.line)):
        if one.original.building and one.outcome in ("miss", "hidden"):
            print(f"{one.outcome:7} {one.operator:24} {one.original.repository}/{one.original.root}/{one.original.path}:{one.line}  {one.others}".replace("/./", "/"))
    print("\noperator, then of each half: mutants, caught at the place, elsewhere, hidden, missed, share caught or elsewhere\n")
    for name in options.operators:
        print(f"{name:24}", *(figures([one for one in broken if one.operator == name and half(one.original) == part]) for part in ("building", "held-out")), sep=" | ")
    print(f"{'all':24}", *(figures([one for one in broken if half(one.original) == part]) for part in ("building", "held-out")), sep=" | ")
    for part in ("building", "held-out"):
        originals = [one for one in judged if one.operator == "original" and half(one.original) == part]
        noisy = [one for one in originals if one.outcome == "noisy"]
        print(f"originals of the {part} half: {len(originals)}, with findings of their own: {len(noisy)}")
        if part == "building":
            print("".join(f"  {one.original.repository}/{one.original.path}: {one.others}\n" for one in noisy), end="")
    write(options, broken)


def figures(mutants: list[Mutant]) -> str:
    count: dict[str, int] = defaultdict(int)
    for one in mutants:
        count[one.outcome] += 1
    share = (count["caught"] + count["elsewhere"]) / len(mutants) if mutants else 0
    return f"{len(mutants):4} {count['caught']:4} {count['elsewhere']:4} {count['hidden']:4} {count['miss']:4} {share:5.0%}"


def write(options: argparse.Namespace, broken: list[Mutant]) -> None:
    building = [one for one in broken if one.original.building]
    if options.table:
        rows = ("\t".join([one.outcome, one.operator, one.original.repository, one.original.root, one.original.path, str(one.line), one.others]) for one in building)
        options.table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        for one in building:
            if one.outcome in ("miss", "hidden"):
                name = f"{one.operator}-{one.original.repository.replace('/', '+')}-{Path(one.original.path).stem}-{one.line}.py"
                (options.keep / name).write_text(one.text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
