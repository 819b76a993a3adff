#!/usr/bin/env python3
"""Whether two builds of trainlint say the same of real code, byte for byte, and what each of them costs.

    python3 scripts/compare_binaries.py target/release/trainlint-before target/release/trainlint CHECKOUT...
    python3 scripts/compare_binaries.py --pedantic --pages OLD NEW fixtures CHECKOUTS/*/

Each FOLDER is checked on its own by either build, without configuration and cache and on one thread: the two runs
follow one another, and who goes first alternates, so that neither has the warmer files. What they write is compared:
findings with everything that belongs to them, the counts beside them, what goes to stderr, and the exit code. A run that
crashes or takes too long is a difference, even where both builds do, since nothing was compared then.

Of each folder that differs, what was gained (`+`), lost (`-`) and said otherwise (`~`, with the fields) is listed:

    CHECKOUT: 3 findings before, 3 after
      + train.py:12:5 missing-zero-grad: gradients of every step so far are added up
      - train.py:15:5 missing-zero-grad: gradients of every step so far are added up
      ~ train.py:40:9 retained-graph: `total` keeps the graphs of all steps (help, notes)

Then come the sums, with CPU seconds (user and system). Exits with 0 where nothing differs, else with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import IO, Iterator

RULES = Path(__file__).resolve().parent.parent / "rules"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)

#: Exit codes of a run that came to its end: nothing found, something found, nothing there that can be checked.
ENDED = (0, 1, 2)

#: What the columns of the table are.
HEAD = "folder\tfiles\tbefore\tafter\tgained\tlost\treworded\tseconds before\tseconds after"

#: At most so many lines of a difference in something else than findings.
LINES = 20


@dataclass
class Ran:
    """What one build wrote of one folder, with its CPU seconds; `fault` says why it did not come to its end."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    fault: str = ""

    def document(self) -> dict:
        """What it wrote as JSON: empty where it wrote nothing that can be read."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return {}


@dataclass
class Compared:
    """A folder as both builds saw it; `differences` are the lines that say what is not the same."""

    name: str
    files: int = 0
    before: int = 0
    after: int = 0
    gained: int = 0
    lost: int = 0
    reworded: int = 0
    seconds: tuple[float, float] = (0.0, 0.0)
    differences: list[str] = field(default_factory=list)


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(options.jobs) as pool:
        folders = [*options.folders, *([write_pages(Path(work))] if options.pages else [])]
        compared = list(shown(pool.map(lambda one: compare(options, *one), enumerate(folders)), options.table))
    print(summary(compared))
    return int(any(one.differences for one in compared))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", type=executable, help="the build that is known")
    parser.add_argument("new", metavar="NEW", type=executable, help="the build that is asked about")
    parser.add_argument("folders", metavar="FOLDER", type=folder, nargs="*", help="checkouts and other folders with scripts, each checked on its own")
    parser.add_argument("--pages", action="store_true", help="check the examples on the pages of rules, too")
    parser.add_argument("--pedantic", action="store_true", help="show notes and findings of low confidence, too")
    parser.add_argument("--also", choices=["plan"], action="append", default=[], help="compare what `plan` writes, too: what would be replayed of the findings, without running it")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="folders that are compared at once; leave it at 1 where seconds matter (default: 1)")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="threads of each run (default: 1)")
    parser.add_argument("--runs", metavar="N", type=int, default=1, help="runs of either build, of which the fewest seconds count: a machine that does other things, too, adds some (default: 1)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=600, help="the longest that a run may take (default: 600)")
    parser.add_argument("--table", metavar="FILE", type=Path, help="write a line of tab-separated figures for each folder")
    options = parser.parse_intermixed_args()
    if not options.folders and not options.pages:
        parser.error("there is nothing to check: give a FOLDER, or --pages")
    return options


def executable(path: str) -> Path:
    if not os.access(path, os.X_OK) or not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"`{path}` is no program")
    return Path(path).resolve()


def folder(path: str) -> Path:
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"`{path}` is no folder")
    return Path(path).resolve()


def write_pages(work: Path) -> Path:
    """A folder with every example on the pages of rules as a script of its own."""
    into = work / "pages"
    into.mkdir()
    for page in sorted(RULES.glob("*.md")):
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            (into / f"{page.stem}_{number}.py".replace("-", "_")).write_text(code, encoding="utf-8")
    return into


def shown(results: Iterator[Compared], table: Path | None) -> Iterator[Compared]:
    """The same results, each written as soon as it is there: a run that is broken off was not for nothing."""
    with open(table or os.devnull, "w", encoding="utf-8") as figures:
        print(HEAD, file=figures, flush=True)
        for one in results:
            print(row(one), file=figures, flush=True)
            if one.differences:
                print(f"{one.name}: {one.before} findings before, {one.after} after")
                print("".join(f"  {line}\n" for line in one.differences), end="", flush=True)
            yield one


# One folder


def compare(options: argparse.Namespace, number: int, path: Path) -> Compared:
    result = Compared(path.name)
    pedantic = ["--pedantic"] if options.pedantic else []
    check = ["check", "--isolated", "--no-cache", "--no-progress", "--output-format", "json", "--threads", str(options.threads), *pedantic, "."]
    runs = [both(options, number + again, check, path) for again in range(max(options.runs, 1))]
    old, new = runs[0]
    result.seconds = (fewest([ran for ran, _ in runs]), fewest([ran for _, ran in runs]))
    compare_findings(result, old, new)
    for command in options.also:
        old, new = both(options, number, [command, "--isolated", *pedantic, "."], path)
        result.differences += faults(f"`{command}`", old, new) or unequal(f"`{command}`", old, new, streams=["stdout", "stderr"])
    return result


def fewest(runs: list[Ran]) -> float:
    """The seconds of the cheapest run that came to its end: one that was broken off is cheap for no merit."""
    return min((ran.seconds for ran in runs if not ran.fault), default=runs[0].seconds)


def both(options: argparse.Namespace, number: int, command: list[str], path: Path) -> list[Ran]:
    """What the old and the new build say; the number decides who goes first."""
    order = [0, 1] if number % 2 == 0 else [1, 0]
    ran = {side: run([(options.old, options.new)[side], *command], path, options.timeout) for side in order}
    return [ran[0], ran[1]]


def run(command: list, path: Path, limit: float) -> Ran:
    """Streams go to files: a pipe that nobody reads would stop the run. `wait4` knows the seconds of this run alone."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(command, cwd=path, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        started, timer = time.monotonic(), threading.Timer(limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        fault = why(process.returncode, limit if time.monotonic() - started >= limit else None)
        return Ran(process.returncode, text(stdout), text(stderr), usage.ru_utime + usage.ru_stime, fault)


def why(code: int, limit: float | None) -> str:
    """Why a run did not come to its end, if it did not."""
    if code in ENDED:
        return ""
    if limit is not None:
        return f"took longer than {limit:g} seconds"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


def text(stream: IO[bytes]) -> str:
    """Bytes that are no UTF-8 stay different from one another."""
    stream.seek(0)
    return stream.read().decode("utf-8", "surrogateescape")


# What is not the same


def compare_findings(result: Compared, old: Ran, new: Ran) -> None:
    before, after = old.document(), new.document()
    result.files = after.get("files", {}).get("checked", 0)
    result.before, result.after = len(before.get("findings", [])), len(after.get("findings", []))
    if old.fault or new.fault:
        result.differences += faults("`check`", old, new)
        return
    lost, gained = only(before, after), only(after, before)
    reworded = [place for place in lost if place in gained]
    result.gained, result.lost, result.reworded = len(gained) - len(reworded), len(lost) - len(reworded), len(reworded)
    result.differences += [f"+ {said(place)}" for place in gained if place not in lost]
    result.differences += [f"- {said(place)}" for place in lost if place not in gained]
    result.differences += [f"~ {said(place)} ({', '.join(fields(lost[place], gained[place]))})" for place in reworded]
    result.differences += counts(before, after)
    result.differences += unequal("`check`", old, new, streams=["stderr"] if result.differences else ["stdout", "stderr"])


def only(these: dict, those: dict) -> dict[tuple, dict]:
    """The findings of one that the other lacks, by place, rule and message, and their number among equal ones."""
    others = Counter(canonical(one) for one in those.get("findings", []))
    out: dict[tuple, dict] = {}
    numbers: Counter[tuple] = Counter()
    for one in these.get("findings", []):
        if others[canonical(one)]:
            others[canonical(one)] -= 1
            continue
        place = (one["path"], one.get("cell"), one["line"], one["column"], one["rule"], one["message"])
        out[(*place, numbers[place])] = one
        numbers[place] += 1
    return out


def canonical(finding: dict) -> str:
    return json.dumps(finding, sort_keys=True)


def said(place: tuple) -> str:
    path, cell, line, column, rule, message, _ = place
    within = f":cell {cell}" if cell is not None else ""
    return printable(f"{path}{within}:{line}:{column} {rule}: {message}")


def fields(old: dict, new: dict) -> list[str]:
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def counts(before: dict, after: dict) -> list[str]:
    """What else differs in the document: numbers of what is hidden and of files, and files that were not checked."""
    names = [name for name in sorted(before.keys() | after.keys()) if name != "findings"]
    return [printable(f"! {name}: {json.dumps(before.get(name))} before, {json.dumps(after.get(name))} after") for name in names if before.get(name) != after.get(name)]


def unequal(what: str, old: Ran, new: Ran, streams: list[str]) -> list[str]:
    """What two runs wrote that is not the same; the order of findings counts, too."""
    out = [f"! {what} exits with {old.code} before, {new.code} after"] if old.code != new.code else []
    for stream in streams:
        before, after = getattr(old, stream), getattr(new, stream)
        if before != after:
            out += [f"! {what} writes something else to {stream}", *difference(before, after)]
    return [printable(line) for line in out]


def faults(what: str, old: Ran, new: Ran) -> list[str]:
    """Which of two runs did not come to its end, and why."""
    return [printable(f"! {what} of the {name} build {ran.fault}: {last_line(ran.stderr)}") for name, ran in (("old", old), ("new", new)) if ran.fault]


def difference(before: str, after: str) -> list[str]:
    """The lines that differ, cut where there are many or where they are long."""
    lines = [line[:200] for line in unified_diff(lines_of(before), lines_of(after), lineterm="", n=0)][2:]
    rest = [f"  … {len(lines) - LINES} more lines"] if len(lines) > LINES else []
    return [f"  {line}" for line in lines[:LINES]] + rest


def lines_of(stream: str) -> list[str]:
    """JSON comes on one line, and is spread over many here, so that a difference has a place in it."""
    try:
        return json.dumps(json.loads(stream), indent=1).splitlines()
    except ValueError:
        return stream.splitlines()


def last_line(stream: str) -> str:
    return (stream.strip().splitlines() or ["nothing on stderr"])[-1]


def printable(line: str) -> str:
    return line.encode("utf-8", "backslashreplace").decode("utf-8")


# All folders


def row(one: Compared) -> str:
    numbers = (one.files, one.before, one.after, one.gained, one.lost, one.reworded)
    return "\t".join([one.name, *map(str, numbers), *(f"{seconds:.2f}" for seconds in one.seconds)])


def summary(compared: list[Compared]) -> str:
    different = sum(bool(one.differences) for one in compared)
    before, after, gained, lost, reworded = (sum(getattr(one, name) for one in compared) for name in ("before", "after", "gained", "lost", "reworded"))
    old, new = (sum(one.seconds[side] for one in compared) for side in (0, 1))
    ratio = f", {new / old:.3f} times as many" if old else ""
    return (
        f"{len(compared)} folders, {different} with differences; {before} findings before, {after} after: {gained} gained, {lost} lost, {reworded} said otherwise\n"
        f"CPU seconds of `check`: {old:.2f} before, {new:.2f} after{ratio}"
    )


if __name__ == "__main__":
    sys.exit(main())
