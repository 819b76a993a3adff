"""Measures `trainlint check` beside a bare read-and-parse of the same files, in one run.

Both are whole processes, started in turn, round after round; CPU seconds (user + system) and
peak memory are what the kernel says of the finished child. README.md says how to read them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Run:
    def __init__(self, cpu, wall, peak, status, out):
        self.cpu, self.wall, self.peak, self.status, self.out = cpu, wall, peak, status, out


def run(command, env, keep=False):
    """Starts one process, waits for it, and returns what it cost."""
    with tempfile.TemporaryFile() as out:
        devnull = os.open(os.devnull, os.O_RDWR)
        files = [
            (os.POSIX_SPAWN_DUP2, devnull, 0),
            (os.POSIX_SPAWN_DUP2, out.fileno() if keep else devnull, 1),
            (os.POSIX_SPAWN_DUP2, devnull, 2),
        ]
        start = time.perf_counter()
        child = os.posix_spawn(command[0], command, env, file_actions=files)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - start
        os.close(devnull)
        out.seek(0)
        text = out.read().decode() if keep else ""
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**20
    return Run(usage.ru_utime + usage.ru_stime, wall, peak, os.waitstatus_to_exitcode(status), text)


class Bench:
    def __init__(self, options):
        target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
        self.trainlint = str(options.trainlint or target / "release" / "trainlint")
        self.bare = str(options.bare_parse or target / "release" / "examples" / "bare_parse")
        self.rounds = options.rounds
        self.env = {**os.environ, "RAYON_NUM_THREADS": str(options.threads), "NO_COLOR": "1"}
        self.with_trainlint = not options.bare_only
        self.failed = False

    def bare_command(self, mode, list_file):
        return [self.bare, mode, str(list_file)]

    def check_command(self, *paths, cache=None):
        kept = ["--cache-dir", str(cache)] if cache else ["--no-cache"]
        return [self.trainlint, "check", "--isolated", "--exit-zero", *kept, *map(str, paths)]

    def rounds_of(self, commands):
        """Runs all commands in turn, `rounds` times, after one round that is not counted."""
        runs = {name: [] for name in commands}
        for number in range(self.rounds + 1):
            for name, command in commands.items():
                result = run(command, self.env)
                if result.status != 0:
                    print(f"{name}: exit status {result.status}: {' '.join(command)}", file=sys.stderr)
                    self.failed = True
                if number > 0:
                    runs[name].append(result)
        return runs


def median(runs, what):
    return statistics.median(getattr(one, what) for one in runs)


def spread(runs):
    costs = [one.cpu for one in runs]
    return f"{min(costs):.2f}-{max(costs):.2f}"


def list_files(tree, into):
    files = sorted(str(path) for path in tree.rglob("*.py"))
    into.write_text("\n".join(files) + "\n")
    return files


def seen_by_trainlint(bench, tree):
    """How many files trainlint would look at: both sides must have the same."""
    shown = subprocess.run(
        [bench.trainlint, "check", "--isolated", "--show-files", str(tree)],
        capture_output=True, text=True, check=False, env=bench.env,
    )
    return len(shown.stdout.splitlines()) if shown.returncode == 0 else None


def corpus_table(bench, tree, folder):
    listing = folder / f"{tree.name}.txt"
    files = list_files(tree, listing)
    commands = {mode: bench.bare_command(mode, listing) for mode in ("read", "all", "passing")}
    if bench.with_trainlint:
        commands["check"] = bench.check_command(tree)
        # The round that is not counted fills the cache.
        commands["again"] = bench.check_command(tree, cache=folder / f"{tree.name}-cache")
        seen = seen_by_trainlint(bench, tree)
        if seen is not None and seen != len(files):
            print(f"warning: trainlint takes {seen} of {len(files)} files", file=sys.stderr)
    every = json.loads(run(commands["all"], bench.env, keep=True).out)
    passing = json.loads(run(commands["passing"], bench.env, keep=True).out)
    print(f"\ncorpus {tree.name}: {every['files']} files, {every['bytes'] / 1e6:.1f} MB,"
          f" {every['parsed_lines']} lines; the import filter passes {passing['parsed_files']} files"
          f" ({passing['parsed_files'] / every['files']:.0%}), {passing['parsed_bytes'] / 1e6:.1f} MB"
          f" ({passing['parsed_bytes'] / every['bytes']:.0%}), {passing['parsed_lines']} lines")
    print(f"{'':26}{'CPU s':>8}{'from-to':>14}{'wall s':>8}{'MB/s':>7}{'peak MiB':>10}{'/ passing':>11}{'/ all':>7}")
    runs = bench.rounds_of(commands)
    names = {"read": "read", "all": "parse all", "passing": "parse those that pass", "check": "trainlint check",
             "again": "  with a full cache"}
    for name, measured in runs.items():
        cpu = median(measured, "cpu")
        ratios = [paired(measured, runs[other]) for other in ("passing", "all")]
        print(f"{names[name]:26}{cpu:8.2f}{spread(measured):>14}{median(measured, 'wall'):8.2f}"
              f"{every['bytes'] / 1e6 / cpu:7.1f}{median(measured, 'peak'):10.0f}{ratios[0]:11.2f}{ratios[1]:7.2f}")


def paired(measured, others):
    """The median over the rounds of the ratio within a round: drift of the machine cancels."""
    return statistics.median(one.cpu / max(other.cpu, 1e-9) for one, other in zip(measured, others))


def single_files(bench, one, folder):
    print(f"\nsingle files, whole process, median of {bench.rounds}")
    print(f"{'':22}{'lines':>6}{'parse ms':>10}{'check ms':>10}{'CPU ms':>8}{'slowest':>9}{'peak MiB':>10}")
    for path in sorted(one.glob("*.py")):
        listing = folder / "one.txt"
        listing.write_text(f"{path}\n")
        commands = {"all": bench.bare_command("all", listing)}
        if bench.with_trainlint:
            commands["check"] = bench.check_command(path)
        runs = bench.rounds_of(commands)
        lines = path.read_bytes().count(b"\n")
        parse = median(runs["all"], "wall") * 1e3
        row = f"{path.name:22}{lines:6}{parse:10.1f}"
        if check := runs.get("check"):
            row += (f"{median(check, 'wall') * 1e3:10.1f}{median(check, 'cpu') * 1e3:8.1f}"
                    f"{max(one.wall for one in check) * 1e3:9.1f}{median(check, 'peak'):10.1f}")
        print(row)


def chain(depth):
    """A training loop whose step is taken at the end of a chain of calls."""
    lines = ["import torch", "from torch import nn", ""]
    lines += ["def step_0(model, optimizer, x, y):", "    loss = nn.functional.mse_loss(model(x), y)",
              "    optimizer.zero_grad()", "    loss.backward()", "    optimizer.step()", "    return loss.item()", ""]
    for level in range(1, depth + 1):
        lines += [f"def step_{level}(model, optimizer, x, y):",
                  f"    return step_{level - 1}(model, optimizer, x, y)", ""]
    lines += main(f"step_{depth}")
    return "\n".join(lines)


def fan(depth):
    """Every function calls the one below twice: without memory this costs 2 to the depth."""
    text = chain(depth)
    for level in range(1, depth + 1):
        call = f"step_{level - 1}(model, optimizer, x, y)"
        text = text.replace(f"    return {call}", f"    {call}\n    return {call}")
    return text


def nest(depth):
    """Loops within loops: a fixpoint in each must not multiply."""
    lines = ["import torch", "from torch import nn", "", "def step(model, optimizer, x, y):"]
    for level in range(depth):
        lines.append("    " * (level + 1) + f"for i_{level} in range(10):")
    pad = "    " * (depth + 1)
    lines += [pad + "loss = nn.functional.mse_loss(model(x), y)", pad + "optimizer.zero_grad()",
              pad + "loss.backward()", pad + "optimizer.step()", "    return 0.0", ""]
    return "\n".join(lines + main("step"))


def main(step):
    return ["def main():", "    model = nn.Linear(10, 1)",
            "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
            "    for epoch in range(10):", "        x, y = torch.randn(32, 10), torch.randn(32, 1)",
            f"        {step}(model, optimizer, x, y)", "", "main()", ""]


def growth(bench, folder):
    print("\ngrowth: CPU ms of a whole process")
    for name, make, sizes in (("chain of calls, depth", chain, (1, 4, 16, 64, 256)),
                              ("two calls a level, depth", fan, (1, 2, 4, 8, 16, 32)),
                              ("nested loops, depth", nest, (1, 2, 4, 8, 16))):
        cells = []
        for size in sizes:
            path = folder / f"{make.__name__}_{size}.py"
            path.write_text(make(size))
            cells.append((size, bench.check_command(path)))
        report(bench, name, cells)
    cells = []
    for count in (1, 10, 100, 1000):
        project = folder / f"project_{count}"
        project.mkdir()
        (project / "pyproject.toml").write_text('[project]\nname = "growth"\nversion = "0"\n')
        for number in range(count):
            text = chain(4)
            if number:
                text = f"from module_{number - 1} import step_4 as before\n" + text
            (project / f"module_{number}.py").write_text(text)
        cells.append((count, bench.check_command(project)))
    report(bench, "files that import each other", cells)


def report(bench, name, cells):
    runs = bench.rounds_of({str(size): command for size, command in cells})
    figures = "  ".join(f"{size}: {median(runs[str(size)], 'cpu') * 1e3:.1f}" for size, _ in cells)
    print(f"{name:30}{figures}")


def start():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=HERE / "corpus")
    parser.add_argument("--rounds", type=int, default=5, help="rounds over a corpus")
    parser.add_argument("--single-rounds", type=int, default=20, help="rounds over a single file")
    parser.add_argument("--threads", type=int, default=1, help="threads of both sides")
    parser.add_argument("--only", choices=["a", "b", "one", "growth"], help="one part")
    parser.add_argument("--bare-only", action="store_true", help="leave trainlint out")
    parser.add_argument("--trainlint", type=Path, help="another binary than the built one")
    parser.add_argument("--bare-parse", type=Path)
    options = parser.parse_args()
    bench = Bench(options)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}, {options.threads} threads, {options.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for tree in ("a", "b"):
            if options.only in (None, tree):
                corpus_table(bench, options.corpus / tree, folder)
        bench.rounds = options.single_rounds
        if options.only in (None, "one"):
            single_files(bench, options.corpus / "one", folder)
        if options.only in (None, "growth") and bench.with_trainlint:
            growth(bench, folder)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(start())
