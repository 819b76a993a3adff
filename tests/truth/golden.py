"""Runs the fixtures that fire and the examples of the pages under PyTorch, and writes down what was seen.

    python golden.py            writes tests/truth/seen.tsv
    python golden.py --missing  the same, of what is not in it yet
    python golden.py --docs     writes docs/truth.md from it, without PyTorch
    python golden.py --gpu      writes tests/truth/seen_on_gpu.tsv: what names CUDA, on a GPU and not on a pretended one

Fixtures name data that they do not make, so data is guessed: a script counts as run with the guess under which what
its marks expect is seen, else with the one that gets furthest.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import functools
import itertools
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from agreement import JUDGED, NUMERIC, REMARKS, SAME
from watch.facts import ERRORS, rules_of_error

ROOT = Path(__file__).resolve().parents[2]
SEEN = Path(__file__).resolve().parent / "seen.tsv"
SEEN_ON_GPU = Path(__file__).resolve().parent / "seen_on_gpu.tsv"
OTHERS = re.compile(r"\b(tensorflow|keras|jax|flax|optax|haiku|lightning|pytorch_lightning|transformers|accelerate|deepspeed|fastai|ignite|torchvision|torchaudio|numba|triton|cupy|catalyst|timm|datasets|tqdm|ray|wandb|monai)\b")
# Where PyTorch is installed is nobody's business.
PATHS = re.compile(r" ?[(']?/[\w./-]+[)']?")
# Data that is tried for one script.
MOST_GUESSES = 8
MARK = re.compile(r"#\s*expect(?P<hidden>-pedantic)?:\s*(?P<rule>[a-z-]+)")
CARETS = re.compile(r"^\s*#\s*\^+\s*(?P<rule>[a-z-]+)")


@dataclass(frozen=True)
class Script:
    """A script and what its marks expect: rules with their lines."""

    name: str
    text: str
    marks: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Row:
    """What was seen of one mark; `how` is empty where it was not seen, and `why` says why."""

    script: str
    rule: str
    line: int
    how: str
    why: str
    release: str


def scripts() -> Iterator[Script]:
    for path in sorted((ROOT / "fixtures").glob("*/bad*.py")):
        text = path.read_text()
        yield Script(str(path.relative_to(ROOT)), text, tuple(marks(text)))
    for page in sorted((ROOT / "rules").glob("*.md")):
        blocks = re.findall(r"```python\n(?!# \w+\.py\n)(.*?)```", page.read_text(), re.S)
        expected = tuple(marks(blocks[0])) if blocks else ()
        if expected:
            yield Script(f"rules/{page.name}", blocks[0], expected)
            rules = dict.fromkeys(rule for rule, _ in expected)
            repaired = blocks[1:2] if "## Use instead" in page.read_text() else []
            yield from (Script(f"rules/{page.name}{REPAIRED}", text, tuple((rule, 0) for rule in rules)) for text in repaired)


def marks(text: str) -> Iterator[tuple[str, int]]:
    above = 0
    for number, line in enumerate(text.splitlines(), 1):
        if found := CARETS.match(line):
            yield found["rule"], above
            continue
        above = number
        if found := MARK.search(line):
            yield found["rule"], number


def unbound(text: str) -> set[str]:
    """Names that a script reads and nobody binds."""
    bound, read = set(dir(builtins)) | {"__file__", "__name__"}, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return read - bound


def _first(pattern: str, text: str, otherwise: int) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else otherwise


# Weights under which every layer gives zeros: where losses have their edges.
ZEROED = """import torch as _torch
def _zeroed(self, *args):
    with _torch.no_grad():
        [p.zero_() for p in self.parameters()]
_torch.nn.Linear.reset_parameters = _zeroed
_torch.nn.Conv2d.reset_parameters = _zeroed
"""


def guesses(script: Script) -> Iterator[str]:
    """Preambles, the likeliest first; of scripts with edges each with weights of zero, too."""
    plain = list(itertools.islice(data(script.text), MOST_GUESSES))
    if any(rule in NUMERIC for rule, _ in script.marks):
        plain = [*plain[:3], *(ZEROED + one for one in plain[:3]), *plain[3:]]
    yield from plain


def data(text: str) -> Iterator[str]:
    """Preambles that bind what the script does not make."""
    names = unbound(text)
    width, classes = _first(r"Linear\((\d+)", text, 8), _last(text)
    channels, vocabulary = _first(r"Conv2d\((\d+)", text, 3), _first(r"Embedding\((\d+)", text, 10)
    xs = []
    if "Conv2d(" in text:
        xs += [f"torch.randn(n, {channels}, {side}, {side})" for side in (32, 28)]
    if "Conv1d(" in text:
        xs += [f"torch.randn(n, {_first(r'Conv1d[(]([0-9]+)', text, 1)}, 16)"]
    if "Embedding(" in text:
        xs += [f"torch.randint(0, {vocabulary}, (n, 6))"]
    if re.search(r"(LSTM|GRU|RNN)\((\d+)", text):
        xs += [f"torch.randn(n, 6, {_first(r'(?:LSTM|GRU|RNN)[(]([0-9]+)', text, 8)})"]
    xs += [f"torch.randn(n, {width})", f"torch.zeros(n, {width})", f"torch.rand(n, {width}) * 1e3"]
    ys = [f"torch.randint(0, {max(2, classes)}, (n,))", "torch.randn(n, 1)", "torch.randint(0, 2, (n, 1)).float()", "torch.randn(n)",
          f"torch.randn(n, {classes})", "torch.randint(0, 2, (n,)).float()", f"torch.randint(0, {max(2, classes)}, (n, 6))"]
    if not names:
        yield ""
        return
    pairs = sorted(((a + b, x, y) for a, x in enumerate(xs) for b, y in enumerate(ys)), key=lambda pair: pair[0])
    for _, x, y in pairs:
        yield _preamble(names, x, y, text)


def _last(text: str) -> int:
    found = re.findall(r"Linear\([^()]*?(\d+)\)", text)
    return int(found[-1]) if found else 3


def _preamble(names: set[str], x: str, y: str, text: str) -> str:
    lines = ["import torch, torch.nn as _nn", "torch.manual_seed(1)", "def _x(n): return " + x, "def _y(n): return " + y,
             "class _Batch(dict):", "    def __iter__(self): return iter(self.values())",
             "    def __getattr__(self, name): return self[name]"]
    keys = re.findall(r"batch\[[\"'](\w+)[\"']\]", text)
    for name in sorted(names):
        if re.search(rf"\b{name}\(", text):
            # A function from elsewhere: what it gives is wanted as data or as batches.
            made = "[(_x(4), _y(4)) for _ in range(6)]" if re.search(r"loader|batches", name) else "_y(24)" if re.search("label|target", name) else "_x(24)"
            lines.append(f"def {name}(*args, **options): return {made}")
        elif re.search(r"loader|batches|stream|_dl$", name):
            if keys:
                entries = ", ".join(f"{key!r}: {'_x' if place == 0 else '_y'}(4)" for place, key in enumerate(dict.fromkeys(keys)))
                lines.append(f"{name} = [{{{entries}}} for _ in range(6)]")
            else:
                lines.append(f"{name} = [(_x(4), _y(4)) for _ in range(6)]")
        elif re.search(r"set|data|samples", name):
            lines.append(f"{name} = torch.utils.data.TensorDataset(_x(24), _y(24))")
        elif re.search(r"device", name):
            lines.append(f"{name} = torch.device('cuda' if torch.cuda.is_available() else 'cpu')")
        elif re.search(r"^(x|xs|inputs?|features|images?|batch|tokens)$", name):
            lines.append(f"{name} = _x(4)")
        elif re.search(r"^(y|ys|targets?|labels?)$", name):
            lines.append(f"{name} = _y(4)")
        elif re.search(r"^(model|net|network|encoder)$", name):
            lines.append(f"{name} = _nn.Linear({_first(r'Linear[(]([0-9]+)', text, 8)}, 3)")
        elif re.search(r"epochs?|steps|num|size|n$", name, re.I):
            lines.append(f"{name} = 3")
    return "\n".join(lines)


def supported(rule: str) -> set[str]:
    """The facts that show what a rule claims."""
    named = {rule} | {fact for fact, rules in SAME.items() if rule in rules}
    return named | {rules[0] for _, rules in ERRORS if rule in rules}


def rows(script: Script, release: str, gpu: bool = False) -> list[Row]:
    if OTHERS.search(script.text):
        return [Row(script.name, rule, line, "", "needs another framework", release) for rule, line in script.marks]
    try:
        ast.parse(script.text)
    except SyntaxError as error:
        return [Row(script.name, rule, line, f"SyntaxError: {error.msg}" if rule == "invalid-syntax" else "", "" if rule == "invalid-syntax" else "no Python", release)
                for rule, line in script.marks]
    best: dict = {}
    why = "what it needs cannot be guessed"
    for number, preamble in enumerate(guesses(script)):
        seen = _run(script, preamble, gpu)
        score = _score(script, seen)
        if not best or score > best["score"]:
            best = {**seen, "score": score}
        if "NameError" in (seen["error"] or ""):
            break
        if score >= 1 or number >= MOST_GUESSES - 1:
            break
    if not best:
        return [Row(script.name, rule, line, "", why, release) for rule, line in script.marks]
    return [_row(script, rule, line, best, release) for rule, line in script.marks]


def _run(script: Script, preamble: str, gpu: bool) -> dict:
    from runs import watched

    with tempfile.TemporaryDirectory(prefix="golden") as folder:
        path = Path(folder) / "train.py"
        path.write_text(script.text)
        # A process takes seconds to open a GPU.
        return watched(path, cuda=not gpu, seconds=30 if gpu else 8, preamble=preamble, gpu=gpu)


def _score(script: Script, seen: dict) -> float:
    """How much of what is expected was seen; a run that got further is better."""
    found = sum(bool(_shown(rule, line, seen)) for rule, line in script.marks)
    if script.name.endswith(REPAIRED):
        # Of what is right the run counts that gets furthest without an error, whatever the data.
        return (not seen["error"]) + min(seen["steps"], 9) / 1000
    return found / len(script.marks) + min(seen["steps"], 9) / 1000


def _shown(rule: str, line: int, seen: dict) -> str:
    for fact in seen["facts"]:
        if fact["fact"] in supported(rule):
            return f"{fact['fact']}: {fact['detail']}"
    # What a rule foretells as an error of its line, in whatever words.
    for fact in seen["facts"]:
        if f"train.py:{line}" in fact["lines"][:1] and seen["error"] and fact["detail"] in seen["error"] and rule in RAISES:
            return f"raises {fact['detail']}"
    return ""


# Rules that foretell an error.
RAISES = {"backward-through-freed-graph", "unknown-api", "removed-api", "dtype-mismatch", "device-mismatch", "wrong-target-dtype", "backward-arity", "undersized-output", "misspelt-attribute", "mismatched-arguments", "mismatched-unpacking",
          "missing-super-init", "exhausted-parameters", "single-sample-statistics", "non-scalar-backward", "invalid-syntax", "cpu-tensor-in-forward",
          "leaf-modified-in-place", "shuffle-with-sampler", "mask-overflow", "unconvertible-tensor", "half-model-with-scaler", "deprecated-api",
          "inplace-between-backwards", "inplace-on-saved-tensor", "bce-under-autocast", "array-for-tensor", "swapped-loss-arguments", "cuda-in-worker"}
# Behind the name of a page whose repaired form was run: what the page speaks of must not happen there.
REPAIRED = " (repaired)"


def _row(script: Script, rule: str, line: int, seen: dict, release: str) -> Row:
    if script.name.endswith(REPAIRED):
        return _row_of_repaired(script, rule, seen, release)
    how = PATHS.sub("", " ".join(_shown(rule, line, seen).split()))[:140]
    error = PATHS.sub("", (seen["error"] or "").split("\n")[0])
    if how:
        return Row(script.name, rule, line, how, "", release)
    if "NameError" in error or "ModuleNotFoundError" in error or "FileNotFoundError" in error or not rules_of_error(error) and error:
        return Row(script.name, rule, line, "", f"does not run: {error[:90]}", release)
    if not seen["steps"] and not seen["backwards"]:
        return Row(script.name, rule, line, "", "nothing is called", release)
    return Row(script.name, rule, line, "", f"ran {seen['steps']} steps, not watched for" if rule not in _watched() else f"ran {seen['steps']} steps, not seen", release)


def _row_of_repaired(script: Script, rule: str, seen: dict, release: str) -> Row:
    """Right where neither `how` nor `why` is said."""
    told = next((fact for fact in seen["facts"] if fact["fact"] in supported(rule) and fact["fact"] not in REMARKS), None)
    if told and rule in JUDGED:
        return Row(script.name, rule, 0, PATHS.sub("", f"{told['fact']}: {told['detail']}")[:140], "", release)
    error = PATHS.sub("", (seen["error"] or "").split("\n")[0])
    if error:
        return Row(script.name, rule, 0, "", f"does not run: {error[:90]}", release)
    if rule not in _watched():
        return Row(script.name, rule, 0, "", f"ran {seen['steps']} steps, not watched for", release)
    return Row(script.name, rule, 0, "", "" if seen["steps"] or seen["backwards"] else "nothing is called", release)


def _watched() -> set[str]:
    return JUDGED | NUMERIC | RAISES - {"misspelt-attribute"}


def on_gpu() -> None:
    """Writes what was seen of the scripts that name CUDA, run on the GPU of the machine, several at once."""
    import torch

    release = torch.__version__.split("+")[0]
    naming = [script for script in scripts() if "cuda" in script.text]
    found: list[Row] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for several in pool.map(functools.partial(rows, release=release, gpu=True), naming):
            found += several
            write(found, SEEN_ON_GPU)


def write(found: list[Row], path: Path = SEEN) -> None:
    lines = ["# script\trule\tline\tseen\twhy not\ttorch; written by golden.py"]
    lines += ["\t".join([row.script, row.rule, str(row.line), row.how, row.why, row.release]) for row in found]
    path.write_text("\n".join(lines) + "\n")


def read(path: Path = SEEN) -> list[Row]:
    parts = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [Row(script, rule, int(line), how, why, release) for script, rule, line, how, why, release in parts]


def document(found: list[Row]) -> str:
    """`docs/truth.md`: of each rule, how often what it claims was seen, and how."""
    rules: dict[str, list[Row]] = defaultdict(list)
    repaired = [row for row in found if row.script.endswith(REPAIRED)]
    found = [row for row in found if not row.script.endswith(REPAIRED)]
    for row in found:
        rules[row.rule].append(row)
    releases = sorted({row.release for row in found if row.how})
    ran = [row for row in found if row.how or row.why.endswith("not seen")]
    seen = sum(bool(row.how) for row in found)
    lines = [
        "# Seen happening", "",
        "Written by `python tests/truth/golden.py --docs` from `tests/truth/seen.tsv`; do not edit.", "",
        "Every fixture that fires, and the example of every page, was run under PyTorch with an oracle that watches gradients, graphs, modes, scalers and losses; a GPU is pretended,",
        "with real numbers. Of what the marks expect, this is what the runs showed.", "",
        f"torch {', '.join(releases)}: {seen} of {len(ran)} marks that ran far enough to be judged were seen happening; {len(found) - len(ran)} of {len(found)} marks did not run or are of rules that the oracle does not watch.", "",
        *_of_repairs(repaired), "",
        "| rule | seen | not seen | did not run, or not watched | torch | for instance |", "| --- | --- | --- | --- | --- | --- |",
    ]
    for rule, several in sorted(rules.items()):
        hits = [row for row in several if row.how]
        misses = [row for row in several if not row.how and row.why.endswith("not seen")]
        example = f"{hits[0].how}".replace("|", "\\|") if hits else ""
        lines.append(f"| {rule} | {len(hits)} | {len(misses)} | {len(several) - len(hits) - len(misses)} | {', '.join(sorted({row.release for row in hits}))} | {example} |")
    why = Counter(re.sub(r":.*|\d+", "", row.why).strip() for row in found if not row.how)
    lines += ["", "## Why not", "", "| why | marks |", "| --- | --- |", *(f"| {text} | {times} |" for text, times in why.most_common())]
    if SEEN_ON_GPU.exists():
        lines += ["", *_of_gpu(found, [row for row in read(SEEN_ON_GPU) if not row.script.endswith(REPAIRED)])]
    return "\n".join(lines) + "\n"


def _of_gpu(pretended: list[Row], real: list[Row]) -> Iterator[str]:
    """What a real GPU showed of the scripts that name CUDA, beside the pretended one."""
    key = lambda row: (row.script, row.rule, row.line)  # noqa: E731
    there = {key(row): row for row in real}
    both = [(row, there[key(row)]) for row in pretended if key(row) in there]
    seen = [(row, on) for row, on in both if row.how and on.how]
    lost = [(row, on) for row, on in both if row.how and not on.how]
    won = [on for row, on in both if on.how and not row.how]
    yield "## On a GPU"
    yield ""
    yield (f"The scripts that name CUDA were run on a GPU, too (`golden.py --gpu`, torch {', '.join(sorted({row.release for row in real}))}): "
           f"{len(seen) + len(won)} marks were seen happening. Of {len(seen) + len(lost)} that the pretended GPU had shown it showed {len(seen)}, and {len(won)} that the pretended one had not.")
    if lost:
        yield ""
        yield "Not seen there: " + "; ".join(f"{row.script}:{row.line} ({row.rule}; {on.why})" for row, on in lost) + "."


def _of_repairs(repaired: list[Row]) -> Iterator[str]:
    """How the repaired examples of the pages came out."""
    ran = [row for row in repaired if row.how or not row.why]
    clean = sum(not row.how for row in ran)
    yield f"Of the repaired examples of the pages, {len(ran)} ran to their end; in {clean} of them nothing of what the page speaks of was seen."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="only write docs/truth.md")
    parser.add_argument("--again", metavar="WHY", help="run only scripts with marks that were not seen for this reason, such as `does not run`")
    parser.add_argument("--missing", action="store_true", help="run only scripts whose marks are not in the table yet")
    parser.add_argument("--only", default="", help="scripts whose names contain this, to stdout")
    parser.add_argument("--gpu", action="store_true", help="run what names CUDA on the GPU of this machine")
    options = parser.parse_args()
    if options.gpu:
        on_gpu()
    elif not options.docs:
        import torch

        release = torch.__version__.split("+")[0]
        found: list[Row] = []
        before = read() if options.again or options.missing else []
        done: set[str] = set()
        for script in scripts():
            done.add(script.name)
            known = [row for row in before if row.script == script.name]
            same = {(row.rule, row.line) for row in known} == set(script.marks)
            again = options.again and any(re.search(options.again, row.why) for row in known)
            if known and same and not again:
                found += known
                continue
            if options.only not in script.name:
                continue
            found += rows(script, release)
            if options.only:
                print(*found[-len(script.marks):], sep="\n")
            else:
                # Whatever ends this early, what was seen before stays.
                write(found + [row for row in before if row.script not in done])
        if options.only:
            return
        write(found)
    (ROOT / "docs/truth.md").write_text(document(read()))


if __name__ == "__main__":
    main()
