#!/usr/bin/env python3
"""How many bugs that people reported and fixed does trainlint see, and is it quiet about the fixed code?

    python3 scripts/truth_reported.py MIRRORS target/release/trainlint
    python3 scripts/truth_reported.py MIRRORS OLD NEW --half building --trees /tmp/trees --table rows.tsv

`tests/truth/reported.tsv` has a line for each bug: the half it is in, the repository, the commit before the fix, path
and line of the defect, the rule it falls under, the commit of the fix, whether that fix repairs it, and the reason.
Nothing is fetched: MIRRORS is a folder with a git directory for each repository, `OWNER+NAME`, `OWNER+NAME/repo` or `OWNER/NAME`, bare or
checked out. Repositories that are not there are counted and left out.

Of each commit the files that trainlint reads are written into a folder of trees (`--trees` keeps it), and checked
twice: all of them, and the file of the defect alone, where nothing else of the repository is there.

A bug is hit where a finding of its rule, or of one that says the same (`SAME`), is at most three lines away, or in the
same function (in a script: in the same statement of the module; for some rules in the same file, see `ANYWHERE`); a
place that belongs to the finding counts, too. It is
seen with `--pedantic` where only a finding counts that is not shown otherwise. The fixed place is flagged where the
same is true of the commit of the fix, with the same rule alone, and the fix does repair the defect.

Rows of the rule `none` are defects that no rule is about: they are counted, and not run.

The repositories are in two halves, by a sum over their names when they were collected. Rows of the building half are
listed; of the held-out half there are sums only, for whoever reads its misses has no held-out half any more
(`--list-held-out` spends it).
"""

from __future__ import annotations

import argparse
import ast
import csv
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "tests" / "truth" / "reported.tsv"

#: Rules that say the same of a defect, in other words.
SAME = [
    {"missing-zero-grad", "misplaced-zero-grad"},
    {"unsafe-log", "log-of-softmax"},
    {"clip-before-unscale", "misplaced-clipping"},
    {"sigmoid-mismatch", "keras-logits-mismatch"},
    {"softmax-before-cross-entropy", "nll-without-log-softmax"},
    {"retained-graph", "undetached-hidden-state"},
    {"cpu-tensor-in-forward", "device-mismatch"},
    {"unsafe-division", "vanishing-epsilon"},
    {"unsafe-division", "unguarded-count"},
    {"unsafe-log", "vanishing-epsilon"},
    {"unsafe-root", "vanishing-epsilon"},
    {"missing-super-init", "unregistered-submodule"},
    {"parameters-replaced-after-optimizer", "frozen-in-optimizer"},
]

#: Rules whose findings are where a sampler is made, while the call is missing in a loop of the same file.
ANYWHERE = {"missing-set-epoch"}

#: How many lines a finding may be away from the place.
NEAR = 3

#: What trainlint reads of a repository.
READ = re.compile(r"\.(py|ipynb|toml|cfg|ya?ml|json)$|(^|/)(requirements[^/]*\.txt|\.gitignore|Pipfile)$")

#: Larger files than this are data.
LARGEST = 1 << 20


@dataclass(frozen=True)
class Row:
    """A defect as the table has it."""

    repository: str
    before: str
    path: str
    line: int
    rule: str
    fixed: str
    repaired: bool
    reason: str
    building: bool

    @property
    def place(self) -> str:
        return f"{self.repository} {self.before[:12]} {self.path}:{self.line}"


@dataclass
class Seen:
    """What one build says of one row: `hit`, `pedantic` or `miss`, in the whole repository and of the file alone."""

    whole: str = "miss"
    alone: str = "miss"
    after: str = ""
    notes: list[str] = field(default_factory=list)


def main() -> int:
    options = arguments()
    rows = [row for row in read(options.rows) if options.half in ("both", half(row))]
    counted = [row for row in rows if row.rule != "none"]
    there = [row for row in counted if git_directory(options.mirrors, row.repository)]
    print(f"{len(rows)} rows, {len(rows) - len(counted)} that no rule is about, {len(counted) - len(there)} without their repository", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        trees = Path(options.trees or scratch)
        for binary in options.binaries:
            seen = judge_all(options, trees, binary, there)
            print(f"\n# {binary}\n")
            report(options, there, seen)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", metavar="MIRRORS", type=Path, help="a folder with a git directory for each repository")
    parser.add_argument("binaries", metavar="TRAINLINT", type=Path, nargs="+", help="builds of trainlint, each asked for itself")
    parser.add_argument("--rows", metavar="FILE", type=Path, default=TABLE, help="the table of defects (default: tests/truth/reported.tsv)")
    parser.add_argument("--half", choices=["building", "held-out", "both"], default="both", help="the repositories that are asked about (default: both)")
    parser.add_argument("--trees", metavar="FOLDER", type=Path, help="keep the trees of commits here, for the next run")
    parser.add_argument("--table", metavar="FILE", type=Path, help="write a line of tab-separated results for each row of the building half")
    parser.add_argument("--list-held-out", action="store_true", help="list the rows of the held-out half, too")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="commits that are checked at once (default: 1)")
    options = parser.parse_args()
    options.binaries = [binary.resolve() for binary in options.binaries]
    return options


def read(path: Path) -> list[Row]:
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Row(one["repository"], one["commit before"], one["path"], int(one["line"]), one["rule"], one["fixed commit"], one["repaired"] == "yes", one["reason"], one["half"] == "building")
            for one in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def half(row: Row) -> str:
    return "building" if row.building else "held-out"


# Trees of commits


def git_directory(mirrors: Path, repository: str) -> Path | None:
    joined = mirrors / repository.replace("/", "+")
    for folder in (joined, joined / "repo", mirrors / repository):
        for place in (folder / ".git", folder):
            if (place / "HEAD").is_file():
                return place
    return None


def git(directory: Path, *command: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["git", "--git-dir", directory, *command], input=given, capture_output=True, check=True).stdout


def tree_of(options: argparse.Namespace, trees: Path, repository: str, commit: str) -> Path:
    """The files of a commit that trainlint reads, in a folder of their own."""
    into = trees / f"{repository.replace('/', '+')}@{commit[:12]}"
    if not into.is_dir():
        directory = git_directory(options.mirrors, repository)
        assert directory is not None
        partly = into.with_name(into.name + ".part")
        write(directory, listed(directory, commit), partly)
        partly.rename(into)
    return into


def listed(directory: Path, commit: str) -> list[tuple[str, str]]:
    """Object and path of what is to be written of a commit."""
    out = []
    for line in git(directory, "ls-tree", "-r", "-l", "-z", commit).split(b"\0"):
        fields, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
        mode, kind, name, size = fields.split() if fields else ("", "", "", "")
        if kind == "blob" and mode != "120000" and READ.search(path) and size.isdigit() and int(size) <= LARGEST:
            out.append((name, path))
    return out


def write(directory: Path, files: list[tuple[str, str]], into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    rest = git(directory, "cat-file", "--batch", given="".join(f"{name}\n" for name, _ in files).encode())
    for _, path in files:
        head, _, rest = rest.partition(b"\n")
        if head.endswith(b"missing"):
            continue
        size = int(head.split()[2])
        place = into / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(rest[:size])
        rest = rest[size + 1 :]


# What a build says


def judge_all(options: argparse.Namespace, trees: Path, binary: Path, rows: list[Row]) -> dict[Row, Seen]:
    """Each commit is checked once, whatever the number of its rows."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.repository, row.before, row.fixed].append(row)
    with ThreadPoolExecutor(options.jobs) as pool:
        seen: dict[Row, Seen] = {}
        for some in pool.map(lambda group: judge_group(options, trees, binary, group), groups.values()):
            seen.update(some)
        return seen


def judge_group(options: argparse.Namespace, trees: Path, binary: Path, rows: list[Row]) -> dict[Row, Seen]:
    first = rows[0]
    before = tree_of(options, trees, first.repository, first.before)
    after = tree_of(options, trees, first.repository, first.fixed)
    whole, fixed = check(binary, before), check(binary, after)
    out = {}
    for row in rows:
        with tempfile.TemporaryDirectory() as lonely:
            copy = Path(lonely) / row.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((before / row.path).read_bytes())
            alone = check(binary, Path(lonely))
        out[row] = judge(row, before, after, whole, alone, fixed)
    return out


def check(binary: Path, folder: Path) -> list[dict]:
    command = [binary, "check", "--isolated", "--no-cache", "--no-progress", "--pedantic", "--threads", "1", "--output-format", "json", "."]
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=900)
    try:
        return json.loads(ran.stdout)["findings"]
    except ValueError:
        print(f"{folder.name}: exit code {ran.returncode}, {ran.stderr[-200:].decode('utf-8', 'replace').strip()}", file=sys.stderr)
        return []


def judge(row: Row, before: Path, after: Path, whole: list[dict], alone: list[dict], fixed: list[dict]) -> Seen:
    text = lines_of(before / row.path)
    near = range(1, len(text) + 1) if row.rule in ANYWHERE else span(text, row.line)
    rules = {row.rule}.union(*(some for some in SAME if row.rule in some))
    seen = Seen(sight(row.path, near, rules, whole), sight(row.path, near, rules, alone))
    new = lines_of(after / row.path)
    line = moved(text, new, row.line)
    if row.repaired and line:
        seen.after = "flagged" if sight(row.path, place_after(row, span(new, line), line), {row.rule}, fixed) == "hit" else ""
    seen.notes = [f"{one['line']}: {one['rule']}" for one in whole if one["path"] == row.path and at(near, one["line"])]
    return seen


def place_after(row: Row, function: range, line: int) -> range:
    """Only the lines around what was repaired: elsewhere in its function another defect may be left."""
    if row.rule in ANYWHERE:
        return range(1, 1 << 30)
    return range(max(function.start, line - NEAR), min(function.stop, line + NEAR + 1))


def sight(path: str, near: range, rules: set[str], findings: list[dict]) -> str:
    """Whether one of the findings is of these rules and has to do with these lines of this file."""
    about = [one for one in findings if one["rule"] in rules and touches(path, near, one)]
    shown = [one for one in about if one["confidence"] != "low" and one["severity"] != "note"]
    return "hit" if shown else "pedantic" if about else "miss"


def touches(path: str, near: range, finding: dict) -> bool:
    places = [finding, *finding.get("related", [])]
    return any(place["path"] == path and at(near, place["line"]) for place in places)


def at(near: range, line: int) -> bool:
    return near.start <= line < near.stop


# Places


def lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def span(text: list[str], line: int) -> range:
    """The lines of the function around a line, or of the statement of the module, and at least three around it."""
    found = function_around("\n".join(text), line) or indented_around(text, line)
    start, stop = (found.start, found.stop) if found else (line, line + 1)
    return range(min(start, line - NEAR), max(stop, line + NEAR + 1))


def function_around(text: str, line: int) -> range | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)]
    functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if functions:
        inner = max(functions, key=lambda node: node.lineno)
    else:
        outer = [node for node in tree.body if node in around and not isinstance(node, ast.ClassDef)]
        inner = outer[0] if outer else None
    return range(inner.lineno, (inner.end_lineno or inner.lineno) + 1) if inner else None


def indented_around(text: list[str], line: int) -> range | None:
    """The same for what today's Python cannot parse, by indentation alone."""
    depth = indent(text[line - 1]) if line <= len(text) else 0
    for start in range(line, 0, -1):
        one = text[start - 1]
        if re.match(r"\s*def ", one) and (indent(one) < depth or start == line):
            stops = [number for number in range(start + 1, len(text) + 1) if text[number - 1].strip() and indent(text[number - 1]) <= indent(one)]
            return range(start, stops[0] if stops else len(text) + 1)
    return None


def indent(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def moved(old: list[str], new: list[str], line: int) -> int | None:
    """Where a line is after the fix: the line itself, or what stands in its place."""
    for _, start, end, into, until in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if start <= line - 1 < end:
            return min(into + (line - 1 - start), max(until - 1, into)) + 1
    return None


# What is said of all


def report(options: argparse.Namespace, rows: list[Row], seen: dict[Row, Seen]) -> None:
    shown = [row for row in rows if row.building or options.list_held_out]
    for row in sorted(shown, key=lambda row: (row.rule, row.place)):
        one = seen[row]
        print(f"{one.whole:8} {one.alone:8} {one.after or '-':7} {row.rule:30} {row.place}")
    print("\nrule, then of each half: bugs, hit in the whole repository, hit in the file alone, hit only with --pedantic, fixed places flagged\n")
    building = [row for row in rows if row.building]
    for rule in sorted({row.rule for row in building}):
        print(f"{rule:36} {figures([row for row in building if row.rule == rule], seen)}")
    for name in ("building", "held-out"):
        print(f"{'all of the ' + name + ' half':36} {figures([row for row in rows if half(row) == name], seen)}")
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            for row in shown:
                one = seen[row]
                print(row.rule, row.repository, row.before, row.path, row.line, one.whole, one.alone, one.after, "; ".join(one.notes), row.reason, sep="\t", file=file)


def figures(rows: list[Row], seen: dict[Row, Seen]) -> str:
    whole = sum(seen[row].whole == "hit" for row in rows)
    alone = sum(seen[row].alone == "hit" for row in rows)
    pedantic = sum(seen[row].whole == "pedantic" for row in rows)
    repaired = [row for row in rows if row.repaired]
    flagged = sum(seen[row].after == "flagged" for row in rows)
    share = f"{whole / len(rows):5.0%}" if rows else "     "
    return f"{len(rows):4}  {whole:4} {share}  {alone:4}  {pedantic:4}  {flagged:4} of {len(repaired)}"


if __name__ == "__main__":
    sys.exit(main())
