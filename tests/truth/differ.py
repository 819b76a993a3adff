"""Runs trainlint and the oracle on random scripts, and says where they disagree.

    python differ.py --binary target/quick/trainlint --seeds 0:1000 [--holes FOLDER] [--reveal]

Findings that a run contradicts are `false`, facts of which trainlint says nothing are `missed`, and values that lie
outside of what `trainlint reveal` says are `unsound`. One script of each kind is made as small as it goes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Iterator

from agreement import Comparison, compare
from generate import generate
from reports import Trainlint
from revealed import Outside, outside
from runs import watched
from shrink import Files, shape, shrunk


@dataclass
class Round:
    """What came of many scripts."""

    scripts: int = 0
    ended: int = 0
    agreed: Counter[str] = field(default_factory=Counter)
    cases: dict[tuple[str, str], list[dict]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    found_at: list[tuple[int, str]] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Cases of a kind that have no excuse; of values, those that the last round of a loop had."""
        return sum(
            not case["excuse"] for (one, rule), cases in self.cases.items()
            if one == kind and "before the last round" not in rule for case in cases
        )

    @property
    def reported(self) -> float:
        """Percent of the facts that trainlint reports, without those of steps that it says it has not judged."""
        agreed = sum(self.agreed.values())
        return 100 * agreed / max(1, agreed + self.count("missed"))

    def add(self, kind: str, rule: str, case: dict) -> None:
        if not self.cases[kind, rule]:
            self.found_at.append((self.scripts, f"{kind} {rule}"))
        self.cases[kind, rule].append(case)


class Differ:
    def __init__(self, trainlint: Trainlint, reveal: bool, cuda: bool) -> None:
        self.trainlint, self.reveal, self.cuda = trainlint, reveal, cuda

    def compared(self, files: Files, values: bool) -> tuple[Comparison, list[Outside], dict]:
        with tempfile.TemporaryDirectory(prefix="truth") as folder:
            script = written(files, Path(folder) / "s")
            seen = watched(script, values=values, cuda=self.cuda)
            report = self.trainlint.check(script)
            strays = outside(self.trainlint, script, seen, self.cuda) if values else []
        return compare(report, seen), strays, seen

    def shows(self, files: Files, kind: str, rule: str, case: dict) -> bool:
        """Whether a script still has a disagreement, does as much as it did, and shows nothing new beside it."""
        try:
            comparison, strays, seen = self.compared(files, kind == "unsound")
        except (RuntimeError, SyntaxError):
            return False
        if bool(seen["error"]) != case["failed"] or seen.get("lost") or not does(seen) >= set(case["does"]):
            return False
        if kind != "unsound" and not {fact["fact"] for fact in seen["facts"]} <= set(case["facts"]):
            return False
        if kind == "unsound":
            return any(one.what == rule for one in strays)
        return any(one.signature == (kind, rule) and not one.excuse for one in comparison.disagreements)

    def smallest(self, case: dict, kind: str, rule: str, seconds: float) -> Files:
        return shrunk(case["files"], lambda files: self.shows(files, kind, rule, case), seconds)

    def round(self, seeds: range, progress: bool) -> Round:
        result = Round()
        started = time.monotonic()
        for seed in seeds:
            program = generate(seed)
            result.scripts += 1
            try:
                comparison, strays, seen = self.compared(program.files, self.reveal)
            except RuntimeError as error:
                result.add("crash", "trainlint", {"seed": seed, "files": program.files, "detail": str(error)[:300], "line": "", "failed": False, "does": [], "facts": [], "excuse": ""})
                continue
            if seen.get("lost"):
                result.errors["lost: " + seen["error"][:100]] += 1
                continue
            result.ended += not seen["error"]
            result.compared += seen.get("compared", 0)
            if seen["error"]:
                result.errors[seen["error"].split("\n")[0][:100]] += 1
            for rule, _ in comparison.agreed:
                result.agreed[rule] += 1
            base = {"seed": seed, "files": program.files, "planted": program.planted, "failed": bool(seen["error"]),
                    "does": sorted(does(seen)), "facts": [fact["fact"] for fact in seen["facts"]]}
            for one in comparison.disagreements:
                result.add(one.kind, one.rule, {**base, "line": one.line, "detail": one.detail, "excuse": one.excuse})
            for stray in strays:
                result.add("unsound", stray.what, {**base, "line": stray.line, "detail": stray.detail, "excuse": ""})
            if progress and result.scripts % 50 == 0:
                print(f"{result.scripts} scripts, {time.monotonic() - started:.0f} s, {sum(result.agreed.values())} agreed", file=sys.stderr)
        return result


def does(seen: dict) -> set[str]:
    """What a run got to, which a smaller script has to get to as well."""
    return {what for what in ("steps", "backwards") if seen[what] > 1}


def written(files: Files, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / "train.py"


def table(result: Round) -> str:
    missed = result.count("missed")
    excused = sum(bool(case["excuse"]) for (kind, _), cases in result.cases.items() if kind == "missed" for case in cases)
    agreed = sum(result.agreed.values())
    lines = [
        f"{result.scripts} scripts, {result.ended} without an error; {agreed} facts reported, {missed} missed, {excused} not judged: {result.reported:.1f} % of the facts reported",
        *([f"{result.compared} values compared with what `reveal` says, {result.count('unsound')} outside"] if result.compared else []),
        "", "| kind | rule | cases | excused | example |", "| --- | --- | --- | --- | --- |",
    ]
    for (kind, rule), cases in sorted(result.cases.items(), key=lambda one: -len(one[1])):
        plain = [case for case in cases if not case["excuse"]] or cases
        lines.append(f"| {kind} | {rule} | {len(cases)} | {len(cases) - sum(not case['excuse'] for case in cases)} | seed {plain[0]['seed']}, {plain[0]['line']}: {plain[0]['detail'][:110]} |")
    lines += ["", *(f"{times} x {error}" for error, times in result.errors.most_common(12))]
    lines += ["", "agreed: " + ", ".join(f"{rule} {times}" for rule, times in result.agreed.most_common())]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seeds", default="0:200", help="from:to")
    parser.add_argument("--reveal", action="store_true", help="compare values, too")
    parser.add_argument("--cuda", action="store_true", help="pretend that there is a GPU")
    parser.add_argument("--shrink", type=int, default=0, help="so many cases of each kind are made small")
    parser.add_argument("--shrink-seconds", type=float, default=45)
    parser.add_argument("--save", type=Path, help="write the cases here, as JSON")
    parser.add_argument("--most-missed", type=float, help="fail when more percent of the facts are missed")
    parser.add_argument("--most-false", type=int, help="fail when more findings are contradicted")
    parser.add_argument("--most-unsound", type=float, help="fail when more percent of the values lie outside")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    differ = Differ(Trainlint(str(Path(options.binary).resolve())), options.reveal, options.cuda)
    result = differ.round(range(first, last), sys.stderr.isatty() or bool(options.save))
    print(table(result))
    if options.shrink:
        small(differ, result, options.shrink, options.shrink_seconds)
    if options.save:
        save(result, options.save)
    wrong = list(broken(result, options))
    sys.exit("\n".join(wrong) if wrong else 0)


def broken(result: Round, options: argparse.Namespace) -> Iterator[str]:
    """The limits that do not hold."""
    if options.most_missed is not None and 100 - result.reported > options.most_missed:
        yield f"{100 - result.reported:.1f} % of the facts are missed"
    if options.most_false is not None and result.count("false") > options.most_false:
        yield f"{result.count('false')} findings are contradicted by a run"
    if options.most_unsound is not None and 100 * result.count("unsound") > options.most_unsound * result.compared:
        yield f"{result.count('unsound')} of {result.compared} values lie outside of what `reveal` says"


def small(differ: Differ, result: Round, each: int, seconds: float) -> None:
    """Prints the smallest scripts, one of each shape."""
    for (kind, rule), cases in sorted(result.cases.items(), key=lambda one: -len(one[1])):
        shapes: dict[str, tuple[dict, Files]] = {}
        for case in [case for case in cases if not case["excuse"]][:each]:
            files = differ.smallest(case, kind, rule, seconds)
            case["small"] = files
            shapes.setdefault(shape(files), (case, files))
        for case, files in shapes.values():
            print(f"\n## {kind} {rule}: seed {case['seed']}, {case['line']}: {case['detail'][:160]}")
            for name, text in files.items():
                print(f"# {name}\n{text}")
            sys.stdout.flush()


def save(result: Round, path: Path) -> None:
    cases = [{"kind": kind, "rule": rule, **case} for (kind, rule), several in result.cases.items() for case in several]
    path.write_text(json.dumps({"scripts": result.scripts, "ended": result.ended, "agreed": result.agreed, "found_at": result.found_at, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
